"""How far prices reached: highs, lows, true ranges and the channels made of them.

The bar that is now counts: to ask whether it broke out of a channel, compare with the channel of the bar before, [-2].
"""

from __future__ import annotations

from ringfence.trade.bars import Floats
from ringfence.trade.indicators.arguments import bars, takes
from ringfence.trade.indicators.averages import ema


@takes("high")
def highest(high: Floats, period: int = 20) -> Floats:
    """The highest of the last `period` values."""
    import talib

    n = bars("highest", period)
    return talib.MAX(high, n) if n > 1 else high.copy()  # TA-Lib has none of a single bar


@takes("low")
def lowest(low: Floats, period: int = 20) -> Floats:
    """The lowest of the last `period` values."""
    import talib

    n = bars("lowest", period)
    return talib.MIN(low, n) if n > 1 else low.copy()


@takes("high", "low")
def donchian(high: Floats, low: Floats, period: int = 20) -> tuple[Floats, Floats, Floats]:
    """Upper, middle, lower: the highest high, the lowest low, and half way between."""
    upper, lower = highest(high, period), lowest(low, period)
    return upper, (upper + lower) / 2, lower


@takes("high", "low", "close")
def true_range(high: Floats, low: Floats, close: Floats) -> Floats:
    """High less low, or more where the bar left a gap to the close before; the first bar has none."""
    import talib

    return talib.TRANGE(high, low, close)


@takes("high", "low", "close")
def atr(high: Floats, low: Floats, close: Floats, period: int = 14) -> Floats:
    """The average true range, smoothed as Wilder did it."""
    import talib

    return talib.ATR(high, low, close, bars("atr", period))


@takes("high", "low", "close")
def keltner(
    high: Floats, low: Floats, close: Floats, period: int = 20, multiple: float = 2.0, atr_period: int = 10
) -> tuple[Floats, Floats, Floats]:
    """Upper band, middle, lower band: the exponential average of the close, and `multiple` average true ranges."""
    middle, reach = ema(close, period), multiple * atr(high, low, close, atr_period)
    return middle + reach, middle, middle - reach
