"""Second runs of the same strategy: with another future, or with notes on how near it came to trading."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from ringfence.sandbox import Sandbox
from ringfence.trade.arrow import write_bars
from ringfence.trade.bars import Bars
from ringfence.trade.book import Book
from ringfence.trade.claim import Claim, Near, read_claim
from ringfence.trade.intents import Intent
from ringfence.trade.lookahead import Cut, choose_cuts, compare, without_future
from ringfence.trade.run import Evidence, Json, Lookahead
from ringfence.trade.times import iso
from ringfence.verbs.backtest.request import Request

_WORKERS = 2


def check(request: Request, sandbox: Sandbox, log: Sequence[Intent], task: Mapping[str, Json]) -> Lookahead:
    """Run it again on history that was cut or changed: up to the cut, every decision must be the same."""
    bars = request.bars
    assert bars is not None
    cuts = choose_cuts(log, bars, request.secret)
    if not cuts:
        return Lookahead(status="not_checked", reason="the history is too short to be cut")
    timeline: list[int] = bars.timeline().tolist()
    with TemporaryDirectory(prefix="ringfence-futures-") as folder, ThreadPoolExecutor(_WORKERS) as pool:
        rerun = _Rerun(request, sandbox, task, Path(folder))
        found = list(pool.map(lambda cut: rerun.differs(cut, log, timeline), cuts))
        if rerun.cancelled:
            return Lookahead(status="not_checked", reason="it was cancelled before the check was done")
        evidence = tuple(e for e in found if e is not None)
        if evidence and (again := rerun.differs_from_itself(log, timeline)) is not None:
            reason = "it does not decide alike twice: seed its random numbers and read no clock"
            return Lookahead(status="suspect", reason=reason, cuts=len(cuts), evidence=(again,))
    if evidence:
        reason = f"{len(evidence)} of {len(cuts)} times it decided otherwise without the future"
        return Lookahead(status="suspect", reason=reason, cuts=len(cuts), evidence=evidence)
    reason = f"the same decisions {len(cuts)} times without the future, or with another one"
    if request.mounts:
        reason += "; of the future in mounted files it can say nothing"
    return Lookahead(status="clean", reason=reason, cuts=len(cuts))


class _Rerun:
    def __init__(self, request: Request, sandbox: Sandbox, task: Mapping[str, Json], folder: Path) -> None:
        # Twice the time: a second run that is only a little slower must not look like one that knew the future.
        limits = replace(request.limits, wall_seconds=min(2 * request.limits.wall_seconds, 86_400))
        self._request = replace(request, artifacts_dir=None, on_output=None, limits=limits)
        self._sandbox, self._task, self._folder = sandbox, task, folder
        self.cancelled = False

    def differs(self, cut: Cut, log: Sequence[Intent], timeline: Sequence[int]) -> Evidence | None:
        assert self._request.bars is not None
        bars = without_future(self._request.bars, cut, self._request.secret)
        file = self._folder / f"{cut.test}-{cut.bar}-{cut.up}.arrow"
        write_bars(bars, file)
        return self._compare(bars, file, cut, log, timeline)

    def differs_from_itself(self, log: Sequence[Intent], timeline: Sequence[int]) -> Evidence | None:
        bars, file = self._request.bars, self._request.bars_file
        assert bars is not None and file is not None
        self._task = {**self._task, "on_end": True}  # all of it again, as it was
        found = self._compare(bars, file, Cut(len(timeline) - 1, "truncated"), log, timeline)
        return None if found is None else replace(found, test="nondeterministic")

    def _compare(
        self, bars: Bars, file: Path, cut: Cut, log: Sequence[Intent], timeline: Sequence[int]
    ) -> Evidence | None:
        symbols = self._request.bars.symbols if self._request.bars else ()
        job = self._request.job(driver="backtest", task=self._task, bars_file=file)
        outcome = self._sandbox.run(job, cancel=self._request.cancel)
        if outcome.status == "cancelled":
            self.cancelled = True
            return None
        try:
            claim = read_claim(outcome.result, bars)
            failed = not claim.ended or not outcome.ok
        except ValueError:
            failed = True
        if failed:  # with all of the history it ran: that is a difference too
            return Evidence(
                time=timeline[cut.bar],
                test=cut.test,
                cut=timeline[cut.bar],
                with_future="it ran to the end",
                without_future=f"it failed: {outcome.reason}",
            )
        return compare(log, claim.log, cut, timeline, symbols)


def guide(request: Request, sandbox: Sandbox, claim: Claim, book: Book, task: Mapping[str, Json]) -> tuple[str, ...]:
    """What to look at when nothing was traded."""
    assert request.bars is not None
    timeline: list[int] = request.bars.timeline().tolist()
    if book.orders:
        return _unmet(book)
    if claim.start >= len(timeline):
        return (_never_ready(claim, len(timeline)),)
    job = replace(request, artifacts_dir=None, on_output=None).job(driver="backtest", task=task)
    outcome = sandbox.run(job, cancel=request.cancel)
    try:
        near = read_claim(outcome.result, request.bars).near
    except ValueError:
        near = ()
    if not near:
        return ("no condition was asked: does next() compare anything, and does it get that far?",)
    return tuple(_how_near(row, timeline) for row in sorted(near, key=lambda row: row.true / max(1, row.seen))[:6])


def _unmet(book: Book) -> tuple[str, ...]:
    """What became of the orders, the commonest first."""
    ends = Counter(order.reason for order in book.orders if order.status in ("rejected", "cancelled", "expired"))
    said = [f"{count:,} × not filled: {reason}" for reason, count in ends.most_common(3)]
    waiting = [order for order in book.orders if order.status == "open"]
    late = sum(order.intent.now == book.now for order in waiting)
    if late:
        said.append(f"{late:,} × ordered on the last bar, which no other follows")
    if len(waiting) > late:
        said.append(f"{len(waiting) - late:,} × never met its price: move the limit or the stop nearer")
    return tuple(said)


def _never_ready(claim: Claim, bars: int) -> str:
    empty = [name for name, curve in claim.indicators.items() if bool(np.isnan(curve.value).all())]
    what = f"{', '.join(empty[:3])} has" if empty else "the indicators together have"
    return f"next() was never called: {what} no value on any of the {bars:,} bars before the last; shorten the periods"


def _how_near(row: Near, timeline: Sequence[int]) -> str:
    text = f"line {row.line}: `{row.text}` held {row.true:,} of the {row.seen:,} times it was asked"
    if row.true or row.left is None or row.right is None or not 0 <= row.bar < len(timeline):
        return text
    return (
        f"{text}; nearest on {iso(timeline[row.bar])}: {row.left:.6g} against {row.right:.6g}, "
        f"{abs(row.left - row.right):.4g} away"
    )
