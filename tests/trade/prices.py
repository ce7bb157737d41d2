"""Made-up prices for tests of the engine: valid bars, the same for the same seed."""

from __future__ import annotations

import numpy as np

from ringfence.trade.bars import Bars, Candles
from ringfence.trade.times import DAY, timeframe_ns

MONDAY = 4 * DAY  # 1970-01-05


def make_candles(
    rows: int, seed: int = 1, *, step: float = 0.02, timeframe: str = "1d", begin: int = MONDAY
) -> Candles:
    rng = np.random.default_rng(seed)
    close = 100 * np.exp(np.cumsum(rng.normal(0.0, step, rows)))
    opening = np.concatenate([[100.0], close[:-1]]) * np.exp(rng.normal(0.0, step / 3, rows))
    high = np.maximum(opening, close) * (1 + np.abs(rng.normal(0.0, step / 2, rows)))
    low = np.minimum(opening, close) * (1 - np.abs(rng.normal(0.0, step / 2, rows)))
    time = begin + np.arange(rows, dtype=np.int64) * timeframe_ns(timeframe)
    return Candles(time, opening, high, low, close, rng.uniform(1e3, 1e5, rows))


def make_bars(rows: int = 300, seed: int = 1, *, timeframe: str = "1d", **symbols: Candles) -> Bars:
    candles = symbols or {"ABC": make_candles(rows, seed, timeframe=timeframe)}
    return Bars(candles=candles, timeframe=timeframe, source="test", synthetic=True)
