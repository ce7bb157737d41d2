"""Statements of a strategy of rules: what to do, of what, how much, when, and how it is guarded, in any order."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from ringfence.agents.rules.calendar import calendar, never_on
from ringfence.agents.rules.conditions import all_of, condition, opposite
from ringfence.agents.rules.guards import Guarding, after_bars, guard
from ringfence.agents.rules.leaving import leave
from ringfence.agents.rules.lines import line
from ringfence.agents.rules.operands import pair_of_averages
from ringfence.agents.rules.reader import Reader
from ringfence.agents.rules.settings import BANDS, NAMES
from ringfence.agents.rules.sizes import sizing
from ringfence.trade.description.model import (
    AllIn,
    Change,
    Condition,
    Cross,
    Direction,
    Entry,
    Exit,
    Not,
    OnSchedule,
    OnWeekdays,
    Side,
    Sizing,
)

SEPARATORS = ("STOP_MARK", ",", "AND", "THEN", "COLON", "DASH", "TO", "WHICHEVER_FIRST")


_WAYS: tuple[Direction, Direction] = ("above", "below")


@dataclass(slots=True)
class Collected:
    """What the statements read so far have said."""

    symbols: list[str] = field(default_factory=list)
    every: bool = False
    entries: list[Entry] = field(default_factory=list)
    exits: list[Exit] = field(default_factory=list)
    filters: list[Condition] = field(default_factory=list)
    guards: Guarding = field(default_factory=Guarding)
    sizing: Sizing | None = None
    adds: bool = False
    held: list[Condition] = field(default_factory=list)  # it is in while these hold
    left: set[Side] = field(default_factory=set)  # sides that an exit was named for
    kept: bool = False  # never sell
    long_only: bool = False

    def size(self, r: Reader, made: Sizing, first: int) -> bool:
        if self.sizing is not None and self.sizing != made:
            raise r.ask("two different sizes", ["say which of them counts"], first)
        self.sizing = made
        return True


def statements(r: Reader) -> Collected | None:
    """All of them up to the end of the text, or None where one cannot be read."""
    said = Collected()
    while True:
        r.skip(*SEPARATORS)
        if r.at("END"):
            return said
        if not statement(r, said):
            return None


def statement(r: Reader, said: Collected) -> bool:
    readers: tuple[Callable[[Reader, Collected], bool], ...] = (
        _label, _universe, _prefixed, _entry, _add_each, _tool, _exit, _hold, _filter, _otherwise, _crossover,
    )  # fmt: skip
    for read in readers:
        with r.trying() as attempt:
            if read(r, said):
                attempt.keep()
                return True
    return False


def _label(r: Reader, said: Collected) -> bool:
    """A strategy for GOOG: what it is called says nothing about what it does."""
    if r.take("LONG_ONLY") or r.take_all("NOT", "SHORT"):
        said.long_only = True
        return True
    if r.take_all("MOMENTUM", "COLON"):
        return True
    if r.take_all("NOT", "SELL"):
        said.kept = True
        return True
    if _context(r):
        return True
    if not r.take("STRATEGY"):
        return False
    r.skip("STRATEGY")
    if r.take("FOR", "ON", "OF", "USE", "IN"):
        return symbols(r, said) or r.take("LONG_ONLY") is not None
    return r.at("COLON", "STOP_MARK", ",", "END", "WHEN", "BUY", "THEN") or r.take("CURRENT") is not None


def _context(r: Reader) -> bool:
    """Use the 20-day Donchian channel: what "the upper channel" will mean."""
    with r.trying() as attempt:
        r.take("USE")
        made = line(r, side="above")
        if made is not None and made.name in BANDS.values() and r.at("COLON", "STOP_MARK", ","):
            attempt.keep()
            r.right = made
            return True
    return False


def _universe(r: Reader, said: Collected) -> bool:
    """Trade AAPL and MSFT. For GOOG: …  $TSLA, …"""
    verb = r.take("TRADE", "FOR", "ON", "USE", "IN")
    if verb is not None:
        r.take("COLON")
        return symbols(r, said) and not r.at("IS", "CROSS", "RISES", "FALLS", "ABOVE", "BELOW")
    return symbols(r, said) and r.take("COLON") is not None


def symbols(r: Reader, said: Collected) -> bool:
    """AAPL, MSFT and IBM; every stock."""
    if r.at("EVERY_SYMBOL") and not r.at("MONDAY", "TUESDAY", "WEDNESDAY", "THURSDAY", "FRIDAY", ahead=1):
        r.take("EVERY_SYMBOL")
        if r.take("OF", "IN") is None or not r.at("SYMBOL"):
            said.every = True
            return True
    token = r.take("SYMBOL")
    if token is None:
        return False
    found = [token.text]
    while r.at("AND", ",", "OR", "SLASH") or r.at("SYMBOL"):
        with r.trying() as attempt:
            r.take(",")
            r.take("AND", "OR", "SLASH")
            token = r.take("SYMBOL")
            if token is None or r.at("IS", "CROSS", "RISES", "FALLS", "ABOVE", "BELOW"):
                break
            attempt.keep()
            found.append(token.text)
    r.take("STOCKS", "SHARES")
    if r.peek().text == "each" and r.at("END", "STOP_MARK", ",", ahead=1):
        r.take("EVERY")
    said.symbols += [name for name in found if name not in said.symbols]
    r.traded = tuple(said.symbols)
    return True


def _when(r: Reader, said: Collected, *, leaving: bool = False) -> Condition | None:
    """when …, if …, on Mondays, every month, unless …; several of them are all asked for."""
    found: list[Condition] = []
    while True:
        with r.trying() as attempt:
            first = r.i
            word = r.take("WHEN", "UNLESS", "UNTIL" if leaving else "WHEN")
            if word is None and r.at("ON", "AFTER", "UPON") and not found:
                part = calendar(r)
                if part is None and r.take("ON", "AFTER") and not r.at("WHEN", "ON", "AT", "EVERY", "BETWEEN"):
                    part = condition(r, leaving=leaving)
            elif word is None:
                r.take(",") if found else None
                part = calendar(r) or never_on(r)
            elif r.take("OPPOSITE"):
                part = opposite(r, r.entry, first)
            else:
                part = condition(r, leaving=leaving)
            if part is None:
                break
            if word is not None and word.kind == "UNLESS":
                part = Not(part=part)
            attempt.keep()
            found.append(part)
    return all_of(found) if found else None


def _prefixed(r: Reader, said: Collected) -> bool:
    """When RSI is below 30, buy. Every Monday buy $100 of GOOG."""
    when = _when(r, said)
    bare = when is None
    if bare and r.at("GOLDEN_CROSS", "DEATH_CROSS", *NAMES):
        when = condition(r)
    if when is None or (bare and not r.at("COLON", "THEN")):
        return False
    r.skip(",", "THEN", "COLON", "DASH")
    return _entry(r, said, when) or leave(r, said, when)


def _object(r: Reader, said: Collected, first: int) -> bool:
    """What may stand between the verb and its condition, in any order: how much, of what, how guarded."""
    read = False
    while True:
        with r.trying() as attempt:
            if read:
                r.skip("AND", "BY")
            # "buy when it drops 5 %" must not end up as a size: a bare percentage is one after a verb that spends.
            made = sizing(r, spoken=r.take("USE") is not None or r.peek(-1).kind == "INVEST")
            if made is not None:
                said.size(r, made, first)
            elif (
                (r.take("OF", "IN", "INTO", "ON", "FOR") and symbols(r, said))
                or symbols(r, said)
                or r.take("IT", "POSITION", "LONG", "STOCKS", "SHARES", "NEXT_OPEN", "EQUALLY", "PER_TRADE", "PRICE")
                or (not r.at("SYMBOL", "COLON", ahead=1) and r.take("TRADE"))
                or (r.at("STOP", "TARGET", "TRAIL", "NUM", "ATR", "TIME_STOP") and guard(r, said.guards))
            ):
                pass
            else:
                break
            attempt.keep()
            read = True
    return read


def _entry(r: Reader, said: Collected, before: Condition | None = None) -> bool:
    first = r.i
    verb = r.take("BUY", "SHORT", "INVEST", "DCA", "LONG") or (
        r.take("SIGNAL_LINE") if r.at("COLON", ahead=1) else None
    )
    if verb is None and r.at("ALL_IN") and r.at("WHEN", ahead=1):
        verb = r.take("ALL_IN")
        said.size(r, AllIn(), first)
    if verb is None:
        if not r.at("SELL") or not r.at("SHORT", ahead=1):
            return False
        r.take("SELL")
        verb = r.take("SHORT")
    assert verb is not None
    r.take("COLON", "WHEN") if r.at("COLON") else None
    side: Side = "short" if verb.kind == "SHORT" else "long"
    if verb.kind == "BUY" and r.take("SHORT"):
        side = "short"
    sized = said.sizing
    _object(r, said, first)
    when = _when(r, said)
    if when is None and before is None:
        r.skip("COLON", "IS", "AT")
        if r.at("RISES", "FALLS"):
            when = _moved(r)
        elif not r.at("ABOVE", "BELOW", "IT", "NOT"):
            when = condition(r)  # buy RSI < 30
    _object(r, said, first)
    late = _when(r, said)
    parts = [part for part in (before, when, late) if part is not None]
    if not parts:
        if verb.kind in ("INVEST",):
            return said.sizing is not None
        if not r.at("END", "STOP_MARK", ",", "AND", "USE"):
            return False  # it may say when, in words that were not read
        raise r.ask(
            f"when should it {'sell short' if side == 'short' else 'buy'}?",
            ["buy when RSI drops below 30", "buy every Monday", "buy and hold GOOG"],
            first,
        )
    made = all_of(parts)
    if isinstance(made, OnWeekdays) and len(made.days) == 1 and sized is not said.sizing:
        made = OnSchedule(every="week", on=made.days[0])  # $100 on Mondays: once, whatever the bars are
    said.entries.append(Entry(side=side, when=made))
    r.entry = made
    return True


def _moved(r: Reader) -> Condition | None:
    """buy a stock that gained 15 % in 3 months."""
    with r.trying() as attempt:
        made = condition(r)
        if isinstance(made, Change):
            attempt.keep()
            return made
    return None


def _add_each(r: Reader, said: Collected) -> bool:
    if not r.take("ADD_EACH"):
        return False
    said.adds = True
    return True


def _exit(r: Reader, said: Collected) -> bool:
    return leave(r, said, None)


def _hold(r: Reader, said: Collected) -> bool:
    """hold for 10 days, hold until RSI is above 70."""
    first = r.i
    r.take("ONLY")
    if not r.take("HOLD"):
        return False
    r.skip("IT", "POSITION", "EVERY_SYMBOL")
    bars = after_bars(r, held=True)
    if bars is not None:
        return said.guards.set(r, "time_stop_bars", bars, first)
    if r.take("UNTIL"):
        return leave(r, said, None, verb=False)
    _object(r, said, first)
    when = _when(r, said)
    if when is None:
        return False
    said.entries.append(Entry(side="long", when=when))  # own it while …: in when it is so, out when it is not
    said.held.append(when)
    r.entry = when
    return True


def _otherwise(r: Reader, said: Collected) -> bool:
    """else be in cash; otherwise do nothing."""
    if not r.take("OTHERWISE"):
        return False
    r.take(",")
    if r.take("NOTHING"):
        return True
    if r.entry is None or not r.take("EXIT", "SELL"):
        return False
    r.take("IT", "POSITION")
    said.exits.append(Exit(side="long", when=Not(part=r.entry)))
    return True


def _crossover(r: Reader, said: Collected) -> bool:
    """a 20/50 EMA crossover on TSLA: in when the first crosses above the second, out when it crosses below."""
    r.take("USE", "TRADE")
    found = pair_of_averages(r)
    if found is None or not r.take("CROSS") or r.at("ABOVE", "BELOW", "RISES", "FALLS"):
        return False
    r.take("STRATEGY")
    if r.take("ON", "FOR") and not symbols(r, said):
        return False
    up, down = (Cross(left=found[0], direction=way, right=found[1]) for way in _WAYS)
    said.entries.append(Entry(side="long", when=up))
    said.exits.append(Exit(side="long", when=down))
    r.entry = up
    return True


def _tool(r: Reader, said: Collected) -> bool:
    """Use a 5 % stop. Risk 1 % per trade. With 20 % of the equity."""
    first = r.i
    r.skip("USE", "INVEST", "ALSO", "ON")
    r.take("PER_TRADE")
    r.take("USE")
    made = sizing(r, spoken=True)
    if made is not None:
        with r.trying() as attempt:
            if r.take("IN", "OF", "ON") and symbols(r, said):
                attempt.keep()
        return said.size(r, made, first)
    if r.take("EQUALLY"):
        return True
    return guard(r, said.guards)


def _not_when(r: Reader, said: Collected) -> Condition | None:
    """Don't buy if volume is low."""
    with r.trying() as attempt:
        if r.take("NOT") and r.take("BUY", "TRADE") and r.at("WHEN"):
            made = _when(r, said)
            if made is not None:
                attempt.keep()
                return Not(part=made)
    return None


def _filter(r: Reader, said: Collected) -> bool:
    """Only trade when ADX is above 25. No trades on Fridays. Only between 10:00 and 15:30."""
    made = never_on(r) or _not_when(r, said)
    if made is None:
        only = r.take("ONLY")
        verb = r.take("TRADE", "BUY", "LONG", "SHORT")
        r.take("ONLY")
        if only is None and verb is None:
            return False
        if verb is not None and verb.kind not in ("TRADE",) and not only:
            return False
        made = _when(r, said)
        if made is None:
            return False
    said.filters.append(made)
    return True
