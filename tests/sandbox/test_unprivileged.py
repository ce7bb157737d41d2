"""An ordinary user gets the same sandbox: the whole suite is run again as one."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from tests.conftest import ROOT, require

PYTHON = str(Path(sys.executable))


def as_nobody(*command: str, seconds: float = 280) -> subprocess.CompletedProcess[str]:
    require("root")
    return subprocess.run(
        [PYTHON, "-m", "tests.nobody", *command], cwd=ROOT, capture_output=True, text=True, timeout=seconds, check=False
    )


def test_the_suite_passes() -> None:
    done = as_nobody(PYTHON, "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests/sandbox/test_native.py")
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]
    assert " passed" in done.stdout


def test_doctor_says_what_is_weaker() -> None:
    done = as_nobody(PYTHON, "-m", "ringfence", "doctor", "--json")
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    groups = next(check for check in report["checks"] if check["name"] == "control groups")
    assert not groups["ok"]
    assert "RINGFENCE_CGROUP" in groups["remedy"]
    assert "RLIMIT_DATA" in report["isolation"]["memory"]
    assert "user" in report["isolation"]["namespaces"]


def test_a_limit_that_cannot_be_enforced_is_refused_unless_weaker_is_allowed() -> None:
    refused = as_nobody(PYTHON, "-m", "ringfence", "run", "--cpus", "0.5", "-c", "print(1)")
    assert refused.returncode == 126
    assert "--allow-weaker" in refused.stderr
    allowed = as_nobody(PYTHON, "-m", "ringfence", "run", "--cpus", "0.5", "--allow-weaker", "-c", "print(1)")
    assert (allowed.returncode, allowed.stdout) == (0, "1\n")


def test_a_memory_bomb_of_many_processes_is_stopped() -> None:
    bomb = """
import os, time
for _ in range(8):
    if os.fork() == 0:
        hoard = bytearray(60 << 20)
        for i in range(0, len(hoard), 4096):
            hoard[i] = 1
        time.sleep(20)
        os._exit(0)
time.sleep(20)
"""
    done = as_nobody(PYTHON, "-m", "ringfence", "run", "--json", "--memory", "128m", "--timeout", "15", "-c", bomb)
    assert json.loads(done.stdout)["status"] == "memory_limit", done.stdout + done.stderr
