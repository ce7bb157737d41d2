"""Output: reports that are small on their way and large in the memory of whoever reads them.

The supervisor is a process of its own here, and what it took is read off its high-water mark."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any

import pytest

SIZE = 8 << 20
SPARE = 8 << 20
NOISE = 6 << 20  # what any run takes: streams, frames of the engine, first use of a module

# What is put where a result is, as the guest makes it out of `many(unit)`.
RESULTS = {
    "empty lists": 'b"[" + many(b"[],") + b"0]"',
    "empty objects": 'b"[" + many(b"{},") + b"0]"',
    "objects": """b"[" + many(b'{"a":0},') + b"0]" """,
    "short floats": 'b"[" + many(b"1.5,") + b"0]"',
    "short texts": """b"[" + many(b'"aa",') + b"0]" """,
    "different keys": 'b"{" + b"".join(b\'"%d":0,\' % i for i in range(SIZE // 11)) + b\'"":0}\'',
    "the same key": """b"{" + many(b'"a":0,') + b'"a":0}'""",
    "a wide text": r"""b'"' + many(b"x") + b'\\ud83d\\ude00"'""",
    "a wide text, not escaped": """b'"' + many(b"x") + b'\\xf0\\x9f\\x98\\x80"'""",
    "depth": 'many(b"[")',
    "a long number": 'many(b"9")',
    "quotes": "many(b'\"')",
}
GUEST = """
import os, struct
SIZE = {size}
def many(unit):
    return unit * (SIZE // len(unit))
def put(data):
    view = memoryview(data)
    while view:
        view = view[os.write(3, view):]
body = b'{{"v":1,"end":"ok","error":null,"exit_code":0,"result":' + {result} + b"}}"
try:
    put(struct.pack("!I", {length}) + body * {times})
except OSError:
    pass
"""
END = "os._exit(0)"


def guest(result: str, *, length: str = "len(body)", times: int = 1) -> str:
    return GUEST.format(size=SIZE - 4096, result=result, length=length, times=times)


ATTACKS = {name: guest(result) + END for name, result in RESULTS.items()} | {
    "a length of 4 GB": guest('many(b"9")', length="0xFFFFFFFF") + END,
    "frames after the end": guest("b'0'", times=100_000) + END,
    "endless frames": guest("b'0'") + "while True:\n    put(b'x' * 65536)\n",
}
CELLS = {name: guest(RESULTS[name]) for name in ("empty lists", "objects")} | {
    "frames after the end": guest("b'0'", times=100_000)
}

# Runs each program, and says how it ended and how much memory it took more than there was before.
SUPERVISOR = """
import json, sys
from ringfence import Job, Limits, open_sandbox

def peak():
    return next(int(line.split()[1]) << 10 for line in open("/proc/self/status") if line.startswith("VmHWM"))

def told(run):
    with open("/proc/self/clear_refs", "w") as f:
        f.write("5")
    before = peak()
    outcome = run()
    kind = outcome.error.type if outcome.error else None
    return [outcome.status, kind, outcome.result is None, peak() - before]

def cell(sandbox, code):
    with sandbox.open_session(limits=LIMITS) as session:
        answer = told(lambda: session.run(code))
        return [*answer, session.alive]

spec, attacks, cells = json.load(sys.stdin)
LIMITS = Limits(wall_seconds=60, memory_mb=256, disk_mb=8)
with open_sandbox(spec) as sandbox:
    sandbox.run(Job(code="result = 'x' * (4 << 20)", limits=LIMITS))
    runs = {name: told(lambda: sandbox.run(Job(code=code, limits=LIMITS))) for name, code in attacks.items()}
    print(json.dumps([runs, {name: cell(sandbox, code) for name, code in cells.items()}]))
"""


Ended = list[Any]  # status, type of the error, whether there is no result, bytes; of a cell, whether the session lives
Answers = tuple[dict[str, Ended], dict[str, Ended]]


pytestmark = pytest.mark.backends("native", "docker", why="what reads a report is the same for every user")


@pytest.fixture(scope="module")
def answers(backend: str) -> Answers:
    done = subprocess.run(
        [sys.executable, "-c", SUPERVISOR],
        input=json.dumps([f"{backend}:profile=plain,park=1", ATTACKS, CELLS]).encode(),
        capture_output=True,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        cwd="/",
        check=True,
    )
    runs, cells = json.loads(done.stdout)
    return runs, cells


def test_a_report_takes_a_small_multiple_of_its_size(
    answers: Answers,
) -> None:
    most = 4 * SIZE + SPARE + NOISE
    runs, cells = answers
    wrong = [
        f"{name}: {ended}"
        for name, ended in [*runs.items(), *((f"cell, {name}", ended) for name, ended in cells.items())]
        if ended[:3] != ["error", "ResultError", True] or ended[3] > most
    ]
    assert not wrong, f"over {most:,} bytes, or not refused:\n" + "\n".join(wrong)


def test_what_was_refused_early_took_next_to_nothing(
    answers: Answers,
) -> None:
    runs, _ = answers
    early = ("depth", "a long number", "a length of 4 GB", "frames after the end", "endless frames")
    wrong = [f"{name}: {runs[name]}" for name in early if runs[name][3] > NOISE]
    assert not wrong, "\n".join(wrong)


def test_a_session_ends_with_a_report_that_is_refused(
    answers: Answers,
) -> None:
    """Nobody knows any more where its next report begins."""
    _, cells = answers
    assert {name: ended[-1] for name, ended in cells.items()} == dict.fromkeys(CELLS, False)
