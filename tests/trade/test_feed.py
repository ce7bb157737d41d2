"""Bars that come one at a time lead to the decisions that the whole history leads to."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from ringfence.trade.bars import Bars, Floats
from ringfence.trade.book import Book
from ringfence.trade.engine import Engine
from ringfence.trade.feed import FeedEngine
from ringfence.trade.indicators import atr, bollinger, crossover, macd, rsi, session_vwap, sma
from ringfence.trade.orders import Fill
from ringfence.trade.run import FillRules
from ringfence.trade.strategy import Strategy

from tests.trade.prices import MONDAY, make_bars, make_candles


class Cross(Strategy):
    def init(self) -> None:
        self.fast = self.I(sma, self.data.close, 5)
        self.slow = self.I(sma, self.data.close, 12)

    def next(self) -> None:
        if crossover(self.fast, self.slow):
            self.buy(sl=0.03, tp=0.05)
        elif crossover(self.slow, self.fast):
            self.position.close()


class Bands(Strategy):
    """Several lines of one indicator, an indicator of an indicator, a stop that moves, and orders with prices."""

    def init(self) -> None:
        self.upper, self.middle, self.lower = self.I(bollinger, self.data.close, 10)
        self.calm = self.I(sma, self.middle, 3)
        self.macd = self.I(macd, self.data.close)

    def next(self) -> None:
        if not self.position and not self.orders:
            self.buy(limit=self.lower[-1], tif="day", trail=0.04)
        for lot in self.position:
            lot.sl = max(lot.sl or 0.0, min(self.calm[-1], self.data.close[-1]) * 0.97)


class Weekly(Strategy):
    def init(self) -> None:
        self.weeks = self.timeframe("1w")
        self.rsi = self.I(rsi, self.weeks.close, 3)
        self.seen: list[int] = []

    def next(self) -> None:
        self.seen.append(len(self.weeks.close))
        if self.rsi[-1] < 45 and not self.position:
            self.buy(size=0.5)
        elif self.rsi[-1] > 55:
            self.position.close(0.5)


class Ranges(Strategy):
    """Indicators of whole instruments, of coarser bars, and by keyword."""

    def init(self) -> None:
        self.weeks = self.timeframe("1w")
        self.week_range = self.I(atr, self.weeks, 3)
        self.day_range = self.I(atr, self.data, 3)
        self.middle = self.I(sma, self.data.close, period=5)
        self.paid = self.I(session_vwap, self.data)

    def next(self) -> None:
        if not self.position and self.week_range[-1] > 2 * self.day_range[-1]:
            self.buy(sl_price=min(self.middle[-1], self.paid[-1], self.data.low[-1]) * 0.9)
        elif self.position and self.week_range[-1] < 1.8 * self.day_range[-1]:
            self.position.close()


class Listening(Cross):
    def on_start(self) -> None:
        self.heard: list[Fill] = []

    def on_fill(self, fill: Fill) -> None:
        self.heard.append(fill)


class Rotation(Strategy):
    def next(self) -> None:
        if self._book.now % 10 == 0:
            weights = {symbol: 0.45 if self.data[symbol].close[-1] > 100 else 0.1 for symbol in self.data.symbols}
            self.rebalance(weights)


def stream(bars: Bars, strategy: Strategy, rules: FillRules) -> Book:
    timeline = bars.timeline().tolist()
    opening = 0 if bars.tradable_from is None else int(np.searchsorted(bars.timeline(), bars.tradable_from))
    engine = FeedEngine(strategy, {}, rules, symbols=bars.symbols, timeframe=bars.timeframe, timezone=bars.clock_zone)
    for now, moment in enumerate(timeline):
        if now == opening:
            engine.begin()
        rows = {}
        for k, candles in enumerate(bars.candles.values()):
            row = int(np.searchsorted(candles.time, moment))
            if row < len(candles) and candles.time[row] == moment:
                columns = (candles.open, candles.high, candles.low, candles.close, candles.volume)
                rows[k] = tuple(float(column[row]) for column in columns)
        if now < opening:
            engine.warm_up(now, moment, rows)  # type: ignore[arg-type]
        else:
            engine.show(now, moment, rows, dict.fromkeys(rows, True))  # type: ignore[arg-type]
    engine.end()
    return engine.book


def holey() -> Bars:
    full, other = make_candles(120, 3), make_candles(120, 4)
    kept = np.arange(120) % 7 != 3
    columns = (getattr(other, name)[kept] for name in ("time", "open", "high", "low", "close", "volume"))
    return make_bars(AAA=full, BBB=type(other)(*columns))


@pytest.mark.parametrize(
    ("make", "bars"),
    [
        (Cross, make_bars(300, 11)),
        (Bands, make_bars(300, 12)),
        (Weekly, make_bars(300, 13)),
        (Rotation, holey()),
        (Ranges, make_bars(300, 16)),
        (Cross, replace(make_bars(300, 14), tradable_from=MONDAY + 100 * 86_400 * 10**9)),
        (Weekly, replace(make_bars(300, 15), tradable_from=MONDAY + 100 * 86_400 * 10**9)),
    ],
    ids=["cross", "bands", "weekly", "rotation", "ranges", "cross-warm", "weekly-warm"],
)
def test_streamed_orders_are_those_of_the_whole_history(make: Callable[[], Strategy], bars: Bars) -> None:
    rules = FillRules()
    engine = Engine(bars, make(), {}, rules)
    engine.play()
    streamed = stream(bars, make(), rules)
    assert engine.book.fills
    assert [i._replace(sl=None) for i in streamed.log] == [i._replace(sl=None) for i in engine.book.log]
    assert streamed.cash == pytest.approx(engine.book.cash, rel=1e-12)


def test_a_coarser_bar_is_seen_only_when_it_is_over() -> None:
    strategy = Weekly()
    Engine(make_bars(40, 1), strategy, {}, FillRules()).play()
    # Daily bars from a Monday on: the first bar of week n+1 (row 7n) shows n weeks.
    first = 40 - len(strategy.seen)
    assert strategy.seen == [row // 7 for row in range(first, 40)]


def test_fills_are_heard_of_on_the_stream_too() -> None:
    strategy = Listening()
    book = stream(make_bars(300, 11), strategy, FillRules())
    assert [float(fill.price) for fill in strategy.heard] == [fill.price for fill in book.fills]


def test_an_indicator_that_looks_ahead_decides_otherwise_on_the_stream() -> None:
    class Knowing(Strategy):
        def init(self) -> None:
            def tomorrow(close: Floats) -> Floats:
                return np.append(close[1:], np.nan)

            self.next_close = self.I(tomorrow, self.data.close)

        def next(self) -> None:
            if self.next_close[-1] > self.data.close[-1] and not self.position:
                self.buy()

    bars = make_bars(100)
    engine = Engine(bars, Knowing(), {}, FillRules())
    engine.play()
    assert engine.book.log
    assert not stream(bars, Knowing(), FillRules()).log
