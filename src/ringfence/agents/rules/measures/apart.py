"""So many standard deviations or average true ranges from a line: 2 ATR below its 20-day average."""

from __future__ import annotations

from dataclasses import replace

from ringfence.agents.rules.measures.lines import line
from ringfence.agents.rules.measures.scales import scale
from ringfence.agents.rules.reader import Reader, period
from ringfence.trade.description.model import Apart, Line

OVER = ("END", "STOP_MARK", ",", "AND", "OR", ")", "THEN", "BUY", "SELL", "SHORT", "COLON")
_USUAL_BARS = 14


def deviations(r: Reader) -> tuple[str, Line] | None:
    """2 standard deviations below its 20-day mean: that is the lower Bollinger band."""
    with r.trying() as attempt:
        number = r.take("NUM")
        if number is None or not r.take("STDEV"):
            return None
        side = r.take("ABOVE", "BELOW")
        mean = line(r) if side is not None else None
        if side is None or mean is None or mean.name != "sma" or mean.source or mean.ago:
            return None
        attempt.keep()
        part = "upper" if side.kind == "ABOVE" else "lower"
        band = Line(name="bollinger", values=(mean.values[0], number.value), part=part, timeframe=mean.timeframe)
        return side.kind, replace(band, symbol=mean.symbol)


def ranges(r: Reader) -> tuple[str, Line | Apart] | None:
    """2 ATR below its 20-day average; below an EMA that is the lower Keltner channel."""
    with r.trying() as attempt:
        times = atrs(r)
        side = r.take("ABOVE", "BELOW") if times is not None else None
        mean = line(r) if side is not None else None
        made = away(mean, side.kind == "ABOVE", *times) if times and side and mean else None
        if side is None or made is None:
            return None
        attempt.keep()
        return side.kind, made


def level_apart(r: Reader) -> Line | Apart | None:
    """the level 2 ATR below the 50-day SMA."""
    with r.trying() as attempt:
        r.take("LINE")
        found = ranges(r)
        if found is not None:
            attempt.keep()
            return found[1]
    return None


def atrs(r: Reader) -> tuple[float, int] | None:
    """2 ATR, 2 times the 14-day ATR, 1.5 x ATR(20), 2 times ATR14: how many, and over how many bars."""
    number = r.take("NUM") or r.take("TWICE", "TRIPLE")
    if number is None:
        return None
    r.take("TIMES")
    r.take("ITS")
    bars = period(r) if r.at("NUM") else None
    if not r.take("ATR"):
        return None
    if bars is None and r.at("NUM") and r.at(*OVER, "ABOVE", "BELOW", ahead=1):
        bars = period(r, bare=True)
    elif bars is None and r.at("(") and r.at("NUM", ahead=1) and r.at(")", ahead=2):
        r.take("(")
        bars = period(r, bare=True)
        r.take(")")
    times = {"NUM": number.value, "TWICE": 2, "TRIPLE": 3}[number.kind]
    return times, bars or _USUAL_BARS


def away(mean: Line, up: bool, times: float, bars: int) -> Line | Apart | None:
    """So many average true ranges above a line that is a price, or below it."""
    if mean.name == "ema" and not (mean.source or mean.of or mean.ago):
        made = Line(name="keltner", values=(mean.values[0], times, bars), part="upper" if up else "lower")
        return replace(made, symbol=mean.symbol, timeframe=mean.timeframe)
    if scale(mean) != "price":
        return None
    range_ = Line(name="atr", values=(bars,), symbol=mean.symbol, timeframe=mean.timeframe)
    return Apart(line=mean, ranges=times if up else -times, atr=range_)


def beside(r: Reader, mean: Line | None) -> Line | Apart | None:
    """EMA20 minus 2 ATR, the 20-day average plus 1.5 times ATR."""
    with r.trying() as attempt:
        if mean is None or not r.at("NUM", "TWICE", ahead=1):
            return mean
        sign = r.take("MINUS", "DASH", "AND")
        times = atrs(r) if sign is not None and sign.text in ("minus", "-", "plus", "+") else None
        made = away(mean, sign is not None and sign.text in ("plus", "+"), *times) if times else None
        if made is None:
            return mean
        attempt.keep()
        return made
