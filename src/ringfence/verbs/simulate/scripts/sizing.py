"""How much to buy, by up to three rules; each rule whose numbers are there is used."""

from __future__ import annotations

import sys
from pathlib import Path

from ringfence.trade.arrow import read_bars
from ringfence.trade.models import estimate, fixed_fraction, kelly_fraction, volatility_target

EQUITY = 100_000.0
RISK: float | None = None  # of the equity, to be lost at the stop
ENTRY: float | None = None
STOP: float | None = None
WIN_RATE: float | None = None
PAYOFF: float | None = None  # average win in average losses
SYMBOL: str | None = None
TARGET: float | None = None  # yearly volatility to aim at
MOST = 1.0  # the largest share of the equity that may be invested
BARS_PER_YEAR = 252.0


def main() -> dict[str, float | None]:
    made: dict[str, float | None] = {}
    observations = 0
    entry = ENTRY
    volatility = None
    if SYMBOL is not None:
        close = read_bars(Path("/bars/bars.arrow")).candles[SYMBOL].close
        entry = float(close[-1]) if entry is None else entry
        if TARGET is not None:
            measured = estimate(close)
            observations = measured.observations
            volatility = measured.volatility * BARS_PER_YEAR**0.5
    if RISK is not None and entry is not None and STOP is not None:
        units = fixed_fraction(EQUITY, RISK, entry, STOP)
        made |= {"fixed_units": units, "fixed_money": units * entry, "fixed_loss": units * abs(entry - STOP)}
    if WIN_RATE is not None and PAYOFF is not None:
        share = kelly_fraction(WIN_RATE, PAYOFF)
        made |= {"kelly_fraction": share, "half_kelly_fraction": share / 2, "kelly_money": max(share, 0.0) * EQUITY}
    if TARGET is not None and volatility is not None and entry is not None:
        share = volatility_target(TARGET, volatility, MOST)
        made |= {"volatility_fraction": share, "volatility_money": share * EQUITY}
        made |= {"volatility_units": share * EQUITY / entry, "volatility": volatility}
    sys.stdout.write(f"{len(made)} numbers for an equity of {EQUITY:.6g}\n")
    made |= {"entry": entry, "observations": observations}
    return made


result = main()
