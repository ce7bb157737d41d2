"""The broker of a backtest proves the cases of every broker."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ringfence.testing.broker import BrokerSuite
from ringfence.testing.broker_desk import FREE, QUIET, Prices
from ringfence.trade.bars import Bars, Candles
from ringfence.trade.orders import Fill
from ringfence.trade.run import FillRules
from ringfence.trade.simulated import BacktestBroker
from ringfence.trade.times import DAY


def make_bars(prices: Prices, *, bars_per_day: int = 1) -> Bars:
    """Rows of several instruments side by side, at the same moments; None where one has no bar."""
    step = DAY // bars_per_day
    candles = {}
    for symbol, rows in prices.items():
        known = [(k * step, *row) for k, row in enumerate(rows) if row is not None]
        table = np.array([row[1:] for row in known], dtype=np.float64)
        first, high, low, last = table.T
        times = np.array([row[0] for row in known])
        candles[symbol] = Candles(times, first, high, low, last, np.ones(len(known)))
    timeframe = "1d" if bars_per_day == 1 else f"{24 // bars_per_day}h"
    return Bars(candles=candles, timeframe=timeframe, source="made by hand", synthetic=True)


class BacktestDesk:
    def __init__(self, bars: Bars, rules: FillRules) -> None:
        self.broker = BacktestBroker(bars, rules)
        self.bar()  # the case begins when the first bar is over

    def bar(self) -> None:
        assert self.broker.advance(), "the case has no more bars"

    def fills(self) -> Sequence[Fill]:
        return self.broker.get_fills()


class TestBacktestBroker(BrokerSuite):
    def make(self, rules: FillRules, prices: Prices, *, bars_per_day: int = 1) -> BacktestDesk:
        return BacktestDesk(make_bars(prices, bars_per_day=bars_per_day), rules)

    def test_the_last_bar_is_the_last(self) -> None:
        broker = BacktestBroker(make_bars({"X": [QUIET]}), FREE)
        assert broker.advance()
        assert not broker.advance()

    def test_both_guards_in_one_bar_are_counted(self) -> None:
        desk = self.guarded((100, 112, 94, 100))
        desk.bar()
        assert isinstance(desk, BacktestDesk)
        assert desk.broker.book.both_in_one_bar == 1

    def test_a_fill_is_stamped_with_the_beginning_of_its_bar(self) -> None:
        desk = self.holding(QUIET)
        assert [fill.time for fill in desk.fills()] == [DAY]
        assert desk.broker.get_orders()[0].submitted_at == 0
