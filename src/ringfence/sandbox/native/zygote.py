"""The zygote: a fresh interpreter that enters the view, imports the libraries once, and then only forks.

It was executed with a clean environment and holds no job's text or data: what a job is to run goes from the
supervisor straight into the child. It is pid 1 of a namespace that holds every job, so its death is theirs.

For each child: a new pid namespace with our init as its first process, then the fork, then back to our own
namespace (a second unshare would fail otherwise). When a child ends, init is killed, and only when init too has been
reaped, which the kernel allows only once the namespace is empty, is the supervisor told.
"""

from __future__ import annotations

import contextlib
import gc
import os
import platform
import select
import signal
import socket
import tempfile
from collections.abc import Sequence
from pathlib import Path

from ringfence.sandbox.evidence import Exit
from ringfence.sandbox.native import contain, init, messages, mounts, preload, seccomp, syscalls as sc
from ringfence.sandbox.native.networks import Networks


def main(setup: messages.Setup, control_fd: int) -> None:
    contain.name_process("rf-zygote")
    contain.reset_signals()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the supervisor to judge
    sc.prctl(sc.PR_SET_PDEATHSIG, signal.SIGKILL)
    os.umask(0o022)
    template = _settle(setup)
    control = socket.socket(fileno=control_fd)
    messages.send(control, b"ready")
    _Nursery(control, template).serve()


def _settle(setup: messages.Setup) -> contain.Template:
    """Everything that is done once, so that a fork needs as little as possible."""
    sc.unshare(sc.CLONE_NEWNS | sc.CLONE_NEWNET | sc.CLONE_NEWIPC | sc.CLONE_NEWUTS | sc.CLONE_NEWCGROUP)
    socket.sethostname("ringfence")
    platform._uname_cache = None  # type: ignore[attr-defined]  # uuid, when imported, had it keep the host's name
    plan = mounts.runtime_plan(Path(setup.package_parent) / "ringfence")
    mounts.enter_view(plan, init.elf(sc.machine()))
    # Imports happen inside the view, which proves it complete; some want a place for temporary files. Not /tmp:
    # it may hold the interpreter.
    sc.mount("ringfence", mounts.SCRATCH, "tmpfs", sc.MS_NOSUID | sc.MS_NODEV, "size=64m")
    usual = dict(os.environ)
    os.environ.update(TMPDIR=mounts.SCRATCH, MPLCONFIGDIR=mounts.SCRATCH, XDG_CACHE_HOME=mounts.SCRATCH)
    heap = preload.Heap() if setup.preload else None
    preload.load(setup.preload)
    os.environ.update(usual)
    tempfile.tempdir = None  # found again by whoever asks next
    sc.umount(mounts.SCRATCH, sc.MNT_DETACH)
    sc.clear_bounding_set()
    sc.prctl(sc.PR_SET_NO_NEW_PRIVS, 1)
    template = contain.Template(
        plan=plan,
        seccomp=seccomp.assemble(sc.machine(), counted=setup.count_memory, connect=True),
        seccomp_with_mounts=seccomp.assemble(sc.machine(), counted=setup.count_memory, connect=False),
        landlock_abi=sc.landlock_abi(),
        privileged=setup.privileged,
    )
    gc.collect()
    if heap:
        heap.gather()
    gc.freeze()
    gc.disable()  # a collection would write to every object's header, and so copy every shared page
    return template


class _Birth:
    """One child and the init of its namespace, until both are reaped."""

    def __init__(self, init_pid: int, status: socket.socket, network: int | None) -> None:
        self.init_pid, self.status, self.network = init_pid, status, network
        self.job_pid = 0
        self.waiting: set[int] = {init_pid}
        self.exit = Exit(0, 0.0, 0.0, 0)


