"""How SYMBOL moves with AGAINST: correlation, and the beta of one on the other."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

from ringfence.trade.arrow import read_bars
from ringfence.trade.models import common_closes, relate
from ringfence.trade.models.charts import draw_scatter

SYMBOL = "AAPL"
AGAINST = "MSFT"
CONFIDENCE = 0.95
PLOT = False

closes = common_closes(read_bars(Path("/bars/bars.arrow")).candles, [SYMBOL, AGAINST])
returns = np.diff(np.log(closes), axis=0)
made = relate(returns[:, 0], returns[:, 1], CONFIDENCE)
sys.stdout.write(f"{made.observations} common returns of {SYMBOL} and {AGAINST}\n")
if PLOT:
    draw_scatter("scatter.png", returns[:, 1], returns[:, 0], AGAINST, SYMBOL, made.beta, made.alpha)
result = {
    "correlation": made.correlation,
    "correlation_lower": made.correlation_lower,
    "correlation_upper": made.correlation_upper,
    "beta": made.beta,
    "beta_error": made.beta_error,
    "alpha": made.alpha,
    "r_squared": made.r_squared,
    "observations": made.observations,
}
