"""Short ways to say what the suites say often: a program with limits, and the answer it should give."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent
from typing import Any, TypedDict, Unpack

from ringfence.sandbox import Sandbox
from ringfence.sandbox.job import Job, Limits, Mount
from ringfence.sandbox.outcome import Outcome

SLACK_SECONDS = 8.0  # on top of a limit, before "it was not stopped in time" is said of a busy machine


class LimitArguments(TypedDict, total=False):
    wall_seconds: float
    cpu_seconds: float | None
    memory_mb: int
    cpus: float
    processes: int
    disk_mb: int
    output_bytes: int


def program(text: str) -> str:
    """A program written as an indented block, its first line the one after the opening quotes."""
    return dedent(text).removeprefix("\n")


def script(text: str, **limits: Unpack[LimitArguments]) -> Job:
    return Job(code=program(text), limits=Limits(**limits))


def result_of(sandbox: Sandbox, job: Job | str) -> Any:
    """Run it, insist that it went well, and hand over its result (any JSON value, to be compared with ==)."""
    outcome = sandbox.run(script(job) if isinstance(job, str) else job)
    assert_ok(outcome)
    return outcome.result


def assert_ok(outcome: Outcome) -> None:
    assert outcome.status == "ok", f"{outcome.status}: {outcome.reason}\n{outcome.stderr[-2000:]}"


def assert_stopped(outcome: Outcome, status: str) -> None:
    """We stopped it: the status is this one, the reason says something, and it did not take much longer."""
    assert outcome.status == status, f"{outcome.status}: {outcome.reason}\n{outcome.stderr[-2000:]}"
    assert outcome.reason
    assert outcome.usage.wall_ms < (outcome.limits.wall_seconds + SLACK_SECONDS) * 1000


def shared_mount(directory: Path, guest: str = "/shared") -> Mount:
    """A new directory that both sides may write: the guest is another user, so everybody may."""
    host = directory / "shared"
    host.mkdir()
    host.chmod(0o777)
    return Mount(host, guest, "rw")


def readable(directory: Path) -> Path:
    """The directory, opened to everybody: the guest is another user, and a test's directory is its owner's alone."""
    directory.chmod(0o755)
    return directory
