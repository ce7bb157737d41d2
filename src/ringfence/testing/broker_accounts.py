"""B401–B424: what an account and its positions are worth, short and on margin, with one instrument and several."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ringfence.base.errors import OrderError
from ringfence.testing.broker_desk import FREE, QUIET, BrokerCases, cash, equity, fills, held, text

FRACTIONS = replace(FREE, fractional=True)
HALF = replace(FREE, margin=0.5)


class AccountCases(BrokerCases):
    def test_b401_an_account_begins_with_its_cash(self) -> None:
        desk = self.desk()
        account = desk.broker.get_account()
        assert [text(v) for v in (account.cash, account.equity, account.buying_power)] == ["10000"] * 3
        assert (desk.broker.get_position("X"), desk.broker.get_all_positions()) == (None, [])

    def test_b402_equity_is_cash_and_positions_on_every_bar(self) -> None:
        desk = self.holding((101, 106, 100, 105), (105, 105, 92, 93), (93, 99, 93, 98))
        for worth in ("10050", "9930", "9980"):  # 9,000 and 10 × 105, 93, 98
            desk.bar()
            assert (cash(desk), equity(desk)) == ("9000", worth)

    def test_b403_a_position_says_what_it_cost_and_is_worth(self) -> None:
        desk = self.holding((101, 106, 100, 105))
        desk.bar()
        position = desk.broker.get_position("X")
        assert position is not None
        assert [text(v) for v in (position.quantity, position.average_price, position.market_price)] == [
            "10",
            "100",
            "105",
        ]
        assert [text(v) for v in (position.market_value, position.unrealized_pnl)] == ["1050", "50"]
        assert desk.broker.get_all_positions() == [position]

    def test_b404_a_margin_of_one_half_doubles_what_can_be_bought(self) -> None:
        desk = self.desk(QUIET, rules=HALF)
        assert text(desk.broker.get_account().buying_power) == "20000"
        desk.broker.submit_order("X", 200, "buy")
        desk.bar()
        account = desk.broker.get_account()
        assert [text(v) for v in (account.cash, account.equity, account.buying_power)] == ["-10000", "10000", "0"]

    def test_b405_margin_has_an_end(self) -> None:
        desk = self.desk(QUIET, rules=HALF)
        order = desk.broker.submit_order("X", 201, "buy")  # 20,100, of which half is 10,050
        desk.bar()
        assert (desk.broker.get_order(order.id).status, held(desk)) == ("rejected", "0")

    def test_b406_an_account_that_is_worth_nothing_is_closed_out(self) -> None:
        desk = self.desk(QUIET, (90, 90, 40, 40), QUIET, rules=HALF)
        desk.broker.submit_order("X", 200, "buy")
        desk.bar()
        waiting = desk.broker.submit_order("X", 1, "buy", "limit", limit_price=10)
        desk.bar()  # 200 × 40 - 10,000
        assert (fills(desk)[1:], equity(desk)) == (["sell 200 X at 40: ruin"], "-2000")
        assert desk.broker.get_order(waiting.id).status == "cancelled"
        assert desk.broker.submit_order("X", 1, "buy").status == "rejected"

    def test_b407_a_short_sale_earns_when_the_price_falls(self) -> None:
        desk = self.desk((100, 101, 94, 95), (90, 91, 89, 90))
        desk.broker.submit_order("X", 10, "sell")
        desk.bar()
        assert (cash(desk), equity(desk), held(desk)) == ("11000", "10050", "-10")  # 11,000 - 10 × 95
        desk.broker.submit_order("X", 10, "buy")
        desk.bar()
        assert (cash(desk), equity(desk), held(desk)) == ("10100", "10100", "0")

    def test_b408_a_short_sale_loses_when_the_price_rises(self) -> None:
        desk = self.desk(QUIET, (110, 110, 110, 110))
        desk.broker.submit_order("X", 10, "sell")
        desk.bar()
        order = desk.broker.close_position("X")
        assert order is not None
        assert order.side == "buy"
        desk.bar()
        assert (fills(desk)[1:], cash(desk)) == (["buy 10 X at 110: close"], "9900")

    def test_b409_a_short_sale_must_be_covered(self) -> None:
        desk = self.desk(QUIET, QUIET)
        too_much = desk.broker.submit_order("X", 101, "sell")
        desk.bar()
        assert desk.broker.get_order(too_much.id).status == "rejected"
        desk.broker.submit_order("X", 50, "sell")
        desk.bar()
        account = desk.broker.get_account()  # 5,000 of the 10,000 cover it
        assert [text(v) for v in (account.cash, account.equity, account.buying_power)] == ["15000", "10000", "5000"]

    def test_b410_a_short_sale_can_ruin_an_account(self) -> None:
        desk = self.desk(QUIET, (150, 200, 150, 200))
        desk.broker.submit_order("X", 100, "sell")
        desk.bar()
        desk.bar()  # 20,000 - 100 × 200
        assert (fills(desk)[1:], equity(desk)) == (["buy 100 X at 200: ruin"], "0")

    def test_b411_a_sale_of_more_than_is_held_turns_the_position_round(self) -> None:
        desk = self.holding((110, 110, 110, 110))
        order = desk.broker.submit_order("X", 15, "sell")
        desk.bar()
        assert fills(desk)[1:] == ["sell 10 X at 110: market", "sell 5 X at 110: market"]
        assert (held(desk), cash(desk), equity(desk)) == ("-5", "10650", "10100")  # 9,000 + 15 × 110
        assert text(desk.broker.get_order(order.id).filled_quantity) == "15"

    def test_b412_what_was_bought_first_is_sold_first(self) -> None:
        desk = self.holding((110, 110, 110, 110), (120, 120, 120, 120))
        desk.broker.submit_order("X", 10, "buy")
        desk.bar()
        position = desk.broker.get_position("X")
        assert position is not None
        assert (text(position.quantity), text(position.average_price)) == ("20", "105")
        desk.broker.submit_order("X", 15, "sell")
        desk.bar()
        assert fills(desk)[2:] == ["sell 10 X at 120: market", "sell 5 X at 120: market"]
        position = desk.broker.get_position("X")
        assert position is not None
        assert (text(position.quantity), text(position.average_price)) == ("5", "110")

    def test_b413_fractions_can_be_traded_where_they_are_allowed(self) -> None:
        desk = self.desk((100, 100, 100, 100), (110, 110, 110, 110), rules=FRACTIONS)
        desk.broker.submit_order("X", 0.25, "buy")
        desk.bar()
        assert (held(desk), cash(desk)) == ("0.25", "9975")
        desk.broker.submit_order("X", 0.1, "sell")
        desk.bar()
        assert (held(desk), cash(desk)) == ("0.15", "9986")

    def test_b414_fractions_leave_no_dust(self) -> None:
        desk = self.desk(QUIET, QUIET, QUIET, rules=FRACTIONS)
        desk.broker.submit_order("X", 0.1, "buy")
        desk.broker.submit_order("X", 0.2, "buy")
        desk.bar()
        desk.broker.submit_order("X", 0.3, "sell")
        desk.bar()
        assert (desk.broker.get_position("X"), cash(desk)) == (None, "10000")
        desk.bar()
        assert len(desk.fills()) == 4

    def test_b415_the_cash_of_a_cash_account_is_never_negative(self) -> None:
        desk = self.desk((97, 98, 96, 97), (103, 104, 102, 103), (99, 101, 98, 100))
        for _ in range(3):
            desk.broker.submit_order("X", 50, "buy")
            desk.bar()
            assert desk.broker.get_account().cash >= 0
        assert (fills(desk), cash(desk)) == (["buy 50 X at 97: market", "buy 50 X at 103: market"], "0")

    def test_b416_positions_in_several_instruments_are_kept_apart(self) -> None:
        desk = self.make(FREE, {"X": [QUIET, QUIET], "Y": [(50,) * 4, (51, 53, 50, 52)]})
        desk.broker.submit_order("X", 10, "buy")
        desk.broker.submit_order("Y", 20, "buy")
        desk.bar()
        assert fills(desk) == ["buy 10 X at 100: market", "buy 20 Y at 51: market"]
        assert (held(desk, "X"), held(desk, "Y"), cash(desk)) == ("10", "20", "7980")
        assert equity(desk) == "10020"  # 7,980 + 10 × 100 + 20 × 52
        assert [p.symbol for p in desk.broker.get_all_positions()] == ["X", "Y"]

    def test_b417_a_missing_bar_leaves_its_order_waiting_and_the_others_alone(self) -> None:
        desk = self.make(FREE, {"X": [QUIET, None, (103, 103, 103, 103)], "Y": [(50,) * 4, (51,) * 4, (52,) * 4]})
        waiting = desk.broker.submit_order("X", 10, "buy")
        desk.broker.submit_order("Y", 10, "buy")
        desk.bar()
        assert (fills(desk), desk.broker.get_order(waiting.id).status) == (["buy 10 Y at 51: market"], "open")
        assert text(desk.broker.get_current_price("X")) == "100"
        desk.bar()
        assert fills(desk)[1:] == ["buy 10 X at 103: market"]

    def test_b418_sales_are_filled_before_purchases(self) -> None:
        desk = self.make(FREE, {"X": [QUIET] * 3, "Y": [QUIET] * 3})
        desk.broker.submit_order("X", 100, "buy")
        desk.bar()
        assert cash(desk) == "0"
        desk.broker.submit_order("Y", 100, "buy")  # to be paid for with what the next one brings
        desk.broker.submit_order("X", 100, "sell")
        desk.bar()
        assert fills(desk)[1:] == ["sell 100 X at 100: market", "buy 100 Y at 100: market"]
        assert (held(desk, "X"), held(desk, "Y"), cash(desk)) == ("0", "100", "0")

    def test_b419_close_all_positions_closes_long_and_short(self) -> None:
        desk = self.make(FREE, {"X": [QUIET] * 3, "Y": [QUIET] * 3, "Z": [QUIET] * 3})
        desk.broker.submit_order("X", 10, "buy")
        desk.broker.submit_order("Y", 10, "sell")
        desk.bar()
        orders = desk.broker.close_all_positions()
        assert [(o.symbol, o.side) for o in orders] == [("X", "sell"), ("Y", "buy")]
        desk.bar()
        assert (desk.broker.get_all_positions(), cash(desk)) == ([], "10000")

    def test_b420_the_price_is_the_last_close(self) -> None:
        desk = self.desk((101, 106, 99, 104))
        assert text(desk.broker.get_current_price("X")) == "100"
        desk.bar()
        assert text(desk.broker.get_current_price("X")) == "104"

    def test_b421_bars_are_those_that_are_over(self) -> None:
        desk = self.desk((101, 106, 99, 104), (105, 107, 103, 106))
        desk.bar()
        bars = desk.broker.get_bars("X", 10)
        assert (bars.open.tolist(), bars.close.tolist()) == ([100, 101], [100, 104])
        assert (bars.high.tolist(), bars.low.tolist()) == ([100, 106], [100, 99])
        assert desk.broker.get_bars("X", 1).close.tolist() == [104]
        assert len(desk.broker.get_bars("X", 0)) == 0

    def test_b422_capabilities_follow_the_rules(self) -> None:
        able = self.desk(rules=replace(FREE, fractional=True)).broker.capabilities
        assert (able.shorting, able.fractional, able.brackets, able.live) == (True, True, True, False)
        able = self.desk(rules=replace(FREE, shorting=False)).broker.capabilities
        assert (able.shorting, able.fractional) == (False, False)

    def test_b423_an_instrument_without_a_bar_has_no_price(self) -> None:
        desk = self.make(FREE, {"X": [QUIET, QUIET], "Y": [None, (70, 70, 70, 70)]})
        with pytest.raises(OrderError, match="Y"):
            desk.broker.get_current_price("Y")
        order = desk.broker.submit_order("Y", 10, "buy")
        desk.bar()
        assert (fills(desk), text(desk.broker.get_current_price("Y"))) == (["buy 10 Y at 70: market"], "70")
        assert desk.broker.get_order(order.id).status == "filled"

    def test_b424_a_trailing_stop_given_before_the_first_price_follows_from_there(self) -> None:
        # 70 at its first open, and 10 % above that is 77.
        desk = self.make(FREE, {"X": [QUIET, QUIET], "Y": [None, (70, 78, 70, 75)]})
        desk.broker.submit_order("Y", 10, "buy", "trailing_stop", trail_percent=10)
        desk.bar()
        assert fills(desk) == ["buy 10 Y at 77: trailing_stop"]
