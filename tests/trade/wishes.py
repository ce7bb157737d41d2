"""Random bars and a strategy that asks for random things of them, for the properties that hold whatever is asked."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from hypothesis import strategies as st

from ringfence.testing.broker_desk import Row
from ringfence.trade.bars import Bars
from ringfence.trade.book import Book
from ringfence.trade.intents import Intent
from ringfence.trade.orders import OrderType
from ringfence.trade.run import Costs, FillRules
from ringfence.trade.strategy import Strategy

from tests.trade.test_backtest_broker import make_bars

KINDS: tuple[OrderType, ...] = ("market", "limit", "stop", "stop_limit", "trailing_stop")


class Wish(NamedTuple):
    """`what` chooses among `order`, `weight`, `share`, `close`, `cancel` and `amend`; the rest as it needs it."""

    bar: int
    what: str
    market: int
    sign: int
    size: float
    kind: OrderType
    tif: str
    limit: float
    stop: float
    sl: float | None
    tp: float | None
    fractions: bool  # whether sl and tp are shares of the price
    trail: float | None
    ref: int


class Wishes(Strategy):
    """Does on each bar what was wished for it, and calls `look` when the bar is over."""

    def __init__(self, wishes: Sequence[Wish], look: Callable[[Book], None] = lambda book: None) -> None:
        self._wishes, self._look = wishes, look

    def next(self) -> None:
        self._look(self._book)
        for wish in self._wishes:
            if wish.bar == self._book.now:
                self._ask(wish)

    def _ask(self, wish: Wish) -> None:
        book = self._book
        market = book.markets[wish.market % len(book.markets)]
        if wish.what == "close":
            market.holding.close(min(wish.size / 10, 1.0))
        elif wish.what == "cancel":
            if book.orders:
                book.cancel(book.orders[wish.ref % len(book.orders)])
        elif wish.what == "amend":
            if book.lots:
                book.amend(book.lots[wish.ref % len(book.lots)], wish.sl, wish.tp, wish.trail)
        else:
            book.submit(as_intent(wish, book.now, market.index))


def as_intent(wish: Wish, now: int, market: int) -> Intent:
    kind = "market" if wish.what == "weight" else wish.kind
    return Intent(
        now,
        "order",
        market,
        wish.sign,
        quantity=wish.size if wish.what == "order" else None,
        fraction=wish.size / 40 if wish.what == "share" else None,
        target=wish.sign * wish.size / 20 if wish.what == "weight" else None,
        kind=kind,
        limit=wish.limit if kind in ("limit", "stop_limit") else None,
        stop=wish.stop if kind in ("stop", "stop_limit") else None,
        trail=0.05 if kind == "trailing_stop" else None,
        tif=wish.tif,  # type: ignore[arg-type]  # one of those below
        sl=None if wish.fractions else wish.sl,
        tp=None if wish.fractions else wish.tp,
        sl_pct=wish.sl / 1000 if wish.fractions and wish.sl else None,
        tp_pct=wish.tp / 1000 if wish.fractions and wish.tp else None,
        trail_pct=wish.trail,
    )


halves = st.integers(140, 260).map(lambda n: n / 2)  # prices from 70 to 130 that floats hold exactly


@st.composite
def rows(draw: st.DrawFn) -> Row:
    low, first, last, high = sorted(draw(st.tuples(halves, halves, halves, halves)))
    return (first, high, low, last) if draw(st.booleans()) else (last, high, low, first)


@st.composite
def several_bars(draw: st.DrawFn, most_markets: int = 3) -> Bars:
    count, length = draw(st.integers(1, most_markets)), draw(st.integers(3, 14))
    prices = {}
    for k in range(count):
        # The first row is always there: an instrument without a price is a case of its own.
        later = rows() if k == 0 else st.one_of(rows(), rows(), st.none())
        prices["XYZ"[k]] = [draw(rows()), *draw(st.lists(later, min_size=length, max_size=length))]
    return make_bars(prices, bars_per_day=draw(st.sampled_from([1, 4])))


wishes = st.builds(
    Wish,
    bar=st.integers(1, 13),
    what=st.sampled_from(["order", "order", "order", "weight", "share", "close", "cancel", "amend"]),
    market=st.integers(0, 2),
    sign=st.sampled_from([1, 1, -1]),
    size=st.sampled_from([1.0, 3.0, 10.0, 25.0, 60.0, 0.5, 0.3, 2.75, 150.0, 0.0, float("nan")]),
    kind=st.sampled_from(KINDS),
    tif=st.sampled_from(["gtc", "gtc", "day", "ioc", "fok"]),
    limit=halves,
    stop=halves,
    sl=st.none() | halves,
    tp=st.none() | halves,
    fractions=st.booleans(),
    trail=st.none() | st.sampled_from([0.02, 0.1]),
    ref=st.integers(0, 30),
)
many_wishes = st.lists(wishes, max_size=12)

free = Costs(percent=0, slippage_bps=0)
costs = st.sampled_from([free, Costs(), Costs(percent=0.002, per_share=0.01, minimum=1, slippage_bps=5, spread_bps=4)])
rules = st.builds(
    FillRules,
    cash=st.sampled_from([10_000.0, 1000.0]),
    margin=st.sampled_from([1.0, 1.0, 0.5, 0.25]),
    shorting=st.booleans(),
    fractional=st.booleans(),
    both_in_one_bar=st.sampled_from(["stop_first", "target_first"]),
    close_at_end=st.booleans(),
    costs=costs,
)
