"""A batch that is killed at any moment loses nothing that it has told, and a resumed one does nothing again."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.command import argv, environment
from tests.conftest import require
from tests.store.postgres import fresh_database, private_postgres

COUNT = 30
KILLS = 3
SECONDS = 120

# Each execution leaves a mark outside of the fence, so that a second one could not hide.
SCRIPT = """\
from backtesting import Backtest, Strategy
from backtesting.test import GOOG

open('/marks/{number}', 'a').write('x')

class Every(Strategy):
    def init(self): pass
    def next(self):
        if len(self.data) % {step} == 0:
            self.position.close() if self.position else self.buy()

print(Backtest(GOOG[:{rows}], Every).run())
"""


@pytest.fixture(autouse=True)
def linux() -> None:
    require("linux")


@pytest.fixture(params=["sqlite", "postgresql"])
def database(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    if request.param == "sqlite":
        yield f"sqlite:///{tmp_path}/results.db"
        return
    with private_postgres() as server, fresh_database(server) as url:
        yield url


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "strategies"
    folder.mkdir()
    for number in range(COUNT):
        text = SCRIPT.format(number=number, step=3 + number, rows=300 + 40 * (number % 7))
        (folder / f"{number}.py").write_text(text)
    return folder


@pytest.fixture
def marks(tmp_path: Path) -> Path:
    marks = tmp_path / "marks"
    marks.mkdir()
    marks.chmod(0o777)
    return marks


def start(folder: Path, marks: Path, database: str, *words: str) -> subprocess.Popen[str]:
    env = environment(RINGFENCE_HOME=str(folder.parent / "home"), RINGFENCE_DATABASE=database)
    command = argv("batch", str(folder), "--json-lines", "--jobs", "2", "--mount", f"{marks}:/marks:rw", *words)
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=env, text=True)


def read_lines(text: str) -> dict[str, dict[str, object]]:
    """The lines that were told to their end, by file."""
    whole = [json.loads(line) for line in text.splitlines(keepends=True) if line.endswith("\n")]
    assert len({line["file"] for line in whole}) == len(whole)
    return {line["file"]: line for line in whole}


def executions(marks: Path, file: str) -> int:
    mark = marks / Path(file).stem
    return mark.stat().st_size if mark.exists() else 0


def kill_after(process: subprocess.Popen[str], lines: int, pause_seconds: float) -> str:
    """End it as a crash would, at some moment after so many lines; what it had told."""
    assert process.stdout is not None
    told = "".join(process.stdout.readline() for _ in range(lines))
    time.sleep(pause_seconds)
    process.kill()
    with process:
        rest, err = process.communicate(timeout=SECONDS)
    assert process.returncode == -signal.SIGKILL, err
    return told + rest


def test_kill_9_loses_nothing_and_repeats_nothing(folder: Path, marks: Path, database: str) -> None:
    rng = random.Random(20260131)
    told: dict[str, dict[str, object]] = {}
    counted: dict[str, int] = {}
    for _ in range(KILLS):
        fresh = rng.randrange(1, 5)
        process = start(folder, marks, database, "--resume")
        lines = read_lines(kill_after(process, len(told) + fresh, rng.uniform(0, 0.2)))
        assert len(lines) >= fresh
        for file, line in lines.items():
            told.setdefault(file, line)
            counted.setdefault(file, executions(marks, file))
    with start(folder, marks, database, "--resume") as process:
        out, err = process.communicate(timeout=SECONDS)
    assert process.returncode == 0, err
    last = read_lines(out)
    assert len(last) == COUNT and {line["verdict"] for line in last.values()} == {"traded"}
    for file, line in told.items():
        assert last[file] == {**line, "resumed": True}
        assert executions(marks, file) == counted[file], f"{file} was run again after it was told"
    # What was under way in a crash is run again, and there are at most four under way at each.
    once_more = sum(executions(marks, file) for file in last) - COUNT
    assert 0 <= once_more <= KILLS * 4
    assert all(executions(marks, file) >= 1 for file in last)


def test_nothing_is_run_twice_without_a_crash(folder: Path, marks: Path, tmp_path: Path) -> None:
    database = f"sqlite:///{tmp_path}/results.db"
    for resumed in (False, True):
        with start(folder, marks, database, "--resume") as process:
            out, err = process.communicate(timeout=SECONDS)
        assert process.returncode == 0, err
        lines = read_lines(out)
        assert len(lines) == COUNT and {line["resumed"] for line in lines.values()} == {resumed}
        assert {executions(marks, file) for file in lines} == {1}


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_an_interrupted_batch_ends_cleanly_and_says_how_to_go_on(
    folder: Path, marks: Path, tmp_path: Path, number: signal.Signals, code: int
) -> None:
    database = f"sqlite:///{tmp_path}/results.db"
    normal = (folder / "0.py").read_text()
    (folder / "0.py").write_text(f"while True: pass\n{normal}")
    with start(folder, marks, database) as process:
        assert process.stdout is not None
        first = process.stdout.readline()
        family = descendants(process.pid)
        assert family
        process.send_signal(number)
        rest, err = process.communicate(timeout=SECONDS)
        assert process.returncode == code, err
    assert "--resume" in err and "Traceback" not in err
    lines = read_lines(first + rest)
    assert 1 <= len(lines) < COUNT and f"{len(lines)} of {COUNT}" in err
    assert {line["verdict"] for line in lines.values()} == {"traded"}
    assert not [pid for pid, born in family.items() if birth(pid) == born]
    (folder / "0.py").write_text(normal)
    with start(folder, marks, database, "--resume") as process:
        out, err = process.communicate(timeout=SECONDS)
    assert process.returncode == 0, err
    done = read_lines(out)
    assert len(done) == COUNT and {file for file, line in done.items() if line["resumed"]} == set(lines)
    assert {line["verdict"] for line in done.values()} == {"traded"}


def birth(pid: int) -> str | None:
    """When a process was born, which tells it from a later one of the same number; None when it is gone."""
    try:
        state, *rest = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return None
    return None if state == "Z" else rest[18]


def descendants(pid: int) -> dict[int, str]:
    """Every process below, with its birth."""
    parents = {}
    for name in os.listdir("/proc"):
        try:
            if name.isdecimal():
                parents[int(name)] = int(Path(f"/proc/{name}/stat").read_text().rpartition(")")[2].split()[1])
        except (FileNotFoundError, ProcessLookupError):
            continue
    found: dict[int, str] = {}
    left = [pid]
    while left:
        above = left.pop()
        below = [child for child, parent in parents.items() if parent == above]
        left += below
        found |= {child: born for child in below if (born := birth(child)) is not None}
    return found
