"""What sessions of every backend share: one cell at a time, an end that is told, and an idle time that is watched."""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Self

from ringfence.base.errors import JobError, LimitError, SandboxError
from ringfence.sandbox import OnOutput
from ringfence.sandbox.job import Cancel, Limits
from ringfence.sandbox.outcome import Outcome
from ringfence.sandbox.source import check_source

GRACE_SECONDS = 2.0  # for a cell to let go after an interrupt


class SessionOver(SandboxError):
    """The session had ended before the cell began."""

    def __init__(self, why: str) -> None:
        super().__init__(f"this session has ended ({why}): open another")
        self.why = why


class HeldSession(ABC):
    """Safe from many threads: cells wait for each other."""

    def __init__(self, limits: Limits, *, check: Callable[[Limits], None], idle_seconds: float) -> None:
        self._limits, self._check, self._idle_seconds = limits, check, idle_seconds
        self._lock = threading.Lock()
        self._ended: str | None = None
        self._timer: threading.Timer | None = None
        self._rests = 0  # how many there were: tells the timer of this rest from one that fired too late

    @abstractmethod
    def _apply(self, limits: Limits) -> None:
        """Set the limits of the next cell; LimitError where they cannot be."""

    @abstractmethod
    def _run_cell(self, code: str, limits: Limits, on_output: OnOutput | None, cancel: Cancel | None) -> Outcome:
        """Run it, then call `_rest`, or `_end` if the cell ended the session."""

    @abstractmethod
    def _pause(self) -> bool:
        """Stop what the cell left running; False when that cannot be done."""

    @abstractmethod
    def _discard(self) -> None:
        """End everything the session has."""

    def _over(self) -> str | None:
        """Why it ended by itself between two cells, where a backend ends sessions then; None while it is there."""
        return None

    @property
    def alive(self) -> bool:
        """Whether it can take a cell, now or when the one that runs has ended."""
        return self._ended is None

    def run(
        self,
        code: str,
        *,
        limits: Limits | None = None,
        on_output: OnOutput | None = None,
        cancel: Cancel | None = None,
    ) -> Outcome:
        check_source(code)
        limits = limits or self._limits
        self._check(limits)
        if limits.disk_mb != self._limits.disk_mb:
            raise JobError("disk_mb cannot change within a session: set it when you open one")
        with self._lock:
            if self._ended is None and (why := self._over()) is not None:
                self._end(why)
            if self._ended is not None:
                raise SessionOver(self._ended)
            self._stop_timer()
            try:
                self._apply(limits)
            except (LimitError, SandboxError):
                self._rest()
                raise
            try:
                return self._run_cell(code, limits, on_output, cancel)
            except SessionOver as e:
                self._end(e.why)
                raise
            except BaseException:
                self._end("a cell could not be run")  # or it would go on with nobody watching
                raise

    def _rest(self) -> None:
        """Stop what the cell left running: between cells nobody watches its limits. Then count idle time."""
        if not self._pause():
            self._end("it left processes running that could not be stopped")
            return
        self._rests += 1
        self._timer = threading.Timer(self._idle_seconds, self._end_idle, (self._rests,))
        self._timer.daemon = True
        self._timer.start()

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _end_idle(self, rest: int) -> None:
        """Called when a rest has lasted too long; a cell may have come meanwhile, and even have ended."""
        with self._lock:
            if self._timer is not None and self._rests == rest:
                self._end(f"idle for {self._idle_seconds:g} s")

    def _end(self, why: str) -> None:
        if self._ended is None:
            self._ended = why
            self._stop_timer()
            self._discard()

    def close(self) -> None:
        with self._lock:
            self._end("it was closed")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()
