"""Conditions of the calendar: schedules, weekdays, hours, months."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Period = Literal["day", "week", "month", "quarter", "year"]


@dataclass(frozen=True, slots=True, kw_only=True)
class OnSchedule:
    """The first bar of a day of the calendar. `on` is a weekday, `first` or `last`; a month's last is its last weekday.

    Of a month it may be a number too: "15" is the first bar on or after the 15th.

    A day on which nothing was traded is left out: a Monday that is a holiday is no Monday. `each` of 2 is every other
    week or month, counted from the first of the calendar, so that they are the same ones whenever the data begins.
    """

    every: Period
    on: str = "first"
    each: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class EveryBars:
    bars: int


@dataclass(frozen=True, slots=True, kw_only=True)
class OnWeekdays:
    days: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class InHours:
    """By the exchange's clock; the bar begins at or after `start` and before `end`."""

    start: str = "00:00"
    end: str = "24:00"


@dataclass(frozen=True, slots=True, kw_only=True)
class InMonths:
    """By the exchange's calendar; 1 is January."""

    months: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class MonthDays:
    """Days of a month by their number, both ends included: 3 is the third on which there is a bar, -3 the third last
    weekday. Both ends are counted from the same side."""

    first: int
    last: int
