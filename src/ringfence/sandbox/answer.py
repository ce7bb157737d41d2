"""From what a supervisor saw to the Outcome that its caller gets, for jobs and session cells of every backend."""

from __future__ import annotations

from collections.abc import Mapping

from ringfence.sandbox.artifacts import Collected
from ringfence.sandbox.evidence import Counters, Evidence
from ringfence.sandbox.job import Limits
from ringfence.sandbox.outcome import DeviceReport, Outcome, Truncated, Usage
from ringfence.sandbox.streams import Heard
from ringfence.sandbox.verdict import Verdict

_MS = 1000.0


def answer(
    *,
    run_id: str,
    stdout: Heard,
    stderr: Heard,
    evidence: Evidence,
    counters: Counters,
    verdict: Verdict,
    collected: Collected,
    limits: Limits,
    backend: str,
    isolation: Mapping[str, str],
    device: DeviceReport,
    stages: Mapping[str, float],
) -> Outcome:
    return Outcome(
        run_id=run_id,
        status=verdict.status,
        reason=verdict.reason,
        exit_code=verdict.exit_code,
        signal=verdict.signal,
        stdout=stdout.text,
        stderr=stderr.text,
        truncated=Truncated(stdout=stdout.truncated, stderr=stderr.truncated, artifacts=collected.truncated),
        result=verdict.result,
        error=verdict.error,
        artifacts=collected.artifacts,
        rejected_artifacts=collected.rejected,
        usage=_usage(evidence, counters, stdout.seen + stderr.seen),
        limits=limits,
        backend=backend,
        isolation=isolation,
        device=device,
        stages=stages,
    )


def never_ran(
    *, run_id: str, limits: Limits, backend: str, isolation: Mapping[str, str], device: DeviceReport
) -> Outcome:
    """The Outcome of what was cancelled before it began."""
    return Outcome(
        run_id=run_id,
        status="cancelled",
        reason="cancelled by the caller before it began",
        exit_code=None,
        signal=None,
        stdout="",
        stderr="",
        truncated=Truncated(stdout=False, stderr=False, artifacts=False),
        result=None,
        error=None,
        artifacts=(),
        rejected_artifacts=(),
        usage=Usage(wall_ms=0.0, cpu_ms=0.0, peak_memory_bytes=0, processes=0, output_bytes=0),
        limits=limits,
        backend=backend,
        isolation=isolation,
        device=device,
        stages={},
    )


def _usage(evidence: Evidence, counters: Counters, output_bytes: int) -> Usage:
    exit_ = evidence.exit
    waited = exit_.user_seconds + exit_.system_seconds if exit_ else 0.0
    return Usage(
        wall_ms=round(evidence.wall_seconds * _MS, 3),
        cpu_ms=round((counters.cpu_seconds or max(waited, evidence.peak.cpu_seconds)) * _MS, 3),
        peak_memory_bytes=counters.peak_memory_bytes or evidence.peak.memory_bytes,
        processes=max(1, counters.processes, evidence.peak.processes),
        output_bytes=output_bytes,
    )
