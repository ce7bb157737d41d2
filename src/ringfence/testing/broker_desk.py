"""What a case of the BrokerSuite is played on: a broker and the prices that it is going to see."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Protocol

from ringfence.trade.broker import Broker
from ringfence.trade.orders import Fill, Money
from ringfence.trade.run import Costs, FillRules

Row = tuple[float, float, float, float] | None  # open, high, low, close; None where the instrument has no bar
Prices = Mapping[str, Sequence[Row]]

QUIET: Row = (100, 100, 100, 100)
NO_COSTS = Costs(percent=0, slippage_bps=0)
FREE = FillRules(cash=10_000, costs=NO_COSTS)


class Desk(Protocol):
    """A broker whose first bar is over. `bar` lets it see the next one."""

    @property
    def broker(self) -> Broker: ...

    def bar(self) -> None: ...

    def fills(self) -> Sequence[Fill]: ...


class BrokerCases:
    """A case is a test with a number. Its prices are few enough to work the fills out by hand, as its lines do."""

    def make(self, rules: FillRules, prices: Prices, *, bars_per_day: int = 1) -> Desk:
        raise NotImplementedError("a broker's test class says how its broker is made")

    def desk(self, *rows: Row, rules: FillRules = FREE, bars_per_day: int = 1) -> Desk:
        """One instrument, X, that stands still at 100 before the rows given."""
        return self.make(rules, {"X": [QUIET, *rows]}, bars_per_day=bars_per_day)

    def holding(self, *rows: Row, quantity: float = 10, rules: FillRules = FREE) -> Desk:
        """The same, holding 10 that were bought at 100."""
        desk = self.desk(QUIET, *rows, rules=rules)
        desk.broker.submit_order("X", quantity, "buy")
        desk.bar()
        return desk


def text(value: Money | None) -> str:
    """An amount to compare by: a Decimal to its last place, a float to ten digits, as 0.1 + 0.2 is 0.3 to nobody."""
    if value is None:
        return "none"
    exact = value if isinstance(value, Decimal) else Decimal(f"{value:.10g}")
    return f"{exact.normalize() + 0:f}"


def fills(desk: Desk) -> list[str]:
    """`buy 10 X at 100: market`, in the order they happened."""
    return [f"{f.side} {text(f.quantity)} {f.symbol} at {text(f.price)}: {f.reason}" for f in desk.fills()]


def cash(desk: Desk) -> str:
    return text(desk.broker.get_account().cash)


def equity(desk: Desk) -> str:
    return text(desk.broker.get_account().equity)


def held(desk: Desk, symbol: str = "X") -> str:
    position = desk.broker.get_position(symbol)
    return "0" if position is None else text(position.quantity)
