"""A size that depends on a condition: $200 a month, $400 instead when it is below its average; double it when RSI < 30.

The other size is said after the usual one, beside its condition. That it is of the same order, and no order of its own,
must be said too: by "instead", "extra" or "double", by "but" or "or", or by standing in the sentence of a schedule.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from ringfence.agents.rules.conditions.conditions import condition, simple_parts
from ringfence.agents.rules.dates.calendar import DAYS
from ringfence.agents.rules.orders.amounts import amount_at
from ringfence.agents.rules.orders.collected import Collected
from ringfence.agents.rules.orders.entering import when_said
from ringfence.agents.rules.plans.complements import leaves, opposite_side
from ringfence.agents.rules.reader import Reader
from ringfence.trade.description.lines import lines_of
from ringfence.trade.description.model import (
    AllOf,
    AnyOf,
    Beyond,
    Case,
    CashSplit,
    Change,
    Compare,
    Condition,
    Cross,
    Entry,
    EveryBars,
    Exit,
    FixedCash,
    FixedShares,
    Guards,
    InMonths,
    MonthDays,
    Not,
    Number,
    OnSchedule,
    OnWeekdays,
    PercentOfEquity,
    Sizing,
    Varied,
)

_DATED = (OnSchedule, EveryBars, OnWeekdays, MonthDays, InMonths)
_LEAD = ("OR", "USE", "INVEST", "BUY", "IT", "AMOUNT", "DCA", "IS", "SIZE", "MOVES", "TO", "WORTH", "RAISE")
_TIMES = {"TWICE": 2.0, "TRIPLE": 3.0, "QUADRUPLE": 4.0, "HALVE": 0.5}
_BESIDE = ("INSTEAD_WORD", "PER_TRADE", "EXTRA", "IT", "AMOUNT", "OF", "IN", "ON_TOP", "USUAL", "ITS")
_WIDE = ("whenever", "any time", "anytime", "every time", "each time", "as soon as", "once", "the moment", "moment")
_ENDS = ("END", "STOP_MARK", ",", "AND", "OR", ")", "THEN", "USE")


def varied(r: Reader, said: Collected) -> bool:
    """but $400 if …; 400 instead in months when …; plus $100 if …; if …, buy $300 instead; double it when …"""
    if said.sizing is None or not said.entries or not isinstance(said.sizing, _USUAL):
        return False
    return _size_first(r, said) or _rule_first(r, said) or _for_the_rest(r, said)


_USUAL = (FixedCash, FixedShares, PercentOfEquity, CashSplit)


@dataclass(slots=True)
class _Said:
    """An amount, and what the words beside it have said."""

    value: float = 0
    instead: bool = False
    more: bool = False  # on top of the usual one
    times: bool = False  # as a multiple of it
    per_trade: bool = False
    verb: bool = False


def _size_first(r: Reader, said: Collected) -> bool:
    with r.trying() as attempt:
        begun, link = r.i, _link(r)
        made = _other_size(r, said, link)
        if made is None:
            return False
        when, scoped, wide = _asked(r, said)
        apart = begun == 0 or r.tokens[begun - 1].kind == "STOP_MARK" or wide
        plain = not made.verb and not apart
        marked = made.instead or made.times or link in ("but", "or") or made.per_trade
        marked = marked or (made.more and (not apart or _scoped_words(r, begun)))
        if when is None or (made.more and wide and not scoped) or not (marked or plain) or not r.at(*_ENDS):
            return False
        loose = link == "and" and not marked  # $100 if …, and $200 if …: where the two are steps, or the whole
        if not made.per_trade and any(
            isinstance(one, (OnSchedule, EveryBars, OnWeekdays)) for one in simple_parts(when)
        ):
            return False  # or $100 every two weeks: another schedule, and no case of this one
        if not _add(r, said, made, when, begun, loose=loose):
            return False
        attempt.keep()
        return True


def _rule_first(r: Reader, said: Collected) -> bool:
    """if it is down more than 5 % over the past month, buy $300 instead; when RSI is under 30, double it."""
    with r.trying() as attempt:
        begun = r.i
        if not r.at("WHEN", "ON", "IN"):
            return False
        when, scoped, wide = _asked(r, said, leading=True)
        if when is None or not _rule(when):
            return False
        r.skip(",", "THEN", "COLON", "TO")
        made = _other_size(r, said, "")
        if made is None or not r.at(*_ENDS):
            return False
        named = scoped and any(token.kind in DAYS for token in r.tokens[begun : r.i])  # on Fridays when …, put in $250
        if not (made.instead or made.times or named or (made.more and scoped and not wide)):
            return False
        if not _add(r, said, made, when, begun):
            return False
        attempt.keep()
        return True


def _for_the_rest(r: Reader, said: Collected) -> bool:
    """every month $500 if it is above its average, otherwise $250; unless RSI is above 70, in which case $500."""
    entered = said.entries[0].when
    if len(said.entries) > 1 or said.cases or not isinstance(entered, AllOf):
        return False
    dates = tuple(part for part in entered.parts if isinstance(part, _DATED))
    rules = [part for part in entered.parts if not isinstance(part, _DATED)]
    if not dates or len(rules) != 1 or any(isinstance(part, Cross) for part in simple_parts(rules[0])):
        return False
    with r.trying() as attempt:
        denied = isinstance(rules[0], Not) and (r.peek(-1).kind == "THEN" or r.peek().text == "in case")
        if not r.take("OTHERWISE") and not denied:
            return False
        r.take("WHEN") if r.peek().text == "in case" else None
        r.skip(",", "THEN", "ONLY", "FOR")
        made = _other_size(r, said, "", "ONLY", "FOR")
        if made is None or made.more or made.per_trade or not r.at(*_ENDS):
            return False
        attempt.keep()
        rest = rules[0].part if isinstance(rules[0], Not) else leaves(rules[0])
        said.entries[0] = replace(said.entries[0], when=dates[0] if len(dates) == 1 else AllOf(parts=dates))
        r.entry = said.entries[0].when
        said.cases.append(Case(when=rest, value=made.value))
        return True


def _asked(r: Reader, said: Collected, *, leading: bool = False) -> tuple[Condition | None, bool, bool]:
    """The condition; whether it is of the days on which it buys anyway; whether its words are of any day."""
    with r.trying() as attempt:
        scoped = _scope(r, said)
        wide = r.at("WHEN") and r.peek().text in _WIDE
        when = condition(r) if scoped and r.take("ON") else when_said(r, said, leading=leading)
        if when is None:
            return None, False, False
        attempt.keep()
        return when, _that_day(r) or scoped, wide


def _rule(when: Condition) -> bool:
    return next(lines_of(when), None) is not None or isinstance(when, InMonths)


def _link(r: Reader) -> str:
    """The word between the usual size and this one."""
    if r.at("OR"):
        return "or"
    before = r.peek(-1) if r.i else None
    return before.text if before is not None and before.kind == "AND" else ""


def _other_size(r: Reader, said: Collected, link: str, *also: str) -> _Said | None:
    made = _Said()
    made.more = link in ("plus", "and also", "and additionally")
    while r.at(*_LEAD, "EXTRA", "ANOTHER", "ON_TOP", *also):
        made.verb = made.verb or r.at("BUY", "INVEST", "DCA")
        made.instead = made.instead or (r.at("IT", "AMOUNT") and r.at("MONEY", "NUM", "TWICE", "TRIPLE", ahead=1))
        made.more = made.more or r.at("EXTRA", "ANOTHER", "ON_TOP")
        r.take(*_LEAD, "EXTRA", "ANOTHER", "ON_TOP", *also)
    value = _times(r, said) if not made.more else None
    made.times = value is not None
    if value is None:
        value = _stated(r, said)
    if value is None:
        return None
    made.value = value
    while r.at(*_BESIDE) or (r.at("SYMBOL") and r.peek().text in said.symbols):
        made.instead = made.instead or r.at("INSTEAD_WORD")
        made.more = made.more or r.at("EXTRA", "ON_TOP")
        made.per_trade = made.per_trade or r.at("PER_TRADE")
        if r.at("IN", "OF") and not r.at("SYMBOL", "IT", "USUAL", "AMOUNT", ahead=1):
            break
        r.take(*_BESIDE, "SYMBOL")
    return None if made.more and (made.times or made.instead) else made


def _times(r: Reader, said: Collected) -> float | None:
    """double it, twice as much, 3x the amount, half of that."""
    with r.trying() as attempt:
        word = r.take(*_TIMES)
        if word is not None:
            times = _TIMES[word.kind]
        elif r.at("NUM") and r.at("TIMES", ahead=1):
            number = r.take("NUM")
            times = number.value if number is not None else 0
            r.take("TIMES")
        elif r.at("HALF") and r.at("IT", "AMOUNT", "USUAL", "AS_MUCH", "OF", ahead=1):
            r.take("HALF")
            times = 0.5
        else:
            return None
        r.skip("IT", "AMOUNT", "USUAL", "AS_MUCH", "OF", "ITS", "SIZE", "BUY", "INVEST")
        if not r.at("WHEN", "ON", "IN", "INSTEAD_WORD", "PER_TRADE", *_ENDS) or times <= 0:
            return None
        attempt.keep()
        value = times * _usual_value(said.sizing)
        return int(value) if value == int(value) else round(value, 2)


def _stated(r: Reader, said: Collected) -> float | None:
    """$400, 20 shares, 10 % of the equity: in the unit of the usual size; a bare 400 where that is money."""
    usual = said.sizing
    kind = "COUNT" if isinstance(usual, FixedShares) else "SHARE" if isinstance(usual, PercentOfEquity) else "CASH"
    found = amount_at(r.tokens, r.i) if not r.at("END") else None
    percent = found is not None and kind == "SHARE" and found.kind == "PCT"
    if found is not None and (found.kind == kind or percent):
        r.take_to(found.end)
        return found.value
    bare = r.at("NUM") and r.at("INSTEAD_WORD", "WHEN", "EXTRA", ahead=1)
    if bare and kind != "SHARE" and (number := r.take("NUM")) is not None and number.value > 0:
        return number.value
    return None


def _usual_value(sizing: Sizing | None) -> float:
    if isinstance(sizing, FixedShares):
        return sizing.count
    if isinstance(sizing, PercentOfEquity):
        return sizing.percent
    assert isinstance(sizing, (FixedCash, CashSplit))
    return sizing.amount


def _scope(r: Reader, said: Collected) -> bool:
    """any Thursday on which …, on Mondays when …: the days on which it buys anyway."""
    with r.trying() as attempt:
        r.take("ON", "IN")
        r.take("EVERY")
        day = r.take(*DAYS, "DAY", "MONTH", "WEEK")
        if day is None or not r.at("WHEN", "ON"):
            return False
        days = {one.on for entry in said.entries for one in _dates(entry.when) if isinstance(one, OnSchedule)}
        if day.kind in DAYS and days != {day.kind.lower()}:
            return False
        attempt.keep()
        return True


def _that_day(r: Reader) -> bool:
    """… on that day, that month: when it buys anyway."""
    with r.trying() as attempt:
        r.skip("ON", "IN", "AT", "CURRENT")
        if r.take("DAY", "MONTH", "WEEK", "BUY_TIME") and r.at(*_ENDS):
            attempt.keep()
            return True
    return False


def _scoped_words(r: Reader, begun: int) -> bool:
    """Whether the words themselves say that it is beside the usual order: on that day, any Thursday on which."""
    last = r.peek(-1)
    return last.kind in ("DAY", "MONTH", "WEEK", "BUY_TIME") or any(
        token.kind in (*DAYS, "PER_TRADE") for token in r.tokens[begun : r.i]
    )


def _dates(when: Condition) -> tuple[Condition, ...]:
    if isinstance(when, AllOf):
        return tuple(one for part in when.parts for one in _dates(part))
    return when.parts if isinstance(when, AnyOf) else (when,)


def _add(r: Reader, said: Collected, made: _Said, when: Condition, first: int, *, loose: bool = False) -> bool:
    """Note the case. What stands beside a rule of the entry may be of another entry, and is then not read."""
    if not made.per_trade:
        if any(isinstance(part, Cross) for part in simple_parts(when)):
            raise r.ask(
                "a cross on the very bar on which it buys is rare: is the level meant?",
                ["double it when RSI is below 30"],
                first,
            )
        if not all(isinstance(part, _DATED) for one in said.entries for part in _dates(one.when)):
            if not made.more and len(said.entries) == 1 and (left := _without(said.entries[0].when, when)) is not None:
                said.entries[0] = replace(said.entries[0], when=left)
                r.entry = left
            else:
                return False
        elif loose and not said.cases:
            return False
        if said.cases and not _graded(said.cases[-1], when, made):
            return False
        if made.value == _usual_value(said.sizing) and not made.more:
            return False
    said.cases.append(Case(when=when, value=made.value, more=made.more))
    return True


def _without(when: Condition, other: Condition) -> Condition | None:
    """Every Monday $100 if it is above its average, $200 if it is below: the schedule, where the two are the whole."""
    if not isinstance(when, AllOf):
        return None
    left = tuple(part for part in when.parts if isinstance(part, _DATED))
    rules = [part for part in when.parts if not isinstance(part, _DATED)]
    if not left or len(rules) != 1 or not opposite_side(rules[0], other):
        return None
    return left[0] if len(left) == 1 else AllOf(parts=left)


def _graded(before: Case, when: Condition, made: _Said) -> bool:
    """double it below 40, triple it below 30: the same line, and the stricter one later."""
    first = before.when
    if before.more or made.more:
        return False
    if isinstance(first, Change) and isinstance(when, Change):
        return replace(first, percent=when.percent) == when and when.percent > first.percent
    if not isinstance(first, Compare) or not isinstance(when, Compare):
        return False
    if (first.left, first.level) != (when.left, when.level):
        return False
    a, b = first.right, when.right
    falls = when.level in ("below", "at_most")
    if isinstance(a, Beyond) and isinstance(b, Beyond) and a.line == b.line:
        return b.percent < a.percent if falls else b.percent > a.percent
    if not isinstance(a, Number) or not isinstance(b, Number):
        return False
    return b.value < a.value if falls else b.value > a.value


def with_cases(said: Collected, sizing: Sizing) -> Sizing:
    return Varied(usual=sizing, cases=tuple(said.cases)) if said.cases and isinstance(sizing, _USUAL) else sizing


def goes_on(sizing: Sizing, entries: Sequence[Entry], exits: Sequence[Exit], guards: Guards) -> bool:
    """On Fridays $100 if it is below its average, otherwise $50: each Friday, as nothing sells what was bought."""
    dated = any(isinstance(entry.when, OnWeekdays) for entry in entries)
    return isinstance(sizing, Varied) and dated and not exits and guards == Guards()
