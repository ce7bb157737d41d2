"""Count a process tree from outside, through /proc: for machines where no control group counts it for us."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

_TICKS = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True, slots=True)
class Census:
    processes: int = 0  # threads count, as in Limits.processes
    memory_bytes: int = 0  # a page that n processes share counts as 1/n in each
    cpu_seconds: float = 0.0

    def highest(self, other: Census) -> Census:
        return Census(
            max(self.processes, other.processes),
            max(self.memory_bytes, other.memory_bytes),
            max(self.cpu_seconds, other.cpu_seconds),
        )


def take(roots: Iterable[int]) -> Census:
    """The trees under `roots`. For a job these are its program and its namespace's init, which adopts orphans."""
    threads, memory, ticks = 0, 0, 0
    for pid in tree(roots):
        stat = _read(f"/proc/{pid}/stat").rpartition(")")[2].split()
        if not stat:
            continue  # it ended while we looked
        threads += int(stat[17])
        ticks += sum(int(t) for t in stat[11:15])  # with those of the children it has reaped
        memory += _proportional_bytes(pid)
    return Census(threads, memory, ticks / _TICKS)


def tree(roots: Iterable[int]) -> list[int]:
    found = list(roots)
    for pid in found:
        found += _children(pid)
    return found


def _proportional_bytes(pid: int) -> int:
    rows = (row.split() for row in _read(f"/proc/{pid}/smaps_rollup").splitlines())
    return sum(int(row[1]) * 1024 for row in rows if row[0] == "Pss_Anon:")


def resident_bytes(pid: int) -> int:
    fields = _read(f"/proc/{pid}/statm").split()
    return int(fields[1]) * os.sysconf("SC_PAGE_SIZE") if fields else 0


def is_stopped(pid: int) -> bool:
    state = _read(f"/proc/{pid}/stat").rpartition(")")[2].split()
    return not state or state[0] in ("T", "Z", "X")


def _children(pid: int) -> list[int]:
    try:
        threads = os.listdir(f"/proc/{pid}/task")
    except OSError:
        return []
    return [int(p) for t in threads for p in _read(f"/proc/{pid}/task/{t}/children").split()]


def _read(path: str) -> str:
    try:
        return Path(path).read_text()
    except OSError:  # processes come and go while they are counted
        return ""
