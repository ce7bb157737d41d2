"""The first process in a container. It imports the libraries, forks one job, keeps it, and tells the host.

It is pid 1, so nothing in its namespace can kill or stop it, every orphan becomes its child, and `kill(-1)` reaches
all but itself: when it has no child left, nothing of the job runs any more. It is not dumpable, so the job, though
the same user, can neither read its memory nor reopen its descriptors. Its standard input and output carry the frames
of `frames`; when the input ends, the host is gone, and so is the container. One container serves one job.
"""

from __future__ import annotations

import contextlib
import gc
import json
import os
import select
import signal
import socket
import sys
import tempfile
import time
from dataclasses import astuple

from ringfence.guest import wire
from ringfence.sandbox import artifacts
from ringfence.sandbox.channel import REPORT_ROOM
from ringfence.sandbox.docker import frames
from ringfence.sandbox.docker.inside import Inside
from ringfence.sandbox.docker.parcel import put_file, send_artifacts
from ringfence.sandbox.docker.rest import Breach, Rest, signal_all, stop_all
from ringfence.sandbox.docker.tap import Tap
from ringfence.sandbox.docker.ward import WORK, Jail, Ward
from ringfence.sandbox.evidence import Counters, Exit, Kill
from ringfence.sandbox.native import contain, preload, syscalls as sc
from ringfence.sandbox.streams import is_flood

_CHUNK = 1 << 16
_TICK_SECONDS = 0.05
_REST_TICK_SECONDS = 0.2
_DYING_TICKS = 10
_NEARLY_FULL = 0.98
_TINY, _DRIBBLES, _BREATH_SECONDS = 1024, 16, 0.002
_DISKS = (WORK, "/tmp", "/dev/shm")
_LEASE_SECONDS = 120.0  # over the wall limit, which is the host's to keep while it can be heard
_LEASE_ENDED = 124


def main() -> None:
    if os.getpid() != 1:
        sys.exit("the keeper must be the container's first process: start it without an init")
    setup = json.loads(sys.argv[1])
    contain.reset_signals()  # the engine may have been started by somebody who ignores some
    orders, answers = _take_descriptors()
    sc.prctl(sc.PR_SET_DUMPABLE, 0)
    # The first process of a namespace does not die of a signal that it has no handler for; Python has one for this.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    preload.load(setup["preload"])
    tempfile.tempdir = None
    gc.collect()
    gc.freeze()
    gc.disable()
    ward = Ward(Jail.prepare(connect=setup["connect"], writable=setup["writable"]))
    ward.wait_ready()
    Keeper(ward, orders, answers).serve()


def _take_descriptors() -> tuple[int, int]:
    """Keep the two ends of the host's stream to ourselves: what a library prints must not get into it."""
    orders, answers = os.dup(0), os.dup(1)
    null = os.open("/dev/null", os.O_RDONLY)
    os.dup2(null, 0)
    os.close(null)
    os.dup2(2, 1)
    return orders, answers


