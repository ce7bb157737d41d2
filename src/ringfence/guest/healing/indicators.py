"""Indicator libraries: what took the place of pandas_ta, TA-Lib's strict types, names of backtesting.lib."""

from __future__ import annotations

import functools
import importlib
import importlib.abc
import importlib.machinery
import sys
import types
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from ringfence.guest.healing.ledger import Ledger

_REPLACED = "pandas_ta"
_REPLACEMENT = "pandas_ta_classic"
_UNDER = ("crossunder", "cross_under", "crossdown", "crossbelow", "cross_below")
_OVER = ("cross_over", "crossabove", "cross_above", "crossup")


def install(ledger: Ledger, library: Any) -> None:
    sys.meta_path.append(_Finder(ledger))
    _widen_library(ledger, library)
    _loosen_talib(ledger)


class _Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Asked last, for what no other finder has found."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: types.ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        return importlib.machinery.ModuleSpec(name, self) if name == _REPLACED else None

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> types.ModuleType:
        real = importlib.import_module(_REPLACEMENT)
        self._ledger.note("lossless", f"{_REPLACED} is not installed: {_REPLACEMENT} was imported in its place.")
        module = types.ModuleType(spec.name)
        module.__getattr__ = lambda name: _on_series(getattr(real, name))  # type: ignore[method-assign]
        module.__all__ = [name for name in dir(real) if not name.startswith("_")]  # type: ignore[attr-defined]
        return module

    def exec_module(self, module: types.ModuleType) -> None:
        """It was made whole."""


def _on_series(function: Any) -> Any:
    """These functions want pandas Series, and return nothing for the library's arrays."""
    if not isinstance(function, types.FunctionType):
        return function

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        return function(*map(_series, args), **{name: _series(value) for name, value in kwargs.items()})

    return call


def _series(value: Any) -> Any:
    if not isinstance(value, np.ndarray) or value.ndim != 1:
        return value
    ours: Any = value
    return ours.s if "index" in getattr(ours, "_opts", {}) else pd.Series(value)


def _widen_library(ledger: Ledger, library: Any) -> None:
    lib = library.lib

    def crossunder(series1: Any, series2: Any) -> bool:
        return bool(lib.crossover(series2, series1))

    invented = {**dict.fromkeys(_UNDER, crossunder), **dict.fromkeys(_OVER, lib.crossover)}
    test = importlib.import_module("backtesting.test")
    elsewhere = {name: getattr(lib, name) for name in lib.__all__}
    elsewhere |= {name: getattr(test, name) for name in ("GOOG", "EURUSD", "BTCUSD", "SMA")}
    elsewhere |= {"Backtest": library.Backtest, "Strategy": library.Strategy}
    for module in (library, lib):
        others = {name: value for name, value in elsewhere.items() if name not in vars(module)}
        module.__getattr__ = _supplying(ledger, module.__name__, invented, others)


def _supplying(
    ledger: Ledger, module: str, invented: Mapping[str, object], elsewhere: Mapping[str, object]
) -> Callable[[str], object]:
    def get(name: str) -> object:
        if name in invented:
            ledger.note("alias", f"{module}.{name} does not exist: crossover() was used, in the direction of the name.")
            return invented[name]
        if name in elsewhere:
            ledger.note("lossless", f"{module}.{name} was found in another module of the library.")
            return elsewhere[name]
        raise AttributeError(f"module {module!r} has no attribute {name!r}")

    return get


def _loosen_talib(ledger: Ledger) -> None:
    try:
        talib: Any = importlib.import_module("talib")
    except ModuleNotFoundError:
        return
    for name in talib.get_functions():
        setattr(talib, name, _loose(ledger, name, getattr(talib, name)))


def _loose(ledger: Ledger, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        args = tuple(_doubles(ledger, name, value) for value in args)
        return function(*args, **{key: _doubles(ledger, name, value) for key, value in kwargs.items()})

    return call


def _doubles(ledger: Ledger, function: str, value: Any) -> Any:
    """TA-Lib takes arrays of float64 and no others."""
    if isinstance(value, list) or (isinstance(value, np.ndarray) and value.dtype != np.float64):
        ledger.note("lossless", f"The input of talib.{function} was turned into floating-point numbers.")
        return np.asarray(value, dtype=np.float64)
    return value
