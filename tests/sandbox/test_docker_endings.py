"""Jobs and callers that make trouble in containers: each job ends with the truth about it, each caller is told what
happened, and no container is left."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from ringfence import Job, Limits, open_sandbox
from ringfence.base.errors import InputError, MountError, SandboxError
from ringfence.sandbox.docker import create
from ringfence.sandbox.docker.fence import DockerSandbox
from ringfence.sandbox.job import Cancel
from ringfence.testing.jobs import script

from tests.sandbox.busy import environment
from tests.sandbox.engines import SLEEP, Left, Running, containers, kill_all, own_runtime_of_module

PATIENCE = 120.0  # for what must come; a busy machine takes its time
SMALL = Limits(memory_mb=64, disk_mb=8, processes=8, wall_seconds=PATIENCE)

FORKS = {
    "closes": "sandbox.close()",
    "uses": "expect(lambda: sandbox.run(Job(code='1')), 'fork')",
    "closes the session": "session.close(); time.sleep(1)",
    "uses the session": "expect(lambda: session.run('1'), '')",
    "leaves": "sys.exit(0)",
}

runtime = pytest.fixture(scope="module")(own_runtime_of_module)


@pytest.fixture(scope="module")
def sandbox(docker_engine: str, runtime: Path) -> Iterator[DockerSandbox]:
    before = Left.now(runtime)
    with create({"profile": "plain", "park": "1"}) as sandbox:
        yield sandbox
    assert Left.now(runtime) == before


@pytest.fixture
def own(docker_engine: str, runtime: Path) -> Iterator[DockerSandbox]:
    """A sandbox that the test may close."""
    with create({"profile": "plain", "park": "1"}) as own:
        yield own


class TestJobs:
    def test_ten_megabytes_of_output_are_cut_counted_and_flagged(self, sandbox: DockerSandbox) -> None:
        code = """
            import os, sys
            for _ in range(160):
                os.write(1, b'o' * 65536)
            os.write(2, b'e' * 5000)
            result = 'said all'
        """
        outcome = sandbox.run(script(code, output_bytes=1 << 20))
        assert (outcome.status, outcome.result) == ("ok", "said all"), outcome.reason
        assert (len(outcome.stdout), len(outcome.stderr)) == (1 << 20, 5000)
        assert set(outcome.stdout) == {"o"}
        assert (outcome.truncated.stdout, outcome.truncated.stderr) == (True, False)
        assert outcome.usage.output_bytes == 160 * 65536 + 5000

    def test_a_job_that_signals_its_keeper_gets_nowhere(self, sandbox: DockerSandbox) -> None:
        code = """
            import os, signal
            for number in (*signal.valid_signals(), signal.SIGALRM, signal.SIGCHLD) * 3:
                try:
                    os.kill(1, number)
                except PermissionError:
                    pass
            result = 3
        """
        outcome = sandbox.run(script(code))
        assert (outcome.status, outcome.result) == ("ok", 3), outcome.reason

    @pytest.mark.parametrize("number", ["SIGKILL", "SIGTERM", "SIGSTOP"])
    def test_a_job_that_signals_everybody_ends_or_is_ended(self, sandbox: DockerSandbox, number: str) -> None:
        child = f"import os, signal, time\nif os.fork() == 0:\n    os.kill(-1, signal.{number})\ntime.sleep(600)"
        outcome = sandbox.run(script(child, wall_seconds=2 if number == "SIGSTOP" else PATIENCE))
        assert outcome.status == ("timeout" if number == "SIGSTOP" else "signal"), outcome.reason

    def test_a_job_that_ignores_everything_is_stopped_at_the_wall_limit(self, sandbox: DockerSandbox) -> None:
        code = """
            import os, signal
            for number in set(signal.valid_signals()) - {signal.SIGKILL, signal.SIGSTOP}:
                signal.signal(number, signal.SIG_IGN)
            os.fork(); os.fork()
            while True: pass
        """
        outcome = sandbox.run(script(code, wall_seconds=1))
        assert outcome.status == "timeout", outcome.reason

    def test_the_least_of_everything(self, sandbox: DockerSandbox) -> None:
        least = Limits(memory_mb=24, processes=1, cpus=0.1, disk_mb=1, wall_seconds=PATIENCE)
        outcome = sandbox.run(Job(code="open('a', 'w').write('x' * 1000)\nresult = sum(range(1000))", limits=least))
        assert (outcome.status, outcome.result) == ("ok", 499500), outcome.reason
        outcome = sandbox.run(
            Job(code="held = bytearray(1 << 26)\nfor i in range(0, len(held), 4096): held[i] = 1", limits=least)
        )
        assert outcome.status == "memory_limit", outcome.reason
        outcome = sandbox.run(Job(code="import os\nos.fork()", limits=least))
        assert outcome.status == "process_limit", outcome.reason
        outcome = sandbox.run(Job(code="open('a', 'wb').write(bytes(2 << 20))", limits=least))
        assert outcome.status == "disk_limit", outcome.reason

    def test_limits_of_a_parked_container_are_raised_and_lowered(self, sandbox: DockerSandbox) -> None:
        """One after the other they take what was parked with the limits of the one before."""
        hold = "held = bytearray({mb} << 20)\nfor i in range(0, len(held), 4096): held[i] = 1\nresult = len(held)"
        for memory, held, status in ((64, 30, "ok"), (300, 200, "ok"), (64, 200, "memory_limit"), (300, 200, "ok")):
            assert sandbox.wait_parked(1, PATIENCE)
            outcome = sandbox.run(Job(code=hold.format(mb=held), limits=replace(SMALL, memory_mb=memory)))
            assert outcome.status == status, (memory, held, outcome.reason)
        threads = "import threading, time\nfor _ in range(20): threading.Thread(target=time.sleep, args=(1,)).start()"
        for processes, status in ((32, "ok"), (4, "process_limit"), (32, "ok")):
            outcome = sandbox.run(Job(code=threads, limits=replace(SMALL, processes=processes)))
            assert outcome.status == status, (processes, outcome.reason)


class TestFilesAndMounts:
    def test_files_that_do_not_fit(self, sandbox: DockerSandbox, runtime: Path) -> None:
        with pytest.raises(InputError, match=r"file 'big' cannot be put into the 8 MB working directory"):
            sandbox.run(Job(code="pass", files={"big": bytes(9 << 20)}, limits=SMALL))
        parts = {f"part-{i}": bytes(3 << 20) for i in range(4)}
        with pytest.raises(InputError, match=r"8 MB working directory.*[Nn]o space"):
            sandbox.run(Job(code="pass", files=parts, limits=SMALL))

    def test_a_mount_that_is_not_there(self, sandbox: DockerSandbox, tmp_path: Path) -> None:
        with pytest.raises(MountError, match="does not exist"):
            sandbox.run(Job(code="pass", mounts=[f"{tmp_path}/nothing:/data"]))

    @pytest.mark.parametrize("place", ["/opt", "/opt/ringfence"])
    def test_a_mount_over_the_interpreter(self, sandbox: DockerSandbox, tmp_path: Path, place: str) -> None:
        with pytest.raises(MountError, match=r"hide the image's Python: choose a place such as /data"):
            sandbox.run(Job(code="pass", mounts=[f"{tmp_path}:{place}"]))

    def test_mounts_are_read_only_or_writable_wherever_they_are(self, sandbox: DockerSandbox, tmp_path: Path) -> None:
        for name in ("ro", "rw", "under"):
            (tmp_path / name).mkdir()
            (tmp_path / name / "in").write_text(name)
        (tmp_path / "rw").chmod(0o777)
        mounts = [f"{tmp_path}/ro:/data:ro", f"{tmp_path}/rw:/out:rw", f"{tmp_path}/under:/job/under"]
        code = """
            result = [open(f'{place}/in').read() for place in ('/data', '/out', '/job/under')]
            open('/out/made', 'w').write('by the job')
            for place in ('/data', '/job/under'):
                try:
                    open(f'{place}/made', 'w')
                except OSError as e:
                    result.append(e.strerror)
            open('/job/own', 'w').write('an artifact')
        """
        outcome = sandbox.run(replace(script(code), mounts=mounts))
        assert outcome.status == "ok", outcome.error
        assert isinstance(outcome.result, list)
        assert outcome.result[:3] == ["ro", "rw", "under"]
        assert len(outcome.result) == 5, outcome.result
        assert [a.name for a in outcome.artifacts] == ["own"]
        assert (tmp_path / "rw" / "made").read_text() == "by the job"
        assert sorted(os.listdir(tmp_path / "ro")) == ["in"]


class TestCallers:
    def test_many_threads_at_once(self, sandbox: DockerSandbox) -> None:
        with ThreadPoolExecutor(6) as callers:
            outcomes = list(callers.map(lambda i: sandbox.run(Job(code=f"print({i})\nresult = {i}")), range(12)))
        assert [(o.status, o.result, o.stdout) for o in outcomes] == [("ok", i, f"{i}\n") for i in range(12)]

    def test_closing_ends_what_runs_and_tells_its_callers(self, own: DockerSandbox, runtime: Path) -> None:
        session = own.open_session()
        running = [Running(own) for _ in range(2)]
        threading.Timer(0.1, own.close).start()
        assert [r.error() for r in running] == ["this sandbox is closed: open another"] * 2
        own.close()  # a second time
        for use in (lambda: own.run(Job(code="1")), own.open_session, lambda: session.run("1")):
            with pytest.raises(SandboxError, match=r"open another|run the job again"):
                use()
        session.close()

    @pytest.mark.parametrize("in_session", [False, True], ids=["job", "cell"])
    def test_closing_while_a_caller_looks_away(self, own: DockerSandbox, in_session: bool) -> None:
        """Its connection is gone when it waits for it again: it must not wait for one that is not there, or that of
        another, until its limit."""
        session = own.open_session() if in_session else None
        ended: list[str] = []

        def call() -> None:
            with pytest.raises(SandboxError) as caught:
                if session is not None:
                    session.run(str(SLEEP.code), limits=SLEEP.limits, on_output=lambda *_: own.close())
                else:
                    own.run(SLEEP, on_output=lambda *_: own.close())
            ended.append(str(caught.value))

        caller = threading.Thread(target=call, daemon=True)
        caller.start()
        caller.join(PATIENCE)
        assert ended == ["this sandbox is closed: open another"]

    def test_an_interrupt_while_it_closes_leaves_nothing(self, docker_engine: str, tmp_path: Path) -> None:
        tmp_path.chmod(0o700)
        before = Left.now(tmp_path)
        done = subprocess.run(
            [sys.executable, "-c", INTERRUPTED.replace("SECONDS", str(PATIENCE))],
            env=environment(tmp_path), capture_output=True, text=True, timeout=2 * PATIENCE, check=False,
        )  # fmt: skip
        assert (done.returncode, done.stdout, done.stderr) == (0, "interrupted\n", "")
        assert Left.now(tmp_path) == before

    def test_whoever_closes_it_second_waits_for_the_first(self, docker_engine: str, tmp_path: Path) -> None:
        tmp_path.chmod(0o700)
        before = Left.now(tmp_path)
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("RINGFENCE_RUNTIME_DIR", str(tmp_path))
            sandbox = create({"profile": "plain", "park": "1"})
        assert sandbox.wait_parked(1, PATIENCE)
        first = threading.Thread(target=sandbox.close)
        first.start()
        sandbox.close()
        assert Left.now(tmp_path) == before
        first.join()

    def test_closing_while_containers_are_being_made(self, docker_engine: str, runtime: Path) -> None:
        for pause in (0.0, 0.1, 0.4):
            with create({"profile": "plain", "park": "2"}) as hasty:
                token = {name.split("-")[1] for name in containers(runtime)}
                ends: list[object] = []
                threads = [threading.Thread(target=lambda: ends.append(_ending(hasty))) for _ in range(2)]  # noqa: B023
                for thread in threads:
                    thread.start()
                time.sleep(pause)
            for thread in threads:
                thread.join(PATIENCE)
            assert set(ends) <= {"ok", "this sandbox is closed: open another"}, ends
            assert len(ends) == 2
            assert {name.split("-")[1] for name in containers(runtime)} <= token

    def test_cancelled_before_and_while_it_runs(self, sandbox: DockerSandbox) -> None:
        cancel = Cancel()
        running = Running(sandbox, cancel=cancel)
        cancel.set()
        assert getattr(running.end(), "status", None) == "cancelled"
        outcome = sandbox.run(Job(code="print('never')", limits=SMALL), cancel=cancel)
        assert outcome.status == "cancelled"
        cancel.close()

    @pytest.mark.parametrize("act", FORKS.values(), ids=FORKS.keys())
    def test_a_fork_does_no_harm(self, docker_engine: str, tmp_path: Path, act: str) -> None:
        tmp_path.chmod(0o700)
        before = Left.now(tmp_path)
        done = subprocess.run(
            [sys.executable, "-c", FORKING.replace("ACT", act)],
            env=environment(tmp_path), capture_output=True, text=True, timeout=2 * PATIENCE, check=False,
        )  # fmt: skip
        assert (done.returncode, done.stderr) == (0, "")
        assert Left.now(tmp_path) == before

    def test_a_fork_that_lives_on_does_not_keep_containers_alive(
        self, docker_engine: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        tmp_path.chmod(0o700)
        monkeypatch.setenv("RINGFENCE_RUNTIME_DIR", str(tmp_path))
        before = Left.now(tmp_path)
        with subprocess.Popen(
            [sys.executable, "-c", OUTLIVED], env=environment(tmp_path), stdout=subprocess.PIPE, stdin=subprocess.PIPE
        ) as parent:
            assert parent.stdout is not None
            assert parent.stdout.readline() == b"forked\n"
            parent.kill()
            with open_sandbox("docker:profile=plain,park=0"):
                pass
            assert Left.now(tmp_path) == before


def _ending(sandbox: DockerSandbox) -> str:
    try:
        return sandbox.run(Job(code="1")).status
    except SandboxError as e:
        return str(e)


FORKING = """
import os, sys, time
from ringfence import Job, open_sandbox
from ringfence.base.errors import SandboxError

