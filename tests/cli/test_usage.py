"""A wrong request is one sentence on standard error, a code of its own and nothing on standard output."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from ringfence.base.errors import RingfenceError
from ringfence.cli import INTERRUPTED
from ringfence.cli.exit_codes import STOPPED
from ringfence.sandbox.source import MAX_SOURCE_BYTES

from tests.cli.command import Done, environment, ringfence
from tests.cli.scripted import script

DOCS = Path(__file__).parents[2] / "docs"
OK = ("run", "-c", "pass")


def refused(done: Done, code: int, *words: str) -> None:
    assert done.code == code, done
    assert done.out == ""
    assert done.err.startswith("ringfence: ")
    assert done.err.count("\n") == 1, done.err
    assert "Traceback" not in done.err
    for word in words:
        assert word in done.err


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (["run", "--timeot", "3", "x.py"], "did you mean --timeout?"),
        (["run", "--memry", "3m", "x.py"], "did you mean --memory?"),
        (["session", "--jsn"], "did you mean --json?"),
        (["doctor", "--jsonn"], "did you mean --json?"),
        (["rnu", "x.py"], "Did you mean 'run'?"),
        (["bench", "sandbx"], "Did you mean 'sandbox'?"),
        (["bench"], "see `ringfence bench --help`"),
        (["--nope"], "see `ringfence --help`"),
        (["run"], "-c CODE"),
        (["run", "a.py", "-c", "pass"], "give one of"),
        (["run", "a.py", "b"], "after --"),
        (["run", "--exec"], "--exec -- ls -l"),
        (["run", "--exec", "-c", "pass", "--", "ls"], "give one of"),
        ([*OK, "--timeout", "soon"], "--timeout"),
        ([*OK, "--pids", "1.5"], "--pids"),
        ([*OK, "--network", "host"], "'none'"),
        ([*OK, "--profile", "big"], "'quant'"),
        ([*OK, "--device", "tpu"], "'npu'"),
        ([*OK, "--preset", "huge"], "'backtest'"),
        (["doctor", "--", "x"], "see `ringfence doctor --help`"),
    ],
    ids=" ".join,
)
def test_wrong_command_line(words: list[str], hint: str) -> None:
    refused(ringfence(*words), 2, hint)


@pytest.mark.parametrize(
    ("words", "code", "hint"),
    [
        (["--timeout", "0"], 64, "wall_seconds"),
        (["--timeout", "-1"], 64, "wall_seconds"),
        (["--timeout", "nan"], 64, "wall_seconds"),
        (["--memory", "1m"], 64, "memory_mb"),
        (["--memory", "-5"], 64, "memory_mb"),
        (["--memory", "lots"], 64, "256m"),
        (["--cpus", "inf"], 64, "cpus"),
        (["--pids", "0"], 64, "processes"),
        (["--disk", "0"], 64, "disk_mb"),
        (["--output-bytes", "-1"], 64, "output_bytes"),
        (["--seed", "-1"], 64, "seed"),
        (["--input", "x"], 66, "NAME=JSON"),
        (["--input", "x=abc"], 66, "quote a string"),
        (["--input", "x=NaN"], 66, "NaN"),
        (["--input", "x=" + "[" * 100_000], 66, "not JSON"),
        (["--input", "x=1", "--input", "x=2"], 66, "twice"),
        (["--input", "1x=1"], 66, "variable name"),
        (["--input", "x=@gone.json"], 66, "gone.json"),
        (["--file", "gone.csv"], 66, "gone.csv"),
        (["--file", "/dev/zero", "--disk", "1m"], 66, "--disk"),
        (["--file", "/etc/hostname", "--file", "/proc/sys/kernel/hostname"], 66, "same directory"),
        (["--artifacts", "/etc/hostname"], 66, "not a directory"),
        (["--mount", "nowhere"], 67, "./data:/data:ro"),
        (["--mount", "/tmp:/etc"], 67, "not allowed"),
        (["--mount", "/tmp:/data:rx"], 67, "HOST:GUEST"),
        (["--backend", "cardboard"], 78, "native"),
    ],
    ids=lambda words: " ".join(words)[:40] if isinstance(words, list) else "",
)
def test_bad_request(words: list[str], code: int, hint: str) -> None:
    refused(ringfence(*OK, *words), code, hint)


def test_program_that_is_not_there(tmp_path: Path) -> None:
    refused(ringfence("run", "gone.py", cwd=tmp_path), 66, "gone.py", "check the path")
    refused(ringfence("run", ".", cwd=tmp_path), 66, "directory")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("raw", "code"),
    [
        (b"\xff\xfe", 65),
        (b"x = '\0'", 65),
        (b"# -*- coding: latin-1 -*-\n", 65),
        (b"#" * (MAX_SOURCE_BYTES + 1), 68),
    ],
    ids=["not utf-8", "nul", "cookie", "large"],
)
def test_program_text_that_is_refused(raw: bytes, code: int, tmp_path: Path) -> None:
    file = tmp_path / "program.py"
    file.write_bytes(raw)
    refused(ringfence("run", str(file)), code)
    refused(ringfence("run", "-", stdin=raw), code)
    refused(ringfence("run", str(file), "--json"), code)


def test_an_endless_program_is_not_read_to_its_end() -> None:
    refused(ringfence("run", "/dev/zero"), 68)


@pytest.mark.parametrize(
    ("error", "code"), [("SandboxError", 125), ("RefusedError", 126), ("MountError", 67), ("LimitError", 64)]
)
@pytest.mark.parametrize("words", [[], ["--json"]], ids=["plain", "json"])
def test_errors_of_ours(scripted: Callable[..., Done], error: str, code: int, words: list[str]) -> None:
    refused(scripted(script(raises=error), *words), code, "the script says so")


def test_a_bug_of_ours_is_not_taken_for_the_guests(scripted: Callable[..., Done]) -> None:
    done = scripted(script(fails="boom"))
    assert done.code == 125
    assert done.out == ""
    assert "ZeroDivisionError: boom" in done.err
    assert "ringfence: this is a fault in ringfence itself" in done.err


def test_a_name_with_control_characters_is_harmless(tmp_path: Path) -> None:
    done = ringfence("run", "a\x1b[31m.py", cwd=tmp_path, env=environment())
    refused(done, 66)
    assert "\x1b" not in done.err


@pytest.mark.parametrize("rounds", ["0", "-3"])
def test_rounds_of_a_bench(rounds: str) -> None:
    refused(ringfence("bench", "sandbox", "--rounds", rounds), 78, "--rounds")


def test_every_exit_code_of_an_error_is_in_the_table() -> None:
    table = (DOCS / "cli.md").read_text().partition("### Exit codes")[2].partition("\n## ")[0]
    documented = {int(code) for code in re.findall(r"^\| (\d+) \|", table, re.MULTILINE)}
    kinds = [RingfenceError]
    for kind in kinds:
        kinds += kind.__subclasses__()
    assert {kind.exit_code for kind in kinds} | set(STOPPED.values()) <= documented
    assert documented <= {kind.exit_code for kind in kinds} | {*STOPPED.values(), 2, INTERRUPTED}


def test_a_parameter_outside_of_its_range_is_in_the_run(tmp_path: Path) -> None:
    strategy = """from ringfence import Strategy, param

