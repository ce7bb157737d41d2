"""What a portfolio that is bought and held may be worth."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ringfence.base.errors import DataError
from ringfence.trade.bars import Candles, Floats
from ringfence.trade.models.paths import Method, block_steps, default_block, normal_steps, tail, worst_drawdown
from ringfence.trade.models.returns import LEAST_RETURNS


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PortfolioRange:
    """Money after the horizon, from `cash`. Drawdowns are negative fractions: the lower one is the deeper."""

    lower: float
    median: float
    upper: float
    mean: float
    p_up: float
    value_at_risk: float
    expected_shortfall: float
    drawdown_median: float
    drawdown_lower: float
    p_ruin: float
    observations: int
    block: int
    levels: tuple[float, ...]
    fan: Floats


def common_closes(candles: Mapping[str, Candles], symbols: Sequence[str]) -> Floats:
    """Closes of shape (bars, symbols) at the moments at which every one of them has a bar."""
    times = candles[symbols[0]].time
    for symbol in symbols[1:]:
        times = np.intersect1d(times, candles[symbol].time, assume_unique=True)
    if len(times) < LEAST_RETURNS + 1:
        raise DataError(
            f"{', '.join(symbols)} have {len(times)} bars in common: load at least {LEAST_RETURNS + 1} of the same days"
        )
    picked = [candles[s].close[np.searchsorted(candles[s].time, times)] for s in symbols]
    return np.column_stack(picked)


def simulate_portfolio(
    closes: Floats,
    weights: Sequence[float],
    *,
    cash: float,
    horizon: int,
    confidence: float,
    ruin: float,
    method: Method,
    paths: int,
    rng: np.random.Generator,
    block: int | None = None,
) -> PortfolioRange:
    """Weights are shares of `cash`; what they leave stays cash without interest. Nothing is traded on the way.

    `ruin` is the fraction of the money whose loss, at any bar on the way, counts as ruin.
    """
    returns = np.diff(np.log(closes), axis=0)
    size = default_block(len(returns)) if block is None else block
    if method == "gbm":
        covariance = np.atleast_2d(np.cov(returns, rowvar=False))
        steps = normal_steps(rng, returns.mean(axis=0), covariance, horizon, paths)
    else:
        steps = block_steps(rng, returns, size, horizon, paths)
    growth = np.exp(np.cumsum(steps, axis=1, out=steps), out=steps)
    shares = np.asarray(weights, dtype=np.float64)
    worth = np.empty((paths, horizon + 1))
    worth[:, 0] = cash
    worth[:, 1:] = cash * (growth @ shares + (1.0 - shares.sum()))
    side = (1.0 - confidence) / 2
    levels = (side, 0.25, 0.5, 0.75, 1.0 - side)
    fan = np.quantile(worth, levels, axis=0)
    final = worth[:, -1]
    risk, shortfall = tail(final / cash - 1.0, confidence)
    falls = worst_drawdown(worth)
    return PortfolioRange(
        lower=float(fan[0, -1]),
        median=float(fan[2, -1]),
        upper=float(fan[-1, -1]),
        mean=float(final.mean()),
        p_up=float((final > cash).mean()),
        value_at_risk=risk,
        expected_shortfall=shortfall,
        drawdown_median=float(np.median(falls)),
        drawdown_lower=float(np.quantile(falls, 1.0 - confidence)),
        p_ruin=float((worth.min(axis=1) <= cash * (1.0 - ruin)).mean()),
        observations=len(returns),
        block=0 if method == "gbm" else size,
        levels=levels,
        fan=fan,
    )
