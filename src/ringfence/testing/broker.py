"""BrokerSuite: what every broker must do, as numbered cases that a broker's test class inherits.

    class TestMine(BrokerSuite):
        known_gaps = {"test_b017_a_high_moves_a_trailing_stop_from_the_next_bar_on": "the venue follows every tick"}

        def make(self, rules: FillRules, prices: Prices, *, bars_per_day: int = 1) -> Desk:
            ...     # a broker that has seen the first row of the prices, and a way to let it see the next

A case that the broker cannot fulfil is declared in `known_gaps` with its reason. It still runs and is reported as an
expected failure; when it begins to pass, it fails, so that no gap outlives its reason. Numbers are never given twice:
a case that goes leaves a hole.

    B001–B029  broker_orders.py     kinds of orders and how long they last
    B101–B122  broker_guards.py     stops and targets
    B201–B216  broker_refusals.py   what is rejected, and what raises
    B301–B313  broker_costs.py      fees, slippage, spread
    B401–B424  broker_accounts.py   cash, margin, short sales, several instruments
"""

from __future__ import annotations

from ringfence.testing.broker_accounts import AccountCases
from ringfence.testing.broker_costs import CostCases
from ringfence.testing.broker_guards import GuardCases
from ringfence.testing.broker_orders import OrderCases
from ringfence.testing.broker_refusals import RefusalCases
from ringfence.testing.suite import Suite


class BrokerSuite(OrderCases, GuardCases, RefusalCases, CostCases, AccountCases, Suite):
    def test_no_number_is_given_twice(self) -> None:
        numbers = [name[:9] for name in dir(self) if name.startswith("test_b") and name[6:9].isdecimal()]
        assert len(set(numbers)) == len(numbers)
