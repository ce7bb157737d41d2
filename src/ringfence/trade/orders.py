"""What passes between a strategy and a broker: frozen values.

Money is float in a backtest, and Decimal on paper and live.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import Literal

Money = float | Decimal
Side = Literal["buy", "sell"]
OrderType = Literal["market", "limit", "stop", "stop_limit", "trailing_stop"]
TimeInForce = Literal["day", "gtc", "ioc", "fok"]
OrderStatus = Literal["open", "filled", "cancelled", "rejected", "expired"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Bracket:
    """A stop and a target that guard what the order opens. Each is a price; the one hit first cancels the other."""

    sl: Money | None = None
    tp: Money | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    id: str
    client_id: str | None
    symbol: str
    side: Side
    quantity: Money
    order_type: OrderType
    time_in_force: TimeInForce
    limit_price: Money | None
    stop_price: Money | None
    trail_percent: Money | None
    bracket: Bracket | None
    status: OrderStatus
    filled_quantity: Money
    average_price: Money | None
    submitted_at: int  # nanoseconds UTC
    reason: str  # why it was rejected, cancelled or expired; else what the strategy gave as its reason


@dataclass(frozen=True, slots=True, kw_only=True)
class Fill:
    order_id: str
    symbol: str
    side: Side
    quantity: Money
    price: Money
    fee: Money
    time: int
    reason: str  # market | limit | stop | target | trailing_stop | close | end


@dataclass(frozen=True, slots=True, kw_only=True)
class Position:
    """What is held of one instrument; a short one has a negative quantity."""

    symbol: str
    quantity: Money
    average_price: Money
    market_price: Money

    @property
    def market_value(self) -> Money:
        return self.quantity * self.market_price  # type: ignore[operator]  # both are floats or both Decimals

    @property
    def unrealized_pnl(self) -> Money:
        return self.quantity * (self.market_price - self.average_price)  # type: ignore[operator]  # as above


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    cash: Money
    equity: Money
    buying_power: Money


@dataclass(frozen=True, slots=True, kw_only=True)
class Trade:
    """One way in and out: the one trade shape from the engine to the page. Times are nanoseconds UTC.

    An open position at the end has no exit; `is_partial` says that it is a part of a larger entry.
    """

    id: int
    symbol: str
    side: Literal["long", "short"]
    qty: float
    entry_time: int
    entry_price: float
    exit_time: int | None
    exit_price: float | None
    fees: float
    pnl: float  # after fees; marked at the last close while open
    pnl_pct: float  # of what the entry cost, as a fraction
    bars_held: int
    entry_reason: str
    exit_reason: str
    is_partial: bool
