"""Give a child its order, and turn what came of it into an Outcome. Jobs and session cells share this."""

from __future__ import annotations

import errno
import json
import math
import os
import secrets
from collections.abc import Mapping, Sequence

from ringfence.base.errors import InputError, LimitError, SandboxError
from ringfence.guest import wire
from ringfence.sandbox.artifacts import Collected
from ringfence.sandbox.job import Device, Json, Limits
from ringfence.sandbox.native.cgroup import Counters
from ringfence.sandbox.native.child import Child, NeverStarted, User
from ringfence.sandbox.native.isolation import Means
from ringfence.sandbox.native.verdict import Verdict
from ringfence.sandbox.native.watch import Evidence, Watch
from ringfence.sandbox.outcome import DeviceReport, Outcome, Truncated, Usage

_MS = 1000.0
_ACCELERATORS = ("gpu", "npu")


def send_order(
    child: Child,
    limits: Limits,
    *,
    kind: str,
    code: str | None,
    name: str,
    argv: Sequence[str],
    inputs: Mapping[str, Json],
    seed: int | None,
    task: Mapping[str, Json] | None = None,
    result_mb: int = 8,
) -> None:
    """Set the limits from outside, then hand the program straight to the child; the zygote never sees it."""
    apply_limits(child, limits)
    uncounted = child.group is None  # then the poll bounds the sum, and this each process between two polls
    order = {
        "kind": kind,
        "code": code,
        "name": name,
        "argv": list(argv),
        "inputs": dict(inputs),
        "seed": seed,
        "task": dict(task or {}),
        "result_bytes": result_mb << 20,
        "cpu_seconds": None if limits.cpu_seconds is None else math.ceil(limits.cpu_seconds) + 1,
        "file_bytes": limits.disk_mb << 20,
        "data_bytes": limits.memory_mb << 21 if uncounted else None,
        "processes": limits.processes if uncounted else None,
    }
    send(child, json.dumps(order).encode(), limits.wall_seconds)


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
            raise LimitError(f"memory_mb={limits.memory_mb} is less than what is in use: ask for more") from e
    else:
        cores = sorted(os.sched_getaffinity(0))[: max(1, math.ceil(limits.cpus))]
        try:
            os.sched_setaffinity(child.host_pids[1], cores)
        except ProcessLookupError as e:
            raise NeverStarted("the child died before it got its job: run it again") from e


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


def outcome(
    *,
    watch: Watch,
    evidence: Evidence,
    counters: Counters,
    verdict: Verdict,
    collected: Collected,
    limits: Limits,
    means: Means,
    device: Device,
    stages: Mapping[str, float],
) -> Outcome:
    return Outcome(
        run_id=secrets.token_hex(8),
        status=verdict.status,
        reason=verdict.reason,
        exit_code=verdict.exit_code,
        signal=verdict.signal,
        stdout=watch.stdout.text,
        stderr=watch.stderr.text,
        truncated=Truncated(
            stdout=watch.stdout.truncated, stderr=watch.stderr.truncated, artifacts=collected.truncated
        ),
        result=verdict.result,
        error=verdict.error,
        artifacts=collected.artifacts,
        rejected_artifacts=collected.rejected,
        usage=_usage(watch, evidence, counters),
        limits=limits,
        backend="native",
        isolation=means.describe(),
        device=_device(device),
        stages=stages,
    )


def _usage(watch: Watch, evidence: Evidence, counters: Counters) -> Usage:
    exit_ = evidence.exit
    waited = exit_.user_seconds + exit_.system_seconds if exit_ else 0.0
    return Usage(
        wall_ms=round(evidence.wall_seconds * _MS, 3),
        cpu_ms=round((counters.cpu_seconds or max(waited, evidence.peak.cpu_seconds)) * _MS, 3),
        peak_memory_bytes=counters.peak_memory_bytes or evidence.peak.memory_bytes,
        processes=max(1, counters.processes, evidence.peak.processes),
        output_bytes=watch.stdout.seen + watch.stderr.seen,
    )


def _device(requested: Device) -> DeviceReport:
    if requested not in _ACCELERATORS:
        return DeviceReport(requested=requested)
    notice = f"the native backend gives jobs no {requested.upper()}: this ran on the CPU"
    return DeviceReport(requested=requested, notice=notice)
