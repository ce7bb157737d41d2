"""What else the trades of a run could have come to, drawn again with replacement."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np

from ringfence.trade.models import simulate_trades, trade_returns
from ringfence.trade.models.charts import draw_fan

CASH = 100_000.0
TRADES: int | None = None  # to draw in each future; None: as many as the run had
CONFIDENCE = 0.95
RUIN = 0.5  # the loss that counts as ruin
PATHS = 5_000
SEED = 0
PLOT = False


def main() -> dict[str, object]:
    returns = trade_returns(json.loads(Path("pnl.json").read_text()), CASH)
    made = simulate_trades(
        returns,
        cash=CASH,
        count=len(returns) if TRADES is None else TRADES,
        confidence=CONFIDENCE,
        ruin=RUIN,
        paths=PATHS,
        rng=np.random.default_rng(SEED),
    )
    sys.stdout.write(f"{PATHS} sequences of {made.fan.shape[1] - 1} trades drawn from {made.trades}\n")
    if PLOT:
        draw_fan("fan.png", np.array([CASH]), made.levels, made.fan, "Equity, trade by trade")
    return {
        "lower": made.lower,
        "median": made.median,
        "upper": made.upper,
        "mean": made.mean,
        "p_up": made.p_up,
        "drawdown_median": made.drawdown_median,
        "drawdown_lower": made.drawdown_lower,
        "p_ruin": made.p_ruin,
        "trades": made.trades,
        "levels": list(made.levels),
        "fan": made.fan.tolist(),
    }


result = main()
