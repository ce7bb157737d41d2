"""Run a strategy over bars: the loop, and what `init` needs to declare its indicators.

The loop is written for speed where it is hot: prices are Python lists, a bar that no order can feel costs two
comparisons, and nothing is made per bar. What a strategy can reach holds only the past; the columns are in this
module's frames and closures. A program that digs for them there is found by the look-ahead check.
"""

from __future__ import annotations

import gc
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import compress
from weakref import WeakKeyDictionary
from zoneinfo import ZoneInfo

import numpy as np

from ringfence.base.errors import DraftError, OrderError
from ringfence.trade.bars import PRICES, Bars, Floats, Ints
from ringfence.trade.book import Book, Market
from ringfence.trade.run import FillRules
from ringfence.trade.series import Data, Series
from ringfence.trade.simulated import as_fill, as_order
from ringfence.trade.strategy import Strategy
from ringfence.trade.tape import HigherTape, Tape
from ringfence.trade.times import DAY, local_days, timeframe_ns


@dataclass(frozen=True, slots=True, eq=False)
class Indicator:
    """What `self.I` computed, for the chart."""

    name: str
    market: int
    values: Floats
    time: Ints


class Columns:
    """The whole columns of an instrument, as indicator functions get them for `self.I(f, self.data)`."""

    def __init__(self, arrays: Mapping[str, Floats | Ints]) -> None:
        self.__dict__.update(arrays)


