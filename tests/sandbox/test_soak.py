"""Wear: many runs, and many crashes, leave one supervisor holding what it held. bench/soak.py has the long one."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from bench.soak import SLACK_KB, most_kept

from tests.conftest import ROOT, require
from tests.sandbox.busy import environment
from tests.sandbox.wear import CLIENTS

COUNTS = ("descriptors", "threads", "processes", "groups", "mounts", "warden_fds")
MEMORY = ("supervisor_kb", "zygote_kb", "warden_kb")


def wear(runtime: Path, *how: str) -> list[dict[str, float]]:
    """What was held after each stretch, in a process of its own so that nothing else is counted."""
    require("linux")
    done = subprocess.run(
        [sys.executable, "-m", "tests.sandbox.wear", *how], cwd=ROOT, env=environment(runtime), capture_output=True,
        text=True, timeout=240, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    *samples, problems = map(json.loads, done.stdout.splitlines())
    assert problems == []
    assert not list(runtime.iterdir())
    return samples


@pytest.mark.alone
@pytest.mark.parametrize(("how", "runs"), [("mixed", "100"), ("crashes", "8")])
def test_nothing_grows(tmp_path: Path, how: str, runs: str) -> None:
    """The first stretch warms up; after it every count is the same, and memory within what allocators keep."""
    tmp_path.chmod(0o700)
    first, *later = wear(tmp_path, how, "3", runs)
    for sample in later:
        assert {name: sample[name] for name in COUNTS} == {name: first[name] for name in COUNTS}
        assert sample["kept"] <= most_kept(CLIENTS)
        grown = {name: sample[name] - first[name] for name in MEMORY}
        assert all(kb <= SLACK_KB for kb in grown.values()), grown
