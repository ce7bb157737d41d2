"""Strategies of several instruments in English: fixed weights, rotation by rank, pairs."""

from __future__ import annotations

from dataclasses import dataclass, field

from ringfence.agents.rules.calendar import calendar, schedule
from ringfence.agents.rules.collected import SEPARATORS, Collected, symbols
from ringfence.agents.rules.conditions import condition
from ringfence.agents.rules.lines import line
from ringfence.agents.rules.reader import UNITS, Reader, percent, period
from ringfence.trade.description.model import (
    Allocation,
    Compare,
    Condition,
    Description,
    EveryBars,
    Line,
    Number,
    OnSchedule,
    Rotation,
)


def _schedule(r: Reader) -> OnSchedule | EveryBars | None:
    with r.trying() as attempt:
        r.take("WHEN")
        made = calendar(r) or schedule(r)
        if isinstance(made, (OnSchedule, EveryBars)):
            attempt.keep()
            return made
    return None


@dataclass(slots=True)
class _Holding:
    said: Collected = field(default_factory=Collected)
    weights: list[float] = field(default_factory=list)
    rebalance: OnSchedule | EveryBars | None = None


def allocation(r: Reader) -> Description | None:
    """Hold 60 % SPY and 40 % TLT, rebalanced quarterly. Buy and hold GOOG. Hold A, B and C in equal parts."""
    h = _Holding()
    first = r.i
    while not r.at("END"):
        if r.take(*SEPARATORS, "EQUALLY", "USE", "STRATEGY", "AMONG", "FOR", "SIZE"):
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
        when = _schedule(r)
        if when is not None:
            if h.rebalance is not None and h.rebalance != when:
                raise r.ask("rebalance on which schedule?", ["say one of them"], first)
            h.rebalance = when
            continue
        if not _weighed(r, h) and not symbols(r, h.said):
            return None
    if not h.said.symbols and not h.said.every:
        h.said.every = True
    if h.weights and (len(h.weights) != len(h.said.symbols) or sum(h.weights) > 100):
        raise r.ask("the weights do not fit the instruments", ["Hold 60 % AAPL and 40 % IBM"], first)
    return Description(
        plan=Allocation(weights=tuple(h.weights), rebalance=h.rebalance),
        symbols=tuple(h.said.symbols),
        every=h.said.every and not h.said.symbols,
    )


def _weighed(r: Reader, h: _Holding) -> bool:
    """60 % SPY, 60 % in SPY, SPY 60 %, 60/40 SPY and TLT."""
    with r.trying() as attempt:
        shares: list[float] = []
        while (number := r.take("NUM")) is not None:
            shares.append(number.value)
            r.take("SLASH")
        r.skip("EQUITY", "STRATEGY", "OF", "IN", "SIZE")
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


@dataclass(slots=True)
class _Turning:
    said: Collected = field(default_factory=Collected)
    count: int = 0
    rank: Line | None = None
    highest: bool = True
    rebalance: OnSchedule | EveryBars | None = None
    only: Condition | None = None
    otherwise: str = ""


def rotation(r: Reader) -> Description | None:
    """Every month hold the 3 of AAPL, MSFT, IBM and GOOG with the highest 6-month return; otherwise hold TLT."""
    t = _Turning()
    first = r.i
    while not r.at("END"):
        if r.take(*SEPARATORS):
            continue
        if not _rotating(r, t):
            return None
    if t.rank is None:
        raise r.ask("ranked by what?", ["by 126-bar return", "by 20-bar volatility", "by 14-bar RSI"], first)
    if t.rebalance is None:
        raise r.ask("how often is it chosen anew?", ["rebalance monthly", "rebalance weekly"], first)
    names = tuple(t.said.symbols)
    filtered = t.only is not None and t.count == len(names)  # those of them all for which it holds
    if names and not filtered and not 1 <= (t.count or 1) < len(names):
        raise r.ask(f"the best {t.count} of {len(names)} is no choice", ["name more instruments"], first)
    plan = Rotation(
        count=t.count or 1, rank=t.rank, highest=t.highest, rebalance=t.rebalance, only=t.only, otherwise=t.otherwise
    )
    return Description(plan=plan, symbols=names, every=not names)


