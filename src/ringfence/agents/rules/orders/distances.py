"""Distances from an entry in English: 5 %, 2 ATR, 2 times the 14-bar ATR, 2R, $95."""

from __future__ import annotations

from ringfence.agents.rules.measures.recalled import atr_bars
from ringfence.agents.rules.reader import Reader, money, percent, period
from ringfence.trade.description.model import Distance


def distance(r: Reader, *, price: bool = True) -> Distance | None:
    """5 %, 2 ATR, 2 times the 14-bar ATR, 2R, $95."""
    size = percent(r)
    if size is not None:
        return Distance(kind="percent", value=abs(size))
    with r.trying() as attempt:
        token = r.take("NUM") or r.take("TWICE", "TRIPLE")
        if token is not None:
            value = token.value if token.kind == "NUM" else 2 if token.kind == "TWICE" else 3
            r.take("TIMES")
            r.take("OF")
            timed = r.peek(-1).kind in ("TIMES", "TWICE", "TRIPLE", "OF")
            if r.take("RISK") or (timed and r.take("STOP")):
                r.take("STOP")
                attempt.keep()
                return Distance(kind="risk", value=value)
            bars = period(r, bare=True) if r.at("NUM") else None
            if r.take("ATR"):
                bars = bars or atr_period(r)
                attempt.keep()
                return Distance(kind="atr", value=value, period=atr_bars(r, bars))
    if r.at("ATR") and not r.at("STOP", "TRAIL", "TARGET", ahead=1):
        r.take("ATR")  # an ATR below the entry
        return Distance(kind="atr", value=1, period=atr_bars(r, atr_period(r)))
    return _price(r) if price else None


def atr_period(r: Reader) -> int | None:
    with r.trying() as attempt:
        if r.take("(") and (bars := period(r, bare=True)) is not None and r.take(")"):
            attempt.keep()
            return bars
    number = r.peek()
    if r.at("NUM") and number.value == int(number.value) and r.at("END", "STOP_MARK", ",", "AND", "BELOW", ahead=1):
        r.take("NUM")
        return int(number.value)  # 2 x ATR 20
    return None


def _price(r: Reader) -> Distance | None:
    with r.trying() as attempt:
        r.take("AT")
        said = r.take("PRICE")
        r.take("OF")
        amount = money(r)
        if amount is None and said is not None and (number := r.take("NUM")):
            amount = number.value
        if amount is not None and amount > 0 and not r.at("PER_TRADE", "LOSS", "GAIN"):  # $500 per trade is no price
            attempt.keep()
            return Distance(kind="price", value=amount)
    return None
