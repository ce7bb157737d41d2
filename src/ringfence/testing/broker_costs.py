"""B301–B313: fees, slippage and spread, each alone and together."""

from __future__ import annotations

from dataclasses import replace

from ringfence.testing.broker_desk import FREE, NO_COSTS, BrokerCases, Desk, Row, cash, fills, text
from ringfence.trade.orders import Bracket
from ringfence.trade.run import Costs, FillRules

UP: Row = (110, 110, 110, 110)


def charging(costs: Costs) -> FillRules:
    return replace(FREE, costs=costs)


def fees(desk: Desk) -> list[str]:
    return [text(fill.fee) for fill in desk.fills()]


class CostCases(BrokerCases):
    def round_trip(self, costs: Costs, *, sold: float = 10) -> Desk:
        """10 bought at 100, and `sold` of them sold at 110."""
        desk = self.holding(UP, rules=charging(costs))
        desk.broker.submit_order("X", sold, "sell")
        desk.bar()
        return desk

    def test_b301_a_percentage_is_charged_on_both_ways(self) -> None:
        desk = self.round_trip(replace(NO_COSTS, percent=0.001))
        assert fees(desk) == ["1", "1.1"]  # of 1,000 and of 1,100
        assert cash(desk) == "10097.9"

    def test_b302_a_fee_per_share_is_charged_on_both_ways(self) -> None:
        desk = self.round_trip(replace(NO_COSTS, per_share=0.05))
        assert fees(desk) == ["0.5", "0.5"]
        assert cash(desk) == "10099"

    def test_b303_a_minimum_is_charged_on_each_fill(self) -> None:
        desk = self.round_trip(replace(NO_COSTS, minimum=5))
        assert fees(desk) == ["5", "5"]
        assert cash(desk) == "10090"

    def test_b304_fees_add_up_before_the_minimum_is_looked_at(self) -> None:
        desk = self.round_trip(replace(NO_COSTS, percent=0.001, per_share=0.05, minimum=1.55))
        assert fees(desk) == ["1.55", "1.6"]  # 1 + 0.5 is less than 1.55; 1.1 + 0.5 is more
        assert cash(desk) == "10096.85"

    def test_b305_a_part_pays_for_itself(self) -> None:
        desk = self.round_trip(replace(NO_COSTS, percent=0.001), sold=4)
        assert fees(desk) == ["1", "0.44"]
        assert cash(desk) == "9438.56"  # 10,000 - 1,001 + 440 - 0.44

    def test_b306_a_part_pays_the_minimum(self) -> None:
        desk = self.round_trip(replace(NO_COSTS, percent=0.001, minimum=0.75), sold=4)
        assert fees(desk) == ["1", "0.75"]

    def test_b307_slippage_worsens_market_orders(self) -> None:
        desk = self.round_trip(replace(NO_COSTS, slippage_bps=10))
        assert fills(desk) == ["buy 10 X at 100.1: market", "sell 10 X at 109.89: market"]
        assert cash(desk) == "10097.9"

    def test_b308_half_the_spread_worsens_market_orders(self) -> None:
        desk = self.round_trip(replace(NO_COSTS, spread_bps=20))
        assert fills(desk) == ["buy 10 X at 100.1: market", "sell 10 X at 109.89: market"]

    def test_b309_slippage_and_spread_add_up(self) -> None:
        desk = self.round_trip(replace(NO_COSTS, slippage_bps=10, spread_bps=20))
        assert fills(desk) == ["buy 10 X at 100.2: market", "sell 10 X at 109.78: market"]

    def test_b310_a_limit_order_and_a_target_get_their_price(self) -> None:
        desk = self.desk((99, 99, 97, 98), (98, 104, 98, 103), rules=charging(replace(NO_COSTS, slippage_bps=10)))
        desk.broker.submit_order("X", 10, "buy", "limit", limit_price=98, bracket=Bracket(tp=103))
        desk.bar()
        desk.bar()
        assert fills(desk) == ["buy 10 X at 98: limit", "sell 10 X at 103: target"]

    def test_b311_slippage_worsens_stops(self) -> None:
        desk = self.desk((100, 104, 99, 103), (103, 103, 94, 96), rules=charging(replace(NO_COSTS, slippage_bps=10)))
        desk.broker.submit_order("X", 10, "buy", "stop", stop_price=103, bracket=Bracket(sl=95))
        desk.bar()
        desk.bar()
        assert fills(desk) == ["buy 10 X at 103.103: stop", "sell 10 X at 94.905: stop"]  # 103 × 1.001, 95 × 0.999

    def test_b312_a_fee_must_be_paid_for_too(self) -> None:
        rules = replace(FREE, cash=1000, costs=replace(NO_COSTS, percent=0.001))
        desk = self.desk(UP, UP, rules=rules)
        ten = desk.broker.submit_order("X", 10, "buy", "limit", limit_price=100)
        desk.broker.cancel_order(ten.id)
        nine = desk.broker.submit_order("X", 9, "buy")  # 990 and 0.99
        desk.bar()
        assert (fills(desk), cash(desk)) == (["buy 9 X at 110: market"], "9.01")
        assert desk.broker.get_order(nine.id).status == "filled"

    def test_b313_what_can_be_paid_for_but_for_its_fee_is_rejected(self) -> None:
        rules = replace(FREE, cash=1100, costs=replace(NO_COSTS, percent=0.001))
        desk = self.desk(UP, rules=rules)
        order = desk.broker.submit_order("X", 10, "buy")  # 1,100 and 1.1
        desk.bar()
        assert (desk.broker.get_order(order.id).status, cash(desk)) == ("rejected", "1100")
