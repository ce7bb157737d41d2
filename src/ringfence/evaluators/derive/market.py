"""One instrument's bars on the timeline, the positions that were held in it, and what fills cost there."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from ringfence.evaluators.derive.conditions import Flags
from ringfence.evaluators.derive.lines import Grid
from ringfence.trade.bars import Floats, Ints
from ringfence.trade.description.model import Side
from ringfence.trade.orders import Trade
from ringfence.trade.run import FillRules, Run

_LOOSE = 2e-3  # of a price, where another engine filled the orders by rules of its own


@dataclass(frozen=True, slots=True, eq=False)
class Market:
    """`after[t]` is the next moment with a bar of its own, the length of the timeline where there is none; `before[t]`
    the one before, -1 where there is none. `against` is what a market order loses to slippage and spread."""

    symbol: str
    timeline: Ints
    open: Floats
    high: Floats
    low: Floats
    close: Floats
    after: Ints
    before: Ints
    against: float
    rounding: float

    @classmethod
    def of(cls, grid: Grid, symbol: str, rules: FillRules | None, rounding: float) -> Market:
        opened, high, low, close = (grid.own(symbol, name) for name in ("open", "high", "low", "close"))
        rows = np.flatnonzero(~np.isnan(opened))
        moments, end = np.arange(len(grid)), len(grid)
        after = np.append(rows, end)[np.searchsorted(rows, moments, side="right")]
        before = np.append(rows, -1)[np.searchsorted(rows, moments, side="left") - 1]
        against = (rules.costs.slippage_bps + rules.costs.spread_bps / 2) / 10_000 if rules is not None else 0.0
        rounding = _LOOSE if rules is None else rounding
        return cls(symbol, grid.timeline, opened, high, low, close, after, before, against, rounding)

    def __len__(self) -> int:
        return len(self.timeline)

    def place(self, moment: int) -> int | None:
        """The index of a moment at which this instrument has a bar."""
        at = int(np.searchsorted(self.timeline, moment))
        return at if at < len(self) and self.timeline[at] == moment and not np.isnan(self.open[at]) else None

    def worse(self, price: float, sign: int) -> float:
        """`sign` is 1 for a purchase and -1 for a sale."""
        return price * (1 + sign * self.against)

    def same(self, price: float, expected: float) -> bool:
        return abs(price - expected) <= self.rounding * max(abs(expected), 1e-12)


@dataclass(frozen=True, slots=True, eq=False)
class Episode:
    """What one entry bought, until all of it is gone. `entered` and `left` are places on the timeline; `left` is the
    timeline's length while some of it is still held. `decided` is where the order was given."""

    side: Side
    entered: int
    left: int
    decided: int
    price: float
    lots: tuple[Trade, ...]
    exits: tuple[int, ...]  # of each lot

    @property
    def sign(self) -> int:
        return 1 if self.side == "long" else -1

    @property
    def quantity(self) -> float:
        return sum(lot.qty for lot in self.lots)

    def sold_until(self, moment: int) -> float:
        """Which share of it was gone at the close of this moment."""
        gone = sum(lot.qty for lot, left in zip(self.lots, self.exits) if left <= moment)
        return gone / self.quantity


Decided = Mapping[tuple[str, int, str], int]  # symbol, moment and side of a fill: the moment of its order


def decisions(run: Run) -> Decided:
    """When the fills were decided. Where several orders were filled at once, the latest: it is the entry."""
    given = {order.id: order.time for order in run.orders}
    made: dict[tuple[str, int, str], int] = {}
    for fill in run.fills:
        key = (fill.symbol, fill.time, fill.side)
        made[key] = max(made.get(key, fill.time if fill.order_id not in given else 0), given.get(fill.order_id, 0))
    return made


def episodes(market: Market, trades: Iterable[Trade], decided: Decided) -> tuple[list[Episode], list[Trade]]:
    """By the bar on which they were entered; and the trades that no bar can have made."""
    groups: dict[tuple[int, Side], list[Trade]] = {}
    lost = []
    for trade in trades:
        if trade.symbol != market.symbol:
            continue
        entered = market.place(trade.entry_time)
        left = len(market) if trade.exit_time is None else market.place(trade.exit_time)
        half = (trade.exit_time is None) != (trade.exit_price is None)
        sized = trade.qty > 0 and trade.entry_price > 0
        if entered is None or left is None or left < entered or half or not sized:
            lost.append(trade)
        else:
            groups.setdefault((entered, trade.side), []).append(trade)
    made = []
    for (entered, side), lots in sorted(groups.items()):
        exits = tuple(
            len(market) if lot.exit_time is None else int(np.searchsorted(market.timeline, lot.exit_time))
            for lot in lots
        )
        bought = "buy" if side == "long" else "sell"
        moment = decided.get((market.symbol, int(market.timeline[entered]), bought))
        at = entered - 1 if moment is None else int(np.searchsorted(market.timeline, moment))
        made.append(Episode(side, entered, max(exits), at, lots[0].entry_price, tuple(lots), exits))
    return made, lost


def held(market: Market, found: Iterable[Episode], side: Side) -> Flags:
    """At the close of each moment."""
    made = np.zeros(len(market), dtype=bool)
    for episode in found:
        if episode.side == side:
            made[episode.entered : episode.left] = True
    return made
