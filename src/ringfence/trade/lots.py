"""What is held: a position is the list of its lots, oldest first, each with its own stop and target."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ringfence.trade.book import Book, Market


class Lot:
    """A part of a position that was opened by one fill. Setting `sl`, `tp` or `trail` moves its guards."""

    __slots__ = (
        "_sl",
        "_tp",
        "_trail",
        "best",
        "book",
        "fee",
        "id",
        "initial_quantity",
        "market",
        "opened",
        "order_id",
        "price",
        "quantity",
        "reason",
    )

    def __init__(
        self,
        book: Book,
        market: Market,
        number: int,
        order_id: int,
        quantity: float,
        price: float,
        fee: float,
        reason: str,
    ) -> None:
        self.book, self.market, self.id, self.order_id = book, market, number, order_id
        self.quantity = self.initial_quantity = quantity  # negative when short
        self.price, self.fee, self.reason = price, fee, reason
        self.opened = book.now
        self.best = price  # the best price seen since, up to the bar before this one: what `trail` hangs from
        self._sl: float | None = None
        self._tp: float | None = None
        self._trail: float | None = None

    @property
    def is_long(self) -> bool:
        return self.quantity > 0

    @property
    def sl(self) -> float | None:
        """The price at which a loss is cut, the trailing one included."""
        if self._trail is None:
            return self._sl
        trailed = self.best * (1 - self._trail if self.quantity > 0 else 1 + self._trail)
        if self._sl is None:
            return trailed
        return max(self._sl, trailed) if self.quantity > 0 else min(self._sl, trailed)

    @sl.setter
    def sl(self, price: float | None) -> None:
        self.book.amend(self, price, self._tp, self._trail)

    @property
    def tp(self) -> float | None:
        return self._tp

    @tp.setter
    def tp(self, price: float | None) -> None:
        self.book.amend(self, self._sl, price, self._trail)

    @property
    def trail(self) -> float | None:
        """The distance of the trailing stop as a fraction of the best price since the entry."""
        return self._trail

    @trail.setter
    def trail(self, fraction: float | None) -> None:
        self.book.amend(self, self._sl, self._tp, fraction)

    @property
    def size(self) -> float:
        return self.quantity

    @property
    def entry_price(self) -> float:
        return self.price

    @property
    def entry_bar(self) -> int:
        return self.opened

    @property
    def bars_held(self) -> int:
        return self.book.now - self.opened

    @property
    def pl(self) -> float:
        return self.quantity * (self.market.last - self.price)

    @property
    def pl_pct(self) -> float:
        gain = self.market.last / self.price - 1
        return gain if self.quantity > 0 else -gain

    def close(self, portion: float = 1.0, *, reason: str = "") -> None:
        self.book.close(self.market, portion, lot=self, reason=reason)


class Holding(list[Lot]):
    """The position in one instrument; false when there is none. A list, so that asking costs next to nothing."""

    __slots__ = ("market",)

    market: Market

    @property
    def guarded(self) -> bool:
        """Whether any of it has a stop or a target."""
        for lot in self:  # noqa: SIM110  # asked on every bar that an order feels; any() takes thrice as long
            if lot._sl is not None or lot._tp is not None or lot._trail is not None:
                return True
        return False

    @property
    def size(self) -> float:
        return sum(lot.quantity for lot in self)

    @property
    def is_long(self) -> bool:
        return bool(self) and self[0].quantity > 0

    @property
    def is_short(self) -> bool:
        return bool(self) and self[0].quantity < 0

    @property
    def entry_price(self) -> float | None:
        """The average price paid; None without a position."""
        size = self.size
        return sum(lot.quantity * lot.price for lot in self) / size if self else None

    @property
    def value(self) -> float:
        return self.size * self.market.last

    @property
    def pl(self) -> float:
        """Profit or loss at the last price, before fees."""
        return sum(lot.pl for lot in self)

    @property
    def pl_pct(self) -> float:
        cost = sum(abs(lot.quantity) * lot.price for lot in self)
        return float(self.pl) / float(cost) if cost else 0.0

    @property
    def bars_held(self) -> int:
        """Since the oldest lot was bought."""
        return self[0].bars_held if self else 0

    def __call__(self, symbol: str) -> Holding:
        """The position in another instrument."""
        return self.market.book.find(symbol).holding

    def close(self, portion: float = 1.0, *, reason: str = "") -> None:
        """Close this share of the position at the next open; without a position, do nothing."""
        if self:
            self[0].book.close(self.market, portion, reason=reason)
