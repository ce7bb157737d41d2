"""The bars that all engines get: made up, the same in every run, and of any number without leaving a sane range.

A price that only wanders ends, after a million bars, at thousandths or millions, where one engine can buy no share and
another is out of digits. So the logarithm of this one is drawn back to its mean.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from itertools import accumulate
from pathlib import Path

import numpy as np

from ringfence.base.errors import DataError
from ringfence.trade.bars import Bars, Candles, Floats

STEP_NS = 15 * 60 * 10**9
_BEGIN_NS = 1_262_304_000 * 10**9  # 2010-01-01
_MEAN, _MOVE, _PULL = 100.0, 0.01, 0.998
_DECIMALS = 5  # as many as an engine with fixed-point prices takes


def make_bars(count: int) -> Bars:
    # Drawn row by row, so that the first bars are the same however many are asked for.
    moves, gap, above, below = np.random.default_rng(20_100_101).standard_normal((count, 4)).T
    walk = np.array(list(accumulate((_MOVE * moves).tolist(), lambda last, move: last * _PULL + move)))
    close = _MEAN * np.exp(walk)
    open_ = np.concatenate([[_MEAN], close[:-1]]) * np.exp(0.002 * gap)
    high = np.maximum(open_, close) * (1 + 0.003 * np.abs(above))
    low = np.minimum(open_, close) * (1 - 0.003 * np.abs(below))
    time = _BEGIN_NS + np.arange(count, dtype=np.int64) * STEP_NS
    prices = [np.round(column, _DECIMALS) for column in (open_, high, low, close)]
    candles = Candles(time, prices[0], prices[1], prices[2], prices[3], np.full(count, 1e6))
    return Bars(candles={"MADE": candles}, timeframe="15m", source="bench", synthetic=True)


def first_bars(bars: Bars, count: int) -> Bars:
    return replace(bars, candles={symbol: candles.slice(0, count) for symbol, candles in bars})


def signals(close: Floats) -> Mapping[str, np.ndarray]:
    """What S1 and S2 decide, as whole columns: for engines that take nothing else."""
    try:
        import talib
    except ImportError as e:
        raise DataError(f"the strategies need TA-Lib ({e}): install it with `pip install ringfence[trade]`") from e
    fast, slow, rsi = talib.SMA(close, 10), talib.SMA(close, 30), talib.RSI(close, 14)
    up, down = np.zeros(len(close), np.bool_), np.zeros(len(close), np.bool_)
    up[1:] = (fast[:-1] < slow[:-1]) & (fast[1:] > slow[1:])
    down[1:] = (fast[:-1] > slow[:-1]) & (fast[1:] < slow[1:])
    return {"s1_entries": up, "s1_exits": down, "s2_entries": rsi < 35, "s2_exits": rsi > 65}


def write_table(bars: Bars, path: Path) -> None:
    """Columns by name, for interpreters that have numpy and nothing of ours."""
    candles = bars.candles[bars.symbols[0]]
    columns = {name: getattr(candles, name) for name in ("time", "open", "high", "low", "close", "volume")}
    np.savez(path, **columns, **signals(candles.close))  # type: ignore[arg-type]  # its stub takes ** for its options
