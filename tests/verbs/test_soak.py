"""A short soak: mixed runs leave nothing behind. The full one is bench/soak.py without arguments."""

from __future__ import annotations

import dataclasses
import subprocess
import sys

import pytest

from bench.soak import KINDS, SLACK_KB, Sample, growth

from tests.conftest import ROOT

FIRST = Sample(
    runs=500, seconds=1.0, supervisor_kb=30_000, zygote_kb=300_000, descriptors=34, threads=5, processes=6, groups=12,
    mounts=48, kept=4,
)  # fmt: skip


@pytest.mark.alone
def test_mixed_runs_end_as_they_must_and_leave_nothing() -> None:
    # In a process of its own, whose children and descriptors are the soak's and nobody else's.
    soak = [sys.executable, str(ROOT / "bench" / "soak.py"), "--runs", "180", "--every", "60"]
    done = subprocess.run(soak, capture_output=True, text=True, timeout=240, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "PASS  180 runs" in done.stdout


def test_every_way_to_end_is_in_the_mix() -> None:
    ends = {status for kind in KINDS for status in kind.ends}
    assert ends >= {
        "ok", "error", "exit", "signal", "timeout", "cpu_limit", "memory_limit", "output_limit", "disk_limit",
        "cancelled",
    }  # fmt: skip


def test_the_same_counts_are_no_growth() -> None:
    assert growth(FIRST, dataclasses.replace(FIRST, runs=1000, seconds=2.0)) == []
    assert growth(FIRST, dataclasses.replace(FIRST, supervisor_kb=FIRST.supervisor_kb + SLACK_KB)) == []


@pytest.mark.parametrize("name", ["descriptors", "threads", "processes", "groups", "mounts"])
def test_one_more_of_anything_is_growth(name: str) -> None:
    later = dataclasses.replace(FIRST, runs=1000, **{name: getattr(FIRST, name) + 1})
    assert growth(FIRST, later) == [
        f"{name} went from {getattr(FIRST, name)} to {getattr(later, name)} after 1000 runs"
    ]


@pytest.mark.parametrize("name", ["supervisor_kb", "zygote_kb"])
def test_memory_may_vary_but_not_grow(name: str) -> None:
    later = dataclasses.replace(FIRST, runs=1000, **{name: getattr(FIRST, name) + SLACK_KB + 1})
    assert len(growth(FIRST, later)) == 1
