"""B001–B029: at which price an order of each kind is filled, and how long it waits."""

from __future__ import annotations

from ringfence.testing.broker_desk import QUIET, BrokerCases, cash, equity, fills, held


class OrderCases(BrokerCases):
    def test_b001_a_market_buy_fills_at_the_next_open(self) -> None:
        desk = self.desk((101, 105, 99, 104))
        order = desk.broker.submit_order("X", 10, "buy")
        assert (order.status, fills(desk)) == ("open", [])
        desk.bar()
        assert fills(desk) == ["buy 10 X at 101: market"]
        assert (cash(desk), equity(desk)) == ("8990", "10030")  # 10,000 - 10 × 101, and 10 × 104 more
        order = desk.broker.get_order(order.id)
        assert (order.status, order.filled_quantity, order.average_price) == ("filled", 10, 101)

    def test_b002_a_market_sell_fills_at_the_next_open(self) -> None:
        desk = self.holding((103, 104, 102, 103))
        desk.broker.submit_order("X", 10, "sell")
        desk.bar()
        assert fills(desk)[1:] == ["sell 10 X at 103: market"]
        assert (cash(desk), held(desk)) == ("10030", "0")

    def test_b003_a_limit_buy_fills_at_its_price(self) -> None:
        desk = self.desk((100, 101, 97, 99))
        desk.broker.submit_order("X", 10, "buy", "limit", limit_price=98)
        desk.bar()
        assert fills(desk) == ["buy 10 X at 98: limit"]

    def test_b004_a_limit_buy_fills_at_an_open_below_it(self) -> None:
        desk = self.desk((95, 99, 94, 96))
        desk.broker.submit_order("X", 10, "buy", "limit", limit_price=98)
        desk.bar()
        assert fills(desk) == ["buy 10 X at 95: limit"]

    def test_b005_a_limit_that_is_not_reached_waits(self) -> None:
        desk = self.desk((100, 101, 98.5, 100))
        order = desk.broker.submit_order("X", 10, "buy", "limit", limit_price=98)
        desk.bar()
        assert (fills(desk), [o.id for o in desk.broker.get_orders(open_only=True)]) == ([], [order.id])

    def test_b006_a_limit_sell_fills_at_its_price(self) -> None:
        desk = self.holding((101, 105, 100, 102))
        desk.broker.submit_order("X", 10, "sell", "limit", limit_price=104)
        desk.bar()
        assert fills(desk)[1:] == ["sell 10 X at 104: limit"]

    def test_b007_a_limit_sell_fills_at_an_open_above_it(self) -> None:
        desk = self.holding((106, 107, 103, 105))
        desk.broker.submit_order("X", 10, "sell", "limit", limit_price=104)
        desk.bar()
        assert fills(desk)[1:] == ["sell 10 X at 106: limit"]

    def test_b008_a_stop_buy_fills_at_its_price(self) -> None:
        desk = self.desk((100, 104, 99, 102))
        desk.broker.submit_order("X", 10, "buy", "stop", stop_price=103)
        desk.bar()
        assert fills(desk) == ["buy 10 X at 103: stop"]

    def test_b009_a_stop_buy_fills_at_an_open_above_it(self) -> None:
        desk = self.desk((105, 106, 104, 105))
        desk.broker.submit_order("X", 10, "buy", "stop", stop_price=103)
        desk.bar()
        assert fills(desk) == ["buy 10 X at 105: stop"]

    def test_b010_a_stop_sell_fills_at_its_price(self) -> None:
        desk = self.holding((100, 101, 96, 98))
        desk.broker.submit_order("X", 10, "sell", "stop", stop_price=97)
        desk.bar()
        assert fills(desk)[1:] == ["sell 10 X at 97: stop"]

    def test_b011_a_stop_sell_fills_at_an_open_below_it(self) -> None:
        desk = self.holding((94, 95, 93, 94))
        desk.broker.submit_order("X", 10, "sell", "stop", stop_price=97)
        desk.bar()
        assert fills(desk)[1:] == ["sell 10 X at 94: stop"]

    def test_b012_a_stop_limit_fills_at_its_stop_when_the_limit_allows_it(self) -> None:
        desk = self.desk((100, 106, 99, 104))
        desk.broker.submit_order("X", 10, "buy", "stop_limit", stop_price=103, limit_price=105)
        desk.bar()
        assert fills(desk) == ["buy 10 X at 103: limit"]

    def test_b013_a_triggered_stop_limit_waits_for_its_limit(self) -> None:
        # Triggered at 103 on the first bar, where 102 may have been before that; then 102 comes back.
        desk = self.desk((100, 104, 100, 104), (104, 105, 103, 104), (104, 104, 101, 103))
        order = desk.broker.submit_order("X", 10, "buy", "stop_limit", stop_price=103, limit_price=102)
        desk.bar()
        desk.bar()
        assert (fills(desk), desk.broker.get_order(order.id).status) == ([], "open")
        desk.bar()
        assert fills(desk) == ["buy 10 X at 102: limit"]

    def test_b014_an_open_beyond_the_limit_triggers_a_stop_limit_and_does_not_fill_it(self) -> None:
        desk = self.desk((107, 108, 106, 107), (105, 105, 103, 104))
        desk.broker.submit_order("X", 10, "buy", "stop_limit", stop_price=103, limit_price=104)
        desk.bar()
        assert fills(desk) == []
        desk.bar()
        assert fills(desk) == ["buy 10 X at 104: limit"]

    def test_b015_a_trailing_stop_sell_follows_the_highest_price(self) -> None:
        # 10 % below 100 is 90; after a high of 120 it is 108.
        desk = self.holding((100, 120, 100, 118), (118, 119, 107, 110))
        order = desk.broker.submit_order("X", 10, "sell", "trailing_stop", trail_percent=10)
        assert order.trail_percent == 10
        desk.bar()
        assert fills(desk)[1:] == []
        desk.bar()
        assert fills(desk)[1:] == ["sell 10 X at 108: trailing_stop"]

    def test_b016_a_trailing_stop_buy_follows_the_lowest_price(self) -> None:
        # 10 % above 100 is 110; after a low of 80 it is 88.
        desk = self.desk((100, 100, 80, 82), (84, 90, 83, 89))
        desk.broker.submit_order("X", 10, "buy", "trailing_stop", trail_percent=10)
        desk.bar()
        desk.bar()
        assert fills(desk) == ["buy 10 X at 88: trailing_stop"]

    def test_b017_a_high_moves_a_trailing_stop_from_the_next_bar_on(self) -> None:
        # Within one bar nobody knows whether 95 came before 120: the stop is still at 90.
        desk = self.holding((100, 120, 95, 115), (107, 107, 106, 106))
        desk.broker.submit_order("X", 10, "sell", "trailing_stop", trail_percent=10)
        desk.bar()
        assert fills(desk)[1:] == []
        desk.bar()
        assert fills(desk)[1:] == ["sell 10 X at 107: trailing_stop"]  # it opens below 108

    def test_b018_an_order_of_the_day_ends_with_it(self) -> None:
        desk = self.desk(QUIET, (100, 100, 85, 90))
        order = desk.broker.submit_order("X", 10, "buy", "limit", "day", limit_price=90)
        desk.bar()
        assert desk.broker.get_order(order.id).status == "expired"
        desk.bar()
        assert fills(desk) == []

    def test_b019_an_order_of_the_day_lasts_through_its_bars(self) -> None:
        desk = self.desk(QUIET, QUIET, QUIET, bars_per_day=3)  # the first row of the day is over
        order = desk.broker.submit_order("X", 10, "buy", "limit", "day", limit_price=90)
        desk.bar()
        assert desk.broker.get_order(order.id).status == "open"
        desk.bar()
        assert desk.broker.get_order(order.id).status == "expired"

    def test_b020_an_ioc_order_that_the_open_does_not_fill_is_cancelled(self) -> None:
        desk = self.desk((100, 100, 97, 98))
        order = desk.broker.submit_order("X", 10, "buy", "limit", "ioc", limit_price=98)
        desk.bar()
        assert (fills(desk), desk.broker.get_order(order.id).status) == ([], "cancelled")

    def test_b021_an_ioc_order_fills_at_the_open(self) -> None:
        desk = self.desk((97, 98, 96, 97))
        desk.broker.submit_order("X", 10, "buy", "limit", "ioc", limit_price=98)
        desk.bar()
        assert fills(desk) == ["buy 10 X at 97: limit"]

    def test_b022_a_fok_order_fills_whole_at_the_open_or_not_at_all(self) -> None:
        desk = self.desk((97, 98, 96, 97), (99, 99, 95, 97))
        desk.broker.submit_order("X", 10, "buy", "limit", "fok", limit_price=98)
        desk.bar()
        missed = desk.broker.submit_order("X", 10, "buy", "limit", "fok", limit_price=98)
        desk.bar()
        assert fills(desk) == ["buy 10 X at 97: limit"]
        assert desk.broker.get_order(missed.id).status == "cancelled"

    def test_b023_a_gtc_order_waits_until_its_price_comes(self) -> None:
        desk = self.desk(*[QUIET] * 6, (100, 100, 89, 95))
        desk.broker.submit_order("X", 10, "buy", "limit", "gtc", limit_price=90)
        for _ in range(6):
            desk.bar()
            assert fills(desk) == []
        desk.bar()
        assert fills(desk) == ["buy 10 X at 90: limit"]

    def test_b024_a_cancelled_order_is_not_filled(self) -> None:
        desk = self.desk((100, 100, 89, 95))
        order = desk.broker.submit_order("X", 10, "buy", "limit", limit_price=90)
        assert desk.broker.cancel_order(order.id).status == "cancelled"
        desk.bar()
        assert (fills(desk), desk.broker.get_orders(open_only=True)) == ([], [])

    def test_b025_cancelling_a_filled_order_changes_nothing(self) -> None:
        desk = self.holding(QUIET)
        order = desk.broker.get_orders()[0]
        assert desk.broker.cancel_order(order.id).status == "filled"
        assert held(desk) == "10"

    def test_b026_orders_are_remembered_as_they_were_given(self) -> None:
        desk = self.desk(QUIET)
        given = desk.broker.submit_order("X", 10, "buy", "limit", "day", limit_price=90, client_id="mine")
        kept = desk.broker.get_order(given.id)
        assert kept == given
        assert (kept.client_id, kept.symbol, kept.side, kept.quantity) == ("mine", "X", "buy", 10)
        assert (kept.order_type, kept.time_in_force, kept.limit_price) == ("limit", "day", 90)
        assert [o.id for o in desk.broker.get_orders()] == [given.id]

    def test_b027_a_part_of_a_position_can_be_sold(self) -> None:
        desk = self.holding((110, 110, 110, 110))
        desk.broker.submit_order("X", 4, "sell")
        desk.bar()
        assert fills(desk)[1:] == ["sell 4 X at 110: market"]
        assert (held(desk), cash(desk), equity(desk)) == ("6", "9440", "10100")  # 9,000 + 440; 6 × 110 more

    def test_b028_close_position_sells_all_of_it_at_the_next_open(self) -> None:
        desk = self.holding((110, 112, 108, 109), QUIET)
        order = desk.broker.close_position("X")
        assert order is not None
        assert (order.side, order.quantity, order.status) == ("sell", 10, "open")
        desk.bar()
        assert fills(desk)[1:] == ["sell 10 X at 110: close"]
        assert (cash(desk), held(desk)) == ("10100", "0")
        assert desk.broker.close_position("X") is None

    def test_b029_an_order_is_not_met_by_the_bar_it_was_given_on(self) -> None:
        desk = self.desk((100, 110, 90, 100), QUIET, (99, 99, 94, 96))
        desk.bar()  # 95 has just been there
        desk.broker.submit_order("X", 10, "buy", "limit", limit_price=95)
        desk.bar()
        assert fills(desk) == []
        desk.bar()
        assert fills(desk) == ["buy 10 X at 95: limit"]
