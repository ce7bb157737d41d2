"""Which kind of strategy the words may be: the words that give it away, and the order in which they are tried."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import pairwise

from ringfence.agents.rules.plans.baskets import baskets, is_baskets
from ringfence.agents.rules.plans.levelled import is_levelled, levelled
from ringfence.agents.rules.plans.pairs import pair
from ringfence.agents.rules.plans.portfolio import allocation
from ringfence.agents.rules.plans.rotation import rotation
from ringfence.agents.rules.plans.switching import switch, switches
from ringfence.agents.rules.reader import Question, Reader
from ringfence.agents.rules.text.tokens import Token
from ringfence.trade.description.model import Description, Rotation

Plans = Callable[[Reader], Description | None]

_BOUGHT_ONCE = re.compile(
    r"(?:(?:PLEASE|STRATEGY|TITLE|COLON|STOP_MARK|,) )*(?:BUY|INVEST) (?:ALL_IN )?(?:IN |OF )?(?:(?:SYMBOL|AND|,) )+"
    r"(?:(?:ON|AT|CURRENT|FIRST|DAY|NUM|IN|OF) )*(?:(?:AND|,|THEN) )*"
    r"(?:(?:HOLD (?:IT |POSITION )?FOREVER|NOT SELL|NOT EXIT|FOREVER|AND|,|IT|HOLD) )+(?:STOP_MARK )*"
)


def kinds_of_plan(tokens: Sequence[Token]) -> Iterator[Plans | None]:
    """The readers that may take it, the likeliest first; None is a strategy of signals, which anything may be.

    Each must read every word, so that one that is asked too early gives way to the next.
    """
    kinds = {token.kind for token in tokens}
    measured = bool(kinds & {"ZSCORE", "STDEV"} or {"PAIR"} & kinds)
    if kinds & {"PAIR", "ZSCORE"} or (kinds & {"RATIO", "LOG_RATIO", "SPREAD"} and "STDEV" in kinds):
        yield pair
    if _opposed(tokens) and not measured:
        yield _ranked
        yield pair
    if is_baskets(tokens):
        yield baskets
    if is_levelled(tokens):
        yield levelled
    if switches(tokens):
        yield switch
    if (names := _kept(tokens)) is not None:
        yield lambda r: allocation(replace(r, tokens=names))
    beside = any(token.text in ("higher", "lower", "greater", "stronger", "larger") for token in tokens)
    chooses = "WHICHEVER" in kinds and (kinds & {"HIGHEST", "LOWEST"} or beside)
    if chooses or kinds & {"ROTATE", "TOP", "BOTTOM", "RANKED"} or _chooses(tokens):
        yield _ranked
    alike = "EQUALLY" in kinds and ("HOLD" in kinds or "BUY" not in kinds)
    if kinds & {"REBALANCE", "BUY_AND_HOLD"} or alike or _weighs(tokens):
        yield allocation
    yield None
    yield switch
    yield _each_timed


def _ranked(r: Reader) -> Description | None:
    made = rotation(r)
    own = made is not None and isinstance(made.plan, Rotation) and not made.plan.rank.symbol
    return made if own else None  # each is ranked by its own line


def _each_timed(r: Reader) -> Description | None:
    """20 % each in A, B, C, D and E; at month end any that is under its average goes to cash."""
    try:
        made = rotation(r)
    except Question:
        return None
    plan = made.plan if made is not None else None
    whole = isinstance(plan, Rotation) and made is not None and plan.count == len(made.symbols)
    return made if whole and isinstance(plan, Rotation) and plan.only is not None else None


def _opposed(tokens: Sequence[Token]) -> bool:
    """KO against PEP; not: it goes 5 % against me."""
    runs = zip(tokens, tokens[1:], tokens[2:], strict=False)
    return any((a.kind, b.kind, c.kind) == ("SYMBOL", "AGAINST", "SYMBOL") for a, b, c in runs)


def _kept(tokens: Sequence[Token]) -> list[Token] | None:
    """Buy SPY on day one and never sell: bought and held."""
    plain = [t for t in tokens if not (t.kind == "NUM" and t.text != "one")]
    if len(plain) < len(tokens) or not _BOUGHT_ONCE.fullmatch("".join(f"{t.kind} " for t in tokens)):
        return None
    held = replace(tokens[0], kind="BUY_AND_HOLD")
    return [held, *(t for t in tokens if t.kind == "SYMBOL")]


def _chooses(tokens: Sequence[Token]) -> bool:
    """hold the 3 of …"""
    runs = zip(tokens, tokens[1:], tokens[2:], strict=False)
    chosen = ("OF", "AMONG", "STOCKS", "EVERY_SYMBOL")
    if any(a.kind in ("HOLD", "BUY") and b.kind == "NUM" and c.kind in chosen for a, b, c in runs):
        return True
    ranked = (("NUM", "USE", "HIGHEST"), ("NUM", "USE", "LOWEST"))
    return any(tuple(t.kind for t in tokens[n : n + 3]) in ranked for n in range(len(tokens)))


def _weighs(tokens: Sequence[Token]) -> bool:
    """hold 60 % SPY …, a 60/40 portfolio"""
    wanted = ("HOLD", "NUM", "PERCENT")
    guards = [(*wanted, kind) for kind in ("STOP", "TARGET", "TRAIL")]  # each carries a 5 % stop
    kinds = [tuple(t.kind for t in tokens[n : n + 4]) for n in range(len(tokens))]
    if any(run[:3] == wanted and run not in guards for run in kinds):
        return True
    weights = zip(tokens, tokens[1:], tokens[2:], tokens[3:], strict=False)
    named = {d.text if c.kind != "SYMBOL" else c.text for a, b, c, d in weights if _weight(a, b, c, d)}
    runs = pairwise(tokens)
    named |= {b.text for a, b in runs if a.kind in ("HALF", "THIRD", "QUARTER") and b.kind == "SYMBOL"}
    plain = [t.kind for t in tokens if t.kind not in ("STOP_MARK", "FOREVER")]
    return len(named) > 1 or plain == ["HOLD", "SYMBOL"]


def _weight(a: Token, b: Token, c: Token, d: Token) -> bool:
    """60 % SPY, 60 % in SPY."""
    spoken = c.kind == "SYMBOL" or (c.kind in ("IN", "OF", "TO") and d.kind == "SYMBOL")
    return (a.kind, b.kind) == ("NUM", "PERCENT") and spoken
