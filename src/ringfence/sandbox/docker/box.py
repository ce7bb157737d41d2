"""One container as the host holds it: made, attached to, started, spoken to, removed. Of use once it is ready."""

from __future__ import annotations

import json
import select
import socket
import ssl
import struct
import threading
import time
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass

from ringfence.base.errors import InputError, LimitError, SandboxError
from ringfence.sandbox.artifacts import Collected
from ringfence.sandbox.docker import frames
from ringfence.sandbox.docker.engine import Attachment, Engine, Spec
from ringfence.sandbox.docker.parcel import pack_file, receive_artifacts
from ringfence.sandbox.frames import FrameError, parse_json
from ringfence.sandbox.job import Job, Limits, Mount
from ringfence.sandbox.keeping import Keep

_CHUNK = 1 << 18
_READY_SECONDS = 120.0
_COLLECT_SECONDS = 60.0
_SEND_SECONDS = 20.0
_MUX = struct.Struct("!BxxxI")  # how the engine carries two streams on one connection
_MUX_STDOUT = 1
_MOST_COMPLAINTS = 1 << 16
# Until the first container of an image has said what its libraries take.
FIRST_GUESS_BYTES = 1 << 30


@dataclass(frozen=True, slots=True)
class Shape:
    """What must be known when a container is made, because it cannot change after."""

    disk_mb: int
    mounts: tuple[Mount, ...] = ()
    device: str = "cpu"

    @classmethod
    def of(cls, job: Job, device: str) -> Shape:
        return cls(job.limits.disk_mb, tuple(m for m in job.mounts if isinstance(m, Mount)), device)


class BoxEnded(SandboxError):
    """The container is gone while something was expected of it."""


class OverBetweenCells(BoxEnded):
    """A session had ended before its cell came."""

    def __init__(self, breach: str) -> None:
        super().__init__("the session had ended before its cell came: open another")
        self.breach = breach


