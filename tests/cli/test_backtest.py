"""`ringfence backtest`: numbers for people and as JSON, files beside them, and an exit code that can be relied on."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path

import pytest

from ringfence.base.errors import DataError, DraftError, InputError, JobError
from ringfence.cli.dispatch import make_app
from ringfence.trade.run import Run

from tests.cli.command import environment, on_terminal, ringfence

COMMANDS = [
    ("backtest", "ringfence.cli.backtest", "Backtest a strategy."),
    ("runs", "ringfence.cli.runs", "List runs."),
]
CROSS = """import pandas as pd
from ringfence import Strategy, param

class Cross(Strategy):
    fast = 10
    slow = param(30, 20, 200)

    def init(self):
        mean = lambda c, n: pd.Series(c).rolling(n).mean()
        self.a = self.I(mean, self.data.close, self.fast, name="fast")
        self.b = self.I(mean, self.data.close, self.slow, name="slow")

    def next(self):
        if self.a > self.b and not self.position:
            self.buy()
        elif self.a < self.b and self.position:
            self.position.close()
"""
PEEK = """import numpy as np
from ringfence import Strategy

class Peek(Strategy):
    def init(self):
        self.x = self.I(lambda c: np.roll(c, -1), self.data.close)

    def next(self):
        if self.x > self.data.close and not self.position:
            self.buy()
        elif self.x < self.data.close and self.position:
            self.position.close()
