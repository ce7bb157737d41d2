"""backtesting.py, as backtest_worker.py runs it, with strategies as its users write them."""

from __future__ import annotations

import warnings
from importlib.metadata import version as version_of

import backtesting
import numpy as np
import pandas as pd
import talib
from backtesting.lib import crossover


class S1(backtesting.Strategy):  # type: ignore[misc]  # it publishes no types
    def init(self) -> None:
        self.fast = self.I(talib.SMA, self.data.Close, 10)
        self.slow = self.I(talib.SMA, self.data.Close, 30)

    def next(self) -> None:
        if crossover(self.fast, self.slow):
            self.buy()
        elif crossover(self.slow, self.fast):
            self.position.close()


class S2(backtesting.Strategy):  # type: ignore[misc]
    def init(self) -> None:
        self.rsi = self.I(talib.RSI, self.data.Close, 14)

    def next(self) -> None:
        if not self.position:
            if self.rsi[-1] < 35:
                price = self.data.Close[-1]
                self.buy(sl=price * 0.95, tp=price * 1.1)
        elif self.rsi[-1] > 65:
            self.position.close()


STRATEGIES = {"s1": S1, "s2": S2}
Given = tuple[pd.DataFrame, type]


def version() -> str:
    return version_of("backtesting")


def prepare(table: dict[str, np.ndarray], strategy: str) -> Given:
    columns = {name.capitalize(): table[name] for name in ("open", "high", "low", "close", "volume")}
    return pd.DataFrame(columns, index=pd.to_datetime(table["time"])), STRATEGIES[strategy]


def whole(given: Given) -> pd.Series:
    """Its run, which gives the trades, the equity and all its figures."""
    frame, strategy = given
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about a trade that is open at the end, as it is in every engine here
        stats: pd.Series = backtesting.Backtest(frame, strategy, cash=1_000_000.0, commission=0.0).run()
    return stats


def trades(finished: pd.Series) -> list[list[float]]:
    names = ["EntryBar", "EntryPrice", "ExitBar", "ExitPrice", "Size"]
    rows: list[list[float]] = finished["_trades"][names].to_numpy(dtype=np.float64).tolist()
    return rows
