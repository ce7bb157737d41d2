"""The market's side of a simulation: orders rest here until a bar meets them, and become fills, lots and trades.

A backtest inside the fence, its replay outside and paper trading all run on this one Book, so they cannot differ.

What happens on a bar, in this order (docs/engine.md has it with its reasons):
1. at the open   stops and targets that the open has passed; then market orders and orders that the open has passed,
                 those that reduce a position first, so that what they free can be spent
2. within it     stops, then targets, of what is held; then resting orders, stops before limits; then the guards of
                 what these opened
3. at its close  trailing stops move, orders of the day end, an account worth nothing is closed out

`floor` and `ceiling` of a market are the band within which no price can do anything: a caller may leave out `step`
for a bar that stays inside it, which is most of them.

Numbers are floats here as far as types go. Paper trading hands in Decimals, prices and all, and `number` to make more
of them: the arithmetic is written so that either kind stays what it is.
"""

from __future__ import annotations

import difflib
import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

from ringfence.base.errors import OrderError
from ringfence.trade import fills
from ringfence.trade.intents import MOST_REASON, Intent, amend_fault, guard_fault, order_fault
from ringfence.trade.lots import Holding, Lot
from ringfence.trade.run import FillRules

_INF = math.inf
_CLOSING = tuple(Intent._field_defaults[name] for name in Intent._fields[3:17])


class Market:
    """One instrument as it stands: the bar that is now, and what is held and wanted of it.

    Only this one bar is here, because a strategy can reach this object and is not to find the future in it.
    """

    __slots__ = (
        "book",
        "ceiling",
        "close",
        "day_over",
        "floor",
        "high",
        "holding",
        "index",
        "low",
        "open",
        "orders",
        "quote",
        "shown",
        "stirred",
        "symbol",
    )

    book: Book

    def __init__(self, index: int, symbol: str, last: float) -> None:
        self.index, self.symbol = index, symbol
        self.open = self.high = self.low = self.close = self.shown = last
        self.quote: Callable[[], float] | None = None  # what knows the last price while nobody shows it
        self.day_over = True  # whether this is the last bar of its day by the exchange's clock
        self.orders: list[Pending] = []
        self.holding = Holding()
        self.holding.market = self
        self.floor, self.ceiling = -_INF, _INF
        self.stirred = True  # whether the band is another than the engine last looked for

    @property
    def last(self) -> float:
        """The last price. It is asked for far less often than it changes, so an engine need not set it on every bar."""
        return self.shown if self.quote is None else self.quote()

    def show(self, prices: tuple[float, float, float, float], *, day_over: bool) -> None:
        """Put up the next bar: open, high, low, close."""
        self.open, self.high, self.low, self.close = prices
        self.day_over = day_over


class Pending:
    """An order on its way; `status` says where it ended."""

    __slots__ = (
        "best",
        "filled",
        "id",
        "intent",
        "lot",
        "market",
        "opposes_long",
        "price",
        "quantity",
        "reason",
        "status",
        "triggered",
    )

    def __init__(self, number: int, intent: Intent, market: Market, lot: Lot | None = None) -> None:
        self.id, self.intent, self.market, self.lot = number, intent, market, lot
        self.status = "open"
        self.reason = intent.reason
        self.quantity: float | None = intent.quantity
        self.filled: float = 0
        self.price: float | None = None
        # As things stood when it was given; only an order to close is asked.
        self.opposes_long = intent.action == "close" and market.holding.is_long
        self.triggered = False  # a stop-limit order whose stop was reached
        self.best = market.last if intent.kind == "trailing_stop" else market.shown  # only that kind looks at it


class Filled(NamedTuple):
    """One fill; `quantity` is negative for a sale."""

    order_id: int
    now: int
    market: int
    quantity: float
    price: float
    fee: float
    reason: str


class Closed(NamedTuple):
    """A lot, or a part of one, that is gone."""

    lot_id: int
    market: int
    quantity: float
    opened: int
    entry: float
    entry_reason: str
    closed: int
    exit: float
    exit_reason: str
    fees: float
    partial: bool

    @classmethod
    def of(cls, lot: Lot, quantity: float, now: int, price: float, fees: float, reason: str) -> Closed:
        return cls._make(
            (
                lot.id, lot.market.index, quantity, lot.opened, lot.price, lot.reason, now, price, reason, fees,
                quantity != lot.initial_quantity,
            )
        )  # fmt: skip


