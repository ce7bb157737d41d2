"""A caller is killed at whatever moment: its containers end with it, and the next open leaves nothing of it.

RINGFENCE_CRASHES=50 makes it fifty deaths; the suite has fewer, for time.
"""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from ringfence import Job, open_sandbox

from tests.conftest import ROOT
from tests.sandbox.busy import environment
from tests.sandbox.engines import Left, connected

DEATHS = int(os.environ.get("RINGFENCE_CRASHES", "12"))
SPEC = "docker:profile=plain,park=1"
SECONDS = 120.0  # for what must come; a busy machine takes its time

# Jobs of several shapes and a session, from two threads; and whatever the sandbox does in the background.
BUSY = """
import itertools, threading
from ringfence import Job, Limits, open_sandbox

with open_sandbox("docker:profile=plain,park=1") as sandbox:
    print("up", flush=True)

    def work(turn):
        for number in itertools.count(turn):
            kind = number % 4
            if kind == 0:
                sandbox.run(Job(code="import time\\ntime.sleep(0.3)"))
            elif kind == 1:
                sandbox.run(Job(code="while True: pass", limits=Limits(wall_seconds=0.3, memory_mb=96)))
            elif kind == 2:
                sandbox.run(Job(code="result = 1", mounts=["{mount}:/data:ro"]))
            else:
                session = sandbox.open_session()
                session.run("x = 1")

    for turn in range(2):
        threading.Thread(target=work, args=(turn,), daemon=True).start()
    threading.Event().wait()
"""


@pytest.fixture
def runtime(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    place = tmp_path / "run"
    place.mkdir(mode=0o700)
    monkeypatch.setenv("RINGFENCE_RUNTIME_DIR", str(place))
    return place


def die(runtime: Path, temp: Path, seconds: float, *, starting: bool) -> bool:
    """Kill a busy caller after so many seconds from its start, or from when it was up; whether it was up."""
    program = BUSY.replace("{mount}", str(ROOT / "tests"))
    caller = subprocess.Popen(
        [sys.executable, "-c", program], stdout=subprocess.PIPE, env={**environment(runtime), "TMPDIR": str(temp)}
    )
    assert caller.stdout is not None
    with caller, caller.stdout:
        was_up = not starting and caller.stdout.readline() == b"up\n"
        time.sleep(seconds)
        assert caller.poll() is None, "it died by itself"
        os.kill(caller.pid, signal.SIGKILL)
    return was_up


@pytest.mark.timeout(300 + 60 * DEATHS)
def test_killed_at_random_moments(docker_engine: str, runtime: Path, tmp_path: Path) -> None:
    dice = random.Random(20)
    temp = tmp_path / "temp"
    temp.mkdir()
    before = Left.now(runtime)
    found = 0
    for death in range(DEATHS):
        starting = death % 4 == 3
        assert die(runtime, temp, dice.uniform(0, 0.6 if starting else 2.5), starting=starting) is not starting
        found += len(Left.now(runtime).containers)
        _open_until(runtime, before, f"after death {death}")
        assert os.listdir(temp) == []
    assert found > DEATHS / 2, "nobody had a container when it was killed: this showed nothing"
    with open_sandbox(SPEC) as after:
        assert after.run(Job(code="result = 1")).result == 1


def test_its_containers_end_without_anybody_opening_one(docker_engine: str, runtime: Path, tmp_path: Path) -> None:
    die(runtime, tmp_path, 1.5, starting=False)
    deadline = time.monotonic() + SECONDS
    with connected() as client:
        while _running(client.api.containers(filters={"label": "ringfence.owner"}), runtime):
            assert time.monotonic() < deadline, "they outlive their owner"
            time.sleep(0.1)
    with open_sandbox("docker:profile=plain,park=0"):
        pass


def test_the_living_are_spared(docker_engine: str, runtime: Path, tmp_path: Path) -> None:
    with open_sandbox(SPEC) as living, living.open_session() as session:
        session.run("x = 1")
        die(runtime, tmp_path, 0.5, starting=False)
        with open_sandbox(SPEC) as other:
            assert other.run(Job(code="result = 1")).result == 1
        assert session.run("x + 1").result == 2
        assert living.run(Job(code="result = 3")).result == 3


def _open_until(runtime: Path, wanted: Left, when: str) -> None:
    """An engine that is busy may make a container for a caller who is dead already; the open after that removes it."""
    deadline = time.monotonic() + SECONDS
    while True:
        with open_sandbox("docker:profile=plain,park=0"):
            pass
        if (left := Left.now(runtime)) == wanted:
            return
        assert time.monotonic() < deadline, (when, left)


def _running(rows: list[dict[str, dict[str, str]]], runtime: Path) -> list[str]:
    return [json.dumps(row) for row in rows if row["Labels"]["ringfence.lock"].startswith(f"{runtime}/")]
