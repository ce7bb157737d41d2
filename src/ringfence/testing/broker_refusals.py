"""B201–B216: what cannot be is rejected with its reason, and what is unknown raises. Nothing of it costs anything."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from ringfence.base.errors import OrderError
from ringfence.testing.broker_desk import FREE, QUIET, BrokerCases, Desk, cash, fills, held
from ringfence.trade.orders import Bracket, Order

NAN, INF = math.nan, math.inf


def assert_refused(desk: Desk, order: Order) -> None:
    assert order.status == "rejected"
    assert order.reason
    assert (order.filled_quantity, order.average_price) == (0, None)
    before = cash(desk)
    desk.bar()
    assert (fills(desk), cash(desk), desk.broker.get_orders(open_only=True)) == ([], before, [])


class RefusalCases(BrokerCases):
    @pytest.mark.parametrize("quantity", [0, -1, -0.5, NAN, INF, -INF, 1e16, 1e300, 1e-12])
    def test_b201_a_quantity_that_nobody_can_trade_is_rejected(self, quantity: float) -> None:
        desk = self.desk(QUIET, rules=replace(FREE, fractional=True))
        assert_refused(desk, desk.broker.submit_order("X", quantity, "buy"))

    def test_b202_a_fraction_is_rejected_where_shares_are_whole(self) -> None:
        desk = self.desk(QUIET)
        assert_refused(desk, desk.broker.submit_order("X", 1.5, "buy"))

    @pytest.mark.parametrize("price", [0, -5, NAN, INF])
    def test_b203_a_price_that_there_cannot_be_is_rejected(self, price: float) -> None:
        desk = self.desk(QUIET)
        assert_refused(desk, desk.broker.submit_order("X", 10, "buy", "limit", limit_price=price))

    def test_b204_prices_that_the_kind_of_order_lacks_or_does_not_take_are_rejected(self) -> None:
        desk = self.desk(QUIET)
        broker = desk.broker
        assert broker.submit_order("X", 10, "buy", "limit").status == "rejected"
        assert broker.submit_order("X", 10, "buy", "stop").status == "rejected"
        assert broker.submit_order("X", 10, "buy", "stop_limit", limit_price=100).status == "rejected"
        assert broker.submit_order("X", 10, "buy", "trailing_stop").status == "rejected"
        assert_refused(desk, broker.submit_order("X", 10, "buy", "market", limit_price=90))

    @pytest.mark.parametrize("percent", [0, -1, 100, NAN])
    def test_b205_a_trail_that_is_no_distance_is_rejected(self, percent: float) -> None:
        desk = self.desk(QUIET)
        assert_refused(desk, desk.broker.submit_order("X", 10, "sell", "trailing_stop", trail_percent=percent))

    @pytest.mark.parametrize(
        "bracket",
        [Bracket(sl=105), Bracket(tp=95), Bracket(sl=110, tp=90), Bracket(sl=100), Bracket(sl=NAN), Bracket(tp=-1)],
    )
    def test_b206_a_guard_on_the_wrong_side_of_the_price_is_rejected(self, bracket: Bracket) -> None:
        desk = self.desk(QUIET)
        assert_refused(desk, desk.broker.submit_order("X", 10, "buy", bracket=bracket))

    @pytest.mark.parametrize("bracket", [Bracket(sl=95), Bracket(tp=105), Bracket(tp=100), Bracket(sl=100)])
    def test_b207_a_guard_of_a_short_sale_on_the_wrong_side_is_rejected(self, bracket: Bracket) -> None:
        desk = self.desk(QUIET)
        assert_refused(desk, desk.broker.submit_order("X", 10, "sell", bracket=bracket))

    @pytest.mark.parametrize("bracket", [Bracket(sl=92), Bracket(tp=88), Bracket(sl=90)])
    def test_b208_a_guard_on_the_wrong_side_of_a_limit_is_rejected(self, bracket: Bracket) -> None:
        desk = self.desk(QUIET)
        assert_refused(desk, desk.broker.submit_order("X", 10, "buy", "limit", limit_price=90, bracket=bracket))

    def test_b209_what_cannot_be_paid_for_is_rejected_when_its_price_is_known(self) -> None:
        desk = self.desk((101, 101, 101, 101), QUIET)
        order = desk.broker.submit_order("X", 100, "buy")  # 10,000 at 100, which there is, and 10,100 at 101
        assert order.status == "open"
        desk.bar()
        assert_refused(desk, desk.broker.get_order(order.id))

    def test_b210_short_selling_is_rejected_where_it_is_not_allowed(self) -> None:
        desk = self.desk(QUIET, QUIET, rules=replace(FREE, shorting=False))
        order = desk.broker.submit_order("X", 10, "sell")
        desk.bar()
        assert_refused(desk, desk.broker.get_order(order.id))

    def test_b211_a_sale_of_more_than_is_held_ends_there_where_short_selling_is_not_allowed(self) -> None:
        desk = self.holding(QUIET, rules=replace(FREE, shorting=False))
        order = desk.broker.submit_order("X", 15, "sell")
        desk.bar()
        order = desk.broker.get_order(order.id)
        assert (fills(desk)[1:], held(desk)) == (["sell 10 X at 100: market"], "0")
        assert (order.quantity, order.filled_quantity, order.status) == (15, 10, "filled")
        assert "short" in order.reason

    def test_b212_an_unknown_symbol_raises(self) -> None:
        broker = self.desk().broker
        for ask in (
            lambda: broker.submit_order("NOSUCH", 1, "buy"),
            lambda: broker.get_position("NOSUCH"),
            lambda: broker.close_position("NOSUCH"),
            lambda: broker.get_current_price("NOSUCH"),
            lambda: broker.get_bars("NOSUCH", 1),
        ):
            with pytest.raises(OrderError, match="NOSUCH"):
                ask()
        assert not broker.get_orders()

    @pytest.mark.parametrize("order_id", ["7", "-1", "", "nosuch", "٣", "9" * 5000])
    def test_b213_an_unknown_order_raises(self, order_id: str) -> None:
        broker = self.desk().broker
        with pytest.raises(OrderError):
            broker.get_order(order_id)
        with pytest.raises(OrderError):
            broker.cancel_order(order_id)

    def test_b214_a_second_order_under_one_client_id_is_the_first(self) -> None:
        desk = self.desk(QUIET, QUIET)
        first = desk.broker.submit_order("X", 10, "buy", client_id="a")
        assert desk.broker.submit_order("X", 10, "buy", client_id="a") == first
        desk.bar()
        again = desk.broker.submit_order("X", 10, "buy", client_id="a")
        assert (again.id, again.status) == (first.id, "filled")
        desk.bar()
        assert (len(desk.broker.get_orders()), held(desk)) == (1, "10")

    def test_b215_words_that_there_are_not_raise(self) -> None:
        broker = self.desk().broker
        with pytest.raises(OrderError, match="hold"):
            broker.submit_order("X", 1, "hold")  # type: ignore[arg-type]
        with pytest.raises(OrderError, match="iceberg"):
            broker.submit_order("X", 1, "buy", "iceberg")  # type: ignore[arg-type]
        with pytest.raises(OrderError, match="forever"):
            broker.submit_order("X", 1, "buy", "market", "forever")  # type: ignore[arg-type]
        with pytest.raises(OrderError, match="ten"):
            broker.submit_order("X", "ten", "buy")  # type: ignore[arg-type]
        assert not broker.get_orders()

    def test_b216_of_two_orders_that_cannot_both_be_paid_for_the_first_is_filled(self) -> None:
        desk = self.desk(QUIET)
        desk.broker.submit_order("X", 60, "buy")
        second = desk.broker.submit_order("X", 60, "buy")
        desk.bar()
        assert fills(desk) == ["buy 60 X at 100: market"]
        assert (desk.broker.get_order(second.id).status, cash(desk)) == ("rejected", "4000")
