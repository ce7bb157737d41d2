"""One child of the zygote, as the supervisor holds it: its sockets, its streams, its group, its scratch space."""

from __future__ import annotations

import os
import select
import signal
import socket
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path

from ringfence.base.errors import MountError, SandboxError
from ringfence.sandbox.evidence import Census, Counters, Exit
from ringfence.sandbox.job import Limits, Mount
from ringfence.sandbox.native import census, messages
from ringfence.sandbox.native.cgroup import Group
from ringfence.sandbox.native.line import Line

_READY_SECONDS = 60.0
# Ever longer, three seconds in all: on a busy machine a process may have to wait for its turn to be stopped.
_PAUSES = tuple(min(0.0005 * 2 ** (i // 5), 0.2) for i in range(60))


@dataclass(frozen=True, slots=True)
class Shape:
    """What must be known when a child is forked, because it cannot change after."""

    disk_mb: int
    mounts: tuple[Mount, ...] = ()


@dataclass(frozen=True, slots=True)
class User:
    uid: int
    gid: int


GiveBack = Callable[[User, Group | None, bool], None]  # the bool: nothing of the job is left


class NeverStarted(SandboxError):
    """The child died with its order unread, so the job has not begun and can be given to another."""


class NoJail(SandboxError):
    """The jail could not be set up, for no fault of the job's: a zygote whose view is out of date can make none."""


class Unkillable(SandboxError):
    """The kernel does not let go of a process that was killed: what the job had is not to be used again."""

    def __init__(self) -> None:
        super().__init__("a job could not be killed: look for its processes with `ps`")


class Child:
    """Made by a Cradle; of use once `wait_ready` has returned; ended by `discard` and by nothing else."""

    def __init__(self, shape: Shape, user: User, group: Group | None, give_back: GiveBack) -> None:
        self.shape, self.user, self.group, self._give_back = shape, user, group, give_back
        with ExitStack() as made:  # all of them, or none
            self.channel, self._guest_channel = _pair(made, socket.SOCK_STREAM)
            self.status, self._zygote_status = _pair(made, socket.SOCK_SEQPACKET)
            self.stdout, self._guest_stdout = _pipe(made)
            self.stderr, self._guest_stderr = _pipe(made)
            made.pop_all()
        self.scratch = -1
        self.work = -1
        self._init_pidfd = -1
        self.job_pidfd = -1
        self.host_pids: tuple[int, ...] = ()  # init and the program, as this process sees them
        self.base_memory_bytes = 0  # what the libraries take before the program runs
        self.base_resident_bytes = 0
        self._base = Counters()
        self._gone = False
        self._freed = False
        self._owner = os.getpid()

    def order(self, line: Line, trees: Sequence[int]) -> None:
        """Send the fork order; our copies of the child's ends are closed either way."""
        procs: list[int] = []
        ends = [self._guest_channel.fileno(), self._guest_stdout, self._guest_stderr, self._zygote_status.fileno()]
        try:
            procs = self.group.open_procs() if self.group else []
            order = messages.ForkOrder(
                uid=self.user.uid, gid=self.user.gid, disk_mb=self.shape.disk_mb, groups=len(procs),
                mounts=[(m.guest, m.mode == "rw") for m in self.shape.mounts],
            )  # fmt: skip
            line.fork(order, [*ends, *procs, *trees])
        finally:
            self._guest_channel.close()
            self._zygote_status.close()
            for fd in (self._guest_stdout, self._guest_stderr, *procs, *trees):
                os.close(fd)

    def wait_ready(self) -> None:
        """Wait until the jail stands, and take the descriptors that come with it."""
        self.status.settimeout(_READY_SECONDS)
        self.channel.settimeout(_READY_SECONDS)
        try:
            said, pidfds = messages.receive(self.status)
            if said != b"born":
                raise SandboxError("the zygote died while it made a child: run the job again")
            self._init_pidfd, self.job_pidfd = pidfds
            said, fds, _, _ = socket.recv_fds(self.channel, 4096, 1)
        except (TimeoutError, ConnectionResetError) as e:
            raise SandboxError("a child of the zygote did not get ready: run `ringfence doctor`") from e
        why = said[1:].decode(errors="replace")
        if said.startswith(messages.BAD_MOUNT):
            raise MountError(f"{why}: choose another place for it, such as /data")
        if said.startswith(messages.NO_JAIL):
            raise NoJail(f"the jail could not be set up ({why}): run `ringfence doctor`")
        if said != b"R" or len(fds) != 1:
            raise SandboxError("a child died while its jail was set up: run the job again, or `ringfence doctor`")
        self.scratch = fds[0]
        os.set_inheritable(self.scratch, False)
        self.work = os.open("job", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=self.scratch)
        self.channel.settimeout(None)
        self.status.settimeout(None)
        self.host_pids = (_host_pid(self._init_pidfd), _host_pid(self.job_pidfd))
        if self.group:
            self.group.reset_peak()
            self._base = self.group.counters()
        else:
            self.base_memory_bytes = census.Ledger().take(self.host_pids, time.monotonic()).memory_bytes
            self.base_resident_bytes = census.resident_bytes(self.host_pids[1])

    def counters(self) -> Counters:
        """What the kernel counted since the child was ready; nothing where there are no control groups."""
        if self.group is None:
            return Counters()
        return self.group.counters().since(self._base)

    def is_over_memory(self, seen: Census, limits: Limits) -> bool:
        """Where no control group says so. What cannot be counted is over the limit."""
        # The libraries' own pages are shared with the zygote, so part of them is in every count.
        used = seen.memory_bytes + max(seen.shared_bytes, _used_bytes(self.scratch))
        return seen.hidden or used > (limits.memory_mb << 20) + self.base_memory_bytes

    @property
    def alive(self) -> bool:
        """Until its exit, or the end of the zygote: that closes the status first and kills its children after."""
        return not self._freed and self.job_pidfd >= 0 and not _readable(self.job_pidfd, self.status.fileno())

    def kill(self) -> None:
        """Kill the namespace's init, and with it everything in the namespace."""
        _signal(self._init_pidfd, signal.SIGKILL)

    def interrupt(self) -> None:
        _signal(self.job_pidfd, signal.SIGINT)

    def pause(self) -> bool:
        """Stop every thread of the job; False when some would not be stopped.

        One that still runs may fork, wake one that was found stopped, or wake its parent by ending. So all are told in
        every round, and two rounds one after the other must find the same processes, with no thread that can run.
        """
        calm: list[int] | None = None
        for seconds in _PAUSES:
            self._signal_all(signal.SIGSTOP)
            pids = self._pids()
            if not self.is_stopped(pids):
                calm = None
                time.sleep(seconds)
            elif pids == calm:
                return True
            else:
                calm = pids
        return False

    def resume(self) -> None:
        self._signal_all(signal.SIGCONT)

    def is_stopped(self, pids: Sequence[int] | None = None) -> bool:
        pids = self._pids() if pids is None else pids
        return all(state in ("T", "t") for pid in pids for state in census.thread_states(pid))

    def _signal_all(self, number: int) -> None:
        """A pid may be another process's by the time it is signalled, so it is held by a pidfd and looked up again."""
        held = []
        for pid in self._pids():
            with suppress(ProcessLookupError):
                held.append((pid, os.pidfd_open(pid)))
        still = set(self._pids())
        for pid, pidfd in held:
            if pid in still:
                _signal(pidfd, number)
            os.close(pidfd)

    def _pids(self) -> list[int]:
        if self.group:
            return self.group.pids()
        return [pid for pid in census.tree(self.host_pids) if pid != self.host_pids[0]]

    def reap(self, seconds: float = 30.0) -> Exit:
        """Wait for the zygote's word that the whole namespace is gone."""
        self.status.settimeout(seconds)
        while True:
            try:
                said, fds = messages.receive(self.status)
            except TimeoutError as e:
                raise Unkillable from e
            except ConnectionResetError:
                said, fds = b"", []
            for fd in fds:
                os.close(fd)
            if said != b"born":
                break
        self._gone = True
        if not said:
            raise SandboxError("the zygote died during the run: run the job again, a new one will be started")
        return messages.decode_exit(said)

    def discard(self) -> None:
        """End the child, whatever state it is in, make sure that it is gone, and give back all that it held.

        The scratch space vanishes with its last descriptor.
        """
        if self._freed or os.getpid() != self._owner:  # a fork of the supervisor has no say over its children
            return
        self._freed = True
        clean = True
        try:
            if not self._gone:
                self.kill()
                self.channel.close()  # a child that has no order yet leaves when its channel closes
                self.reap()
        except Unkillable:
            clean = False
        except SandboxError:
            pass  # the zygote is gone, and took the child with it
        finally:
            self._free(clean=clean)

    def _free(self, *, clean: bool) -> None:
        self.channel.close()
        self.status.close()
        for fd in (self.stdout, self.stderr, self.scratch, self.work, self._init_pidfd, self.job_pidfd):
            if fd >= 0:
                os.close(fd)
        self._give_back(self.user, self.group, clean)


def _pair(made: ExitStack, kind: socket.SocketKind) -> tuple[socket.socket, socket.socket]:
    ours, theirs = socket.socketpair(socket.AF_UNIX, kind)
    return made.enter_context(ours), made.enter_context(theirs)


def _pipe(made: ExitStack) -> tuple[int, int]:
    """Our end, which never blocks, and the guest's."""
    ours, theirs = os.pipe2(os.O_CLOEXEC)
    made.callback(os.close, ours)
    made.callback(os.close, theirs)
    os.set_blocking(ours, False)
    return ours, theirs


def _readable(*fds: int) -> bool:
    """Whether any of them has something to read, its end too, or is closed."""
    poll = select.poll()
    for fd in fds:
        if fd < 0:
            return True
        poll.register(fd, select.POLLIN)
    return bool(poll.poll(0))


def _used_bytes(scratch: int) -> int:
    """What the scratch space holds, which is memory too; a control group counts it by itself."""
    room = os.fstatvfs(scratch)
    return (room.f_blocks - room.f_bfree) * room.f_frsize


def _host_pid(pidfd: int) -> int:
    for row in Path(f"/proc/self/fdinfo/{pidfd}").read_text().splitlines():
        if row.startswith("Pid:"):
            return int(row.split()[1])
    return -1


def _signal(pidfd: int, number: int) -> None:
    if pidfd < 0:
        return
    try:
        signal.pidfd_send_signal(pidfd, number)
    except ProcessLookupError:
        pass  # it is dead already
