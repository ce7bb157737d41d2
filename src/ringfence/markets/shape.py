"""Bars to Bars: coarser, shorter, fewer, joined. And the timeframe that stamps tell."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pandas as pd

from ringfence.base.errors import DataError
from ringfence.markets.stamps import nanoseconds
from ringfence.trade.bars import Bars, Candles, Ints
from ringfence.trade.times import DAY, SECOND, iso, timeframe_ns

_LENGTHS = ((DAY, "d"), (3600 * SECOND, "h"), (60 * SECOND, "m"), (SECOND, "s"))
_MONTHS = ((1, 28, 31), (3, 89, 92), (6, 181, 184), (12, 365, 366))  # months, and how many days they can have
_MONDAY = 4 * DAY  # 1970-01-05
_CLEAR_SHARE = 1 / 3  # of the distances between rows that the commonest must have to be the timeframe


def infer_timeframe(stamps: Sequence[Ints], where: str) -> str:
    """The commonest distance between neighbouring rows, over all instruments."""
    steps = np.concatenate([np.diff(np.sort(column)) for column in stamps])
    steps = steps[steps > 0]
    if not len(steps):
        raise DataError(
            f"{where} has one row, which does not say how long a bar lasts and is too short for a backtest: "
            "give more rows, or name the timeframe with --timeframe"
        )
    values, counts = np.unique(steps, return_counts=True)
    days = values / DAY
    for months, least, most in _MONTHS:
        if counts[(days >= least) & (days <= most)].sum() > len(steps) / 2:
            return f"{months}mo"
    step, share = int(values[counts.argmax()]), counts.max() / len(steps)
    if share < _CLEAR_SHARE or step % SECOND:
        raise DataError(f"the rows of {where} are not evenly apart: name the timeframe with --timeframe")
    if step % (7 * DAY) == 0:
        return f"{step // (7 * DAY)}w"
    return next(f"{step // length}{unit}" for length, unit in _LENGTHS if step % length == 0)


def wall_clock(time: Ints, timezone: str) -> Ints:
    """The same moments as the clocks of `timezone` showed them, counted as if they were UTC."""
    index = pd.DatetimeIndex(time, tz="UTC").tz_convert(timezone).tz_localize(None)
    return nanoseconds(index)


def to_dates(wall: Ints) -> Ints:
    return wall - wall % DAY


def fit_timeframe(bars: Bars, timeframe: str | None) -> Bars:
    """The bars in `timeframe`, made of finer ones where need be. What is coarser cannot be made finer."""
    if timeframe is None or timeframe == bars.timeframe:
        return bars
    have, want = timeframe_ns(bars.timeframe), timeframe_ns(timeframe)
    if have == want:  # 60m is 1h
        return replace(bars, timeframe=timeframe)
    if want < have:
        raise DataError(
            f"{bars.source} has bars of {bars.timeframe}, and {timeframe} is finer: ask for {bars.timeframe} or coarser"
        )
    if not _is_multiple(bars.timeframe, timeframe):
        raise DataError(f"bars of {timeframe} cannot be made of those of {bars.timeframe}: ask for a multiple of it")
    candles = {symbol: _resample(c, bars, timeframe) for symbol, c in bars}
    note = f"resampled from {bars.timeframe} to {timeframe}; the first and the last bar may be incomplete"
    return replace(bars, candles=candles, timeframe=timeframe, notes=(*bars.notes, note))


def _is_multiple(have: str, want: str) -> bool:
    short, long = timeframe_ns(have), timeframe_ns(want)
    if want.endswith("mo"):
        return int(want[:-2]) % int(have[:-2]) == 0 if have.endswith("mo") else DAY % short == 0
    return not have.endswith("mo") and long % short == 0


def _resample(candles: Candles, bars: Bars, timeframe: str) -> Candles:
    wall = candles.time if timeframe_ns(bars.timeframe) >= DAY else wall_clock(candles.time, bars.timezone)
    begins = _period_begins(wall, timeframe)
    starts = np.flatnonzero(np.diff(begins, prepend=begins[0] - 1))
    ends = np.append(starts[1:], len(begins)) - 1
    if timeframe_ns(timeframe) >= DAY:
        time = begins[starts]
    else:
        time = candles.time[starts] - (wall[starts] - begins[starts])
    return Candles(
        time,
        candles.open[starts],
        np.maximum.reduceat(candles.high, starts),
        np.minimum.reduceat(candles.low, starts),
        candles.close[ends],
        np.add.reduceat(candles.volume, starts),
    )


def _period_begins(wall: Ints, timeframe: str) -> Ints:
    """When the period that holds each moment begins: days at midnight, weeks on a Monday, months on the first."""
    if timeframe.endswith("mo"):
        count = int(timeframe[:-2])
        months = wall.astype("datetime64[ns]").astype("datetime64[M]").astype(np.int64)
        return (months - months % count).astype("datetime64[M]").astype("datetime64[ns]").astype(np.int64)
    step = timeframe_ns(timeframe)
    if step < DAY:  # counted from midnight, so that 4h bars are the same every day
        midnight = to_dates(wall)
        return midnight + (wall - midnight) // step * step
    origin = _MONDAY if timeframe.endswith("w") else 0
    return wall - (wall - origin) % step


def within(candles: Candles, start: int | None, end: int | None) -> Candles:
    """The rows whose stamps lie in the bounds, both inclusive."""
    first = 0 if start is None else int(np.searchsorted(candles.time, start, side="left"))
    last = len(candles) if end is None else int(np.searchsorted(candles.time, end, side="right"))
    return candles.slice(first, max(first, last))


def cut(bars: Bars, start: int | None, end: int | None, warmup_bars: int) -> Bars:
    """Only up to `end`, and before `start` no more than `warmup_bars` bars of history per instrument."""
    if start is None and end is None and bars.tradable_from is None:
        return bars
    kept = {}
    for symbol, candles in bars:
        first = 0 if start is None else int(np.searchsorted(candles.time, start, side="left"))
        last = len(candles) if end is None else int(np.searchsorted(candles.time, end, side="right"))
        if first >= last:
            raise DataError(_outside(symbol, candles, start, end))
        kept[symbol] = candles.slice(max(0, first - max(0, warmup_bars)), last)
    return replace(bars, candles=kept, tradable_from=start)


def _outside(symbol: str, candles: Candles, start: int | None, end: int | None) -> str:
    asked = " ".join(f"{word} {iso(moment)}" for word, moment in (("from", start), ("to", end)) if moment is not None)
    have = f"{iso(int(candles.time[0]))} to {iso(int(candles.time[-1]))}"
    return f"{symbol} has no bars {asked}, it has them from {have}: choose dates within"


def pick(bars: Bars, symbols: Sequence[str]) -> Bars:
    """Those instruments, in that order; all where none is named."""
    missing = [s for s in symbols if s not in bars.candles]
    if missing:
        raise DataError(f"{missing[0]} is not in {bars.source}: it has {', '.join(bars.symbols)}")
    return replace(bars, candles={s: bars.candles[s] for s in symbols}) if symbols else bars


def merge(parts: Sequence[Bars]) -> Bars:
    """Several Bars as one. Where they disagree on the calendar, the time zone or adjustments, a note says so."""
    first = parts[0]
    if len(parts) == 1:
        return first
    candles: dict[str, Candles] = {}
    for part in parts:
        if part.timeframe != first.timeframe:
            raise DataError(
                f"{first.source} has bars of {first.timeframe} and {part.source} of {part.timeframe}: "
                "give --timeframe with the coarser of the two"
            )
        twice = [symbol for symbol in part.symbols if symbol in candles]
        if twice:
            raise DataError(f"{twice[0]} is in two of the sources: name it in one of them only")
        candles.update(part.candles)
    notes = [note for part in parts for note in part.notes]
    places = {(part.calendar, part.timezone) for part in parts}
    calendar, timezone = next(iter(places)) if len(places) == 1 else ("24/7", "UTC")
    if len(places) > 1:
        notes.append(f"calendars differ ({', '.join(sorted(c for c, _ in places))}): days are counted as 24/7 in UTC")
    adjusted = {part.adjusted for part in parts}
    if len(adjusted) > 1:
        notes += [f"{', '.join(part.symbols)}: adjusted: {part.adjusted}" for part in parts]
    return Bars(
        candles=candles,
        timeframe=first.timeframe,
        source=" ".join(part.source for part in parts),
        calendar=calendar,
        timezone=timezone,
        adjusted=adjusted.pop() if len(adjusted) == 1 else "unknown",
        synthetic=any(part.synthetic for part in parts),
        notes=tuple(notes),
    )
