"""Rows that no market printed: refused with the place where they stand, or mended and listed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ringfence.base.errors import DataError
from ringfence.trade.bars import PRICES, Candles, Floats, Ints, find_problems
from ringfence.trade.times import iso

_FIRST_ROWS = 3
_NAT = np.iinfo(np.int64).min


@dataclass(frozen=True, slots=True)
class Place:
    """Where rows are to be found by the one who reads the message."""

    name: str  # of the file
    unit: str  # line | row
    number: Callable[[int], int]  # of the row counted from 0, as an editor counts

    def __call__(self, row: int) -> str:
        return f"{self.name} {self.unit} {self.number(row)}"


@dataclass(frozen=True, slots=True, eq=False)
class Rows:
    """One instrument's rows as read, in the order of the file; an unreadable stamp is the least int64."""

    time: Ints
    open: Floats
    high: Floats
    low: Floats
    close: Floats
    volume: Floats
    at: Ints  # the row of the file that each came from

    @classmethod
    def of(cls, time: Ints, columns: Sequence[Floats], at: Ints) -> Rows:
        """`columns` are open, high, low, close and volume."""
        first, high, low, last, volume = columns
        return cls(time, first, high, low, last, volume, at)

    def take(self, chosen: NDArray[np.bool_] | Ints) -> Rows:
        return Rows(*(getattr(self, name)[chosen] for name in self.__slots__))

    def candles(self) -> Candles:
        return Candles(self.time, self.open, self.high, self.low, self.close, self.volume)


def check(symbol: str, rows: Rows, place: Place) -> Candles:
    """The rows as Candles, or DataError naming the first that cannot be and how many more there are."""
    unread = np.flatnonzero(rows.time == _NAT)
    if len(unread):
        raise DataError(_refusal(symbol, place(int(rows.at[unread[0]])), "the time stamp cannot be read", len(unread)))
    candles = rows.candles()
    problems = find_problems(candles, most=1000)
    if problems:
        first = problems[0]
        at = f"{place(int(rows.at[first.row]))} ({iso(int(rows.time[first.row]))})"
        raise DataError(_refusal(symbol, at, first.what, len(problems)))
    return candles


def _refusal(symbol: str, at: str, what: str, count: int) -> str:
    more = f", and {count - 1}{'' if count < 1000 else ' or more'} other rows are wrong" if count > 1 else ""
    return f"{at}: {symbol}: {what}{more}; correct the data, or let --repair mend and list it"


def mend(symbol: str, rows: Rows, place: Place) -> tuple[Candles, list[str]]:
    """Impossible rows are dropped, ranges widened to hold open and close, stamps sorted, of two the later kept."""
    notes: list[str] = []

    def note(what: str, chosen: NDArray[np.bool_]) -> None:
        hits = rows.at[chosen]
        if len(hits):
            shown = ", ".join(str(place.number(int(row))) for row in hits[:_FIRST_ROWS])
            rest = ", …" if len(hits) > _FIRST_ROWS else ""
            notes.append(f"{symbol}: {len(hits)} {what} ({place.name} {place.unit} {shown}{rest})")

    def drop(what: str, wrong: NDArray[np.bool_]) -> Rows:
        note(f"rows dropped: {what}", wrong)
        return rows.take(~wrong)

    unread: NDArray[np.bool_] = np.asarray(rows.time == _NAT)
    rows = drop("the time stamp cannot be read", unread)
    prices = np.stack([getattr(rows, name) for name in PRICES])
    rows = drop("a price is missing or not finite", ~np.isfinite(prices).all(axis=0))
    lowest = np.minimum.reduce([rows.open, rows.high, rows.low, rows.close])
    rows = drop("a price is zero or negative", lowest <= 0)
    rows = drop("high is below low", rows.high < rows.low)
    top, bottom = np.maximum(rows.open, rows.close), np.minimum(rows.open, rows.close)
    note("rows widened: open or close lay outside low and high", (rows.high < top) | (rows.low > bottom))
    rows = replace(rows, high=np.maximum(rows.high, top), low=np.minimum(rows.low, bottom))
    odd = ~np.isfinite(rows.volume) | (rows.volume < 0)
    note("volumes set to 0: negative or not finite", odd)
    rows = replace(rows, volume=np.where(odd, 0.0, rows.volume))
    if not len(rows.time):
        raise DataError(f"{place.name}: no row of {symbol} can be used: look at the file, it may hold something else")
    note("rows put in order: earlier than the one before", np.diff(rows.time, prepend=rows.time[:1]) < 0)
    rows = rows.take(np.argsort(rows.time, kind="stable"))
    rows = drop("the time stamp is there again later", np.append(rows.time[1:] == rows.time[:-1], False))
    return rows.candles(), notes
