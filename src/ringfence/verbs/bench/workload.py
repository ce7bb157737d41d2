"""Half a second of honest work, inside the fence and outside, to see what the fence costs while a program runs."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from ringfence.base.errors import SandboxError
from ringfence.sandbox.job import Job

# numpy (elementwise, a matrix product) and plain bytecode, in about equal parts. The arrays are made once: with fresh
# temporaries in the loop the answer is decided by what each process's allocator has freed before, and not by the fence.
CODE = """\
import numpy

grid = numpy.linspace(0.0, 1.0, 100_000)
square = numpy.outer(grid[:120], grid[:120])
values, product = numpy.empty_like(grid), numpy.empty_like(square)
total = 0.0
for step in range(passes):
    numpy.multiply(grid, step, out=values)
    total += float(numpy.sqrt(values, out=values).sum())
    total += float(numpy.matmul(square, square, out=product).trace())
    for i in range(12_000):
        total += i % 7
result = total
"""

TARGET_SECONDS = 0.5
_PROBE_PASSES = 40

# The zygote's own settings, so that neither side has a thread more than the other.
_ENVIRONMENT = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "NUMBA_NUM_THREADS": "1"}

_WARM = Path(__file__).with_name("warm.py")


@dataclass(frozen=True, slots=True)
class Answer:
    result: float
    cpu_seconds: float


class Outside:
    """A warm plain interpreter in a process of its own, which runs the same program on request."""

    def __init__(self) -> None:
        words = [f"{name}={value}" for name, value in _ENVIRONMENT.items()]
        # -P: the folder of that file has names of ours, which must not come before the libraries'.
        self._worker = subprocess.Popen(
            ["env", *words, sys.executable, "-P", str(_WARM)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def __enter__(self) -> Outside:
        return self

    def __exit__(self, *exc: object) -> None:
        # communicate() closes its stdin, which ends the worker's loop, and reaps it.
        self._worker.communicate()

    def run(self, job: Job) -> Answer:
        stdin, stdout = self._worker.stdin, self._worker.stdout
        assert stdin is not None
        assert stdout is not None
        stdin.write(json.dumps({"code": job.code, "inputs": dict(job.inputs)}) + "\n")
        stdin.flush()
        line = stdout.readline()
        if not line:
            raise SandboxError("the plain interpreter ended while it was measured: see its message above")
        return Answer(**json.loads(line))


def calibrated_job(outside: Outside) -> Job:
    """The workload with as many passes as take half a second outside."""
    probe, seconds = Job(code=CODE, inputs={"passes": _PROBE_PASSES}), []
    for _ in range(6):
        seconds.append(outside.run(probe).cpu_seconds)
    # CPU time, and the least of it: a neighbour's burst here would make the workload too short for all that follows.
    return Job(code=CODE, inputs={"passes": max(1, round(TARGET_SECONDS * _PROBE_PASSES / min(seconds)))})
