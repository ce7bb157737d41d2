"""Fixed weights in English: hold 60 % SPY and 40 % TLT, rebalanced quarterly."""

from __future__ import annotations

from dataclasses import dataclass, field

from ringfence.agents.rules.calendar import recurring
from ringfence.agents.rules.collected import SEPARATORS, Collected, symbols
from ringfence.agents.rules.reader import Reader, percent
from ringfence.trade.description.model import Allocation, Description, EveryBars, OnSchedule


@dataclass(slots=True)
class _Holding:
    said: Collected = field(default_factory=Collected)
    weights: list[float] = field(default_factory=list)
    named: list[float] = field(default_factory=list)  # a 60/40 portfolio: what the title says
    rebalance: OnSchedule | EveryBars | None = None


def allocation(r: Reader) -> Description | None:
    """Hold 60 % SPY and 40 % TLT, rebalanced quarterly. Buy and hold GOOG. Hold A, B and C in equal parts."""
    h = _Holding()
    first = r.i
    while not r.at("END"):
        if r.take(*SEPARATORS, "EQUALLY", "USE", "STRATEGY", "AMONG", "FOR", "SIZE", "TITLE"):
            continue
        if r.at("BACK", "TO") and _put_right(r, h):
            continue
        if r.take(
            "BUY_AND_HOLD",
            "HOLD",
            "BUY",
            "INVEST",
            "TRADE",
            "REBALANCE",
            "OF",
            "IN",
            "EQUITY",
            "EACH",
            "IT",
            "POSITION",
        ):
            continue
        if r.at("BETWEEN") and r.at("SYMBOL", ahead=1):
            r.take("BETWEEN")
            continue
        if r.peek().text == "each" and h.said.symbols and r.at("END", "STOP_MARK", ",", ahead=1):
            r.take("EVERY")
            continue
        when = recurring(r)
        if when is not None:
            if h.rebalance is not None and h.rebalance != when:
                raise r.ask("rebalance on which schedule?", ["say one of them"], first)
            h.rebalance = when
            continue
        if not _weighed(r, h) and not symbols(r, h.said):
            return None
    if h.named and h.named != h.weights:
        raise r.ask("the weights are not those of the title", ["Hold 60 % AAPL and 40 % IBM"], first)
    if not h.said.symbols and not h.said.every:
        h.said.every = True
    if h.weights and (len(h.weights) != len(h.said.symbols) or sum(h.weights) > 100):
        raise r.ask("the weights do not fit the instruments", ["Hold 60 % AAPL and 40 % IBM"], first)
    return Description(
        plan=Allocation(weights=tuple(h.weights), rebalance=h.rebalance),
        symbols=tuple(h.said.symbols),
        every=h.said.every and not h.said.symbols,
    )


def _put_right(r: Reader, h: _Holding) -> bool:
    """back to equal weight, back to 60/40, to those weights."""
    with r.trying() as attempt:
        r.skip("BACK", "TO", "IN", "ITS", "TARGET", "INITIAL")
        if r.take("EQUALLY", "SIZE"):
            attempt.keep()
            return True
        shares = []
        while (number := r.take("NUM")) is not None:
            shares.append(number.value)
            r.take("SLASH")
        if len(shares) > 1 and h.weights in ([], shares):
            h.named = shares
            attempt.keep()
            return True
    return False


def _weighed(r: Reader, h: _Holding) -> bool:
    """60 % SPY, 60 % in SPY, SPY 60 %, 60/40 SPY and TLT."""
    with r.trying() as attempt:
        shares: list[float] = []
        while (number := r.take("NUM")) is not None:
            shares.append(number.value)
            r.take("SLASH")
        r.skip("EQUITY", "STRATEGY", "OF", "IN", "SIZE")
        if len(shares) > 1 and r.take("COLON", "STOP_MARK", ",") and not h.said.symbols:
            attempt.keep()
            h.named = shares
            return True
        if len(shares) > 1 and not h.said.symbols and symbols(r, h.said) and len(h.said.symbols) == len(shares):
            attempt.keep()
            h.weights = shares
            return True
    with r.trying() as attempt:
        size = percent(r)
        if size is not None and r.peek().text == "each":
            r.take("EVERY")
            r.take("OF", "IN", "ON", "TO")
            if h.said.symbols or not symbols(r, h.said):
                return False
            attempt.keep()
            h.weights = [size] * len(h.said.symbols)
            return True
        if size is not None:
            r.take("OF", "IN", "ON", "TO")
            r.skip("EQUITY", "IN", "INVEST")
            token = r.take("SYMBOL")
        else:
            token = r.take("SYMBOL")
            bracket = r.take("(") if token else None
            size = percent(r) if token else None
            if bracket is not None and not r.take(")"):
                return False
        if token is not None and size is not None and token.text not in h.said.symbols:
            attempt.keep()
            h.said.symbols.append(token.text)
            h.weights.append(size)
            return True
    return False