class _Nursery:
    def __init__(self, control: socket.socket, template: contain.Template) -> None:
        self._control, self._template = control, template
        self._births: dict[int, _Birth] = {}
        self._own_namespace = os.pidfd_open(os.getpid())
        self._networks = Networks()
        self._wake_read, self._wake_write = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        signal.set_wakeup_fd(self._wake_write, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)

    def serve(self) -> None:
        poll = select.poll()
        poll.register(self._control, select.POLLIN)
        poll.register(self._wake_read, select.POLLIN)
        while True:
            ready = {fd for fd, _ in poll.poll()}
            if self._wake_read in ready:
                with contextlib.suppress(BlockingIOError):
                    os.read(self._wake_read, 4096)
                self._reap()
            if self._control.fileno() in ready:
                packet, fds = messages.receive(self._control)
                if not packet:
                    return
                self._bear(messages.decode_fork(packet), fds)

    def _bear(self, order: messages.ForkOrder, fds: Sequence[int]) -> None:
        status = socket.socket(fileno=fds[3])
        try:
            birth = self._fork(order, fds, status)
        except OSError:  # no process to be had now: the supervisor sees the status socket close, and the others live
            status.close()
            return
        finally:
            for fd in (*fds[:3], *fds[4:]):
                os.close(fd)
        pidfds = [os.pidfd_open(birth.init_pid), os.pidfd_open(birth.job_pid)]
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):  # the supervisor gave this child up
            messages.send(birth.status, b"born", pidfds)
        for fd in pidfds:
            os.close(fd)

    def _fork(self, order: messages.ForkOrder, fds: Sequence[int], status: socket.socket) -> _Birth:
        """Init, then the job, into a new pid namespace; then back to our own."""
        network = self._networks.lend()
        try:
            return self._fork_into(network, order, fds, status)
        except OSError:
            self._networks.give_back(network)
            raise

    def _fork_into(
        self, network: int | None, order: messages.ForkOrder, fds: Sequence[int], status: socket.socket
    ) -> _Birth:
        sc.unshare(sc.CLONE_NEWPID)
        try:
            birth = _Birth(os.posix_spawn(mounts.INIT, [mounts.INIT], {}), status, network)
            try:
                birth.job_pid = os.fork()
            except OSError:
                os.kill(birth.init_pid, signal.SIGKILL)  # reaped with the others; nobody waits for it
                raise
            if birth.job_pid == 0:
                split = 4 + order.groups
                trees = [mounts.JobMount(fd, *m) for fd, m in zip(fds[split:], order.mounts, strict=True)]
                ends, groups = (fds[0], fds[1], fds[2]), fds[4:split]
                self._live(contain.Order(*ends, groups, trees, order.uid, order.gid, order.disk_mb, network))
        finally:
            sc.setns(self._own_namespace, sc.CLONE_NEWPID)
        birth.waiting.add(birth.job_pid)
        self._births[birth.init_pid] = self._births[birth.job_pid] = birth
        return birth

    def _live(self, order: contain.Order) -> None:
        """The child's whole life; never returns."""
        code = 1
        try:
            signal.set_wakeup_fd(-1)
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            signal.signal(signal.SIGINT, signal.default_int_handler)
            scratch = contain.contain(order, self._template)
            preload.guest_main(contain.CHANNEL_FD, scratch)
            code = 0
        except OSError as e:
            mark = messages.BAD_MOUNT if isinstance(e, mounts.MountPointError) else messages.NO_JAIL
            with contextlib.suppress(OSError):
                os.write(contain.CHANNEL_FD, mark + str(e).encode()[:4000])
        finally:
            os._exit(code)

    def _reap(self) -> None:
        while True:
            try:
                pid, status, used = os.wait4(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            birth = self._births.pop(pid, None)
            if birth is None:
                continue
            birth.waiting.discard(pid)
            if pid == birth.job_pid:
                birth.exit = Exit(status, used.ru_utime, used.ru_stime, used.ru_maxrss * 1024)
                with contextlib.suppress(ProcessLookupError):
                    os.kill(birth.init_pid, signal.SIGKILL)
            if not birth.waiting:
                self._networks.give_back(birth.network)
                with contextlib.suppress(BrokenPipeError, ConnectionResetError):
                    messages.send(birth.status, messages.encode_exit(birth.exit))
                birth.status.close()
