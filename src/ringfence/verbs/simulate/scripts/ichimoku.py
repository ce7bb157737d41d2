"""An Ichimoku cloud by hand, its four periods in proportion to one number."""

from __future__ import annotations

import sys
from pathlib import Path

from ringfence.trade.arrow import read_bars
from ringfence.trade.models import ichimoku_cloud, ichimoku_periods
from ringfence.trade.models.charts import draw_cloud

SYMBOL = "GOOG"
PERIOD = 9
ROWS = 10  # of the last values
PLOT = False

candles = read_bars(Path("/bars/bars.arrow")).candles[SYMBOL]
periods = ichimoku_periods(PERIOD)
made = ichimoku_cloud(candles.high, candles.low, candles.close, periods)
bars = len(candles)
now_a, now_b = made.span_a[:bars], made.span_b[:bars]  # what lies over each bar in a chart
sys.stdout.write(f"conversion {periods.conversion}, base {periods.base}, span {periods.span}, ahead {periods.ahead}\n")
if PLOT:
    draw_cloud("ichimoku.png", candles.close, made, SYMBOL)
result = {
    "conversion_period": periods.conversion,
    "base_period": periods.base,
    "span_period": periods.span,
    "ahead_period": periods.ahead,
    "close": candles.close[-1],
    "observations": bars,
    "lines": ["conversion", "base", "span_a", "span_b"],
    "values": [line[-ROWS:].tolist() for line in (made.conversion, made.base, now_a, now_b)],
    "ahead": [made.span_a[bars:].tolist(), made.span_b[bars:].tolist()],
}
