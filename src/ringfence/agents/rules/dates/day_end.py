"""Out by a time of the day in English: flat by 15:55, sell at 10:00, and what that means for the entries.

A rule that still holds would buy again on the very bar on which it is told to be out. So nothing is opened from that
time on; where it only enters later in the day, it is out from that time until then, and holds over the night.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from ringfence.agents.rules.conditions.conditions import all_of, any_of
from ringfence.trade.description.model import AllOf, AnyOf, Condition, Entry, Exit, InHours, InMonths, Not, OnWeekdays

_MIDNIGHT = "24:00"
_NOON = "12:00"


def out_by(
    entries: list[Entry], exits: list[Exit], told: Collection[str], *, within_day: bool = False
) -> tuple[list[Entry], list[Exit]] | str:
    """The entries and exits with what was `told` as a time to be out taken into account, or what is unclear."""
    made = list(exits)
    ended = {one.side for one in exits if any(late.start >= _NOON for late in _times(one.when, told))}
    if within_day and not ended >= {one.side for one in entries}:
        return 'nothing is to be held over the night: say when it is out, for example "flat by 15:55"'
    for n, leave in enumerate(exits):
        for late in _times(leave.when, told) if leave.portion == 100 and not leave.rest else ():
            own = [one for one in entries if one.side == leave.side]
            overnight = [hours.start for one in own for hours in _hours(one.when) if hours.start >= late.start]
            if own and len(overnight) == len(own):
                until = InHours(start=late.start, end=min(overnight))
                if until.start == until.end:
                    return f"it enters and leaves at {late.start}: say another time for one of them"
                made[n] = replace(made[n], when=_put(made[n].when, late, until))
                continue
            if late.start < _NOON and any(not _ends_by(one.when, late) for one in own):
                return f'it leaves at {late.start}: say until when it enters, for example "buy only after 15:00"'
            entries = [replace(one, when=_before(one.when, late)) if one.side == leave.side else one for one in entries]
    return entries, made


def only_dated(when: Condition) -> bool:
    """Hours, weekdays and months, and nothing else: when something may happen, and no reason for it."""
    if isinstance(when, (AllOf, AnyOf)):
        return all(only_dated(part) for part in when.parts)
    return only_dated(when.part) if isinstance(when, Not) else isinstance(when, (InHours, OnWeekdays, InMonths))


def _times(when: Condition, told: Collection[str]) -> list[InHours]:
    parts = when.parts if isinstance(when, AnyOf) else (when,)
    return [part for part in parts if isinstance(part, InHours) and part.end == _MIDNIGHT and part.start in told]


def _hours(when: Condition) -> list[InHours]:
    parts = when.parts if isinstance(when, AllOf) else (when,)
    return [part for part in parts if isinstance(part, InHours)][:1]


def _put(when: Condition, late: InHours, until: InHours) -> Condition:
    if not isinstance(when, AnyOf):
        return until
    return any_of([until if part == late else part for part in when.parts])


def _ends_by(when: Condition, late: InHours) -> bool:
    parts = when.parts if isinstance(when, AllOf) else (when,)
    shut = [part.part for part in parts if isinstance(part, Not)]
    if any(isinstance(one, InHours) and one.end == _MIDNIGHT and one.start <= late.start for one in shut):
        return True
    return any(hours.end <= late.start for hours in _hours(when))


def _before(when: Condition, late: InHours) -> Condition:
    """What is asked of an entry, and that it is not that late."""
    if _ends_by(when, late):
        return when
    parts: list[Condition] = list(when.parts) if isinstance(when, AllOf) else [when]
    for n, part in enumerate(parts):
        if isinstance(part, InHours):
            parts[n] = replace(part, end=late.start)
            return all_of(parts)
    return all_of([*parts, Not(part=late)])
