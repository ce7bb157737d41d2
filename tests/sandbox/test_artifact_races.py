"""A program that is still alive swaps what the collector looked at for what it must not open."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from ringfence.sandbox.artifacts import collect
from ringfence.sandbox.placing import leavings_in


def race(work: Path, flip: Callable[[], None], into: Path | None) -> None:
    stop = threading.Event()

    def swap() -> None:
        while not stop.is_set():
            with suppress(FileNotFoundError, FileExistsError):
                flip()

    swapper = threading.Thread(target=swap)
    swapper.start()
    try:
        end = time.monotonic() + 1.5
        fd = os.open(work, os.O_RDONLY)
        while time.monotonic() < end:
            with leavings_in(into) as left:
                got = collect(fd, keep=left.keep, baseline={})
            for a in got.artifacts:
                data = a.data if a.path is None else Path(a.path).read_bytes()
                assert data is not None
                assert b"secret" not in data
        os.close(fd)
    finally:
        stop.set()
        swapper.join()


@pytest.mark.parametrize("in_memory", [True, False])
@pytest.mark.parametrize("kind", ["file", "folder", "fifo"])
def test_swapping_under_the_collector_gains_nothing(tmp_path: Path, kind: str, in_memory: bool) -> None:
    work, outside = tmp_path / "work", tmp_path / "outside"
    work.mkdir()
    outside.mkdir()
    (outside / "f").write_text("secret")
    real, fake, at = work.parent / "real", work.parent / "fake", work / "at"
    if kind == "folder":
        real.mkdir()
        (real / "f").write_text("mine")
        fake.symlink_to(outside)
    else:
        real.write_text("mine")
        if kind == "fifo":
            os.mkfifo(fake)
        else:
            fake.symlink_to(outside / "f")

    def flip() -> None:
        for source in (real, fake):
            os.rename(source, at)
            os.rename(at, source)

    race(work, flip, None if in_memory else tmp_path / "into")
