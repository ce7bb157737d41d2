"""Count a process tree from outside, through /proc: for machines where no control group counts it for us."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from ringfence.sandbox.evidence import Census

_TICKS = os.sysconf("SC_CLK_TCK")
_CORES = os.cpu_count() or 1
_UNEXPLAINED_SECONDS = 0.1  # of CPU time that vanished with processes, before a program is taken for one that hides it


class Ledger:
    """Counts of one job over time.

    Whoever waits for a child gets its CPU time added to the own. A child that nobody waits for, because its parent
    ignores its end, takes that time along. What each was last seen to have used stays on the books; but one that
    lives for less than the time between two counts may never be seen. So where more vanishes than is explained, CPU
    time is taken from how many threads were found running, count by count.
    """

    def __init__(self) -> None:
        self._own: dict[tuple[int, str], float] = {}  # CPU seconds by pid and start time
        self._vanished: dict[tuple[int, str], float] = {}
        self._handed_on = 0.0  # by children to whoever waited for them
        self._unexplained = 0  # counts in a row: one whose parent has just ended may be missed by one of them
        self._sampled = 0.0
        self._counted_at: float | None = None

    def take(self, roots: Iterable[int], now: float) -> Census:
        """The trees under `roots`. For a job these are its program and its namespace's init, which adopts orphans."""
        members = [member for member in map(_look, tree(roots)) if member is not None]
        self._count_time(members, now)
        sizes = [_proportional_bytes(m.pid) for m in members]
        return Census(
            processes=sum(m.threads for m in members),
            memory_bytes=sum(size[0] for size in sizes if size is not None),
            shared_bytes=sum(size[1] for size in sizes if size is not None),
            cpu_seconds=self._cpu_seconds(),
            hidden=None in sizes,
        )

    def _count_time(self, members: Sequence[_Member], now: float) -> None:
        own = {(m.pid, m.started): m.own_seconds for m in members}
        self._vanished |= self._own
        self._vanished = {key: seconds for key, seconds in self._vanished.items() if key not in own}
        self._own = own
        self._handed_on = max(self._handed_on, sum(m.children_seconds for m in members))
        missing = sum(self._vanished.values()) - self._handed_on > _UNEXPLAINED_SECONDS
        self._unexplained = self._unexplained + 1 if missing else 0
        if self._counted_at is not None:
            self._sampled += (now - self._counted_at) * min(_CORES, sum(m.running for m in members))
        self._counted_at = now

    def _cpu_seconds(self) -> float:
        seen = sum(self._own.values()) + max(self._handed_on, sum(self._vanished.values()))
        return max(seen, self._sampled) if self._unexplained > 1 else seen


@dataclass(frozen=True, slots=True)
class _Member:
    pid: int
    started: str
    threads: int
    running: int
    own_seconds: float
    children_seconds: float  # of those that it has waited for


def _look(pid: int) -> _Member | None:
    """None for one that ended while we looked."""
    stat = _read(f"/proc/{pid}/stat").rpartition(")")[2].split()
    if not stat:
        return None
    times = [int(field) / _TICKS for field in stat[11:15]]
    threads = int(stat[17])
    running = sum(state == "R" for state in thread_states(pid)) if threads > 1 else int(stat[0] == "R")
    return _Member(pid, stat[19], threads, running, times[0] + times[1], times[2] + times[3])


def tree(roots: Iterable[int]) -> list[int]:
    found = list(roots)
    for pid in found:
        found += _children(pid)
    return found


def _proportional_bytes(pid: int) -> tuple[int, int] | None:
    """Anonymous memory, and memory of files in memory; None where a living process does not let it be read.

    The first thread may have ended while others go on: it has no memory to show then, and they have.
    """
    for place in (f"/proc/{pid}", *(f"/proc/{pid}/task/{thread}" for thread in _threads(pid))):
        try:
            text = Path(place, "smaps_rollup").read_text()
        except PermissionError:
            return None
        except OSError:
            continue  # it has ended, or has given its memory back already
        rows = (row.split() for row in text.splitlines())
        sizes = {row[0]: int(row[1]) * 1024 for row in rows if row[0] in ("Pss_Anon:", "Pss_Shmem:")}
        if sizes:
            return sizes.get("Pss_Anon:", 0), sizes.get("Pss_Shmem:", 0)
    return 0, 0


def resident_bytes(pid: int) -> int:
    fields = _read(f"/proc/{pid}/statm").split()
    return int(fields[1]) * os.sysconf("SC_PAGE_SIZE") if fields else 0


def thread_states(pid: int) -> list[str]:
    """The states of its living threads. The first may have ended while others go on."""
    states = (_read(f"/proc/{pid}/task/{thread}/stat").rpartition(")")[2].split() for thread in _threads(pid))
    return [state[0] for state in states if state and state[0] not in ("Z", "X")]


def _children(pid: int) -> list[int]:
    return [int(p) for thread in _threads(pid) for p in _read(f"/proc/{pid}/task/{thread}/children").split()]


def _threads(pid: int) -> list[str]:
    try:
        return os.listdir(f"/proc/{pid}/task")
    except OSError:
        return []  # it is gone


def _read(path: str) -> str:
    try:
        return Path(path).read_text(errors="replace")
    except OSError:  # processes come and go while they are counted
        return ""
