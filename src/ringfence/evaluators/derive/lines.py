"""The lines of a description as arrays over the timeline: what each was worth at the close of every moment."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from types import SimpleNamespace

import numpy as np

from ringfence.trade import indicators
from ringfence.trade.bars import COLUMNS, Bars, Candles, Floats, Ints
from ringfence.trade.description.catalogue import KINDS, PRICES
from ringfence.trade.description.model import Line
from ringfence.trade.times import local_days, periods

_YEAR = 252


@dataclass(slots=True)
class Grid:
    """Bars on one timeline. A line of an instrument that misses a moment keeps its last value there."""

    bars: Bars
    timeline: Ints = field(init=False)
    _made: dict[tuple[Line, str], tuple[Floats, ...]] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        self.timeline = self.bars.timeline()

    def __len__(self) -> int:
        return len(self.timeline)

    def known(self, symbol: str) -> Ints:
        """For each moment how many bars of the instrument have come."""
        return np.searchsorted(self.bars.candles[symbol].time, self.timeline, side="right")

    def own(self, symbol: str, column: str) -> Floats:
        """A price of each moment, NaN where the instrument has no bar."""
        candles = self.bars.candles[symbol]
        made = np.full(len(self), np.nan)
        made[np.searchsorted(self.timeline, candles.time)] = getattr(candles, column)
        return made

    def value(self, line: Line, symbol: str, back: int = 0, *, change: int = 0) -> Floats:
        """The line of `symbol`, unless it names another, `back` bars before each moment; with `change`, how many
        percent it is up on its value of so many bars before."""
        symbol = line.symbol or symbol
        kind = KINDS[line.name]
        part = kind.parts.index(line.part) if line.part else 0
        values = self._computed(line, symbol)[part]
        if change:
            values = _changed(values, change)
        return _at(values, self._visible(line, symbol) - 1 - line.ago - back)

    def ready(self, line: Line, symbol: str) -> int:
        """The first moment at which every part of the line has a value; past the end where none ever has."""
        symbol = line.symbol or symbol
        seen = [_at(part, self._visible(line, symbol) - 1) for part in self._computed(line, symbol)]
        return max(first_valid(values) for values in seen)

    def _visible(self, line: Line, symbol: str) -> Ints:
        """For each moment how many of the line's own bars are over: a coarser one when the next has begun."""
        known = self.known(symbol)
        if not line.timeframe:
            return known
        number = self._groups(line.timeframe, symbol)
        visible = np.zeros(len(known), dtype=np.int64)
        visible[known > 0] = number[known[known > 0] - 1]
        return visible

    def _groups(self, timeframe: str, symbol: str) -> Ints:
        """For each bar of the instrument the number of the coarser bar that it is part of."""
        number = periods(self.bars.candles[symbol].time, timeframe, self.bars.clock_zone)
        return np.cumsum(np.diff(number, prepend=number[:1]) != 0)

    def _coarser(self, timeframe: str, symbol: str) -> Candles:
        candles, number = self.bars.candles[symbol], self._groups(timeframe, symbol)
        begins = np.flatnonzero(np.diff(number, prepend=-1))
        last = np.append(begins[1:], len(number)) - 1
        return Candles(
            candles.time[begins],
            candles.open[begins],
            np.maximum.reduceat(candles.high, begins),
            np.minimum.reduceat(candles.low, begins),
            candles.close[last],
            np.add.reduceat(candles.volume, begins),
        )

    def _computed(self, line: Line, symbol: str) -> tuple[Floats, ...]:
        key = (replace(line, part="", ago=0, symbol=""), symbol)
        if key not in self._made:
            candles = self._coarser(line.timeframe, symbol) if line.timeframe else self.bars.candles[symbol]
            self._made[key] = compute(line, candles, local_days(candles.time, self.bars.clock_zone))
        return self._made[key]


def compute(line: Line, candles: Candles, days: Ints) -> tuple[Floats, ...]:
    """All parts of a line, in the catalogue's order."""
    kind, values = KINDS[line.name], line.values
    if line.name in PRICES:
        return (getattr(candles, line.name),)
    if line.of is not None:
        within = compute(line.of, candles, days)[KINDS[line.of.name].parts.index(line.of.part) if line.of.part else 0]
        return (getattr(indicators, line.name)(within, *values),)
    if line.name == "band_width":
        upper, middle, lower = indicators.bollinger(candles.close, *values)
        return ((upper - lower) / middle * 100,)
    if line.name == "percent_b":
        upper, _, lower = indicators.bollinger(candles.close, *values)
        with np.errstate(divide="ignore", invalid="ignore"):
            return ((candles.close - lower) / (upper - lower),)
    if line.name == "volatility":
        return (volatility(candles.close, int(values[0])),)
    if line.name == "cloud":
        _, _, a, b = indicators.ichimoku(candles.high, candles.low, *values)
        return np.maximum(a, b), np.minimum(a, b)
    function = getattr(indicators, line.name)
    source = line.source or (kind.columns[0] if len(kind.columns) == 1 else "")
    if source:
        made = function(getattr(candles, source), *values)
    else:
        columns = {name: getattr(candles, name) for name in COLUMNS}
        made = function(SimpleNamespace(**columns, time=candles.time, day=days), *values)
    return tuple(made) if isinstance(made, tuple) else (made,)


def volatility(close: Floats, period: int, bars_per_year: int = _YEAR) -> Floats:
    """The standard deviation of the last returns, in percent a year."""
    made = np.full(len(close), np.nan)
    if len(close) > period > 1:
        returns = close[1:] / close[:-1] - 1
        windows = np.lib.stride_tricks.sliding_window_view(returns, period)
        made[period:] = windows.std(axis=1, ddof=1) * bars_per_year**0.5 * 100
    return made


def first_valid(values: Floats) -> int:
    valid = ~np.isnan(values)
    return int(valid.argmax()) if valid.any() else len(values)


def _changed(values: Floats, bars: int) -> Floats:
    made = np.full(len(values), np.nan)
    if len(values) > bars:
        with np.errstate(divide="ignore", invalid="ignore"):
            made[bars:] = (values[bars:] / values[:-bars] - 1) * 100
    return made


def _at(values: Floats, rows: Ints) -> Floats:
    made = np.full(len(rows), np.nan)
    there = rows >= 0
    made[there] = values[rows[there]]
    return made