def expect(use, word):
    try:
        use()
    except SandboxError as e:
        assert word in str(e), e
    else:
        raise AssertionError("it could be used")

with open_sandbox("docker:profile=plain,park=1") as sandbox:
    session = sandbox.open_session()
    session.run("x = 1")
    sandbox.wait_parked(1, 120)
    if os.fork() == 0:
        ACT
        os._exit(0)
    assert os.wait()[1] == 0
    with open_sandbox("docker:profile=plain,park=0"):
        pass  # it would remove the containers of a dead owner
    assert session.run("x + 1").result == 2
    assert sandbox.run(Job(code="result = 1")).result == 1
    session.close()
"""

INTERRUPTED = """
import os, signal, threading, time
from ringfence import Job, open_sandbox

signal.signal(signal.SIGINT, signal.default_int_handler)  # whoever started us may ignore it
sandbox = open_sandbox("docker:profile=plain,park=1")
assert sandbox.wait_parked(1, SECONDS)
sandbox.run(Job(code="1"))  # after it another container is made, for which a close waits

def interrupt():
    while not sandbox._pool._closing:  # or it would come before there is anything to interrupt
        time.sleep(0.001)
    os.kill(os.getpid(), signal.SIGINT)

threading.Thread(target=interrupt, daemon=True).start()
try:
    sandbox.close()
    threading.Event().wait(SECONDS)  # had it been faster
