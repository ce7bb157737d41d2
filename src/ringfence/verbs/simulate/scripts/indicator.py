"""One indicator over all bars; its last values are reported."""

from __future__ import annotations

import sys
from pathlib import Path

from ringfence.trade import indicators
from ringfence.trade.arrow import read_bars
from ringfence.trade.models.charts import draw_lines

SYMBOL = "GOOG"
NAME = "rsi"
PARAMETERS: dict[str, float] = {}
LINES = ["rsi"]
ROWS = 10  # of the last values
PLOT = False

candles = read_bars(Path("/bars/bars.arrow")).candles[SYMBOL]
made = getattr(indicators, NAME)(candles, **PARAMETERS)
lines = list(made) if isinstance(made, tuple) else [made]
sys.stdout.write(f"{NAME} of {len(candles)} bars of {SYMBOL}\n")
if PLOT:
    draw_lines(f"{NAME}.png", candles.close, lines, LINES, SYMBOL)
result = {
    "close": candles.close[-1],
    "observations": len(candles),
    "lines": LINES,
    "values": [line[-ROWS:].tolist() for line in lines],
}
