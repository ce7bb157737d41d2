"""From evidence to a status: our own kill first, then the kernel's counters, then the wait status, and what the
program says of itself only last, where it cannot contradict them."""

from __future__ import annotations

import os
import signal
from dataclasses import dataclass

from ringfence.sandbox import frames
from ringfence.sandbox.evidence import Counters, Evidence
from ringfence.sandbox.job import Json, Limits
from ringfence.sandbox.outcome import Failure, Status


@dataclass(frozen=True, slots=True)
class Verdict:
    status: Status
    reason: str
    exit_code: int | None = None
    signal: int | None = None
    result: Json = None
    error: Failure | None = None


def judge(evidence: Evidence, counters: Counters, limits: Limits, *, command: bool = False) -> Verdict:
    """`command` is a job without code, whose program cannot report."""
    report, damage = _read_report(evidence)
    error = report.error if report else None
    number, code = _wait_status(evidence, report)
    if evidence.killed:
        reason = _killed_reason(evidence.killed, limits)
        return Verdict(evidence.killed, reason, code if evidence.exit else None, number, error=error)
    if counters.oom_kills:
        return Verdict("memory_limit", f"used more than {limits.memory_mb} MB of memory", code, number, error=error)
    if number == signal.SIGXCPU and _cpu_used_up(evidence, limits):
        return Verdict("cpu_limit", _killed_reason("cpu_limit", limits), None, number)
    verdict = _ended(report, damage, code, number, command)
    return _refine(verdict, evidence, counters, limits)


def _cpu_used_up(evidence: Evidence, limits: Limits) -> bool:
    """Whether RLIMIT_CPU can have sent the signal, or the program sent it to itself."""
    used = evidence.exit.user_seconds + evidence.exit.system_seconds if evidence.exit else 0.0
    return limits.cpu_seconds is not None and used >= limits.cpu_seconds


def _wait_status(evidence: Evidence, report: frames.Report | None) -> tuple[int | None, int | None]:
    """The signal or the exit code. A session's cell has neither: it ends with what it reports."""
    if evidence.exit is None:
        return None, report.exit_code if report else None
    status = evidence.exit.status
    if os.WIFSIGNALED(status):
        return os.WTERMSIG(status), None
    return None, os.waitstatus_to_exitcode(status)


def _read_report(evidence: Evidence) -> tuple[frames.Report | None, str | None]:
    """The program's report, or what is wrong with it."""
    if evidence.report is None:
        return None, evidence.damage
    try:
        return frames.read_report(evidence.report), None
    except frames.FrameError as e:
        return None, str(e)


def _killed_reason(status: str, limits: Limits) -> str:
    return {
        "timeout": f"stopped after {limits.wall_seconds:g} s of wall time",
        "cpu_limit": f"used more than {limits.cpu_seconds or 0:g} s of CPU time",
        "memory_limit": f"used more than {limits.memory_mb} MB of memory",
        "output_limit": f"wrote far more than its {limits.output_bytes:,} bytes a stream",
        "disk_limit": f"filled its {limits.disk_mb} MB of disk",
        "cancelled": "cancelled by the caller",
    }[status]


def _ended(
    report: frames.Report | None, damage: str | None, code: int | None, number: int | None, command: bool
) -> Verdict:
    if number is not None:
        return Verdict("signal", f"killed by signal {number} ({_signal_name(number)})", None, number)
    if damage is not None:
        error = Failure(type="ResultError", message=damage, line=None, traceback="")
        return Verdict("error", f"ResultError: {damage}", code, error=error)
    if report is None and command and code == 0:
        return Verdict("ok", "finished", code)
    if report is None or report.exit_code != code or report.end == "exit":
        said = report.result if report is not None and report.exit_code == code else None
        return Verdict("exit", f"ended itself with exit code {code}", code, result=said)
    if report.error is not None:
        place = f" at line {report.error.line}" if report.error.line is not None else ""
        first = report.error.message.partition("\n")[0][:300]
        return Verdict(
            "error", _one_line(f"{report.error.type}: {first}{place}"), code, error=report.error, result=report.result
        )
    return Verdict("ok", "finished", code, result=report.result)


def _one_line(text: str) -> str:
    """The program's words within a sentence of ours: they must not break out of it."""
    return "".join(letter if letter.isprintable() else " " for letter in text)


def _refine(verdict: Verdict, evidence: Evidence, counters: Counters, limits: Limits) -> Verdict:
    """A program that failed at a limit the kernel enforced with an error number, not with a kill."""
    if verdict.status == "ok":
        return verdict
    if evidence.disk_full:
        status: Status = "disk_limit"
        reason = f"filled its {limits.disk_mb} MB of disk"
    elif counters.refused_forks:
        status, reason = "process_limit", f"wanted more than {limits.processes} processes and threads"
    else:
        return verdict
    said = f"{reason}; then {verdict.reason}"
    return Verdict(status, said, verdict.exit_code, verdict.signal, error=verdict.error)


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return "real-time"
