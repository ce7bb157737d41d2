"""How one instrument moves with another."""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

from ringfence.base.errors import DataError
from ringfence.trade.bars import Floats


@dataclass(frozen=True, slots=True, kw_only=True)
class Relation:
    """Of log returns: `beta` and `alpha` (per bar) explain the first by the second, `r_squared` says how well."""

    correlation: float
    correlation_lower: float
    correlation_upper: float
    beta: float
    beta_error: float
    alpha: float
    r_squared: float
    observations: int


def relate(returns: Floats, against: Floats, confidence: float = 0.95) -> Relation:
    """The bounds of the correlation are Fisher's, which take the returns for independent and jointly normal."""
    count = len(returns)
    x, y = against - against.mean(), returns - returns.mean()
    var_x, var_y, together = float(x @ x), float(y @ y), float(x @ y)
    if var_x == 0.0 or var_y == 0.0:
        still = "the second" if var_x == 0.0 else "the first"
        raise DataError(f"{still} instrument never moves, so nothing moves with it: choose another one")
    correlation = max(-1.0, min(1.0, together / math.sqrt(var_x * var_y)))
    beta = together / var_x
    rest = y - beta * x
    lower, upper = _fisher(correlation, count, confidence)
    return Relation(
        correlation=correlation,
        correlation_lower=lower,
        correlation_upper=upper,
        beta=beta,
        beta_error=float(np.sqrt(rest @ rest / (count - 2) / var_x)),
        alpha=float(returns.mean() - beta * against.mean()),
        r_squared=correlation**2,
        observations=count,
    )


def _fisher(correlation: float, count: int, confidence: float) -> tuple[float, float]:
    if abs(correlation) >= 1.0 - 1e-15:
        return correlation, correlation
    middle, reach = math.atanh(correlation), NormalDist().inv_cdf((1 + confidence) / 2) / math.sqrt(count - 3)
    return math.tanh(middle - reach), math.tanh(middle + reach)
