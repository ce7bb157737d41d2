"""What a strategy is written against: `init` once, `next` on every bar, orders in between."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal, TypeVar

from ringfence.base.errors import OrderError
from ringfence.trade.book import Book, Market, Pending
from ringfence.trade.fills import FULL
from ringfence.trade.intents import MOST_REASON, Intent
from ringfence.trade.lots import Holding, Lot
from ringfence.trade.orders import Fill, Order, OrderType, TimeInForce
from ringfence.trade.series import Data

T = TypeVar("T")
_LARGEST_TARGET = 10.0  # a profit target above 1000 % is a price in disguise


def param(
    default: T,
    low: float | None = None,
    high: float | None = None,
    *,
    step: float | None = None,
    choices: tuple[T, ...] | list[T] | None = None,
) -> T:
    """A parameter with a range to search; to the strategy it is its value. The range is read from the text."""
    return default


class Strategy:
    """Class attributes are parameters. Decisions on a bar are made at its close and filled from the next one on."""

    # Set by the engine before `init`.
    data: Data
    position: Holding
    I: Callable[..., Any]  # a series, or a tuple of them  # noqa: E741  # the name this field's strategies use
    timeframe: Callable[[str], Data]
    _book: Book

    def init(self) -> None:
        """Declare indicators: `self.rsi = self.I(rsi, self.data.close, 14)`."""

    def next(self) -> None:
        """Decide, on every bar, with what is known at its close."""

    def on_start(self) -> None: ...

    def on_fill(self, fill: Fill) -> None: ...

    def on_reject(self, order: Order) -> None: ...

    def on_end(self) -> None: ...

    def buy(
        self,
        symbol: str | None = None,
        size: float = FULL,
        *,
        limit: float | None = None,
        stop: float | None = None,
        trail_entry: float | None = None,
        sl: float | None = None,
        tp: float | None = None,
        sl_price: float | None = None,
        tp_price: float | None = None,
        trail: float | None = None,
        tif: TimeInForce = "gtc",
        reason: str = "",
    ) -> Pending:
        """Order a purchase. `size` below 1 is a share of what can be spent, from 1 on a number of units.

        `sl`, `tp` and `trail` are fractions of the price it will be filled at: `sl=0.05` sells 5 % below.
        """
        return self._order(
            1, symbol, size, limit, stop, trail_entry, sl, tp, sl_price, tp_price, trail, tif, reason
        )  # fmt: skip

    def sell(
        self,
        symbol: str | None = None,
        size: float = FULL,
        *,
        limit: float | None = None,
        stop: float | None = None,
        trail_entry: float | None = None,
        sl: float | None = None,
        tp: float | None = None,
        sl_price: float | None = None,
        tp_price: float | None = None,
        trail: float | None = None,
        tif: TimeInForce = "gtc",
        reason: str = "",
    ) -> Pending:
        """Order a sale: of what is held first, and beyond that short. `self.position.close()` only ends a position."""
        return self._order(
            -1, symbol, size, limit, stop, trail_entry, sl, tp, sl_price, tp_price, trail, tif, reason
        )  # fmt: skip

    def _order(
        self,
        sign: Literal[1, -1],
        symbol: str | None,
        size: float,
        limit: float | None,
        stop: float | None,
        trail_entry: float | None,
        sl: float | None,
        tp: float | None,
        sl_price: float | None,
        tp_price: float | None,
        trail: float | None,
        tif: TimeInForce,
        reason: str,
    ) -> Pending:
        if sl is not None and sl >= 1:
            raise OrderError(f"sl={sl:g} is no fraction of the price: write sl=0.05 for 5 %, or sl_price={sl:g}")
        if tp is not None and tp > _LARGEST_TARGET:
            raise OrderError(f"tp={tp:g} is no fraction of the price: write tp=0.10 for 10 %, or tp_price={tp:g}")
        kind: OrderType = "market"
        if trail_entry is not None:
            kind = "trailing_stop"
        elif limit is not None:
            kind = "limit" if stop is None else "stop_limit"
        elif stop is not None:
            kind = "stop"
        book = self._book
        market = 0 if symbol is None else self._market(symbol).index
        share = 0 < size < 1
        # Written out, and in the order of its fields: a call for each price would take as long as all the rest.
        row = (
            book.now, "order", market, sign, None if share else float(size), float(size) if share else None, None, kind,
            None if limit is None else float(limit),
            None if stop is None else float(stop),
            None if trail_entry is None else float(trail_entry),
            tif,
            None if sl_price is None else float(sl_price),
            None if tp_price is None else float(tp_price),
            None if sl is None else float(sl),
            None if tp is None else float(tp),
            None if trail is None else float(trail),
            None, None, reason and reason[:MOST_REASON],
        )  # fmt: skip
        return book.submit(Intent._make(row))

    def order_target_percent(self, symbol: str | None, weight: float, *, reason: str = "") -> Pending:
        """Order what it takes to have `weight` of the equity in this instrument; negative is short."""
        market = self._market(symbol)
        sign = 1 if weight * float(self.equity) >= float(market.holding.value) else -1
        return self._book.submit(
            Intent(self._book.now, "order", market.index, sign, target=float(weight), reason=reason[:MOST_REASON])
        )

    def rebalance(self, weights: Mapping[str, float], *, reason: str = "") -> list[Pending]:
        """Order the whole portfolio: what is not named is sold. Sales are filled before purchases."""
        held = [market.symbol for market in self._book.markets if market.holding and market.symbol not in weights]
        wanted = {**dict.fromkeys(held, 0.0), **weights}
        return [self.order_target_percent(symbol, weight, reason=reason) for symbol, weight in wanted.items()]

    def cancel(self, order: Pending) -> None:
        self._book.cancel(order)

    @property
    def equity(self) -> float:
        """What the account is worth at the last prices."""
        return self._book.equity()

    @property
    def cash(self) -> float:
        return self._book.cash

    @property
    def orders(self) -> tuple[Pending, ...]:
        """Those still waiting for their price."""
        return tuple(order for market in self._book.markets for order in market.orders)

    @property
    def trades(self) -> tuple[Lot, ...]:
        """Those still open."""
        return tuple(lot for market in self._book.markets for lot in market.holding)

    def _market(self, symbol: str | None) -> Market:
        if symbol is None:
            return self._book.markets[0]
        if not isinstance(symbol, str):
            raise OrderError(
                f"{symbol!r} is no symbol: the first argument is the instrument, a size is size={symbol!r}"
            )
        return self._book.find(symbol)
