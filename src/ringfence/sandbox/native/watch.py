"""Watch one job from the moment it has its order until its namespace is empty, and gather the evidence.

Both streams are drained all the time; the end of a pipe is never waited for, because an orphan may hold it open.
"""

from __future__ import annotations

import os
import select
import socket
import time
from collections.abc import Callable
from dataclasses import replace

from ringfence.base.errors import SandboxError
from ringfence.sandbox import OnOutput, Stream
from ringfence.sandbox.channel import Channel
from ringfence.sandbox.evidence import Census, Counters, Evidence, Exit, Kill
from ringfence.sandbox.job import Cancel, Limits
from ringfence.sandbox.native import census
from ringfence.sandbox.native.child import Child, NeverStarted
from ringfence.sandbox.streams import Heard, is_flood, most_reads, unread_bytes

_CHUNK = 1 << 16
_TICK_SECONDS = 0.05
_TINY, _DRIBBLES, _BREATH_SECONDS = 1024, 16, 0.002
_KILL_SECONDS = 30.0
_NEARLY_FULL = 0.98
NOTHING_COUNTED = Counters()


class Capture(Heard):
    """A stream that comes out of a pipe."""

    def __init__(self, name: Stream, fd: int, cap: int, on_output: OnOutput | None) -> None:
        super().__init__(name, cap, on_output)
        self.fd = fd
        self.open = True

    def drain(self) -> int:
        """Read once; returns how many bytes came. There may be none: an unprivileged job can take its own back."""
        try:
            chunk = os.read(self.fd, _CHUNK)
        except BlockingIOError:
            return 0
        if not chunk:
            self.open = False
            return 0
        self.take(chunk)
        return len(chunk)

    def drain_rest(self) -> None:
        """After the last writer is gone, or was told to stop: what is in the pipe, and no more than it holds. What is
        added meanwhile counts as seen, which says that some was left out."""
        for _ in range(most_reads(self.fd)):
            if self.drain() == 0:
                return
        self.seen += unread_bytes(self.fd)


