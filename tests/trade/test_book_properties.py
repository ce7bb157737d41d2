"""What holds for any orders on any bars."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal

import numpy as np
import pytest
from hypothesis import given, settings

from ringfence.markets.paper import PaperBroker
from ringfence.trade import results
from ringfence.trade.bars import Bars
from ringfence.trade.book import Book, Filled
from ringfence.trade.engine import Engine
from ringfence.trade.intents import Intent
from ringfence.trade.run import FillRules
from ringfence.trade.simulated import BacktestBroker

from tests.trade.wishes import Wish, Wishes, free, many_wishes, rules, several_bars

EXAMPLES = settings(max_examples=100, deadline=None)


def play(bars: Bars, asked: Sequence[Wish], fill_rules: FillRules, strategy: Wishes | None = None) -> Book:
    engine = Engine(bars, strategy or Wishes(asked), {}, fill_rules)
    engine.play()
    return engine.book


def every_bar(bars: Bars, log: Sequence[Intent], fill_rules: FillRules) -> Book:
    """The same orders in a loop that leaves out no bar."""
    broker = BacktestBroker(bars, fill_rules)
    book = broker.book
    while broker.advance():
        for intent in [i for i in log if i.now == book.now]:
            if intent.action == "order":
                book.submit(intent)
            elif intent.action == "close":
                lot = None if intent.ref is None else book.lots[intent.ref]
                book.close(book.markets[intent.market], intent.portion or 0.0, lot=lot, reason=intent.reason)
            elif intent.action == "cancel":
                book.cancel(book.orders[intent.ref or 0])
            else:
                book.amend(book.lots[intent.ref or 0], intent.sl, intent.tp, intent.trail_pct)
    if fill_rules.close_at_end:
        book.close_out()
    return book


def as_rows(fills: Sequence[Filled]) -> list[tuple[object, ...]]:
    return [(f.order_id, f.now, f.market, f.quantity, f.price, f.fee, f.reason) for f in fills]


def ends(book: Book) -> list[tuple[str, str]]:
    return [(order.status, order.reason) for order in book.orders]


@given(several_bars(), many_wishes, rules)
@EXAMPLES
def test_cash_and_positions_are_the_equity_on_every_bar(bars: Bars, asked: list[Wish], fill_rules: FillRules) -> None:
    def look(book: Book) -> None:
        cash, held = fill_rules.cash, defaultdict[int, float](float)
        for fill in book.fills:
            cash -= fill.quantity * fill.price + fill.fee
            held[fill.market] += fill.quantity
        worth = cash + sum(quantity * book.markets[k].last for k, quantity in held.items())
        assert math.isclose(book.cash, cash, abs_tol=1e-6)
        assert math.isclose(book.equity(), worth, abs_tol=1e-6)
        for k, quantity in held.items():
            assert math.isclose(book.markets[k].holding.size, quantity, abs_tol=1e-6)

    look(play(bars, asked, fill_rules, Wishes(asked, look)))


@given(several_bars(), many_wishes, rules)
@EXAMPLES
def test_leaving_out_bars_that_nothing_can_feel_changes_nothing(
    bars: Bars, asked: list[Wish], fill_rules: FillRules
) -> None:
    book = play(bars, asked, fill_rules)
    slow = every_bar(bars, book.log, fill_rules)
    assert as_rows(slow.fills) == as_rows(book.fills)
    assert (slow.cash, slow.equity(), slow.ruined) == (book.cash, book.equity(), book.ruined)
    assert ends(slow) == ends(book)


@given(several_bars(), many_wishes, rules)
@EXAMPLES
def test_the_last_point_of_the_curve_is_the_equity_and_the_trades_add_up_to_it(
    bars: Bars, asked: list[Wish], fill_rules: FillRules
) -> None:
    book = play(bars, asked, fill_rules)
    curve = results.curves(book, bars)
    assert math.isclose(float(curve.equity[-1]), book.equity(), abs_tol=1e-6)
    gained = sum(trade.pnl for trade in results.trades(book, bars.timeline().tolist()))
    assert math.isclose(fill_rules.cash + gained, book.equity(), abs_tol=1e-6)


@given(several_bars(), many_wishes, rules)
@EXAMPLES
def test_no_fill_is_outside_its_bar_and_none_is_on_the_bar_of_its_order(
    bars: Bars, asked: list[Wish], fill_rules: FillRules
) -> None:
    book = play(bars, asked, replace(fill_rules, costs=free))  # before slippage and spread
    timeline = bars.timeline().tolist()
    candles = list(bars.candles.values())
    for fill in book.fills:
        order = book.orders[fill.order_id]
        if fill.reason not in ("end", "ruin"):
            assert order.intent.now < fill.now
            row = candles[fill.market].time.tolist().index(timeline[fill.now])  # there is a bar at all
            assert candles[fill.market].low[row] <= fill.price <= candles[fill.market].high[row]
        if not fill_rules.fractional:
            assert fill.quantity % 1 == 0


@given(several_bars(), many_wishes, rules)
@EXAMPLES
def test_every_order_ends_or_waits(bars: Bars, asked: list[Wish], fill_rules: FillRules) -> None:
    book = play(bars, asked, fill_rules)
    waiting = {order.id for market in book.markets for order in market.orders}
    filled = {fill.order_id for fill in book.fills}
    for order in book.orders:
        assert (order.status == "open") == (order.id in waiting)
        assert order.status in ("open", "filled", "cancelled", "rejected", "expired")
        assert order.reason or order.status in ("open", "filled")
        assert (order.status == "filled") == (order.id in filled)
        assert order.status != "filled" or (order.filled > 0 and order.price is not None)
    for market in book.markets:
        signs = {lot.quantity > 0 for lot in market.holding}
        assert len(signs) <= 1, "long and short at once"
        assert all(abs(lot.quantity) > 1e-9 for lot in market.holding)


@given(several_bars(), many_wishes, rules)
@EXAMPLES
def test_a_cash_account_never_owes_anything(bars: Bars, asked: list[Wish], fill_rules: FillRules) -> None:
    def look(book: Book) -> None:
        assert book.cash > -1e-6

    cash_only = replace(fill_rules, margin=1.0, shorting=False, costs=replace(fill_rules.costs, minimum=0.0))
    look(play(bars, asked, cash_only, Wishes(asked, look)))


@given(several_bars(), many_wishes, rules)
@EXAMPLES
def test_the_past_does_not_depend_on_the_future(bars: Bars, asked: list[Wish], fill_rules: FillRules) -> None:
    timeline = bars.timeline()
    cut = len(timeline) // 2
    lasting = replace(fill_rules, close_at_end=False)
    short = play(bars.until(int(timeline[cut])), asked, lasting)
    long = play(bars, asked, lasting)
    assert as_rows(short.fills) == [row for row in as_rows(long.fills) if row[1] <= cut]  # type: ignore[operator]


@pytest.mark.parametrize("fractional", [False, True])
def test_random_orders_meet_enough_fills_to_mean_something(fractional: bool) -> None:
    """The properties above would hold for a book that does nothing: this one looks at what the wishes come to."""
    seen: set[str] = set()

    @given(several_bars(), many_wishes, rules)
    @settings(max_examples=1_000, deadline=None, database=None)
    def collect(bars: Bars, asked: list[Wish], fill_rules: FillRules) -> None:
        book = play(bars, asked, replace(fill_rules, fractional=fractional))
        seen.update(fill.reason for fill in book.fills)
        seen.update(order.status for order in book.orders)

    collect()
    assert seen >= {"market", "limit", "stop", "target", "trailing_stop"}  # rarer ones have cases of their own
    assert seen >= {"open", "filled", "cancelled", "rejected"}


@given(several_bars(), many_wishes, rules)
@EXAMPLES
def test_decimals_and_floats_come_to_the_same(bars: Bars, asked: list[Wish], fill_rules: FillRules) -> None:
    """Where floats are exact, paper trading is the backtest; a fraction of a price may round to the other side."""
    exact = replace(fill_rules, costs=free, fractional=False, close_at_end=False)
    plain = [
        w._replace(fractions=False, trail=None, tif="gtc" if w.tif == "day" else w.tif)
        for w in asked
        if w.what == "order" and w.kind != "trailing_stop"
    ]
    book = play(bars, plain, exact)
    moment = 0
    paper = PaperBroker(bars.symbols, exact, clock=lambda: moment)
    for now, time in enumerate(bars.timeline().tolist()):
        shown = {}
        for symbol, c in bars.candles.items():
            for row in np.flatnonzero(c.time == time).tolist():
                shown[symbol] = tuple(Decimal(str(column[row])) for column in (c.open, c.high, c.low, c.close))
        paper.show_bars(time, shown)
        moment = time + 1 if now + 1 == len(bars.timeline()) else int(bars.timeline()[now + 1])
        for intent in book.log:
            if intent.now == now:
                paper.book.submit(intent)
    wanted = [(f.order_id, f.market, Decimal(str(f.quantity)), Decimal(str(f.price)), f.reason) for f in book.fills]
    got: list[object] = [(f.order_id, f.market, f.quantity, f.price, f.reason) for f in paper.book.fills]
    assert got == wanted
    assert float(paper.book.equity()) == book.equity()
