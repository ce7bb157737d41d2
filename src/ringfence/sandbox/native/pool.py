"""Parked children: forked, jailed and waiting, each for one job. Refilled by a thread of its own, off the request path.

A job whose shape differs from the parked one, or that finds the pool empty, gets a child forked on demand: it is
never refused for that. A zygote that is found dead is replaced; one that cannot make a jail any more, because the
files of its view were replaced on the host, is given up for a fresh one, and ends with the last of its children.
"""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Callable

from ringfence.base.errors import SandboxError
from ringfence.sandbox.job import Limits
from ringfence.sandbox.native.child import Child, NoJail, Shape
from ringfence.sandbox.native.cradle import Cradle

# A fork slows the job that was just given out, and while others are parked there is no hurry.
_COURTESY_SECONDS = 0.01
_RETRY_SECONDS = 1.0  # after a failed refill, so that a machine out of memory is not hammered


class Pool:
    def __init__(self, start: Callable[[], Cradle], *, park: int, limits: Limits) -> None:
        self._start, self._limits = start, limits
        self._size, self._shape = park, Shape(limits.disk_mb)
        self._cradle = start()
        self._retired: list[Cradle] = []
        self._parked: deque[Child] = deque()
        self._changed = threading.Condition()
        self._cradle_lock = threading.Lock()
        self._closing = False
        self._owner = os.getpid()
        self._refiller = threading.Thread(target=self._refill, name="ringfence-refill", daemon=True)
        if park:
            self._refiller.start()

    def take(self, shape: Shape) -> tuple[Child, bool]:
        """A ready child, and whether it was parked."""
        if os.getpid() != self._owner:
            raise SandboxError("this sandbox belongs to the process that opened it: open another after a fork")
        if shape == self._shape:
            while True:
                with self._changed:
                    child = self._parked.popleft() if self._parked else None
                    self._changed.notify_all()
                if child is None:
                    break
                if child.alive:
                    return child, True
                child.discard()
        return self._make(shape), False

    def _make(self, shape: Shape) -> Child:
        cradle = self._live_cradle()
        try:
            return self._make_in(cradle, shape)
        except NoJail:
            return self._make_in(self._fresh_cradle(cradle), shape)

    def _make_in(self, cradle: Cradle, shape: Shape) -> Child:
        child = cradle.order_child(shape, self._limits)
        try:
            child.wait_ready()
        except BaseException:
            child.discard()
            raise
        return child

    def _live_cradle(self) -> Cradle:
        with self._cradle_lock:
            if self._closing:
                raise SandboxError("this sandbox is closed: open another")
            if not self._cradle.line.alive:
                self._cradle.line.close()
                self._cradle = self._start()
            return self._cradle

    def _fresh_cradle(self, stale: Cradle) -> Cradle:
        """Another than `stale`, unless somebody else has replaced that already."""
        with self._cradle_lock:
            if self._closing:
                raise SandboxError("this sandbox is closed: open another")
            if self._cradle is stale:
                self._cradle = self._start()
                self._retired.append(stale)
                stale.retire()
            return self._cradle

    def _refill(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._closing or len(self._parked) < self._size)
                self._changed.wait_for(lambda: self._closing or not self._parked, _COURTESY_SECONDS)
                if self._closing:
                    return
            try:
                child = self._make(self._shape)
            except (SandboxError, OSError):
                # Whoever needs a child next makes one on demand, and is told then why it fails.
                with self._changed:
                    self._changed.wait_for(lambda: self._closing, _RETRY_SECONDS)
                continue
            with self._changed:
                self._parked.append(child)
                self._changed.notify_all()

    def wait_parked(self, count: int, timeout_seconds: float) -> bool:
        with self._changed:
            return self._changed.wait_for(lambda: len(self._parked) >= count, timeout_seconds)

    def parked_pids(self) -> list[int]:
        with self._changed:
            return [child.host_pids[1] for child in self._parked]

    @property
    def warden_pid(self) -> int:
        return self._cradle.line.warden_pid

    def close(self) -> None:
        """End the parked children and the line. Jobs still running are killed and their callers told.

        In a fork of the process that opened it this does nothing: the sandbox is not the fork's to end.
        """
        if os.getpid() != self._owner:
            return
        with self._changed:
            if self._closing:
                return
            self._closing = True
            self._changed.notify_all()
        with self._cradle_lock:  # a line that is being started is waited for, and closed too
            for cradle in (self._cradle, *self._retired):
                cradle.line.close()
        if self._size:
            self._refiller.join()
        while self._parked:
            self._parked.popleft().discard()
