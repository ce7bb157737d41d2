"""The engine for bars that come one at a time: streamed backtests, paper and live trading.

Here the future is not hidden but absent: an indicator is computed anew on every bar, from what has come so far. That
costs more than computing it once, and gives the same decisions for every strategy that does not look ahead.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from zoneinfo import ZoneInfo

import numpy as np

from ringfence.base.errors import OrderError
from ringfence.trade.bars import COLUMNS, Floats
from ringfence.trade.book import Book, Market
from ringfence.trade.engine import Columns, indicator_label, split_indicator
from ringfence.trade.run import FillRules
from ringfence.trade.series import Data, Series
from ringfence.trade.strategy import Strategy
from ringfence.trade.times import DAY, local_days, periods, timeframe_ns

Row = tuple[float, float, float, float, float]  # open, high, low, close, volume


class Column:
    """Numbers that have come so far, as an array without copying them each time."""

    def __init__(self) -> None:
        self._room = np.empty(1024)
        self.count = 0
        self.seen: list[float] = []

    def add(self, value: float) -> None:
        if self.count == len(self._room):
            self._room = np.concatenate([self._room, np.empty(self.count)])
        self._room[self.count] = value
        self.count += 1
        self.seen.append(value)

    def array(self) -> Floats:
        view = self._room[: self.count]
        view.flags.writeable = False
        return view


@dataclass(slots=True, eq=False)
class _Formula:
    """An indicator: how to compute it, and the series that it adds to."""

    compute: Callable[[], tuple[Floats, ...]]
    series: tuple[Series, ...]
    tape: _Inflow
    first_valid: list[int | None]


class _Inflow:
    """The columns of one instrument in one timeframe, and the indicators on them."""

    def __init__(self) -> None:
        self.columns = {name: Column() for name in COLUMNS}
        self.times: list[int] = []
        self.count = 0

    def add(self, moment: int, row: Sequence[float]) -> None:
        for column, value in zip(self.columns.values(), row):
            column.add(value)
        self.times.append(moment)
        self.count += 1

    def whole(self, timezone: str) -> Columns:
        time = np.array(self.times, dtype=np.int64)
        arrays = {name: column.array() for name, column in self.columns.items()}
        return Columns({**arrays, "time": time, "day": local_days(time, timezone)})


class _Coarser:
    """A coarser view of an inflow; a bar goes in when the first of the next one has come."""

    def __init__(self, timeframe: str, timezone: str) -> None:
        self.inflow = _Inflow()
        self._timeframe, self._timezone = timeframe, timezone
        self._number: int | None = None
        self._began = 0
        self._open: list[float] = []

    def add(self, moment: int, row: Row) -> bool:
        """Whether a bar of it is over."""
        number = int(periods(np.array([moment], dtype=np.int64), self._timeframe, self._timezone)[0])
        over = self._number is not None and number != self._number
        if over:
            self.inflow.add(self._began, self._open)
        if over or self._number is None:
            self._began, self._open = moment, list(row)
        else:
            bar = self._open
            bar[1], bar[2], bar[3], bar[4] = max(bar[1], row[1]), min(bar[2], row[2]), row[3], bar[4] + row[4]
        self._number = number
        return over


class FeedEngine:
    """`begin` once with what is known beforehand, `show` for every moment, `end` at the end."""

    def __init__(
        self,
        strategy: Strategy,
        parameters: Mapping[str, object],
        rules: FillRules,
        *,
        symbols: Sequence[str],
        timeframe: str,
        timezone: str,
    ) -> None:
        self.strategy, self.timeframe, self.timezone = strategy, timeframe, timezone
        self.symbols = list(symbols)
        self.markets = [Market(k, symbol, math.nan) for k, symbol in enumerate(symbols)]
        self.book = Book(self.markets, rules)
        self.inflows = [_Inflow() for _ in symbols]
        self._coarser: list[tuple[int, _Coarser]] = []
        self._formulas: list[_Formula] = []
        self._whole: dict[Series, tuple[_Inflow, Callable[[], Floats]]] = {}
        self._past: list[list[tuple[int, Row]]] = [[] for _ in symbols]  # until `init`, which may ask for coarser bars
        self._moment = 0
        self._begun = False
        self._ready: int | None = None
        self.start = -1
        self._told = [0, 0]
        zone = ZoneInfo(timezone)
        datas: dict[str, Data] = {}
        for symbol, inflow in zip(symbols, self.inflows):
            datas[symbol] = Data(symbol, self._grower(inflow), lambda: self._moment, zone, datas)
        self._datas, self._zone = datas, zone
        self._inflow_by_data = {datas[symbol]: inflow for symbol, inflow in zip(symbols, self.inflows)}
        for name, value in parameters.items():
            setattr(strategy, name, value)
        strategy._book = self.book
        strategy.data = datas[self.symbols[0]]
        strategy.position = self.markets[0].holding
        strategy.I = self._indicator
        strategy.timeframe = self._view

    def _grower(self, inflow: _Inflow) -> Callable[[str], Series]:
        def grow(name: str) -> Series:
            column = inflow.columns[name]
            series = Series(name, column.seen)
            self._whole[series] = (inflow, column.array)
            return series

        return grow

    def _view(self, timeframe: str, symbol: str | None = None) -> Data:
        symbol = symbol or self.symbols[0]
        if timeframe_ns(timeframe) <= timeframe_ns(self.timeframe):
            raise OrderError(f"timeframe {timeframe} is not coarser than the bars' own {self.timeframe}")
        index = self.symbols.index(symbol)
        coarser = _Coarser(timeframe, self.timezone)
        for moment, row in self._past[index]:
            coarser.add(moment, row)
        self._coarser.append((index, coarser))
        data = Data(symbol, self._grower(coarser.inflow), lambda: self._moment, self._zone, self._datas)
        self._inflow_by_data[data] = coarser.inflow
        return data

    def _indicator(
        self, func: Callable[..., object], *args: object, name: str | None = None, **options: object
    ) -> Series | tuple[Series, ...]:
        inflow = self._inflow_of([*args, *options.values()])
        label = name or indicator_label(func, args)

        def compute() -> tuple[Floats, ...]:
            made = func(*map(self._value, args), **{key: self._value(arg) for key, arg in options.items()})
            return split_indicator(made, inflow.count, label)

        parts = compute() if inflow.count else ()
        count = len(parts) or _parts_of(func, args, options)
        series = tuple(Series(label, parts[i].tolist() if parts else []) for i in range(count))
        formula = _Formula(compute, series, inflow, [None] * count)
        for i, one in enumerate(series):
            self._whole[one] = (inflow, lambda one=one: np.array(one._seen))  # type: ignore[misc]
            self._note_valid(formula, i)
        self._formulas.append(formula)
        return series[0] if count == 1 else series

    def _inflow_of(self, args: Sequence[object]) -> _Inflow:
        for arg in args:
            if isinstance(arg, Series):
                if arg not in self._whole:
                    raise OrderError("an indicator needs a series of this strategy: pass self.data.close or another")
                return self._whole[arg][0]
            if isinstance(arg, Data):
                return self._inflow_by_data[arg]
        return self.inflows[0]

    def _value(self, arg: object) -> object:
        if isinstance(arg, Series):
            return self._whole[arg][1]()
        if isinstance(arg, Data):
            return self._inflow_by_data[arg].whole(self.timezone)
        return arg

    def _note_valid(self, formula: _Formula, i: int) -> None:
        seen = formula.series[i]._seen
        if formula.first_valid[i] is None and seen and any(value == value for value in seen[-1:]):
            formula.first_valid[i] = max(self.book.now, 0)

    # What comes.

    def warm_up(self, now: int, moment: int, rows: Mapping[int, Row]) -> None:
        """A bar before the first on which the strategy may trade."""
        self.book.now, self._moment = now, moment
        for k, row in rows.items():
            self.inflows[k].add(moment, row)
            self._past[k].append((moment, row))
            self.markets[k].shown = row[3]

    def begin(self) -> None:
        self.book.accepting = False
        self.strategy.init()
        self.book.accepting = True
        self._begun = True
        self._past = []

    def show(self, now: int, moment: int, rows: Mapping[int, Row], day_over: Mapping[int, bool]) -> None:
        """The next moment: orders meet its bars, then the strategy decides."""
        book = self.book
        book.now, self._moment = now, moment
        active = []
        for k, row in rows.items():
            self.markets[k].show(row[:4], day_over=day_over[k])
            active.append(self.markets[k])
            self.inflows[k].add(moment, row)
        grown = {id(self.inflows[k]) for k in rows}
        for index, coarser in self._coarser:
            if index in rows and coarser.add(moment, rows[index]):
                grown.add(id(coarser.inflow))
        self._recompute(grown)
        book.step(now, active)
        self._notify()
        if self._is_ready():
            if self.start < 0:
                self.start = now
                self.strategy.on_start()
            self.strategy.next()

    def _recompute(self, grown: set[int]) -> None:
        for formula in self._formulas:
            if id(formula.tape) not in grown:
                continue
            for i, part in enumerate(formula.compute()):
                formula.series[i]._seen.append(float(part[-1]))
                self._note_valid(formula, i)

    def _is_ready(self) -> bool:
        """Two values of every indicator, as in the engine that has all bars."""
        if self._ready is None and all(v is not None for f in self._formulas for v in f.first_valid):
            self._ready = max((v for f in self._formulas for v in f.first_valid if v is not None), default=0)
        return self._ready is not None and self.book.now >= self._ready + 1

    def _notify(self) -> None:
        from ringfence.trade.simulated import as_fill, as_order

        book = self.book
        for fill in book.fills[self._told[0] :]:
            self.strategy.on_fill(as_fill(book, fill, self._moment))
        for order in book.rejections[self._told[1] :]:
            self.strategy.on_reject(as_order(order, self._moment))
        self._told = [len(book.fills), len(book.rejections)]

    def end(self) -> None:
        self.strategy.on_end()
        if self.book.rules.close_at_end:
            self.book.close_out()


def _parts_of(func: Callable[..., object], args: Sequence[object], options: Mapping[str, object]) -> int:
    """How many lines an indicator has, when no bar has come yet: asked of bars that mean nothing."""
    trial = np.linspace(1.0, 2.0, 512)
    days = np.arange(len(trial), dtype=np.int64)
    table = Columns({**dict.fromkeys(COLUMNS, trial), "time": days * DAY, "day": days})

    def stand_in(arg: object) -> object:
        return trial if isinstance(arg, Series) else table if isinstance(arg, Data) else arg

    made = func(*map(stand_in, args), **{key: stand_in(arg) for key, arg in options.items()})
    return len(split_indicator(made, len(trial), "indicator"))
