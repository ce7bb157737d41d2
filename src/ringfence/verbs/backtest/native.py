"""Strategies for our own engine: run behind the fence, replayed and measured here."""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import Literal

from ringfence.base.errors import DataError, OrderError
from ringfence.sandbox import Sandbox
from ringfence.sandbox.outcome import Outcome
from ringfence.trade import results
from ringfence.trade.book import Book
from ringfence.trade.claim import Claim, read_claim
from ringfence.trade.metrics import measure
from ringfence.trade.replay import replay
from ringfence.trade.run import MOST_POINTS, Curve, EngineRef, Json, Lookahead, OutcomeRef, Provenance, Run
from ringfence.trade.times import iso
from ringfence.verbs.backtest import futures, shapes, streamed
from ringfence.verbs.backtest.request import BARS_PLACE, Finished, Request, samples_are_hidden

_ROUNDING = 1e-9


def run_native(request: Request, sandbox: Sandbox) -> Finished:
    bars = request.bars
    if bars is None:
        raise DataError("a strategy needs data: give for example --data sample:GOOG")
    if len(bars.timeline()) < 2:
        raise DataError(f"{bars.source} has one bar, and an order is filled on the next: load a longer stretch")
    if request.streamed:
        outcome = streamed.play(request, sandbox)
    else:
        outcome = sandbox.run(
            request.job(driver="backtest", task=task_of(request)), on_output=request.on_output, cancel=request.cancel
        )
    return Finished(run=_judge(request, sandbox, outcome), outcome=outcome)


def task_of(request: Request, *, probe: bool = False, indicators: bool = True, on_end: bool = True) -> dict[str, Json]:
    return {
        "bars": BARS_PLACE,
        "class_name": request.draft.class_name,
        "parameters": dict(request.parameters),
        "rules": asdict(request.rules),
        "probe": probe,
        "indicators": indicators,
        "on_end": on_end,
    }


def _judge(request: Request, sandbox: Sandbox, outcome: Outcome) -> Run:
    """What the run was, from what came back: read it, replay it, measure it, and look for the future in it."""
    assert request.bars is not None
    if outcome.result is None:
        seen = shapes.outcome_ref(outcome, request.bars)
        reason = "it ended without a report of its orders" if outcome.ok else shapes.failure_reason(seen)
        return shapes.failed_run(request, seen, shapes.verdict_of(outcome), reason)
    try:
        claim = read_claim(outcome.result, request.bars)
    except ValueError as e:
        return _forged(request, shapes.outcome_ref(outcome, request.bars), f"its report makes no sense: {e}")
    seen = shapes.outcome_ref(outcome, request.bars, claim.failing_bar, claim.hint)
    if not outcome.ok or not claim.ended:
        reason = shapes.failure_reason(seen) if seen.failing else shapes.left_early(outcome, request.bars, claim)
        return shapes.failed_run(request, seen, shapes.verdict_of(outcome), reason, libraries=claim.libraries)
    try:
        book = replay(request.bars, claim.log, request.rules, most_work=1e6 * request.limits.wall_seconds)
    except OrderError as e:
        return _forged(request, seen, f"its orders cannot be replayed: {e}")
    return _measured(request, sandbox, seen, claim, book)


def _forged(request: Request, seen: OutcomeRef, reason: str) -> Run:
    return replace(shapes.failed_run(request, seen, "failed", reason), provenance="mismatch")


def _measured(request: Request, sandbox: Sandbox, seen: OutcomeRef, claim: Claim, book: Book) -> Run:
    bars = request.bars
    assert bars is not None
    timeline: list[int] = bars.timeline().tolist()
    curves = results.curves(book, bars)
    trades = results.trades(book, timeline)
    first = 0 if bars.tradable_from is None else int((bars.timeline() < bars.tradable_from).sum())
    metrics = measure(
        time=curves.time[first:],
        equity=curves.equity[first:],
        trades=trades,
        exposure=curves.invested[first:],
        turnover_value=sum(abs(fill.quantity) * fill.price for fill in book.fills),
        fees=sum(fill.fee for fill in book.fills),
        initial_equity=request.rules.cash,
        benchmark=curves.benchmark[first:],
        timeframe=bars.timeframe,
        calendar=bars.calendar,
    )
    provenance, difference = _compare(claim, book)
    equity = Curve(curves.time[first:], curves.equity[first:])
    warnings = shapes.book_warnings(book, request, equity, MOST_POINTS)
    if difference is not None:
        warnings.insert(0, difference)
    lookahead = Lookahead(status="not_checked", reason="it was not asked for")
    fed: Literal["history", "stream"] = "stream" if request.streamed else "history"
    if request.streamed:
        lookahead = Lookahead(status="clean", reason="streamed: the future was handed in bar by bar")
    elif request.lookahead:
        lookahead = futures.check(request, sandbox, claim.log, task_of(request, indicators=False, on_end=False))
    lookahead = replace(lookahead, reason=lookahead.reason + _caveat(request))
    probing = task_of(request, probe=True, indicators=False, on_end=False)
    guidance = () if book.fills else futures.guide(request, sandbox, claim, book, probing)
    return Run(
        draft=request.draft_ref(),
        bars=request.bars_ref(),
        engine=EngineRef(version=shapes.ENGINE_VERSION, rules=request.rules, fed=fed, libraries=claim.libraries),
        seed=request.seed,
        verdict="traded" if book.fills else "no_trades",
        reason=_summary(book, len(trades), timeline),
        metrics=metrics,
        trades=trades,
        fills=results.fill_rows(book, timeline),
        orders=results.order_rows(book, timeline),
        equity=equity,
        indicators=claim.indicators,
        benchmark=Curve(curves.time[first:], curves.benchmark[first:]),
        statistics=None,
        warnings=tuple(warnings),
        healed=(),
        guidance=guidance,
        provenance=provenance,
        lookahead=lookahead,
        outcome=seen,
        mounts=request.mount_hashes(),
    )


def _caveat(request: Request) -> str:
    """What a check of the future cannot keep from a strategy on a sample: sessions take no mounts, nor does /tmp."""
    bars, file = request.bars, request.bars_file
    if bars is None or file is None or not bars.source.startswith("sample:"):
        return ""
    if not request.streamed and samples_are_hidden(file.parent):
        return ""
    return "; the sample's own file is among the guest's libraries, though, and can be read there"


def _compare(claim: Claim, book: Book) -> tuple[Provenance, str | None]:
    """Whether the guest's own books agree with the replay; they must, as both were kept by the same code."""
    for what, said, found in (
        ("cash", claim.cash, book.cash),
        ("equity", claim.equity, book.equity()),
        ("number of fills", claim.fills, len(book.fills)),
    ):
        if abs(said - found) > _ROUNDING * max(1.0, abs(said), abs(found)):
            return "mismatch", f"MISMATCH: inside, the {what} was {said:,.10g}; replayed here it is {found:,.10g}"
    return "verified", None


def _summary(book: Book, trades: int, timeline: list[int]) -> str:
    if not book.fills:
        return "no order was placed" if not book.orders else f"none of {len(book.orders):,} orders was filled"
    return f"{trades:,} trades from {iso(timeline[book.fills[0].now])} to {iso(timeline[book.fills[-1].now])}"
