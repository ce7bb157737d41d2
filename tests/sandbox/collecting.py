"""Collecting from a directory as a sandbox does, with every descriptor accounted for."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from ringfence.sandbox.artifacts import Collected, Stamp, collect
from ringfence.sandbox.placing import leavings_in


@contextmanager
def opened(work: Path, flags: int = os.O_RDONLY) -> Iterator[int]:
    fd = os.open(work, flags | os.O_DIRECTORY)
    before = len(os.listdir("/proc/self/fd"))
    try:
        yield fd
        assert len(os.listdir("/proc/self/fd")) == before, "a descriptor was left open"
    finally:
        os.close(fd)


def take(
    work: Path,
    into: Path | None = None,
    baseline: Mapping[str, Stamp] | None = None,
    max_count: int = 100,
    max_bytes: int = 64 << 20,
) -> Collected:
    with opened(work) as fd, leavings_in(into) as left:
        return collect(fd, keep=left.keep, baseline=baseline or {}, max_count=max_count, max_bytes=max_bytes)


def reasons(collected: Collected) -> dict[str, str]:
    return {r.name: r.reason for r in collected.rejected}


def names(collected: Collected) -> list[str]:
    return [a.name for a in collected.artifacts]
