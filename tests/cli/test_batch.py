"""`ringfence batch`: lines for programs, a bar and a table for people, and an exit code for shells."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from tests.cli.command import Done, argv, environment, on_terminal, ringfence
from tests.conftest import require

SCRIPT = """\
from backtesting import Backtest, Strategy
from backtesting.lib import crossover
from backtesting.test import GOOG, SMA

class {name}(Strategy):
    n = {n}
    def init(self):
        self.fast = self.I(SMA, self.data.Close, self.n)
        self.slow = self.I(SMA, self.data.Close, 3 * self.n)
    def next(self):
        if crossover(self.fast, self.slow):
            self.buy()
        elif crossover(self.slow, self.fast):
            self.position.close()

print(Backtest(GOOG, {name}, commission=.002).run())
"""
NATIVE = """\
from ringfence import Strategy

class Hold(Strategy):
    def next(self):
        if not self.position:
            self.buy()
"""


@pytest.fixture(autouse=True)
def linux() -> None:
    require("linux")


@pytest.fixture
def env(tmp_path: Path) -> dict[str, str]:
    return environment(RINGFENCE_HOME=str(tmp_path / "home"), RINGFENCE_DATABASE="", NO_COLOR="1")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "strategies"
    folder.mkdir()
    for name, n in (("Fast", 5), ("Slow", 20)):
        (folder / f"{name.lower()}.py").write_text(SCRIPT.format(name=name, n=n))
    (folder / "evil\x1b]0;owned\x07.md").write_text("no strategy")
    (folder / "cut.md").write_text("```python\n" + SCRIPT.format(name="Cut", n=5)[:300])
    (folder / "hold.py").write_text(NATIVE)
    return folder


def lines(done: Done) -> dict[str, dict[str, object]]:
    found = [json.loads(line, parse_constant=pytest.fail) for line in done.out.splitlines()]
    assert len({line["file"] for line in found}) == len(found)
    return {Path(line["file"]).name: line for line in found}


def test_one_line_of_json_for_each_file(folder: Path, env: dict[str, str]) -> None:
    done = ringfence("batch", str(folder), "--json-lines", "--data", "synthetic:gbm?seed=1&rows=300", env=env)
    found = lines(done)
    assert done.code == 0, done.err
    assert {name: line["verdict"] for name, line in found.items()} == {
        "fast.py": "traded",
        "slow.py": "traded",
        "hold.py": "traded",
        "cut.md": "truncated",
        "evil\x1b]0;owned\x07.md": "not_a_strategy",
    }
    fast, hold = found["fast.py"], found["hold.py"]
    assert list(fast) == [
        "file", "verdict", "reason", "line", "dialect", "healed", "warnings", "metrics", "statistics", "provenance",
        "lookahead", "wall_ms", "cpu_ms", "peak_memory_bytes", "run_id", "our_failure", "resumed",
    ]  # fmt: skip
    assert isinstance(fast["statistics"], dict) and fast["statistics"]["# Trades"] > 10
    assert (fast["provenance"], hold["provenance"], hold["lookahead"]) == ("claimed", "verified", "clean")
    assert hold["statistics"] is None and isinstance(hold["metrics"], dict) and hold["metrics"]["trades"] == 1
    assert "5 files" in done.err and "3 traded" in done.err
    shown = ringfence("runs", "show", str(fast["run_id"]), "--json", env=env)
    assert json.loads(shown.out)["statistics"] == fast["statistics"]


def test_a_resumed_batch_tells_again_what_is_done(folder: Path, env: dict[str, str]) -> None:
    words = ("batch", str(folder), "--json-lines", "--resume")
    first = ringfence(*words, env=env)
    assert "this is a new one" in first.err
    (folder / "fast.py").write_text(SCRIPT.format(name="Fast", n=6))
    (folder / "new.py").write_text(SCRIPT.format(name="New", n=7))
    second = ringfence(*words, "--jobs", "1", env=env)
    before, after = lines(first), lines(second)
    assert {name for name, line in after.items() if not line["resumed"]} == {"fast.py", "new.py"}
    assert not any(line["resumed"] for line in before.values())
    assert {**after["slow.py"], "resumed": False} == before["slow.py"]
    assert (second.code, after["hold.py"]["verdict"]) == (0, "needs_data")
    third = ringfence("batch", str(folder), "--json-lines", env=env)
    assert not any(line["resumed"] for line in lines(third).values())


def test_a_table_at_the_end(folder: Path, env: dict[str, str]) -> None:
    done = ringfence("batch", *map(str, folder.iterdir()), str(folder), env=env)
    assert (done.code, done.err) == (0, "")
    assert "commonest reasons" in done.out and "40.0%" in done.out and "--data" in done.out
    best = done.out[done.out.index("best by return") : done.out.index("best by Sharpe")]
    assert str(folder / "fast.py") in best and str(folder / "slow.py") in best and "claimed" in best
    assert "5 files in" in done.out and "per second" in done.out


def test_a_bar_on_a_terminal(folder: Path, env: dict[str, str]) -> None:
    done = on_terminal("batch", str(folder), env=env)
    assert done.code == 0
    assert "5/5" in done.out and "/s" in done.out and "2 traded" in done.out and "best by Sharpe" in done.out
    assert "\x1b]0;" not in done.out
    piped = on_terminal("batch", str(folder), "--json-lines", env=env, pipe_stdout=True)
    assert len(lines(piped)) == 5 and "5/5" in piped.err
    mixed = on_terminal("batch", str(folder), "--json-lines", env=env)
    assert "5/5" not in mixed.out


def test_no_file_at_all(tmp_path: Path, env: dict[str, str]) -> None:
    (tmp_path / "empty").mkdir()
    for words in (["empty"], ["gone.py"], ["gone", "empty"]):
        done = ringfence("batch", *words, "--json-lines", env=env, cwd=tmp_path)
        assert (done.code, done.out) == (1, "") and "there is no strategy" in done.err


def test_a_missing_file_among_others_has_its_line(folder: Path, env: dict[str, str]) -> None:
    done = ringfence("batch", str(folder / "gone.py"), str(folder / "hold.py"), "--json-lines", env=env)
    found = lines(done)
    assert done.code == 0 and set(found) == {"gone.py", "hold.py"}
    assert found["gone.py"]["verdict"] == "failed" and "No such file" in str(found["gone.py"]["reason"])


@pytest.mark.parametrize(
    ("words", "code", "told"),
    [
        (["--jobs", "0"], 78, "--jobs 0"),
        (["--mount", "/nowhere/x.csv:/data.csv"], 67, "/nowhere/x.csv"),
        (["--data", "csv:/nowhere/x.csv"], 69, "/nowhere/x.csv"),
        (["--timeout", "-1"], 64, "wall_seconds"),
    ],
    ids=["jobs", "mount", "data", "timeout"],
)
def test_a_bad_request(folder: Path, env: dict[str, str], words: list[str], code: int, told: str) -> None:
    done = ringfence("batch", str(folder), *words, "--json-lines", env=env)
    assert (done.code, done.out) == (code, "")
    assert told in done.err and done.err.count("\n") == 1


def test_our_own_failure_is_an_exit_code(folder: Path, env: dict[str, str], plugins: Path) -> None:
    """The scripted sandbox takes JSON for a program, and the reader of texts is Python: it fails on every file."""
    env = {**env, "PYTHONPATH": environment(plugins)["PYTHONPATH"]}
    done = ringfence("batch", str(folder), "--json-lines", "--backend", "scripted", env=env)
    found = lines(done)
    assert done.code == 125 and len(found) == 5
    assert all(line["our_failure"] for line in found.values())
    assert "JSONDecodeError" in done.err and "failed on 5 files" in done.err and "--resume" in done.err


def test_a_reader_that_leaves_ends_the_batch(folder: Path, env: dict[str, str]) -> None:
    for number in range(30):
        (folder / f"{number}.py").write_text(SCRIPT.format(name="X", n=3 + number))
    words = argv("batch", str(folder), "--json-lines")
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=env) as process:
        assert process.stdout is not None and process.stderr is not None
        process.stdout.readline()
        process.stdout.close()
        err = process.stderr.read()
        assert process.wait(60) == 141, err
    assert b"Traceback" not in err
