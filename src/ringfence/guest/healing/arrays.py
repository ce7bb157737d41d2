"""Prices and indicators are numpy arrays in this library; models often write as if they were pandas Series."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from ringfence.guest.healing.ledger import Ledger

_WORDS = """
iloc loc iat at index shift rolling ewm expanding pct_change diff fillna ffill bfill dropna isna isnull notna notnull
to_numpy to_list tail head quantile median apply map abs rank idxmax idxmin cummax cummin interpolate where mask
combine rename replace corr cov skew kurt between describe gt lt ge le eq ne value_counts to_frame reset_index reindex
align first_valid_index last_valid_index empty is_monotonic_increasing iteritems items nlargest nsmallest
"""
_OF_SERIES = frozenset(_WORDS.split())


def install(ledger: Ledger, library: Any) -> None:
    def get(array: Any, name: str) -> Any:
        if name == "values" and _is_asked_by_script():
            ledger.note("alias", "An array's .values was read: it is the array itself.")
            return np.asarray(array)
        if name in _OF_SERIES and "index" in array.__dict__.get("_opts", {}) and _is_asked_by_script():
            ledger.note("alias", f"An array's .{name} was read: the array was given as a pandas Series.")
            return getattr(array.s, name)
        raise AttributeError(f"{type(array).__name__!r} object has no attribute {name!r}")

    library._util._Array.__getattr__ = get


def _is_asked_by_script() -> bool:
    """pandas itself looks whether things have `.values` or `.index`, and must find what it would have found."""
    asker = sys._getframe(2).f_code.co_filename
    return "/pandas/" not in asker and "/numpy/" not in asker and "/backtesting/" not in asker
