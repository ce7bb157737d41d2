"""Paper trading proves the cases of every broker in Decimals, and survives whatever ends it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, replace
from decimal import Decimal, localcontext
from pathlib import Path

import pytest

from ringfence.base.errors import DataError, OrderError
from ringfence.markets.paper import PaperBroker
from ringfence.testing.broker import BrokerSuite
from ringfence.testing.broker_desk import FREE, NO_COSTS, Prices
from ringfence.trade.orders import Bracket, Fill
from ringfence.trade.run import Costs, FillRules
from ringfence.trade.times import DAY

CENTS = replace(FREE, costs=replace(NO_COSTS, percent=0.001))
FULL_COSTS = Costs(percent=0.001, per_share=0.005, minimum=1, slippage_bps=2, spread_bps=1)


class Clock:
    def __init__(self) -> None:
        self.now = 0

    def __call__(self) -> int:
        return self.now


class PaperDesk:
    """Shows the rows of a case one by one; a bar is over when the next one begins."""

    def __init__(self, rules: FillRules, prices: Prices, bars_per_day: int) -> None:
        self._clock = Clock()
        self.broker = PaperBroker(list(prices), rules, clock=self._clock)
        self._prices, self._row, self._per_day = prices, 0, bars_per_day
        self.bar()

    def bar(self) -> None:
        row, step = self._row, DAY // self._per_day
        shown = {s: [Decimal(str(p)) for p in r] for s, rows in self._prices.items() if (r := rows[row]) is not None}
        self.broker.show_bars(row * step, shown, day_over=(row + 1) % self._per_day == 0)
        self._row += 1
        self._clock.now = self._row * step

    def fills(self) -> Sequence[Fill]:
        return self.broker.get_fills()


class TestPaperBroker(BrokerSuite):
    def make(self, rules: FillRules, prices: Prices, *, bars_per_day: int = 1) -> PaperDesk:
        return PaperDesk(rules, prices, bars_per_day)


def open_broker(path: Path | None = None, rules: FillRules = FREE, clock: Clock | None = None) -> PaperBroker:
    return PaperBroker(["X", "Y"], rules, clock=clock or Clock(), journal=path)


def assert_decimals(value: object) -> None:
    for field in fields(value):  # type: ignore[arg-type]
        part = getattr(value, field.name)
        assert not isinstance(part, float), f"{field.name} is {part!r}"
        if field.name in ("quantity", "filled_quantity", "price", "fee", "cash", "equity", "buying_power"):
            assert type(part) is Decimal, f"{field.name} is {part!r}"
        if isinstance(part, Bracket):
            assert_decimals(part)


def test_every_number_is_a_decimal_even_where_floats_were_given() -> None:
    broker = open_broker(rules=replace(FREE, costs=FULL_COSTS, fractional=True, margin=0.5))
    broker.show_bar("X", 0, 100.1, 100.3, 99.9, 100.2)
    broker.submit_order("X", 1.5, "buy", bracket=Bracket(sl=90.5, tp=110.1))
    broker.submit_order("X", 2, "sell", "trailing_stop", trail_percent=5.5)
    broker.submit_order("X", float("nan"), "buy")
    broker.submit_order("X", 0.3, "buy", "stop_limit", stop_price=101.1, limit_price=101.2)
    seen: list[object] = [*broker.get_orders()]
    broker.show_bar("X", DAY, 100.4, 102, 93, 94)
    broker.close_position("X")
    seen += broker.get_orders()
    broker.show_bar("X", 2 * DAY, 95, 95, 94, 94)
    broker.submit_order("X", 3, "sell")
    broker.show_bar("X", 3 * DAY, 95, 95, 94, 94)
    assert len(broker.get_fills()) >= 4
    seen += [broker.get_account(), *broker.get_orders(), *broker.get_fills(), *broker.get_all_positions()]
    for value in seen:
        assert_decimals(value)
    position = broker.get_all_positions()[0]
    for amount in (position.average_price, position.market_price, position.market_value, position.unrealized_pnl):
        assert type(amount) is Decimal
    assert type(broker.get_current_price("X")) is Decimal


def test_cents_are_exact() -> None:
    broker = open_broker(rules=CENTS)
    broker.show_price("X", 0, Decimal("10.10"))
    broker.submit_order("X", 3, "buy")
    broker.show_price("X", 1, Decimal("10.10"))
    assert broker.get_fills()[0].fee == Decimal("0.0303")
    assert broker.get_account().cash == Decimal("9969.6697")  # 10,000 - 30.30 - 0.0303
    assert broker.get_account().equity == Decimal("9999.9697")


def test_the_callers_decimal_context_changes_nothing() -> None:
    accounts = []
    for digits in (28, 3):
        with localcontext() as context:
            context.prec = digits
            broker = open_broker(rules=replace(FREE, costs=FULL_COSTS))
            broker.show_price("X", 0, "123.4567")  # type: ignore[arg-type]
            broker.submit_order("X", 7, "buy")
            broker.show_price("X", 1, "123.4567")  # type: ignore[arg-type]
            accounts.append(broker.get_account())
    assert accounts[0] == accounts[1]


def test_ticks_fill_orders_as_they_come() -> None:
    broker = open_broker()
    broker.show_price("X", 0, 100)
    broker.submit_order("X", 10, "buy", "limit", limit_price=98, bracket=Bracket(sl=95))
    assert broker.show_price("X", 1, 99) == []
    (bought,) = broker.show_price("X", 2, 97)
    assert (bought.price, bought.time) == (97, 2)
    (sold,) = broker.show_price("X", 3, 94)
    assert (sold.price, sold.reason) == (94, "stop")


def test_a_bar_does_not_fill_what_was_ordered_after_it_began() -> None:
    clock = Clock()
    broker = open_broker(clock=clock)
    broker.show_bar("X", 0, 100, 100, 100, 100)
    clock.now = DAY + 1
    late = broker.submit_order("X", 10, "buy", "limit", "day", limit_price=101)
    assert broker.show_bar("X", DAY, 90, 100, 90, 95) == []
    assert broker.get_order(late.id).status == "open"
    (fill,) = broker.show_bar("X", 2 * DAY, 99, 99, 99, 99)
    assert fill.price == 99


def test_an_order_that_came_too_late_for_a_bar_is_cancelled_when_that_bar_ruins_the_account() -> None:
    clock = Clock()
    broker = open_broker(clock=clock)
    broker.show_bar("X", 0, 100, 100, 100, 100)
    broker.submit_order("X", 100, "sell")
    broker.show_bar("X", DAY, 100, 100, 100, 100)
    clock.now = 2 * DAY + 1
    late = broker.submit_order("X", 1, "buy")
    broker.show_bar("X", 2 * DAY, 300, 300, 300, 300)
    assert broker.get_order(late.id).status == "cancelled"
    assert broker.get_orders(open_only=True) == []


def test_orders_of_the_day_end_when_a_tick_feed_says_so() -> None:
    broker = open_broker()
    broker.show_price("X", 0, 100)
    order = broker.submit_order("X", 10, "buy", "limit", "day", limit_price=90)
    kept = broker.submit_order("X", 10, "buy", "limit", "gtc", limit_price=90)
    broker.show_price("X", 1, 99)
    assert broker.get_order(order.id).status == "open"
    broker.end_day()
    assert (broker.get_order(order.id).status, broker.get_order(kept.id).status) == ("expired", "open")


def test_there_are_no_orders_before_the_first_price() -> None:
    with pytest.raises(OrderError, match="price"):
        open_broker().submit_order("X", 1, "buy")


def test_only_so_many_bars_are_kept() -> None:
    broker = PaperBroker(["X"], FREE, clock=Clock(), history=3)
    for k in range(5):
        broker.show_bar("X", k * DAY, 100 + k, 100 + k, 100 + k, 100 + k, volume=k)
    bars = broker.get_bars("X", 100)
    assert (bars.close.tolist(), bars.volume.tolist()) == ([102, 103, 104], [2, 3, 4])
    assert (bars.time.tolist(), len(broker.get_bars("X", -1))) == ([2 * DAY, 3 * DAY, 4 * DAY], 0)


@pytest.mark.parametrize(
    "row",
    [
        (100, 99, 98, 99),
        (100, 101, 102, 100),
        (0, 1, 0, 1),
        (-1, 1, -1, 1),
        (float("nan"),) * 4,
        (float("inf"),) * 4,
        ("ten",) * 4,
        (1, 1, 1),
        (1, 1, 1, 1, -1),
        ("1e-400",) * 4,
        ("sNaN",) * 4,
    ],
)
def test_prices_that_no_market_printed_are_refused(row: Sequence[float]) -> None:
    broker = open_broker()
    with pytest.raises(DataError, match="X at 1970"):
        broker.show_bars(0, {"X": row})
    assert broker.get_account().equity == 10_000
    with pytest.raises(OrderError):
        broker.get_current_price("X")


def test_a_bar_that_is_shown_again_does_nothing_and_an_older_one_is_refused() -> None:
    broker = open_broker()
    broker.show_bar("X", DAY, 100, 100, 100, 100)
    broker.submit_order("X", 10, "buy")
    assert broker.show_bar("X", DAY, 100, 100, 100, 100) == []
    with pytest.raises(DataError, match="order"):
        broker.show_bar("X", DAY, 101, 101, 101, 101)
    with pytest.raises(DataError, match="order"):
        broker.show_bar("X", 0, 100, 100, 100, 100)
    with pytest.raises(OrderError, match="NOSUCH"):
        broker.show_bar("NOSUCH", 0, 100, 100, 100, 100)
    assert broker.get_fills() == []