class Keeper:
    def __init__(self, ward: Ward, orders: int, answers: int) -> None:
        self._ward, self._orders, self._answers = ward, orders, answers
        self._stdout, self._stderr = (
            Tap(frames.STDOUT, ward.stdout, self.say),
            Tap(frames.STDERR, ward.stderr, self.say),
        )
        self._inside = Inside.find()
        self._reader = frames.Reader(frames.MOST_BYTES)
        self._work = os.open(WORK, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        self._baseline = artifacts.stamps(self._work)
        self._running = self._is_cell = False
        self._bounds: dict[str, float | None] = {}
        self._head = b""  # of the report
        self._passed_on = 0
        self._order = memoryview(b"")  # what of it the job has not taken yet
        self._order_fd = os.dup(ward.channel.fileno())
        self._exit: Exit | None = None
        self._killed: Kill | None = None
        self._rest: Rest | None = None  # while a session waits for its next cell
        self._breach: Breach | None = None
        self._disk_full = self._lost = False
        self._sampled = 0.0
        self._most_tasks = 0
        self._dribbles = 0
        self._wake, wake_write = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        signal.set_wakeup_fd(wake_write, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        self._lease_ends = float("inf")
        signal.signal(signal.SIGALRM, lambda *_: self._check_lease())

    def say(self, kind: bytes, payload: bytes = b"") -> None:
        view = memoryview(frames.pack(kind, payload))
        while view:
            view = view[os.write(self._answers, view) :]

    def serve(self) -> None:
        """Until the job is gone, or the host is."""
        base = self._inside.base_bytes if self._inside else 0
        version = self._inside.version if self._inside else None
        self.say(
            frames.READY, json.dumps({"base_bytes": base, "cgroup": version, "landlock": sc.landlock_abi()}).encode()
        )
        poll = select.poll()
        for fd in (self._orders, self._stdout.fd, self._stderr.fd, self._ward.channel.fileno(), self._wake):
            poll.register(fd, select.POLLIN)
        # Between cells nothing is passed on: the host does not read then, and who waits for it does not watch.
        at_rest = select.poll()
        for fd in (self._orders, self._wake):
            at_rest.register(fd, select.POLLIN)
        while True:
            ready = self._wait(poll if self._rest is None else at_rest)
            heard = self._listen(poll, ready)
            if self._orders in ready and not self._take_orders():
                return
            self._pass_order(poll)
            if self._wake in ready and self._reap():
                self._finish()
                return
            if self._is_cell and self._has_reported():
                self._end_cell()
            if self._running:
                self._check(time.monotonic())
                self._breathe(ready, heard)
            elif self._rest is not None:
                self._look_after(self._rest)

    def _wait(self, poll: select.poll) -> set[int]:
        tick = _TICK_SECONDS if self._running else _REST_TICK_SECONDS if self._rest is not None else None
        return {fd for fd, _ in poll.poll(None if tick is None else tick * 1000)}

    def _listen(self, poll: select.poll, ready: set[int]) -> int:
        heard = 0
        for tap in (self._stdout, self._stderr):
            if tap.fd in ready:
                heard += tap.drain()
                if not tap.open:
                    poll.unregister(tap.fd)
        if self._ward.channel.fileno() in ready and not self._read_channel():
            poll.unregister(self._ward.channel.fileno())
        return heard

    def _breathe(self, ready: set[int], heard: int) -> None:
        """Let tiny writes pile up for a moment: a program that dribbles bytes must not keep the host as busy."""
        self._dribbles = self._dribbles + 1 if ready and heard < _TINY else 0
        if self._dribbles > _DRIBBLES:
            time.sleep(_BREATH_SECONDS)

    def _take_orders(self) -> bool:
        """False when the host is gone."""
        chunk = os.read(self._orders, _CHUNK)
        for kind, payload in self._reader.feed(chunk):
            if kind == frames.FILE:
                self._put_file(payload)
            elif kind in (frames.ORDER, frames.CELL):
                self._begin(kind, payload)
            elif kind == frames.KILL:
                self._kill("cancelled" if payload == b"cancelled" else "timeout")
            elif kind == frames.INTERRUPT and self._exit is None:
                os.kill(self._ward.pid, signal.SIGINT)
        return bool(chunk)

    def _take_lease(self, seconds: float | None) -> None:
        """An engine that was killed leaves a container whose input never ends, and whose output nobody reads."""
        self._lease_ends = time.monotonic() + seconds if seconds else float("inf")
        signal.setitimer(signal.ITIMER_REAL, seconds or 0.0, 1.0 if seconds else 0.0)

    def _check_lease(self) -> None:
        if time.monotonic() >= self._lease_ends:  # else it was the job that sent the signal
            os._exit(_LEASE_ENDED)

    def _put_file(self, payload: bytes) -> None:
        try:
            put_file(self._work, payload)
        except OSError as e:
            if not self._lost:  # once is enough, and the host may not listen before it has sent them all
                self.say(frames.LOST, str(e.strerror).encode())
            self._lost = True

    def _begin(self, kind: bytes, payload: bytes) -> None:
        """`payload` is what the keeper has to know, a line of JSON, and then what the job is to get."""
        if self._breach is not None:
            return  # it is being ended, which the host hears next
        head, _, order = payload.partition(b"\n")
        self._bounds = json.loads(head)
        self._is_cell = kind == frames.CELL
        self._rest = None
        self._running, self._killed, self._disk_full = self._bounds["output_bytes"] is not None, None, False
        self._take_lease((self._bounds["wall_seconds"] or 0.0) + _LEASE_SECONDS if self._running else None)
        self._head = b""
        self._passed_on = 0
        for tap in (self._stdout, self._stderr):
            tap.reset(int(self._bounds["output_bytes"] or 0))
        if self._is_cell:
            signal_all(signal.SIGCONT)
        else:
            self._baseline = artifacts.stamps(self._work)  # with the files that it was given
        if self._inside:
            self._inside.reset()
        self._order = memoryview(bytes(self._order) + wire.pack(order))

    def _pass_order(self, poll: select.poll) -> None:
        """As far as the job takes it: a session may never read its next cell, and must not keep the keeper waiting."""
        while self._order:
            try:
                sent = self._ward.channel.send(self._order, socket.MSG_DONTWAIT)
            except BlockingIOError:
                poll.register(self._order_fd, select.POLLOUT)
                return
            except (BrokenPipeError, ConnectionResetError):
                self._check_dead()
                sent = len(self._order)
            self._order = self._order[sent:]
        with contextlib.suppress(KeyError):  # it was not waited for
            poll.unregister(self._order_fd)

    def _check_dead(self) -> None:
        """Who takes no order must be dead, or dying, and then the reaping tells; a job that only turns a deaf ear has
        no business in a container any more."""
        for _ in range(_DYING_TICKS):
            if self._exit or os.waitid(os.P_PID, self._ward.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT):
                return
            time.sleep(_TICK_SECONDS)
        sys.exit("the job takes no orders")

    def _read_channel(self) -> bool:
        try:
            chunk = self._ward.channel.recv(_CHUNK, socket.MSG_DONTWAIT)
        except BlockingIOError:
            return True
        except ConnectionResetError:
            return False
        self._head = (self._head + chunk[: wire.HEAD_BYTES])[: wire.HEAD_BYTES]
        room = self._most_report_bytes - self._passed_on
        if room > 0 and chunk:
            self.say(frames.CHANNEL, chunk[:room])
        self._passed_on += len(chunk)
        if max(self._passed_on, self._report_bytes) > self._most_report_bytes:
            # The host has seen so too. Who is still writing must not wait for a reader until its time is up.
            self._ward.channel.shutdown(socket.SHUT_RD)
            return False
        return bool(chunk)

    @property
    def _most_report_bytes(self) -> int:
        return int(self._bounds.get("result_bytes") or 0) + REPORT_ROOM + wire.HEAD_BYTES

    @property
    def _report_bytes(self) -> int:
        """What the report's own head says, with the head; 0 until it is there."""
        return wire.HEAD_BYTES + wire.length(self._head) if len(self._head) == wire.HEAD_BYTES else 0

    def _has_reported(self) -> bool:
        """Whether a cell's whole report is there, or the beginning of one that nobody will take in."""
        return 0 < self._report_bytes <= self._passed_on or self._report_bytes > self._most_report_bytes

    def _check(self, now: float) -> None:
        if self._killed or self._exit is not None:
            return
        if is_flood(self._stdout.seen + self._stderr.seen, int(self._bounds["output_bytes"] or 0)):
            self._kill("output_limit")
        elif now - self._sampled > _TICK_SECONDS:
            self._sampled = now
            self._sample()

    def _sample(self) -> None:
        """Look at what the kernel does not bound by itself here."""
        self._disk_full = self._disk_full or any(map(_is_full, _DISKS))
        if self._is_over_disk():
            self._kill("disk_limit")
        if self._inside is None:
            self._most_tasks = max(self._most_tasks, _count_tasks() - 1)
            if self._most_tasks > int(self._bounds["processes"] or 0):
                signal_all(signal.SIGKILL)
            return
        counted = self._inside.counters()
        limit = self._bounds["cpu_seconds"]
        if counted.oom_kills:
            self._kill("memory_limit")
        elif limit is not None and counted.cpu_seconds > limit:
            self._kill("cpu_limit")

    def _is_over_disk(self) -> bool:
        return sum(map(_used_bytes, _DISKS)) > (int(self._bounds["disk_mb"] or 0) << 20)

    def _kill(self, why: Kill) -> None:
        if self._killed is None and self._exit is None:
            self._killed = why
            signal_all(signal.SIGKILL)

    def _reap(self) -> bool:
        """True when no process is left but this one."""
        with contextlib.suppress(BlockingIOError):
            os.read(self._wake, 4096)
        while True:
            try:
                pid, status, used = os.wait4(-1, os.WNOHANG)
            except ChildProcessError:
                return True
            if pid == 0:
                return False
            if pid == self._ward.pid:
                self._exit = Exit(status, used.ru_utime, used.ru_stime, used.ru_maxrss * 1024)
                signal_all(signal.SIGKILL)  # what it left behind goes with it

    def _look_after(self, rest: Rest) -> None:
        """End a session that is not at rest between its cells."""
        if self._breach is None and self._exit is None and (breach := rest.breach()) is not None:
            self._breach = breach
            signal_all(signal.SIGKILL)

    def _finish(self) -> None:
        if self._rest is not None:
            why = self._breach or self._rest.breach() or "ended"
            self.say(frames.OVER, why.encode())
            return
        if self._running and self._killed is None and self._is_over_disk():
            self._killed = "disk_limit"  # it ended between two looks
        for tap in (self._stdout, self._stderr):
            tap.drain_rest()
        passed = -1
        while passed < self._passed_on:  # until a read brings nothing
            passed = self._passed_on
            self._read_channel()
        self._say_ended()
        send_artifacts(self._work, self._baseline, self.say)

    def _end_cell(self) -> None:
        stopped = stop_all()
        for tap in (self._stdout, self._stderr):
            tap.drain_rest()
        self._running = self._is_cell = False
        self._take_lease(None)
        self._say_ended(stopped=stopped)
        send_artifacts(self._work, self._baseline, self.say)
        self._baseline = artifacts.stamps(self._work)
        self._rest = Rest(self._inside, self._is_over_disk)

    def _count(self) -> Counters:
        """What the kernel counted; where a runtime such as gVisor shows no group of its own, what was seen."""
        if self._inside is not None:
            return self._inside.counters()
        limit, spent = self._bounds["cpu_seconds"], self._exit
        if limit is not None and spent is not None and spent.user_seconds + spent.system_seconds >= limit:
            self._killed = self._killed or "cpu_limit"  # there it is a plain SIGKILL that ends a program at the limit
        crowded = self._most_tasks > int(self._bounds["processes"] or 0)
        return Counters(processes=self._most_tasks, refused_forks=int(crowded))

    def _say_ended(self, *, stopped: bool = True) -> None:
        counted = self._count()
        ended = {
            "exit": list(astuple(self._exit)) if self._exit else None,
            "killed": self._killed,
            "seen": [self._stdout.seen, self._stderr.seen],
            "disk_full": self._disk_full or any(map(_is_full, _DISKS)),
            "stopped": stopped,
            "counted": list(astuple(counted)),
            "in_use": [self._inside.memory_bytes() if self._inside else 0],
        }
        self.say(frames.ENDED, json.dumps(ended).encode())


def _count_tasks() -> int:
    """Processes and threads, this one among them."""
    found = 0
    for pid in filter(str.isdecimal, os.listdir("/proc")):
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):  # it ended while we looked
            found += len(os.listdir(f"/proc/{pid}/task"))
    return found


def _used_bytes(path: str) -> int:
    room = os.statvfs(path)
    return (room.f_blocks - room.f_bfree) * room.f_frsize


def _is_full(path: str) -> bool:
    room = os.statvfs(path)
    return room.f_bfree < room.f_blocks * (1 - _NEARLY_FULL) or room.f_ffree < room.f_files * (1 - _NEARLY_FULL)


if __name__ == "__main__":
    main()
