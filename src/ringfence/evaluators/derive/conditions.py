"""Conditions as truths over the timeline. What depends on a hair, an equal value or the last digit of a sum, is left
open: it is `may` and not `must`, so that nobody is blamed for the other reading of it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime
from typing import NamedTuple
from zoneinfo import ZoneInfo

import numpy as np
from numpy.typing import NDArray

from ringfence.evaluators.derive.lines import Grid
from ringfence.trade.bars import Floats, Ints
from ringfence.trade.description import model as m
from ringfence.trade.description.echo import line_words
from ringfence.trade.description.lines import lines_of
from ringfence.trade.times import SECOND, local_days

Flags = NDArray[np.bool_]

_HAIR = 1e-9
_DAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_MINUTE = 60 * SECOND
_WEEKS_BEFORE = 102_737  # whole ones from the first of the calendar to the week in which 1970 began


class Truth(NamedTuple):
    """For each moment whether it holds beyond doubt, and whether it can be said to hold."""

    must: Flags
    may: Flags

    def __and__(self, other: Truth) -> Truth:
        return Truth(self.must & other.must, self.may & other.may)

    def __or__(self, other: Truth) -> Truth:
        return Truth(self.must | other.must, self.may | other.may)

    def __invert__(self) -> Truth:
        return Truth(~self.may, ~self.must)


def never(length: int) -> Truth:
    return Truth(np.zeros(length, dtype=bool), np.zeros(length, dtype=bool))


def certain(flags: Flags) -> Truth:
    return Truth(flags, flags)


def above(a: Floats, b: Floats | float) -> Truth:
    """False on both counts where a value is missing."""
    with np.errstate(invalid="ignore"):
        hair = _HAIR * np.maximum(np.maximum(np.abs(a), np.abs(b)), _HAIR)
        return Truth(a - b > hair, a - b >= -hair)


def below(a: Floats, b: Floats | float) -> Truth:
    return above(-a, -b)


@dataclass(slots=True)
class Reader:
    """The conditions of one instrument. `counted` is the instrument whose bars are counted for every n bars."""

    grid: Grid
    symbol: str
    counted: str

    def truth(self, what: m.Condition, back: int = 0) -> Truth:
        if isinstance(what, (m.AllOf, m.AnyOf)):
            return self._joined(what, back)
        if isinstance(what, m.SomeOf):
            parts = [self.truth(part, back) for part in what.parts]
            must, may = (np.sum([part[n] for part in parts], axis=0) for n in (0, 1))
            return Truth(must >= what.count, may >= what.count)
        if isinstance(what, m.Not):
            return ~self.truth(what.part, back)
        if isinstance(what, (m.Compare, m.Cross)) and what.left == what.right:  # neither above itself nor below
            level = isinstance(what, m.Compare) and what.level in ("at_least", "at_most")
            return certain(np.logical_and(level, ~np.isnan(self.operand(what.left, back))))
        if isinstance(what, m.Compare):
            left, right = self.operand(what.left, back), self.operand(what.right, back)
            return above(left, right) if what.level in ("above", "at_least") else below(left, right)
        if isinstance(what, m.Cross):
            return self._cross(what, back)
        if isinstance(what, m.Between):
            left = self.operand(what.left, back)
            return above(left, self.operand(what.low, back)) & below(left, self.operand(what.high, back))
        if isinstance(what, m.Trend):
            return self._trend(what, back)
        if isinstance(what, m.Change):
            moved = self.grid.value(what.line, self.symbol, back, change=what.bars)
            return above(moved, what.percent) if what.way == "up" else below(moved, -what.percent)
        if isinstance(what, m.Held):
            made = self.truth(what.condition, back)
            for k in range(1, what.bars):
                made &= self.truth(what.condition, back + k)
            return made
        return certain(self._calendar(what))

    def operand(self, what: m.Operand, back: int = 0) -> Floats:
        if isinstance(what, m.Number):
            return np.full(len(self.grid), float(what.value))
        if isinstance(what, m.Scaled):
            return self.grid.value(what.line, self.symbol, back) * what.times
        if isinstance(what, m.Beyond):
            return self.grid.value(what.line, self.symbol, back) * (1 + what.percent / 100)
        if isinstance(what, m.Apart):
            far = self.grid.value(what.atr, self.symbol, back) * what.ranges
            return self.grid.value(what.line, self.symbol, back) + far
        return self.grid.value(what, self.symbol, back)

    def shown(self, what: m.Condition, moment: int) -> str:
        """The values that the condition looked at, in words."""
        seen = []
        for line in dict.fromkeys(lines_of(what)):
            value = float(self.grid.value(line, self.symbol)[moment])
            seen.append(f"the {line_words(line)} was {value:.6g}")
        return " and ".join(seen) or "the calendar did not say so"

    def _joined(self, what: m.AllOf | m.AnyOf, back: int) -> Truth:
        parts = [self.truth(part, back) for part in what.parts]
        made = parts[0]
        for part in parts[1:]:
            made = made & part if isinstance(what, m.AllOf) else made | part
        return made

    def _cross(self, what: m.Cross, back: int) -> Truth:
        now = self.operand(what.left, back), self.operand(what.right, back)
        then = self.operand(what.left, back + 1), self.operand(what.right, back + 1)
        up, down = below(*then) & above(*now), above(*then) & below(*now)
        return up | down if what.direction == "either" else up if what.direction == "above" else down

    def _trend(self, what: m.Trend, back: int) -> Truth:
        compare = above if what.way == "up" else below
        made = certain(np.ones(len(self.grid), dtype=bool))
        for k in range(what.bars):
            values = [self.grid.value(what.line, self.symbol, back + step) for step in (k, k + 1)]
            made &= compare(values[0], values[1])
        return made

    def _calendar(
        self, what: m.OnSchedule | m.EveryBars | m.OnWeekdays | m.InHours | m.InMonths | m.MonthDays
    ) -> Flags:
        grid = self.grid
        if isinstance(what, m.EveryBars):
            known = grid.known(self.counted)
            due: Flags = (known % what.bars == 0) & (known > 0)
            return due
        zone = grid.bars.clock_zone
        days = local_days(grid.timeline, zone)
        weekday = (days + 3) % 7  # the first of 1970 was a Thursday
        if isinstance(what, m.OnWeekdays):
            return np.isin(weekday, [_DAYS.index(day) for day in what.days])
        if isinstance(what, m.InHours):
            minutes = _minutes(grid.timeline, zone)
            return np.logical_and(minutes >= _clock(what.start), minutes < _clock(what.end))
        if isinstance(what, m.InMonths):
            inside: Flags = np.isin(_months(days) % 12 + 1, what.months)
            return inside
        if isinstance(what, m.MonthDays):
            number = day_numbers(days) if what.first > 0 else -_weekdays_left(days)
            numbered: Flags = (number >= what.first) & (number <= what.last)
            return numbered
        return scheduled(what, days)


def scheduled(what: m.OnSchedule, days: Ints) -> Flags:
    """The first bar of the day that is meant; the very first bar has none before it that it could differ from."""
    if what.each > 1:
        number = _months(days) + 1970 * 12 if what.every == "month" else (days + 3) // 7 + _WEEKS_BEFORE
        counted: Flags = scheduled(replace(what, each=1), days) & (number % what.each == 0)
        return counted
    new_day = _changes(days)
    weekday = (days + 3) % 7
    if what.every == "day":
        return new_day
    if what.every == "week":
        if what.on == "first":
            return _changes((days + 3) // 7)
        on_day: Flags = new_day & (weekday == (4 if what.on == "last" else _DAYS.index(what.on)))
        return on_day
    months = _months(days)
    if what.on.isdigit():
        reached = _day_of_month(days) >= int(what.on)
        since: Flags = reached & _changes(months * 2 + reached)
        return since
    length = {"month": 1, "quarter": 3, "year": 12}[what.every]
    if what.on == "first":
        return _changes(months // length)
    ahead = np.where(weekday == 4, 3, 1)
    next_month = (days + ahead).astype("datetime64[D]").astype("datetime64[M]").astype(np.int64)
    last: Flags = new_day & (weekday < 5) & (next_month != months) & ((months + 1) % length == 0)
    return last


def _months(days: Ints) -> Ints:
    """Months since the first of 1970."""
    return days.astype("datetime64[D]").astype("datetime64[M]").astype(np.int64)


def _day_of_month(days: Ints) -> Ints:
    made: Ints = (
        days - days.astype("datetime64[D]").astype("datetime64[M]").astype("datetime64[D]").astype(np.int64) + 1
    )
    return made


def day_numbers(days: Ints) -> Ints:
    """Which day of its month each is, of those with a bar; in the first month, of its weekdays."""
    months, fresh = _months(days), _changes(days)
    first = days[:1] - _day_of_month(days[:1]) + 1
    seen = int(np.busday_count(first.astype("datetime64[D]"), (days[:1] + 1).astype("datetime64[D]")).sum())
    counted = np.cumsum(fresh)
    begins = np.flatnonzero(_changes(months))
    since = np.zeros(len(days), dtype=np.int64)
    since[begins] = counted[begins]
    return counted - np.maximum.accumulate(since) + np.where(months == months[:1], seen, 1)


def _weekdays_left(days: Ints) -> Ints:
    ahead = (_months(days) + 1).astype("datetime64[M]").astype("datetime64[D]")
    left: Ints = np.busday_count(days.astype("datetime64[D]"), ahead)
    return left


def _changes(numbers: Ints) -> Flags:
    """Where a number is another than the one before it."""
    made: Flags = np.diff(numbers, prepend=numbers[:1]) != 0
    return made


def _clock(text: str) -> int:
    hour, minute = text.split(":")
    return int(hour) * 60 + int(minute)


def _minutes(timeline: Ints, zone: str) -> Ints:
    """Since midnight by the clock of `zone`."""
    hours, place = np.unique(timeline // (60 * _MINUTE), return_inverse=True)
    clocks = [datetime.fromtimestamp(hour * 3600, ZoneInfo(zone)) for hour in hours.tolist()]
    begin = np.array([clock.hour * 60 + clock.minute for clock in clocks], dtype=np.int64)
    return begin[place] + timeline % (60 * _MINUTE) // _MINUTE
