"""One child of the zygote, as the supervisor holds it: its sockets, its streams, its group, its scratch space."""

from __future__ import annotations

import itertools
import os
import select
import signal
import socket
import threading
import time
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ringfence.base.errors import MountError, SandboxError
from ringfence.sandbox.evidence import Counters, Exit
from ringfence.sandbox.job import Limits, Mount
from ringfence.sandbox.native import census, messages
from ringfence.sandbox.native.cgroup import Group, GroupFolder
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


class NeverStarted(SandboxError):
    """The child died with its order unread, so the job has not begun and can be given to another."""


class Users:
    """Who jobs run as: ids that are each lent to one child at a time, the longest unused first; or always the same."""

    def __init__(self, free: Sequence[User], *, distinct: bool) -> None:
        self._free = deque(free)
        self.distinct = distinct
        self._lock = threading.Lock()

    def lend(self) -> User:
        with self._lock:
            if not self._free:
                raise SandboxError("every user id of this sandbox is in use: run fewer jobs at once")
            return self._free.popleft() if self.distinct else self._free[0]

    def give_back(self, user: User) -> None:
        if self.distinct:
            with self._lock:
                self._free.append(user)


class Child:
    """Made by a Cradle; of use once `wait_ready` has returned; ended by `discard` and by nothing else."""

    def __init__(self, shape: Shape, user: User, group: Group | None, users: Users) -> None:
        self.shape, self.user, self.group, self._users = shape, user, group, users
        self.channel, self._guest_channel = socket.socketpair()
        self.status, self._zygote_status = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.stdout, self._guest_stdout = os.pipe2(os.O_CLOEXEC)
        self.stderr, self._guest_stderr = os.pipe2(os.O_CLOEXEC)
        os.set_blocking(self.stdout, False)
        os.set_blocking(self.stderr, False)
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
        if said.startswith(b"!"):
            why = said[1:].decode(errors="replace")
            kind = MountError if self.shape.mounts else SandboxError
            raise kind(f"the jail could not be set up ({why}): run `ringfence doctor`, and check the mounts if any")
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
            self.base_memory_bytes = census.Ledger().take(self.host_pids).memory_bytes
            self.base_resident_bytes = census.resident_bytes(self.host_pids[1])

    def counters(self) -> Counters:
        """What the kernel counted since the child was ready; nothing where there are no control groups."""
        if self.group is None:
            return Counters()
        return self.group.counters().since(self._base)

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
        """Stop every process of the job; a few rounds, because one may fork while the others are stopped.

        False when some would not be stopped: they may wake each other faster than we stop them.
        """
        for seconds in _PAUSES:
            if not self._signal_all(signal.SIGSTOP):
                return True
            time.sleep(seconds)
        return False

    def resume(self) -> None:
        self._signal_all(signal.SIGCONT)

    def _signal_all(self, number: int) -> bool:
        """Signal every process that is not stopped already, or to go on, all of them; False when there was none.

        A pid may be another process's by the time it is signalled, so it is held by a pidfd and looked up again.
        """
        found = False
        for pid in self._pids():
            try:
                pidfd = os.pidfd_open(pid)
            except ProcessLookupError:
                continue
            try:
                if pid in self._pids() and (number == signal.SIGCONT or not census.is_stopped(pid)):
                    found = True
                    _signal(pidfd, number)
            finally:
                os.close(pidfd)
        return found

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
                raise SandboxError("a job could not be killed: look for its processes with `ps`") from e
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
        try:
            if not self._gone:
                self.kill()
                self.channel.close()  # a child that has no order yet leaves when its channel closes
                self.reap()
        except SandboxError:
            pass  # the zygote is gone, and took the child with it
        finally:
            self._free()

    def _free(self) -> None:
        self.channel.close()
        self.status.close()
        for fd in (self.stdout, self.stderr, self.scratch, self.work, self._init_pidfd, self.job_pidfd):
            if fd >= 0:
                os.close(fd)
        try:
            if self.group:
                self.group.remove()
        finally:
            self._users.give_back(self.user)


def _readable(*fds: int) -> bool:
    """Whether any of them has something to read, its end too, or is closed."""
    poll = select.poll()
    for fd in fds:
        if fd < 0:
            return True
        poll.register(fd, select.POLLIN)
    return bool(poll.poll(0))


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


class Cradle:
    """Makes the children of one zygote: lends the user, makes the group, opens the mount trees, sends the order."""

    def __init__(self, line: Line, users: Users, folder: GroupFolder | None) -> None:
        self.line, self._users, self._folder = line, users, folder
        self._numbers = itertools.count(1)

    def order_child(self, shape: Shape, limits: Limits) -> Child:
        user = self._users.lend()
        trees: list[int] = []
        group: Group | None = None
        try:
            for mount in shape.mounts:
                # Root's jobs run as a stranger: a mount must show its owner as the job's user.
                owner = user.uid if self._users.distinct else None
                trees.append(self.line.open_tree(mount.host.absolute(), owner))
            if self._folder:
                group = self._folder.new(f"run-{next(self._numbers)}", limits)
            child = Child(shape, user, group, self._users)
        except BaseException:
            for tree in trees:
                os.close(tree)
            if group:
                group.remove()
            self._users.give_back(user)
            raise
        try:
            child.order(self.line, trees)
        except BaseException:
            child.discard()
            raise
        return child
