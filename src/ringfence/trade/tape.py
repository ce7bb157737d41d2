"""One instrument's columns on their way to a strategy: what was let out so far, and what is still to come."""

from __future__ import annotations

import weakref
from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import chain, repeat
from typing import cast

import numpy as np

from ringfence.trade.bars import COLUMNS, Candles, Floats, Ints
from ringfence.trade.series import Series
from ringfence.trade.times import local_days, periods

_INF = float("inf")
_PIECE = 4096


class Tape:
    """Series opened on a tape grow when the engine lets out the next row; none of them holds more than that."""

    def __init__(self, candles: Candles) -> None:
        self.arrays: dict[str, Floats] = {name: getattr(candles, name) for name in COLUMNS}
        self.time = candles.time
        self.visible = 0
        self.late = False  # whether a series was opened after `rows` was
        self._feeds: list[tuple[list[float], Floats]] = []  # what was seen of a column, and all of it
        self._unsettled: list[tuple[weakref.ref[Series], list[float], Floats]] | None = []

    def __len__(self) -> int:
        return len(self.time)

    # As lists, for what reads single numbers: several times faster than out of an array. Made when first wanted.

    @cached_property
    def open(self) -> list[float]:
        return list_of(self.arrays["open"])

    @cached_property
    def high(self) -> list[float]:
        return list_of(self.arrays["high"])

    @cached_property
    def low(self) -> list[float]:
        return list_of(self.arrays["low"])

    @cached_property
    def close(self) -> list[float]:
        return list_of(self.arrays["close"])

    def next_touch(self, begin: int, floor: float, ceiling: float) -> int:
        """The first row from `begin` on that leaves the band between these prices, or the number of rows."""
        if floor >= ceiling:
            return begin
        low, high = self.arrays["low"], self.arrays["high"]
        if floor == -_INF and ceiling == _INF:
            return len(low)
        size = 128
        while begin < len(low):
            end = begin + size
            hit = low[begin:end] <= floor
            hit |= high[begin:end] >= ceiling
            first = hit.tobytes().find(1)  # half the time of argmax, which does not say whether there is any
            if first >= 0:
                return begin + first
            begin, size = end, size * 4
        return len(low)

    def grow(self, name: str, values: Floats) -> Series:
        """A series of `values`, of which it has what is visible now, and gets the rest as time goes on."""
        seen = list_of(values[: self.visible])
        series = Series(name, seen)
        if self._unsettled is None:
            self._feeds.append((seen, values))
            self.late = True
        else:
            self._unsettled.append((weakref.ref(series), seen, values))
        return series

    def settle(self) -> None:
        """After `init`: a series that nobody holds any more need not grow."""
        self._feeds += [(seen, values) for ref, seen, values in self._unsettled or () if ref() is not None]
        self._unsettled = None

    def skip_to(self, visible: int) -> None:
        """Let out all rows before `visible` at once."""
        for seen, values in self._feeds:
            seen += list_of(values[self.visible : visible])
        self.visible = visible

    def rows(self, begin: int) -> Iterator[object]:
        """Each step lets out one more row of every column, from `begin` on; what it yields is true and no more.

        The appending is done by `map` and `zip`, which costs a third of a loop in Python.
        """
        self.late = False
        grow = [map(seen.append, _numbers(values, begin)) for seen, values in self._feeds]
        return zip(*grow) if grow else repeat(True)

    def let_out(self, row: int) -> None:
        """Let out the one row; what `rows` does for a single instrument, for one of several."""
        for seen, values in self._feeds:
            seen.append(values.item(row))
        self.visible = row + 1

    def day_over(self, timezone: str) -> Sequence[bool]:
        """For each row, whether the next one is of another day."""
        days = local_days(self.time, timezone)
        return cast("Sequence[bool]", np.append(days[1:] != days[:-1], True).data)


def list_of(column: Floats) -> list[float]:
    made: list[float] = column.tolist()
    return made


def _numbers(column: Floats, begin: int) -> Iterator[float]:
    """The rest of a column as Python numbers, made some thousands at a time.

    All at once they would need the memory of the whole column before the first bar. One by one they would come to lie
    between the numbers that orders and fills keep, and whoever goes through those would wait for memory at each.
    """
    return chain.from_iterable(list_of(column[k : k + _PIECE]) for k in range(begin, len(column), _PIECE))


class HigherTape(Tape):
    """A coarser view of another tape. A bar of it is let out when the first row of the next one has come:
    before that, nobody knew that it was over."""

    def __init__(self, base: Tape, timeframe: str, timezone: str) -> None:
        number = periods(base.time, timeframe, timezone)
        begins = np.flatnonzero(np.diff(number, prepend=number[0] - 1))
        ends = np.append(begins[1:], len(number))
        a = base.arrays
        super().__init__(
            Candles(
                base.time[begins],
                a["open"][begins],
                np.maximum.reduceat(a["high"], begins),
                np.minimum.reduceat(a["low"], begins),
                a["close"][ends - 1],
                np.add.reduceat(a["volume"], begins),
            )
        )
        self._shown_at: dict[int, int] = {int(row): i + 1 for i, row in enumerate(ends[:-1])}
        self._known_at: Ints = ends

    def advance(self, row: int) -> None:
        """Base row `row` has come."""
        visible = self._shown_at.get(row)
        if visible is not None:
            self.skip_to(visible)

    def known_before(self, row: int) -> int:
        """How many bars were over when base row `row - 1` had come."""
        return int(np.searchsorted(self._known_at, row - 1, side="right")) if row > 0 else 0
