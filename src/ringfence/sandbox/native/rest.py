"""A session between two cells, as its supervisor sees it: stopped, counted, and ended when it does not stay so.

Nobody waits for the program then and no clock runs against it, so nothing of it may run. SIGSTOP cannot be ignored, but
SIGCONT undoes it, and a process may have found somebody to send that. So the supervisor looks on, and stops what it
finds awake; a program that is awake again and again, or that grows, is ended.
"""

from __future__ import annotations

import threading
import time

from ringfence.sandbox.job import Limits
from ringfence.sandbox.native import census
from ringfence.sandbox.native.child import Child

_TICK_SECONDS = 0.2
_MOST_WAKINGS = 3
_MOST_CPU_SECONDS = 0.25  # in one rest: signals are taken and threads are stopped at somebody's expense
_AWAKE = "its program went on running between two cells"


class Rest:
    """One rest, from when all of the session was found stopped until `end`."""

    def __init__(self, child: Child, limits: Limits) -> None:
        self._child, self._limits = child, limits
        self._before, self._ledger = child.counters(), census.Ledger()
        self._counted = self._ledger.take(child.host_pids, time.monotonic()) if child.group is None else None
        self._wakings = 0
        self._over = threading.Event()
        self.breach: str | None = None  # why the session was ended
        self._thread = threading.Thread(target=self._look_on, name="ringfence-rest", daemon=True)
        self._thread.start()

    def end(self) -> None:
        self._over.set()
        self._thread.join()

    def _look_on(self) -> None:
        while self.breach is None and not self._over.wait(_TICK_SECONDS):
            self.breach = self._look()
        if self.breach is not None:
            self._child.kill()

    def _look(self) -> str | None:
        over_memory, cpu_seconds = self._count()
        if over_memory:
            return f"it used more than {self._limits.memory_mb} MB between two cells"
        if cpu_seconds > _MOST_CPU_SECONDS:
            return _AWAKE
        if self._child.is_stopped():
            return None
        self._wakings += 1
        return None if self._wakings <= _MOST_WAKINGS and self._child.pause() else _AWAKE

    def _count(self) -> tuple[bool, float]:
        if self._counted is None:
            counted = self._child.counters().since(self._before)
            return counted.oom_kills > 0, counted.cpu_seconds
        seen = self._ledger.take(self._child.host_pids, time.monotonic())
        return self._child.is_over_memory(seen, self._limits), seen.cpu_seconds - self._counted.cpu_seconds
