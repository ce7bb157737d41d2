"""One instrument while a rule holds, and another where it does not: SPY above its average, otherwise TLT.

Each clause says what is held and when, in either order. Two of them make a strategy, where the second is for all that
the first leaves: otherwise, if it isn't, when it is below.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from ringfence.agents.rules.conditions.conditions import condition, simple_parts
from ringfence.agents.rules.dates.calendar import calendar, schedule
from ringfence.agents.rules.dates.schedules import merged
from ringfence.agents.rules.measures.frames import frame
from ringfence.agents.rules.orders.collected import SEPARATORS, Collected, symbols
from ringfence.agents.rules.orders.sizes import sizing
from ringfence.agents.rules.plans.complements import is_rest, leaves, opposite_side
from ringfence.agents.rules.reader import Reader
from ringfence.agents.rules.text.tokens import Token
from ringfence.trade.description.lines import lines_of, map_lines
from ringfence.trade.description.model import (
    AllIn,
    Compare,
    Condition,
    Cross,
    Description,
    Entry,
    EveryBars,
    Exit,
    Line,
    OnSchedule,
    Period,
    Rotation,
    Signals,
)

_VERBS = (
    "HOLD", "BUY", "LONG", "ROTATE", "INVEST", "IS", "IN", "USE", "IT", "ALL_IN", "MOVES", "TO", "POSITION", "TURNS",
    "EVERY", "OF", "EQUITY",
)  # fmt: skip
_CASH = ("EXIT", "EQUITY", "NOTHING", "NO_POSITION")
_EVERY: dict[str, Period] = {"1d": "day", "1w": "week", "1mo": "month"}
_TITLES = ("STRATEGY", "PLEASE", "TITLE")
_RANKS = {"TOP", "BOTTOM", "RANKED", "HIGHEST", "LOWEST"}


@dataclass(slots=True)
class _Switching:
    rule: Condition | None = None
    held: tuple[str, ...] = ()  # while it holds; none is cash
    other: tuple[str, ...] | None = None  # where it does not
    when: OnSchedule | EveryBars | None = None
    replaced: str = ""  # what it says is not held while the rule holds
    about: tuple[str, ...] = ()  # what a heading names: EFA, checked at month end: …
    basket: tuple[str, ...] = ()  # said before any rule: held where the rule does not send it to cash
    dated: bool = False  # the rule says on which days it is asked
    unless: bool = False  # the rule says when it is not held


def switches(tokens: Sequence[Token]) -> bool:
    """otherwise hold TLT; hold SPY when …, TLT when …: with two instruments or a schedule it is nothing else."""
    kinds = [token.kind for token in tokens]
    if _RANKS & set(kinds):
        return False
    held = [t.text for verb, t in pairwise(tokens) if verb.kind in ("HOLD", "BUY") and t.kind == "SYMBOL"]
    if len(set(held)) == len(held) == 2 and kinds.count("WHEN") == 2:
        return True  # hold TQQQ when …; when it is below, hold TLT
    if any(kinds[k : k + 4] == ["HOLD", "SYMBOL", "INSTEAD", "SYMBOL"] for k in range(len(kinds))):
        return True
    for n, kind in enumerate(kinds):
        if kind != "OTHERWISE":
            continue
        if any(kinds[k : k + 1] == ["NOT"] and kinds[k + 1] in ("TRADE", "BUY") for k in range(n - 1)):
            continue  # do not trade if … Otherwise buy SPY when …
        after = n + 1
        while after < len(kinds) and kinds[after] in (*_VERBS, ","):
            after += 1
        other = kinds[after : after + 1]
        if "REBALANCE" in kinds and kinds[n - 1 : n] == ["EXIT"]:
            return True  # checked at month end, and in cash otherwise
        if other == ["SYMBOL"] or ("REBALANCE" in kinds and (other == ["EXIT"] or "EQUITY" in kinds[n:after])):
            return True
    return False


def switch(r: Reader) -> Description | None:
    """Hold SPY when it is above its 200-day average, otherwise TLT; looked at on a schedule, or on every bar."""
    first = r.i
    s = _Switching()
    r.skip(*SEPARATORS, *_TITLES)
    _headed(r, s)
    while not r.at("END"):
        start = r.i
        r.skip(*SEPARATORS)
        if r.at("END") or frame(r) or _basket(r, s):
            pass
        elif (timed := _timed(r)) is not None:
            s.when = merged(r, s.when, timed, "looked at on which schedule?", first)
        elif not _clause(r, s) and not _remark(r):
            return None
        if r.i == start:
            return None
    if s.replaced:
        s.other = (s.replaced,) if s.other is None else s.other
        if s.replaced not in s.other:
            return None
    if s.basket and s.rule is not None and not s.held and s.other is None and s.dated:
        s.other = s.basket
    elif s.basket:
        return None
    if (
        s.rule is None
        or s.other is None
        or s.held == s.other
        or any(isinstance(p, Cross) for p in simple_parts(s.rule))
    ):
        return None
    if not s.held:
        s.rule, s.held, s.other = leaves(s.rule), s.other, ()
    if len(s.other) > 1 or set(s.held) & set(s.other) or (s.about and s.held != s.about):
        return None
    other = s.other[0] if s.other else ""
    if s.when is None and not other:
        return _in_and_out(s.held, s.rule)
    if s.when is None and r.timeframe not in _EVERY:
        raise r.ask("how often is it looked at?", ["rebalance monthly", "rebalance weekly"], first)
    return _made(s.held, other, s.rule, s.when or OnSchedule(every=_EVERY[r.timeframe]))


def _headed(r: Reader, s: _Switching) -> None:
    """Absolute momentum on EFA, checked at month end: …"""
    with r.trying() as attempt:
        r.take("ON", "FOR", "IN")
        name = r.take("SYMBOL")
        if name is not None and r.at(",", "COLON", "STOP_MARK") and not r.at("SYMBOL", "AND", ahead=1):
            s.about = (name.text,)
            attempt.keep()


def _clause(r: Reader, s: _Switching) -> bool:
    """hold SPY while …; if … then TLT; otherwise TLT; cash the rest of the year."""
    with r.trying() as attempt:
        made: Condition | str | None
        r.skip("DURING", "FOR") if r.at("OTHERWISE", ahead=1) else None
        then = s.unless and r.peek(-1).kind == "THEN"  # hold SPY unless …, then hold IEF
        if r.take("OTHERWISE") or then or (s.unless and r.peek().text == "in case" and r.take("WHEN")):
            r.skip(",", "THEN", "TO")
            made, held = "rest", _holding(r, s)
            r.take("INSTEAD") if r.peek().text == "instead" else None
        elif r.at("BUY", "LONG", "HOLD") and r.at("WHEN", ahead=1):
            r.take("BUY", "LONG", "HOLD")  # go long when … of SPY
            made = _asked(r, s)
            looked = any(token.kind == "REBALANCE" for token in r.tokens)  # TLT: long if …, else flat; checked monthly
            held = _owner(made) or (s.about if looked and s.about else None)
        elif (
            r.at("WHEN", "UNLESS") or _led(r) or _before_comma(r) or (r.i and r.peek(-1).text in ("and if", "and when"))
        ):
            made = _asked(r, s)
            r.skip(",", "THEN", "COLON", "TO")
            held = _holding(r, s, made)
        else:
            held = _holding(r, s)
            r.take(",") if r.at("WHEN", "UNLESS", "OTHERWISE", ahead=1) else None
            r.skip("DURING", "FOR", "IN") if r.at("OTHERWISE", "REST", ahead=1) else None
            made = "rest" if r.take("OTHERWISE", "REST") else _asked(r, s)
        if made is None or held is None or not _set(s, made, held):
            return False
        attempt.keep()
        return True


def _basket(r: Reader, s: _Switching) -> bool:
    """An equal-weight basket of A, B and C, …, but all to cash whenever … at month end."""
    with r.trying() as attempt:
        said = Collected()
        alike = r.at("EQUALLY") or r.at("EQUALLY", ahead=1)
        r.skip("HOLD", "EQUALLY", "EVERY_SYMBOL", "OF", "IN")
        if s.rule is not None or s.basket or not symbols(r, said) or len(said.symbols) < 2:
            return False
        alike = r.take("EQUALLY") is not None or alike
        if not alike or not r.at(",", "STOP_MARK", "REBALANCE"):
            return False
        s.basket = tuple(said.symbols)
        attempt.keep()
        return True


def _set(s: _Switching, made: Condition | str, held: tuple[str, ...]) -> bool:
    if made == "rest":
        if s.other is not None or s.rule is None:
            return s.rule is None and s.other is None and _later(s, held)
        s.other = held
        return True
    if s.rule is not None or isinstance(made, str):
        return False
    s.rule, s.held = made, held
    return True


def _later(s: _Switching, held: tuple[str, ...]) -> bool:
    s.other = held
    return True


def _led(r: Reader) -> bool:
    """SPY above its average -> hold; below -> cash: a rule before an arrow."""
    for ahead in range(24):
        if r.at("THEN", "COLON", ahead=ahead):
            return ahead > 0
        if r.at("STOP_MARK", "END", "WHEN", "HOLD", "BUY", ahead=ahead):
            return False
    return False


def _before_comma(r: Reader) -> bool:
    """12-month return above zero, hold it: a rule, and then what to do."""
    at = next((n for n in range(24) if r.at(",", "STOP_MARK", "END", "WHEN", "HOLD", "BUY", "OTHERWISE", ahead=n)), 0)
    return at > 2 and r.at(",", ahead=at) and r.at("HOLD", "BUY", "LONG", ahead=at + 1)


def _asked(r: Reader, s: _Switching) -> Condition | str | None:
    """The rule of a clause, or that it is for the rest."""
    word = r.take("WHEN", "UNLESS")
    if s.rule is not None and is_rest(r, s.rule):
        return "rest"
    made = (None if word else calendar(r)) or condition(r)
    if made is None:
        return None
    s.unless = word is not None and word.kind == "UNLESS"
    made = leaves(made) if s.unless else made
    s.dated = r.at("AT", "ON", "EVERY", "MONTH_END", "MONTHLY")
    if s.rule is not None:
        return "rest" if opposite_side(s.rule, made) else None
    with r.trying() as attempt:  # … at month end
        when = schedule(r)
        if isinstance(when, OnSchedule) and s.when in (None, when):
            s.when = when
            attempt.keep()
    return made


def _holding(r: Reader, s: _Switching, made: Condition | str | None = None) -> tuple[str, ...] | None:
    """hold SPY, everything in TLT, SPY and QQQ equally, cash, nothing; hold, of what the rule is about."""
    with r.trying() as attempt:
        said = Collected()
        r.skip(*_VERBS, "EQUALLY")
        if symbols(r, said):
            r.it = Line(name="close")
            r.take("EQUALLY")
            r.take("INSTEAD") if r.peek().text == "instead" else None
            if r.at("INSTEAD") and r.at("SYMBOL", ahead=1):
                s.replaced = r.peek(1).text  # TLT instead of SPY
                r.take_all("INSTEAD", "SYMBOL")
            attempt.keep()
            return tuple(said.symbols)
    with r.trying() as attempt:
        r.skip("HOLD", "IN", "IS", "TO", "ALL_IN", "MOVES", ",")
        if r.take(*_CASH) or r.take_all("NOT", "POSITION"):
            r.skip("EQUITY", "IN") if r.at("EQUITY", ahead=0) else None
            attempt.keep()
            return ()
    if r.at("STOP_MARK", ",", "END", "OTHERWISE", ahead=1) and r.take("HOLD", "BUY", "LONG"):
        return _owner(made) or s.about or None
    return None


def _owner(made: Condition | str | None) -> tuple[str, ...] | None:
    """The one instrument that a rule is about."""
    owners = {line.symbol for line in lines_of(made)} if made is not None and not isinstance(made, str) else set()
    return tuple(owners) if len(owners) == 1 and "" not in owners else None


def _remark(r: Reader) -> bool:
    """100 % each time, all in: as it is."""
    with r.trying() as attempt:
        r.skip("USE", "INVEST", "EQUITY")
        made = sizing(r, spoken=True)
        r.skip("PER_TRADE", "EVERY", "WHEN" if r.peek().text in ("each time", "every time") else "EVERY")
        if isinstance(made, AllIn):
            attempt.keep()
            return True
    return r.take("REBALANCE", "LONG_ONLY", "NO_LEVERAGE") is not None


def _timed(r: Reader) -> OnSchedule | EveryBars | None:
    with r.trying() as attempt:
        r.skip("REBALANCE", "ONLY", "IT")
        made = calendar(r) or schedule(r)
        if isinstance(made, (OnSchedule, EveryBars)):
            attempt.keep()
            r.skip("REBALANCE", "ONLY")
            return made
    return None


def _in_and_out(names: tuple[str, ...], rule: Condition) -> Description:
    """In while it holds, in cash while it does not, on any bar."""
    plan = Signals(entries=(Entry(side="long", when=rule),), exits=(Exit(side="long", when=leaves(rule)),))
    return _own(Description(plan=plan, symbols=names))


def _own(made: Description) -> Description:
    names = made.symbols
    return map_lines(made, lambda line: replace(line, symbol="") if names == (line.symbol,) else line)


def _made(names: tuple[str, ...], other: str, rule: Condition, when: OnSchedule | EveryBars) -> Description:
    """The stronger of two, where the rule compares the same line of both; else the first with a filter."""
    plain = _own(Description(plan=Signals(entries=(Entry(side="long", when=rule),)), symbols=names)).plan
    assert isinstance(plain, Signals)
    only = plain.entries[0].when
    if (
        len(names) == 1
        and isinstance(only, Compare)
        and isinstance(only.left, Line)
        and isinstance(only.right, Line)
        and only.level in ("above", "below")
        and only.left.symbol == ""
        and only.right.symbol == other != ""
        and replace(only.right, symbol="") == only.left
    ):
        plan = Rotation(count=1, rank=only.left, highest=only.level == "above", rebalance=when)
        return Description(plan=plan, symbols=(*names, other))
    plan = Rotation(count=len(names), rank=Line(name="close"), rebalance=when, only=only, otherwise=other)
    return Description(plan=plan, symbols=names)
