"""Market data as a value: immutable, checked, and known by the hash of its content."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from ringfence.base.errors import DataError
from ringfence.trade.times import DAY, iso, timeframe_ns

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_CHEAPEST, _DEAREST = 1e-12, 1e15  # beyond these no arithmetic with money holds
PRICES = ("open", "high", "low", "close")
COLUMNS = (*PRICES, "volume")


@dataclass(frozen=True, slots=True, eq=False)
class Candles:
    """One instrument's bars as equally long read-only columns; `time` is when a bar begins, in nanoseconds UTC."""

    time: Ints
    open: Floats
    high: Floats
    low: Floats
    close: Floats
    volume: Floats

    def __post_init__(self) -> None:
        lengths = set()
        for name in ("time", *COLUMNS):
            column = np.ascontiguousarray(getattr(self, name), dtype=np.int64 if name == "time" else np.float64)
            if column.flags.writeable:
                column = column.copy() if column is getattr(self, name) else column
                column.flags.writeable = False
            object.__setattr__(self, name, column)
            lengths.add(column.shape)
        if len(lengths) != 1 or len(next(iter(lengths))) != 1:
            raise DataError(f"columns of different lengths {sorted(lengths)}: give one row per bar")

    def __len__(self) -> int:
        return len(self.time)

    def slice(self, start: int, stop: int) -> Candles:
        return Candles(*(getattr(self, name)[start:stop] for name in ("time", *COLUMNS)))


@dataclass(frozen=True, slots=True)
class Problem:
    """What is wrong with one row; `row` counts from 0 within the instrument."""

    row: int
    what: str


def find_problems(candles: Candles, *, most: int = 20) -> list[Problem]:
    """The first rows that no market could have printed, in order."""
    found: list[Problem] = []
    prices = np.stack([getattr(candles, name) for name in PRICES]) if len(candles) else np.empty((4, 0))
    finite = np.isfinite(prices).all(axis=0)
    with np.errstate(invalid="ignore"):
        checks = [
            (~finite, "a price is missing or not finite"),
            (finite & (prices <= 0).any(axis=0), "a price is zero or negative"),
            (finite & ((prices > _DEAREST) | (prices < _CHEAPEST) & (prices > 0)).any(axis=0), "a price is absurd"),
            (candles.high < candles.low, "high is below low"),
            (
                (candles.high >= candles.low)
                & (
                    (candles.high < np.maximum(candles.open, candles.close))
                    | (candles.low > np.minimum(candles.open, candles.close))
                ),
                "open or close lies outside low and high",
            ),
            (~np.isfinite(candles.volume) | (candles.volume < 0), "the volume is negative or not finite"),
        ]
    step = np.diff(candles.time, prepend=candles.time[:1] - 1)
    checks.append((step == 0, "the time stamp is there twice"))
    checks.append((step < 0, "the time stamp is earlier than the one before"))
    for mask, what in checks:
        found += [Problem(int(row), what) for row in np.flatnonzero(mask)[:most]]
    return sorted(found, key=lambda p: p.row)[:most]


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Bars:
    """One or more instruments over one stretch of time. Making one refuses impossible rows.

    `tradable_from` is the time from which orders may be placed: what lies before is history for indicators.
    """

    candles: Mapping[str, Candles]
    timeframe: str  # 1m, 15m, 1h, 1d, 1w, 1mo: see times.py
    source: str  # how to ask for it again: sample:GOOG
    calendar: str = "24/7"  # an exchange-calendars name such as XNYS, or 24/7
    timezone: str = "UTC"  # of the exchange: stamps are shown in it and days begin in it
    adjusted: str = "unknown"  # none | splits | splits and dividends | unknown
    synthetic: bool = False
    notes: tuple[str, ...] = ()  # repairs and adjustments, one sentence each
    tradable_from: int | None = None
    sha256: str = field(init=False)

    def __post_init__(self) -> None:
        if not self.candles:
            raise DataError("bars need at least one instrument: name a symbol")
        for symbol, candles in self.candles.items():
            if not len(candles):
                raise DataError(f"{symbol} has no rows: widen the dates or choose another symbol")
            problems = find_problems(candles, most=3)
            if problems:
                first = problems[0]
                raise DataError(
                    f"{symbol} row {first.row + 1} ({iso(int(candles.time[first.row]))}): {first.what}; "
                    "correct the data, or let --repair mend and list it"
                )
        object.__setattr__(self, "candles", MappingProxyType(dict(self.candles)))
        object.__setattr__(self, "sha256", self._hash())

    def _hash(self) -> str:
        """Over what a strategy can see, and not over where it came from."""
        digest = hashlib.sha256()
        head = [list(self.candles), self.timeframe, self.calendar, self.timezone, self.synthetic, self.tradable_from]
        digest.update(json.dumps(head).encode())
        for candles in self.candles.values():
            digest.update(len(candles).to_bytes(8, "big"))
            for name in ("time", *COLUMNS):
                digest.update(memoryview(getattr(candles, name)).cast("B"))
        return digest.hexdigest()

    @property
    def symbols(self) -> tuple[str, ...]:
        return tuple(self.candles)

    @property
    def clock_zone(self) -> str:
        """The zone that days and weeks begin in. A bar of a day or more is stamped with its date, and has no hour."""
        return self.timezone if timeframe_ns(self.timeframe) < DAY else "UTC"

    @property
    def rows(self) -> int:
        return sum(len(candles) for candles in self.candles.values())

    @property
    def start(self) -> int:
        return min(int(candles.time[0]) for candles in self.candles.values())

    @property
    def end(self) -> int:
        return max(int(candles.time[-1]) for candles in self.candles.values())

    def timeline(self) -> Ints:
        """Every moment at which at least one instrument has a bar."""
        columns = [candles.time for candles in self.candles.values()]
        return columns[0] if len(columns) == 1 else np.unique(np.concatenate(columns))

    def until(self, moment: int) -> Bars:
        """What was known when the bar that begins at `moment` had closed."""
        kept = {s: c.slice(0, int(np.searchsorted(c.time, moment, side="right"))) for s, c in self.candles.items()}
        return replace(self, candles={s: c for s, c in kept.items() if len(c)})

    def __iter__(self) -> Iterator[tuple[str, Candles]]:
        return iter(self.candles.items())