class Often(Strategy):
    every = param(5, 2, 10)

    def next(self):
        if len(self.data) % self.every == 0:
            self.position.close() if self.position else self.buy()
"""
    words = ("backtest", "-", "--data", "sample:GOOG", "--no-lookahead", "--param", "every=50", "--json")
    done = ringfence(*words, env=environment(RINGFENCE_HOME=str(tmp_path)), stdin=strategy)
    assert done.code == 0, done.err
    told = json.loads(done.out)
    assert "every" in told["warnings"][0] and "50" in told["warnings"][0] and done.err == ""
    shown = ringfence("runs", "show", told["run_id"], env=environment(RINGFENCE_HOME=str(tmp_path)))
    assert told["warnings"][0] in " ".join(shown.out.split())


def test_unreadable_file(tmp_path: Path) -> None:
    file = tmp_path / "secret.py"
    file.write_text("pass")
    file.chmod(0)
    if os.access(file, os.R_OK):  # root reads everything, so it gets another file that cannot be
        file = Path("/proc/self/mem")
    refused(ringfence("run", str(file)), 66, str(file))


def test_an_interrupt_before_anything_is_imported_is_no_traceback(tmp_path: Path) -> None:
    (tmp_path / "typer.py").write_text("raise KeyboardInterrupt\n")
    done = ringfence("doctor", env={**environment(), "PYTHONPATH": str(tmp_path)})
    assert (done.code, done.out, done.err) == (130, "", "")
