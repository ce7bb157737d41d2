"""The library's results as plain values: its own names, full precision, nothing that JSON cannot hold."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from ringfence.trade.packed import Kind, pack_table

MOST_POINTS = 5_000
_LONGEST = 500
_PRIVATE = ("_strategy", "_equity_curve", "_trades")


def plain(value: object) -> object:
    """A number, text, ISO moment, or null. A length of time is what pandas prints."""
    if value is None or isinstance(value, (bool, str)):
        return value[:_LONGEST] if isinstance(value, str) else value
    if value is pd.NaT or value is pd.NA:
        return None
    if isinstance(value, pd.Timestamp):
        return value.isoformat()
    if isinstance(value, pd.Timedelta):
        return str(value)
    if isinstance(value, np.generic):
        return plain(value.item())
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else None
    if isinstance(value, int):
        return int(value) if abs(value) < 1 << 63 else float(value)
    return str(value)[:_LONGEST]


def is_simple(value: object) -> bool:
    if isinstance(value, (list, tuple)):
        return len(value) <= 100 and all(isinstance(v, (bool, int, float, str, np.generic)) for v in value)
    return value is None or isinstance(value, (bool, int, float, str, np.generic))


def statistics(stats: pd.Series[Any]) -> dict[str, object]:
    return {str(name): plain(value) for name, value in stats.items() if str(name) not in _PRIVATE}


def parameters(strategy: Any) -> dict[str, object]:
    """The class attributes that a run may override, and what this run had in their place."""
    found: dict[str, object] = {}
    for base in reversed(type(strategy).__mro__):
        if base.__module__ != "backtesting.backtesting":
            found |= {name: value for name, value in vars(base).items() if not name.startswith("_")}
    found |= strategy._params
    simple = {name: value for name, value in found.items() if is_simple(value)}
    return {name: [plain(v) for v in v] if isinstance(v, (list, tuple)) else plain(v) for name, v in simple.items()}


def settings(backtest: Any) -> dict[str, object]:
    found = {name: value for name, value in backtest._broker.keywords.items() if name != "index"}
    found["finalize_trades"] = backtest._finalize_trades
    return {name: _setting(value) for name, value in found.items()}


def _setting(value: object) -> object:
    if callable(value):
        return "function"
    return [plain(part) for part in value] if isinstance(value, tuple) else plain(value)


def bars(data: pd.DataFrame) -> dict[str, object]:
    return {
        "rows": len(data),
        "first": plain(data.index[0]),
        "last": plain(data.index[-1]),
        "columns": [str(name)[:_LONGEST] for name in data.columns[:100]],
        "dated": isinstance(data.index, pd.DatetimeIndex),
    }


def moments(index: pd.Index[Any]) -> list[int]:
    """Nanoseconds UTC, a stamp without a zone taken as UTC; without any stamps, the number of the bar."""
    if isinstance(index, pd.DatetimeIndex):
        return [int(moment) for moment in index.as_unit("ns").astype("int64")]
    return list(range(len(index)))


def equity(curve: pd.DataFrame) -> dict[str, object]:
    step = -(-len(curve) // (MOST_POINTS - 1)) or 1
    picked = list(range(0, len(curve), step))
    if picked and picked[-1] != len(curve) - 1:
        picked.append(len(curve) - 1)
    times = moments(curve.index)
    values = curve["Equity"].tolist()
    return pack_table(
        len(picked),
        {
            "time": ("whole", [times[i] for i in picked]),
            "value": ("real", [plain(float(values[i])) for i in picked]),
        },
    )


Trades = dict[str, tuple[Kind, Sequence[object]]]


def trades(table: pd.DataFrame, index: pd.Index[Any], symbol: str) -> Trades:
    """The columns of `ringfence.trade.orders.Trade`, in the order in which the trades were closed."""
    times = moments(index)
    count = len(table)
    sizes = [float(size) for size in table["Size"].tolist()]
    entries, exits = ([int(bar) for bar in table[name].tolist()] for name in ("EntryBar", "ExitBar"))
    tags = [tag[:_LONGEST] if isinstance(tag, str) else "" for tag in table["Tag"].tolist()]
    fees = table["Commission"].tolist() if "Commission" in table else [0.0] * count
    return {
        "id": ("whole", range(1, count + 1)),
        "symbol": ("text", [symbol] * count),
        "side": ("text", ["long" if size > 0 else "short" for size in sizes]),
        "qty": ("real", [abs(size) for size in sizes]),
        "entry_time": ("whole", [times[bar] for bar in entries]),
        "entry_price": ("real", _reals(table["EntryPrice"].tolist())),
        "exit_time": ("whole", [times[bar] for bar in exits]),
        "exit_price": ("real", _reals(table["ExitPrice"].tolist())),
        "fees": ("real", _reals(fees)),
        "pnl": ("real", _reals(table["PnL"].tolist())),
        "pnl_pct": ("real", _reals(table["ReturnPct"].tolist())),
        "bars_held": ("whole", [leave - enter for enter, leave in zip(entries, exits, strict=True)]),
        "entry_reason": ("text", tags),
    }


def _reals(values: Sequence[float]) -> list[object]:
    return [plain(float(value)) for value in values]
