"""The same fence on other runtimes than the engine's own, and on another engine that speaks as Docker does.

Each has an engine and an image of its own here, so that nothing depends on how the machine's engine is set up.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from ringfence import Job, Limits, open_sandbox
from ringfence.base.errors import LimitError, SandboxError, SettingsError
from ringfence.sandbox.outcome import Status

from tests.conftest import require
from tests.sandbox import engines
from tests.sandbox.engines import Left, own_runtime_of_module

SMALL = Limits(memory_mb=64, disk_mb=8, processes=16, wall_seconds=120, cpu_seconds=20)
FORKS = "import os, time\nfor _ in range(40):\n    if not os.fork(): time.sleep(99)\n    time.sleep(0.05)"
SIGNALS = """
import signal
assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
changed = {n for n in signal.valid_signals() if signal.getsignal(n) not in (signal.SIG_DFL, None)}
assert changed == {signal.SIGINT, signal.SIGPIPE, signal.SIGXFSZ}, changed
assert signal.pthread_sigmask(signal.SIG_BLOCK, ()) == set()
"""
TOUCH = "for i in range(0, len(held), 4096): held[i] = 1"

runtime = pytest.fixture(scope="module")(own_runtime_of_module)


@dataclass(frozen=True, slots=True)
class Place:
    name: str
    address: str
    spec: str


@pytest.fixture(scope="module", params=["crun", "runsc", "podman"])
def place(request: pytest.FixtureRequest, docker_engine: str, runtime: Path) -> Iterator[Place]:
    name: str = request.param
    require(name)
    spec = "docker:profile=plain,park=1,image=light"
    if name == "podman":
        with engines.podman() as address:
            yield from _ready(Place(name, address, spec))
    else:
        with engines.private() as own:
            yield from _ready(Place(name, own.address, f"{spec},runtime={name}"))


def _ready(place: Place) -> Iterator[Place]:
    with pytest.MonkeyPatch.context() as patch, engines.connected(place.address) as client:
        patch.setenv("DOCKER_HOST", place.address)
        engines.import_light(client, "light")
        yield place


# How programs must end, whatever runs them.
ENDINGS: Mapping[str, tuple[str, Status]] = {
    "finishes": ("result = 1", "ok"),
    "fails": ("1 / 0", "error"),
    "loops": ("while True: pass", "cpu_limit"),
    "sleeps": ("import time\ntime.sleep(60)", "timeout"),
    "eats memory": (f"held = bytearray(1 << 28)\n{TOUCH}", "memory_limit"),
    "fills the disk": ("open('a', 'wb').write(bytes(32 << 20))", "disk_limit"),
    "forks": (FORKS, "process_limit"),
    "leaves orphans": ("import os, time\nfor _ in range(3):\n    if os.fork() == 0: time.sleep(60)\nresult = 1", "ok"),
    "has its signals": (SIGNALS, "ok"),
    "quits": ("import os\nos.kill(os.getpid(), 3)", "signal"),
    "wants the network": ("import socket\nsocket.create_connection(('127.0.0.1', 9))", "error"),
}  # fmt: skip


def test_every_kind_of_end(place: Place, runtime: Path, tmp_path: Path) -> None:
    before = Left.now(runtime)
    bounds = {
        "sleeps": replace(SMALL, wall_seconds=1),
        "loops": replace(SMALL, cpu_seconds=0.5),
        "forks": replace(SMALL, memory_mb=400, processes=8),  # what gVisor has for each process is in it
    }
    with open_sandbox(place.spec) as sandbox:
        ends = {
            name: sandbox.run(Job(code=code, limits=bounds.get(name, SMALL))) for name, (code, _) in ENDINGS.items()
        }
        wrong = {name: o.reason for name, o in ends.items() if o.status != ENDINGS[name][1]}
        assert not wrong
        (tmp_path / "in").write_text("read")
        code = "result = open('/data/in').read() + open('given').read()\nopen('made', 'w').write('x')"
        job = Job(code=code, mounts=[f"{tmp_path}:/data:ro"], files={"given": b"!"}, limits=SMALL)
        tmp_path.chmod(0o755)
        os.chmod(tmp_path.parent, 0o755)
        outcome = sandbox.run(job)
        assert (outcome.result, [a.name for a in outcome.artifacts]) == ("read!", ["made"]), outcome.reason
    assert Left.now(runtime) == before


def test_a_session_and_its_limits(place: Place, runtime: Path) -> None:
    before = Left.now(runtime)
    with open_sandbox(place.spec) as sandbox, sandbox.open_session(limits=SMALL) as session:
        assert session.run("x = 1").status == "ok"
        assert session.run("import time\ntime.sleep(60)", limits=replace(SMALL, wall_seconds=0.5)).status == "timeout"
        assert session.run("x + 1").result == 2
        more = replace(SMALL, memory_mb=256)
        if place.name == "crun":
            assert session.run(f"held = bytearray(128 << 20)\n{TOUCH}\ndel held", limits=more).status == "ok"
        else:  # the engine or the runtime cannot change a container that runs
            with pytest.raises(LimitError, match="keep the first ones"):
                session.run("x", limits=more)
        assert session.run(f"held = bytearray(128 << 20)\n{TOUCH}").status == "memory_limit"
    assert Left.now(runtime) == before


def test_a_job_that_kills_its_keeper(place: Place, runtime: Path) -> None:
    before = Left.now(runtime)
    job = Job(code="import os\ntry:\n    os.kill(1, 9)\nexcept OSError: pass\nresult = 1", limits=SMALL)
    with open_sandbox(place.spec) as sandbox:
        if place.name == "runsc":  # it does not shield a container's first process: that much a job can do there
            with pytest.raises(SandboxError, match="run the job again"):
                sandbox.run(job)
        else:
            assert sandbox.run(job).result == 1
    assert Left.now(runtime) == before


def test_a_runtime_that_the_engine_does_not_know(docker_engine: str, runtime: Path) -> None:
    with pytest.raises(SettingsError, match=r"runtime 'nothing' is unknown to the engine: use one of .*runc"):
        open_sandbox("docker:profile=plain,runtime=nothing")
    assert os.listdir(runtime) == []
