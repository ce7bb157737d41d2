"""A European option by Black and Scholes, with a simulation held against the formula."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Literal

import numpy as np

from ringfence.trade.arrow import read_bars
from ringfence.trade.models import estimate, price_option, simulate_option
from ringfence.trade.models.charts import draw_payoff

KIND: Literal["call", "put"] = "call"
SYMBOL: str | None = None  # where the spot and the volatility come from, unless they are given
SPOT: float | None = None
STRIKE: float | None = None  # None: at the money
YEARS = 0.25
VOLATILITY: float | None = None  # a year, as a fraction
RATE = 0.0  # a year, continuous
DIVIDEND = 0.0
BARS_PER_YEAR = 252.0
PATHS = 100_000
SEED = 0
PLOT = False


def main() -> dict[str, float]:
    observations = 0
    spot, volatility = SPOT, VOLATILITY
    if SYMBOL is not None:
        close = read_bars(Path("/bars/bars.arrow")).candles[SYMBOL].close
        spot = float(close[-1]) if spot is None else spot
        if volatility is None:
            measured = estimate(close)
            observations = measured.observations
            volatility = measured.volatility * BARS_PER_YEAR**0.5
    if spot is None or volatility is None:
        raise ValueError("a spot and a volatility are needed: give them, or a SYMBOL to take them from")
    strike = spot if STRIKE is None else STRIKE
    made = price_option(
        KIND, spot=spot, strike=strike, years=YEARS, volatility=volatility, rate=RATE, dividend=DIVIDEND
    )
    simulated, error = simulate_option(
        KIND,
        spot=spot,
        strike=strike,
        years=YEARS,
        volatility=volatility,
        rate=RATE,
        dividend=DIVIDEND,
        paths=PATHS,
        rng=np.random.default_rng(SEED),
    )
    sys.stdout.write(f"formula {made.price:.6g}, {PATHS} simulated payoffs {simulated:.6g} give or take {error:.2g}\n")
    if PLOT:
        draw_payoff("payoff.png", KIND, spot, strike, made.price)
    return {
        "spot": spot,
        "strike": strike,
        "volatility": volatility,
        "price": made.price,
        "delta": made.delta,
        "gamma": made.gamma,
        "vega": made.vega,
        "theta": made.theta,
        "rho": made.rho,
        "simulated": simulated,
        "simulated_error": error,
        "observations": observations,
    }


result = main()
