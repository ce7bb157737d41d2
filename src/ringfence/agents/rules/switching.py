"""One instrument while a rule holds, and another where it does not: SPY above its average, otherwise TLT."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ringfence.agents.rules.calendar import calendar, schedule
from ringfence.agents.rules.collected import SEPARATORS, Collected, symbols
from ringfence.agents.rules.conditions import condition
from ringfence.agents.rules.frames import frame
from ringfence.agents.rules.reader import Reader
from ringfence.agents.rules.tokens import Token
from ringfence.trade.description.lines import lines_of, map_lines
from ringfence.trade.description.model import (
    Compare,
    Condition,
    Description,
    Entry,
    EveryBars,
    Line,
    OnSchedule,
    Period,
    Rotation,
    Signals,
)

_VERBS = (
    "HOLD", "BUY", "LONG", "ROTATE", "INVEST", "IS", "IN", "USE", "IT", "ALL_IN", "MOVES", "TO", "EQUITY", "POSITION",
    "REBALANCE", "TURNS",
)  # fmt: skip
_EVERY: dict[str, Period] = {"1d": "day", "1w": "week", "1mo": "month"}
_TITLES = ("STRATEGY", "PLEASE", "TITLE")


def switches(tokens: Sequence[Token]) -> bool:
    """otherwise hold TLT."""
    kinds = [token.kind for token in tokens]
    if {"TOP", "BOTTOM", "RANKED", "HIGHEST", "LOWEST"} & set(kinds):
        return False
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
    said, other = Collected(), ""
    rule: Condition | None = None
    when: OnSchedule | EveryBars | None = None
    elsewhere = False
    r.skip(*SEPARATORS, *_TITLES)
    while not r.at("END"):
        start = r.i
        r.skip(*SEPARATORS)
        if frame(r):
            pass
        elif (timed := _timed(r)) is not None:
            if when not in (None, timed):
                raise r.ask("looked at on which schedule?", ["say one of them"], first)
            when = timed
        elif r.take("WHEN"):
            made = condition(r)
            if made is None or rule is not None:
                return None
            rule = made
        elif r.take_all("EXIT", "OTHERWISE"):
            elsewhere = True
        elif r.take("OTHERWISE"):
            other = _held(r)
            r.skip("HOLD", "IN", "IS", "TO", ",") if not other else None
            if not other and not r.take("EXIT", "EQUITY"):
                return None
            r.take("INSTEAD") if r.peek().text == "instead" else None
            elsewhere = True
        elif r.at("WHEN", ahead=1) and r.take("BUY", "LONG", "HOLD"):
            pass  # go long when … of SPY
        elif not said.symbols and _holds(r, said):
            r.it = Line(name="close")
        elif not r.take("REBALANCE") and not r.at("END"):
            return None
        if r.i == start:
            return None
    if rule is not None and not said.symbols:
        owners = {line.symbol for line in lines_of(rule)}
        said.symbols += list(owners) if len(owners) == 1 and "" not in owners else []
    if rule is None or not elsewhere or not said.symbols or other in said.symbols:
        return None
    if when is None and r.timeframe not in _EVERY:
        raise r.ask("how often is it looked at?", ["rebalance monthly", "rebalance weekly"], first)
    return _made(tuple(said.symbols), other, rule, when or OnSchedule(every=_EVERY[r.timeframe]))


def _holds(r: Reader, said: Collected) -> bool:
    with r.trying() as attempt:
        r.skip(*_VERBS, "EQUALLY", "EVERY")
        if symbols(r, said):
            attempt.keep()
            r.take("EQUALLY")
            return True
    return False


def _held(r: Reader) -> str:
    with r.trying() as attempt:
        r.skip(*_VERBS, ",")
        token = r.take("SYMBOL")
        if token is not None:
            attempt.keep()
            return token.text
    return ""


def _timed(r: Reader) -> OnSchedule | EveryBars | None:
    with r.trying() as attempt:
        r.skip("REBALANCE", "ONLY")
        made = calendar(r) or schedule(r)
        if isinstance(made, (OnSchedule, EveryBars)):
            attempt.keep()
            r.skip("REBALANCE")
            return made
    return None


def _made(names: tuple[str, ...], other: str, rule: Condition, when: OnSchedule | EveryBars) -> Description:
    """The stronger of two, where the rule compares the same line of both; else the first with a filter."""
    own = Description(plan=Signals(entries=(Entry(side="long", when=rule),)), symbols=names)
    plain = map_lines(own, lambda line: _of(line, "") if names == (line.symbol,) else line).plan
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
        and _of(only.right, "") == only.left
    ):
        plan = Rotation(count=1, rank=only.left, highest=only.level == "above", rebalance=when)
        return Description(plan=plan, symbols=(*names, other))
    plan = Rotation(count=len(names), rank=Line(name="close"), rebalance=when, only=only, otherwise=other)
    return Description(plan=plan, symbols=names)


def _of(line: Line, symbol: str) -> Line:
    return replace(line, symbol=symbol)
