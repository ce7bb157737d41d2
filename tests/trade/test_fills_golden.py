"""Fills that only a strategy can ask for: shares of the cash, weights, trailing guards, parts of lots."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ringfence.base.errors import OrderError
from ringfence.testing.broker_desk import FREE, NO_COSTS, QUIET, Prices, Row, text
from ringfence.trade.book import Book
from ringfence.trade.intents import Intent
from ringfence.trade.run import Costs, FillRules
from ringfence.trade.simulated import BacktestBroker

from tests.trade.test_backtest_broker import make_bars

FRACTIONS = replace(FREE, fractional=True)


class Pit:
    """A book one bar into its prices, and the orders given to it."""

    def __init__(self, *rows: Row, rules: FillRules = FREE, prices: Prices | None = None) -> None:
        self._broker = BacktestBroker(make_bars(prices or {"X": [QUIET, *rows]}), rules)
        self.bar()

    @property
    def book(self) -> Book:
        return self._broker.book

    def bar(self, times: int = 1) -> None:
        for _ in range(times):
            assert self._broker.advance()

    def order(self, sign: int = 1, quantity: float | None = None, market: int = 0, **more: object) -> int:
        intent = Intent(self.book.now, "order", market, sign, quantity)._replace(**more)  # type: ignore[arg-type]
        return self.book.submit(intent).id

    def fills(self) -> list[str]:
        return [
            f"{'buy' if f.quantity > 0 else 'sell'} {text(abs(f.quantity))} at {text(f.price)}: {f.reason}"
            for f in self.book.fills
        ]

    def ended(self, number: int = -1) -> tuple[str, str]:
        order = self.book.orders[number]
        return (order.status, order.reason)


def test_a_share_of_the_cash_is_rounded_down_to_whole_shares() -> None:
    pit = Pit((99, 99, 99, 99))
    pit.order(fraction=0.5)
    pit.bar()
    assert pit.fills() == ["buy 50 at 99: market"]  # 5,000 / 99 is 50.5


def test_a_share_of_the_cash_leaves_room_for_its_fee() -> None:
    pit = Pit(QUIET, rules=replace(FRACTIONS, costs=replace(NO_COSTS, percent=0.25)))
    pit.order(fraction=0.5)
    pit.bar()
    assert pit.fills() == ["buy 40 at 100: market"]  # 4,000 and a quarter of that
    assert text(pit.book.cash) == "5000"


def test_a_share_of_the_cash_leaves_room_for_the_least_fee() -> None:
    pit = Pit(QUIET, rules=replace(FREE, cash=1000, costs=replace(NO_COSTS, percent=0.001, minimum=150)))
    pit.order(fraction=0.999)
    pit.bar()
    assert (pit.fills(), text(pit.book.cash)) == (["buy 8 at 100: market"], "50")  # 849 / 100 is 8


def test_a_share_that_buys_nothing_is_rejected_with_the_price_of_one() -> None:
    pit = Pit(QUIET, rules=replace(FREE, cash=50))
    pit.order(fraction=0.9)
    pit.bar()
    assert pit.ended() == ("rejected", "50.00 can be spent, and one share costs 100.00: see --cash and --fractional")


def test_a_weight_for_which_there_is_no_money_is_rejected_and_not_left_waiting() -> None:
    pit = Pit(prices={"X": [QUIET] * 3, "Y": [QUIET] * 3})
    pit.order(quantity=100)
    pit.bar()
    pit.order(market=1, target=0.5)
    pit.bar()
    assert pit.ended()[0] == "rejected"
    assert pit.book.markets[1].orders == []


def test_a_trailing_guard_follows_the_best_price_since_the_entry() -> None:
    pit = Pit(QUIET, (100, 120, 100, 118), (118, 119, 113, 114), (114, 114, 107, 110))
    pit.order(quantity=10, trail_pct=0.1)
    pit.bar(3)
    assert pit.fills() == ["buy 10 at 100: market"]
    assert text(pit.book.markets[0].holding[0].sl) == "108"
    pit.bar()
    assert pit.fills()[1:] == ["sell 10 at 108: trailing_stop"]


def test_the_bar_of_a_market_entry_moves_its_trailing_guard() -> None:
    pit = Pit((100, 120, 100, 118), (110, 110, 107, 109))
    pit.order(quantity=10, trail_pct=0.1)
    pit.bar(2)
    assert pit.fills()[1:] == ["sell 10 at 108: trailing_stop"]


def test_a_high_before_a_limit_entry_does_not_move_its_trailing_guard() -> None:
    # The bar was at 120 before it fell to 100, or not: only its close, 102, is known to have come after the entry.
    pit = Pit((110, 120, 99, 102), (102, 103, 93, 94), (94, 94, 90, 90))
    pit.order(quantity=10, kind="limit", limit=100.0, trail_pct=0.1)
    pit.bar()
    assert text(pit.book.markets[0].holding[0].sl) == "91.8"
    pit.bar()
    assert pit.fills() == ["buy 10 at 100: limit"]
    pit.bar()
    assert pit.fills()[1:] == ["sell 10 at 92.7: trailing_stop"]  # 10 % below 103


def test_a_trailing_guard_of_a_short_sale_follows_the_lowest_price() -> None:
    pit = Pit(QUIET, (100, 100, 80, 82), (82, 89, 82, 88))
    pit.order(-1, 10, trail_pct=0.1)
    pit.bar(3)
    assert pit.fills()[1:] == ["buy 10 at 88: trailing_stop"]


def test_the_nearer_of_stop_and_trailing_guard_counts() -> None:
    pit = Pit(QUIET, (100, 104, 100, 104), (104, 104, 94, 95))
    pit.order(quantity=10, sl=95.0, trail_pct=0.1)
    pit.bar(3)
    assert pit.fills()[1:] == ["sell 10 at 95: stop"]  # the trailing one is at 93.6


def test_guards_can_be_moved_and_count_from_the_next_bar_on() -> None:
    pit = Pit(QUIET, (100, 101, 96, 98), (98, 99, 97, 98), QUIET)
    pit.order(quantity=10)
    pit.bar(2)
    pit.book.markets[0].holding[0].sl = 97.5
    pit.bar()
    assert pit.fills()[1:] == ["sell 10 at 97.5: stop"]


def test_a_stop_that_was_moved_past_the_price_fills_at_the_open() -> None:
    pit = Pit(QUIET, (98, 99, 97, 98))
    pit.order(quantity=10)
    pit.bar()
    pit.book.markets[0].holding[0].sl = 150.0
    pit.bar()
    assert pit.fills()[1:] == ["sell 10 at 98: stop"]


@pytest.mark.parametrize(
    ("name", "value"),
    [("sl", float("nan")), ("sl", -1.0), ("tp", 0.0), ("tp", float("inf")), ("trail", 1.0), ("trail", -0.1)],
)
def test_guards_cannot_be_moved_where_no_price_is(name: str, value: float) -> None:
    pit = Pit(QUIET)
    pit.order(quantity=10, sl=90.0)
    pit.bar()
    lot, logged = pit.book.lots[0], len(pit.book.log)
    with pytest.raises(OrderError, match=name):
        setattr(lot, name, value)
    assert (lot.sl, lot.tp, lot.trail, len(pit.book.log)) == (90.0, None, None, logged)


def test_a_part_of_a_position_is_rounded_to_whole_shares() -> None:
    pit = Pit(QUIET, QUIET, QUIET)
    pit.order(quantity=100)
    pit.bar()
    pit.book.close(pit.book.markets[0], 0.29)  # 28.999999999999996 in floats
    pit.bar()
    pit.book.close(pit.book.markets[0], 0.001)  # at least one
    pit.bar()
    assert pit.fills()[1:] == ["sell 29 at 100: close", "sell 1 at 100: close"]


def test_a_part_of_one_lot_leaves_the_others_alone() -> None:
    pit = Pit(QUIET, QUIET, QUIET)
    pit.order(quantity=10)
    pit.order(quantity=20)
    pit.bar()
    pit.book.lots[1].close(0.5)
    pit.bar()
    assert [lot.quantity for lot in pit.book.markets[0].holding] == [10, 10]
    assert [(c.lot_id, c.quantity, c.partial) for c in pit.book.closed] == [(1, 10, True)]


def test_a_part_carries_its_part_of_the_entry_fee() -> None:
    pit = Pit(QUIET, QUIET, QUIET, rules=replace(FREE, costs=replace(NO_COSTS, percent=0.01)))
    pit.order(quantity=10)
    pit.bar()
    pit.order(-1, 4)
    pit.bar()
    pit.order(-1, 6)
    pit.bar()
    assert [text(c.fees) for c in pit.book.closed] == ["8", "12"]  # 4 of the 10 and 4; 6 of the 10 and 6
    assert text(pit.book.cash) == "9980"


@pytest.mark.parametrize("portion", [0.0, -1.0, 1.5, float("nan")])
def test_a_portion_that_is_none_is_rejected(portion: float) -> None:
    pit = Pit(QUIET, QUIET)
    pit.order(quantity=10)
    pit.bar()
    pit.book.close(pit.book.markets[0], portion)
    pit.bar()
    assert (pit.ended()[0], len(pit.fills())) == ("rejected", 1)


def test_closing_twice_closes_once() -> None:
    pit = Pit(QUIET, QUIET)
    pit.order(quantity=10)
    pit.bar()
    for _ in range(2):
        pit.book.close(pit.book.markets[0])
    pit.bar()
    assert pit.fills()[1:] == ["sell 10 at 100: close"]
    assert pit.ended() == ("cancelled", "there is nothing left to close")


def test_a_stop_limit_that_fills_at_its_stop_can_reach_its_target_on_its_own_bar() -> None:
    pit = Pit((100, 110, 100, 108))
    pit.order(quantity=10, kind="stop_limit", stop=103.0, limit=104.0, tp=108.0)
    pit.bar()
    assert pit.fills() == ["buy 10 at 103: limit", "sell 10 at 108: target"]


def test_a_stop_limit_that_was_triggered_before_counts_as_a_limit() -> None:
    pit = Pit((106, 107, 105, 106), (106, 109, 103, 105))
    pit.order(quantity=10, kind="stop_limit", stop=103.0, limit=104.0, tp=108.0)
    pit.bar(2)
    assert pit.fills() == ["buy 10 at 104: limit"]


def test_both_guards_in_one_bar_are_counted_for_new_lots_too() -> None:
    pit = Pit((101, 109, 99, 104), rules=replace(FREE, both_in_one_bar="target_first"))
    pit.order(quantity=10, kind="stop", stop=103.0, sl=100.0, tp=108.0)
    pit.bar()
    assert (pit.fills()[1:], pit.book.both_in_one_bar) == (["sell 10 at 108: target"], 1)


def test_a_trailing_entry_below_its_own_stop_is_stopped_where_it_is_filled() -> None:
    pit = Pit((100, 100, 80, 82), (82, 90, 82, 89))  # in at 88, 10 % above 80, and 95 is above that
    pit.order(quantity=10, kind="trailing_stop", trail=0.1, sl=95.0)
    pit.bar(2)
    assert pit.fills() == ["buy 10 at 88: trailing_stop", "sell 10 at 88: stop"]


def test_stops_are_met_before_limits() -> None:
    pit = Pit((100, 106, 94, 100))
    pit.order(-1, 10, kind="limit", limit=105.0)
    pit.order(1, 10, kind="stop", stop=103.0)
    pit.bar()
    assert pit.fills() == ["buy 10 at 103: stop", "sell 10 at 105: limit"]


def test_a_stop_out_that_costs_more_than_there_is_ruins_the_account() -> None:
    pit = Pit(QUIET, (250, 250, 250, 250), QUIET)
    pit.order(-1, 90, sl=110.0)
    pit.bar(2)
    assert pit.fills()[1:] == ["buy 90 at 250: stop"]
    assert (pit.book.equity(), pit.book.ruined) == (-3500.0, 2)
    pit.order(quantity=1)
    assert pit.ended() == ("rejected", "the account is worth nothing")


def test_money_that_other_positions_tie_up_cannot_be_spent_twice() -> None:
    pit = Pit(prices={"X": [QUIET] * 4, "Y": [QUIET] * 4}, rules=replace(FREE, margin=0.5))
    pit.order(quantity=150)
    pit.bar()
    pit.order(quantity=60, market=1)  # 2,500 are left, which is worth 5,000 of positions
    pit.bar()
    assert pit.ended() == ("rejected", "60 at 100 need 3,000.00, and 2,500.00 can be spent")
    pit.order(quantity=50, market=1)
    pit.bar()
    assert (pit.ended()[0], pit.book.cash, pit.book.spendable()) == ("filled", -10_000, 0)


def test_a_stop_beyond_the_target_is_rejected_where_the_entry_is_not_known_yet() -> None:
    pit = Pit(QUIET)
    pit.order(quantity=10, kind="trailing_stop", trail=0.1, sl=110.0, tp=90.0)
    pit.order(-1, 10, kind="trailing_stop", trail=0.1, sl=90.0, tp=110.0)
    assert [order.status for order in pit.book.orders] == ["rejected"] * 2


def test_an_absurd_weight_is_rejected() -> None:
    pit = Pit(QUIET)
    pit.order(target=1e299)
    pit.order(target=float("nan"))
    pit.order(target=0.5, kind="limit", limit=90.0)
    assert [order.status for order in pit.book.orders] == ["rejected"] * 3


def test_costs_of_all_kinds_at_once() -> None:
    costs = Costs(percent=0.001, per_share=0.01, minimum=1, slippage_bps=4, spread_bps=2)  # 5 bps against you
    pit = Pit(QUIET, (110, 110, 110, 110), rules=replace(FREE, costs=costs))
    pit.order(quantity=10)
    pit.bar()
    pit.book.close(pit.book.markets[0])
    pit.bar()
    # 100.05 × 10 = 1,000.50 and 1.0005 + 0.10; 109.945 × 10 = 1,099.45 and 1.09945 + 0.10
    assert pit.fills() == ["buy 10 at 100.05: market", "sell 10 at 109.945: close"]
    assert text(pit.book.cash) == "10096.65005"


def test_an_account_is_ruined_once() -> None:
    pit = Pit(QUIET, (40, 40, 40, 40), QUIET, QUIET, rules=replace(FREE, margin=0.5))
    pit.order(quantity=200)
    pit.bar(4)
    assert (pit.book.ruined, pit.fills()[1:]) == (2, ["sell 200 at 40: ruin"])
