"""Prices weighed by what was traded at them."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from ringfence.trade.bars import Floats
from ringfence.trade.indicators.arguments import bars, takes, window_sum
from ringfence.trade.indicators.averages import sma


@takes("volume")
def volume_average(volume: Floats, period: int = 20) -> Floats:
    """The mean volume of the last `period` bars."""
    return sma(volume, period)


@takes("high", "low", "close", "volume")
def vwap(high: Floats, low: Floats, close: Floats, volume: Floats, period: int = 20) -> Floats:
    """The average typical price of the last `period` bars, weighed by volume; NaN where nothing was traded."""
    n = bars("vwap", period)
    return _ratio(window_sum((high + low + close) / 3 * volume, n), window_sum(volume, n))


@takes("high", "low", "close", "volume", "day")
def session_vwap(high: Floats, low: Floats, close: Floats, volume: Floats, day: Floats) -> Floats:
    """The same from the first bar of the day on; `day` is a number that is another one for every session."""
    value = (high + low + close) / 3 * volume
    made = np.full(len(close), np.nan)
    edges = [0, *(np.flatnonzero(np.diff(day)) + 1).tolist(), len(day)]
    for begin, end in pairwise(edges):
        made[begin:end] = _ratio(np.cumsum(value[begin:end]), np.cumsum(volume[begin:end]))
    return made


@takes("close", "volume")
def obv(close: Floats, volume: Floats) -> Floats:
    """On-balance volume: all volume so far, that of rising bars added and that of falling ones taken away."""
    import talib

    return talib.OBV(close, volume)


@takes("high", "low", "close", "volume")
def mfi(high: Floats, low: Floats, close: Floats, volume: Floats, period: int = 14) -> Floats:
    """The money flow index, 0 to 100: the share of money that was traded at rising typical prices.

    Not TA-Lib's, which gives 0 wherever less than one unit of money was traded, as with small coins.
    """
    n = bars("mfi", period)
    price = (high + low + close) / 3
    change = np.diff(price, prepend=np.nan)  # the first bar is neither, and no window may begin with it
    flow = np.where(np.isnan(change), np.nan, price * volume)
    up, down = window_sum(np.where(change > 0, flow, flow * 0), n), window_sum(np.where(change < 0, flow, flow * 0), n)
    made = 100 * _ratio(up, up + down)
    made[(up + down) == 0] = 50.0
    return made


def _ratio(above: Floats, below: Floats) -> Floats:
    made = np.full(len(above), np.nan)
    np.divide(above, below, out=made, where=below > 0)
    return made
