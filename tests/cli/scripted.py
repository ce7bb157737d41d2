"""A sandbox that runs nothing: each program is JSON that says what to write, how long to take and how to end."""

from __future__ import annotations

import json
import select
import time
from collections.abc import Mapping
from dataclasses import asdict, replace
from typing import cast

from ringfence.base import errors
from ringfence.sandbox import OnOutput, Stream
from ringfence.sandbox.job import Cancel, Job, Json, Limits, Mount
from ringfence.sandbox.outcome import (
    Artifact,
    DeviceReport,
    Failure,
    Outcome,
    RejectedArtifact,
    Status,
    Truncated,
    Usage,
)


def create(options: Mapping[str, str]) -> ScriptedSandbox:
    return ScriptedSandbox()


def script(status: Status = "ok", **parts: object) -> str:
    """A program for this sandbox. Parts: writes, seconds, ends, raises, fails, and fields of the Outcome."""
    return json.dumps({"status": status, **parts})


class ScriptedSandbox:
    alive = True

    def run(
        self, job: Job | str, *, on_output: OnOutput | None = None, cancel: Cancel | None = None, **_: object
    ) -> Outcome:
        if isinstance(job, str):
            job = Job(code=job)
        told: dict[str, object] = json.loads(job.code) if job.code is not None else {"status": "ok"}
        if "raises" in told:
            raise getattr(errors, str(told["raises"]))("the script says so: change it")
        if "fails" in told:
            raise ZeroDivisionError(told["fails"])
        written = {"stdout": b"", "stderr": b""}
        for name, text in cast("list[tuple[Stream, str]]", told.get("writes", [])):
            data = text.encode("latin-1")
            written[name] += data
            if on_output:
                on_output(name, data)
        stopped = _wait(float(cast("float", told.get("seconds", 0))), cancel)
        self.alive = not told.get("ends", False)
        outcome = _outcome(job, told, {k: v.decode("utf-8", "replace") for k, v in written.items()})
        return replace(outcome, status="cancelled", reason="stopped from outside") if stopped else outcome

    def open_session(
        self, *, limits: Limits | None = None, idle_seconds: float = 1800, seed: int | None = None
    ) -> ScriptedSandbox:
        return ScriptedSandbox()

    def close(self) -> None: ...

    def __enter__(self) -> ScriptedSandbox:
        return self

    def __exit__(self, *exc: object) -> None: ...


def _wait(seconds: float, cancel: Cancel | None) -> bool:
    if cancel is None:
        time.sleep(seconds)
        return False
    return bool(select.select([cancel], [], [], seconds)[0])


def _outcome(job: Job, told: Mapping[str, object], written: Mapping[str, str]) -> Outcome:
    status = cast("Status", told["status"])
    error = Failure(type=str(told["error"]), message="m", line=1, traceback="") if "error" in told else None
    return Outcome(
        run_id="r1",
        status=status,
        reason=str(told.get("reason", f"because of {status}")),
        exit_code=cast("int | None", told.get("exit_code")),
        signal=cast("int | None", told.get("signal")),
        stdout=written["stdout"],
        stderr=written["stderr"],
        truncated=Truncated(stdout=bool(told.get("cut")), artifacts=bool(told.get("cut"))),
        result=cast("Json", told["echo"] and _request(job) if "echo" in told else told.get("result")),
        error=error,
        artifacts=tuple(
            Artifact(name=name, bytes=2048, sha256="0" * 64, mime="text/plain", path=f"/out/{name}")
            for name in cast("list[str]", told.get("artifacts", []))
        ),
        rejected_artifacts=tuple(
            RejectedArtifact(name, "a link") for name in cast("list[str]", told.get("rejected", []))
        ),
        usage=Usage(wall_ms=120.0, cpu_ms=80.0, peak_memory_bytes=43 << 20, processes=2, output_bytes=10),
        limits=job.limits,
        backend="scripted",
        isolation={},
        device=DeviceReport(requested=job.device),
        stages={},
    )


def _request(job: Job) -> dict[str, Json]:
    """The Job as it arrived."""
    return {
        "argv": list(job.argv),
        "inputs": dict(job.inputs),
        "files": {name: data.decode("latin-1") for name, data in job.files.items()},
        "mounts": [f"{m.host}:{m.guest}:{m.mode}" for m in job.mounts if isinstance(m, Mount)],
        "limits": asdict(job.limits),
        "device": job.device,
        "seed": job.seed,
        "name": job.name,
        "artifacts_dir": str(job.artifacts_dir),
    }