class Engine:
    """One run. `play` may be called once."""

    def __init__(self, bars: Bars, strategy: Strategy, parameters: Mapping[str, object], rules: FillRules) -> None:
        self.bars, self.strategy, self.rules = bars, strategy, rules
        self._stamps = bars.timeline()
        self.tapes = [Tape(candles) for candles in bars.candles.values()]
        self.markets = [Market(k, symbol, math.nan) for k, symbol in enumerate(bars.symbols)]
        self.book = Book(self.markets, rules)
        self.indicators: list[Indicator] = []
        self.start = len(self._stamps)  # the first bar on which `next` is called
        self._higher: list[tuple[int, HigherTape]] = []
        self._whole: WeakKeyDictionary[Series, tuple[Tape, Floats]] = WeakKeyDictionary()
        self._tape_of: dict[Data, Tape] = {}
        self._ready = 0  # the first bar on which every indicator has a value
        self._datas: dict[str, Data] = {}
        zone = ZoneInfo(bars.clock_zone)
        for symbol, tape in zip(bars.symbols, self.tapes):
            self._datas[symbol] = Data(symbol, self._grower(tape), self._moment, zone, self._datas)
            self._tape_of[self._datas[symbol]] = tape
        self._zone = zone
        self._equip(parameters)

    def _equip(self, parameters: Mapping[str, object]) -> None:
        strategy = self.strategy
        for name, value in parameters.items():
            check_parameter(strategy, name)
            setattr(strategy, name, value)
        strategy._book = self.book
        strategy.data = self._datas[self.bars.symbols[0]]
        strategy.position = self.markets[0].holding
        strategy.I = self._indicator
        strategy.timeframe = self._timeframe

    @property
    def timeline(self) -> Sequence[int]:
        """The stamps as Python has numbers, each made when it is looked at."""
        return self._stamps.data

    # What `init` calls.

    def _grower(self, tape: Tape) -> Callable[[str], Series]:
        def grow(column: str) -> Series:
            if len(self.tapes) == 1 and tape is self.tapes[0]:
                tape.visible = self.book.now + 1
            series = tape.grow(column, tape.arrays[column])
            self._whole[series] = (tape, tape.arrays[column])
            return series

        return grow

    def _moment(self) -> int:
        now = self.book.now
        return int(self._stamps[now]) if now >= 0 else self.bars.start

    def _indicator(
        self, func: Callable[..., object], *args: object, name: str | None = None, **options: object
    ) -> Series | tuple[Series, ...]:
        """Compute `func` once over the whole columns and hand it out bar by bar."""
        tape, given = self._arguments([*args, *options.values()])
        options = dict(zip(options, given[len(args) :]))
        label = name or indicator_label(func, args)
        parts = split_indicator(func(*given[: len(args)], **options), len(tape), label)
        series = [self._add(tape, label if len(parts) == 1 else f"{label}.{i}", p) for i, p in enumerate(parts)]
        return series[0] if len(series) == 1 else tuple(series)

    def _arguments(self, args: Sequence[object]) -> tuple[Tape, list[object]]:
        tape: Tape | None = None
        given: list[object] = []
        for arg in args:
            if isinstance(arg, Series):
                if arg not in self._whole:
                    raise OrderError("an indicator needs a series of this strategy: pass self.data.close or another")
                own, arg = self._whole[arg]
                tape = tape or own
            elif isinstance(arg, Data):
                own = self._tape_of[arg]
                days = local_days(own.time, self.bars.clock_zone)
                tape, arg = tape or own, Columns({**own.arrays, "time": own.time, "day": days})
            given.append(arg)
        return tape or self.tapes[0], given

    def _add(self, tape: Tape, label: str, array: Floats) -> Series:
        series = tape.grow(label, array.copy())  # its function may have kept it, and change it on a later bar
        self._whole[series] = (tape, array)
        valid = ~np.isnan(array)
        first = int(valid.argmax()) if valid.any() else len(tape)
        self._ready = max(self._ready, self._on_timeline(tape, first))
        market = next((k for k, t in enumerate(self.tapes) if t is tape), self._base_of(tape))
        self.indicators.append(Indicator(label, market, array, tape.time))
        return series

    def _base_of(self, tape: Tape) -> int:
        return next((k for k, higher in self._higher if higher is tape), 0)

    def _on_timeline(self, tape: Tape, row: int) -> int:
        """The bar of the timeline at which this row is known."""
        if isinstance(tape, HigherTape):
            base = self.tapes[self._base_of(tape)]
            row = next((at for at, visible in tape._shown_at.items() if visible > row), len(base))
            tape = base
        return int(np.searchsorted(self._stamps, tape.time[row])) if row < len(tape) else len(self._stamps)

    def _timeframe(self, timeframe: str, symbol: str | None = None) -> Data:
        """The same instrument in coarser bars, each seen only when it is over. To be called in `init`."""
        symbol = symbol or self.bars.symbols[0]
        index = self.bars.symbols.index(symbol)
        if timeframe_ns(timeframe) <= timeframe_ns(self.bars.timeframe):
            raise OrderError(f"timeframe {timeframe} is not coarser than the bars' own {self.bars.timeframe}")
        tape = HigherTape(self.tapes[index], timeframe, self.bars.clock_zone)
        tape.visible = tape.known_before(self.tapes[index].visible)
        self._higher.append((index, tape))
        data = Data(symbol, self._grower(tape), self._moment, self._zone, self._datas)
        self._tape_of[data] = tape
        return data

    # The run.

    def play(self, *, to_the_end: bool = True) -> None:
        """From `init` to `on_end`, which is left out where the end is none.

        What the strategy raises goes through; `book.now` says on which bar.
        """
        opening = 0
        if self.bars.tradable_from is not None:
            opening = int(np.searchsorted(self._stamps, self.bars.tradable_from))
        self._skip_to(opening)
        self.book.accepting = False
        self.strategy.init()
        self.book.accepting = True
        for data in self._datas.values():
            data.forget()
        for tape in (*self.tapes, *(tape for _, tape in self._higher)):
            tape.settle()
        # Two values of every indicator, so that a cross can be seen on the first bar.
        self.start = min(max(self._ready + 1, opening), len(self._stamps))
        self._skip_to(self.start)
        self.strategy.on_start()
        if len(self.tapes) == 1:
            self._play_one(self._notifier())
        else:
            self._play_many(self._notifier())
        if to_the_end:
            self.strategy.on_end()
        if self.rules.close_at_end:
            self.book.close_out()

    def _skip_to(self, bar: int) -> None:
        self.book.now = bar - 1
        for market, tape in zip(self.markets, self.tapes):
            rows = (
                bar if len(self.tapes) == 1 else int(np.searchsorted(tape.time, self.timeline[bar - 1], side="right"))
            )
            tape.skip_to(rows if bar else 0)
            market.shown = tape.arrays["close"].item(tape.visible - 1) if tape.visible else math.nan
        for index, higher in self._higher:
            higher.skip_to(higher.known_before(self.tapes[index].visible))

    def _play_one(self, notify: Callable[[], None] | None) -> None:
        book, market, tape = self.book, self.markets[0], self.tapes[0]
        opens, highs, lows, closes = (tape.arrays[name].data for name in PRICES)
        intraday = timeframe_ns(self.bars.timeframe) < DAY
        over = tape.day_over(self.bars.clock_zone) if intraday else [True] * len(tape)
        later, active = [tape for _, tape in self._higher], (market,)
        next_bar = self.strategy.next
        begin, wake, i = self.start, 0, self.start - 1
        market.quote = quote = lambda: closes[i]  # of the loop's own bar: `book.now` is within the strategy's reach
        while begin < len(tape):  # once, or again for every column that is first looked at on a later bar
            for i in compress(range(begin, len(tape)), tape.rows(begin)):
                book.now = i
                if i >= wake or market.stirred:
                    low, high = lows[i], highs[i]
                    if low <= market.floor or high >= market.ceiling:
                        market.quote = None
                        market.show((opens[i], high, low, closes[i]), day_over=over[i])
                        book.step(i, active)
                        market.quote = quote
                        if notify is not None:
                            notify()
                    # Kept in this frame: on the market, it would tell the strategy of a bar that is to come.
                    wake, market.stirred = tape.next_touch(i + 1, market.floor, market.ceiling), False
                if later:
                    for higher in later:
                        higher.advance(i)
                next_bar()
                if tape.late:
                    break
            begin = book.now + 1

    def _play_many(self, notify: Callable[[], None] | None) -> None:
        book, timeline = self.book, self.timeline
        rows = [_rows(tape, self._stamps) for tape in self.tapes]
        over = [tape.day_over(self.bars.clock_zone) for tape in self.tapes]
        next_bar = self.strategy.next
        for now in range(self.start, len(timeline)):
            book.now = now
            active: list[Market] = []
            felt = False
            for k, tape in enumerate(self.tapes):
                row = rows[k][now]
                if row < 0:  # no bar of this one: what is wanted of it waits
                    continue
                market = self.markets[k]
                felt = felt or tape.low[row] <= market.floor or tape.high[row] >= market.ceiling
                market.show((tape.open[row], tape.high[row], tape.low[row], tape.close[row]), day_over=over[k][row])
                active.append(market)
                tape.let_out(row)
            for index, higher in self._higher:
                if rows[index][now] >= 0:
                    higher.advance(rows[index][now])
            if felt:
                book.step(now, active)
                if notify is not None:
                    notify()
            else:
                for market in active:
                    market.shown = market.close
            next_bar()

    def _notifier(self) -> Callable[[], None] | None:
        """What tells the strategy of fills and rejections, if it listens."""
        kind, book, strategy = type(self.strategy), self.book, self.strategy
        if kind.on_fill is Strategy.on_fill and kind.on_reject is Strategy.on_reject:
            return None
        told_fills = told_rejections = 0

        def notify() -> None:
            nonlocal told_fills, told_rejections
            for fill in book.fills[told_fills:]:
                strategy.on_fill(as_fill(book, fill, self._moment()))
            told_fills = len(book.fills)
            for order in book.rejections[told_rejections:]:
                strategy.on_reject(as_order(order, self.timeline[order.intent.now]))
            told_rejections = len(book.rejections)

        return notify


