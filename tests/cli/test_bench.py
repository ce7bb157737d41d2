"""`ringfence bench backtest`: what is asked of it, what it finds by itself, and one quick look for real."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

import pytest

from ringfence.cli import main

from tests.cli.command import environment, ringfence


@dataclass(frozen=True)
class Report:
    asked: tuple[int, bool, tuple[str, ...]]

    def to_json(self) -> dict[str, object]:
        return {"asked": list(self.asked)}

    def rows(self) -> list[tuple[str, str, str, str]]:
        return [("ringfence, s1", "90.1 ms", "93.0 ms", "fine")]


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A benchmark that reports what it was asked, and an empty folder to ask it in."""

    def bench(*, rounds: int, quick: bool, peers: Sequence[Path], on_progress: Callable[[str], None]) -> Report:
        on_progress("round 1")
        return Report((rounds, quick, tuple(map(str, peers))))

    module = ModuleType("ringfence.verbs.bench.backtest")
    module.__dict__["bench_backtest"] = bench
    monkeypatch.setitem(sys.modules, module.__name__, module)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def asked(capsys: pytest.CaptureFixture[str], *words: str) -> list[object]:
    assert main(["bench", "backtest", "--json", *words]) == 0
    told: dict[str, list[object]] = json.loads(capsys.readouterr().out)
    return told["asked"]


def test_options_reach_the_benchmark(fake: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert asked(capsys) == [5, False, []]
    assert asked(capsys, "--rounds", "7", "--quick") == [7, True, []]
    assert asked(capsys, "--peers", sys.executable) == [5, False, [sys.executable]]


def test_peers_that_the_script_made_are_found(fake: Path, capsys: pytest.CaptureFixture[str]) -> None:
    made = [fake / ".cache" / "bench-peers" / name / "bin" / "python" for name in ("nautilus", "vectorbt")]
    for python in made:
        python.parent.mkdir(parents=True)
        python.touch()
    assert asked(capsys) == [5, False, [str(python) for python in made]]


def test_for_people_it_is_a_table(fake: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", "backtest"]) == 0
    assert "ringfence, s1  90.1 ms  93.0 ms  fine" in capsys.readouterr().out


@pytest.mark.parametrize("words", [["--peers", "nowhere/python"], ["--peers", "/"], ["--rounds", "0"]])
def test_what_cannot_be_is_refused(fake: Path, capsys: pytest.CaptureFixture[str], words: list[str]) -> None:
    assert main(["bench", "backtest", *words]) == 78
    told = capsys.readouterr()
    assert told.out == ""
    assert told.err.startswith(f"ringfence: {words[0]} {words[1]}")


def test_a_quick_look_is_json_with_everything_in_it(tmp_path: Path) -> None:
    done = ringfence("bench", "backtest", "--quick", "--json", env=environment(), cwd=tmp_path)
    assert (done.code, done.err) == (0, "")
    told = json.loads(done.out)
    assert set(told) == {
        "quick", "engines", "measurements", "flatness", "agreement", "targets", "machine", "absent", "seconds",
    }  # fmt: skip
    assert told["quick"] is True
    assert {row["bars"] for row in told["measurements"]} == {2_520, 10_000}
    assert all(row["equal"] for row in told["agreement"])
    assert set(told["absent"]) == {"nautilus_trader", "vectorbt"}
    assert all("--peers" in why for why in told["absent"].values())
    assert set(told["flatness"]) == {"s1", "s2"}
