"""Give a child its files, its limits and its order. Jobs and session cells share this."""

from __future__ import annotations

import errno
import math
import os
from collections.abc import Mapping

from ringfence.base.errors import InputError, LimitError, SandboxError
from ringfence.guest import wire
from ringfence.sandbox.job import Limits
from ringfence.sandbox.native.child import Child, NeverStarted, User


def send_order(child: Child, limits: Limits, order: bytes) -> None:
    """Set the limits from outside, then hand the program straight to the child; the zygote never sees it."""
    apply_limits(child, limits)
    send(child, order, limits.wall_seconds)


def send(child: Child, payload: bytes, seconds: float) -> None:
    child.channel.settimeout(seconds)
    try:
        child.channel.sendall(wire.pack(payload))
    except TimeoutError as e:
        raise SandboxError(f"the program did not take what it was sent within its {seconds:g} s: send less") from e
    except (BrokenPipeError, ConnectionResetError) as e:
        raise NeverStarted("the child died before it got its job: run it again") from e
    finally:
        child.channel.settimeout(None)


def apply_limits(child: Child, limits: Limits) -> None:
    if child.group:
        try:
            child.group.apply(limits)
        except OSError as e:
            if e.errno != errno.EBUSY:
                raise
            raise memory_in_use(limits) from e
    else:
        cores = sorted(os.sched_getaffinity(0))[: max(1, math.ceil(limits.cpus))]
        try:
            os.sched_setaffinity(child.host_pids[1], cores)
        except ProcessLookupError as e:
            raise NeverStarted("the child died before it got its job: run it again") from e


def memory_in_use(limits: Limits) -> LimitError:
    return LimitError(f"memory_mb={limits.memory_mb} is less than what is in use: ask for more")


def put_files(child: Child, files: Mapping[str, bytes]) -> None:
    """Write the job's files into its working directory, before it starts, as its own."""
    for name, content in files.items():
        *folders, last = name.split("/")
        here = os.dup(child.work)
        try:
            for folder in folders:
                here = _enter(here, folder, child.user)
            fd = os.open(last, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600, dir_fd=here)
            with os.fdopen(fd, "wb") as f:
                os.fchown(fd, child.user.uid, child.user.gid)
                os.fchmod(fd, 0o600)  # whatever our umask is
                f.write(content)
                f.flush()
                os.utime(fd, ns=(1, 1))  # old, so that a rewrite within one clock tick is seen as one
        except OSError as e:
            limit = child.shape.disk_mb
            raise InputError(f"file {name!r} cannot be put into the {limit} MB working directory: {e.strerror}") from e
        finally:
            os.close(here)


def _enter(here: int, folder: str, user: User) -> int:
    try:
        os.mkdir(folder, 0o700, dir_fd=here)
        os.chown(folder, user.uid, user.gid, dir_fd=here, follow_symlinks=False)
    except FileExistsError:
        pass  # made for an earlier file
    inner = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=here)
    os.close(here)
    return inner
