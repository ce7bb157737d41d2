"""The command with the real fence behind it."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.command import Done, argv, environment, on_terminal, ringfence
from tests.conftest import require


@pytest.fixture(autouse=True)
def linux() -> None:
    require("linux")


def run(code: str, *words: str) -> Done:
    return ringfence("run", "-c", code, *words)


def test_streams_and_exit_code() -> None:
    done = run("import sys; print('out'); print('err', file=sys.stderr); sys.exit(7)")
    assert (done.code, done.out, done.err) == (7, "out\n", "err\n")


def test_an_uncaught_exception() -> None:
    done = run("1 / 0")
    assert (done.code, done.out) == (1, "")
    assert done.err.rstrip().endswith("ZeroDivisionError: division by zero")


@pytest.mark.parametrize(
    ("code", "words", "status", "exit_code"),
    [
        ("while True: pass", ["--timeout", "0.5"], "timeout", 124),
        ("while True: pass", ["--timeout", "20", "--cpu-seconds", "0.5"], "cpu_limit", 124),
        ("x = bytearray(400 << 20)\nx[::4096] = x[1::4096]", ["--memory", "64m"], None, None),
        ("import os; os.kill(os.getpid(), 9)", [], "signal", 137),
        ("import os; os.abort()", [], "signal", 134),
        ("open('x', 'wb').write(bytes(9 << 20))", ["--disk", "2m"], "disk_limit", 121),
        ("result = object()", [], "error", 70),
        ("result = [1, float('nan')]", [], "ok", 0),
    ],
    ids=["timeout", "cpu", "memory", "kill", "abort", "disk", "result", "nan"],
)
def test_status_and_exit_code(code: str, words: list[str], status: str | None, exit_code: int | None) -> None:
    done = run(code, "--json", *words)
    assert done.out, done.err
    outcome = json.loads(done.out, parse_constant=pytest.fail)
    if status is None:  # where memory is bounded by RLIMIT_DATA the program gets a MemoryError instead
        assert (outcome["status"], done.code) in (("memory_limit", 137), ("error", 1))
    else:
        assert (outcome["status"], done.code) == (status, exit_code)


def test_inputs_files_mounts_and_arguments(tmp_path: Path) -> None:
    (tmp_path / "n.json").write_text('{"k": [1, 2]}')
    (tmp_path / "data.csv").write_text("a,b\n")
    code = (
        "import sys\nresult = [n, s, sys.argv[1:], open('data.csv').read(), open('/data/data.csv').read()]\n"
        "open('left.txt', 'w').write('hello')"
    )
    words = ["--input", f"n=@{tmp_path}/n.json", "--input", 's="x"', "--file", str(tmp_path / "data.csv")]
    words += ["--mount", f"{tmp_path}:/data", "--artifacts", str(tmp_path / "new" / "out"), "--json", "--", "-v", "w"]
    done = run(code, *words)
    outcome = json.loads(done.out)
    assert outcome["result"] == [{"k": [1, 2]}, "x", ["-v", "w"], "a,b\n", "a,b\n"], outcome
    assert [a["name"] for a in outcome["artifacts"]] == ["left.txt"]
    assert outcome["artifacts"][0]["path"] == str(tmp_path / "new" / "out" / outcome["run_id"] / "left.txt")
    assert (tmp_path / "new" / "out" / outcome["run_id"] / "left.txt").read_text() == "hello"


def test_a_missing_mount(tmp_path: Path) -> None:
    done = run("pass", "--mount", f"{tmp_path}/gone:/data", "--json")
    assert (done.code, done.out) == (67, "")
    assert "gone" in done.err


def test_the_same_seed_gives_the_same_numbers() -> None:
    code = "import random; result = random.random()"
    first, second, other = (json.loads(run(code, "--json", "--seed", s).out)["result"] for s in ("5", "5", "6"))
    assert first == second != other


def test_a_command() -> None:
    done = ringfence("run", "--exec", "--", "/bin/sh", "-c", "echo here; pwd; exit 3")
    assert (done.code, done.out) == (3, "here\n/job\n")


def test_a_program_of_the_field() -> None:
    code = "import numpy as np, pandas as pd; result = pd.Series(np.arange(5)).rolling(2).mean()"
    done = run(code)
    assert done.code == 0, done.err
    assert (done.code, json.loads(done.out)) == (0, [None, 0.5, 1.5, 2.5, 3.5])


def test_live_output_and_interrupt() -> None:
    code = "import time; print('started', flush=True); time.sleep(30)"
    words = argv("run", "-c", code, "--stream")
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment()) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"started\n"
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=25)
        assert process.returncode == 130
    assert b"cancelled" in err


def test_on_a_terminal() -> None:
    done = on_terminal("run", "-c", r"print('\x1b[2Jhi'); result = 5", env=environment(NO_COLOR="1"))
    assert done.out.splitlines()[:3] == ["\\x1b[2Jhi", "5", done.out.splitlines()[2]]
    assert done.out.splitlines()[2].startswith("ok")


def test_session_cells_share_variables() -> None:
    done = ringfence("session", stdin="x = 20\n# %%\nprint('hi')\nx + 1\n# %%\n1 / 0\n# %%\nx\n")
    assert done.code == 1
    assert done.out == "hi\n21\n20\n"
    assert "ZeroDivisionError" in done.err


def test_session_goes_on_after_a_timeout() -> None:
    text = "x = 5\n# %%\nwhile True: pass\n# %%\nx\n"
    done = ringfence("session", "--json", "--timeout", "1", stdin=text)
    outcomes = [json.loads(line) for line in done.out.splitlines()]
    assert [o["status"] for o in outcomes] == ["ok", "timeout", "ok"]
    assert (outcomes[2]["result"], done.code) == (5, 124)


def test_session_at_the_prompt(tmp_path: Path) -> None:
    typed = ["x = 6\n", "if x:\n", "    y = x * 7\n", "\n", "y\n", ":quit\n"]
    done = on_terminal("session", env=environment(XDG_STATE_HOME=str(tmp_path), NO_COLOR="1"), typed=typed)
    assert done.code == 0
    assert "\n42\n" in done.out


def test_doctor() -> None:
    done = ringfence("doctor", "--json")
    report = json.loads(done.out)
    assert (done.code == 0) is report["usable"]
    assert report["checks"]
    assert all(c["how"] and (c["ok"] or c["remedy"]) for c in report["checks"])
    table = ringfence("doctor").out
    for check in report["checks"]:
        assert check["name"] in table
        assert (check["remedy"] or "") in table


def test_closed_and_full_streams_are_no_fault_of_ours() -> None:
    command = f"{sys.executable} -m ringfence run -c 'print(1)'"
    for redirect, code in (("<&-", 0), (">&-", 0), (">/dev/full", 125)):
        done = subprocess.run(["sh", "-c", f"{command} {redirect}"], capture_output=True, text=True, check=False)
        assert (done.returncode, "Traceback" in done.stderr) == (code, False), done.stderr
