"""Questions about the last bars of a series, for use in `next`. With too few bars, or NaN in one, the answer is no."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from ringfence.trade.bars import Floats
from ringfence.trade.series import Series

Line = Series | Floats | Sequence[float]


def crossover(a: Line | float, b: Line | float) -> bool:
    """Whether `a` was below `b` on the bar before and is above it now."""
    try:
        x, y = a._seen, b._seen  # type: ignore[union-attr]
    except AttributeError:
        x, y = _last_two(a), _last_two(b)
    try:
        if x[-2] < y[-2] and x[-1] > y[-1]:
            return True
    except IndexError:  # one of several instruments may have a single bar so far
        pass
    return False


def crossunder(a: Line | float, b: Line | float) -> bool:
    """Whether `a` was above `b` on the bar before and is below it now."""
    return crossover(b, a)


def crossed(a: Line | float, b: Line | float) -> bool:
    """Whether `a` crossed `b` with this bar, upwards or downwards."""
    return crossover(a, b) or crossover(b, a)


def rising(line: Line, bars: int = 1) -> bool:
    """Whether each of the last `bars` values is above the one before it."""
    last = _last(line, bars + 1)
    return len(last) > bars and all(x < y for x, y in pairwise(last))


def falling(line: Line, bars: int = 1) -> bool:
    """Whether each of the last `bars` values is below the one before it."""
    last = _last(line, bars + 1)
    return len(last) > bars and all(x > y for x, y in pairwise(last))


def _last_two(line: Line | float) -> list[float]:
    return [float(line)] * 2 if isinstance(line, (int, float, np.integer)) else _last(line, 2)


def _last(line: Line, count: int) -> list[float]:
    if isinstance(line, Series):
        return line._seen[-count:]
    made: list[float] = np.asarray(line, dtype=np.float64)[-count:].tolist()
    return made
