"""The supervisor's line to one warden and its zygote: started here, spoken to here, ended here."""

from __future__ import annotations

import contextlib
import functools
import os
import select
import signal
import socket
import subprocess
import sys
import threading
import weakref
from collections.abc import Sequence
from pathlib import Path

from ringfence.base.errors import MountError, SandboxError
from ringfence.sandbox.environ import guest_environ
from ringfence.sandbox.native import messages
from ringfence.sandbox.native.blocks import Block

PACKAGE_PARENT = str(Path(__file__).resolve().parents[3])
_START_SECONDS = 120.0
_TREE_SECONDS = 30.0  # for a file system to show a mount source; one that hangs, as a dead server's does, is given up

# This very copy of ringfence, whatever else is installed; but nothing beside it may stand in for the standard library.
_BOOT = (
    "import sys; sys.path.insert(0, sys.argv[1]); import ringfence; sys.path.append(sys.path.pop(0)); "
    "from ringfence.sandbox.native.warden import main; main(*map(int, sys.argv[2:6]))"
)


class Line:
    """A running warden and zygote. When either dies the line is dead, and the pool starts another."""

    def __init__(self, setup: messages.Setup, block: Block) -> None:
        self._block = block
        self._closed = False
        self._lock = threading.Lock()
        self._life, warden_end = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._control, zygote_end = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._trees, mounter_end = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        complaints = os.memfd_create("ringfence-stderr", os.MFD_CLOEXEC)
        _mind_forks().add(self)
        fds = (warden_end.fileno(), zygote_end.fileno(), mounter_end.fileno(), block.fd)
        try:
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-s", "-B", "-c", _BOOT, PACKAGE_PARENT, *map(str, fds)],
                env=guest_environ(str(Path(sys.executable).parent)), pass_fds=fds, cwd="/", start_new_session=True,
                stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=complaints,
            )  # fmt: skip
        except OSError as e:
            self._closed = True
            self._close_ends()
            os.close(complaints)
            block.release()
            raise SandboxError(
                f"the native sandbox did not start ({e}); `ringfence doctor` says what is missing"
            ) from e
        finally:
            for end in (warden_end, zygote_end, mounter_end):
                end.close()
        try:
            messages.send(self._life, messages.encode(setup))
            self._wait_ready(complaints)
        except BaseException:
            self.close()
            raise
        finally:
            os.close(complaints)

    def _wait_ready(self, complaints: int) -> None:
        self._control.settimeout(_START_SECONDS)
        try:
            packet, _ = messages.receive(self._control)
        except (TimeoutError, ConnectionResetError):
            packet = b""
        if packet != b"ready":
            said = os.pread(complaints, 1 << 16, 0).decode(errors="replace").strip().splitlines()
            why = said[-1] if said else "it said nothing"
            raise SandboxError(f"the native sandbox did not start ({why}); `ringfence doctor` says what is missing")
        self._control.settimeout(None)

    def fork(self, order: messages.ForkOrder, fds: Sequence[int]) -> None:
        payload = messages.encode(order)
        if not messages.fits(payload, fds):
            raise MountError("there are too many mounts, or their places are too long: mount a folder above them")
        try:
            with self._lock:
                messages.send(self._control, payload, fds)
        except OSError as e:  # also where `close` has come first
            raise SandboxError("the zygote is gone: run the job again, a new one will be started") from e

    def open_tree(self, path: Path, uid: int | None) -> int:
        """A detached mount of a host path, ready to be put into a jail. One that hangs keeps nobody else waiting."""
        answer, mounter_end = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with answer:
            try:
                with mounter_end:
                    order = messages.encode(messages.TreeOrder(path=str(path), uid=uid))
                    messages.send(self._trees, order, [mounter_end.fileno()])
                answer.settimeout(_TREE_SECONDS)
                packet, fds = messages.receive(answer)
            except TimeoutError as e:
                said = f"its file system did not answer within {_TREE_SECONDS:g} s"
                raise MountError(f"mount source {str(path)!r} cannot be mounted ({said}): choose another") from e
            except OSError as e:
                raise SandboxError("the mounter is gone: run the job again, a new one will be started") from e
        if packet == b"ok":
            return fds[0]
        if packet.startswith(b"!"):
            raise MountError(f"mount source {str(path)!r} cannot be mounted ({packet[1:].decode()}): choose another")
        raise SandboxError("the mounter is gone: run the job again, a new one will be started")

    @property
    def alive(self) -> bool:
        """The zygote's end of the control socket closes with it, some time before its warden has swept and left."""
        if self._closed or self._process.poll() is not None:
            return False
        poll = select.poll()
        for end in (self._control, self._trees):
            poll.register(end, select.POLLIN)
        return not poll.poll(0)  # after "ready" nothing is said on either

    @property
    def warden_pid(self) -> int:
        return self._process.pid

    def close(self) -> None:
        """Close our ends; the warden kills the zygote with all its jobs, sweeps and leaves."""
        if self._closed:
            return
        self._closed = True
        for end in (self._life, self._control, self._trees):
            with contextlib.suppress(OSError):  # the other side is gone
                end.shutdown(socket.SHUT_RDWR)  # wakes a thread that waits on it, which a close alone does not
        self._close_ends()
        try:
            self._process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self._process.pid, signal.SIGKILL)
            self._process.wait()
        self._block.release()

    def disown(self) -> None:
        """In a forked child: close its copies, so that the supervisor's death is seen although the child lives on."""
        if not self._closed:
            self._closed = True
            self._close_ends()
            os.close(self._block.fd)

    def _close_ends(self) -> None:
        for end in (self._life, self._control, self._trees):
            end.close()


@functools.cache
def _mind_forks() -> weakref.WeakSet[Line]:
    """The open lines of this process, which a fork of it does not own."""
    lines: weakref.WeakSet[Line] = weakref.WeakSet()

    def let_go() -> None:
        for line in list(lines):
            line.disown()

    os.register_at_fork(after_in_child=let_go)
    return lines
