"""Running the real command in a process of its own, through pipes or on a terminal."""

from __future__ import annotations

import os
import pty
import select
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.conftest import ROOT

SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class Done:
    code: int
    out: str
    err: str


def argv(*words: str) -> list[str]:
    return [sys.executable, "-m", "ringfence", *words]


def environment(plugins: Path | None = None, **more: str) -> dict[str, str]:
    """Ours, without what would change the output, and with `plugins` where Python looks for packages."""
    kept = {k: v for k, v in os.environ.items() if k not in ("NO_COLOR", "FORCE_COLOR", "COLUMNS", "TERM")}
    path = [str(ROOT / "src"), str(ROOT), *([str(plugins)] if plugins else [])]
    return {**kept, "PYTHONPATH": os.pathsep.join(path), **more}


def ringfence(
    *words: str, stdin: str | bytes = b"", env: Mapping[str, str] | None = None, cwd: Path | None = None
) -> Done:
    raw = stdin.encode() if isinstance(stdin, str) else stdin
    done = subprocess.run(
        argv(*words), input=raw, capture_output=True, env=env or environment(), cwd=cwd, timeout=SECONDS, check=False
    )
    return Done(done.returncode, done.stdout.decode(), done.stderr.decode())


def on_terminal(*words: str, env: Mapping[str, str], typed: Sequence[str] = (), pipe_stdout: bool = False) -> Done:
    """The command on a terminal of its own. Each of `typed` is sent when a prompt has come; `out` is what it showed."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        argv(*words),
        stdin=theirs if typed else subprocess.DEVNULL,
        stdout=subprocess.PIPE if pipe_stdout else theirs,
        stderr=theirs,
        env={"TERM": "xterm", "COLUMNS": "200", **env},
        start_new_session=True,
    )
    os.close(theirs)
    try:
        shown = _converse(ours, typed)
        piped = process.stdout.read().decode() if process.stdout else ""
        return Done(process.wait(SECONDS), piped if pipe_stdout else shown, shown if pipe_stdout else "")
    finally:
        process.kill()
        process.wait()
        if process.stdout:
            process.stdout.close()
        os.close(ours)


def _converse(terminal: int, typed: Sequence[str]) -> str:
    shown, waiting, answered = b"", list(typed), 0
    deadline = time.monotonic() + SECONDS
    while time.monotonic() < deadline:
        if not select.select([terminal], [], [], 0.2)[0]:
            continue
        try:
            piece = os.read(terminal, 65536)
        except OSError:  # the last process that had it open is gone
            break
        if not piece:
            break
        shown += piece
        prompts = shown.count(b">>> ") + shown.count(b"... ")
        if waiting and prompts > answered:
            answered = prompts
            os.write(terminal, waiting.pop(0).encode())
    return shown.decode().replace("\r\n", "\n")