def check_parameter(strategy: Strategy, name: str) -> None:
    if not hasattr(type(strategy), name):
        raise DraftError(f"the strategy has no parameter {name!r}: see `ringfence check` for those it has")


def collect_rarely() -> None:
    """For a process that plays one strategy and ends: every trade leaves objects that stay, and each collection of
    garbage would look at all of them, and at all prices."""
    gc.set_threshold(100_000, 50, 50)


def _rows(tape: Tape, timeline: Ints) -> list[int]:
    """For each moment of the timeline the row of this instrument, or -1."""
    rows = np.full(len(timeline), -1, dtype=np.int64)
    rows[np.searchsorted(timeline, tape.time)] = np.arange(len(tape))
    made: list[int] = rows.tolist()
    return made


def split_indicator(made: object, bars: int, label: str) -> tuple[Floats, ...]:
    """What an indicator function returned, as one read-only array of `bars` values for each of its lines."""
    if getattr(made, "ndim", 1) == 2:
        table = np.asarray(made, dtype=np.float64)
        made = tuple(table if table.shape[1] == bars else table.T)
    arrays = []
    for part in made if isinstance(made, (tuple, list)) else (made,):
        array = np.asarray(part, dtype=np.float64)
        if array.shape != (bars,):
            raise OrderError(
                f"indicator {label} gave {array.shape} values for {bars} bars: return one value per bar, "
                "with NaN where there is none yet"
            )
        array = array.view()
        array.flags.writeable = False
        arrays.append(array)
    return tuple(arrays)


def indicator_label(func: Callable[..., object], args: Sequence[object]) -> str:
    name = getattr(func, "__name__", type(func).__name__)
    words = [f"{arg:g}" for arg in args if isinstance(arg, (int, float))]
    return f"{'indicator' if name == '<lambda>' else name}({', '.join(words)})" if words else name
