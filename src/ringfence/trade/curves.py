"""What can be read off an equity curve for a chart or a table: how far under water, and month by month."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import numpy as np

from ringfence.base.errors import DataError
from ringfence.trade.bars import Floats, Ints
from ringfence.trade.times import DAY, SECOND

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class MonthReturn:
    year: int
    month: int
    value: float | None  # None once the equity is zero or less: there is nothing left to earn a return on


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Falls:
    """Every stretch under water, in order; a curve of a million bars can have hundreds of thousands."""

    peak: Ints  # the bar of the last high before it
    end: Ints  # the first bar back at that high, or the last bar of all
    depth: Floats  # at its lowest; negative

    def __len__(self) -> int:
        return len(self.peak)


def drawdown(equity: Floats) -> Floats:
    """The distance of each bar from the highest equity so far, as a fraction: 0 at a high, negative below."""
    peak = np.maximum.accumulate(equity)
    below = equity - peak
    some = peak > 0
    np.divide(below, peak, out=below, where=some)
    below[~some] = 0.0
    return below


def falls(below: Floats) -> Falls:
    """Of a curve that `drawdown` gave."""
    edges = np.diff((below < 0).astype(np.int8), prepend=np.int8(0))
    starts = np.flatnonzero(edges == 1)
    ends = np.flatnonzero(edges == -1)
    if len(ends) < len(starts):
        ends = np.append(ends, len(below) - 1)
    # From one start to the next lies one fall and then bars at a high, which are 0 and do not change the minimum.
    depth = np.minimum.reduceat(below, starts) if len(starts) else np.empty(0)
    return Falls(peak=starts - 1, end=ends, depth=depth)


def monthly_returns(
    time: Ints, equity: Floats, timezone: str, *, initial_equity: float | None = None
) -> tuple[MonthReturn, ...]:
    """Of each calendar month that has bars, counted from the last bar before it; they compound to the total return.

    The first month counts from `initial_equity`, or from the first bar where none is given. A bar belongs to the
    month in which it begins in `timezone`; stamps that are all midnight UTC are dates, and a date is the same
    everywhere.
    """
    if not len(time):
        return ()
    zone = UTC if not (time % DAY).any() else _zone(timezone)
    months = _months(int(time[0]), int(time[-1]), zone)
    bounds = np.searchsorted(time, [_moment(year, month, zone) for year, month in months]).tolist()
    before = float(equity[0]) if initial_equity is None else initial_equity
    found = []
    for (year, month), first, after in zip(months, bounds, [*bounds[1:], len(time)]):
        if after > first:
            last = float(equity[after - 1])
            found.append(MonthReturn(year=year, month=month, value=last / before - 1 if before > 0 else None))
            before = last
    return tuple(found)


def _zone(name: str) -> tzinfo:
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError) as e:
        raise DataError(f"time zone {name!r} is unknown: write for example UTC or America/New_York") from e


def _months(first: int, last: int, zone: tzinfo) -> list[tuple[int, int]]:
    start, end = ((_EPOCH + timedelta(seconds=m // SECOND)).astimezone(zone) for m in (first, last))
    numbers = range(start.year * 12 + start.month - 1, end.year * 12 + end.month)
    return [(number // 12, number % 12 + 1) for number in numbers]


def _moment(year: int, month: int, zone: tzinfo) -> int:
    since = datetime(year, month, 1, tzinfo=zone) - _EPOCH
    return (since.days * 86_400 + since.seconds) * SECOND
