"""The whole corpus through the command: every script its verdict, and the numbers of a plain interpreter."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from tests.cli.command import argv, environment
from tests.conftest import require
from tests.corpus.programs import AAPL
from tests.corpus.scripts import FILES, Script, scripts
from tests.guest.test_backtesting_py_equal import run_directly

ALL = {script.name: script for script in scripts()}
SECONDS = 280
Line = dict[str, object]

# Compared with a run outside: each way to load data, commissions of each kind, an optimisation, a reply in Markdown.
SAMPLE = (
    "good-goog-SmaCross",
    "good-cleaned-MacdMomentum",
    "good-tidy-BollingerBounce",
    "good-renamed-RsiReversal",
    "good-margin-AtrBracket",
    "good-optimize-heatmap",
    "good-fractional",
)


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Line]:
    """Three batches: scripts that end are given time, those that do not are not, and those without a run get data."""
    require("linux")
    place = tmp_path_factory.mktemp("corpus")
    mounts = {}
    for number, (guest, content) in enumerate(FILES.items()):
        (place / f"{number}.csv").write_bytes(content)
        mounts[guest] = place / f"{number}.csv"
    words = [word for guest, host in mounts.items() for word in ("--mount", f"{host}:{guest}")]
    found = {}
    for folder, more in {
        "ending": ["--timeout", "120", "--memory", "500m"],
        "endless": ["--timeout", "3", "--jobs", "3"],
        "unrun": ["--timeout", "120", "--data", f"csv:{mounts[AAPL]}"],
    }.items():
        wanted = [script for script in ALL.values() if _folder(script) == folder]
        write(place / folder, wanted)
        lines = run_batch(place, folder, [*words, *more])
        assert len(lines) == len(wanted)
        found.update(lines)
    return found


def _folder(script: Script) -> str:
    return {"timeout": "endless", "unrun": "unrun"}.get(script.group, "ending")


def write(folder: Path, wanted: list[Script]) -> None:
    for script in wanted:
        suffix = ".md" if "```" in script.text else ".py"
        (folder / script.group).mkdir(parents=True, exist_ok=True)
        (folder / script.group / f"{script.name}{suffix}").write_text(script.text)


def run_batch(place: Path, folder: str, words: list[str]) -> dict[str, Line]:
    env = environment(RINGFENCE_HOME=str(place / "home"), RINGFENCE_DATABASE="")
    command = argv("batch", str(place / folder), "--json-lines", "--jobs", "2", *words)
    done = subprocess.run(command, capture_output=True, text=True, env=env, timeout=SECONDS, check=False)
    assert done.returncode == 0, done.stderr
    lines = [json.loads(line, parse_constant=pytest.fail) for line in done.stdout.splitlines()]
    return {Path(line["file"]).stem: line for line in lines}


def test_every_script_has_the_verdict_that_is_right_for_it(told: dict[str, Line]) -> None:
    assert told.keys() == ALL.keys() and len(ALL) >= 300
    wrong = {name: told[name] for name, script in ALL.items() if told[name]["verdict"] not in script.verdicts}
    assert not wrong


def test_every_verdict_but_the_good_ones_has_its_reason(told: dict[str, Line]) -> None:
    assert all(isinstance(line["reason"], str) and line["reason"] for line in told.values())
    cut = [line for line in told.values() if line["verdict"] == "truncated"]
    assert cut and all(isinstance(line["line"], int) for line in cut)


def test_what_was_run_has_its_numbers_and_its_cost(told: dict[str, Line]) -> None:
    for name, line in told.items():
        ran = line["verdict"] in ("traded", "no_trades")
        assert (line["statistics"] is not None) is ran, name
        if line["run_id"] is None:
            assert line["verdict"] in ("truncated", "not_a_strategy", "failed") and line["wall_ms"] == 0, name
        if ran:
            assert line["run_id"] and line["provenance"] == "claimed" and line["wall_ms"] and line["cpu_ms"], name
            assert isinstance(peak := line["peak_memory_bytes"], int) and peak > 1 << 20, name


def test_healing_is_told(told: dict[str, Line]) -> None:
    for name, script in ALL.items():
        if script.group in ("good", "fenced", "no_trades"):
            assert told[name]["healed"] == [], name
        elif script.group in ("healable", "unrun"):
            assert told[name]["healed"], name


@pytest.mark.parametrize("name", SAMPLE)
def test_the_statistics_are_those_of_a_plain_interpreter(told: dict[str, Line], name: str, tmp_path: Path) -> None:
    assert told[name]["statistics"] == run_directly(ALL[name].text, tmp_path)["statistics"]
