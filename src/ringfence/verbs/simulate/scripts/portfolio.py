"""What a portfolio that is bought and held may be worth after HORIZON bars."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Literal

import numpy as np

from ringfence.trade.arrow import read_bars
from ringfence.trade.models import common_closes, simulate_portfolio
from ringfence.trade.models.charts import draw_fan

SYMBOLS = ["AAPL", "MSFT"]
WEIGHTS = [0.5, 0.5]  # of CASH; the rest stays cash
CASH = 100_000.0
HORIZON = 252
CONFIDENCE = 0.95
RUIN = 0.5  # the loss that counts as ruin
METHOD: Literal["gbm", "bootstrap"] = "bootstrap"
BLOCK: int | None = None
PATHS = 5_000
SEED = 0
PLOT = False

closes = common_closes(read_bars(Path("/bars/bars.arrow")).candles, SYMBOLS)
made = simulate_portfolio(
    closes,
    WEIGHTS,
    cash=CASH,
    horizon=HORIZON,
    confidence=CONFIDENCE,
    ruin=RUIN,
    method=METHOD,
    block=BLOCK,
    paths=PATHS,
    rng=np.random.default_rng(SEED),
)
sys.stdout.write(f"{PATHS} futures of {HORIZON} bars from {made.observations} common returns of {len(SYMBOLS)}\n")
if PLOT:
    weights = np.array(WEIGHTS)
    past = CASH * (closes / closes[-1] @ weights + 1 - weights.sum())
    draw_fan("fan.png", past, made.levels, made.fan, f"{', '.join(SYMBOLS)}: worth over {HORIZON} bars")
result = {
    "lower": made.lower,
    "median": made.median,
    "upper": made.upper,
    "mean": made.mean,
    "p_up": made.p_up,
    "value_at_risk": made.value_at_risk,
    "expected_shortfall": made.expected_shortfall,
    "drawdown_median": made.drawdown_median,
    "drawdown_lower": made.drawdown_lower,
    "p_ruin": made.p_ruin,
    "observations": made.observations,
    "block": made.block,
    "levels": list(made.levels),
    "fan": made.fan.tolist(),
}
