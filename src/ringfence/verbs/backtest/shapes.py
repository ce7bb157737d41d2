"""From an Outcome to the parts of a Run that every dialect has."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

from ringfence.sandbox.outcome import Outcome
from ringfence.trade.bars import Bars
from ringfence.trade.book import Book
from ringfence.trade.claim import Claim
from ringfence.trade.run import (
    Curve,
    EngineRef,
    Failing,
    Lookahead,
    OutcomeRef,
    Run,
)
from ringfence.trade.times import iso
from ringfence.verbs.backtest.request import Request

ENGINE_VERSION = "1"  # changes when the same orders would give other fills
_MOST_TEXT = 20_000  # characters of each stream in a Run; all of it is in the Outcome
NOT_CHECKED = Lookahead(status="not_checked", reason="it was not asked for")


def outcome_ref(outcome: Outcome, bars: Bars | None, bar: int | None = None, hint: str | None = None) -> OutcomeRef:
    error, failing = outcome.error, None
    if error is not None:
        time = None if bar is None or bars is None else int(bars.timeline()[bar])
        message = error.message if hint is None else f"{error.message} ({hint})"
        failing = Failing(
            type=error.type, message=message, line=error.line, bar=bar, time=time, traceback=error.traceback
        )
    return OutcomeRef(
        status=outcome.status,
        reason=outcome.reason,
        failing=failing,
        stdout=_head(outcome.stdout),
        stderr=_head(outcome.stderr),
        backend=outcome.backend,
    )


def _head(text: str) -> str:
    return text if len(text) <= _MOST_TEXT else f"{text[:_MOST_TEXT]}\n… {len(text) - _MOST_TEXT:,} characters more"


def failed_run(
    request: Request,
    outcome: OutcomeRef,
    verdict: str,
    reason: str,
    *,
    libraries: Mapping[str, str] | None = None,
    warnings: Iterable[str] = (),
    healed: Iterable[str] = (),
    own_engine: bool = False,
) -> Run:
    """A Run that gave no numbers, with the reason."""
    return Run(
        draft=request.draft_ref(),
        bars=request.bars_ref(),
        engine=EngineRef(
            version=ENGINE_VERSION,
            rules=None if own_engine else request.rules,
            fed="stream" if request.streamed else "history",
            libraries=dict(libraries or {}),
        ),
        seed=request.seed,
        verdict=verdict,
        reason=reason,
        metrics=None,
        trades=(),
        fills=(),
        orders=(),
        equity=None,
        indicators={},
        benchmark=None,
        statistics=None,
        warnings=tuple(warnings),
        healed=tuple(healed),
        guidance=(),
        provenance="claimed",
        lookahead=Lookahead(status="not_checked", reason="there were no orders to compare"),
        outcome=outcome,
        mounts=request.mount_hashes(),
    )


def verdict_of(outcome: Outcome) -> str:
    """The word for a program that did not end well."""
    return "failed" if outcome.status in ("ok", "error", "exit", "signal") else outcome.status


def failure_reason(outcome: OutcomeRef) -> str:
    """What failed, where in the text, and on which bar."""
    failing = outcome.failing
    if failing is None:
        return outcome.reason
    text = f"{failing.type}: {failing.message.partition(chr(10))[0][:300]}"
    if failing.line is not None:
        text += f" at line {failing.line}"
    if failing.bar is not None and failing.time is not None:
        text += f", on bar {failing.bar} ({iso(failing.time)})"
    return text


def left_early(outcome: Outcome, bars: Bars, claim: Claim) -> str:
    """Why a program that raised nothing did not come to the last bar."""
    what = "it left by sys.exit" if outcome.ok else outcome.reason
    if claim.ended:
        return outcome.reason
    if claim.failing_bar is None:
        return f"{what} before the first bar"
    return f"{what} on bar {claim.failing_bar} ({iso(int(bars.timeline()[claim.failing_bar]))})"


def book_warnings(book: Book, request: Request, curve: Curve, most_points: int) -> list[str]:
    """What a reader must know to judge the numbers."""
    bars, said = request.bars, []
    assert bars is not None
    if bars.synthetic:
        said.append("SYNTHETIC data: these prices never were")
    for reason, count in Counter(order.reason for order in book.rejections).most_common(5):
        said.append(f"{count:,} {'order was' if count == 1 else 'orders were'} rejected: {reason}")
    if book.both_in_one_bar:
        first = "the stop" if request.rules.both_in_one_bar == "stop_first" else "the target"
        said.append(f"{book.both_in_one_bar:,} times a bar held both a stop and a target: {first} was taken")
    if book.ruined is not None:
        said.append(f"the account was worth nothing on {iso(int(bars.timeline()[book.ruined]))} and was closed out")
    still = sum(len(market.holding) for market in book.markets)
    if still:
        said.append(f"{still} {'position is' if still == 1 else 'positions are'} still open, marked at the last price")
    if len(curve) > most_points:
        said.append(f"the equity curve of {len(curve):,} points is thinned to at most {most_points:,} in this document")
    said += [f"data: {note}" for note in bars.notes]
    return said