class Box:
    def __init__(self, engine: Engine, spec: Spec, shape: Shape) -> None:
        self._engine, self.shape = engine, shape
        self.limits = spec.limits
        self.base_bytes = spec.base_bytes
        self.in_use_bytes = 0  # when the last cell ended
        self.cgroup_version: int | None = None
        self.landlock_abi = 0
        self.frames: deque[tuple[bytes, bytes]] = deque()
        self._reader = frames.Reader(frames.MOST_BYTES_OUT)
        self._muxed = bytearray()
        self._complaints = bytearray()
        self._discarded = self._over = self._aborted = False
        self._users = 0
        self._lock = threading.Lock()
        self._attachment: Attachment | None = None
        self._spec = spec
        self._container = engine.create(spec)
        try:
            self._attachment = engine.attach(self._container)
            self.socket = self._attachment.socket
            engine.start(self._container)
        except BaseException:
            self.discard()
            raise

    @contextmanager
    def in_use(self) -> Iterator[None]:
        """Whoever waits for the container does it in here, and is told when the sandbox is closed meanwhile.

        Until then its connection is hung up but not closed: the number of a closed one is soon another's, and a poll
        for it waits in vain.
        """
        with self._lock:
            self._check_not_aborted()
            self._users += 1
        try:
            yield
        except SandboxError:
            self._check_not_aborted()
            raise
        finally:
            with self._lock:
                self._users -= 1
                self._close_unused()

    def wait_ready(self) -> bool:
        """Wait until the guest is imported and jailed, then set the limits that come on top of what it takes.

        False where limits cannot be set any more, and what it takes was not known when it was made: now it is.
        """
        with self.in_use():
            return self._wait_ready()

    def _wait_ready(self) -> bool:
        deadline = time.monotonic() + _READY_SECONDS
        for kind, payload in self.arriving(deadline):
            if kind != frames.READY:
                raise BoxEnded("the container said something before it was ready: run `ringfence image build` again")
            about = read_object(payload)
            base, version, abi = about.get("base_bytes"), about.get("cgroup"), about.get("landlock")
            self.base_bytes = base if isinstance(base, int) and base > 0 else self._engine.memory_of(self._container)
            self.cgroup_version = version if version in (1, 2) and isinstance(version, int) else None
            self.landlock_abi = abi if isinstance(abi, int) else 0
            if self._engine.can_update and self._update(self.limits):
                return True
            self._engine.base_bytes.setdefault(self._spec.image, self.base_bytes)
            return self._spec.base_bytes == self._engine.base_bytes[self._spec.image]
        raise BoxEnded(f"the container ended before it was ready ({self._last_words()}): run `ringfence doctor`")

    def _last_words(self) -> str:
        lines = self._complaints.decode(errors="replace").strip().splitlines()
        return lines[-1][:300] if lines else "it said nothing"

    def fits(self, shape: Shape, limits: Limits) -> bool:
        """Whether it can be given to a job of that shape with those limits."""
        return self.shape == shape and (self._engine.can_update or _settable(self.limits) == _settable(limits))

    def apply(self, limits: Limits) -> None:
        """Set the limits of the next job or cell; those that are set already cost nothing."""
        old = self.limits
        if limits.memory_mb < old.memory_mb and self.in_use_bytes > (limits.memory_mb << 20) + self.base_bytes:
            raise LimitError(f"memory_mb={limits.memory_mb} is less than what is in use: ask for more")
        if _settable(old) != _settable(limits) and not self._update(limits):
            raise LimitError("this engine cannot change the limits of a running container: keep the first ones")
        self.limits = limits

    def _update(self, limits: Limits) -> bool:
        return self._engine.update(self._container, limits, self.base_bytes, self._spec.runtime)

    def put_files(self, job: Job) -> None:
        for name, content in job.files.items():
            if len(content) > job.limits.disk_mb << 20:
                raise InputError(
                    f"file {name!r} cannot be put into the {job.limits.disk_mb} MB working directory: it is larger"
                )
            self.send(frames.FILE, pack_file(name, content))

    def send(self, kind: bytes, payload: bytes = b"") -> None:
        if len(payload) > frames.MOST_BYTES:
            raise InputError(f"a job of {len(payload):,} bytes is too large for a container: give it as a mount")
        try:
            self._send(memoryview(frames.pack(kind, payload)))
        except OSError as e:
            self._check_not_aborted()
            raise BoxEnded(f"the container took no more orders ({self._last_words()}): run the job again") from e

    def _send(self, rest: memoryview) -> None:
        """All of it, and no longer than it goes on: an engine takes in nothing more for a container that has ended, and
        a keeper that is kept from speaking does not listen."""
        if isinstance(self.socket, ssl.SSLSocket):
            self.socket.sendall(rest)
            return
        while rest:
            with suppress(BlockingIOError):
                rest = rest[self.socket.send(rest, socket.MSG_DONTWAIT) :]
                continue
            poll = select.poll()
            poll.register(self.socket, select.POLLIN | select.POLLOUT)
            ready = dict(poll.poll(_SEND_SECONDS * 1000))
            if not ready:
                raise TimeoutError("nothing was taken in for a while")
            if ready[self.socket.fileno()] & select.POLLIN and not self.pump():
                raise BrokenPipeError("the container has ended")

    def begin(self, kind: bytes, limits: Limits, order: bytes, result_mb: int = 8, *, running: bool = True) -> None:
        head = {
            "output_bytes": limits.output_bytes if running else None,
            "wall_seconds": limits.wall_seconds,
            "disk_mb": limits.disk_mb,
            "cpu_seconds": limits.cpu_seconds,
            "processes": limits.processes,
            "result_bytes": result_mb << 20,
        }
        self.send(kind, json.dumps(head).encode() + b"\n" + order)

    def arriving(self, deadline: float) -> Iterator[tuple[bytes, bytes]]:
        """Frames as they come, until the container ends; BoxEnded when the deadline passes first."""
        while True:
            while self.frames:
                yield self.frames.popleft()
            wait = deadline - time.monotonic()
            if wait <= 0 or not readable(self.socket, wait):
                raise BoxEnded("a container did not answer in time: look at it with `docker ps`, and run the job again")
            if not self.pump():
                return

    def pump(self) -> bool:
        """Read once, and put what is whole into `frames`; False when the container has ended."""
        try:
            chunk = self.socket.recv(_CHUNK)
        except OSError:  # a connection that is reset has ended too
            chunk = b""
        self._check_not_aborted()
        self._over = not chunk
        self._muxed += chunk
        while len(self._muxed) >= _MUX.size:
            stream, size = _MUX.unpack_from(self._muxed)
            if len(self._muxed) < _MUX.size + size:
                break
            payload = bytes(self._muxed[_MUX.size : _MUX.size + size])
            del self._muxed[: _MUX.size + size]
            if stream == _MUX_STDOUT:
                self._cut(payload)
            else:  # what the keeper complains of is kept for an error
                self._complaints += payload[: _MOST_COMPLAINTS - len(self._complaints)]
        return bool(chunk)

    def _cut(self, payload: bytes) -> None:
        try:
            self.frames.extend(self._reader.feed(payload))
        except frames.BrokenFrame as e:
            raise BoxEnded(f"the container sent {e}: run the job again") from e

    def collect(self, keep: Keep) -> Collected:
        """The artifacts, which follow the account of a job; a container that ended before it gave one has none."""
        if self._over and not self.frames:
            return Collected(artifacts=(), rejected=(), truncated=False)
        return receive_artifacts(self.arriving(time.monotonic() + _COLLECT_SECONDS), keep)

    @property
    def parked(self) -> bool:
        """There and silent; whatever it says or ends with before its order means that it is of no use."""
        with self._lock:
            return not self._discarded and self.socket.fileno() >= 0 and not readable(self.socket, 0)

    @property
    def ended(self) -> bool:
        """Whether the container is gone, whatever it said before; safe while another thread listens to it."""
        with self._lock:
            return self._discarded or self._over or self.socket.fileno() < 0 or _is_shut(self.socket)

    def over_between_cells(self) -> str | None:
        """The keeper's word for why the session ended while nothing was asked of it; None while it is there."""
        while self.socket.fileno() >= 0:  # else a fork has let go of it
            if not readable(self.socket, 0):
                return None
            is_there = self.pump()
            while self.frames:
                kind, payload = self.frames.popleft()
                if kind != frames.OVER:
                    raise BoxEnded("the container said something between two cells: open another session")
                return payload.decode(errors="replace")
            if not is_there:
                break
        return "gone"

    def kill(self) -> None:
        self._engine.kill(self._container)

    def how_it_ended(self) -> tuple[int, bool]:
        """The exit code, and whether the kernel killed it for its memory."""
        ended = self._engine.ended(self._container)
        return ended.exit_code, ended.out_of_memory

    def discard(self) -> None:
        """Remove the container, whatever it is doing."""
        with self._lock:
            if self._discarded:
                return
            self._discarded = True
        try:
            if self._attachment is not None:
                self._attachment.hang_up()
            with self._lock:
                self._close_unused()
        finally:
            self._engine.remove_later(self._container)

    def _close_unused(self) -> None:
        if self._discarded and not self._users and self._attachment is not None:
            self._attachment.close()

    def abort(self) -> None:
        """Tell whoever is at it in another thread that the sandbox is closed."""
        self._aborted = True
        if self._attachment is not None:
            self._attachment.hang_up()

    def _check_not_aborted(self) -> None:
        if self._aborted:
            raise BoxEnded("this sandbox is closed: open another")


def _settable(limits: Limits) -> tuple[int, float, int]:
    return limits.memory_mb, limits.cpus, limits.processes


def _is_shut(sock: socket.socket) -> bool:
    """Whether the other side has hung up, even if there is something of it to read."""
    poll = select.poll()
    poll.register(sock, getattr(select, "POLLRDHUP", 0))  # where there is none, POLLHUP says it, unasked
    return bool(poll.poll(0))


def readable(sock: socket.socket, seconds: float) -> bool:
    if isinstance(sock, ssl.SSLSocket) and sock.pending():
        return True
    poll = select.poll()
    poll.register(sock, select.POLLIN)
    return bool(poll.poll(seconds * 1000))


def read_object(payload: bytes) -> dict[str, object]:
    try:
        value = parse_json(payload)
    except FrameError as e:
        raise BoxEnded(f"the container sent a damaged frame ({e}): run the job again") from e
    if not isinstance(value, dict):
        raise BoxEnded("the container sent a damaged frame: run the job again")
    return dict(value)
