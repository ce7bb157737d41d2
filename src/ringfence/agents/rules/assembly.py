"""All that was said, put together: one description, or what is missing for it to be a strategy."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from typing import TypeVar

from ringfence.agents.rules.conditions.mirror import symmetric
from ringfence.agents.rules.dates.day_end import out_by
from ringfence.agents.rules.dates.weekdays import on_their_days
from ringfence.agents.rules.objections import guards_unfit, sides_unfit, size_unfit
from ringfence.agents.rules.orders.collected import Collected
from ringfence.agents.rules.orders.parting import of_the_rest
from ringfence.agents.rules.orders.remarks import not_so
from ringfence.agents.rules.orders.sides import contradicted, filtered
from ringfence.agents.rules.orders.stances import announced_flips
from ringfence.agents.rules.orders.varied import goes_on, with_cases
from ringfence.agents.rules.orders.wording import with_length
from ringfence.agents.rules.plans.complements import ended_by, lasts, no_longer
from ringfence.agents.rules.reader import Reader
from ringfence.trade.description.catalogue import usual_line
from ringfence.trade.description.echo import line as say_line
from ringfence.trade.description.lines import lines_of, map_lines
from ringfence.trade.description.model import (
    AllIn,
    AllOf,
    AnyOf,
    Condition,
    Description,
    Entry,
    EveryBars,
    Exit,
    FixedCash,
    FixedShares,
    Guards,
    InHours,
    Line,
    MonthDays,
    Not,
    OnSchedule,
    OnWeekdays,
    PercentOfEquity,
    RiskCash,
    RiskPerTrade,
    Signals,
    Sizing,
    in_money,
)

T = TypeVar("T")

_SPANS = tuple(f"in {span} {word}" for span in ("months", "weeks") for word in ("when", "where", "in which"))


class _Unfit(Exception):
    """What speaks against it, as it is told."""


def assemble(r: Reader, said: Collected) -> Description | str:
    """One description of all that was said, or what is missing for it to be a strategy."""
    try:
        entries, exits = _timed(r, said, _entries(r, said))
        exits += _ends_of_states(said, exits)
        _demand(sides_unfit(said, entries, exits))
        plan = _plan(r, said, entries, exits)
        return _whole(r, said, plan)
    except _Unfit as unfit:
        return str(unfit)


def _demand(wrong: str | None) -> None:
    if wrong:
        raise _Unfit(wrong)


def _made(found: T | str) -> T:
    if isinstance(found, str):
        raise _Unfit(found)
    return found


def _entries(r: Reader, said: Collected) -> list[Entry]:
    if not said.entries and all(not isinstance(one.when, Not) for one in said.sided):
        if not said.exits and all(lasts(one.when) for one in said.sided):
            said.held += [one.when for one in said.sided]  # long only when …: and else not
        if said.exits or said.held:
            said.entries, said.sided = said.sided, []  # buy only on Mondays, sell on Fridays
    if not said.entries and said.ordered and [one.when for one in said.ordered] == said.filters:
        said.entries, said.filters = said.ordered, []
    if not said.entries and not announced_flips(r, said):
        _demand(
            'it says when to sell, and not when to buy: add "buy when …", '
            'or write "sell short when …" where that is meant'
            if said.exits
            else 'it does not say when to buy: add for example "buy when RSI drops below 30"'
        )
    return [replace(one, when=on_their_days(r, [one.when], 0)) for one in _made(filtered(said))]


def _timed(r: Reader, said: Collected, entries: list[Entry]) -> tuple[list[Entry], list[Exit]]:
    """The entries and the exits that were named, each with its side and its hours."""
    said.exits = [replace(one, when=on_their_days(r, [one.when], 0)) for one in said.exits]
    _demand(contradicted(said, entries))
    exits = _sided(entries, list(dict.fromkeys(said.exits)))
    for late in dict.fromkeys(e.when.start for e in exits if isinstance(e.when, InHours)):
        r.notices.append(
            f"out at {late} is decided on the first bar from {late} on and filled at the next bar's open: "
            "where that bar is the day's last, name the time of the bar before it"
        )
    if said.filters and exits:
        r.notices.append("what must hold to trade is asked of the entries, not of the exits")
    if not _both_end(entries, exits, said.bare):
        raise _Unfit("it goes long and short: say when to exit longs, and when to exit shorts")
    return _made(out_by(entries, exits, r.told_times, within_day=said.within_day))


def _ends_of_states(said: Collected, exits: Sequence[Exit]) -> list[Exit]:
    """In while it is so: out when it no longer is, where no exit that was named ends it."""
    sides = {one.when: one.side for one in said.entries}
    held = [part for part in said.held if not any(ended_by(part, one.when, said.symbols) for one in exits)]
    return [Exit(side=sides.get(part, "long"), when=no_longer(part)) for part in held]


def _plan(r: Reader, said: Collected, entries: list[Entry], exits: list[Exit]) -> Signals:
    """With its guards and its size."""
    guards, sizing = of_the_rest(r, said.guards.made(), exits), said.sizing or AllIn()
    _demand(guards_unfit(said, guards, exits))
    by_risk = guards.target is not None and guards.target.kind == "risk"
    counted = isinstance(sizing, (RiskPerTrade, RiskCash)) or by_risk
    if counted and guards.stop is None and guards.trail is not None and not guards.trail.rest:
        guards = replace(guards, stop=guards.trail.distance)  # where the trailing stop begins
        r.notices.append("the risk is measured to where the trailing stop begins")
    _demand(size_unfit(said, guards, sizing, exits, {token.kind for token in r.tokens}))
    adds = said.adds or _bought_again(sizing, entries, exits, guards)
    adds = adds or (said.kept and (in_money(sizing) or isinstance(sizing, FixedShares)) and _each_time(r))
    sizing = with_cases(said, sizing)
    adds = adds or goes_on(sizing, entries, exits, guards)
    if isinstance(sizing, FixedCash) and len(said.symbols) > 1 and not any(t.text == "each" for t in r.tokens):
        r.notices.append("the sum is spent on each of them: to divide it, say for example split $500 equally between …")
    return Signals(entries=tuple(entries), exits=tuple(exits), guards=guards, sizing=sizing, adds=adds)


def _whole(r: Reader, said: Collected, plan: Signals) -> Description:
    """With what it trades; and nothing that was said is left over."""
    symbols = tuple(said.symbols)
    every = said.every and not symbols
    _demand(not_so(said, plan, 0 if every else len(symbols) or 1))
    if r.single and plan.adds:
        raise _Unfit("it adds to the position, and says that there is one at a time: leave one of them out")
    made = _made(with_length(_own_lines(Description(plan=plan, symbols=symbols, every=every)), said.length))
    unused = next((one for one in said.about if not _uses(made, one)), None)
    if unused is not None:
        raise _Unfit(f"it is about {say_line(unused)}, and no rule uses that: say what it is to do")
    if not made.symbols and not made.every and len({line.symbol for line in lines_of(made) if line.symbol}) > 1:
        raise _Unfit("several instruments are named, and not which of them is traded: say for example Trade AAPL")
    if plan.exits or plan.guards != Guards() or plan.adds:
        return made
    if any(token.kind == "WHEN" and token.text in _SPANS for token in r.tokens):
        raise _Unfit('it is for some months or weeks, and does not say when to sell: add "sell when …"')
    if len({entry.side for entry in plan.entries}) == 1:
        r.notices.append("no exit was given: what it buys it keeps to the end")
    return made


def _sided(entries: list[Entry], exits: list[Exit]) -> list[Exit]:
    """A bare exit ends what there is: where only short sales are made, those."""
    sides = {entry.side for entry in entries}
    return [replace(e, side="short") if sides == {"short"} else e for e in exits]


def _both_end(entries: list[Entry], exits: list[Exit], bare: Sequence[Condition]) -> bool:
    """Exit at 15:45, when ADX is below 20: of a strategy that goes both ways, whichever position there is."""
    if {e.side for e in entries} != {"long", "short"}:
        return True
    covered = any(e.side == "short" for e in exits)
    for when in bare:
        dated = isinstance(when, (InHours, OnWeekdays, OnSchedule))
        if not covered and not symmetric(when):
            return False
        if not covered or dated:
            exits.append(Exit(side="short", when=when))
    return True


def _each_time(r: Reader) -> bool:
    """Put $1,000 in it each time RSI crosses below 30, and never sell: more each time."""
    said = [("ON", "EVERY"), ("AFTER", "EVERY")]  # on every dip of 2 %
    timed = any(token.text in ("each time", "every time", "on every") for token in r.tokens)
    return timed or any((a.kind, b.kind) in said for a, b in pairwise(r.tokens))


def _bought_again(sizing: Sizing, entries: Sequence[Entry], exits: Sequence[Exit], guards: Guards) -> bool:
    """$500 every Monday, 5 % of the equity every Monday: each time, where it is not out of it by then."""
    if not any(_scheduled(entry.when) for entry in entries):
        return False
    if in_money(sizing) or isinstance(sizing, FixedShares):
        return True
    plain = all(not isinstance(entry.when, AllOf) for entry in entries)  # by nothing but the calendar
    dated = any(not _scheduled(one.when) for one in exits) and all(
        not isinstance(one.when, (OnWeekdays, InHours, OnSchedule, EveryBars, MonthDays)) for one in exits
    )
    never = not exits and guards == Guards()
    lasting = never or (plain and dated and not guards.time_stop_bars)
    return isinstance(sizing, PercentOfEquity) and lasting


def _scheduled(when: Condition) -> bool:
    parts = when.parts if isinstance(when, AllOf) else (when,)
    return any(
        isinstance(part, (OnSchedule, EveryBars))
        or (isinstance(part, MonthDays) and part.first == part.last)
        or (isinstance(part, AnyOf) and all(_scheduled(one) for one in part.parts))
        for part in parts
    )


def _own_lines(made: Description) -> Description:
    """Lines of what is traded need no name; a single instrument that only the rules name is what is traded."""
    named = {line.symbol for line in lines_of(made) if line.symbol}
    if not made.symbols and not made.every and len(named) == 1:
        made = replace(made, symbols=tuple(named))
    if len(made.symbols) == 1:
        own = made.symbols[0]
        made = map_lines(made, lambda line: replace(line, symbol="") if line.symbol == own else line)
    return made


def _uses(made: Description, about: Line) -> bool:
    if about.name == "atr" and isinstance(made.plan, Signals) and about.values[0] in _stop_periods(made.plan.guards):
        return True
    same = {line for line in lines_of(made) if line.name == about.name}
    counts = (len(same), len({line.values for line in same}))
    if about.name in ("sma", "ema", "wma") and len(about.values) == 1 and about.values[0] in counts:
        return True  # a 3 EMA system, of three averages: how many there are, and not a period
    names = ("ichimoku", "cloud") if about.name in ("ichimoku", "cloud") else (about.name,)
    usual = about.values == usual_line(about.name).values
    return any(line.name in names and (usual or line.values == about.values) for line in lines_of(made))


def _stop_periods(guards: Guards) -> set[float]:
    """Of the ATR that a stop, a target or a trailing stop is measured by."""
    far = (guards.stop, guards.target, guards.trail.distance if guards.trail else None)
    return {one.period for one in far if one is not None and one.kind == "atr"}
