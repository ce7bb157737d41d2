"""A position that is kept at one volatility: hold SPY sized to 10 % volatility over 20 days, adjusted weekly."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from ringfence.agents.rules.conditions.conditions import condition, simple_parts
from ringfence.agents.rules.dates.schedules import named_schedule
from ringfence.agents.rules.orders.collected import SEPARATORS, Collected, symbols
from ringfence.agents.rules.orders.sizes import aimed_at, measured_over, no_more_than_all, sizing
from ringfence.agents.rules.plans.complements import leaves, opposite_side
from ringfence.agents.rules.reader import Reader, percent, period
from ringfence.agents.rules.text.tokens import Token
from ringfence.trade.description.lines import map_lines
from ringfence.trade.description.model import (
    Condition,
    Cross,
    Description,
    EveryBars,
    Levelled,
    OnSchedule,
    VolatilityTarget,
)

_PLAIN = (
    "HOLD", "LONG", "LONG_ONLY", "NO_LEVERAGE", "IT", "POSITION", "STRATEGY", "TITLE", "PLEASE", "TRADE", "SIZE",
    "INVEST", "USE", "IS", "IN",
)  # fmt: skip
_OUT = ("EXIT", "SELL", "NO_POSITION", "NOTHING")
_ENDS = ("END", "STOP_MARK", ",", "AND", "OTHERWISE")


@dataclass(slots=True)
class _Level:
    said: Collected = field(default_factory=Collected)
    target: VolatilityTarget | None = None
    rebalance: OnSchedule | EveryBars | None = None
    only: Condition | None = None


def is_levelled(tokens: Sequence[Token]) -> bool:
    """A volatility that is aimed at, and a schedule on which something is put right."""
    kinds = {token.kind for token in tokens}
    ranked = kinds & {"TOP", "BOTTOM", "LOWEST", "ROTATE", "SHORT"}
    return {"VOLATILITY", "REBALANCE"} <= kinds and not ranked


def levelled(r: Reader) -> Description | None:
    """Hold SPY. Target 10 % volatility over 20 bars. Rebalance weekly. Only while it is above its 200-day average."""
    held = _Level()
    first = r.i
    while not r.at("END"):
        start = r.i
        if r.take(*SEPARATORS) or _target(r, held) or no_more_than_all(r) or _rule(r, held):
            continue
        if _scheduled(r, held, first) or symbols(r, held.said) or _window(r, held) or r.take(*_PLAIN):
            continue
        if r.peek().text in ("run", "running") and r.take("MOVES"):
            continue
        if r.i == start:
            return None
    names = tuple(held.said.symbols)
    if held.target is None or held.rebalance is None or len(names) != 1:
        return None
    plan = Levelled(target=held.target, rebalance=held.rebalance, only=held.only)
    own = names[0]
    return Description(
        plan=map_lines(plan, lambda line: replace(line, symbol="") if line.symbol == own else line), symbols=names
    )


def _target(r: Reader, held: _Level) -> bool:
    with r.trying() as attempt:
        made = _aimed(r) or sizing(r, spoken=True) or sizing(r, spoken=True, whole=True)
        if not isinstance(made, VolatilityTarget) or held.target not in (None, made):
            return False
        window = measured_over(r)
        held.target = replace(made, period=window) if window else made
        attempt.keep()
        return True


def _window(r: Reader, held: _Level) -> bool:
    """target 10 % volatility in SPY using 20-day volatility: the length after what is held."""
    if held.target is None or r.peek(-1).kind != "SYMBOL" or (window := measured_over(r)) is None:
        return False
    held.target = replace(held.target, period=window)
    return True


def _aimed(r: Reader) -> VolatilityTarget | None:
    """at 12 % volatility, at a 10 % annual vol target (20-day)."""
    with r.trying() as attempt:
        first = r.i
        r.skip("AT", "IN", "USE", "TO", "SIZE", "TARGET", "POSITION", "IS", "ITS", "FOR", "FIXED")
        if r.take("VOLATILITY"):
            r.skip("TARGET", "OF", "AT", "IS", "TO", "COLON")
        named = r.peek(-1).kind != "ITS" and any(token.kind == "VOLATILITY" for token in r.tokens[first : r.i])
        much = percent(r)
        r.skip("YEARLY", "TARGET", "YEAR", "OF")
        if much is None or not (r.take("VOLATILITY") or named):
            return None
        r.skip("TARGET", "YEARLY")
        r.take("(") if r.at("NUM", ahead=1) else None
        if r.peek(-1).kind == "(":
            bars = period(r)
            made = aimed_at(r, much, first) if bars is not None and r.take(")") else None
            made = replace(made, period=bars) if made is not None and bars is not None else None
        else:
            made = aimed_at(r, much, first)
        if made is not None:
            attempt.keep()
        return made


def _scheduled(r: Reader, held: _Level, first: int) -> bool:
    with r.trying() as attempt:
        r.skip("REBALANCE", "IT", "POSITION", "SIZE", "EQUITY")
        when = named_schedule(r, held.rebalance, "resized on which schedule?", first)
        if when is None:
            return False
        held.rebalance = when
        attempt.keep()
        r.skip("REBALANCE")
        return True


def _rule(r: Reader, held: _Level) -> bool:
    """only while it is above its average; go to cash whenever it is below; otherwise flat."""
    with r.trying() as attempt:
        if r.take("OTHERWISE"):
            r.skip(",", "IN", "IS", "HOLD")
            if held.only is None or not r.take(*_OUT, "EQUITY"):
                return False
            attempt.keep()
            return r.at(*_ENDS)
        out = r.take(*_OUT) is not None or (r.peek().text == "cash" and r.take("EQUITY") is not None)
        r.skip("IT", "POSITION", "EQUITY", "IN") if out else None
        word = r.take("WHEN", "UNLESS")
        made = condition(r) if word is not None else None
        if made is None or word is None or any(isinstance(one, Cross) for one in simple_parts(made)):
            return False
        only = leaves(made) if out != (word.kind == "UNLESS") else made
        if held.only is not None and held.only != only and not opposite_side(held.only, leaves(only)):
            return False
        held.only = held.only or only
        attempt.keep()
        return r.at(*_ENDS)
