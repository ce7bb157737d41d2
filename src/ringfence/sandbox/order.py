"""The order that tells a guest what to run; `ringfence.guest.serve` reads it."""

from __future__ import annotations

import json
import math

from ringfence.sandbox.job import Job, Limits

_PAGE = 4096


def job_order(job: Job, *, counted: bool) -> bytes:
    """`counted`: a control group bounds the job's memory and processes, so that no rlimit has to."""
    program = {
        "kind": job.driver,
        "code": job.code,
        "name": job.name,
        "argv": list(job.argv),
        "inputs": dict(job.inputs),
        "seed": job.seed,
        "task": dict(job.task),
        "result_bytes": job.result_mb << 20,
    }
    return json.dumps(program | _bounds(job.limits, counted)).encode()


def session_order(limits: Limits, seed: int | None, *, counted: bool) -> bytes:
    program: dict[str, object] = {
        "kind": "session",
        "code": None,
        "name": "session",
        "argv": [],
        "inputs": {},
        "seed": seed,
        "task": {},
        "result_bytes": 8 << 20,
    }
    return json.dumps(program | _bounds(limits, counted)).encode()


def _bounds(limits: Limits, counted: bool) -> dict[str, int | None]:
    """What the guest sets as rlimits. Where nothing counts the sum, a poll bounds it, and these each process
    between two polls."""
    return {
        "cpu_seconds": None if limits.cpu_seconds is None else math.ceil(limits.cpu_seconds) + 1,
        "file_bytes": (limits.disk_mb << 20) + _PAGE,  # a full disk is met first, and says what it is
        "data_bytes": None if counted else limits.memory_mb << 21,
        "descriptors": 1024 if counted else 256,  # few where nothing counts what waits in sockets
        "processes": None if counted else limits.processes,
    }
