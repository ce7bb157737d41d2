"""The one job in a container, as its keeper holds it: forked from the keeper, then jailed once more.

The container is the outer fence. What only the process itself can do is done here, in the order in which each step
is still allowed: descriptors, limits, Landlock where the kernel has it, and our own list of system calls last.
"""

from __future__ import annotations

import contextlib
import os
import signal
import socket
from collections.abc import Sequence
from dataclasses import dataclass

from ringfence.sandbox.native import contain, landlock, preload, seccomp, syscalls as sc

WORK = "/job"
WRITABLE = ("/box", WORK, "/tmp", "/dev/shm")
_DEVICES = ("null", "zero", "full", "random", "urandom")
_READY_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class Jail:
    """What all that can be prepared before the fork comes to."""

    filter: bytes
    landlock_abi: int
    writable: Sequence[str]

    @classmethod
    def prepare(cls, *, connect: bool, writable: Sequence[str]) -> Jail:
        return cls(
            filter=seccomp.assemble(sc.machine(), counted=True, connect=connect, private=True),
            landlock_abi=sc.landlock_abi(),
            writable=(*WRITABLE, *writable),
        )

    def enter(self) -> None:
        contain.set_fixed_limits()
        with open("/proc/self/oom_score_adj", "w") as f:
            f.write("1000")  # so that it is the job that runs out of memory, and not the keeper
        sc.prctl(sc.PR_SET_PDEATHSIG, signal.SIGKILL)
        sc.prctl(sc.PR_SET_NO_NEW_PRIVS, 1)
        if self.landlock_abi:
            devices = [f"/dev/{name}" for name in _DEVICES]
            landlock.restrict(self.landlock_abi, self.writable, devices)
        sc.seccomp_filter(self.filter)


class Ward:
    """A forked and jailed process that waits for its order."""

    def __init__(self, jail: Jail) -> None:
        self.channel, theirs = socket.socketpair()
        self.stdout, their_stdout = os.pipe2(os.O_CLOEXEC)
        self.stderr, their_stderr = os.pipe2(os.O_CLOEXEC)
        self.pid = os.fork()
        if self.pid == 0:
            _live(jail, theirs.fileno(), their_stdout, their_stderr)
        theirs.close()
        os.close(their_stdout)
        os.close(their_stderr)
        os.set_blocking(self.stdout, False)
        os.set_blocking(self.stderr, False)

    def wait_ready(self) -> None:
        self.channel.settimeout(_READY_SECONDS)
        said, fds, _, _ = socket.recv_fds(self.channel, 4096, 1)
        for fd in fds:
            os.close(fd)
        if said != b"R":
            why = said[1:].decode(errors="replace") if said.startswith(b"!") else "it died"
            raise OSError(f"the jail could not be set up: {why}")
        self.channel.settimeout(None)


def _live(jail: Jail, channel: int, stdout: int, stderr: int) -> None:
    """The job's whole life; never returns."""
    code = 1
    try:
        os.setsid()
        signal.set_wakeup_fd(-1)
        contain.reset_signals()
        _arrange_descriptors(channel, stdout, stderr)
        sc.prctl(sc.PR_SET_DUMPABLE, 1)  # the keeper's shield, which a fork inherits, would hide its own /proc from it
        os.chdir(WORK)
        box = os.open("/box", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        jail.enter()
        preload.guest_main(contain.CHANNEL_FD, box)
        code = 0
    except (OSError, ValueError) as e:
        with contextlib.suppress(OSError):
            os.write(contain.CHANNEL_FD, f"!{e}".encode()[:4000])
    finally:
        os._exit(code)


def _arrange_descriptors(channel: int, stdout: int, stderr: int) -> None:
    high = [os.dup2(fd, 200 + i, inheritable=False) for i, fd in enumerate((channel, stdout, stderr))]
    null = os.open("/dev/null", os.O_RDONLY)
    os.dup2(null, 0)
    os.dup2(high[1], 1)
    os.dup2(high[2], 2)
    os.dup2(high[0], contain.CHANNEL_FD, inheritable=False)
    sc.close_range(contain.CHANNEL_FD + 1, 0x7FFFFFFF)  # gVisor takes it for a signed number