except KeyboardInterrupt:
    print("interrupted")
"""

OUTLIVED = """
import os, sys
from ringfence import Job, open_sandbox
sandbox = open_sandbox("docker:profile=plain,park=1")
sandbox.wait_parked(1, 120)
if os.fork() == 0:
    sys.stdin.read()  # until the test ends
    os._exit(0)
print("forked", flush=True)
sys.stdin.read()
"""


class TestSessions:
    def test_one_that_idles_ends(self, sandbox: DockerSandbox) -> None:
        session = sandbox.open_session(idle_seconds=0.5)
        deadline = time.monotonic() + PATIENCE
        while session.alive and time.monotonic() < deadline:
            time.sleep(0.05)
        with pytest.raises(SandboxError, match=r"idle for 0.5 s.*open another"):
            session.run("1")

    def test_an_interrupted_cell_leaves_the_session(self, sandbox: DockerSandbox) -> None:
        with sandbox.open_session() as session:
            session.run("x = 41")
            cell = "import time\nprint('on', flush=True)\ntime.sleep(60)"
            assert session.run(cell, limits=Limits(wall_seconds=0.5)).status == "timeout"
            cancel = Cancel()
            outcome = session.run(cell, cancel=cancel, on_output=lambda *_: cancel.set())
            assert outcome.status == "cancelled"
            cancel.close()
            assert session.run("x + 1").result == 42

    def test_one_that_is_killed_for_its_memory_says_so(self, sandbox: DockerSandbox) -> None:
        limits = replace(SMALL, disk_mb=Limits().disk_mb)
        with sandbox.open_session(limits=limits) as session:
            assert session.run("x = 1").status == "ok"
            outcome = session.run("held = bytearray(1 << 28)\nfor i in range(0, len(held), 4096): held[i] = 1")
            assert outcome.status == "memory_limit", outcome.reason
            assert "64 MB" in outcome.reason
            assert outcome.reason.endswith("the session ended with it")
            with pytest.raises(SandboxError, match=r"used more than 64 MB.*open another"):
                session.run("x")

    def test_limits_of_a_cell_hold_for_that_cell(self, sandbox: DockerSandbox) -> None:
        hold = "held = bytearray(100 << 20)\nfor i in range(0, len(held), 4096): held[i] = 1\ndel held"
        with sandbox.open_session(limits=Limits(memory_mb=64)) as session:
            assert session.run(hold, limits=Limits(memory_mb=256)).status == "ok"
            assert session.run(hold).status == "memory_limit"

    def test_one_whose_container_is_killed(self, own: DockerSandbox, runtime: Path) -> None:
        session = own.open_session()
        session.run("x = 1")
        kill_all(runtime)
        assert not session.alive
        with pytest.raises(SandboxError, match=r"again|another"):
            session.run("x")
        with pytest.raises(SandboxError, match="open another"):
            session.run("x")