def _rotating(r: Reader, t: _Turning) -> bool:
    when = _schedule(r)
    if when is not None:
        if t.rebalance is not None and t.rebalance != when:
            raise r.ask("chosen anew on which schedule?", ["say one of them"], r.i)
        t.rebalance = when
        return True
    if r.take("OTHERWISE"):
        r.skip("HOLD", "BUY", "ROTATE", "IN", ",", "IS", "EXIT")
        token = r.take("SYMBOL")
        t.otherwise = token.text if token else ""
        return token is not None or r.take("EQUITY") is not None or r.peek(-1).kind == "EXIT"
    if _only(r, t) or _cash_if_negative(r, t):
        return True
    if r.at("TOP", "BOTTOM", "HIGHEST", "LOWEST") or (
        r.at("NUM") and r.at("TOP", "BOTTOM", "STOCKS", "OF", "AMONG", "EVERY_SYMBOL", "USE", ahead=1)
    ):
        return _choice(r, t)
    if r.take("RANKED", "BY", "USE", "IN", "AMONG", "OF", "FROM", "ON", "FOR") and (
        _rank(r, t) or r.at("SYMBOL", "EVERY_SYMBOL", "TOP", "NUM", "HIGHEST", "LOWEST")
    ):
        return True
    if symbols(r, t.said):
        return True
    if r.at("TURNS") and r.peek().text.startswith("switch"):
        return r.take("TURNS") is not None  # switch monthly
    if r.take(
        "HOLD",
        "BUY",
        "ROTATE",
        "INVEST",
        "TRADE",
        "REBALANCE",
        "EQUALLY",
        "WHICHEVER",
        "STRATEGY",
        "IT",
        "ONLY",
        "POSITION",
        "AMONG",
        "STOCKS",
        "EQUITY",
        "SHARES",
    ):
        return True
    return _rank(r, t)


def _choice(r: Reader, t: _Turning) -> bool:
    """top 3, the 2 best, the 3 of A, B and C with the highest …"""
    first = r.i
    number = r.take("NUM")
    side = r.take("TOP", "BOTTOM", "HIGHEST", "LOWEST")
    if number is None and not r.at(*UNITS, ahead=1):
        number = r.take("NUM")
    if number is not None:
        if t.count not in (0, number.value):
            raise r.ask("how many are held?", ["say one number"], first)
        t.count = int(number.value)
    if side is not None:
        t.highest = side.kind in ("TOP", "HIGHEST")
    r.skip("STOCKS", "PRICE", "EVERY_SYMBOL")
    if side is not None and side.kind in ("HIGHEST", "LOWEST") and not _rank(r, t):
        r.i = first
        return False
    _rank(r, t)
    return number is not None or side is not None


def _rank(r: Reader, t: _Turning) -> bool:
    with r.trying() as attempt:
        r.skip("RANKED", "BY", "ITS", "USE", "IN")
        if r.at("SYMBOL"):
            return False  # one of those that are ranked
        if r.peek().text == "over":
            r.take("ABOVE")
        order = r.take("HIGHEST", "LOWEST")
        if r.at("PREVIOUS") and r.at("NUM", *UNITS, ahead=1):
            r.take("PREVIOUS")
        if r.take("MOMENTUM"):
            made: Line | None = _momentum(r)
        else:
            made = line(r)
        if made is not None and made.name == "momentum":
            made = Line(name="roc", values=made.values)  # compared in percent: a difference would be in dollars
        if made is None and (span := period(r)) is not None:
            made = Line(name="roc", values=(span,))  # the best performer over 3 months
        if made is None or (t.rank is not None and t.rank != made):
            return False
        if order is not None:
            t.highest = order.kind == "HIGHEST"
        t.rank = made
        attempt.keep()
        return True


def _momentum(r: Reader) -> Line:
    """momentum over 6 months. Of several instruments it is compared in percent, since a difference is in dollars."""
    first = r.i
    r.take("ABOVE", "OF", "IN", "FOR")
    r.take("PREVIOUS")
    bars = period(r)
    if bars is None:
        raise r.ask("momentum over how many bars?", ["126-bar momentum", "63-bar momentum"], first - 1)
    return Line(name="roc", values=(bars,))


def _only(r: Reader, t: _Turning) -> bool:
    """only those for which …, only if its return is positive."""
    with r.trying() as attempt:
        r.take("BUT")
        if not (r.take("THOSE_FOR") or r.take("ONLY") or r.at("WHEN")):
            return False
        r.skip("HOLD", "BUY", "EVERY_SYMBOL")
        r.take("WHEN")
        if r.take("IS") or r.take("ABOVE"):
            return False
        made = _positive(r, t) or condition(r)
        if made is None:
            return False
        t.only = made
        attempt.keep()
        return True


def _cash_if_negative(r: Reader, t: _Turning) -> bool:
    """go to cash if the return is negative: only those that have not lost."""
    with r.trying() as attempt:
        if not r.take("EXIT") or not r.take("WHEN") or t.rank is None:
            return False
        r.skip("ITS")
        if r.take("ROC", "MOMENTUM", "IT") and r.take("IS") and r.take("NEGATIVE"):
            attempt.keep()
            t.only = Compare(left=t.rank, level="at_least", right=Number(value=0))
            return True
    return False


def _positive(r: Reader, t: _Turning) -> Condition | None:
    """if its momentum is positive: that which it is ranked by."""
    with r.trying() as attempt:
        r.skip("ITS")
        if r.take("ROC", "MOMENTUM", "IT") and r.take("IS") and r.take("POSITIVE") and t.rank is not None:
            attempt.keep()
            return Compare(left=t.rank, level="above", right=Number(value=0))
    return None
