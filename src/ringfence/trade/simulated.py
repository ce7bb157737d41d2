"""The Broker protocol on a Book: what a caller sees of it as frozen values, and a broker that walks through bars."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence

import numpy as np

from ringfence.base.errors import OrderError
from ringfence.trade.bars import Bars, Candles
from ringfence.trade.book import Book, Filled, Market, Pending
from ringfence.trade.broker import Capabilities
from ringfence.trade.intents import Intent
from ringfence.trade.orders import (
    Account,
    Bracket,
    Fill,
    Money,
    Order,
    OrderStatus,
    OrderType,
    Position,
    Side,
    TimeInForce,
)
from ringfence.trade.run import FillRules
from ringfence.trade.times import DAY, local_days, timeframe_ns

_STATUS: dict[str, OrderStatus] = {
    "open": "open",
    "filled": "filled",
    "cancelled": "cancelled",
    "rejected": "rejected",
    "expired": "expired",
}


def as_fill(book: Book, fill: Filled, time: int) -> Fill:
    return Fill(
        order_id=str(fill.order_id),
        symbol=book.markets[fill.market].symbol,
        side="buy" if fill.quantity > 0 else "sell",
        quantity=abs(fill.quantity),
        price=fill.price,
        fee=fill.fee,
        time=time,
        reason=fill.reason,
    )


def as_order(order: Pending, submitted_at: int, client_id: str | None = None) -> Order:
    intent, number = order.intent, order.market.book.number
    guarded = intent.sl is not None or intent.tp is not None
    side: Side = "buy" if intent.sign > 0 else "sell"
    if intent.action == "close":  # a position is closed by selling it, or by buying back what was sold short
        side = "sell" if order.opposes_long else "buy"
    quantity = order.quantity
    if quantity is None:  # of an order for all there is, or for a share of it, known when it is filled
        held = abs(order.market.holding.size) if intent.action == "close" and order.status == "open" else 0
        quantity = held + number("0")
    return Order(
        id=str(order.id),
        client_id=client_id,
        symbol=order.market.symbol,
        side=side,
        quantity=quantity,
        order_type=intent.kind,
        time_in_force=intent.tif,
        limit_price=intent.limit,
        stop_price=intent.stop,
        trail_percent=None if intent.trail is None else round(intent.trail * 100, 10),
        bracket=Bracket(sl=intent.sl, tp=intent.tp) if guarded else None,
        status=_STATUS[order.status],
        filled_quantity=order.filled + number("0"),
        average_price=order.price,
        submitted_at=submitted_at,
        reason=order.reason,
    )


class SimulatedBroker(ABC):
    """The Broker protocol, less the prices: what a backtest and paper trading share.

    A subclass puts up bars on the Book and says what time it is.
    """

    live = False

    def __init__(self, book: Book) -> None:
        self.book = book
        self._submitted: dict[int, int] = {}
        self._client_ids: dict[str, int] = {}
        self._names: dict[int, str] = {}

    @abstractmethod
    def now(self) -> int:
        """The time, in nanoseconds UTC."""

    @property
    def capabilities(self) -> Capabilities:
        return Capabilities(
            order_types=("market", "limit", "stop", "stop_limit", "trailing_stop"),
            times_in_force=("day", "gtc", "ioc", "fok"),
            shorting=self.book.rules.shorting,
            fractional=self.book.rules.fractional,
            brackets=True,
            live=self.live,
        )

    def get_account(self) -> Account:
        """`buying_power` is what new positions may be worth: margin multiplies what can be spent."""
        book = self.book
        return Account(cash=book.cash, equity=book.equity(), buying_power=book.spendable() / book.margin)

    def get_position(self, symbol: str) -> Position | None:
        return _position(self.book.find(symbol))

    def get_all_positions(self) -> Sequence[Position]:
        return [p for p in map(_position, self.book.markets) if p is not None]

    def submit_order(
        self,
        symbol: str,
        quantity: Money,
        side: Side,
        order_type: OrderType = "market",
        time_in_force: TimeInForce = "gtc",
        *,
        limit_price: Money | None = None,
        stop_price: Money | None = None,
        trail_percent: Money | None = None,
        bracket: Bracket | None = None,
        client_id: str | None = None,
    ) -> Order:
        """An order whose `client_id` was used before is the order it named, not a second one."""
        if client_id is not None and client_id in self._client_ids:
            return self.get_order(str(self._client_ids[client_id]))
        if side not in ("buy", "sell"):
            raise OrderError(f"side {side!r} is unknown: use buy or sell")
        if order_type not in self.capabilities.order_types or time_in_force not in self.capabilities.times_in_force:
            raise OrderError(f"{order_type!r} with {time_in_force!r} is no kind of order here: see `capabilities`")
        convert = self._convert
        trail = convert(trail_percent)
        intent = Intent(
            self.book.now,
            "order",
            self.book.find(symbol).index,
            1 if side == "buy" else -1,
            convert(quantity),
            kind=order_type,
            limit=convert(limit_price),
            stop=convert(stop_price),
            trail=None if trail is None else trail / 100,
            tif=time_in_force,
            sl=convert(bracket.sl) if bracket else None,
            tp=convert(bracket.tp) if bracket else None,
        )
        order = self.book.submit(intent)
        if client_id is not None:
            self._client_ids[client_id] = order.id
            self._names[order.id] = client_id
        return self._seen(order)

    def _convert(self, value: Money | None) -> float | None:
        """As the kind of number that the book counts in."""
        if value is None:
            return None
        try:
            return self.book.number(str(value))
        except (ValueError, ArithmeticError):  # of float and of Decimal
            raise OrderError(f"{value!r:.80} is no number: give a number") from None

    def _seen(self, order: Pending) -> Order:
        submitted = self._submitted.setdefault(order.id, self.now())
        return as_order(order, submitted, self._names.get(order.id))

    def cancel_order(self, order_id: str) -> Order:
        order = self._find(order_id)
        self.book.cancel(order)
        return self._seen(order)

    def get_order(self, order_id: str) -> Order:
        return self._seen(self._find(order_id))

    def get_orders(self, *, open_only: bool = False) -> Sequence[Order]:
        return [self._seen(o) for o in self.book.orders if o.status == "open" or not open_only]

    @abstractmethod
    def get_fills(self) -> Sequence[Fill]: ...

    def get_current_price(self, symbol: str) -> Money:
        market = self.book.find(symbol)
        if not self._has_price(market):
            raise OrderError(f"{symbol} has no price yet: wait for its first bar")
        return market.last

    @abstractmethod
    def _has_price(self, market: Market) -> bool:
        """Whether the instrument has shown any price yet."""

    def close_position(self, symbol: str) -> Order | None:
        market = self.book.find(symbol)
        return self._seen(self.book.close(market)) if market.holding else None

    def close_all_positions(self) -> Sequence[Order]:
        orders = [self.close_position(market.symbol) for market in self.book.markets]
        return [order for order in orders if order is not None]

    def _find(self, order_id: str) -> Pending:
        number = int(order_id) if order_id.isdecimal() and len(order_id) < 19 else len(self.book.orders)
        if number >= len(self.book.orders):
            raise OrderError(f"there is no order {order_id!r}: see get_orders()")
        return self.book.orders[number]


class BacktestBroker(SimulatedBroker):
    """Walks through bars: orders given on one are met by the next."""

    def __init__(self, bars: Bars, rules: FillRules) -> None:
        self._bars = bars
        self._timeline: list[int] = bars.timeline().tolist()
        self._intraday = timeframe_ns(bars.timeframe) < DAY
        markets = [Market(k, symbol, math.nan) for k, symbol in enumerate(bars.symbols)]
        super().__init__(Book(markets, rules))

    def advance(self) -> bool:
        """Go on by one bar; False when there are no more."""
        now = self.book.now + 1
        if now >= len(self._timeline):
            return False
        moment = self._timeline[now]
        active = []
        for market, candles in zip(self.book.markets, self._bars.candles.values()):
            row = int(np.searchsorted(candles.time, moment))
            if row < len(candles) and candles.time[row] == moment:
                prices = (candles.open[row], candles.high[row], candles.low[row], candles.close[row])
                market.show(tuple(map(float, prices)), day_over=self._day_over(candles, row))  # type: ignore[arg-type]
                active.append(market)
        self.book.step(now, active)
        return True

    def _day_over(self, candles: Candles, row: int) -> bool:
        if not self._intraday or row + 1 >= len(candles):
            return True
        today, tomorrow = local_days(candles.time[row : row + 2], self._bars.clock_zone)
        return bool(today != tomorrow)

    def _has_price(self, market: Market) -> bool:
        return not math.isnan(market.last)

    def now(self) -> int:
        return self._timeline[max(self.book.now, 0)]

    def get_fills(self) -> Sequence[Fill]:
        return [as_fill(self.book, fill, self._timeline[fill.now]) for fill in self.book.fills]

    def get_bars(self, symbol: str, count: int) -> Candles:
        """The last `count` bars that are over."""
        self.book.find(symbol)
        candles = self._bars.candles[symbol]
        known = int(np.searchsorted(candles.time, self.now(), side="right")) if self.book.now >= 0 else 0
        return candles.slice(max(0, known - count), known)


def _position(market: Market) -> Position | None:
    price = market.holding.entry_price
    if price is None:
        return None
    return Position(symbol=market.symbol, quantity=market.holding.size, average_price=price, market_price=market.last)
