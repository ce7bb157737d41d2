"""Where the price may be after HORIZON bars: many futures are drawn, and the middle of them is reported."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Literal

import numpy as np

from ringfence.trade.arrow import read_bars
from ringfence.trade.models import price_interval
from ringfence.trade.models.charts import draw_fan

SYMBOL = "GOOG"
HORIZON = 30  # bars
CONFIDENCE = 0.95
METHOD: Literal["gbm", "bootstrap"] = "gbm"
BLOCK: int | None = None  # bars drawn in a row by the bootstrap; None lets the length of the history decide
ABOVE: float | None = None  # a price, to know how often it is passed
BELOW: float | None = None
DRIFT = True  # that of the data; without it the mean log return is taken off
PATHS = 10_000
SEED = 0
PLOT = False

close = read_bars(Path("/bars/bars.arrow")).candles[SYMBOL].close
made = price_interval(
    close,
    horizon=HORIZON,
    confidence=CONFIDENCE,
    method=METHOD,
    block=BLOCK,
    above=ABOVE,
    below=BELOW,
    drift=DRIFT,
    paths=PATHS,
    rng=np.random.default_rng(SEED),
)
sys.stdout.write(f"{PATHS} futures of {HORIZON} bars from {made.estimate.observations} returns of {SYMBOL}\n")
if PLOT:
    draw_fan(
        "fan.png", close, made.levels, made.fan, f"{SYMBOL}: {100 * CONFIDENCE:.4g} % interval over {HORIZON} bars"
    )
result = {
    "spot": made.spot,
    "lower": made.lower,
    "median": made.median,
    "upper": made.upper,
    "mean": made.mean,
    "p_up": made.p_up,
    "p_down": made.p_down,
    "p_above": made.p_above,
    "p_below": made.p_below,
    "value_at_risk": made.value_at_risk,
    "expected_shortfall": made.expected_shortfall,
    "drift": made.estimate.drift,
    "drift_error": made.estimate.drift_error,
    "volatility": made.estimate.volatility,
    "observations": made.estimate.observations,
    "block": made.block,
    "closed_lower": made.closed_lower,
    "closed_upper": made.closed_upper,
    "levels": list(made.levels),
    "fan": made.fan.tolist(),
}
