"""What every broker can do. A backtest, paper trading and a live venue differ only behind this."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from ringfence.trade.bars import Candles
from ringfence.trade.orders import Account, Bracket, Money, Order, OrderType, Position, Side, TimeInForce


@dataclass(frozen=True, slots=True, kw_only=True)
class Capabilities:
    order_types: tuple[OrderType, ...]
    times_in_force: tuple[TimeInForce, ...]
    shorting: bool
    fractional: bool
    brackets: bool
    live: bool  # real money


class Broker(Protocol):
    """An order that cannot be is returned as rejected, with its reason; what is unknown raises OrderError."""

    @property
    def capabilities(self) -> Capabilities: ...

    def get_account(self) -> Account: ...

    def get_position(self, symbol: str) -> Position | None: ...

    def get_all_positions(self) -> Sequence[Position]: ...

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
    ) -> Order: ...

    def cancel_order(self, order_id: str) -> Order: ...

    def get_order(self, order_id: str) -> Order: ...

    def get_orders(self, *, open_only: bool = False) -> Sequence[Order]: ...

    def get_bars(self, symbol: str, count: int) -> Candles: ...

    def get_current_price(self, symbol: str) -> Money: ...

    def close_position(self, symbol: str) -> Order | None: ...

    def close_all_positions(self) -> Sequence[Order]: ...
