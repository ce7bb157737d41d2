"""What a Book's fills come to: trades, curves and the rows of a Run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ringfence.trade.bars import Bars, Floats, Ints
from ringfence.trade.book import Book, Closed
from ringfence.trade.orders import Trade
from ringfence.trade.run import FillRow, OrderRow


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Curves:
    """Per moment of the timeline."""

    time: Ints
    equity: Floats
    invested: Floats  # the value of what is held, long and short alike, as a fraction of the equity
    benchmark: Floats  # the same cash spread over the instruments at the first close, and held


def curves(book: Book, bars: Bars) -> Curves:
    """Cash and holdings after every bar, by arithmetic over the fills alone."""
    timeline = bars.timeline()
    cash, held = np.zeros(len(timeline)), np.zeros((len(book.markets), len(timeline)))
    if book.fills:
        rows = np.array([(f.now, f.market, f.quantity, f.price, f.fee) for f in book.fills], dtype=np.float64)
        nows, markets = rows[:, :2].astype(np.int64).T
        quantity, price, fee = rows[:, 2:].T
        flows = -quantity * price - fee
        cash += np.bincount(nows, flows, len(timeline))
        for k in range(len(held)):
            held[k] = np.bincount(nows[markets == k], quantity[markets == k], len(timeline))
    cash = book.rules.cash + np.cumsum(cash)
    held = np.cumsum(held, axis=1)
    held[np.abs(held) < 1e-9] = 0.0  # what is left of adding and taking away fractions
    prices = np.stack([_known_prices(c.time, c.close, timeline) for c in bars.candles.values()])
    values = held * np.nan_to_num(prices)
    equity = cash + values.sum(axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        invested = np.where(equity > 0, np.abs(values).sum(axis=0) / equity, 0.0)
    return Curves(time=timeline, equity=equity, invested=invested, benchmark=_benchmark(book, bars, prices))


def _known_prices(time: Ints, close: Floats, timeline: Ints) -> Floats:
    """The last close known at each moment; NaN before the first."""
    if len(time) == len(timeline):
        return close
    row = np.searchsorted(time, timeline, side="right") - 1
    return np.where(row >= 0, close[np.maximum(row, 0)], np.nan)


def _benchmark(book: Book, bars: Bars, prices: Floats) -> Floats:
    """Buy & hold from the first bar on which the strategy might have traded, equal weights, no costs."""
    timeline = bars.timeline()
    first = 0 if bars.tradable_from is None else int(np.searchsorted(timeline, bars.tradable_from))
    first = min(first, len(timeline) - 1)
    known = ~np.isnan(prices[:, first:])
    begin = first + np.array([np.argmax(row) if row.any() else 0 for row in known])
    share = book.rules.cash / len(prices)
    total = np.zeros(len(timeline))
    for row, start in zip(prices, begin):
        total += np.where(np.arange(len(timeline)) < start, share, share * np.nan_to_num(row) / row[start])
    return total


def trades(book: Book, timeline: Sequence[int]) -> tuple[Trade, ...]:
    """Closed ones in the order they were closed, then those still open, marked at the last price."""
    made = [_trade(i + 1, book, closed, timeline) for i, closed in enumerate(book.closed)]
    for market in book.markets:
        for lot in market.holding:
            still = Closed(lot, lot.quantity, book.now, market.last, lot.fee, "")
            made.append(_trade(len(made) + 1, book, still, timeline, is_open=True))
    return tuple(made)


def _trade(number: int, book: Book, closed: Closed, timeline: Sequence[int], *, is_open: bool = False) -> Trade:
    quantity = closed.quantity
    pnl = quantity * (closed.exit - closed.entry) - closed.fees
    cost = abs(quantity) * closed.entry
    return Trade(
        id=number,
        symbol=book.markets[closed.market].symbol,
        side="long" if quantity > 0 else "short",
        qty=abs(quantity),
        entry_time=timeline[closed.opened],
        entry_price=closed.entry,
        exit_time=None if is_open else timeline[closed.closed],
        exit_price=None if is_open else closed.exit,
        fees=closed.fees,
        pnl=pnl,
        pnl_pct=pnl / cost,
        bars_held=closed.closed - closed.opened,
        entry_reason=closed.entry_reason,
        exit_reason=closed.exit_reason,
        is_partial=closed.partial,
    )


def fill_rows(book: Book, timeline: Sequence[int]) -> tuple[FillRow, ...]:
    return tuple(
        FillRow(
            order_id=f.order_id,
            time=timeline[f.now],
            symbol=book.markets[f.market].symbol,
            side="buy" if f.quantity > 0 else "sell",
            qty=abs(f.quantity),
            price=f.price,
            fee=f.fee,
            reason=f.reason,
        )
        for f in book.fills
    )


def order_rows(book: Book, timeline: Sequence[int]) -> tuple[OrderRow, ...]:
    return tuple(
        OrderRow(
            id=o.id,
            time=timeline[o.intent.now],
            symbol=o.market.symbol,
            side="buy" if (o.intent.sign > 0 or (o.intent.action == "close" and not o.opposes_long)) else "sell",
            order_type="close" if o.intent.action == "close" else o.intent.kind,
            qty=o.quantity,
            limit_price=o.intent.limit,
            stop_price=o.intent.stop,
            status=o.status,
            reason=o.reason,
        )
        for o in book.orders
    )