class Watch:
    """The watch over one job, or over one cell of a session."""

    def __init__(
        self,
        child: Child,
        limits: Limits,
        *,
        on_output: OnOutput | None,
        cancel: Cancel | None,
        before: Counters = NOTHING_COUNTED,
        result_mb: int = 8,
    ) -> None:
        self._child, self._limits, self._cancel = child, limits, cancel
        self.stdout = Capture("stdout", child.stdout, limits.output_bytes, on_output)
        self.stderr = Capture("stderr", child.stderr, limits.output_bytes, on_output)
        self._channel = Channel(result_mb)
        self._started = time.monotonic()
        self._deadline = self._started + limits.wall_seconds
        self._killed: Kill | None = None
        self._kill_deadline = 0.0
        self._disk_full = False
        self._sampled = self._started
        self._seen, self._dribbles = 0, 0
        self._peak = Census()
        self._ledger = census.Ledger()
        self._before = before
        self._reported_at: float | None = None
        self._order_unread = False
        self.interrupt: Callable[[], float] | None = None  # a session's first, gentle try; returns the grace
        self.interrupted: Kill | None = None

    def until_exit(self) -> Evidence:
        """Watch until the zygote says that the namespace is empty."""
        exit_: Exit | None = None
        poll = self._register()
        while exit_ is None:
            ready = self._wait(poll)
            if self._child.status.fileno() in ready:
                exit_ = self._child.reap()
        self._drain_everything()
        if self._order_unread and self._killed is None:
            raise NeverStarted("the child died before it got its job: run it again")
        return self._evidence(exit_)

    def until_report(self) -> Evidence:
        """Watch until the program reports, or sends what is refused; an exit comes first only if it died or was
        killed."""
        poll = self._register()
        while True:
            ready = self._wait(poll)
            if self._channel.is_whole or self._channel.is_refused:
                self.stdout.drain_rest()
                self.stderr.drain_rest()
                return self._evidence(None)
            if self._child.status.fileno() in ready:
                exit_ = self._child.reap()
                self._drain_everything()
                return self._evidence(exit_)

    def _register(self) -> select.poll:
        poll = select.poll()
        for fd in (self.stdout.fd, self.stderr.fd, self._child.channel.fileno(), self._child.status.fileno()):
            poll.register(fd, select.POLLIN)
        if self._cancel is not None:
            poll.register(self._cancel.fileno(), select.POLLIN)
        return poll

    def _wait(self, poll: select.poll) -> set[int]:
        now = time.monotonic()
        until = self._kill_deadline if self._killed else self._deadline
        ready = {fd for fd, _ in poll.poll(max(0.0, min(until - now, _TICK_SECONDS)) * 1000)}
        for stream in (self.stdout, self.stderr):
            if stream.fd in ready:
                stream.drain()
                if not stream.open:
                    poll.unregister(stream.fd)
        if self._child.channel.fileno() in ready and not self._read_channel():
            poll.unregister(self._child.channel.fileno())
        if self._cancel is not None and self._cancel.fileno() in ready:
            poll.unregister(self._cancel.fileno())
            self._stop("cancelled")
        self._check(time.monotonic())
        self._breathe(ready)
        return ready

    def _breathe(self, ready: set[int]) -> None:
        """Let tiny writes pile up for a moment: a program that dribbles bytes must not keep us as busy as itself."""
        seen = self.stdout.seen + self.stderr.seen + self._channel.seen
        self._dribbles = self._dribbles + 1 if ready and seen - self._seen < _TINY else 0
        self._seen = seen
        if self._dribbles > _DRIBBLES:
            time.sleep(_BREATH_SECONDS)

    def _read_channel(self) -> bool:
        """False when there is nothing more to read, or nothing more is taken in."""
        try:
            # Never blocking: poll also says "readable" for an out-of-band byte, which a plain recv would pass over.
            chunk = self._child.channel.recv(_CHUNK, socket.MSG_DONTWAIT)
        except BlockingIOError:
            return True
        except ConnectionResetError:
            # The kernel says so when a socket is closed with something unread in it. We send one order and nothing
            # more, so a program that has begun cannot bring this about.
            self._order_unread = True
            return False
        taken = self._channel.take(chunk)
        if not taken:
            # Who is still writing must not wait for a reader until its time is up.
            self._child.channel.shutdown(socket.SHUT_RD)
        if self._reported_at is None and self._channel.is_whole:
            self._reported_at = time.monotonic()
        return taken and bool(chunk)

    def _check(self, now: float) -> None:
        if self._killed:
            if now > self._kill_deadline:
                raise SandboxError("a job could not be killed: look for its processes with `ps`")
            return
        if is_flood(self.stdout.seen + self.stderr.seen, self._limits.output_bytes):
            self._kill("output_limit")
        elif now >= self._deadline:
            self._stop("timeout")
        elif now - self._sampled > _TICK_SECONDS:
            self._sampled = now
            self._sample()

    def _sample(self) -> None:
        """Look at what the kernel does not bound by itself here."""
        limits = self._limits
        self._disk_full = self._disk_full or disk_full(self._child.scratch)
        if self._child.group is None:
            seen = self._ledger.take(self._child.host_pids, time.monotonic())
            self._peak = self._peak.highest(seen)
            over = self._child.is_over_memory(seen, limits)
            cpu = seen.cpu_seconds
        else:
            counted = self._child.counters().since(self._before)
            # Version 1 of control groups kills one process at a time, and the others may wait for it for ever.
            over = counted.oom_kills > 0
            cpu = counted.cpu_seconds
        if over:
            self._kill("memory_limit")
        elif limits.cpu_seconds is not None and cpu > limits.cpu_seconds:
            self._kill("cpu_limit")

    def _stop(self, why: Kill) -> None:
        """Kill; or, where there is a gentle way that was not tried yet, try that first."""
        if self.interrupt is None or self.interrupted is not None:
            self._kill(self.interrupted or why)
        else:
            self.interrupted = why
            self._deadline = time.monotonic() + self.interrupt()

    def _kill(self, why: Kill) -> None:
        if self._killed is None:
            self._killed = why
            self._kill_deadline = time.monotonic() + _KILL_SECONDS
            self._child.kill()

    def _drain_everything(self) -> None:
        self.stdout.drain_rest()
        self.stderr.drain_rest()
        seen = -1
        while seen < self._channel.seen and not self._channel.is_refused:  # until a read brings nothing
            seen = self._channel.seen
            self._read_channel()

    def _own_peak(self, exit_: Exit | None) -> Census:
        """The highest count with the libraries' part taken off; a short run was never counted, only waited for."""
        if self._child.group:
            return self._peak
        sampled = self._peak.memory_bytes - self._child.base_memory_bytes
        waited = exit_.peak_memory_bytes - self._child.base_resident_bytes if exit_ else 0
        return replace(self._peak, memory_bytes=max(0, sampled, waited))

    def _evidence(self, exit_: Exit | None) -> Evidence:
        return Evidence(
            exit=exit_,
            killed=self._killed,
            report=self._channel.report(),
            damage=self._channel.damage,
            wall_seconds=time.monotonic() - self._started,
            disk_full=self._disk_full or disk_full(self._child.scratch),
            peak=self._own_peak(exit_),
            reported_at=self._reported_at,
        )


def disk_full(scratch: int) -> bool:
    """Whether the scratch space is, for a program that failed, full in bytes or in files."""
    room = os.fstatvfs(scratch)
    return room.f_bfree < room.f_blocks * (1 - _NEARLY_FULL) or room.f_ffree < room.f_files * (1 - _NEARLY_FULL)
