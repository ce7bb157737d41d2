"""The docker backend in trouble: an engine that is down, dies or is full, images that will not do, and callers that
close, fork, cancel and come all at once. Each is told what to do, and nothing is left."""

from __future__ import annotations

import gc
import os
import socket
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NoReturn

import pytest

from ringfence import Job, Limits, open_sandbox
from ringfence.base.errors import SandboxError, SettingsError
from ringfence.sandbox import Sandbox
from ringfence.sandbox.docker import create, launch
from ringfence.sandbox.docker.fence import DockerSandbox
from ringfence.sandbox.docker.image import PYTHON

from tests.cli.command import ringfence
from tests.sandbox import engines
from tests.sandbox.engines import SLEEP, Left, Running, containers, own_runtime_of_module

# The library leaves the socket open that it could not connect.
pytestmark = pytest.mark.filterwarnings("ignore:.*socket.socket:pytest.PytestUnraisableExceptionWarning")

SPEC = "docker:profile=plain,park=1"
PATIENCE = 120.0  # for what must come; a busy machine takes its time


@pytest.fixture(autouse=True)
def no_garbage() -> Iterator[None]:
    yield
    gc.collect()  # while that warning is ignored


runtime = pytest.fixture(scope="module")(own_runtime_of_module)


@pytest.fixture(scope="module")
def before(docker_engine: str, runtime: Path) -> Left:
    left = Left.now(runtime)
    assert (left.containers, left.files) == ((), ())
    return left


@pytest.fixture
def sandbox(before: Left, runtime: Path) -> Iterator[DockerSandbox]:
    with create({"profile": "plain", "park": "1"}) as sandbox:
        yield sandbox
    assert Left.now(runtime) == before


def ok(sandbox: Sandbox) -> None:
    outcome = sandbox.run(Job(code="result = 7"))
    assert (outcome.status, outcome.result) == ("ok", 7), outcome.reason


