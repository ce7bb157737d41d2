"""What speaks against a strategy of rules as it was said: parts that contradict each other, or lack another."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import fields, is_dataclass

from ringfence.agents.rules.orders.collected import Collected
from ringfence.trade.description.guards import distances
from ringfence.trade.description.model import (
    Beyond,
    Entry,
    Exit,
    Guards,
    MonthDays,
    OnSchedule,
    OnWeekdays,
    RiskCash,
    RiskPerTrade,
    Sizing,
    VolatilityTarget,
    in_money,
)


def sides_unfit(said: Collected, entries: Sequence[Entry], exits: Sequence[Exit]) -> str:
    if said.kept and exits:
        return "it says never to sell, and when to sell: leave one of them out"
    apart = {one.side for one in said.entries if one.when in said.held}
    if any(one.side in apart and one.when not in said.held for one in said.entries):
        return 'it says while what it is held, and when to buy besides: write "only trade when …" where that is asked'
    if said.long_only and any(e.side == "short" for e in entries):
        return "it says long only, and when to sell short: leave one of them out"
    if "short" in said.left and not any(e.side == "short" for e in entries):
        return 'it says when to cover, and never sells short: write "sell when …", or add "sell short when …"'
    if said.always_in and (exits or {e.side for e in entries} != {"long", "short"}):
        return "it says always in the market: say when to buy and when to sell short, and no other exit"
    return ""


def guards_unfit(said: Collected, guards: Guards, exits: Sequence[Exit]) -> str:
    if said.priced and guards.stop != guards.target and any(e.side == "short" for e in said.entries):
        return "it goes short, where a fall of the price is a gain: say stop loss 5 %, or take profit 5 %"
    if said.stop_hit and not any((guards.stop, guards.target, guards.trail)):
        return "it speaks of a stop that is hit, and names none: add for example a 5 % stop loss"
    if said.unmet and not (exits or guards.stop or guards.target or guards.trail):
        return "it speaks of an exit that has not come, and names none: say when to sell"
    if not all(getattr(guards, name) for name in said.promised):
        return "its heading names a stop or a target, and no rule has it: add for example a 5 % stop loss"
    if any(getattr(guards, name) for name in said.without):
        return "it says that there is no stop or target, and names one: leave one of them out"
    parted = {e.side for e in exits if e.portion < 100}
    if guards.trail is not None and guards.trail.rest and not (guards.partials or parted):
        return 'it trails the rest, and sells no part before: add for example "sell half at 5 %"'
    if any(e.rest and e.side not in parted for e in exits) and not guards.partials:
        return 'it sells the rest, and no part before: add for example "sell half at 5 %"'
    if guards.break_even is not None and guards.break_even.after is None and not (guards.partials or parted):
        return 'it moves the stop when a part has been sold, and sells none: add for example "sell half at 5 %"'
    if guards.target_rest and not parted:
        return 'it has a target for the rest, and sells no part before: add for example "sell half at 5 %"'
    return ""


def size_unfit(said: Collected, guards: Guards, sizing: Sizing, exits: Sequence[Exit], kinds: Collection[str]) -> str:
    dated = sum(isinstance(one.when, (OnSchedule, OnWeekdays, MonthDays)) for one in said.entries)
    if in_money(sizing) and dated > 1 and ("MONTHLY" in kinds or "WEEKLY" in kinds):  # $400 a month, buying on the 10th
        return "it has two schedules, which would each buy: name one of them"
    if isinstance(sizing, (RiskPerTrade, RiskCash)) and guards.stop is None:
        return 'risk per trade needs a stop: add for example "stop loss 5 %"'
    if guards.stop is None and any(far.kind == "risk" for far in distances(guards)):
        return 'a target in times of the risk needs a stop: add for example "stop loss 5 %"'
    if isinstance(sizing, VolatilityTarget) and said.adds:
        return "a position of a target volatility is not added to: leave one of them out"
    gone = sum(p.portion for p in guards.partials)
    for side in ("long", "short"):
        if gone + sum(e.portion for e in exits if e.side == side and e.portion < 100) > 100.001:
            return "the parts to sell are more than the whole: make them add up to 100 % at most"
    return ""


def points_apart(part: object) -> bool:
    """Its return is 5 % above that of SPY: percentage points are meant, and not 1.05 times a return."""
    if isinstance(part, Beyond):
        return part.line.name == "roc"
    if isinstance(part, tuple):
        return any(points_apart(item) for item in part)
    return is_dataclass(part) and any(points_apart(getattr(part, field.name)) for field in fields(part))
