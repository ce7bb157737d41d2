"""The data in three parts by time: to learn on, to choose by, and one that is sealed until the end.

A later part brings the earlier ones along as history, so that indicators are warm; orders, and so numbers, begin where
the part begins.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ringfence.trade.bars import Bars, Ints
from ringfence.trade.times import iso

TRAIN, VALIDATION = 0.6, 0.2  # the rest is the hold-out
SMOKE_BARS = 60
LEAST_BARS = 150  # with fewer, a part would hold next to nothing
_LONG = 800  # bars of training from which on a short run before the full one is worth its while


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Splits:
    """Without `validation`, `before` and `holdout` everything is `train`, and `notes` say why."""

    whole: Bars
    train: Bars
    smoke: Bars
    short: Bars | None = None
    validation: Bars | None = None
    before: Bars | None = None  # all that comes before the hold-out
    holdout: Bars | None = None
    notes: tuple[str, ...] = ()

    def spans(self) -> dict[str, str]:
        """When each part begins and ends, in words."""
        parts = {"train": self.train, "validation": self.validation, "holdout": self.holdout}
        found = {}
        for name, part in parts.items():
            if part is not None:
                moments = _moments(part)
                found[name] = f"{iso(int(moments[0]))[:10]} to {iso(int(moments[-1]))[:10]}, {len(moments):,} bars"
        return found


def split(bars: Bars) -> Splits:
    moments = _moments(bars)
    count = len(moments)
    if count < LEAST_BARS:
        note = f"{count:,} bars are too few to keep some unseen: give {LEAST_BARS:,} or more to have a hold-out"
        return Splits(whole=bars, train=bars, smoke=_smoke(bars), notes=(note,))
    first, second = int(count * TRAIN), int(count * (TRAIN + VALIDATION))
    train, middle = bars.until(int(moments[first - 1])), bars.until(int(moments[second - 1]))
    late = sorted(set(bars.symbols) - set(train.symbols))
    if late:
        note = f"{', '.join(late[:3])} began too late to be in the first part: nothing is kept unseen"
        return Splits(whole=bars, train=bars, smoke=_smoke(bars), notes=(note,))
    return Splits(
        whole=bars,
        train=train,
        smoke=_smoke(train),
        short=train.until(int(moments[first // 4])) if first >= _LONG and _all_in(train, moments[first // 4]) else None,
        validation=replace(middle, tradable_from=int(moments[first])),
        before=middle,
        holdout=replace(bars, tradable_from=int(moments[second])),
    )


def _moments(bars: Bars) -> Ints:
    """Those at which orders may be placed."""
    timeline = bars.timeline()
    if bars.tradable_from is None:
        return timeline
    return timeline[np.searchsorted(timeline, bars.tradable_from) :]


def _smoke(bars: Bars) -> Bars:
    """As few bars as give every instrument its sixty: one that began later must not be missing."""
    ends = []
    for candles in bars.candles.values():
        start = 0 if bars.tradable_from is None else int(np.searchsorted(candles.time, bars.tradable_from))
        ends.append(int(candles.time[min(start + SMOKE_BARS, len(candles)) - 1]))
    return bars.until(max(ends))


def _all_in(bars: Bars, moment: np.int64) -> bool:
    return all(candles.time[0] <= moment for candles in bars.candles.values())
