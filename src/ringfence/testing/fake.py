"""A sandbox that runs nothing: it answers with the Outcomes it was given. For tests of code that uses a Sandbox.

    sandbox = FakeSandbox([outcome(result=42), outcome(status="timeout", stdout="so far")])
    assert my_code(sandbox) == 42
    assert sandbox.jobs[0].limits.wall_seconds == 30

What does not depend on the program behaves as in a real one: a missing mount is refused, output is handed to
`on_output`, a set `cancel` ends as `cancelled`, the Job's limits are echoed, and a closed one cannot be used. A text
that is only to be looked at is looked at, without the script: it is not run by a real one either.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Self, cast

from ringfence.base.errors import SandboxError
from ringfence.guest.text import Task, look
from ringfence.sandbox import OnOutput
from ringfence.sandbox.devices import report
from ringfence.sandbox.job import Cancel, Job, Json, Limits, Mount
from ringfence.sandbox.outcome import (
    Artifact,
    DeviceReport,
    Failure,
    Outcome,
    Status,
    Truncated,
    Usage,
)

Script = Iterable[Outcome] | Callable[[Job], Outcome]

_EXIT_CODES: Mapping[Status, int] = {"ok": 0, "error": 1, "exit": 1}


def outcome(
    *,
    status: Status = "ok",
    reason: str | None = None,
    exit_code: int | None = None,
    signal: int | None = None,
    stdout: str = "",
    stderr: str = "",
    result: Json = None,
    error: Failure | None = None,
    artifacts: Iterable[Artifact] = (),
) -> Outcome:
    """An Outcome with the fields that matter to a test; the others are plausible."""
    return Outcome(
        run_id="fake",
        status=status,
        reason=status if reason is None else reason,
        exit_code=_EXIT_CODES.get(status) if exit_code is None else exit_code,
        signal=signal,
        stdout=stdout,
        stderr=stderr,
        truncated=Truncated(),
        result=result,
        error=error,
        artifacts=tuple(artifacts),
        rejected_artifacts=(),
        usage=Usage(
            wall_ms=1.0,
            cpu_ms=1.0,
            peak_memory_bytes=1 << 20,
            processes=1,
            output_bytes=len((stdout + stderr).encode()),
        ),
        limits=Limits(),
        backend="fake",
        isolation={"fake": "nothing is run, so nothing is enforced"},
        device=DeviceReport(),
        stages={"answer": 0.0},
    )


def look_at(job: Job) -> Outcome:
    """The answer to a job that runs nothing."""
    found = look(job.code or "", cast(Task, dict(job.task)))
    return replace(outcome(result=json.loads(json.dumps(found))), limits=job.limits)


class FakeSandbox:
    """Answers from a script: Outcomes in the order of the calls, or a function of the Job. Cells take from it too."""

    def __init__(self, script: Script) -> None:
        self._answer: Callable[[Job], Outcome] = script if callable(script) else _in_order(iter(script))
        self._lock = threading.Lock()
        self._closed = False
        self._count = 0
        self.jobs: list[Job] = []  # what it was asked to run, cells included

    def run(self, job: Job, *, on_output: OnOutput | None = None, cancel: Cancel | None = None) -> Outcome:
        for mount in job.mounts:
            (mount if isinstance(mount, Mount) else Mount.parse(mount)).check_host()
        with self._lock:
            if self._closed:
                raise SandboxError("the sandbox is closed: open a new one")
            if job.driver == "text":
                return look_at(job)
            self.jobs.append(job)
            self._count += 1
            run_id = f"fake-{self._count}"
            answer = outcome(status="cancelled") if cancel is not None and cancel.is_set() else self._answer(job)
        if on_output is not None:
            if answer.stdout:
                on_output("stdout", answer.stdout.encode())
            if answer.stderr:
                on_output("stderr", answer.stderr.encode())
        device = report(job.device, {}, backend="fake", notice="it runs nothing")
        if answer.device != DeviceReport():  # scripted
            device = replace(answer.device, requested=job.device)
        return replace(answer, run_id=run_id, limits=job.limits, device=device)

    def open_session(
        self, *, limits: Limits | None = None, idle_seconds: float = 1800, seed: int | None = None
    ) -> FakeSession:
        return FakeSession(self, limits or Limits(), seed)

    def close(self) -> None:
        self._closed = True

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()


class FakeSession:
    """Cells are answered as Jobs of its sandbox; one that is answered with a kill ends the session."""

    def __init__(self, sandbox: FakeSandbox, limits: Limits, seed: int | None) -> None:
        self._sandbox, self._limits, self._seed = sandbox, limits, seed
        self._alive = True

    @property
    def alive(self) -> bool:
        return self._alive

    def run(
        self,
        code: str,
        *,
        limits: Limits | None = None,
        on_output: OnOutput | None = None,
        cancel: Cancel | None = None,
    ) -> Outcome:
        if not self._alive:
            raise SandboxError("the session has ended: open a new one")
        job = Job(code=code, limits=limits or self._limits, seed=self._seed)
        answer = self._sandbox.run(job, on_output=on_output, cancel=cancel)
        self._alive = answer.status not in ("memory_limit", "signal")
        return answer

    def close(self) -> None:
        self._alive = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()


def _in_order(outcomes: Iterator[Outcome]) -> Callable[[Job], Outcome]:
    def answer(job: Job) -> Outcome:
        try:
            return next(outcomes)
        except StopIteration:
            raise SandboxError("the fake sandbox has no Outcome left: script one for each run") from None

    return answer
