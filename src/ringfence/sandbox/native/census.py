"""Count a process tree from outside, through /proc: for machines where no control group counts it for us."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from ringfence.sandbox.evidence import Census

_TICKS = os.sysconf("SC_CLK_TCK")


class Ledger:
    """Counts of one job over time. A process that nobody waits for takes its CPU time along when it ends, so what each
    was last seen to have used stays on the books."""

    def __init__(self) -> None:
        self._ticks: dict[tuple[int, str], int] = {}  # by pid and start time

    def take(self, roots: Iterable[int]) -> Census:
        """The trees under `roots`. For a job these are its program and its namespace's init, which adopts orphans."""
        threads, private, shared, ticks = 0, 0, 0, 0
        for pid in tree(roots):
            stat = _read(f"/proc/{pid}/stat").rpartition(")")[2].split()
            if not stat:
                continue  # it ended while we looked
            threads += int(stat[17])
            own = int(stat[11]) + int(stat[12])
            ticks += own + int(stat[13]) + int(stat[14])  # with those of the children it has reaped
            self._ticks[pid, stat[19]] = own
            sizes = _proportional_bytes(pid)
            private += sizes[0]
            shared += sizes[1]
        return Census(threads, private, shared, max(ticks, sum(self._ticks.values())) / _TICKS)


def tree(roots: Iterable[int]) -> list[int]:
    found = list(roots)
    for pid in found:
        found += _children(pid)
    return found


def _proportional_bytes(pid: int) -> tuple[int, int]:
    """Anonymous memory, and memory of files in memory."""
    rows = (row.split() for row in _read(f"/proc/{pid}/smaps_rollup").splitlines())
    sizes = {row[0]: int(row[1]) * 1024 for row in rows if row[0] in ("Pss_Anon:", "Pss_Shmem:")}
    return sizes.get("Pss_Anon:", 0), sizes.get("Pss_Shmem:", 0)


def resident_bytes(pid: int) -> int:
    fields = _read(f"/proc/{pid}/statm").split()
    return int(fields[1]) * os.sysconf("SC_PAGE_SIZE") if fields else 0


def is_stopped(pid: int) -> bool:
    """Whether no thread of it can run. The first may have ended while others go on."""
    try:
        threads = os.listdir(f"/proc/{pid}/task")
    except OSError:
        return True  # it is gone
    states = (_read(f"/proc/{pid}/task/{t}/stat").rpartition(")")[2].split() for t in threads)
    return all(not state or state[0] in ("T", "Z", "X") for state in states)


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
