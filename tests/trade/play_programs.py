"""Run inside the fence: play each program over each of the data files. What one raises ends it and names it."""

from __future__ import annotations

import json
import types
from pathlib import Path

from ringfence.guest.backtest import load_strategy
from ringfence.trade.arrow import read_bars
from ringfence.trade.engine import Engine
from ringfence.trade.run import FillRules

data = [read_bars(path) for path in sorted(Path().glob("*.arrow"))]
result = 0  # how many of the runs traded
for n, (code, class_name) in enumerate(json.loads(Path("programs.json").read_text())):
    for bars in data:
        strategy = load_strategy(code, f"program_{n}.py", types.ModuleType("strategy"), class_name)
        engine = Engine(bars, strategy, {}, FillRules())
        engine.play()
        result += bool(engine.book.fills)
