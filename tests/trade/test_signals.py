"""The signals dialect: what a strategy is shown, and what becomes of its signals."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import FrozenInstanceError
from types import MappingProxyType

import numpy as np
import pytest

from ringfence.base.errors import OrderError
from ringfence.trade.bars import Bars, Candles
from ringfence.trade.engine import Engine
from ringfence.trade.run import Costs, FillRules
from ringfence.trade.signals import Bar, BaseStrategy, Signal
from ringfence.trade.strategy import Strategy
from ringfence.trade.times import DAY

FREE = FillRules(cash=1_000, costs=Costs(percent=0, slippage_bps=0))

Plan = Mapping[int, list[Signal]]


def candles(closes: list[float], days: list[int] | None = None) -> Candles:
    """Each bar opens at the close before it."""
    close = np.array(closes)
    opens = np.concatenate([close[:1], close[:-1]])
    time = np.array(days if days is not None else range(len(closes)), dtype=np.int64) * DAY
    return Candles(time, opens, np.maximum(opens, close) + 1, np.minimum(opens, close) - 1, close, close * 10)


def bars(*closes: float, **others: Candles) -> Bars:
    return Bars(candles={"A": candles(list(closes)), **others}, timeframe="1d", source="test")


class Planned(BaseStrategy):
    """Gives the signals that its plan has for a bar."""

    plan: Plan = MappingProxyType({})

    def generate_signals(self, current_data: Mapping[str, Bar]) -> list[Signal]:
        return self.plan.get(self._book.now, [])


def play(strategy: Strategy, given: Bars, rules: FillRules = FREE) -> Engine:
    engine = Engine(given, strategy, {}, rules)
    engine.play()
    return engine


def planned(plan: Plan, given: Bars, rules: FillRules = FREE) -> Engine:
    strategy = Planned()
    strategy.plan = plan
    return play(strategy, given, rules)


def fills(engine: Engine) -> list[tuple[int, float, float]]:
    return [(fill.now, fill.quantity, fill.price) for fill in engine.book.fills]


# Signals become orders.


def test_a_buy_without_a_quantity_spends_all_like_buy_does() -> None:
    class Native(Strategy):
        def next(self) -> None:
            if self._book.now == 1:
                self.buy()

    given = bars(10, 11, 12, 13)
    engine = planned({1: [Signal("A", "buy")]}, given)
    assert fills(engine) == fills(play(Native(), given)) == [(2, 90, 11)]
    assert engine.book.log == play(Native(), given).book.log


def test_a_sell_without_a_quantity_closes_and_never_goes_short() -> None:
    engine = planned(
        {
            1: [Signal("A", "buy", 5)],
            2: [Signal("A", "sell"), Signal("A", "sell")],
            3: [Signal("A", "sell")],
        },
        bars(10, 11, 12, 13, 14),
    )
    assert fills(engine) == [(2, 5, 11), (3, -5, 12)]


def test_a_sell_of_more_than_is_held_sells_what_is_held() -> None:
    engine = planned({1: [Signal("A", "buy", 5)], 2: [Signal("A", "sell", 8)]}, bars(10, 11, 12, 13, 14))
    assert fills(engine) == [(2, 5, 11), (3, -5, 12)]


def test_a_sell_of_what_is_not_held_is_seen_to_do_nothing() -> None:
    engine = planned({1: [Signal("A", "sell", 8)]}, bars(10, 11, 12))
    assert [(order.status, order.reason) for order in engine.book.orders] == [
        ("cancelled", "there is nothing left to close")
    ]


@pytest.mark.parametrize("held", [3, 22, 43])
def test_a_part_is_sold_to_the_unit(held: int) -> None:
    for part in range(1, held):  # 22 · (15 / 22) is less than 15
        rules = FillRules(cash=1e6, costs=FREE.costs)
        engine = planned({1: [Signal("A", "buy", held)], 2: [Signal("A", "sell", part)]}, bars(10, 10, 10, 10), rules)
        assert [quantity for _, quantity, _ in fills(engine)] == [held, -part]


def test_two_partial_sales_of_one_bar_add_up() -> None:
    sales = [Signal("A", "sell", 20), Signal("A", "sell", 31), Signal("A", "sell", 40)]
    engine = planned({1: [Signal("A", "buy", 60)], 2: sales}, bars(10, 10, 10, 10))
    assert [quantity for _, quantity, _ in fills(engine)] == [60, -20, -31, -9]


def test_a_fraction_of_a_unit_is_a_quantity_and_not_a_share_of_the_cash() -> None:
    rules = FillRules(cash=1_000, fractional=True, costs=FREE.costs)
    engine = planned({1: [Signal("A", "buy", 0.5)], 2: [Signal("A", "sell", 0.125)]}, bars(10, 10, 10, 10), rules)
    assert [quantity for _, quantity, _ in fills(engine)] == [0.5, pytest.approx(-0.125)]


def test_a_sale_at_an_open_where_the_stop_has_sold_already_is_no_short_one() -> None:
    crash = Candles(
        np.arange(4) * DAY,
        np.array([100.0, 100, 100, 60]),
        np.array([101.0, 101, 101, 61]),
        np.array([99.0, 99, 99, 59]),
        np.array([100.0, 100, 100, 60]),
        np.ones(4),
    )
    engine = planned(
        {1: [Signal("A", "buy", 6, sl=0.2)], 2: [Signal("A", "sell", 3)]},
        Bars(candles={"A": crash}, timeframe="1d", source="test"),
    )
    assert fills(engine) == [(2, 6, 100), (3, -6, 60)]
    assert engine.book.orders[-1].status == "cancelled"


def test_short_sales_are_made_when_asked_for_and_bought_back_by_a_plain_buy() -> None:
    engine = planned(
        {
            1: [Signal("A", "buy", 5)],
            2: [Signal("A", "sell", 8, short=True)],
            3: [Signal("A", "buy")],
            4: [Signal("A", "sell", short=True)],
        },
        bars(10, 10, 10, 10, 10, 10),
    )
    assert [quantity for _, quantity, _ in fills(engine)] == [5, -5, -3, 3, -99]


def test_rebalance_brings_an_instrument_to_its_weight_and_leaves_the_others() -> None:
    given = bars(10, 10, 10, 10, 10, B=candles([20] * 5))
    engine = planned(
        {
            1: [Signal("A", "rebalance", weight=0.8), Signal("B", "rebalance", weight=0.2)],
            2: [Signal("B", "rebalance", weight=0.9), Signal("A", "rebalance", weight=0.1)],
            3: [Signal("A", "rebalance", weight=0.0)],
        },
        given,
    )
    assert [(fill.now, fill.market, fill.quantity) for fill in engine.book.fills] == [
        (2, 0, 80),
        (2, 1, 10),
        (3, 0, -70),  # what is sold comes first
        (3, 1, 35),
        (4, 0, -10),
    ]


def test_hold_does_nothing() -> None:
    assert planned({1: [Signal("A", "hold", reason="unsure")]}, bars(10, 11, 12)).book.log == []


def test_guards_and_reason_reach_the_position() -> None:
    signal = Signal("A", "buy", 5, "dip", sl=0.5, tp=0.2, trail=0.3)
    lot = planned({1: [signal]}, bars(10, 10, 10)).book.markets[0].holding[0]
    assert (lot._sl, lot.tp, lot.trail, lot.reason) == (5, 12, 0.3, "dip")
    priced = Signal("A", "buy", 5, sl_price=4, tp_price=30)
    lot = planned({1: [priced]}, bars(10, 10, 10)).book.markets[0].holding[0]
    assert (lot.sl, lot.tp) == (4, 30)


# Sizes.


class Sized(Planned):
    size: float | None = None
    asked: tuple[str, Signal] | None = None

    def calculate_position_size(self, symbol: str, signal: Signal) -> float | None:
        self.asked = symbol, signal
        return self.size


@pytest.mark.parametrize(("size", "bought"), [(None, [99]), (12.7, [12]), (3, [3]), (0, []), (0.7, [])])
def test_the_size_comes_from_the_strategy(size: float | None, bought: list[float]) -> None:
    strategy = Sized()
    signal = Signal("A", "buy")
    strategy.size, strategy.plan = size, {1: [signal]}
    engine = play(strategy, bars(10, 10, 10))
    assert [quantity for _, quantity, _ in fills(engine)] == bought
    assert strategy.asked == ("A", signal)
    if size == 0:
        assert engine.book.log == []
    if size == 0.7:
        assert "0.7 is no whole number" in engine.book.orders[0].reason


def test_the_size_of_an_explicit_quantity_is_not_asked_for() -> None:
    strategy = Sized()
    strategy.size, strategy.plan = 3, {1: [Signal("A", "buy", 5)], 2: [Signal("A", "sell")]}
    assert [quantity for _, quantity, _ in fills(play(strategy, bars(10, 10, 10, 10)))] == [5, -5]
    assert strategy.asked is None


@pytest.mark.parametrize("quantity", [-1, float("nan"), 2.5])
@pytest.mark.parametrize("action", ["buy", "sell"])
def test_a_quantity_that_cannot_be_is_rejected_with_its_reason(action: str, quantity: float) -> None:
    signals = {1: [Signal("A", "buy", 9)], 2: [Signal("A", action, quantity)]}  # type: ignore[arg-type]
    engine = planned(signals, bars(10, 10, 10, 10))
    assert fills(engine) == [(2, 9, 10)]
    assert engine.book.orders[-1].status == "rejected"


# What makes no sense.


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Signal("A", "by"), "there is no action 'by': did you mean 'buy'?"),  # type: ignore[arg-type]
        (lambda: Signal("A", "BUY"), "did you mean 'buy'?"),  # type: ignore[arg-type]
        (lambda: Signal("A", 7), "there are buy, sell, hold, rebalance"),  # type: ignore[arg-type]
        (lambda: Signal("A", "rebalance"), "weight=0.25"),
        (lambda: Signal("A", "buy", weight=0.3), "weight=0.25"),
        (lambda: Signal("A", "buy", sl=95), "sl_price=95"),
        (lambda: Signal("A", "buy", tp=110), "tp_price=110"),
    ],
)
def test_a_signal_that_makes_no_sense_says_so(make: Callable[[], Signal], words: str) -> None:
    with pytest.raises(OrderError) as e:
        make()
    assert words in str(e.value)


def test_an_unknown_instrument_is_answered_with_the_nearest() -> None:
    with pytest.raises(OrderError, match="did you mean 'GOOG'"):
        planned({1: [Signal("GOGO", "buy")]}, bars(10, 10, 10, GOOG=candles([5, 5, 5])))


@pytest.mark.parametrize(
    ("given", "words"),
    [(None, "gave None"), (["buy"], "'buy' is no signal"), ({"A": "buy"}, "'A' is no signal")],
)
def test_what_is_no_list_of_signals_is_refused(given: object, words: str) -> None:
    class Wrong(BaseStrategy):
        def generate_signals(self, current_data: Mapping[str, Bar]) -> list[Signal]:
            return given  # type: ignore[return-value]

    with pytest.raises(OrderError, match=words):
        play(Wrong(), bars(10, 10, 10))


def test_a_signal_cannot_be_changed() -> None:
    with pytest.raises(FrozenInstanceError):
        Signal("A", "buy").quantity = 3  # type: ignore[misc]
