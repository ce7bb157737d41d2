"""The jail, step by step. Everything here runs in the forked child, before any of the job's own code is there.

The order matters. Groups come first, so that all that follows is counted. Descriptors next, so that nothing of
the zygote's stays open. Mounting needs capabilities, so it comes before they go; a change of user clears the
parent-death signal, so that is set after; Landlock and seccomp come last, because every step above makes calls
they forbid. After `contain` returns there is no way back.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import resource
import signal
from collections.abc import Sequence
from dataclasses import dataclass

from ringfence.sandbox.native import landlock, mounts, syscalls as sc

CHANNEL_FD = 3  # where the guest finds its channel to the supervisor


@dataclass(frozen=True, slots=True)
class Template:
    """What all children of one zygote share."""

    plan: Sequence[mounts.Entry]
    seccomp: bytes
    seccomp_with_mounts: bytes
    landlock_abi: int
    privileged: bool


@dataclass(frozen=True, slots=True)
class Order:
    """One child to be made: its descriptors, its user, its network, its scratch space and its mounts."""

    channel: int
    stdout: int
    stderr: int
    groups: Sequence[int]  # cgroup.procs files
    mounts: Sequence[mounts.JobMount]
    uid: int
    gid: int
    disk_mb: int
    network: int | None  # an empty network namespace that is lent to it; None has it make one


def contain(order: Order, template: Template) -> int:
    """Make the calling process the jail; returns a descriptor of its scratch space, for the supervisor."""
    os.setsid()
    for procs in order.groups:
        os.write(procs, b"0")
    _isolate_network(order.network)
    trees = _arrange_descriptors(order)
    if trees:
        mounts.relay_view(template.plan, trees)
    scratch = mounts.mount_scratch(template.plan, disk_mb=order.disk_mb, uid=order.uid, gid=order.gid)
    has_proc = mounts.mount_proc()
    if not has_proc:
        mounts.hide_proc()
    for tree in trees:
        if tree.guest.startswith(mounts.WORK + "/"):
            mounts.attach(tree)
        os.close(tree.tree_fd)
    os.chdir(mounts.WORK)
    set_fixed_limits()
    if has_proc:
        with open("/proc/self/oom_score_adj", "w") as f:
            f.write("1000")
    _become(order, nested=not template.privileged and has_proc)
    sc.drop_capabilities()
    if not template.privileged:
        sc.prctl(sc.PR_SET_DUMPABLE, 1)  # or the supervisor, no more than the same user, could not count its memory
    sc.prctl(sc.PR_SET_PDEATHSIG, signal.SIGKILL)
    sc.prctl(sc.PR_SET_NO_NEW_PRIVS, 1)
    if template.landlock_abi:
        writable = [mounts.SCRATCH, *mounts.SCRATCH_PARTS.values(), *(t.guest for t in trees if t.writable)]
        landlock.restrict(template.landlock_abi, writable, [f"/dev/{name}" for name in mounts.DEVICES])
    sc.seccomp_filter(template.seccomp_with_mounts if trees else template.seccomp)
    return scratch


def _arrange_descriptors(order: Order) -> list[mounts.JobMount]:
    """Put the channel and the streams in their places, keep the mount trees, close all else."""
    keep = [order.channel, *(m.tree_fd for m in order.mounts), order.stdout, order.stderr]
    after = CHANNEL_FD + len(keep)
    # All of them first to where none of their places is: the zygote of many children has descriptors of any number.
    channel, *rest = (fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, after) for fd in keep)
    null = os.open("/dev/null", os.O_RDONLY)
    os.dup2(null, 0)
    os.dup2(rest[-2], 1)
    os.dup2(rest[-1], 2)
    os.dup2(channel, CHANNEL_FD, inheritable=False)
    trees = [os.dup2(fd, CHANNEL_FD + 1 + i, inheritable=False) for i, fd in enumerate(rest[:-2])]
    sc.close_range(CHANNEL_FD + 1 + len(trees), 0xFFFFFFFF)
    return [mounts.JobMount(fd, m.guest, m.writable) for fd, m in zip(trees, order.mounts, strict=True)]


def _isolate_network(network: int | None) -> None:
    """A mount namespace of its own, and a network namespace that no other job has meanwhile."""
    if network is not None:
        sc.setns(network, sc.CLONE_NEWNET)
    sc.unshare(sc.CLONE_NEWNS if network is not None else sc.CLONE_NEWNS | sc.CLONE_NEWNET)


def set_fixed_limits() -> None:
    for kind, value in (
        (resource.RLIMIT_CORE, 1),  # with 0 the kernel would still start a core handler of the host's, as root
        (resource.RLIMIT_MEMLOCK, 0),
        (resource.RLIMIT_MSGQUEUE, 0),
        (resource.RLIMIT_NICE, 0),
        (resource.RLIMIT_RTPRIO, 0),
        (resource.RLIMIT_SIGPENDING, 1024),
    ):
        _, hard = resource.getrlimit(kind)
        if hard == resource.RLIM_INFINITY or hard > value:
            with contextlib.suppress(ValueError):  # gVisor, as a container's runtime, has no such resource to bound
                resource.setrlimit(kind, (value, value))


def _become(order: Order, *, nested: bool) -> None:
    """Become the job's user for good. In `nested` mode, in a user namespace of its own, so that RLIMIT_NPROC
    counts this job's processes and no others of the same user."""
    if nested:
        sc.unshare(sc.CLONE_NEWUSER)
        write_id_maps("self", order.uid, order.gid, order.uid, order.gid)
        sc.clear_bounding_set()  # which a new user namespace fills again
    with contextlib.suppress(PermissionError):  # a user namespace without setgroups has no groups to drop
        os.setgroups([])
    os.setresgid(order.gid, order.gid, order.gid)
    os.setresuid(order.uid, order.uid, order.uid)


def write_id_maps(pid: str, inside_uid: int, inside_gid: int, outside_uid: int, outside_gid: int) -> None:
    """Map one user and one group into the user namespace of process `pid`."""
    for file, text in (
        ("setgroups", "deny"),
        ("uid_map", f"{inside_uid} {outside_uid} 1"),
        ("gid_map", f"{inside_gid} {outside_gid} 1"),
    ):
        with open(f"/proc/{pid}/{file}", "w") as f:
            f.write(text)


def reset_signals() -> None:
    """Every signal as a fresh interpreter has it: what somebody who started us ignores or blocks is inherited."""
    for number in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}:
        signal.signal(number, signal.SIG_DFL)
    for number in (signal.SIGPIPE, signal.SIGXFSZ):  # for which it raises an OSError instead
        signal.signal(number, signal.SIG_IGN)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())


def name_process(name: str) -> None:
    """What `ps` shows; only for people, so a machine without proc goes without."""
    with contextlib.suppress(OSError), open("/proc/self/comm", "w") as f:
        f.write(name)
