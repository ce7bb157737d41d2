"""What else the trades of a strategy could have come to: the same trades, drawn again in another order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ringfence.base.errors import DataError
from ringfence.trade.bars import Floats
from ringfence.trade.models.paths import worst_drawdown

LEAST_TRADES = 5


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class StrategyRange:
    lower: float
    median: float
    upper: float
    mean: float
    p_up: float
    drawdown_median: float
    drawdown_lower: float
    p_ruin: float
    trades: int  # that were drawn from
    levels: tuple[float, ...]
    fan: Floats


def trade_returns(pnl: Sequence[float], cash: float) -> Floats:
    """Each trade's gain as a fraction of the money there was after the trades before it, in the order of exits."""
    gains = np.asarray(pnl, dtype=np.float64)
    before = cash + np.concatenate([[0.0], np.cumsum(gains)[:-1]])
    if (before <= 0).any():
        raise DataError("the run lost all its money before its last trade: there is nothing left to draw from")
    made: Floats = gains / before
    return made


def simulate_trades(
    returns: Floats,
    *,
    cash: float,
    count: int,
    confidence: float,
    ruin: float,
    paths: int,
    rng: np.random.Generator,
) -> StrategyRange:
    """`count` trades drawn with replacement, each risking the same share of the money as it did in the run."""
    if len(returns) < LEAST_TRADES:
        raise DataError(f"{len(returns)} closed trades are too few to draw from: a run needs {LEAST_TRADES} or more")
    drawn = returns[rng.integers(0, len(returns), size=(paths, count))]
    # A loss of more than everything, as a short can make, ends at nothing and not below it.
    factors = np.maximum(1.0 + drawn, 0.0)
    worth = np.empty((paths, count + 1))
    worth[:, 0] = cash
    np.cumprod(factors, axis=1, out=worth[:, 1:])
    worth[:, 1:] *= cash
    side = (1.0 - confidence) / 2
    levels = (side, 0.25, 0.5, 0.75, 1.0 - side)
    fan = np.quantile(worth, levels, axis=0)
    falls = worst_drawdown(worth)
    final = worth[:, -1]
    return StrategyRange(
        lower=float(fan[0, -1]),
        median=float(fan[2, -1]),
        upper=float(fan[-1, -1]),
        mean=float(final.mean()),
        p_up=float((final > cash).mean()),
        drawdown_median=float(np.median(falls)),
        drawdown_lower=float(np.quantile(falls, 1.0 - confidence)),
        p_ruin=float((worth.min(axis=1) <= cash * (1.0 - ruin)).mean()),
        trades=len(returns),
        levels=levels,
        fan=fan,
    )
