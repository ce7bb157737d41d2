"""How fast and how far a price moved, mostly on a scale of its own.

Where a price has not moved at all TA-Lib says 0, which reads as oversold: here it is the middle of the scale.
"""

from __future__ import annotations

import numpy as np

from ringfence.base.errors import OrderError
from ringfence.trade.bars import Floats
from ringfence.trade.indicators.arguments import bars, takes
from ringfence.trade.indicators.averages import sma
from ringfence.trade.indicators.ranges import highest, lowest


@takes("close")
def rsi(close: Floats, period: int = 14) -> Floats:
    """Wilder's relative strength index, 0 to 100: the share of gains in all moves, smoothed."""
    import talib

    n = bars("rsi", period, 2)
    made: Floats = talib.RSI(close, n)
    # TA-Lib has 0 where neither gains nor losses are left. They fade alike while a price stands still, so the index
    # stays what it was; before the first move it is in the middle.
    for t in np.flatnonzero((made == 0) & (np.diff(close, prepend=np.nan) == 0)).tolist():
        if not np.isnan(made[t - 1]):
            made[t] = made[t - 1]
        elif (close[t - n : t] == close[t]).all():
            made[t] = 50.0
    return made


@takes("close")
def macd(close: Floats, fast: int = 12, slow: int = 26, signal: int = 9) -> tuple[Floats, Floats, Floats]:
    """The fast less the slow exponential average; its own average, the signal; and the first less the second."""
    import talib

    n, m = bars("macd", fast, 2), bars("macd", slow, 2)
    if n >= m:
        raise OrderError(f"macd with fast={n} and slow={m} is upside down: give the shorter period first")
    line, average, histogram = talib.MACD(close, n, m, bars("macd", signal))
    return line, average, histogram


@takes("high", "low", "close")
def stochastic(
    high: Floats, low: Floats, close: Floats, period: int = 14, smooth: int = 3, signal: int = 3
) -> tuple[Floats, Floats]:
    """%K and %D, 0 to 100: where in its range of `period` bars the close is, smoothed; and the average of that."""
    k = sma(100 * _place(high, low, close, bars("stochastic", period)), smooth)
    return k, sma(k, signal)


@takes("high", "low", "close")
def williams_r(high: Floats, low: Floats, close: Floats, period: int = 14) -> Floats:
    """How far the close is below the highest high, from 0 at the top of the range to -100 at its bottom."""
    return 100 * _place(high, low, close, bars("williams_r", period)) - 100


def _place(high: Floats, low: Floats, close: Floats, period: int) -> Floats:
    """Where the close is between the lowest low, 0, and the highest high, 1."""
    top, bottom = highest(high, period), lowest(low, period)
    width = top - bottom
    made = np.where(width == 0, 0.5, np.nan)
    np.divide(close - bottom, width, out=made, where=width > 0)
    return made


@takes("high", "low", "close")
def cci(high: Floats, low: Floats, close: Floats, period: int = 20) -> Floats:
    """The commodity channel index: the typical price's distance from its mean, in 0.015 mean deviations."""
    import talib

    return talib.CCI(high, low, close, bars("cci", period, 2))


@takes("close")
def roc(close: Floats, period: int = 10) -> Floats:
    """The change since `period` bars ago, in percent."""
    import talib

    return talib.ROC(close, bars("roc", period))


@takes("close")
def momentum(close: Floats, period: int = 10) -> Floats:
    """The change since `period` bars ago, as a difference."""
    import talib

    return talib.MOM(close, bars("momentum", period))
