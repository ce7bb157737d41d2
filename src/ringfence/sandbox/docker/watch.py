"""Watch the job in a container until its keeper says that nothing of it is left, and gather the evidence.

The keeper counts, and stops what is over a limit; the clock is ours. A keeper that does not obey in time, or is gone,
loses its container, and the engine is asked what became of it.
"""

from __future__ import annotations

import select
import ssl
import time
from collections.abc import Callable
from typing import get_args

from ringfence.base.errors import InputError, SandboxError
from ringfence.sandbox import OnOutput
from ringfence.sandbox.channel import Channel
from ringfence.sandbox.docker import frames
from ringfence.sandbox.docker.box import Box, BoxEnded, OverBetweenCells, read_object
from ringfence.sandbox.evidence import Census, Counters, Evidence, Exit, Kill
from ringfence.sandbox.job import Cancel, Limits
from ringfence.sandbox.streams import Heard

_OBEY_SECONDS = 5.0  # to a keeper that was told to kill
_KILL_SECONDS = 30.0  # to an engine that was
_SIGNALLED = 128


class Watch:
    """The watch over one job, or over one cell of a session."""

    def __init__(
        self, box: Box, limits: Limits, *, on_output: OnOutput | None, cancel: Cancel | None, result_mb: int = 8
    ) -> None:
        self._box, self._limits, self._cancel = box, limits, cancel
        self.stdout = Heard("stdout", limits.output_bytes, on_output)
        self.stderr = Heard("stderr", limits.output_bytes, on_output)
        self.counters = Counters()
        self.stopped = True  # all that a cell left running, if it was a cell
        self._channel = Channel(result_mb)
        self._started = time.monotonic()
        self._deadline = self._started + limits.wall_seconds
        self._told: Kill | None = None
        self._hard_at: float | None = None
        self._killed_container = False
        self._reported_at: float | None = None
        self.interrupt: Callable[[], float] | None = None  # a session's first, gentle try; returns the grace
        self.interrupted: Kill | None = None

    def until_ended(self) -> Evidence:
        poll = select.poll()
        poll.register(self._box.socket, select.POLLIN)
        if self._cancel is not None:
            poll.register(self._cancel.fileno(), select.POLLIN)
        while True:
            ready = self._wait(poll)
            if self._cancel is not None and self._cancel.fileno() in ready:
                poll.unregister(self._cancel.fileno())
                self._stop("cancelled")
            if self._box.socket.fileno() in ready:
                if not self._box.pump():
                    return self._after_the_end()
                while self._box.frames:
                    kind, payload = self._box.frames.popleft()
                    if kind == frames.ENDED:
                        return self._read_ended(payload)
                    self._take(kind, payload)
            self._check(time.monotonic())

    def _wait(self, poll: select.poll) -> set[int]:
        until = self._hard_at if self._hard_at is not None else self._deadline
        pending = isinstance(self._box.socket, ssl.SSLSocket) and self._box.socket.pending()
        wait = 0.0 if pending else max(0.0, until - time.monotonic())
        ready = {fd for fd, _ in poll.poll(min(wait, 3600.0) * 1000 + 1)}
        return ready | {self._box.socket.fileno()} if pending else ready

    def _take(self, kind: bytes, payload: bytes) -> None:
        if kind == frames.STDOUT:
            self.stdout.take(payload)
        elif kind == frames.STDERR:
            self.stderr.take(payload)
        elif kind == frames.CHANNEL:
            self._channel.take(payload)
            if self._reported_at is None and self._channel.is_whole:
                self._reported_at = time.monotonic()
        elif kind == frames.LOST:
            said = payload.decode(errors="replace")[:200]
            raise InputError(f"a file cannot be put into the {self._limits.disk_mb} MB working directory: {said}")
        elif kind == frames.OVER:
            raise OverBetweenCells(payload.decode(errors="replace"))
        else:
            raise BoxEnded("the container sent something that no job sends: run the job again")

    def _check(self, now: float) -> None:
        if self._hard_at is None:
            if now >= self._deadline:
                self._stop("timeout")
        elif now >= self._hard_at:
            if self._killed_container:
                raise SandboxError("a container could not be killed: look at it with `docker ps`")
            self._killed_container = True
            self._hard_at = now + _KILL_SECONDS
            self._box.kill()

    def _stop(self, why: Kill) -> None:
        """Have it killed; or, where there is a gentle way that was not tried yet, try that first."""
        if self._told is not None:
            return
        if self.interrupt is not None and self.interrupted is None:
            self.interrupted = why
            self._deadline = time.monotonic() + self.interrupt()
            return
        self._told = self.interrupted or why
        self._hard_at = time.monotonic() + _OBEY_SECONDS
        self._box.send(frames.KILL, self._told.encode())

    def _read_ended(self, payload: bytes) -> Evidence:
        said = read_object(payload)
        killed = said.get("killed")
        own = next((kill for kill in get_args(Kill) if kill == killed), None)
        self.stopped = said.get("stopped") is True
        self._box.in_use_bytes = int(_numbers(said.get("in_use"), 1)[0])
        seen = _numbers(said.get("seen"), 2)
        self.stdout.seen, self.stderr.seen = max(self.stdout.seen, int(seen[0])), max(self.stderr.seen, int(seen[1]))
        counted = _numbers(said.get("counted"), 5)
        self.counters = Counters(counted[0], *(int(number) for number in counted[1:]))
        ended = None if said.get("exit") is None else _numbers(said.get("exit"), 4)
        exit_ = None if ended is None else Exit(int(ended[0]), ended[1], ended[2], int(ended[3]))
        # A program that ended by itself just before it was told to was not killed.
        told = self._told if own in ("timeout", "cancelled") else None
        return self._evidence(exit_, told or own, disk_full=said.get("disk_full") is True)

    def _after_the_end(self) -> Evidence:
        """The container is gone and its keeper said nothing: only the engine knows how."""
        code, out_of_memory = self._box.how_it_ended()
        number = code - _SIGNALLED if code > _SIGNALLED else None
        status = number if number is not None else code << 8
        if out_of_memory:
            self.counters = Counters(oom_kills=1)
        elif self._told is None:
            raise BoxEnded(f"the container ended with exit code {code} in the middle of a job: run the job again")
        return self._evidence(Exit(status, 0.0, 0.0, 0), self._told, disk_full=False)

    def _evidence(self, exit_: Exit | None, killed: Kill | None, *, disk_full: bool) -> Evidence:
        return Evidence(
            exit=exit_,
            killed=killed,
            report=self._channel.report(),
            damage=self._channel.damage,
            wall_seconds=time.monotonic() - self._started,
            disk_full=disk_full,
            peak=Census(),
            reported_at=self._reported_at,
        )


def _numbers(value: object, count: int) -> list[float]:
    """Exactly so many numbers; a keeper of ours sends nothing else."""
    if not isinstance(value, list) or len(value) != count or not all(type(v) in (int, float) for v in value):
        raise BoxEnded("the container sent a damaged account of its job: run the job again")
    return value
