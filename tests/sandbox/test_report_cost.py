"""Whatever a guest sends, reading it takes at most four times its size, and a few megabytes."""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from ringfence.guest.cost import TooCostly, weigh
from ringfence.sandbox.channel import Channel
from ringfence.sandbox.job import MOST_RESULT_MB

from tests.conftest import ROOT
from tests.sandbox.report_cost import DENSE, OTHER

_SPARE = 8 << 20
_READ = {*DENSE, "nothing but backslashes", "spaces"}
# The count is the same for all sizes; the largest is tried with those that came nearest to the most.
_NEAREST = ["objects of one", "lists of nine", "short floats", "different keys", "records"]


@pytest.mark.parametrize(("result_mb", "names"), [(8, []), (MOST_RESULT_MB, _NEAREST)], ids=["default", "largest"])
def test_a_report_takes_four_times_its_size_at_most(result_mb: int, names: list[str], tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tests.sandbox.report_cost", str(result_mb), str(tmp_path / "frame"), *names],
        check=True, capture_output=True, cwd=ROOT,
    )  # fmt: skip
    told: dict[str, tuple[int, str, int]] = json.loads(done.stdout)
    assert list(told) == (names or [*DENSE, *OTHER])
    wrong = [
        f"{name}: {size:,} bytes were {ending} and took {peak:,}"
        for name, (size, ending, peak) in told.items()
        if peak > 4 * size + _SPARE or (ending == "read") != (name in _READ)
    ]
    assert not wrong, "\n".join(wrong)


EARLY = {
    "a length over the most": (b"\xff\xff\xff\xff", 4),
    "a length just over the most": ((9 << 20 | 1).to_bytes(4, "big"), 4),
    "a byte after the end": (b"\0\0\0\1" + b"1" * (1 << 20), 1 << 16),
    "a hundred frames": (b"\0\0\0\1" + b"1\0\0\0\1" * 100, 1 << 16),
    "deep lists": ((8 << 20).to_bytes(4, "big") + b"[" * (8 << 20), 1 << 17),
    "an endless number": ((8 << 20).to_bytes(4, "big") + b"9" * (8 << 20), 1 << 17),
    "raw bytes": ((8 << 20).to_bytes(4, "big") + b"\xff" * (8 << 20), 1 << 17),
    "empty lists": ((8 << 20).to_bytes(4, "big") + b"[" + b"[]," * (3 << 20), 1 << 20),
}


def test_what_is_wrong_is_refused_as_soon_as_it_shows() -> None:
    wrong = []
    for name, (raw, most) in EARLY.items():
        channel = Channel(8)
        taken = 0
        while taken < len(raw) and channel.take(raw[taken : taken + (1 << 16)]):
            taken += 1 << 16
        if taken >= most or not channel.is_refused or channel.report() is not None:
            wrong.append(f"{name}: {taken:,} bytes were taken, then: {channel.damage}")
    assert not wrong, "\n".join(wrong)


def test_half_a_report_is_none() -> None:
    channel = Channel(8)
    assert channel.take(b"\0\0\0\2" + b"1")
    assert channel.report() is None
    assert channel.damage == "the channel carried something other than one report"


def test_the_count_looks_at_each_byte_a_bounded_number_of_times() -> None:
    """Wherever a step may end, no more than the step is looked at again: the work grows as the bytes do."""
    looked_at: list[int] = []

    class Watched(bytes):
        def __getitem__(self, place: Any) -> Any:
            found = super().__getitem__(place)
            looked_at.append(len(found) if isinstance(found, bytes) else 1)
            return found

    for unit in (b"\\", b'"', b"\\ud83d\\ude00", b"9", b" "):
        looked_at.clear()
        raw = Watched(b'"' + unit * ((1 << 20) // len(unit)) + b'"')
        with contextlib.suppress(TooCostly):
            weigh(raw)
        assert sum(looked_at) <= 3 * len(raw), unit
