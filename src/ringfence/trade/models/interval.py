"""Where a price may be after so many bars."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from statistics import NormalDist

import numpy as np

from ringfence.trade.bars import Floats
from ringfence.trade.models.paths import Method, block_steps, default_block, normal_steps, tail
from ringfence.trade.models.returns import Estimate, estimate, log_returns


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PriceInterval:
    """Prices after `horizon` bars. `fan` has one row per level of `levels`, from now to the horizon."""

    spot: float
    lower: float
    median: float
    upper: float
    mean: float
    p_up: float
    p_down: float
    p_above: float | None  # of the level that was asked about
    p_below: float | None
    value_at_risk: float  # fraction of the price that is lost in the worst 1 - confidence of cases, or more
    expected_shortfall: float  # the mean loss in those cases
    estimate: Estimate
    block: int  # bars drawn in a row; 0 for a Brownian motion
    levels: tuple[float, ...]
    fan: Floats
    closed_lower: float | None  # what the formula gives, where there is one
    closed_upper: float | None


def price_interval(
    close: Floats,
    *,
    horizon: int,
    confidence: float,
    method: Method,
    paths: int,
    rng: np.random.Generator,
    block: int | None = None,
    above: float | None = None,
    below: float | None = None,
    drift: bool = True,
) -> PriceInterval:
    """Drift and volatility are those of `close`; nothing is assumed about where the price ought to go.

    Without `drift` the mean log return is taken off, so that the median stays where the price is.
    """
    measured = estimate(close)
    returns = log_returns(close)
    if not drift:
        returns = returns - measured.drift
        measured = replace(measured, drift=0.0)
    spot = float(close[-1])
    size = default_block(len(returns)) if block is None else block
    if method == "gbm":
        variance = np.array([[measured.volatility**2]])
        steps = normal_steps(rng, np.array([measured.drift]), variance, horizon, paths)[:, :, 0]
    else:
        steps = block_steps(rng, returns, size, horizon, paths)
    logs = np.cumsum(steps, axis=1, out=steps)
    final = np.exp(logs[:, -1])
    side = (1.0 - confidence) / 2
    levels = (side, 0.25, 0.5, 0.75, 1.0 - side)
    fan = spot * np.exp(np.column_stack([np.zeros(len(levels)), np.quantile(logs, levels, axis=0)]))
    risk, shortfall = tail(final - 1.0, confidence)
    closed = closed_interval(spot, measured, horizon, confidence) if method == "gbm" else (None, None)
    return PriceInterval(
        spot=spot,
        lower=float(fan[0, -1]),
        median=float(fan[2, -1]),
        upper=float(fan[-1, -1]),
        mean=spot * float(final.mean()),
        p_up=float((final > 1.0).mean()),
        p_down=float((final < 1.0).mean()),
        p_above=None if above is None else float((spot * final > above).mean()),
        p_below=None if below is None else float((spot * final < below).mean()),
        value_at_risk=risk,
        expected_shortfall=shortfall,
        estimate=measured,
        block=0 if method == "gbm" else size,
        levels=levels,
        fan=fan,
        closed_lower=closed[0],
        closed_upper=closed[1],
    )


def closed_interval(spot: float, measured: Estimate, horizon: int, confidence: float) -> tuple[float, float]:
    """The quantiles of the log-normal distribution that the simulation draws from."""
    reach = NormalDist().inv_cdf((1.0 + confidence) / 2) * measured.volatility * math.sqrt(horizon)
    middle = measured.drift * horizon
    return spot * math.exp(middle - reach), spot * math.exp(middle + reach)
