"""Weekdays that a rule names besides the one on which it acts: short it on Mondays if it closed lower on Friday."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ringfence.agents.rules.conditions.conditions import all_of
from ringfence.agents.rules.reader import Reader
from ringfence.trade.description.lines import map_lines
from ringfence.trade.description.model import (
    AllOf,
    Between,
    Change,
    Compare,
    Condition,
    Cross,
    Held,
    OnSchedule,
    OnWeekdays,
    Trend,
)

_WEEK = ("monday", "tuesday", "wednesday", "thursday", "friday")
_DATED = (Compare, Cross, Between, Trend, Change, Held)


def on_their_days(r: Reader, parts: Sequence[Condition], first: int) -> Condition:
    """All of them; a rule beside which another weekday stands than the one it acts on is asked of that day's bar."""
    made = all_of(list(parts))
    flat = list(made.parts) if isinstance(made, AllOf) else [made]
    days = [n for n, part in enumerate(flat) if _day(part)]
    several = [set(part.days) for part in flat if isinstance(part, OnWeekdays)]
    if len({_day(flat[n]) for n in days}) < 2 and (not several or set.intersection(*several)):
        return made
    own = [n for n in days if n and isinstance(flat[n - 1], _DATED)]
    rules = [part for part in flat if isinstance(part, _DATED)]
    if len(days) != 2 or len(own) != 1 or len(rules) != 1 or r.timeframe != "1d":
        raise r.ask("two different weekdays for one rule", ["on Mondays if the close was falling 1 bar ago"], first)
    acts = next(n for n in days if n != own[0])
    back = (_WEEK.index(_day(flat[acts])) - _WEEK.index(_day(flat[own[0]]))) % 5
    bars = "the bar" if back == 1 else f"{back} bars"
    r.notices.append(f"{_day(flat[own[0]]).capitalize()} is read as {bars} before: it is another day after a holiday")
    rule = map_lines(rules[0], lambda line: replace(line, ago=line.ago + back))
    return all_of([rule if part is rules[0] else part for n, part in enumerate(flat) if n != own[0]])


def _day(part: Condition) -> str:
    """The one weekday that it is about."""
    if isinstance(part, OnWeekdays) and len(part.days) == 1 and part.days[0] in _WEEK:
        return part.days[0]
    return part.on if isinstance(part, OnSchedule) and part.on in _WEEK else ""
