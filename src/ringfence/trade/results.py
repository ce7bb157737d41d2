"""What a Book's fills come to: trades, curves and the rows of a Run."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, fields
from itertools import repeat
from operator import sub
from typing import Any, TypeVar

import numpy as np

from ringfence.trade.bars import Bars, Candles, Floats, Ints
from ringfence.trade.book import Book, Closed, Filled
from ringfence.trade.orders import Trade
from ringfence.trade.run import FillRow, OrderRow

Row = TypeVar("Row", Trade, FillRow, OrderRow)


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Curves:
    """Per moment of the timeline."""

    time: Ints
    equity: Floats
    invested: Floats  # the value of what is held, long and short alike, as a fraction of the equity
    benchmark: Floats  # the same cash spread over the instruments at the first close, and held


def curves(book: Book, bars: Bars) -> Curves:
    """Cash and holdings after every bar, by arithmetic over the fills alone.

    In place wherever it can be: to get fresh memory for a column takes longer than to compute it.
    """
    timeline, fills = bars.timeline(), book.fills
    by_field = Filled(*_columns(fills, Filled))
    nows, markets = np.array(by_field.now, np.int64), np.array(by_field.market, np.int64)
    quantity = np.array(by_field.quantity, np.float64)
    price, fee = np.array(by_field.price, np.float64), np.array(by_field.fee, np.float64)
    cash = _summed(nows, -quantity * price - fee, len(timeline))
    cash += book.rules.cash
    worth, invested, benchmark = np.zeros(len(timeline)), np.zeros(len(timeline)), np.zeros(len(timeline))
    first = 0 if bars.tradable_from is None else int(np.searchsorted(timeline, bars.tradable_from))
    first = min(first, len(timeline) - 1)
    for k, candles in enumerate(bars.candles.values()):
        known, prices = _known_prices(candles, timeline)
        own = slice(None) if len(bars.candles) == 1 else markets == k
        values = _summed(nows[own], quantity[own], len(timeline))
        small = np.abs(values) < 1e-9  # what is left of adding and taking away fractions
        values[small] = 0.0
        values[known:] *= prices
        worth += values
        invested += np.abs(values, out=values)
        # Buy & hold from the first bar on which the strategy might have traded, equal weights, no costs.
        share, begin = book.rules.cash / len(bars.candles), max(first, known)
        benchmark[:begin] += share
        grown = prices[begin - known :] * share
        grown /= prices[begin - known]
        benchmark[begin:] += grown
    equity = np.add(cash, worth, out=worth)
    solvent = equity > 0
    np.divide(invested, equity, out=invested, where=solvent)
    invested[~solvent] = 0.0
    return Curves(time=timeline, equity=equity, invested=invested, benchmark=benchmark)


def _summed(nows: Ints, amounts: Floats, bars: int) -> Floats:
    """For each bar what there was of these until then."""
    made = np.bincount(nows, amounts, bars).astype(np.float64, copy=False)
    return np.cumsum(made, out=made)


def _known_prices(candles: Candles, timeline: Ints) -> tuple[int, Floats]:
    """The first moment at which there is a price, and from then on the last close known at each."""
    if len(candles) == len(timeline):
        return 0, candles.close
    known = int(np.searchsorted(timeline, candles.time[0]))
    return known, candles.close[np.searchsorted(candles.time, timeline[known:], side="right") - 1]


def trades(book: Book, timeline: Sequence[int]) -> tuple[Trade, ...]:
    """Closed ones in the order they were closed, then those still open, marked at the last price."""
    still = [
        Closed.of(lot, lot.quantity, book.now, market.last, lot.fee, "")
        for market in book.markets
        for lot in market.holding
    ]
    _, market, quantity, opened, entry, entry_reason, closed, exit_, exit_reason, fees, partial = _columns(
        [*book.closed, *still], Closed
    )
    ended, open_ = slice(len(book.closed)), repeat(None, len(still))
    size = list(map(abs, quantity))
    pnl = [units * (out - paid) - fee for units, out, paid, fee in zip(quantity, exit_, entry, fees)]
    return _rows(
        Trade,
        id=range(1, len(pnl) + 1),
        symbol=[book.markets[k].symbol for k in market],
        side=["long" if units > 0 else "short" for units in quantity],
        qty=size,
        entry_time=[timeline[now] for now in opened],
        entry_price=entry,
        exit_time=[*(timeline[now] for now in closed[ended]), *open_],
        exit_price=[*exit_[ended], *repeat(None, len(still))],
        fees=fees,
        pnl=pnl,
        pnl_pct=[gain / (units * paid) for gain, units, paid in zip(pnl, size, entry)],
        bars_held=list(map(sub, closed, opened)),
        entry_reason=entry_reason,
        exit_reason=exit_reason,
        is_partial=partial,
    )


def _columns(rows: Sequence[Filled] | Sequence[Closed], kind: type[Filled] | type[Closed]) -> Sequence[Any]:
    """Rows turned into one tuple for each field, at once and not by asking each row for each field."""
    return tuple(zip(*rows)) if rows else ((),) * len(kind._fields)


def fill_rows(book: Book, timeline: Sequence[int]) -> tuple[FillRow, ...]:
    fills = book.fills
    return _rows(
        FillRow,
        order_id=[f.order_id for f in fills],
        time=[timeline[f.now] for f in fills],
        symbol=[book.markets[f.market].symbol for f in fills],
        side=["buy" if f.quantity > 0 else "sell" for f in fills],
        qty=[abs(f.quantity) for f in fills],
        price=[f.price for f in fills],
        fee=[f.fee for f in fills],
        reason=[f.reason for f in fills],
    )


def order_rows(book: Book, timeline: Sequence[int]) -> tuple[OrderRow, ...]:
    orders = book.orders
    closing = [o.intent.action == "close" for o in orders]
    return _rows(
        OrderRow,
        id=[o.id for o in orders],
        time=[timeline[o.intent.now] for o in orders],
        symbol=[o.market.symbol for o in orders],
        side=[
            "buy" if o.intent.sign > 0 or (closes and not o.opposes_long) else "sell"
            for o, closes in zip(orders, closing)
        ],
        order_type=["close" if closes else o.intent.kind for o, closes in zip(orders, closing)],
        qty=[o.quantity for o in orders],
        limit_price=[o.intent.limit for o in orders],
        stop_price=[o.intent.stop for o in orders],
        status=[o.status for o in orders],
        reason=[o.reason for o in orders],
    )


def _rows(kind: type[Row], **columns: Sequence[object]) -> tuple[Row, ...]:
    """Frozen rows from whole columns.

    The constructor of a frozen dataclass sets a field by a call that looks it up by name, and a run has thousands of
    rows. Here each slot is filled for all of them at once, in a third of the time.
    """
    names = [field.name for field in fields(kind)]
    assert list(columns) == names, f"{kind.__name__} has the fields {', '.join(names)}"
    made = tuple(map(kind.__new__, repeat(kind, len(next(iter(columns.values()))))))
    for name, column in columns.items():
        deque(map(getattr(kind, name).__set__, made, column), maxlen=0)
    return made
