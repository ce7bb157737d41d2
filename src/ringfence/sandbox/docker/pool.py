"""Parked containers: started, imported, jailed and waiting, each for one job. Filled and emptied off the request path.

The pool follows its callers: what it parks has the shape and the limits of the last job that came. A job of another
shape gets a container made for it; it is never refused for that. Containers with mounts are not parked, because they
would hold what they mount.
"""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from ringfence.base.errors import SandboxError
from ringfence.sandbox.docker.box import Box, Shape
from ringfence.sandbox.job import Limits

_RETRY_SECONDS = 2.0  # after a failed refill, so that an engine in trouble is not hammered
_MAKERS = (os.cpu_count() or 1) + 1  # more at once would only make the first wait for the last
_REMOVERS = 4

Make = Callable[[Shape, Limits], Box]


class Pool:
    def __init__(self, make: Make, *, park: int, limits: Limits) -> None:
        self._make, self._size = make, park
        self._shape, self._limits = Shape(limits.disk_mb), limits
        self._parked: deque[Box] = deque()
        self._changed = threading.Condition()
        self._out: set[Box] = set()  # given out, or being made ready
        self._makers = threading.BoundedSemaphore(_MAKERS)
        self._making = 0
        self._coming = self._shape if park else None  # of the container that the refiller is making
        self._claimed = False  # by a caller, who takes that one
        self._closing = self._closed = self._ended = False
        self._closer = threading.RLock()
        self._owner = os.getpid()
        self._removers = ThreadPoolExecutor(_REMOVERS, thread_name_prefix="ringfence-remove")
        self._refiller = threading.Thread(target=self._refill, name="ringfence-refill", daemon=True)
        if park:
            self._refiller.start()

    def take(self, shape: Shape, limits: Limits) -> tuple[Box, bool]:
        """A ready container, and whether it was parked."""
        if os.getpid() != self._owner:
            raise SandboxError("this sandbox belongs to the process that opened it: open another after a fork")
        while (box := self._pick(shape, limits)) is not None:
            if box.parked:
                return box, True
            self.discard(box)
        return self._make_ready(shape, limits), False

    def _pick(self, shape: Shape, limits: Limits) -> Box | None:
        with self._changed:
            if self._closing:
                raise SandboxError("this sandbox is closed: open another")
            if not shape.mounts:
                self._shape, self._limits = shape, limits
            found = self._find(shape, limits)
            if found is None and self._coming == shape and not self._claimed:
                found = self._await_coming(shape, limits)
            if found is not None:
                self._parked.remove(found)
                self._out.add(found)
            self._changed.notify_all()
            return found

    def _find(self, shape: Shape, limits: Limits) -> Box | None:
        return next((box for box in self._parked if box.fits(shape, limits)), None)

    def _await_coming(self, shape: Shape, limits: Limits) -> Box | None:
        """The container that is half made is there sooner than one that would be made beside it."""
        self._claimed = True
        try:
            self._changed.wait_for(lambda: self._closing or self._coming is None or self._find(shape, limits))
        finally:
            self._claimed = False
        return None if self._closing else self._find(shape, limits)

    def _make_ready(self, shape: Shape, limits: Limits) -> Box:
        with self._makers:
            while True:
                box = self._make_one(shape, limits)
                fit = False
                try:
                    if fit := box.wait_ready():
                        return box
                finally:
                    if not fit:
                        self.discard(box)

    def _make_one(self, shape: Shape, limits: Limits) -> Box:
        """From the moment that it is there, `close` knows of it."""
        with self._changed:
            if self._closing:
                raise SandboxError("this sandbox is closed: open another")
            self._making += 1
        box = None
        try:
            box = self._make(shape, limits)
            return box
        finally:
            with self._changed:
                self._making -= 1
                if box is not None:
                    self._out.add(box)
                self._changed.notify_all()

    def _wanting(self) -> bool:
        return self._closing or sum(box.fits(self._shape, self._limits) for box in self._parked) < self._size

    def _refill(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(self._wanting)
                if self._closing:
                    return
                shape, limits = self._shape, self._limits
                self._coming = shape
            try:
                box = self._make_ready(shape, limits)
            except SandboxError:
                # Whoever needs a container next makes one on demand, and is told then why it fails.
                with self._changed:
                    self._coming = None
                    self._changed.notify_all()
                    self._changed.wait_for(lambda: self._closing, _RETRY_SECONDS)
                continue
            with self._changed:
                self._coming = None
                self._out.discard(box)
                self._parked.append(box)
                spare = self._parked.popleft() if len(self._parked) > self._size else None
                self._changed.notify_all()
            if spare is not None:
                self.discard(spare)

    def discard(self, box: Box) -> None:
        """Remove a container in the background; `close` waits for it. A fork has no say over it."""
        if os.getpid() != self._owner:
            return
        with self._changed:
            self._out.discard(box)
            if not self._closed:  # else `close` has removed it
                self._removers.submit(box.discard)

    def wait_parked(self, count: int, timeout_seconds: float) -> bool:
        with self._changed:
            return self._changed.wait_for(lambda: len(self._parked) >= count, timeout_seconds)

    def close(self, then: Callable[[], None]) -> None:
        """Remove every container, wait until they are gone, and do what comes `then`. Jobs still running are ended and
        their callers told.

        Whoever closes it a second time waits for the first, and goes on where that one was interrupted. In a fork of
        the process that opened it this does nothing: the sandbox is not the fork's to end.
        """
        if os.getpid() != self._owner:
            return
        with self._closer:
            if not self._ended:
                self._remove_all()
                then()
                self._ended = True

    def _remove_all(self) -> None:
        with self._changed:
            self._closing = True
            self._changed.notify_all()
            self._changed.wait_for(lambda: not self._making)
            for box in self._out:
                box.abort()
        if self._size:
            self._refiller.join()
        with self._changed:
            for box in (*self._out, *self._parked):
                self._removers.submit(box.discard)
            self._out.clear()
            self._parked.clear()
            self._closed = True
        self._removers.shutdown(wait=True)
