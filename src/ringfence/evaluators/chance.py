"""What is left of a result without its entries: as many trades, held as long, begun at random."""

from __future__ import annotations

import numpy as np

from ringfence.trade.bars import Bars
from ringfence.trade.run import Run

_DRAWS = 400
_MOST_TRADES = 1_000  # of more, some are taken from all over
_SEED = 0  # the same case gets the same verdict


def luck_of(run: Run, bars: Bars) -> float | None:
    """The share of draws that earn as much for each trade as the run did, from 0 to 1; None with nothing to draw from.

    Both sides are without fees. What is drawn is bought and sold at opens, as market orders are.
    """
    rng = np.random.default_rng(_SEED)
    own, drawn, counted = 0.0, np.zeros(_DRAWS), 0
    for trade in run.trades[:: -(-len(run.trades) // _MOST_TRADES) or 1]:
        candles = bars.candles.get(trade.symbol)
        if candles is None or trade.exit_price is None or not trade.entry_price > 0:
            continue
        first = 0 if bars.tradable_from is None else int(np.searchsorted(candles.time, bars.tradable_from))
        held = max(1, trade.bars_held)
        if len(candles) - held <= first:
            continue
        way = 1 if trade.side == "long" else -1
        begun = rng.integers(first, len(candles) - held, _DRAWS)
        drawn += way * (candles.open[begun + held] / candles.open[begun] - 1)
        own += way * (trade.exit_price / trade.entry_price - 1)
        counted += 1
    return float(np.mean(drawn >= own)) if counted else None
