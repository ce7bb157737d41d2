"""What indicators may be called with: the columns they need as arrays, or one object that has them all."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from typing import TypeVar

import numpy as np

from ringfence.base.errors import OrderError
from ringfence.trade.bars import Floats

R = TypeVar("R")

_MOST_BARS = 100_000  # the longest period that TA-Lib takes


def takes(*columns: str) -> Callable[[Callable[..., R]], Callable[..., R]]:
    """The function's first parameters are these columns, of float64. Whoever calls it may give the data instead:
    `self.I(atr, self.data, 14)` and `self.I(atr, self.data.high, self.data.low, self.data.close, 14)` are the same."""

    def decorate(func: Callable[..., R]) -> Callable[..., R]:
        @wraps(func)
        def indicator(*args: object, **options: object) -> R:
            found = [_column(args[0], name) for name in columns] if args else [None]
            rest = args[1:]
            if any(column is None for column in found):
                found, rest, options = _given(args, columns, options)
            return func(*_arrays(func.__name__, found, columns), *rest, **options)

        return indicator

    return decorate


def _column(source: object, name: str) -> object:
    """Also `High` for `high`: a frame, and the data of backtesting.py, write it so."""
    made = getattr(source, name, None)
    return getattr(source, name.capitalize(), None) if made is None else made


def _given(
    args: tuple[object, ...], columns: Sequence[str], options: Mapping[str, object]
) -> tuple[list[object], tuple[object, ...], dict[str, object]]:
    """Columns given one by one, by place or by name."""
    named = [options.get(name) for name in columns[len(args) :]]
    left = {name: value for name, value in options.items() if name not in columns[len(args) :]}
    return [*args[: len(columns)], *named], args[len(columns) :], left


def _arrays(indicator: str, found: Sequence[object], columns: Sequence[str]) -> list[Floats]:
    arrays = [np.asarray(column) for column in found]
    if len(arrays) != len(columns) or any(array.ndim != 1 for array in arrays) or len({*map(len, arrays)}) != 1:
        raise OrderError(
            f"{indicator} needs {', '.join(columns)}, equally long: "
            f"pass them in this order, or all at once with self.I({indicator}, self.data)"
        )
    return [np.ascontiguousarray(array, dtype=np.float64) for array in arrays]


def bars(indicator: str, period: float, least: int = 1) -> int:
    """A period as a whole number of bars; 14.0 counts as one, as a search over parameters may give it."""
    if least <= period <= _MOST_BARS and period % 1 == 0:
        return int(period)
    raise OrderError(
        f"{indicator} has no period of {period!r} bars: give a whole number from {least} to {_MOST_BARS:,}"
    )


def later(values: Floats, count: int) -> Floats:
    """The values `count` bars after they were computed."""
    made = np.full(len(values), np.nan)
    made[count:] = values[: max(len(values) - count, 0)]
    return made


def window_sum(values: Floats, period: int) -> Floats:
    """The sum of the last `period` values, each added anew: a running sum keeps the rounding of all it has passed."""
    made = np.full(len(values), np.nan)
    count = len(values) - period + 1
    if count > 0:
        total = np.zeros(count)
        for first in range(period):
            total += values[first : first + count]
        made[period - 1 :] = total
    return made
