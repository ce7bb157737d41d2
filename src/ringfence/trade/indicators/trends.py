"""Which way a price is going, and how surely."""

from __future__ import annotations

import math

import numpy as np

from ringfence.trade.bars import Floats
from ringfence.trade.indicators.arguments import bars, later, takes
from ringfence.trade.indicators.ranges import atr, donchian


@takes("high", "low", "close")
def adx(high: Floats, low: Floats, close: Floats, period: int = 14) -> Floats:
    """Wilder's average directional index: how strong the trend is, 0 to 100, whichever way it goes."""
    import talib

    return talib.ADX(high, low, close, bars("adx", period, 2))


@takes("high", "low", "close")
def plus_di(high: Floats, low: Floats, close: Floats, period: int = 14) -> Floats:
    """The upward part of the directional index."""
    import talib

    return talib.PLUS_DI(high, low, close, bars("plus_di", period, 2))


@takes("high", "low", "close")
def minus_di(high: Floats, low: Floats, close: Floats, period: int = 14) -> Floats:
    """The downward part of the directional index."""
    import talib

    return talib.MINUS_DI(high, low, close, bars("minus_di", period, 2))


@takes("high", "low")
def ichimoku(
    high: Floats, low: Floats, conversion: int = 9, base: int = 26, span: int = 52, ahead: int = 26
) -> tuple[Floats, Floats, Floats, Floats]:
    """Conversion line, base line, leading spans A and B.

    The spans are those that lie over this bar in a chart: computed `ahead` bars ago. The lagging span is left out,
    because it is the close moved back in time, and would tell the future.
    """
    quick, slow, slowest = (donchian(high, low, n)[1] for n in (conversion, base, span))
    shift = bars("ichimoku", ahead)
    return quick, slow, later((quick + slow) / 2, shift), later(slowest, shift)


@takes("high", "low", "close")
def supertrend(
    high: Floats, low: Floats, close: Floats, period: int = 10, multiple: float = 3.0
) -> tuple[Floats, Floats]:
    """The line, and the direction: 1 while it runs below a rising price, -1 above a falling one.

    It lies `multiple` average true ranges from the middle of the bar, only ever moves towards the price, and changes
    sides when a close passes it. It begins below.
    """
    middle, reach = (high + low) / 2, multiple * atr(high, low, close, period)
    line, direction = np.full(len(close), math.nan), np.full(len(close), math.nan)
    ready = np.flatnonzero(~np.isnan(reach))
    if not len(ready):
        return line, direction
    first = int(ready[0])
    uppers, lowers, closes = (x[first:].tolist() for x in (middle + reach, middle - reach, close))
    upper, lower, before, side = math.inf, -math.inf, closes[0], 1.0
    lines, sides = [], []
    for basic_upper, basic_lower, now in zip(uppers, lowers, closes):
        upper = basic_upper if basic_upper < upper or before > upper else upper
        lower = basic_lower if basic_lower > lower or before < lower else lower
        if side > 0:
            side = -1.0 if now < lower else 1.0
        else:
            side = 1.0 if now > upper else -1.0
        lines.append(lower if side > 0 else upper)
        sides.append(side)
        before = now
    line[first:], direction[first:] = lines, sides
    return line, direction


@takes("high", "low")
def parabolic_sar(high: Floats, low: Floats, acceleration: float = 0.02, maximum: float = 0.2) -> Floats:
    """Wilder's stop and reverse: below a rising price, above a falling one, and closer the longer it goes on."""
    import talib

    return talib.SAR(high, low, float(acceleration), float(maximum))
