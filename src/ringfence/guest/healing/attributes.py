"""Attributes that models invent on the strategy, its position, its broker and its data, where the meaning is clear."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

from ringfence.guest.healing.ledger import Ledger

Read = Callable[[Any], Any]


def _average_price(position: Any) -> float:
    """Weighted by size over the open trades; not a number without any."""
    trades = _trades(position)
    size = sum(abs(trade.size) for trade in trades)
    return sum(abs(trade.size) * trade.entry_price for trade in trades) / size if size else math.nan


def _trades(position: Any) -> list[Any]:
    trades: list[Any] = position._Position__broker.trades
    return trades


def _of_last_trade(name: str) -> Read:
    return lambda position: getattr(_trades(position)[-1], name) if _trades(position) else None


def _of_first_trade(name: str) -> Read:
    return lambda position: getattr(_trades(position)[0], name) if _trades(position) else None


_POSITION: Mapping[str, Read] = {
    **dict.fromkeys(
        ("entry_price", "avg_price", "average_price", "avg_entry_price", "average_entry_price", "open_price", "price"),
        _average_price,
    ),
    "sl": _of_last_trade("sl"),
    "stop_loss": _of_last_trade("sl"),
    "tp": _of_last_trade("tp"),
    "take_profit": _of_last_trade("tp"),
    "entry_bar": _of_first_trade("entry_bar"),
    "entry_time": _of_first_trade("entry_time"),
    "open_time": _of_first_trade("entry_time"),
    "trades": lambda position: tuple(_trades(position)),
    **dict.fromkeys(("pnl", "unrealized_pnl", "profit", "unrealized_pl"), lambda position: position.pl),
    **dict.fromkeys(("pnl_pct", "pl_percent", "profit_pct", "return_pct"), lambda position: position.pl_pct),
    **dict.fromkeys(("quantity", "qty", "shares", "units", "amount"), lambda position: position.size),
    **dict.fromkeys(("is_open", "is_active", "active"), bool),
}


def _cash(broker: Any) -> float:
    return float(broker._cash)


def _equity(broker: Any) -> float:
    return float(broker.equity)


_BROKER: Mapping[str, Read] = {
    **dict.fromkeys(("cash", "balance"), _cash),
    **dict.fromkeys(("get_cash", "getcash", "get_balance"), lambda broker: lambda: _cash(broker)),
    **dict.fromkeys(("value", "portfolio_value", "account_value"), _equity),
    **dict.fromkeys(("get_equity", "get_value", "getvalue"), lambda broker: lambda: _equity(broker)),
}

_STRATEGY: Mapping[str, Read] = {
    "broker": lambda strategy: strategy._broker,
    **dict.fromkeys(("cash", "balance"), lambda strategy: _cash(strategy._broker)),
    **dict.fromkeys(("portfolio_value", "account_value"), lambda strategy: strategy.equity),
    **dict.fromkeys(("i", "_i", "bar_index", "current_bar", "bar"), lambda strategy: len(strategy.data) - 1),
    **dict.fromkeys(("current_price", "last_price"), lambda strategy: strategy.data.Close[-1]),
    **dict.fromkeys(("close_position", "close_all"), lambda strategy: strategy.position.close),
}


def _of_table(name: str) -> Read:
    return lambda data: getattr(data.df, name)


_DATA: Mapping[str, Read] = {
    **dict.fromkeys(("datetime", "date", "time", "timestamp", "Date", "Datetime"), lambda data: data.index),
    **{
        name: _of_table(name)
        for name in (
            "iloc",
            "loc",
            "columns",
            "shape",
            "values",
            "tail",
            "head",
            "empty",
            "resample",
            "rolling",
            "copy",
        )
    },
}
_PRICES = {name.lower(): name for name in ("Open", "High", "Low", "Close", "Volume")}


def install(ledger: Ledger, library: Any) -> None:
    engine = library.backtesting
    engine.Position.__getattr__ = _answering(ledger, "self.position", _POSITION)
    engine._Broker.__getattr__ = _answering(ledger, "the broker", _BROKER)
    engine.Strategy.__getattr__ = _answering(ledger, "self", _STRATEGY)
    _answer_for_data(ledger, library._util._Data)


def _answering(ledger: Ledger, owner: str, table: Mapping[str, Read]) -> Callable[[Any, str], Any]:
    """Python asks this only for what is not there."""

    def get(self: Any, name: str) -> Any:
        read = table.get(name)
        if read is None:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        ledger.note("alias", f"{owner}.{name} does not exist in the library and was given its evident meaning.")
        return read(self)

    return get


def _answer_for_data(ledger: Ledger, data: Any) -> None:
    getattr_, getitem = data.__getattr__, data.__getitem__

    def other_name(self: Any, name: object) -> str | None:
        """The column that is meant by a name that is none."""
        if not isinstance(name, str) or name in self.df.columns:
            return None
        key = name.strip().lower()
        found = _PRICES.get(key) or next((c for c in self.df.columns if str(c).strip().lower() == key), None)
        if found is not None and found in self.df.columns:
            ledger.note("alias", f"self.data.{name} was read as self.data.{found}.")
            return str(found)
        return None

    def get_attribute(self: Any, name: str) -> Any:
        if name.startswith("_"):
            return getattr_(self, name)
        found = other_name(self, name)
        if found is not None:
            return getitem(self, found)
        if name in _DATA and name not in self.df.columns:
            ledger.note("alias", f"self.data.{name} does not exist in the library and was given its evident meaning.")
            return _DATA[name](self)
        return getattr_(self, name)

    def get_item(self: Any, name: object) -> Any:
        return getitem(self, other_name(self, name) or name)

    data.__getattr__, data.__getitem__ = get_attribute, get_item
