"""Schedules beside each other: weekly, every Friday; each month, at month end; at 14:00 every weekday."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from ringfence.agents.rules.conditions.conditions import all_of
from ringfence.agents.rules.dates.calendar import recurring
from ringfence.agents.rules.reader import Reader, minutes
from ringfence.trade.description.model import (
    AllOf,
    AnyOf,
    Condition,
    EveryBars,
    InHours,
    InMonths,
    MonthDays,
    Not,
    OnSchedule,
    OnWeekdays,
)

_DATED = (EveryBars, OnSchedule, OnWeekdays, InHours, InMonths, MonthDays)


def merged(
    r: Reader, one: OnSchedule | EveryBars | None, two: OnSchedule | EveryBars, ask: str, first: int
) -> OnSchedule | EveryBars:
    """The second with the first, where one of them says only how often; a question where they differ."""
    if one is None or one == two:
        return two
    if isinstance(one, OnSchedule) and isinstance(two, OnSchedule):
        alike = (one.every, one.each) == (two.every, two.each)
        if alike and "first" in (one.on, two.on):
            return two if one.on == "first" else one
    raise r.ask(ask, ["say one of them"], first)


def named_schedule(
    r: Reader, before: OnSchedule | EveryBars | None, ask: str, first: int
) -> OnSchedule | EveryBars | None:
    """The schedule that is named here, with the one named before."""
    found = recurring(r)
    return None if found is None else merged(r, before, found, ask, first)


def is_dated(made: Condition) -> bool:
    return isinstance(made, _DATED) or (isinstance(made, (AllOf, AnyOf)) and all(is_dated(part) for part in made.parts))


def at_hours(r: Reader, made: Condition) -> Condition:
    """At 14:00 every weekday: the bar of that hour and none after it; every day is no further rule."""
    echoed = (("IT", "IS", "FIRST"), ("IT", "IS", "LAST"), ("IT", "IS", "DAY"))
    if any(tuple(t.kind for t in r.tokens[n : n + 3]) in echoed for n in range(r.i)):
        return made  # as the echo says it, each counts
    _check_days(r, made)
    parts = _one_schedule(r, made.parts if isinstance(made, AllOf) else (made,))
    if not any(isinstance(part, InHours) for part in parts):
        return all_of(parts)
    told = {b.text for a, b in pairwise(r.tokens[: r.i]) if a.kind == "AT" and b.kind == "TIME"}
    kept = [part for part in parts if part != OnSchedule(every="day")]
    return all_of([_one_bar(r, part) if isinstance(part, InHours) and part.start in told else part for part in kept])


def _check_days(r: Reader, made: Condition) -> None:
    """On Mondays if it closed lower on Friday: no day is both."""
    named = [set(part.days) for part in getattr(made, "parts", ()) if isinstance(part, OnWeekdays)]
    if len(named) > 1 and not set.intersection(*named):
        raise r.ask("no day is both of these: which of them is it?", ["the close is lower than 2 bars ago"], r.i - 1)


def _one_schedule(r: Reader, parts: Sequence[Condition]) -> list[Condition]:
    """Every month on the 15th, weekly on Wednesday: one schedule, said in two words."""
    dated = [part for part in parts if isinstance(part, OnSchedule)]
    made: OnSchedule | EveryBars | None = None
    for one in dated:
        made = merged(r, made, one, "on which of these days?", r.i - 1)
    rest: list[Condition] = [part for part in parts if not isinstance(part, OnSchedule)]
    return rest if made is None else [made, *rest]


def _one_bar(r: Reader, at: InHours) -> InHours:
    """The bar that begins at that hour."""
    length = minutes(r.timeframe)
    if at.end != "24:00" or length >= minutes("1d"):
        return at
    hour, minute = map(int, at.start.split(":"))
    end = min(hour * 60 + minute + int(length), 24 * 60)
    return InHours(start=at.start, end=f"{end // 60:02d}:{end % 60:02d}")


def is_season(made: Condition) -> bool:
    """Months, or all but some; the last three days of every month."""
    part = made.part if isinstance(made, Not) else made
    if isinstance(part, AnyOf):
        return all(map(is_season, part.parts))
    return isinstance(part, InMonths) or (isinstance(part, MonthDays) and part.first != part.last)
