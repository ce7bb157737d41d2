"""One strategy in three dialects, on real prices: the trades must be the same, bar by bar and cent by cent."""

from __future__ import annotations

import csv
import json
import runpy
import subprocess
import sys
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

from ringfence.trade.bars import Bars, Candles
from ringfence.trade.book import Closed
from ringfence.trade.engine import Engine
from ringfence.trade.run import Costs, FillRules
from ringfence.trade.strategy import Strategy

from tests.conftest import ROOT

FREE = FillRules(cash=100_000, costs=Costs(percent=0, slippage_bps=0))

PARAMETERS: tuple[dict[str, float], ...] = (
    {},
    {"period": 5, "low": 45, "high": 60, "stop": 0.02, "target": 0.04},  # in and out every few bars
    {"period": 21, "low": 50, "high": 90, "stop": 0.15, "target": 0.30},
    {"period": 2, "low": 20, "high": 80, "stop": 0.01, "target": 0.10},  # stops passed by gaps
)

# What the script traded, by the library's own account; it prints, so this goes to files.
RUN_SCRIPT = """
import json, runpy, sys
bt = runpy.run_path(sys.argv[1])["bt"]
for number, parameters in enumerate(json.loads(sys.argv[3])):
    trades = bt.run(**parameters)._trades[["EntryBar", "ExitBar", "EntryPrice", "ExitPrice", "Size"]]
    trades.to_csv(f"{sys.argv[2]}/{number}.csv", index=False)
"""


@dataclass(frozen=True)
class Deal:
    entry_bar: int
    exit_bar: int
    entry: float
    exit: float
    size: float


def goog() -> Bars:
    spec = find_spec("backtesting")
    assert spec is not None and spec.origin is not None
    with open(Path(spec.origin).parent / "test" / "GOOG.csv", newline="") as f:
        rows = list(csv.DictReader(f))
    time = np.array([row[""] for row in rows], dtype="datetime64[ns]").astype(np.int64)
    columns = [np.array([float(row[name]) for row in rows]) for name in ("Open", "High", "Low", "Close", "Volume")]
    return Bars(candles={"GOOG": Candles(time, *columns)}, timeframe="1d", source="csv:GOOG.csv", calendar="XNYS")


def play(example: str, parameters: dict[str, float]) -> list[Closed]:
    made = runpy.run_path(str(ROOT / "examples" / example))["RsiDip"]()
    assert isinstance(made, Strategy)
    engine = Engine(goog(), made, parameters, FREE)
    engine.play()
    return engine.book.closed


@pytest.fixture(scope="module")
def theirs(tmp_path_factory: pytest.TempPathFactory) -> list[list[Deal]]:
    out = tmp_path_factory.mktemp("backtesting")
    script = str(ROOT / "examples" / "rsi_dip_backtesting.py")
    done = subprocess.run(
        [sys.executable, "-c", RUN_SCRIPT, script, str(out), json.dumps(PARAMETERS)],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return [_read(out / f"{number}.csv") for number in range(len(PARAMETERS))]


def _read(path: Path) -> list[Deal]:
    with open(path, newline="") as f:
        rows = [[float(value) for value in row] for row in list(csv.reader(f))[1:]]
    return [Deal(int(entry_bar), int(exit_bar), *rest) for entry_bar, exit_bar, *rest in rows]


@pytest.mark.parametrize("number", range(len(PARAMETERS)))
@pytest.mark.parametrize("example", ["rsi_dip.py", "rsi_dip_signals.py"])
def test_trades_are_those_of_the_library(example: str, number: int, theirs: list[list[Deal]]) -> None:
    deals = [Deal(c.opened, c.closed, c.entry, c.exit, c.quantity) for c in play(example, PARAMETERS[number])]
    assert len(deals) > 15
    for mine, other in zip(deals, theirs[number], strict=True):
        assert (mine.entry_bar, mine.exit_bar, mine.size) == (other.entry_bar, other.exit_bar, other.size)
        assert (mine.entry, mine.exit) == pytest.approx((other.entry, other.exit), rel=1e-12)


@pytest.mark.parametrize("example", ["rsi_dip.py", "rsi_dip_signals.py"])
def test_each_way_out_was_taken(example: str) -> None:
    """Else the comparison would prove less than it seems to."""
    assert {closed.exit_reason for closed in play(example, {})} == {"stop", "target", "recovered"}
