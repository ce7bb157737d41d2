"""The signals dialect: what a strategy is shown."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime

import pytest

from ringfence.trade.bars import Bars
from ringfence.trade.indicators import bollinger, sma
from ringfence.trade.signals import Bar, BaseStrategy, Signal

from tests.trade.test_signals import Planned, bars, candles, fills, play


def test_on_bar_comes_before_the_signals_and_both_see_the_same() -> None:
    calls: list[tuple[str, float]] = []

    class Both(BaseStrategy):
        def initialize(self) -> None:
            calls.append(("initialize", 0))

        def on_bar(self, current_data: Mapping[str, Bar]) -> None:
            calls.append(("on_bar", current_data["A"].close))

        def generate_signals(self, current_data: Mapping[str, Bar]) -> list[Signal]:
            calls.append(("generate_signals", current_data["A"].close))
            return []

    play(Both(), bars(10, 11, 12))
    assert calls == [
        ("initialize", 0),
        ("on_bar", 11),
        ("generate_signals", 11),
        ("on_bar", 12),
        ("generate_signals", 12),
    ]


class Looking(BaseStrategy):
    """Calls `look` on every bar."""

    look: Callable[[Looking, Mapping[str, Bar]], None]

    def on_bar(self, current_data: Mapping[str, Bar]) -> None:
        type(self).look(self, current_data)


def look(given: Bars, what: Callable[[Looking, Mapping[str, Bar]], None]) -> None:
    kind = type("Look", (Looking,), {"look": what})
    play(kind(), given)


def test_a_bar_has_its_columns_by_attribute_and_by_either_name() -> None:
    seen = []

    def note(_: Looking, current: Mapping[str, Bar]) -> None:
        bar = current["A"]
        assert bar.symbol == "A" and bar.fresh
        assert (bar["close"], bar["Close"], bar["Volume"]) == (bar.close, bar.close, bar.volume)
        seen.append((bar.open, bar.high, bar.low, bar.close, bar.volume, bar.time))

    look(bars(10, 11, 12), note)
    assert seen == [
        (10, 12, 9, 11, 110, datetime(1970, 1, 2, tzinfo=UTC)),
        (11, 13, 10, 12, 120, datetime(1970, 1, 3, tzinfo=UTC)),
    ]


def test_history_is_the_last_values_and_holds_no_future() -> None:
    seen: list[list[float]] = []

    def note(_: Looking, current: Mapping[str, Bar]) -> None:
        past = current["A"].history("close", 3)
        assert past.base is None
        seen.append(past.tolist())

    look(bars(10, 11, 12, 13), note)
    assert seen == [[10, 11], [10, 11, 12], [11, 12, 13]]


def test_names_that_are_not_there_are_answered_with_the_nearest() -> None:
    def ask(_: Looking, current: Mapping[str, Bar]) -> None:
        with pytest.raises(KeyError, match="did you mean 'close'"):
            current["A"]["closes"]
        with pytest.raises(KeyError, match="there are A"):
            current["ZZZ"]
        with pytest.raises(TypeError):
            current["B"] = current["A"]  # type: ignore[index]

    look(bars(10, 11), ask)


def test_an_instrument_without_a_bar_keeps_its_last_one_and_says_so() -> None:
    seen = []

    def note(_: Looking, current: Mapping[str, Bar]) -> None:
        row = []
        for symbol, bar in current.items():
            row.append((symbol, bar.close, bar.fresh, bar.time.day))
        seen.append(row)

    look(bars(10, 11, 12, 13, 14, B=candles([20, 21], [2, 4])), note)
    assert seen == [
        [("A", 11, True, 2)],  # B has none yet
        [("A", 12, True, 3), ("B", 20, True, 3)],
        [("A", 13, True, 4), ("B", 20, False, 3)],
        [("A", 14, True, 5), ("B", 21, True, 5)],
    ]


def test_the_same_objects_are_shown_on_every_bar() -> None:
    seen = []
    look(bars(10, 11, 12, 13), lambda _, current: seen.append((id(current), id(current["A"]))))
    assert len(seen) == 3 and len(set(seen)) == 1


def test_indicators_are_known_by_the_attributes_they_are_in() -> None:
    found: list[dict[str, float]] = []

    class Many(BaseStrategy):
        def initialize(self) -> None:
            self.mean = self.I(sma, self.data.close, 2)
            self.bands = self.I(bollinger, self.data.close, 2, 1.0)
            self.each = {symbol: self.I(sma, self.data[symbol].close, 2) for symbol in self.data.symbols}
            self.period = 2

        def on_bar(self, current_data: Mapping[str, Bar]) -> None:
            found.append(self.get_current_indicators())

    play(Many(), bars(10, 12, 14, B=candles([3, 5, 7])))
    assert found == [{"mean": 13, "bands.0": 14, "bands.1": 13, "bands.2": 12, "each.A": 13, "each.B": 6}]


def test_the_portfolio_is_what_the_account_has() -> None:
    strategy = Planned()
    strategy.plan = {1: [Signal("A", "buy", 20)]}
    play(strategy, bars(10, 10, 12, B=candles([5, 5, 5])))
    summary = strategy.get_portfolio_summary()
    assert (summary.cash, summary.equity) == (800, 1_040)
    assert list(summary.positions) == ["A"]
    held = summary.positions["A"]
    assert (held.quantity, held.average_price, held.market_price, held.unrealized_pnl) == (20, 10, 12, 40)


def test_orders_may_also_be_given_directly() -> None:
    class Direct(BaseStrategy):
        def on_bar(self, current_data: Mapping[str, Bar]) -> None:
            if not self.position and not self.orders:
                self.buy(size=3, limit=current_data["A"].close - 1)

    assert fills(play(Direct(), bars(10, 11, 10, 9))) == [(2, 3, 10)]