class Book:
    def __init__(self, markets: Sequence[Market], rules: FillRules, number: Callable[[str], float] = float) -> None:
        self.number = number
        self.markets, self.rules = markets, rules
        for market in markets:
            market.book = self
        self.cash: float = self.money(rules.cash)
        self.now = -1
        self.fills: list[Filled] = []
        self.closed: list[Closed] = []
        self.orders: list[Pending] = []
        self.log: list[Intent] = []
        self.rejections: list[Pending] = []
        self.both_in_one_bar = 0
        self.accepting = True  # not while a strategy is being set up
        self.ruined: int | None = None  # the bar on which the account was worth nothing
        self.margin, self.percent = self.money(rules.margin), self.money(rules.costs.percent)
        self.per_share, self.minimum = self.money(rules.costs.per_share), self.money(rules.costs.minimum)
        against = self.money(rules.costs.slippage_bps) + self.money(rules.costs.spread_bps) / 2
        self.against: float = against / 10_000
        self.whole = not rules.fractional
        self.free = not any((rules.costs.percent, rules.costs.per_share, rules.costs.minimum))
        self.lots: list[Lot] = []  # all there ever were, by their id
        self.shorts = 0  # how many of those that are held are short

    def money(self, value: float) -> float:
        """A plain number as the kind of number that this book counts in."""
        return value if self.number is float else self.number(str(value))

    def find(self, symbol: str) -> Market:
        for market in self.markets:
            if market.symbol == symbol:
                return market
        known = [market.symbol for market in self.markets]
        near = difflib.get_close_matches(symbol, known, 1)
        hint = f"did you mean {near[0]!r}?" if near else f"there are {', '.join(known[:20])}"
        raise OrderError(f"there is no instrument {symbol!r}: {hint}")

    # What a strategy may ask for: each is written to the log, and done.

    def submit(self, intent: Intent) -> Pending:
        """Take an order; one that cannot be comes back rejected, with its reason."""
        if self.now < 0 or not self.accepting:
            raise OrderError("there is no bar yet: place orders in next(), or in on_start() at the earliest")
        self.log.append(intent)
        market = self.markets[intent.market]
        order = Pending(len(self.orders), intent, market)
        self.orders.append(order)
        fault = order_fault(intent)
        if fault is None and self.whole and intent.quantity is not None and intent.quantity % 1:
            fault = f"{intent.quantity:g} is no whole number: round it, or allow fractions with --fractional"
        if fault is None and self.ruined is not None:
            fault = "the account is worth nothing"
        if fault is None and (intent.sl is not None or intent.tp is not None):
            fault = guard_fault(intent, market.last)
        if fault is not None:
            self.reject(order, fault)
            market.floor, market.stirred = _INF, True  # the next bar is looked at, and the strategy hears of it
        else:
            self._rest(order)
        return order

    def close(self, market: Market, portion: float = 1.0, *, lot: Lot | None = None, reason: str = "") -> Pending:
        """Order the sale of a share of a lot, or of the whole position, at the next open."""
        ref, reason = None if lot is None else lot.id, reason and reason[:MOST_REASON]
        intent = Intent._make((self.now, "close", market.index, *_CLOSING, portion, ref, reason))
        self.log.append(intent)
        order = Pending(len(self.orders), intent, market, lot)
        self.orders.append(order)
        if not 0 < portion <= 1:
            self.reject(order, f"a portion of {portion:g} is not between 0 and 1")
        elif not market.holding:
            self.end(order, "cancelled", "there is nothing left to close")
        else:
            self._rest(order)
        return order

    def cancel(self, order: Pending) -> None:
        self.log.append(Intent(self.now, "cancel", order.market.index, ref=order.id))
        if order.status == "open":
            order.market.orders.remove(order)
            self.end(order, "cancelled", "cancelled by the strategy")
            self.mark_band(order.market)

    def amend(self, lot: Lot, sl: float | None, tp: float | None, trail: float | None) -> None:
        fault = amend_fault(sl, tp, trail)
        if fault is not None:
            raise OrderError(fault)
        self.log.append(Intent(self.now, "amend", lot.market.index, sl=sl, tp=tp, trail_pct=trail, ref=lot.id))
        lot._sl, lot._tp, lot._trail = sl, tp, trail
        self.mark_band(lot.market)

    def _rest(self, order: Pending) -> None:
        order.market.orders.append(order)
        order.market.floor, order.market.stirred = _INF, True  # whatever the next bar brings, it is to be looked at

    # What the account is worth.

    def equity(self) -> float:
        total = self.cash
        for market in self.markets:
            for lot in market.holding:
                total += lot.quantity * market.last
        return total

    def spendable(self) -> float:
        """What new positions may cost: the equity, less what the positions there are tie up."""
        total = self.cash
        for market in self.markets:
            for lot in market.holding:
                value = lot.quantity * market.last
                total += value - abs(value) * self.margin
        return total if total > 0 else total - total

    def fee(self, quantity: float, price: float) -> float:
        if self.free:
            return quantity * 0
        fee = quantity * price * self.percent + quantity * self.per_share
        return fee if fee > self.minimum else self.minimum

    # What the market does.

    def step(self, now: int, active: Sequence[Market]) -> None:
        """Let the bars that were put up for `now` meet the orders of their markets."""
        self.now = now
        due: list[Pending] = []
        for market in active:
            market.shown = market.open
            if market.holding and market.holding.guarded:
                fills.pass_guards(self, market)
            due += market.orders
        if due:
            fills.open_orders(self, due)
        for market in active:
            if market.orders or (market.holding and market.holding.guarded):
                fills.meet_bar(self, market)
        for market in active:
            market.shown = market.close
            if market.orders:
                fills.move_trails(market)
        at_risk = self.margin < 1 or self.shorts > 0  # written out: it is asked on every bar that an order feels
        if self.ruined is None and (at_risk or self.cash <= 0) and self.equity() <= 0:
            self._ruin()
        for market in self.markets if at_risk else active:
            self.mark_band(market)

    def _at_risk(self) -> bool:
        """Whether the account can come to nothing: not while it holds only what it has paid for in full."""
        return self.margin < 1 or self.shorts > 0

    def _ruin(self) -> None:
        self.ruined = self.now
        for market in self.markets:
            for order in market.orders:
                self.end(order, "cancelled", "the account is worth nothing")
            market.orders.clear()
            for lot in list(market.holding):
                self.take(lot, abs(lot.quantity), market.last, "ruin")

    def close_out(self) -> None:
        """Sell everything at the last prices, after the last bar."""
        for market in self.markets:
            for lot in list(market.holding):
                self.take(lot, abs(lot.quantity), fills.worse(self, market.last, -1 if lot.quantity > 0 else 1), "end")

    def mark_band(self, market: Market) -> None:
        """Work out between which prices nothing can happen."""
        floor, ceiling = -_INF, _INF
        market.stirred = True
        if market.orders or (market.holding and (len(self.markets) > 1 or self.margin < 1) and self._at_risk()):
            market.floor, market.ceiling = _INF, -_INF
            return
        for lot in market.holding:
            sl, tp = lot.sl, lot._tp
            low, high = (sl, tp) if lot.quantity > 0 else (tp, sl)
            if low is not None and low > floor:
                floor = low
            if high is not None and high < ceiling:
                ceiling = high
            if lot._trail is not None:
                if lot.quantity > 0:
                    ceiling = min(ceiling, lot.best)
                else:
                    floor = max(floor, lot.best)
            if lot.quantity < 0:  # where a short sale has eaten the account
                ceiling = min(ceiling, self.cash / -market.holding.size)
        market.floor, market.ceiling = floor, ceiling

    # What fills.py calls.

    def give(self, order: Pending, quantity: float, price: float, reason: str) -> Lot:
        """Open a lot of `quantity`, negative for a short one."""
        fee = self.fee(abs(quantity), price)
        self.cash -= quantity * price + fee
        market, intent = order.market, order.intent
        lot = Lot(self, market, len(self.lots), order.id, quantity, price, fee, intent.reason)
        self.lots.append(lot)
        if quantity < 0:
            self.shorts += 1
        sl, tp, sl_pct, tp_pct, trail_pct = intent[12:17]
        if sl_pct is not None:
            sl = price * (1 - self.money(sl_pct) if quantity > 0 else 1 + self.money(sl_pct))
        if tp_pct is not None:
            tp = price * (1 + self.money(tp_pct) if quantity > 0 else 1 - self.money(tp_pct))
        lot._sl, lot._tp, lot._trail = sl, tp, trail_pct
        market.holding.append(lot)
        self.fills.append(Filled._make((order.id, self.now, market.index, quantity, price, fee, reason)))
        return lot

    def take(self, lot: Lot, quantity: float, price: float, reason: str, order_id: int | None = None) -> None:
        """Close `quantity`, a positive number, of a lot."""
        market = lot.market
        signed = quantity if lot.quantity > 0 else -quantity
        fee = self.fee(quantity, price)
        self.cash += signed * price - fee
        share = lot.fee if signed == lot.quantity else lot.fee * signed / lot.quantity
        self.closed.append(Closed.of(lot, signed, self.now, price, share + fee, reason))
        order_id = lot.order_id if order_id is None else order_id
        self.fills.append(Filled._make((order_id, self.now, market.index, -signed, price, fee, reason)))
        if signed == lot.quantity:
            market.holding.remove(lot)
            if signed < 0:
                self.shorts -= 1
        else:
            lot.quantity -= signed
            lot.fee -= share

    def end(self, order: Pending, status: str, reason: str) -> None:
        order.status = status
        order.reason = reason

    def reject(self, order: Pending, reason: str) -> None:
        self.end(order, "rejected", reason)
        self.rejections.append(order)
