"""Names that numpy and pandas no longer have, with the meaning they had."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np
import pandas as pd

from ringfence.guest.healing.ledger import Ledger

_NUMPY: Mapping[str, object] = {
    "NaN": np.nan,
    "NAN": np.nan,
    "Inf": np.inf,
    "Infinity": np.inf,
    "infty": np.inf,
    "PINF": np.inf,
    "NINF": -np.inf,
    "float": float,
    "int": int,
    "bool": bool,
    "object": object,
    "str": str,
    "complex": complex,
    "float_": np.float64,
    "int0": np.intp,
    "unicode_": np.str_,
    "product": np.prod,
    "cumproduct": np.cumprod,
    "alltrue": np.all,
    "sometrue": np.any,
    "round_": np.round,
    "asfarray": lambda a: np.asarray(a, dtype=float),
}
_PANDAS: Mapping[str, object] = {
    "np": np,
    "datetime": datetime.datetime,
    "Int64Index": pd.Index,
    "Float64Index": pd.Index,
    "TimeGrouper": pd.Grouper,
}


def install(ledger: Ledger) -> None:
    _names(ledger, np, {name: value for name, value in _NUMPY.items() if name not in vars(np)})
    _names(ledger, pd, {name: value for name, value in _PANDAS.items() if name not in vars(pd)})
    methods: dict[str, Callable[..., Any]] = {"append": _append, "iteritems": _iteritems, "mad": _mad}
    classes: tuple[Any, Any] = (pd.DataFrame, pd.Series)
    for cls in classes:
        for name, method in methods.items():
            if not hasattr(cls, name):
                setattr(cls, name, _noted(ledger, cls.__name__, name, method))
        if not hasattr(cls, "ix"):
            cls.ix = property(_noted(ledger, cls.__name__, "ix", _Ix))


def _names(ledger: Ledger, module: Any, table: Mapping[str, object]) -> None:
    """Answer for what a module lacks; what it has never gets here."""
    before: Callable[[str], object] | None = vars(module).get("__getattr__")

    def get(name: str) -> object:
        if name in table:
            ledger.note(
                "lossless", f"{module.__name__}.{name} was removed from the library and stands for what it was."
            )
            return table[name]
        if before is None:
            raise AttributeError(f"module {module.__name__!r} has no attribute {name!r}")
        return before(name)

    module.__getattr__ = get


def _noted(ledger: Ledger, cls: str, name: str, method: Callable[..., Any]) -> Callable[..., Any]:
    def call(*args: Any, **kwargs: Any) -> Any:
        ledger.note("lossless", f"{cls}.{name} was removed from pandas and does what it did.")
        return method(*args, **kwargs)

    return call


def _append(
    self: Any, other: Any, ignore_index: bool = False, verify_integrity: bool = False, sort: bool = False
) -> Any:
    if isinstance(self, pd.DataFrame) and isinstance(other, (dict, pd.Series)):
        row = pd.Series(other)
        other = row.to_frame().T.infer_objects()
    parts = [self, *(other if isinstance(other, list) else [other])]
    if isinstance(self, pd.Series):
        return pd.concat(parts, ignore_index=ignore_index, verify_integrity=verify_integrity)
    parts = [part for part in parts if len(part)] or parts[:1]
    return pd.concat(parts, ignore_index=ignore_index, verify_integrity=verify_integrity, sort=sort)


def _iteritems(self: Any) -> Iterable[tuple[Any, Any]]:
    items: Iterable[tuple[Any, Any]] = self.items()
    return items


def _mad(self: Any) -> Any:
    return (self - self.mean()).abs().mean()


class _Ix:
    """By label where there is one, else by position, as it was."""

    def __init__(self, owner: Any) -> None:
        self._owner = owner

    def __getitem__(self, key: Any) -> Any:
        try:
            return self._owner.loc[key]
        except (KeyError, TypeError):
            return self._owner.iloc[key]

    def __setitem__(self, key: Any, value: Any) -> None:
        self._owner.loc[key] = value
