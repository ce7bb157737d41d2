"""Averages of a series, and how far it strays from them."""

from __future__ import annotations

from ringfence.trade.bars import Floats
from ringfence.trade.indicators.arguments import bars, takes


@takes("close")
def sma(close: Floats, period: int = 20) -> Floats:
    """The mean of the last `period` values."""
    import talib

    return talib.SMA(close, bars("sma", period))


@takes("close")
def ema(close: Floats, period: int = 20) -> Floats:
    """The exponential average with weight 2 / (period + 1), begun with the mean of the first `period` values."""
    import talib

    return talib.EMA(close, bars("ema", period))


@takes("close")
def wma(close: Floats, period: int = 20) -> Floats:
    """The mean of the last `period` values, the latest counted `period` times and the oldest once."""
    import talib

    return talib.WMA(close, bars("wma", period))


@takes("close")
def standard_deviation(close: Floats, period: int = 20) -> Floats:
    """Of the last `period` values themselves, not as a sample of others: it divides by `period`."""
    import talib

    return talib.STDDEV(close, bars("standard_deviation", period, 2))


@takes("close")
def bollinger(close: Floats, period: int = 20, deviations: float = 2.0) -> tuple[Floats, Floats, Floats]:
    """Upper band, middle, lower band: the mean and `deviations` standard deviations to either side."""
    import talib

    upper, middle, lower = talib.BBANDS(
        close, bars("bollinger", period, 2), nbdevup=float(deviations), nbdevdn=float(deviations)
    )
    return upper, middle, lower
