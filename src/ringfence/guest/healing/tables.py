"""Tables whose columns are there, but spelled otherwise: padded, in another case, beside an empty `Unnamed` one."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, Literal

import pandas as pd

from ringfence.guest.healing.ledger import Ledger

_COLUMNS = {name.lower(): name for name in ("Open", "High", "Low", "Close", "Volume")}
_STAMPS = ("datetime", "date", "timestamp", "time", "open_time", "open time", "unnamed: 0")


def find(names: Iterable[object], wanted: str) -> object | None:
    """The one name that reads like the wanted one, if there is exactly one."""
    key = wanted.strip().lower()
    alike = [name for name in names if isinstance(name, str) and name.strip().lower() == key]
    return alike[0] if len(alike) == 1 else None


def spelled(frame: pd.DataFrame) -> tuple[pd.DataFrame, list[str]]:
    """The table with its price columns named as the library wants them, and the names that were changed."""
    renames: dict[object, str] = {}
    for key, name in _COLUMNS.items():
        if name not in frame.columns:
            found = find(frame.columns, key)
            if found is not None:
                renames[found] = name
    return (frame.rename(columns=renames), [repr(name) for name in renames]) if renames else (frame, [])


def from_csv(path: str) -> pd.DataFrame:
    """Prices from a file whose layout is unknown: the first column that holds dates becomes the index."""
    frame = pd.read_csv(path, skipinitialspace=True)
    frame.columns = [str(name).strip() for name in frame.columns]
    frame, _ = spelled(frame.loc[:, [name for name in frame.columns if not _is_empty(frame, name)]])
    stamp = next((found for name in _STAMPS if (found := find(frame.columns, name)) is not None), None)
    if stamp is None:
        return frame
    column = frame[stamp]
    if pd.api.types.is_numeric_dtype(column):
        size = float(column.abs().median())
        unit: Literal["s", "ms", "us", "ns"] = (
            "s" if size < 1e11 else "ms" if size < 1e14 else "us" if size < 1e17 else "ns"
        )
        index = pd.DatetimeIndex(pd.to_datetime(column, unit=unit))
    else:
        index = pd.DatetimeIndex(pd.to_datetime(column))
    return frame.drop(columns=[stamp]).set_index(index).sort_index()


def from_bars(path: Path) -> pd.DataFrame:
    """The first instrument of a file of bars, as the library wants it; stamps are UTC without a zone."""
    from ringfence.trade.arrow import read_bars

    candles = next(iter(read_bars(path).candles.values()))
    columns = {name: getattr(candles, key) for key, name in _COLUMNS.items()}
    return pd.DataFrame(columns, index=pd.DatetimeIndex(candles.time.copy(), name="datetime"), copy=True)


def _is_empty(frame: pd.DataFrame, name: object) -> bool:
    return str(name).startswith("Unnamed") and bool(frame[name].isna().all())


def tidy(frame: pd.DataFrame, ledger: Ledger) -> pd.DataFrame:
    """A table just read: no padding in its names, no empty column that only a trailing comma made."""
    empty = [name for name in frame.columns if _is_empty(frame, name)]
    if empty:
        ledger.note("lossless", "An empty Unnamed column of the file was left out.")
        frame = frame.drop(columns=empty)
    names: list[object] = list(frame.columns)
    padded = {name: name.strip() for name in names if isinstance(name, str) and name != name.strip()}
    if padded:
        ledger.note("lossless", f"Padded column names of the file were stripped: {', '.join(map(repr, padded))}.")
        frame = frame.rename(columns=padded)
    if isinstance(frame.index.name, str):
        frame.index.name = frame.index.name.strip()
    return frame


def install(ledger: Ledger, library: Any) -> None:
    frames: Any = pd.DataFrame
    frames.__getitem__ = _getting(ledger, frames.__getitem__)
    frames.set_index = _setting_index(ledger, frames.set_index)
    frames.drop = _dropping(ledger, frames.drop)
    library.backtesting.Backtest.__init__ = _making(ledger, library.backtesting.Backtest.__init__)


def _named(ledger: Ledger, frame: pd.DataFrame, key: object) -> object:
    """The name to look up in place of `key`."""
    if not isinstance(key, str) or key in frame.columns:
        return key
    found = find(frame.columns, key)
    if found is None:
        return key
    ledger.note("lossless", f"The column {key!r} was found as {found!r}.")
    return found


def _getting(ledger: Ledger, original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def get(frame: pd.DataFrame, key: Any) -> Any:
        if isinstance(key, str):
            key = _named(ledger, frame, key)
            if key not in frame.columns and find([frame.index.name], key) is not None:
                ledger.note("lossless", f"The column {key!r} was found as the index.")
                return frame.index.to_series()
        elif isinstance(key, list) and key and all(isinstance(name, str) for name in key):
            found = [_named(ledger, frame, name) for name in key]
            if found != key:
                return original(frame, found).set_axis(key, axis=1)
        return original(frame, key)

    return get


def _setting_index(ledger: Ledger, original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def set_index(frame: pd.DataFrame, keys: Any, *args: Any, **kwargs: Any) -> Any:
        if isinstance(keys, str):
            keys = _named(ledger, frame, keys)
            if keys not in frame.columns and find([frame.index.name], keys) is not None:
                ledger.note("lossless", f"The column {keys!r} was the index already.")
                return None if kwargs.get("inplace") else frame
        return original(frame, keys, *args, **kwargs)

    return set_index


def _dropping(ledger: Ledger, original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def drop(frame: pd.DataFrame, labels: Any = None, **kwargs: Any) -> Any:
        columns = kwargs.get("columns")
        gone = [columns] if isinstance(columns, str) else columns if isinstance(columns, list) else []
        missing = [name for name in gone if name not in frame.columns]
        if missing and all(str(name).strip().startswith("Unnamed") for name in missing):
            ledger.note("lossless", "An Unnamed column to be dropped was not there.")
            kwargs["errors"] = "ignore"
        return original(frame, labels, **kwargs)

    return drop


def _making(ledger: Ledger, original: Callable[..., None]) -> Callable[..., None]:
    @functools.wraps(original)
    def make(backtest: Any, data: Any, *args: Any, **kwargs: Any) -> None:
        if isinstance(data, pd.DataFrame):
            data, changed = spelled(data)
            if changed:
                ledger.note("lossless", f"Price columns were renamed for the library: {', '.join(changed)}.")
        original(backtest, data, *args, **kwargs)

    return make
