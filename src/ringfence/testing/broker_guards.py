"""B101–B122: the stop and the target that guard what an order opens."""

from __future__ import annotations

from dataclasses import replace

from ringfence.testing.broker_desk import FREE, QUIET, BrokerCases, Desk, Row, cash, fills, held
from ringfence.trade.orders import Bracket, Side
from ringfence.trade.run import FillRules

LONG = Bracket(sl=95, tp=110)
SHORT = Bracket(sl=105, tp=90)


class GuardCases(BrokerCases):
    def guarded(self, *rows: Row, side: Side = "buy", rules: FillRules = FREE) -> Desk:
        """10 bought, or sold short, at 100, with a stop 5 away and a target 10 away."""
        desk = self.desk(QUIET, *rows, rules=rules)
        desk.broker.submit_order("X", 10, side, bracket=LONG if side == "buy" else SHORT)
        desk.bar()
        return desk

    def test_b101_a_stop_fills_at_its_price(self) -> None:
        desk = self.guarded((100, 100, 94, 96))
        desk.bar()
        assert fills(desk)[1:] == ["sell 10 X at 95: stop"]
        assert cash(desk) == "9950"

    def test_b102_a_target_fills_at_its_price(self) -> None:
        desk = self.guarded((100, 111, 99, 108))
        desk.bar()
        assert fills(desk)[1:] == ["sell 10 X at 110: target"]
        assert cash(desk) == "10100"

    def test_b103_of_both_in_one_bar_the_stop_is_taken(self) -> None:
        desk = self.guarded((100, 112, 94, 100))
        desk.bar()
        assert fills(desk)[1:] == ["sell 10 X at 95: stop"]

    def test_b104_of_both_in_one_bar_the_target_is_taken_where_the_rules_say_so(self) -> None:
        desk = self.guarded((100, 112, 94, 100), rules=replace(FREE, both_in_one_bar="target_first"))
        desk.bar()
        assert fills(desk)[1:] == ["sell 10 X at 110: target"]

    def test_b105_an_open_below_the_stop_is_its_price(self) -> None:
        desk = self.guarded((92, 93, 91, 92))
        desk.bar()
        assert fills(desk)[1:] == ["sell 10 X at 92: stop"]

    def test_b106_an_open_above_the_target_is_its_price(self) -> None:
        desk = self.guarded((115, 116, 94, 115))
        desk.bar()
        assert fills(desk)[1:] == ["sell 10 X at 115: target"]

    def test_b107_a_market_entry_can_be_stopped_on_its_own_bar(self) -> None:
        desk = self.desk((100, 101, 94, 96))
        desk.broker.submit_order("X", 10, "buy", bracket=LONG)
        desk.bar()
        assert fills(desk) == ["buy 10 X at 100: market", "sell 10 X at 95: stop"]

    def test_b108_a_market_entry_can_reach_its_target_on_its_own_bar(self) -> None:
        desk = self.desk((100, 112, 99, 111))
        desk.broker.submit_order("X", 10, "buy", bracket=LONG)
        desk.bar()
        assert fills(desk) == ["buy 10 X at 100: market", "sell 10 X at 110: target"]

    def test_b109_a_limit_entry_does_not_reach_its_target_on_its_own_bar(self) -> None:
        # 104 may have been before 98 was: the target counts from the next bar on.
        desk = self.desk((100, 104, 97, 99), (99, 103, 98, 102))
        desk.broker.submit_order("X", 10, "buy", "limit", limit_price=98, bracket=Bracket(sl=95, tp=103))
        desk.bar()
        assert (fills(desk), held(desk)) == (["buy 10 X at 98: limit"], "10")
        desk.bar()
        assert fills(desk)[1:] == ["sell 10 X at 103: target"]

    def test_b110_a_limit_entry_can_be_stopped_on_its_own_bar(self) -> None:
        # From 100 down to 94 the price passes 98 before 95.
        desk = self.desk((100, 104, 94, 96))
        desk.broker.submit_order("X", 10, "buy", "limit", limit_price=98, bracket=Bracket(sl=95, tp=103))
        desk.bar()
        assert fills(desk) == ["buy 10 X at 98: limit", "sell 10 X at 95: stop"]

    def test_b111_a_stop_entry_can_reach_its_target_on_its_own_bar(self) -> None:
        # From 101 up to 109 the price passes 103 before 108.
        desk = self.desk((101, 109, 100.5, 107))
        desk.broker.submit_order("X", 10, "buy", "stop", stop_price=103, bracket=Bracket(sl=100, tp=108))
        desk.bar()
        assert fills(desk) == ["buy 10 X at 103: stop", "sell 10 X at 108: target"]

    def test_b112_a_stop_entry_with_both_in_its_own_bar_is_stopped(self) -> None:
        desk = self.desk((101, 109, 99, 104))
        desk.broker.submit_order("X", 10, "buy", "stop", stop_price=103, bracket=Bracket(sl=100, tp=108))
        desk.bar()
        assert fills(desk) == ["buy 10 X at 103: stop", "sell 10 X at 100: stop"]

    def test_b113_the_guard_that_is_hit_cancels_the_other(self) -> None:
        desk = self.guarded((100, 100, 94, 96), (96, 115, 90, 100))
        desk.bar()
        desk.bar()
        assert fills(desk)[1:] == ["sell 10 X at 95: stop"]
        assert (held(desk), desk.broker.get_orders(open_only=True)) == ("0", [])

    def test_b114_an_entry_at_an_open_beyond_its_stop_is_stopped_there(self) -> None:
        # The stop at 95 was passed before there was anything to guard: 90 is all that anybody pays.
        desk = self.desk((90, 92, 88, 91))
        desk.broker.submit_order("X", 10, "buy", bracket=LONG)
        desk.bar()
        assert fills(desk) == ["buy 10 X at 90: market", "sell 10 X at 90: stop"]

    def test_b115_an_entry_at_an_open_beyond_its_target_is_closed_there(self) -> None:
        desk = self.desk((112, 113, 111, 112))
        desk.broker.submit_order("X", 10, "buy", bracket=LONG)
        desk.bar()
        assert fills(desk) == ["buy 10 X at 112: market", "sell 10 X at 112: target"]

    def test_b116_a_limit_entry_at_an_open_below_its_stop_is_stopped_there(self) -> None:
        desk = self.desk((90, 92, 88, 91))
        desk.broker.submit_order("X", 10, "buy", "limit", limit_price=98, bracket=LONG)
        desk.bar()
        assert fills(desk) == ["buy 10 X at 90: limit", "sell 10 X at 90: stop"]

    def test_b117_the_stop_of_a_short_position_buys_it_back(self) -> None:
        desk = self.guarded((100, 106, 99, 104), side="sell")
        desk.bar()
        assert fills(desk) == ["sell 10 X at 100: market", "buy 10 X at 105: stop"]
        assert cash(desk) == "9950"

    def test_b118_the_target_of_a_short_position_buys_it_back(self) -> None:
        desk = self.guarded((100, 101, 89, 92), side="sell")
        desk.bar()
        assert fills(desk)[1:] == ["buy 10 X at 90: target"]
        assert cash(desk) == "10100"

    def test_b119_an_open_above_the_stop_of_a_short_position_is_its_price(self) -> None:
        desk = self.guarded((109, 110, 108, 109), side="sell")
        desk.bar()
        assert fills(desk)[1:] == ["buy 10 X at 109: stop"]

    def test_b120_guards_close_what_is_left_of_a_position(self) -> None:
        desk = self.guarded(QUIET, (100, 100, 94, 96))
        desk.broker.submit_order("X", 4, "sell")
        desk.bar()
        desk.bar()
        assert fills(desk)[1:] == ["sell 4 X at 100: market", "sell 6 X at 95: stop"]

    def test_b121_guards_go_with_the_position(self) -> None:
        desk = self.guarded(QUIET, (100, 115, 90, 100))
        desk.broker.close_position("X")
        desk.bar()
        desk.bar()
        assert fills(desk)[1:] == ["sell 10 X at 100: close"]

    def test_b122_each_entry_has_its_own_guards(self) -> None:
        desk = self.guarded((102, 102, 102, 102), (102, 102, 96, 97), (97, 97, 94, 95))
        desk.broker.submit_order("X", 5, "buy", bracket=Bracket(sl=97))
        desk.bar()
        desk.bar()
        assert (fills(desk)[2:], held(desk)) == (["sell 5 X at 97: stop"], "10")
        desk.bar()
        assert fills(desk)[3:] == ["sell 10 X at 95: stop"]
