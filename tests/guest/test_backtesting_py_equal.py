"""A script behind the fence gives the numbers that it gives outside, to the last bit."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.corpus.bench import Bench, open_bench
from tests.corpus.scripts import FILES, Script, scripts

# What is added to a text that runs outside: the library keeps its last result in `_results`.
_TELL = """
import json as _json, math as _math, pandas as _pd
def _plain(v):
    if isinstance(v, _pd.Timestamp): return v.isoformat()
    if isinstance(v, _pd.Timedelta): return str(v)
    v = v.item() if hasattr(v, 'item') else v
    return None if isinstance(v, float) and not _math.isfinite(v) else v
_r = bt._results
with open(_ANSWER, 'w') as _f:
    _json.dump({'statistics': {k: _plain(v) for k, v in _r.items() if not k.startswith('_')},
                'trades': [[_plain(v) for v in row] for row in
                           _r['_trades'][['Size', 'EntryPrice', 'ExitPrice', 'PnL', 'Commission', 'ReturnPct']].values],
                'equity': _r['_equity_curve']['Equity'].tolist()}, _f)
"""

_NAMES = ("good-goog-", "good-cleaned-", "good-optimize-", "good-fractional", "good-margin-Sma", "good-costly-A")
CHOSEN = [script for script in scripts() if script.name.startswith(_NAMES)]


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    with open_bench(tmp_path_factory.mktemp("prices")) as bench:
        yield bench


def run_directly(text: str, folder: Path) -> dict[str, object]:
    for number, (place, content) in enumerate(FILES.items()):
        (folder / f"{number}.csv").write_bytes(content)
        text = text.replace(place, str(folder / f"{number}.csv"))
    script, answer = folder / "script.py", folder / "answer.json"
    script.write_text(f"_ANSWER = {str(answer)!r}\n{text}\nif __name__ == '__main__':\n    exec({_TELL!r})\n")
    # A library for numbers that is told by the environment which kernels to use rounds as those do.
    # The guest has no such variable, so its peer has none.
    plain = {name: value for name, value in os.environ.items() if not name.startswith(("OPENBLAS_", "MKL_"))}
    command = [sys.executable, str(script)]
    subprocess.run(command, cwd=folder, env=plain, check=True, capture_output=True, timeout=250)
    found: dict[str, object] = json.loads(answer.read_text())
    return found


def test_enough_scripts_are_compared() -> None:
    assert len(CHOSEN) >= 30 and sum("commission" in script.text for script in CHOSEN) >= 20


@pytest.mark.parametrize("script", CHOSEN, ids=lambda script: script.name)
def test_statistics_are_those_of_a_plain_interpreter(bench: Bench, script: Script, tmp_path: Path) -> None:
    direct = run_directly(script.text, tmp_path)
    run = bench.headline(script.text)
    assert dict(run.statistics) == direct["statistics"]
    signs = {"long": 1, "short": -1}
    ours = [[signs[t.side] * t.qty, t.entry_price, t.exit_price, t.pnl, t.fees, t.pnl_pct] for t in run.trades]
    assert ours == direct["trades"]
    assert run.equity is not None
    assert run.equity.value.tolist() == [math.nan if v is None else v for v in direct["equity"]]  # type: ignore[attr-defined]


def test_two_workers_find_what_one_finds(bench: Bench) -> None:
    script = next(script for script in CHOSEN if script.name == "good-optimize-SmaCross")
    assert bench.headline(script.text, workers=2).statistics == bench.headline(script.text).statistics


def test_what_a_strategy_leaves_behind_does_not_reach_the_next_set_of_parameters(bench: Bench) -> None:
    text = """
from backtesting import Backtest, Strategy
from backtesting.test import GOOG
class Leaky(Strategy):
    n = 1
    seen = []
    def init(self):
        Leaky.seen.append(self.n)
    def next(self):
        if not self.position and len(self.data) % (10 * self.n) == 0:
            self.buy(sl=self.data.Close[-1] * .9)
bt = Backtest(GOOG, Leaky)
bt.optimize(n=[1, 2, 3, 4])
print(Leaky.seen)
"""
    outcome = bench.outcome(text)
    assert outcome.ok, outcome.stderr
    assert len(json.loads(outcome.stdout.strip())) == 1
