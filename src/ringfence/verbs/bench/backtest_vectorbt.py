"""vectorbt, as backtest_worker.py runs it: signals of one bar fill at the open of the next, all shares whole."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.metadata import version as version_of

import numpy as np
import pandas as pd
import vectorbt as vbt  # type: ignore[import-not-found]  # in an interpreter of its own


@dataclass(frozen=True, slots=True)
class Given:
    frame: pd.DataFrame
    entries: pd.Series
    exits: pd.Series
    guards: dict[str, float]


def version() -> str:
    return version_of("vectorbt")


def prepare(table: dict[str, np.ndarray], strategy: str) -> Given:
    frame = pd.DataFrame(
        {name: table[name] for name in ("open", "high", "low", "close")}, index=pd.to_datetime(table["time"])
    )

    def next_bar(name: str) -> pd.Series:
        decided = table[f"{strategy}_{name}"]
        return pd.Series(np.concatenate([[False], decided[:-1]]), index=frame.index)

    guards = {"sl_stop": 0.05, "tp_stop": 0.10} if strategy == "s2" else {}
    return Given(frame, next_bar("entries"), next_bar("exits"), guards)


def arrays(given: Given) -> object:
    """Every fill, and the equity at every close."""
    bars = given.frame
    portfolio = vbt.Portfolio.from_signals(
        bars["close"], given.entries, given.exits, price=bars["open"], open=bars["open"], high=bars["high"],
        low=bars["low"], init_cash=1_000_000.0, fees=0.0, size_granularity=1.0, freq="15min",
        stop_entry_price="fillprice", **given.guards,
    )  # fmt: skip
    portfolio.value()
    return portfolio


def trades(finished: object) -> list[list[float]]:
    records = finished.trades.records  # type: ignore[attr-defined]
    closed = records[records["status"] == 1]
    names = ["entry_idx", "entry_price", "exit_idx", "exit_price", "size"]
    rows: list[list[float]] = closed[names].to_numpy(dtype=np.float64).tolist()
    return rows
