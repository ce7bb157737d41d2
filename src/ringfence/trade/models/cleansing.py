"""Bars that a market may have printed and probably did not: found, mended where that is safe, and every change listed.

What no market can print (a high below the low, a negative price) is not for here: whoever reads the file refuses it, or
mends it first.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from ringfence.trade.bars import PRICES, Candles, Floats

Action = Literal["replaced", "flagged"]
_SCALED_MAD = 1.4826  # makes the median absolute deviation of normal values their standard deviation


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    row: int
    time: int
    column: str
    before: float
    after: float  # the same where it was only flagged
    action: Action
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Cleansed:
    candles: Candles
    changes: tuple[Change, ...]


def cleanse(candles: Candles, *, threshold: float = 10.0, stale: int = 5) -> Cleansed:
    """A close that leaps and comes straight back is taken for a bad tick and its bar replaced by the mean of its
    neighbours; a leap that stays, a price that stands still for `stale` bars, and a bar without volume in a series that
    has some are only flagged: they may be news, a halt, or a holiday.

    `threshold` counts robust standard deviations of the log returns.
    """
    columns = {name: getattr(candles, name).copy() for name in (*PRICES, "volume")}
    spikes, leaps = _leaps(candles.close, threshold)
    changes = [change for row in spikes for change in _mend(columns, candles, row, threshold)]
    changes += [
        _flag(candles, row, "close", f"moved by more than {threshold:g} robust deviations and stayed") for row in leaps
    ]
    changes += [
        _flag(candles, row, "close", f"open, high, low and close are the same for {stale} bars or more")
        for row in _still(candles, stale)
    ]
    if candles.volume.any():
        empty = np.flatnonzero(candles.volume == 0).tolist()
        changes += [_flag(candles, row, "volume", "no volume, where other bars have some") for row in empty]
    changes.sort(key=lambda change: (change.row, change.column))
    mended = Candles(candles.time, *(columns[name] for name in (*PRICES, "volume")))
    return Cleansed(candles=mended, changes=tuple(changes))


def _leaps(close: Floats, threshold: float) -> tuple[list[int], list[int]]:
    """Rows of bad ticks, and rows of leaps that stayed."""
    returns = np.diff(np.log(close))
    if len(returns) < 3:
        return [], []
    middle = float(np.median(returns))
    width = _SCALED_MAD * float(np.median(np.abs(returns - middle)))
    if width == 0.0:
        return [], []
    far: NDArray[np.bool_] = np.abs(returns - middle) > threshold * width
    there_and_back = far[:-1] & far[1:] & (np.abs(returns[:-1] + returns[1:]) <= threshold * width / 2)
    spikes = (np.flatnonzero(there_and_back) + 1).tolist()
    told = {row for spike in spikes for row in (spike, spike + 1)}
    return spikes, [row for row in (np.flatnonzero(far) + 1).tolist() if row not in told]


def _mend(columns: dict[str, Floats], candles: Candles, row: int, threshold: float) -> list[Change]:
    made = []
    for name in PRICES:
        column = getattr(candles, name)
        after = float((column[row - 1] + column[row + 1]) / 2)
        columns[name][row] = after
        if after != float(column[row]):
            reason = f"a move of more than {threshold:g} robust deviations that was undone by the next bar"
            made.append(
                Change(
                    row=row, time=int(candles.time[row]), column=name, before=float(column[row]), after=after,
                    action="replaced", reason=reason,
                )
            )  # fmt: skip
    return made


def _still(candles: Candles, stale: int) -> list[int]:
    """The first row of every stretch of `stale` bars or more whose four prices never change."""
    prices = np.stack([getattr(candles, name) for name in PRICES])
    same = (prices[:, 1:] == prices[:, :-1]).all(axis=0) & (prices[0] == prices[3])[1:]
    edges = np.flatnonzero(np.diff(np.concatenate([[False], same, [False]]).astype(np.int8)))
    return [int(first) for first, last in zip(edges[::2], edges[1::2]) if last - first + 1 >= stale]


def _flag(candles: Candles, row: int, column: str, reason: str) -> Change:
    value = float(getattr(candles, column)[row])
    return Change(
        row=row, time=int(candles.time[row]), column=column, before=value, after=value, action="flagged", reason=reason
    )
