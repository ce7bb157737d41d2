"""One of two baskets by a rule, on a schedule: 70/30 SPY/TLT while SPY is above its average, otherwise 30/70."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ringfence.agents.rules.conditions.conditions import condition, simple_parts
from ringfence.agents.rules.dates.schedules import named_schedule
from ringfence.agents.rules.orders.collected import SEPARATORS
from ringfence.agents.rules.plans.complements import is_rest, opposite_side
from ringfence.agents.rules.reader import Question, Reader, listed_symbols, percent
from ringfence.agents.rules.text.tokens import Token
from ringfence.trade.description.lines import lines_of
from ringfence.trade.description.model import Basket, Choice, Condition, Cross, Description, EveryBars, OnSchedule

_LEAD = ("HOLD", "BUY", "LONG", "INVEST", "IN", "USE", "ROTATE", "IS", "TO", "EQUALLY", "MOVES", "TURNS", "EQUITY")
_PLAIN = ("PLEASE", "STRATEGY", "TITLE", "REBALANCE", "NO_LEVERAGE", "LONG_ONLY")
_CASH = ("EXIT", "NOTHING", "NO_POSITION")
_ENDS = ("END", "STOP_MARK", ",", "OR", "AND", "OTHERWISE", "WHEN", "UNLESS", "REBALANCE")


@dataclass(slots=True)
class _Two:
    rule: Condition | None = None
    held: Basket | None = None
    other: Basket | None = None
    rebalance: OnSchedule | EveryBars | None = None


def is_baskets(tokens: Sequence[Token]) -> bool:
    """Two lists with weights or in equal parts, one of which is for the rest."""
    kinds = [token.kind for token in tokens]
    if {"MONEY", "DOLLARS", "TOP", "BOTTOM", "RANKED", "HIGHEST", "LOWEST", "SELL", "SHORT", "STOP"} & set(kinds):
        return False
    apart = "OTHERWISE" in kinds or kinds.count("WHEN") > 1
    return apart and kinds.count("SYMBOL") > 1 and bool({"EQUALLY", "PERCENT", "SLASH"} & set(kinds))


def baskets(r: Reader) -> Description | None:
    two = _Two()
    first = r.i
    try:
        while not r.at("END"):
            start = r.i
            if r.take(*SEPARATORS, "OR") or _scheduled(r, two, first) or _clause(r, two) or r.take(*_PLAIN):
                continue
            if r.i == start:
                return None
    except Question:
        return None  # another kind of strategy may read it
    if two.rule is None or two.held is None or two.other is None or two.held == two.other:
        return None
    several = two.held.weights or two.other.weights or (len(two.held.symbols) > 1 and len(two.other.symbols) > 1)
    unnamed = any(not line.symbol for line in lines_of(two.rule))
    if not several or unnamed or any(isinstance(one, Cross) for one in simple_parts(two.rule)):
        return None
    if two.rebalance is None:
        raise r.ask("how often is it looked at?", ["rebalance monthly", "rebalance weekly"], first)
    names = tuple(dict.fromkeys((*two.held.symbols, *two.other.symbols)))
    plan = Choice(rule=two.rule, held=two.held, other=two.other, rebalance=two.rebalance)
    return Description(plan=plan, symbols=names)


def _scheduled(r: Reader, two: _Two, first: int) -> bool:
    with r.trying() as attempt:
        led = r.take("REBALANCE") is not None
        if not led and r.at("WHEN"):
            return False
        when = named_schedule(r, two.rebalance, "looked at on which schedule?", first)
        if when is None:
            return False
        two.rebalance = when
        attempt.keep()
        r.skip("REBALANCE")
        return True


def _clause(r: Reader, two: _Two) -> bool:
    """hold … if …; if …: hold …; otherwise hold …; or … if it is above."""
    with r.trying() as attempt:
        if r.take("OTHERWISE"):
            r.skip(",", "THEN")
            held = _basket(r, two)
            if held is None or two.other is not None or two.held is None or not r.at(*_ENDS):
                return False
            two.other = held
            attempt.keep()
            return True
        if r.take("WHEN"):
            rest, rule = _asked(r, two)
            r.skip(",", "COLON", "THEN")
            held = _basket(r, two) if rest or rule is not None else None
        else:
            held = _basket(r, two)
            r.take(",") if r.at("WHEN", ahead=1) else None
            rest, rule = _asked(r, two) if held is not None and r.take("WHEN") else (False, None)
            rest = rest or (held is not None and rule is None and r.take("OTHERWISE") is not None)
        if held is None or not r.at(*_ENDS) or not (rest or rule is not None):
            return False
        if rest and two.other is None:
            two.other = held
        elif not rest and two.rule is None:
            two.rule, two.held = rule, held
        else:
            return False
        attempt.keep()
        return True


def _asked(r: Reader, two: _Two) -> tuple[bool, Condition | None]:
    """Whether it is for all that the first rule leaves; or the rule."""
    if two.rule is not None and is_rest(r, two.rule):
        return True, None
    made = condition(r)
    if made is not None and two.rule is not None:
        return opposite_side(two.rule, made), None
    return False, made


def _basket(r: Reader, two: _Two) -> Basket | None:
    """70 % SPY and 30 % TLT; 70/30 SPY/TLT; A, B and C in equal amounts; 30/70 of the same; cash."""
    with r.trying() as attempt:
        r.skip(*_LEAD)
        if r.take(*_CASH) or (r.peek(-1).text in ("cash", "in cash") and r.at(*_ENDS)):
            attempt.keep()
            return Basket()
        made = _weighed(r) or _ratio(r, two)
        if made is None:
            names = listed_symbols(r)
            r.take("IN") if r.at("EQUALLY", ahead=1) else None
            r.take("EQUALLY")
            made = Basket(symbols=names) if names else None
        if made is None or sum(made.weights) > 100.01:
            return None
        attempt.keep()
        return made


def _weighed(r: Reader) -> Basket | None:
    names: list[str] = []
    weights: list[float] = []
    while True:
        with r.trying() as attempt:
            r.skip(",", "AND", "SLASH") if names else None
            size = percent(r)
            r.skip("IN", "OF", "TO") if size is not None else None
            token = r.take("SYMBOL") if size is not None else None
            if token is None or size is None or token.text in names:
                break
            names.append(token.text)
            weights.append(size)
            attempt.keep()
    if len(names) == 1 and weights == [100]:
        return Basket(symbols=tuple(names))
    return Basket(symbols=tuple(names), weights=tuple(weights)) if names else None


def _ratio(r: Reader, two: _Two) -> Basket | None:
    with r.trying() as attempt:
        weights: list[float] = []
        while (number := r.take("NUM")) is not None:
            weights.append(number.value)
            if not r.take("SLASH", "DASH"):
                break
        r.skip("IN", "OF", "BETWEEN") if weights else None
        names = listed_symbols(r) if len(weights) > 1 else ()
        names = names or (two.held.symbols if two.held is not None and r.at(*_ENDS) else ())
        if len(weights) < 2 or len(names) != len(weights):
            return None
        attempt.keep()
        return Basket(symbols=names, weights=tuple(weights))
