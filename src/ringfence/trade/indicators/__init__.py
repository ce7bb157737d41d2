"""Indicators, as `self.I` takes them, and crosses to ask about in `next`. docs/indicators.md has the list.

An indicator gets whole columns and gives one value per bar, NaN while it has none. None looks ahead: the value of a
bar stays the same whatever comes after it. TA-Lib is loaded by the first one that needs it.
"""

from __future__ import annotations

from ringfence.trade.indicators.averages import bollinger, ema, sma, standard_deviation, wma
from ringfence.trade.indicators.crosses import crossed, crossover, crossunder, falling, rising
from ringfence.trade.indicators.oscillators import cci, macd, momentum, roc, rsi, stochastic, williams_r
from ringfence.trade.indicators.ranges import atr, donchian, highest, keltner, lowest, true_range
from ringfence.trade.indicators.trends import adx, ichimoku, minus_di, parabolic_sar, plus_di, supertrend
from ringfence.trade.indicators.volumes import mfi, obv, session_vwap, volume_average, vwap

__all__ = [
    "sma",
    "ema",
    "wma",
    "standard_deviation",
    "bollinger",
    "rsi",
    "macd",
    "stochastic",
    "cci",
    "williams_r",
    "roc",
    "momentum",
    "highest",
    "lowest",
    "donchian",
    "true_range",
    "atr",
    "keltner",
    "adx",
    "plus_di",
    "minus_di",
    "ichimoku",
    "supertrend",
    "parabolic_sar",
    "volume_average",
    "vwap",
    "session_vwap",
    "obv",
    "mfi",
    "crossover",
    "crossunder",
    "crossed",
    "rising",
    "falling",
]
