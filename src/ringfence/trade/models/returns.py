"""Logarithmic returns, and the drift and the volatility that they have."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ringfence.base.errors import DataError
from ringfence.trade.bars import Floats

LEAST_RETURNS = 20  # below this a standard deviation says nothing


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """Per bar: `drift` is the mean of the log returns, `volatility` their standard deviation as a sample."""

    drift: float
    volatility: float
    observations: int

    @property
    def drift_error(self) -> float:
        """The standard error of the drift: it is nearly always larger than the drift itself."""
        return float(self.volatility / np.sqrt(self.observations))


def log_returns(close: Floats) -> Floats:
    """One fewer than there are closes."""
    prices = np.asarray(close, dtype=np.float64)
    if len(prices) < 2 or not np.isfinite(prices).all() or (prices <= 0).any():
        raise DataError("returns need at least two prices, all above zero: load more bars, or --repair them")
    made: Floats = np.diff(np.log(prices))
    return made


def estimate(close: Floats) -> Estimate:
    returns = log_returns(close)
    if len(returns) < LEAST_RETURNS:
        raise DataError(
            f"{len(returns)} returns are too few to measure a volatility: load at least {LEAST_RETURNS + 1} bars"
        )
    return Estimate(drift=float(returns.mean()), volatility=float(returns.std(ddof=1)), observations=len(returns))
