"""Fixed weights in English: hold 60 % SPY and 40 % TLT, rebalanced quarterly."""

from __future__ import annotations

from dataclasses import dataclass, field

from ringfence.agents.rules.dates.schedules import named_schedule
from ringfence.agents.rules.orders.collected import SEPARATORS, Collected, symbols
from ringfence.agents.rules.orders.parts import each_part, fraction
from ringfence.agents.rules.reader import Reader, percent
from ringfence.trade.description.model import Allocation, Description, EveryBars, OnSchedule

_PLAIN = (
    "EQUALLY", "STRATEGY", "AMONG", "FOR", "SIZE", "TITLE", "BUY_AND_HOLD", "HOLD", "BUY", "INVEST", "TRADE",
    "REBALANCE", "OF", "IN", "EQUITY", "EACH", "IT", "POSITION", "PLEASE", "USE", "FOREVER", "STOCKS", "LONG_ONLY",
    "ALL_IN", "EVERY_SYMBOL", "RETURNS", "BACK",
)  # fmt: skip
_TIMES = ("WEEKLY", "MONTHLY", "QUARTERLY", "YEARLY", "HALF_YEARLY", "MONTH_END", "QUARTER_END", "YEAR_END", "EVERY")
_WHOLE = ("EQUITY", "SIZE")
_TO = ("OF", "IN", "ON", "TO", "AT", "IS", "COLON", "USE", "FOR", "MOVES", "REACHES", "EQUITY", "INVEST", "HOLD")


@dataclass(slots=True)
class _Holding:
    said: Collected = field(default_factory=Collected)
    weights: list[float] = field(default_factory=list)
    named: list[float] = field(default_factory=list)  # a 60/40 portfolio: what the title says
    each: float = 0  # percent that each of them has
    stated: bool = False  # as a number, which is kept
    fixed: bool = False  # it says that it is never put right
    cash: float = 0  # percent that is kept in cash
    rebalance: OnSchedule | EveryBars | None = None


def allocation(r: Reader) -> Description | None:
    """Hold 60 % SPY and 40 % TLT, rebalanced quarterly. Buy and hold GOOG. Hold A, B and C in equal parts."""
    h = _Holding()
    first = r.i
    if any(token.kind == "BUY_AND_HOLD" for token in r.tokens):
        r.skip("PLEASE", "STRATEGY", "IS", "STOP_MARK", ",")  # show me …
    while not r.at("END"):
        if r.take(*SEPARATORS) or _never(r, h) or _scheduled(r, h, first):
            continue
        if r.at("BACK", "TO", "AT", "IN") and _put_right(r, h):
            continue
        if _weighed(r, h) or symbols(r, h.said):
            continue
        if r.at("BETWEEN") and r.at("SYMBOL", ahead=1):
            r.take("BETWEEN")
        elif r.peek().text == "each" and h.said.symbols and r.at("END", "STOP_MARK", ",", ahead=1):
            r.take("EVERY")
        elif r.at("NUM") and r.at("STOCKS", "EVERY_SYMBOL", ahead=1):
            return None  # so many of them, which must be counted
        elif not r.take(*_PLAIN):
            return None
    return _made(r, h, first)


def _made(r: Reader, h: _Holding, first: int) -> Description | None:
    names = h.said.symbols
    shares = h.named if len(h.named) == len(names) and not h.weights else h.weights
    if h.named and h.named != shares:
        raise r.ask("the weights are not those of the title", ["Hold 60 % AAPL and 40 % IBM"], first)
    if h.each and (shares or h.stated or abs(h.each * len(names) - 100) > 1):
        shares = shares or [h.each] * len(names)
        if any(abs(share - h.each) > 0.5 for share in shares) or sum(shares) > 100:
            raise r.ask("the weights do not fit the instruments", ["Hold 60 % AAPL and 40 % IBM"], first)
    if h.fixed and h.rebalance is not None:
        raise r.ask("it is never rebalanced, and on a schedule", ["say one of them"], first)
    if not names and not h.said.every:
        if h.weights or h.each:
            return None
        h.said.every = True
    if h.cash and abs(sum(shares) + h.cash - 100) > 0.1:
        raise r.ask("the weights and the cash are not the whole", ["Hold 60 % AAPL and 30 % IBM"], first)
    if shares and (len(shares) != len(names) or sum(shares) > 100.01):
        raise r.ask("the weights do not fit the instruments", ["Hold 60 % AAPL and 40 % IBM"], first)
    return Description(
        plan=Allocation(weights=tuple(shares), rebalance=h.rebalance),
        symbols=tuple(names),
        every=h.said.every and not names,
    )


def _never(r: Reader, h: _Holding) -> bool:
    """never rebalance, no selling: as it is where no schedule is named."""
    if r.take_all("NOT", "REBALANCE"):
        h.fixed = True
        return True
    return r.take_all("NOT", "SELL") or r.take_all("NOT", "EXIT") or r.take_all("HOLD", "FOREVER")


def _scheduled(r: Reader, h: _Holding, first: int) -> bool:
    when = named_schedule(r, h.rebalance, "rebalance on which schedule?", first)
    h.rebalance = when or h.rebalance
    return when is not None