class TestEngineDown:
    @pytest.mark.parametrize("address", ["unix:///nowhere/docker.sock", "tcp://127.0.0.1:{port}", "nonsense://here"])
    def test_opening_says_what_to_do(self, runtime: Path, monkeypatch: pytest.MonkeyPatch, address: str) -> None:
        pytest.importorskip("docker")
        with socket.create_server(("127.0.0.1", 0)) as taken:
            port = taken.getsockname()[1]  # nobody listens there once it is closed
        monkeypatch.setenv("DOCKER_HOST", address.format(port=port))
        with pytest.raises(SandboxError, match=r"engine did not answer.*DOCKER_HOST") as caught:
            open_sandbox(SPEC)
        assert "\n" not in str(caught.value)
        assert os.listdir(runtime) == []

    def test_one_behind_ssh_is_told_how_to_be_reached(self, runtime: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        pytest.importorskip("docker")
        monkeypatch.setenv("DOCKER_HOST", "ssh://elsewhere")
        with pytest.raises(SandboxError, match="forward its socket with `ssh -L`"):
            open_sandbox(SPEC)
        assert os.listdir(runtime) == []

    def test_one_that_hangs_up(self, docker_engine: str, runtime: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        with socket.create_server(("127.0.0.1", 0)) as rude:
            monkeypatch.setenv("DOCKER_HOST", f"tcp://127.0.0.1:{rude.getsockname()[1]}")
            threading.Thread(target=_hang_up, args=(rude,), daemon=True).start()
            with pytest.raises(SandboxError, match="engine did not answer"):
                open_sandbox(SPEC)

    def test_the_command_ends_with_125(self, monkeypatch: pytest.MonkeyPatch) -> None:
        pytest.importorskip("docker")
        monkeypatch.setenv("DOCKER_HOST", "unix:///nowhere/docker.sock")
        done = ringfence("run", "--backend", "docker", "-c", "print(1)")
        assert done.code == 125
        assert "DOCKER_HOST" in done.err
        assert "Traceback" not in done.err


def _hang_up(server: socket.socket) -> None:
    try:
        while True:
            server.accept()[0].close()
    except OSError:
        pass  # the test is over


class TestEngineDies:
    def test_a_cut_line_is_told_at_once_and_the_sandbox_goes_on_after(
        self, docker_engine: str, runtime: Path, before: Left, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        with engines.cuttable(docker_engine) as line:
            monkeypatch.setenv("DOCKER_HOST", line.address)
            with create({"profile": "plain", "park": "1"}) as sandbox:
                running = Running(sandbox)
                assert sandbox.wait_parked(1, PATIENCE)
                line.cut()
                assert "engine" in running.error()
                with pytest.raises(SandboxError, match="DOCKER_HOST"):
                    sandbox.run(SLEEP)
                line.mend()
                ok(sandbox)
        assert Left.now(runtime, docker_engine) == before

    def test_closing_without_an_engine_leaves_the_rest_to_the_next_open(
        self, docker_engine: str, runtime: Path, before: Left, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        with engines.cuttable(docker_engine) as line:
            monkeypatch.setenv("DOCKER_HOST", line.address)
            sandbox = create({"profile": "plain", "park": "1"})
            assert sandbox.wait_parked(1, PATIENCE)
            line.cut()
            sandbox.close()
            assert containers(runtime, docker_engine)
        monkeypatch.setenv("DOCKER_HOST", docker_engine)
        with open_sandbox(SPEC) as after:
            ok(after)
        assert Left.now(runtime) == before

    def test_an_engine_is_killed_and_comes_back(
        self, docker_engine: str, runtime: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        with engines.private() as own:
            monkeypatch.setenv("DOCKER_HOST", own.address)
            with engines.connected() as client:
                engines.import_light(client, "light")
            at_first = Left.now(runtime)
            with create({"profile": "plain", "park": "1", "image": "light"}) as sandbox:
                running = Running(sandbox)
                own.kill()
                assert "engine" in running.error()
                own.start()
                ok(sandbox)
            assert Left.now(runtime) == at_first

    def test_an_engine_with_a_full_disk(
        self, docker_engine: str, runtime: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        from ringfence.sandbox.docker.image import source_hash

        with engines.private("size=64m") as own:
            monkeypatch.setenv("DOCKER_HOST", own.address)
            with engines.connected() as client:
                engines.import_empty(client, "tiny", {"ringfence": "guest", "ringfence.source": source_hash()})
            at_first = Left.now(runtime)
            own.fill()
            full = pytest.raises(SandboxError, match=r"no space left on device.*make room on its disk")
            with create({"profile": "plain", "park": "0", "image": "tiny"}) as sandbox, full:
                sandbox.run(SLEEP)
            assert Left.now(runtime) == at_first


class TestImages:
    @pytest.fixture
    def image(self, docker_engine: str) -> Iterator[str]:
        name = f"ringfence-test-{os.getpid()}"
        yield name
        with engines.connected() as client:
            client.images.remove(name, force=True)

    def test_missing(self, docker_engine: str) -> None:
        done = ringfence("run", "--backend", "docker:image=no-such-image", "-c", "print(1)")
        assert done.code == 125
        assert "image 'no-such-image' is not on this machine: run `ringfence image build`" in done.err

    def test_none_is_named(self) -> None:
        with pytest.raises(SettingsError, match="name one after image="):
            open_sandbox(f"{SPEC},image=")

    @pytest.mark.parametrize(
        ("labels", "said"),
        [
            ({}, "is no guest image of ringfence"),
            ({"ringfence": "libraries"}, "is no guest image of ringfence"),
            ({"ringfence": "guest"}, "was built from other code"),
            ({"ringfence": "guest", "ringfence.source": "f" * 64}, "was built from other code"),
        ],
    )
    def test_unfit(self, image: str, runtime: Path, labels: dict[str, str], said: str) -> None:
        with engines.connected() as client:
            engines.import_empty(client, image, labels)
        with pytest.raises(SandboxError, match=f"{said}.*: run `ringfence image build`"):
            open_sandbox(f"{SPEC},image={image}")
        assert os.listdir(runtime) == []

    def test_one_that_lies_about_what_it_is(self, image: str, before: Left, runtime: Path) -> None:
        from ringfence.sandbox.docker.image import source_hash

        with engines.connected() as client:
            engines.import_empty(client, image, {"ringfence": "guest", "ringfence.source": source_hash()})
        refused = pytest.raises(SandboxError, match="could not start a container")
        with open_sandbox(f"docker:profile=plain,park=0,image={image}") as sandbox, refused:
            sandbox.run(SLEEP)
        assert Left.now(runtime) == before


class TestSessions:
    def test_those_that_fail_to_open_leave_nothing(
        self, before: Left, runtime: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Their containers end before they are ready."""
        monkeypatch.setattr(launch, "_KEEPER", (PYTHON, "-c", "raise SystemExit('as it must')"))
        failed = pytest.raises(SandboxError, match=r"ended before it was ready \(as it must\)")
        descriptors = len(os.listdir("/dev/fd"))
        with create({"profile": "plain", "park": "0"}) as sandbox:
            for _ in range(4):
                with failed:
                    sandbox.open_session()
            _await(lambda: Left.now(runtime).containers == (), "containers are left")
        assert Left.now(runtime) == before
        assert len(os.listdir("/dev/fd")) == descriptors


def _await(holds: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + PATIENCE
    while not holds():
        assert time.monotonic() < deadline, what
        time.sleep(0.05)


class TestContainers:
    def test_a_job_takes_the_container_that_is_half_made(self, sandbox: DockerSandbox) -> None:
        assert "parked" in sandbox.run(Job(code="result = 7")).stages

    def test_an_environment_that_changes_meanwhile(
        self, sandbox: DockerSandbox, runtime: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        class Changing(dict[str, str]):
            def items(self) -> NoReturn:
                raise KeyError("a name that another thread has just removed")

        ok(sandbox)
        monkeypatch.setattr(os, "environ", Changing(os.environ))
        for _ in range(3):  # the first two may find parked ones
            ok(sandbox)
        assert sandbox.wait_parked(1, PATIENCE)

    def test_a_name_that_is_taken(self, sandbox: DockerSandbox, runtime: Path) -> None:
        ok(sandbox)
        assert sandbox.wait_parked(1, PATIENCE)
        stem, _, number = max(containers(runtime), key=lambda name: int(name.rpartition("-")[2])).rpartition("-")
        with engines.connected() as client:
            image = client.images.get("ringfence-guest").id
            taken = [
                client.api.create_container(image, ["true"], name=f"{stem.lstrip('/')}-{int(number) + i}")["Id"]
                for i in range(1, 5)
            ]
            try:
                for _ in range(3):
                    ok(sandbox)
            finally:
                for container in taken:
                    client.api.remove_container(container)

    def test_a_parked_one_that_was_killed_is_replaced(self, sandbox: DockerSandbox, runtime: Path) -> None:
        for _ in range(3):
            assert sandbox.wait_parked(1, PATIENCE)
            engines.kill_all(runtime)
            ok(sandbox)

    def test_one_that_is_killed_while_it_runs_is_our_failure(self, sandbox: DockerSandbox, runtime: Path) -> None:
        running = Running(sandbox)
        engines.kill_all(runtime)
        assert "run the job again" in running.error()
        ok(sandbox)

    def test_one_that_is_paused_is_stopped_at_the_wall_limit(self, sandbox: DockerSandbox, runtime: Path) -> None:
        assert sandbox.wait_parked(1, PATIENCE)
        running = Running(sandbox, Job(code=SLEEP.code, limits=Limits(wall_seconds=4)))
        with engines.connected() as client:
            for row in client.api.containers(filters={"label": "ringfence.owner"}):
                if f"{runtime}/" in row["Labels"]["ringfence.lock"]:
                    client.api.pause(row["Id"])
        outcome = running.end()
        assert getattr(outcome, "status", outcome) == "timeout"
