"""What a strategy sees of the past. A series holds what is known at this bar and nothing else; it grows with time."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterator
from datetime import datetime, tzinfo
from functools import cached_property
from typing import overload

import numpy as np

from ringfence.trade.bars import COLUMNS, Floats

_MEANT = {"values": "np.asarray(series)", "iloc": "series[-1]", "shift": "series[-2]", "rolling": "series[-20:]"}

# Neither class here has a __getattr__ for friendlier errors: it would make every attribute several times slower.
# `explain` says afterwards what was probably meant.


class Series:
    """A column up to now: `[-1]` is this bar, `[-2]` the one before, `[-20:]` an array of the last twenty.

    Compared with a number or another series, its latest value counts.
    """

    __slots__ = ("__weakref__", "_seen", "name")

    def __init__(self, name: str, seen: list[float]) -> None:
        self.name = name
        self._seen = seen

    @overload
    def __getitem__(self, i: int) -> float: ...
    @overload
    def __getitem__(self, i: slice) -> Floats: ...
    def __getitem__(self, i: int | slice) -> float | Floats:
        # A Python list, because reading a number out of one is several times faster than out of an array.
        value = self._seen[i]
        try:
            return +value  # type: ignore[operator]  # a number stays as it is; to ask which it is takes longer
        except TypeError:
            return np.array(value)

    def __len__(self) -> int:
        return len(self._seen)

    def __iter__(self) -> Iterator[float]:
        return iter(self._seen)

    def __array__(self, dtype: type | None = None, copy: bool | None = None) -> Floats:
        return np.array(self._seen, dtype=dtype or np.float64)

    def __float__(self) -> float:
        return self._seen[-1]

    def __lt__(self, other: float | Series) -> bool:
        return self._seen[-1] < float(other)

    def __le__(self, other: float | Series) -> bool:
        return self._seen[-1] <= float(other)

    def __gt__(self, other: float | Series) -> bool:
        return self._seen[-1] > float(other)

    def __ge__(self, other: float | Series) -> bool:
        return self._seen[-1] >= float(other)

    def __repr__(self) -> str:
        return f"<{self.name}: {len(self._seen)} bars, last {self._seen[-1] if self._seen else None}>"


class Data:
    """The bars of one instrument up to now: `data.close[-1]`, `data["MSFT"].close[-1]`, `data.now`."""

    def __init__(
        self,
        symbol: str,
        grow: Callable[[str], Series],
        moment: Callable[[], int],
        zone: tzinfo,
        others: dict[str, Data],
    ) -> None:
        # What reaches the whole columns is in these functions' closures and in no attribute.
        self.symbol, self._grow, self._moment, self._zone, self._others = symbol, grow, moment, zone, others

    @cached_property
    def open(self) -> Series:
        return self._grow("open")

    @cached_property
    def high(self) -> Series:
        return self._grow("high")

    @cached_property
    def low(self) -> Series:
        return self._grow("low")

    @cached_property
    def close(self) -> Series:
        return self._grow("close")

    @cached_property
    def volume(self) -> Series:
        return self._grow("volume")

    def __getitem__(self, symbol: str) -> Data:
        try:
            return self._others[symbol]
        except (KeyError, TypeError):
            raise KeyError(f"there is no instrument {symbol!r}: there are {', '.join(self._others)}") from None

    def __contains__(self, symbol: str) -> bool:
        return symbol in self._others

    @property
    def symbols(self) -> tuple[str, ...]:
        return tuple(self._others)

    @property
    def now(self) -> datetime:
        """When this bar began, by the exchange's clock."""
        return datetime.fromtimestamp(self._moment() / 1e9, self._zone)

    def __len__(self) -> int:
        return len(self.close)

    def forget(self) -> None:
        """Let go of the columns: those that nobody else holds need not grow."""
        for name in COLUMNS:
            self.__dict__.pop(name, None)


def explain(missing: AttributeError) -> str | None:
    """What was probably meant by an attribute that a series or the data do not have."""
    name = missing.name or ""
    if isinstance(missing.obj, Series):
        if name in _MEANT:
            return f"write {_MEANT[name]}"
        return f"take a slice first, such as series[-20:].{name}" if hasattr(np.ndarray, name) else None
    near = difflib.get_close_matches(name, [n for n in dir(missing.obj) if not n.startswith("_")], 1)
    return f"did you mean {near[0]!r}?" if near else None
