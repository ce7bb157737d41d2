"""What is left where a rule does not hold, and the words for it: if it isn't, when it is below."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from ringfence.agents.rules.measures.scales import scale
from ringfence.agents.rules.reader import Reader
from ringfence.trade.description.catalogue import PRICES
from ringfence.trade.description.lines import lines_of
from ringfence.trade.description.model import (
    AllOf,
    AnyOf,
    Between,
    Compare,
    Condition,
    Cross,
    Description,
    EveryBars,
    Held,
    InHours,
    InMonths,
    Level,
    Line,
    Not,
    Number,
    OnSchedule,
    OnWeekdays,
    Rotation,
    Signals,
    SomeOf,
    Trend,
)

_OTHER: dict[Level, tuple[Level, ...]] = {
    "above": ("below", "at_most"), "at_least": ("below", "at_most"), "below": ("above", "at_least"),
    "at_most": ("above", "at_least"),
}  # fmt: skip
_LASTING = (Compare, Between, Held, Trend, InMonths, InHours, OnWeekdays)
_ENDS = (
    "END", "IS", "STOP_MARK", "TO", ",", "THEN", "COLON", "HOLD", "BUY", "LONG", "EXIT", "INVEST", "AND", "ROTATE",
    "EQUITY",
)  # fmt: skip
_SUBJECTS = ("IT", "SYMBOL", "PRICE", "CLOSE", "IS", "CLOSES", "MOVES", "BACK")


def leaves(rule: Condition) -> Condition:
    """What holds wherever the rule does not."""
    return rule.part if isinstance(rule, Not) else Not(part=rule)


def no_longer(entry: Condition) -> Condition:
    """When what was asked of an entry is no longer so. A cross is over on the next bar: what lasts is its side."""
    return leaves(_lasting(entry))


def _lasting(entry: Condition) -> Condition:
    if isinstance(entry, Cross) and entry.direction != "either":
        return Compare(left=entry.left, level=entry.direction, right=entry.right)
    if isinstance(entry, (AllOf, AnyOf, SomeOf)):
        return replace(entry, parts=tuple(map(_lasting, entry.parts)))
    return entry


def ended_by(held: Condition, leave: Condition, traded: Collection[str]) -> bool:
    """Whether an exit is said of what it is held for, and so ends that in its own words: RSI below 10, above 70."""
    own, other = _measures(held, traded), _measures(leave, traded)
    return bool(own & other) if own and other else own == other


def _measures(rule: Condition, traded: Collection[str]) -> set[Line]:
    """Its lines, where it has others than prices."""
    found = {replace(line, symbol="") if not traded or line.symbol in traded else line for line in lines_of(rule)}
    return {line for line in found if line.name not in PRICES} or found


def idle(made: Description) -> bool:
    """A line that is held against itself, a price against zero, or one that rises and falls, or is above and below
    another, on one bar: words were taken for what they do not mean."""
    plan = made.plan
    if isinstance(plan, Rotation):
        return plan.only is not None and _idle(plan.only)
    if not isinstance(plan, Signals):
        return False
    return any(_idle(one.when) for one in plan.entries) or any(_idle(one.when) for one in plan.exits)


def _idle(rule: Condition) -> bool:
    if isinstance(rule, (Compare, Cross)):
        nothing = isinstance(rule.right, Number) and rule.right.value <= 0
        priced = isinstance(rule.left, Line) and scale(rule.left) in ("price", "volume")
        return rule.left == rule.right or (nothing and priced)
    parts = rule.parts if isinstance(rule, (AllOf, AnyOf, SomeOf)) else (rule.part,) if isinstance(rule, Not) else ()
    ways = {(part.line, part.way) for part in parts if isinstance(part, Trend)}
    torn = isinstance(rule, AllOf) and (len({line for line, _ in ways}) < len(ways) or _apart(parts))
    return torn or any(_idle(part) for part in parts)


def _apart(parts: Collection[Condition]) -> bool:
    sides = {(part.left, part.right, part.level) for part in parts if isinstance(part, Compare)}
    return any((left, right, "below") in sides for left, right, level in sides if level == "above")


def one_day(made: Description) -> bool:
    """Long at month end when …, otherwise flat: bought on the one day of the rule, and sold on the next."""
    plan = made.plan
    if not isinstance(plan, Signals):
        return False
    dated = {
        one.when
        for one in plan.entries
        if isinstance(one.when, AllOf) and any(isinstance(part, (OnSchedule, EveryBars)) for part in one.when.parts)
    }
    return any(isinstance(one.when, Not) and one.when.part in dated for one in plan.exits)


def lasts(when: Condition) -> bool:
    """It holds on bar after bar, so that "otherwise" has a meaning: it has no cross."""
    parts = when.parts if isinstance(when, (AllOf, AnyOf, SomeOf)) else (when.part,) if isinstance(when, Not) else ()
    return all(lasts(part) for part in parts) if parts else isinstance(when, _LASTING)


def opposite_side(rule: Condition, other: Condition) -> bool:
    """Whether the other is for all that the rule leaves: below the same line, the other months of the year.

    That the two may be equal is left to the rule's own words.
    """
    if isinstance(rule, Compare) and isinstance(other, Compare):
        return (rule.left, rule.right) == (other.left, other.right) and other.level in _OTHER[rule.level]
    months, rest = _months(rule), _months(other)
    if months and rest:
        return not months & rest and len(months | rest) == 12
    return other == leaves(rule)


def _months(rule: Condition) -> set[int]:
    """Those of a season, whatever it says of its last day."""
    if isinstance(rule, AllOf) and len(rule.parts) == 2 and isinstance(rule.parts[1], Not):
        rule = rule.parts[0]
    return set(rule.months) if isinstance(rule, InMonths) else set()


def is_rest(r: Reader, rule: Condition) -> bool:
    """After when: it isn't; it is below (it, that); not."""
    with r.trying() as attempt:
        r.skip(*_SUBJECTS)
        if r.take("NOT") and r.at(*_ENDS):
            attempt.keep()
            return True
        word = r.take("ABOVE", "BELOW")
        r.take("IT")
        if word is None or not r.at(*_ENDS) or not isinstance(rule, Compare):
            return False
        side: Level = "above" if word.kind == "ABOVE" else "below"
        if opposite_side(rule, replace(rule, level=side)):
            attempt.keep()
            return True
    return False
