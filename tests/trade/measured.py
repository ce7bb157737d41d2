"""Short ways to a Metrics for the tests: daily stamps, made-up trades, and the real prices that bokeh ships."""

from __future__ import annotations

import csv
import gzip
from collections.abc import Sequence
from importlib.resources import files

import numpy as np
from numpy.typing import NDArray

from ringfence.trade.bars import Floats, Ints
from ringfence.trade.metrics import Metrics, measure
from ringfence.trade.orders import Trade
from ringfence.trade.times import DAY, parse_moment

Values = Sequence[float] | NDArray[np.number]
START = parse_moment("2020-01-01")


def days(count: int, step: int = DAY) -> Ints:
    return START + np.arange(count, dtype=np.int64) * step


def trade(pnl: float, share: float, *, bars_held: int = 1, entry: int = 0, exit_: int | None = 1) -> Trade:
    """Entered and left on the days that are counted from START; `exit_=None` leaves it open."""
    return Trade(
        id=1,
        symbol="AAA",
        side="long",
        qty=1.0,
        entry_time=START + entry * DAY,
        entry_price=100.0,
        exit_time=None if exit_ is None else START + exit_ * DAY,
        exit_price=None if exit_ is None else 100.0 + pnl,
        fees=0.0,
        pnl=pnl,
        pnl_pct=share,
        bars_held=bars_held,
        entry_reason="",
        exit_reason="",
        is_partial=False,
    )


def measured(
    equity: Values,
    *,
    time: Ints | None = None,
    trades: Sequence[Trade] = (),
    exposure: Values | None = None,
    turnover_value: float = 0.0,
    fees: float = 0.0,
    initial_equity: float | None = None,
    benchmark: Values | None = None,
    timeframe: str = "1d",
    calendar: str = "24/7",
    trials: int = 1,
    trial_sharpe_variance: float | None = None,
    risk_free: float = 0.0,
) -> Metrics:
    """Daily bars of a market that never closes, and the curve's first value as the money at the start."""
    curve = np.asarray(equity, dtype=np.float64)
    return measure(
        time=days(len(curve)) if time is None else time,
        equity=curve,
        trades=trades,
        exposure=None if exposure is None else np.asarray(exposure, dtype=np.float64),
        turnover_value=turnover_value,
        fees=fees,
        initial_equity=float(curve[0]) if initial_equity is None else initial_equity,
        benchmark=None if benchmark is None else np.asarray(benchmark, dtype=np.float64),
        timeframe=timeframe,
        calendar=calendar,
        trials=trials,
        trial_sharpe_variance=trial_sharpe_variance,
        risk_free=risk_free,
    )


def real_closes() -> dict[str, tuple[Ints, Floats]]:
    """Daily adjusted closes with their stamps, by ticker."""
    packed = (files("bokeh_sampledata") / "_data" / "stocks.csv.gz").read_bytes()
    rows: dict[str, list[tuple[int, float]]] = {}
    for row in csv.DictReader(gzip.decompress(packed).decode().splitlines()):
        rows.setdefault(row["Ticker"], []).append((parse_moment(row["Date"]), float(row["Adj Close"])))
    return {
        symbol: (np.array([t for t, _ in pairs], dtype=np.int64), np.array([c for _, c in pairs]))
        for symbol, pairs in rows.items()
    }