"""
Call = Callable[..., tuple[int, str, str]]


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("RINGFENCE_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "160")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "cross.py").write_text(CROSS)
    return tmp_path


@pytest.fixture
def call(home: Path, capsys: pytest.CaptureFixture[str]) -> Call:
    """Run a command here, and return its exit code and what it printed."""

    def run(*words: str) -> tuple[int, str, str]:
        capsys.readouterr()
        code = make_app(COMMANDS)(list(words), prog_name="ringfence", standalone_mode=False)
        said = capsys.readouterr()
        return int(code), said.out, said.err

    return run


def test_a_person_sees_the_verdict_the_truth_and_the_numbers(home: Path) -> None:
    env = environment(RINGFENCE_HOME=str(home / "home"), NO_COLOR="1")
    done = on_terminal("backtest", "cross.py", "--data", "sample:GOOG", env=env)
    assert done.code == 0
    for words in ("traded", "verified", "clean", "Sharpe ratio", "GOOG", "fast=10, slow=30", "symbol"):
        assert words in done.out
    assert "\x1b[3" not in done.out, "NO_COLOR was set"
    listed = ringfence("runs", "list", "--json", env=env)
    (run,) = [json.loads(line) for line in listed.out.splitlines()] if listed.out[0] == "{" else json.loads(listed.out)
    assert run["strategy_name"] == "cross" and run["verdict"] == "traded"


def test_json_is_the_whole_run_and_nothing_else(call: Call) -> None:
    code, out, err = call("backtest", "cross.py", "--data", "sample:GOOG", "--param", "slow=40", "--json")
    assert (code, err) == (0, "")
    run = json.loads(out)
    assert set(run) == {"run_id", *(f.name for f in fields(Run))}
    assert set(run["draft"]) == {"name", "sha256", "dialect", "class", "parameters"}
    assert set(run["bars"]) >= {"sha256", "symbols", "timeframe", "start", "end", "rows", "source"}
    assert set(run["engine"]) == {"version", "costs", "fills", "fed", "libraries"}
    assert set(run["trades"][0]) == {
        "id", "symbol", "side", "qty", "entry_time", "entry_price", "exit_time", "exit_price", "fees", "pnl", "pnl_pct",
        "bars_held", "entry_reason", "exit_reason", "is_partial",
    }  # fmt: skip
    assert run["draft"]["parameters"] == {"fast": 10, "slow": 40} and run["draft"]["class"] == "Cross"
    assert (run["provenance"], run["lookahead"]["status"]) == ("verified", "clean")
    assert {"fast", "slow"} <= set(run["indicators"])
    assert len(run["equity"]) == len(run["benchmark"]) == 2148
    code, out, _ = call("runs", "show", run["run_id"], "--json")
    assert code == 0 and run["run_id"] in out


def test_who_knows_the_future_does_not_pass(call: Call, home: Path) -> None:
    (home / "peek.py").write_text(PEEK)
    code, out, _ = call("backtest", "peek.py", "--data", "sample:GOOG")
    assert code == 1
    assert "suspect" in out and "with the future" in out and "buy GOOG" in out


def test_who_forges_does_not_pass(call: Call, home: Path) -> None:
    (home / "forge.py").write_text(CROSS + "\n    def on_end(self):\n        self._book.cash = 1e9\n")
    code, out, _ = call("backtest", "forge.py", "--data", "sample:GOOG", "--no-lookahead")
    assert code == 1
    assert "mismatch" in out and "MISMATCH: inside, the cash was 1,000,000,000" in out


def test_no_trade_is_no_pass_and_says_why(call: Call, home: Path) -> None:
    (home / "never.py").write_text(
        "from ringfence import Strategy\n\nclass Never(Strategy):\n    def next(self):\n"
        "        if self.data.close[-1] > 5000:\n            self.buy()\n"
    )
    code, out, _ = call("backtest", "never.py", "--data", "sample:GOOG", "--no-lookahead")
    assert code == 1
    assert "no_trades" in out and "line 5" in out and "held 0 of the 2,147 times" in out


def test_a_failure_is_told_with_its_bar_and_line(call: Call, home: Path) -> None:
    (home / "fails.py").write_text(
        "from ringfence import Strategy\n\nclass Fails(Strategy):\n    def next(self):\n"
        "        if len(self.data) == 732:\n            1 / 0\n"
    )
    code, out, _ = call("backtest", "fails.py", "--data", "sample:GOOG")
    assert code == 1
    assert "ZeroDivisionError: division by zero at line 6, on bar 731 (2007-07-17T00:00:00Z)" in out


def test_the_start_leaves_history_for_the_indicators(call: Call) -> None:
    words = ("--data", "sample:GOOG", "--start", "2010-01-01", "--end", "2011-12-31", "--param", "slow=200")
    code, out, _ = call("backtest", "cross.py", *words, "--no-lookahead", "--json")
    run = json.loads(out)
    assert code == 0 and run["equity"][0]["time"] == "2010-01-04T00:00:00Z"
    assert min(order["time"] for order in run["orders"]) == "2010-01-04T00:00:00Z", "the first tradable bar"
    assert max(fill["time"] for fill in run["fills"]) <= "2011-12-31"
    assert run["bars"]["start"] < "2009-06"


def test_costs_cost(call: Call) -> None:
    words = ("backtest", "cross.py", "--data", "sample:GOOG", "--no-lookahead", "--json")
    free = json.loads(call(*words, "--fees", "0", "--slippage-bps", "0")[1])
    dear = json.loads(call(*words, "--fees", "0.01", "--slippage-bps", "100")[1])
    opens = {fill["time"]: fill["price"] for fill in free["fills"]}
    first = dear["fills"][0]
    assert first["price"] == pytest.approx(opens[first["time"]] * 1.01)
    assert first["fee"] == pytest.approx(first["qty"] * first["price"] * 0.01)
    assert free["metrics"]["fees"] == 0 < dear["metrics"]["fees"]
    assert dear["metrics"]["total_return"] < free["metrics"]["total_return"]


def test_reports_are_written_and_a_mount_is_there(call: Call, home: Path) -> None:
    (home / "levels.txt").write_text("42")
    (home / "mounted.py").write_text(
        CROSS.replace("    def init(self):", "    def init(self):\n        print(open('/data/levels.txt').read())")
    )
    code, out, err = call(
        "backtest", "mounted.py", "--data", "sample:GOOG", "--mount", "levels.txt:/data/levels.txt", "--no-lookahead",
        "--report", "out.html", "--png", "out.png", "--json",
    )  # fmt: skip
    assert (code, err) == (0, "")
    assert json.loads(out)["outcome"]["stdout"] == "42\n"
    assert "</html>" in (home / "out.html").read_text() and (home / "out.png").read_bytes()[:4] == b"\x89PNG"


def test_files_are_kept_in_a_directory_of_the_run_and_nothing_else_is_touched(call: Call, home: Path) -> None:
    (home / "plot.html").write_text("mine")
    leave = "for name in ('plot.html', '.bashrc'): open(name, 'w').write('made')"
    (home / "leaving.py").write_text(CROSS.replace("    def init(self):", f"    def init(self):\n        {leave}"))
    words = ("backtest", "leaving.py", "--data", "sample:GOOG", "--no-lookahead", "--artifacts", ".", "--json")
    code, out, err = call(*words)
    (made,) = home.glob("*/plot.html")
    assert made.read_text() == "made" and (home / "plot.html").read_text() == "mine"
    assert not list(home.rglob(".bashrc"))
    refused, placed = err.splitlines()
    assert refused.startswith("ringfence: artifact '.bashrc' was refused: its name begins with '.'")
    assert placed == f"ringfence: 1 artifact is in {made.parent.name}"
    assert code == 0 and call(*words)[1] == out, "the same strategy does not print the same bytes"


def test_standard_input_is_a_file_too(home: Path) -> None:
    env = environment(RINGFENCE_HOME=str(home / "home"))
    done = ringfence("backtest", "-", "--data", "synthetic:gbm?seed=1&rows=600", "--no-lookahead", stdin=CROSS, env=env)
    assert done.code == 0, done.err
    assert "SYNTHETIC" in done.out and "\x1b" not in done.out


REFUSED = {
    "an unknown parameter": (("--param", "slwo=5"), DraftError, "did you mean 'slow'"),
    "a parameter of another kind": (("--param", "slow=x"), DraftError, "is no number"),
    "a parameter without a value": (("--param", "slow"), DraftError, "NAME=VALUE"),
    "another class": (("--class", "Corss"), DraftError, "did you mean 'Cross'"),
    "fees that pay": (("--fees", "-0.1"), JobError, "fees=-0.1 is out of range"),
    "slippage that pays": (("--slippage-bps", "-5"), JobError, "slippage_bps=-5 is out of range"),
    "a spread that pays": (("--spread-bps", "-5"), JobError, "out of range"),
    "no money": (("--cash", "0"), JobError, "cash=0 is out of range"),
    "money that is no number": (("--cash", "nan"), JobError, "out of range"),
    "no margin": (("--margin", "0"), JobError, "margin=0 is out of range"),
    "a day that never comes": (("--start", "2099-01-01"), DataError, "choose dates within"),
    "a seed below zero": (("--seed", "-1"), JobError, "seed"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_bad_request_is_refused_with_what_to_do(call: Call, name: str) -> None:
    words, error, said = REFUSED[name]
    with pytest.raises(error, match=said):
        call("backtest", "cross.py", "--data", "sample:GOOG", *words)


def test_data_that_is_none_is_refused(call: Call, home: Path) -> None:
    (home / "bad.csv").write_text("a,b\n1,2\n")
    (home / "odd.csv").write_text(
        "Date,Open,High,Low,Close\n2020-01-01,1,2,1,1\n2020-01-02,1,1,2,1\n2020-01-03,1,2,1,1\n"
    )
    with pytest.raises(DataError, match="--data sample:GOOG"):
        call("backtest", "cross.py")
    with pytest.raises(DataError, match="lacks the columns"):
        call("backtest", "cross.py", "--data", "csv:bad.csv")
    with pytest.raises(DataError, match="high is below low"):
        call("backtest", "cross.py", "--data", "csv:odd.csv")


def test_a_file_that_is_no_strategy_is_refused_with_its_line(call: Call, home: Path) -> None:
    (home / "broken.py").write_text(CROSS.replace("def next(self):", "def next(self)"))
    with pytest.raises(DraftError, match=r"broken.py, line 13"):
        call("backtest", "broken.py", "--data", "sample:GOOG")
    with pytest.raises(InputError, match="cannot be read"):
        call("backtest", "missing.py", "--data", "sample:GOOG")
