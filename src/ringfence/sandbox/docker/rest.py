"""A session between two cells, as its keeper sees it: stopped as a whole, counted, and ended when it does not stay so.

Nobody waits for the program then and no clock runs against it, so nothing of it may run. SIGSTOP cannot be ignored,
but SIGCONT undoes it, and others than a running process can send that: a timer, or the end of a child. So the keeper
looks on, and stops what it finds awake; a program that is awake again and again is ended.
"""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Callable
from typing import Literal

from ringfence.sandbox.docker.inside import Inside

# Why a session ended between cells; the host has the words.
Breach = Literal["memory_limit", "disk_limit", "awake", "ended"]

_ROUNDS = 60  # three seconds in all: on a busy machine a process may have to wait for its turn to be stopped
_LET_GO_EVERY = 10
_LET_GO_SECONDS = 0.002
_MOST_WAKINGS = 3
_MOST_CPU_SECONDS = 0.25  # in one rest: signals are taken and threads are stopped at somebody's expense
_STOPPED, _DEAD = "Tt", "ZX"


class Rest:
    """One rest; made when all of the session was found stopped, and the cell before it has been accounted for."""

    def __init__(self, inside: Inside | None, is_over_disk: Callable[[], bool]) -> None:
        self._inside, self._is_over_disk = inside, is_over_disk
        self._wakings = 0
        self._own_seconds = time.process_time()
        if inside is not None:
            inside.reset()

    def breach(self) -> Breach | None:
        """Look once, and stop again what runs. None while it is at rest."""
        if self._inside is not None:
            counted = self._inside.counters()
            if counted.oom_kills:
                return "memory_limit"
            if counted.cpu_seconds - (time.process_time() - self._own_seconds) > _MOST_CPU_SECONDS:
                return "awake"
        if self._is_over_disk():
            return "disk_limit"
        if is_stopped(living()):
            return None
        self._wakings += 1
        return None if self._wakings <= _MOST_WAKINGS and stop_all() else "awake"


def signal_all(number: int) -> None:
    """Every process of the container but this one."""
    with contextlib.suppress(ProcessLookupError):
        os.kill(-1, number)


def stop_all() -> bool:
    """Stop every thread of every process, again and again for a while; False when they cannot be stopped.

    A signal takes a moment, and a process that still runs may wake one that was found stopped, or wake its parent by
    ending. So two looks in a row must find the same threads, all of them stopped.
    """
    calm: frozenset[tuple[str, str]] | None = None
    for i in range(_ROUNDS):
        signal_all(signal.SIGSTOP)
        threads = living()
        if not is_stopped(threads):
            calm = None
        elif calm == threads.keys():
            return True
        else:
            calm = frozenset(threads)
            continue
        if i % _LET_GO_EVERY == _LET_GO_EVERY - 1:
            # Who waits for the child of a vfork cannot be stopped before that child has gone on.
            signal_all(signal.SIGCONT)
            time.sleep(_LET_GO_SECONDS)
        else:
            time.sleep(min(0.0005 * 2 ** (i // 5), 0.2))
    return False


def is_stopped(threads: dict[tuple[str, str], str]) -> bool:
    return all(state in _STOPPED for state in threads.values())


def living() -> dict[tuple[str, str], str]:
    """The state of every thread that has not ended, by process and thread; a process may go on without its first."""
    found: dict[tuple[str, str], str] = {}
    for pid in os.listdir("/proc"):
        if not pid.isdecimal() or pid == "1":
            continue
        try:
            tids = os.listdir(f"/proc/{pid}/task")
        except (FileNotFoundError, ProcessLookupError):
            continue  # it ended while we looked
        for tid in tids:
            with contextlib.suppress(FileNotFoundError, ProcessLookupError):
                if (state := _state(pid, tid)) not in _DEAD:
                    found[pid, tid] = state
    return found


def _state(pid: str, tid: str) -> str:
    with open(f"/proc/{pid}/task/{tid}/stat", "rb") as f:  # bytes: a thread may have any for its name
        return chr(f.read().rpartition(b") ")[2][0])
