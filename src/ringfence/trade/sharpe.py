"""How much of a Sharpe ratio is luck: the probabilistic and the deflated Sharpe ratio of Bailey and López de Prado.

All ratios here are per bar, not annualised: the theory counts observations.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist

from ringfence.trade.bars import Floats

FLAT = 1e-13  # a deviation of returns below this is rounding: each return carries an error of about 2e-16
_EULER_MASCHERONI = 0.5772156649015329
_NORMAL = NormalDist()


@dataclass(frozen=True, slots=True, kw_only=True)
class Moments:
    """Of a sample of returns. `deviation` divides by n-1; the skew and the kurtosis (3 for a normal) by n."""

    count: int
    mean: float
    deviation: float
    skew: float
    kurtosis: float

    @property
    def sharpe(self) -> float:
        return self.mean / self.deviation


def moments(returns: Floats) -> Moments | None:
    """None for fewer than two returns, or for returns that are all the same but for rounding."""
    count = len(returns)
    if count < 2:
        return None
    mean = float(returns.mean())
    apart = returns - mean
    squares = apart * apart
    variance = float(squares.mean())
    deviation = math.sqrt(variance * count / (count - 1))
    if not FLAT < deviation < math.inf:
        return None
    apart *= squares
    skew = float(apart.mean()) / (variance * math.sqrt(variance))
    squares *= squares
    kurtosis = float(squares.mean()) / (variance * variance)
    return Moments(count=count, mean=mean, deviation=deviation, skew=skew, kurtosis=kurtosis)


def probabilistic_sharpe(sample: Moments, against: float = 0.0) -> float | None:
    """The probability that the true Sharpe ratio is above `against`, given how long and how odd the sample is.

    None where the estimate has no error to speak of: two values only, as after two returns.
    """
    ratio = sample.sharpe
    spread = 1 - sample.skew * ratio + (sample.kurtosis - 1) / 4 * ratio**2
    if not 1e-9 < spread < math.inf:
        return None
    return _NORMAL.cdf((ratio - against) * math.sqrt((sample.count - 1) / spread))


def expected_maximum(trials: int, variance: float) -> float:
    """The best Sharpe ratio to expect of so many trials without any skill, whose ratios have this variance."""
    if trials == 1:
        return 0.0
    # By symmetry -inv_cdf(p) is inv_cdf(1 - p), without losing a small p to rounding.
    best = (_EULER_MASCHERONI - 1) * _NORMAL.inv_cdf(1 / trials)
    best -= _EULER_MASCHERONI * _NORMAL.inv_cdf(1 / (trials * math.e))
    return math.sqrt(variance) * best


def deflated_sharpe(sample: Moments, trials: int, variance: float | None = None) -> float | None:
    """The probabilistic ratio against what the luckiest of `trials` would have shown.

    Where the trials' variance is not known it is that of the estimate itself without skill, 1/(n-1).
    """
    known = 1 / (sample.count - 1) if variance is None else variance
    return probabilistic_sharpe(sample, expected_maximum(trials, known))
