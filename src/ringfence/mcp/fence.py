"""The one sandbox of a server: opened when first needed, or before that in the background, and again when it is dead.

A SandboxError is the failure of one job, and says nothing of the next. Whether the sandbox as a whole is dead is found
by giving it the smallest job there is: only if that cannot be run either, the next caller gets a fresh sandbox. So
nobody can take it away from others, together with their sessions, by a job of their own that cannot be run.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from ringfence.base.errors import RingfenceError, SandboxError
from ringfence.sandbox import Sandbox
from ringfence.sandbox.job import Job, Limits

WAITING = "waiting for a sandbox"  # what a call does until it has its lease
# For a sandbox that is still getting warm when the server ends, which it may go on with for seconds. Clients wait about
# 2 s before they kill a server; what is being opened dies with us just as well.
_PATIENCE_SECONDS = 0.5
_SMALLEST = Job(code="", limits=Limits(wall_seconds=10, memory_mb=64, disk_mb=1))


@dataclass(slots=True)
class Hold:
    """A sandbox and how many use it. One that failed is closed when the last of them is done."""

    sandbox: Sandbox
    users: int = 0
    retired: bool = False
    examining: threading.Lock = field(default_factory=threading.Lock)


@dataclass(slots=True)
class Fence:
    """Safe from many threads. `open_` is `open_sandbox` with its spec."""

    backend: str
    open_: Callable[[], Sandbox]
    _current: Hold | None = None
    _closed: bool = False
    _warming: threading.Thread | None = None
    _opening: threading.Lock = field(default_factory=threading.Lock)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def warm(self) -> None:
        """Open it, with all of its libraries, while the caller does something else."""
        self._warming = threading.Thread(target=self._warm, name="ringfence-warm", daemon=True)
        self._warming.start()

    def _warm(self) -> None:
        try:
            hold = self.take()
        except RingfenceError:
            return  # the first call opens it again, and is told why it cannot be
        try:
            warm_up: Callable[[], None] | None = getattr(hold.sandbox, "warm_up", None)
            if warm_up is not None:
                warm_up()
        except SandboxError as e:
            self.failed(hold, e)
        finally:
            self.give_back(hold)

    @contextmanager
    def lease(self) -> Iterator[Sandbox]:
        """The sandbox for one job."""
        hold = self.take()
        try:
            yield hold.sandbox
        except SandboxError as e:
            self.failed(hold, e)
            raise
        finally:
            self.give_back(hold)

    def take(self) -> Hold:
        with self._opening:  # who comes while it opens waits, and gets the same one
            with self._lock:
                if self._closed:
                    raise SandboxError("the server is stopping: start it again")
                if self._current is not None:
                    self._current.users += 1
                    return self._current
            hold = Hold(self.open_(), users=1)
            if self._adopt(hold):
                return hold
            hold.sandbox.close()
            raise SandboxError("the server is stopping: start it again")

    def _adopt(self, hold: Hold) -> bool:
        with self._lock:
            if not self._closed:
                self._current = hold
            return not self._closed

    def failed(self, hold: Hold, error: BaseException) -> None:
        """A job of it ended so: if the sandbox is dead, no new job gets this one."""
        if not isinstance(error, SandboxError) or self._closed:
            return
        with hold.examining:  # of many that fail at once one asks at a time, and none after it was found dead
            if not hold.retired and not _is_alive(hold.sandbox):
                self.retire(hold)

    def retire(self, hold: Hold) -> None:
        """No new job gets this one."""
        with self._lock:
            hold.retired = True
            if self._current is hold:
                self._current = None

    def give_back(self, hold: Hold) -> None:
        with self._lock:
            hold.users -= 1
            last = hold.retired and hold.users == 0
        if last:
            hold.sandbox.close()

    def close(self) -> None:
        """Close it under whoever still uses it: their jobs are killed and they are told."""
        with self._lock:
            self._closed = True
            hold, self._current = self._current, None
        waiting = []
        if self._warming is not None and self._warming.is_alive():
            waiting.append(self._warming)
        if hold is not None:
            closer = threading.Thread(target=hold.sandbox.close, name="ringfence-close", daemon=True)
            closer.start()
            waiting.append(closer)
        for thread in waiting:
            thread.join(_PATIENCE_SECONDS if self._warming in waiting else None)


def _is_alive(sandbox: Sandbox) -> bool:
    try:
        sandbox.run(_SMALLEST)
    except SandboxError:
        return False
    return True