def _put_right(r: Reader, h: _Holding) -> bool:
    """back to equal weight, back to 60/40, to those weights; A and B at 60/40."""
    with r.trying() as attempt:
        r.skip("BACK", "TO", "IN", "AT", "ITS", "TARGET", "INITIAL", "EQUITY")
        if r.take("EQUALLY", "SIZE", "EQUALS", "TARGET_WEIGHTS"):
            attempt.keep()
            return True
        shares = _shares(r)
        if len(shares) > 1 and h.weights in ([], shares) and h.named in ([], shares):
            h.named = shares
            attempt.keep()
            return True
        part = each_part(r)
        if part is not None and (h.each == part or (not h.each and r.peek(-1).kind == "HALF")):
            h.each = part
            attempt.keep()
            return True
    return False


def _shares(r: Reader) -> list[float]:
    """60/40, 50/30/20."""
    with r.trying() as attempt:
        shares: list[float] = []
        while (number := r.take("NUM")) is not None:
            r.take("PERCENT") if r.at("SLASH", ahead=1) else None
            shares.append(number.value)
            if not r.take("SLASH", "TO"):
                break
        if len(shares) > 1:
            r.take("PERCENT")
            attempt.keep()
            return shares
    return []


def _weighed(r: Reader, h: _Holding) -> bool:
    """60 % SPY, 60 % in SPY, SPY 60 %, 60/40 SPY and TLT, a third each."""
    return _in_title(r, h) or _alike(r, h) or _in_cash(r, h) or _one(r, h) or _counted(r, h)


def _in_cash(r: Reader, h: _Holding) -> bool:
    """10 % cash, cash 10 %, 10 % stays in cash."""
    with r.trying() as attempt:
        size = percent(r)
        r.skip("IN", "HOLD", "IS", "OF") if size is not None else None
        if r.peek().text not in ("cash", "in cash", "stay in cash", "be in cash") or not r.take("EQUITY", "EXIT"):
            return False
        r.skip("COLON", "AT")
        size = percent(r) if size is None else size
        if size is None or h.cash or r.at("SYMBOL") or (r.at("IN", "INTO", "ON", "TO") and r.at("SYMBOL", ahead=1)):
            return False
        h.cash = size
        attempt.keep()
        return True


def _in_title(r: Reader, h: _Holding) -> bool:
    """60/40 SPY and TLT; a 60/40 portfolio: …; SPY and TLT, 60/40"""
    with r.trying() as attempt:
        shares = _shares(r)
        if not shares or h.weights or h.named not in ([], shares):
            return False
        r.skip("EQUITY", "STRATEGY", "OF", "IN", "SIZE", "BETWEEN", "TITLE")
        if not h.said.symbols and symbols(r, h.said):
            attempt.keep()
            h.weights = shares
            return len(h.said.symbols) == len(shares)
        if r.at("COLON", "STOP_MARK", ",", "END", "REBALANCE", "USE", "AND", *_TIMES) or r.peek(-1).kind in _WHOLE:
            attempt.keep()
            h.named = shares
            return True
    return False


def _alike(r: Reader, h: _Holding) -> bool:
    """a quarter each in A, B, C and D; 20 % each; half and half"""
    first = r.i
    with r.trying() as attempt:
        part = each_part(r)
        h.stated = h.stated or any(token.kind == "PERCENT" for token in r.tokens[first : r.i])
        if part is None or any(abs(one - part) > 0.5 for one in h.weights) or h.each not in (0, part):
            return False
        h.each = part
        attempt.keep()
        return True


def _one(r: Reader, h: _Holding) -> bool:
    """60 % SPY, half in SPY, SPY (60 %), the other 40 % goes to TLT, the rest in cash."""
    with r.trying() as attempt:
        rest = r.take("REST") is not None or (r.peek().text == "remaining" and r.take("IS") is not None)
        size = _size(r)
        if size is not None or rest:
            r.skip(*_TO)
            token = r.take("SYMBOL")
            r.take("STOCKS")
        else:
            token = r.take("SYMBOL")
            bracket = r.take("(") if token else None
            r.skip("AT", "COLON", "IS", "USE")
            size = _size(r) if token else None
            if bracket is not None and not r.take(")"):
                return False
        if rest and token is None and r.peek(-1).kind == "EQUITY":
            attempt.keep()
            return size is None or abs(100 - sum(h.weights) - size) < 0.1  # the rest stays in cash
        left = 100 - sum(h.weights)
        if rest and (not h.weights or (size is not None and abs(size - left) > 0.5)):
            return False
        size = round(left, 2) if rest and size is None else size
        if token is None or size is None or token.text in h.said.symbols or len(h.weights) != len(h.said.symbols):
            return False
        attempt.keep()
        h.said.symbols.append(token.text)
        h.weights.append(size)
        return True


def _size(r: Reader) -> float | None:
    """60 %, half, two thirds."""
    made = percent(r)
    return made if made is not None else fraction(r)


def _counted(r: Reader, h: _Holding) -> bool:
    """SPY 50, GLD 20, TLT 30: plain numbers, where they come to a hundred."""
    with r.trying() as attempt:
        names: list[str] = []
        shares: list[float] = []
        while True:
            token = r.take("SYMBOL")
            r.skip("COLON", "AT") if token is not None else None
            number = r.take("NUM") if token is not None else None
            if token is None or number is None:
                break
            names.append(token.text)
            shares.append(number.value)
            if not (r.at(",", "AND", "SLASH", "STOP_MARK") and r.at("SYMBOL", "AND", ahead=1)):
                break
            r.skip(",", "AND", "SLASH", "STOP_MARK")
        if len(names) < 2 or sum(shares) != 100 or h.said.symbols or h.weights:
            return False
        attempt.keep()
        h.said.symbols, h.weights = names, shares
        return True
