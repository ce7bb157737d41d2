"""Run somebody else's command to its end, or to ours: with a wall clock, a bound on its output, and no child left."""

from __future__ import annotations

import os
import signal
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from ringfence.base.errors import AgentError

MOST_BYTES = 16 << 20  # of each stream
_LOOK_SECONDS = 0.05  # how often the clock and the sizes are looked at
_GRACE_SECONDS = 2.0  # between asking a command to end and ending it


@dataclass(frozen=True, slots=True, kw_only=True)
class Finished:
    code: int
    out: str
    err: str
    timed_out: bool = False
    overflowed: bool = False


def run_process(argv: Sequence[str], *, stdin: Path, cwd: Path, environ: Mapping[str, str], seconds: float) -> Finished:
    """Standard streams are files, so that neither side can wait for the other."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err, stdin.open("rb") as given:
        try:
            process = subprocess.Popen(
                argv, stdin=given, stdout=out, stderr=err, cwd=cwd, env=dict(environ), start_new_session=True
            )
        except OSError as e:
            raise AgentError(f"{argv[0]!r} cannot be started ({e.strerror}): check that it is a program") from e
        timed_out = overflowed = False
        try:
            deadline = time.monotonic() + seconds
            while not _ended(process.pid, _LOOK_SECONDS) and not (timed_out or overflowed):
                timed_out = time.monotonic() >= deadline
                overflowed = max(_size(out), _size(err)) > MOST_BYTES
        finally:
            _end(process)
        overflowed = overflowed or max(_size(out), _size(err)) > MOST_BYTES
        return Finished(
            code=process.returncode, out=_text(out), err=_text(err), timed_out=timed_out, overflowed=overflowed
        )


def _ended(pid: int, seconds: float) -> bool:
    """Whether it ends within that time. It is not reaped: until then its group's number belongs to nobody else."""
    until = time.monotonic() + seconds
    while os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None:
        if time.monotonic() >= until:
            return False
        time.sleep(0.005)
    return True


def _end(process: subprocess.Popen[bytes]) -> None:
    """The command and what it left running in its process group."""
    if not _ended(process.pid, 0):
        _signal(process.pid, signal.SIGTERM)
        _ended(process.pid, _GRACE_SECONDS)
    _signal(process.pid, signal.SIGKILL)
    process.wait()
    until = time.monotonic() + _GRACE_SECONDS  # where nobody reaps orphans, their remains stay in the group
    while _signal(process.pid, 0) and time.monotonic() < until:
        time.sleep(0.005)


def _signal(group: int, number: int) -> bool:
    """Whether there was anybody to get it."""
    try:
        os.killpg(group, number)
    except ProcessLookupError:
        return False
    return True


def _size(file: IO[bytes]) -> int:
    return os.fstat(file.fileno()).st_size


def _text(file: IO[bytes]) -> str:
    file.seek(0)
    return file.read(MOST_BYTES).decode("utf-8", "replace")
