"""European options: the price and the Greeks of Black, Scholes and Merton, and a simulation to hold against them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist
from typing import Literal

import numpy as np

from ringfence.base.errors import DataError

Kind = Literal["call", "put"]
_NORMAL = NormalDist()


@dataclass(frozen=True, slots=True, kw_only=True)
class Option:
    """The Greeks are per unit: `vega` and `rho` for a change of 1.0 (100 %), `theta` for one year."""

    price: float
    delta: float
    gamma: float
    vega: float
    theta: float
    rho: float


def price_option(
    kind: Kind, *, spot: float, strike: float, years: float, volatility: float, rate: float, dividend: float = 0.0
) -> Option:
    """`rate` and `dividend` are continuous, a year. At expiry, or without volatility, the limit is given."""
    if min(spot, strike) <= 0 or min(years, volatility) < 0:
        raise DataError("an option needs spot and strike above zero, and no negative time or volatility: correct them")
    sign = 1.0 if kind == "call" else -1.0
    asset, bond = spot * math.exp(-dividend * years), strike * math.exp(-rate * years)
    spread = volatility * math.sqrt(years)
    if spread == 0.0:
        return _certain(sign, asset, bond, spot, years, rate, dividend)
    d1 = math.log(asset / bond) / spread + spread / 2
    d2 = d1 - spread
    inside, exercised = _NORMAL.cdf(sign * d1), _NORMAL.cdf(sign * d2)
    density = _NORMAL.pdf(d1)
    decay = -asset * density * volatility / (2 * math.sqrt(years))
    return Option(
        price=sign * (asset * inside - bond * exercised),
        delta=sign * inside * asset / spot,
        gamma=asset * density / (spot * spot * spread),
        vega=asset * density * math.sqrt(years),
        theta=decay + sign * (dividend * asset * inside - rate * bond * exercised),
        rho=sign * years * bond * exercised,
    )


def _certain(sign: float, asset: float, bond: float, spot: float, years: float, rate: float, dividend: float) -> Option:
    inside = 1.0 if sign * (asset - bond) > 0 else 0.0
    return Option(
        price=max(sign * (asset - bond), 0.0),
        delta=sign * inside * asset / spot,
        gamma=0.0,
        vega=0.0,
        theta=sign * inside * (dividend * asset - rate * bond),
        rho=sign * inside * years * bond,
    )


def simulate_option(
    kind: Kind,
    *,
    spot: float,
    strike: float,
    years: float,
    volatility: float,
    rate: float,
    dividend: float,
    paths: int,
    rng: np.random.Generator,
) -> tuple[float, float]:
    """The discounted mean payoff and its standard error; each draw is used twice, with both signs."""
    draws = rng.standard_normal(-(-paths // 2))
    middle = (rate - dividend - volatility**2 / 2) * years
    reach = volatility * math.sqrt(years) * draws
    sign = 1.0 if kind == "call" else -1.0
    payoffs = [np.maximum(sign * (spot * np.exp(middle + way * reach) - strike), 0.0) for way in (1.0, -1.0)]
    pairs = math.exp(-rate * years) * (payoffs[0] + payoffs[1]) / 2  # pairs are independent, their halves are not
    return float(pairs.mean()), float(pairs.std(ddof=1) / math.sqrt(len(pairs)))
