"""The deepest drawdowns as rows of a table."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ringfence.trade.bars import Floats
from ringfence.trade.curves import drawdown, falls
from ringfence.trade.run import Curve
from ringfence.trade.times import DAY, iso
from ringfence.verbs.report.formats import count, percent

_MOST = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class Depth:
    depth: str
    peak: str
    low: str
    back: str  # when the equity was as high again
    lasted: str


def deepest(equity: Curve) -> list[Depth]:
    """The first few of them, the deepest first."""
    below = drawdown(equity.value)
    found = falls(below)
    order = np.argsort(found.depth, kind="stable")[:_MOST].tolist()
    return [_depth(equity, below, int(found.peak[at]), int(found.end[at])) for at in order]


def _depth(equity: Curve, below: Floats, peak: int, end: int) -> Depth:
    low = peak + int(below[peak : end + 1].argmin())
    return Depth(
        depth=percent(float(below[low]), places=1),
        peak=_day(equity, peak),
        low=_day(equity, low),
        back="not yet" if below[end] < 0 else _day(equity, end),
        lasted=f"{count(float(equity.time[end] - equity.time[peak]) / DAY)} days",
    )


def _day(equity: Curve, at: int) -> str:
    return iso(int(equity.time[at]))[:10]
