"""A supervisor that forks, and a warden with troubles of its own: neither harms a sandbox nor leaves anything."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from ringfence.base.errors import SandboxError
from ringfence.sandbox.native import create

from tests.attacks.host import Host, descendants
from tests.conftest import ROOT
from tests.patience import PATIENCE_SECONDS, wait_until
from tests.sandbox.busy import (
    adopting_orphans,
    assert_nothing_left,
    environment,
    kill,
    next_open_works,
    own_runtime,
    reap_orphans,
)

pytestmark = [pytest.mark.alone, pytest.mark.timeout(120)]

orphans = pytest.fixture(autouse=True)(adopting_orphans)
runtime = pytest.fixture(own_runtime)


@pytest.fixture
def before(runtime: Path) -> Host:
    return Host.settled()


FORKING = """
import os, sys, threading, time
from ringfence import Job, open_sandbox, open_session
from ringfence.base.errors import SandboxError

def ok(sandbox):
    assert sandbox.run(Job(code="result = 1")).result == 1

def forked(act):
    pid = os.fork()
    if pid == 0:
        act()
        os._exit(0)
    assert os.waitpid(pid, 0)[1] == 0

def use(sandbox):
    try:
        ok(sandbox)
    except SandboxError as e:
        assert "fork" in str(e), e
    else:
        raise AssertionError("a sandbox was used by a process that did not open it")
"""

FORKS = {
    "the child leaves at once": "forked(lambda: None)",
    "the child closes its copy": "forked(sandbox.close)",
    "the child uses its copy": "forked(lambda: use(sandbox))",
    "the child leaves through the with": """
if os.fork() == 0:
    sys.exit(0)
os.wait()
""",
    "a job runs meanwhile": """
ends = []
job = Job(code="import time\\ntime.sleep(0.4)\\nresult = 2")
thread = threading.Thread(target=lambda: ends.append(sandbox.run(job).result))
thread.start()
time.sleep(0.1)
forked(sandbox.close)
thread.join()
assert ends == [2], ends
""",
    "a session is open": """
session = sandbox.open_session()
session.run("x = 1")
forked(session.close)
assert session.run("x + 1").result == 2
session.close()
""",
    "a worker pool": """
import multiprocessing
with multiprocessing.get_context("fork").Pool(2) as workers:
    assert workers.map(abs, [-1, -2]) == [1, 2]
""",
}


UNREAD_ANSWER = """
import os, signal, time
from pathlib import Path
from ringfence import open_sandbox
from ringfence.sandbox.native import messages
sandbox = open_sandbox("native:profile=plain,park=1")
life = sandbox._pools.lean._cradle.line._life
for _ in range({orders}):
    messages.send(life, messages.encode(messages.TreeOrder(path="/etc", uid=None)))
time.sleep({pause})
os.kill(os.getpid(), signal.SIGKILL)
"""

NO_NAMESPACES = """
import os
from ringfence.sandbox.native import mounter, syscalls as sc
def refuse(flags):
    raise OSError(28, "No space left on device")  # what the kernel says at /proc/sys/user/max_user_namespaces
sc.unshare = refuse
before, me = len(os.listdir("/proc/self/fd")), os.getpid()
try:
    mounter._make_user_namespace(0, 0, 1)
except OSError as e:
    assert "namespace" in str(e), e
    assert len(os.listdir("/proc/self/fd")) == before
    assert os.getpid() == me
    os.write(1, b"refused")
"""


class TestWarden:
    """Its own ways to fail, each in a process of its own."""

    @pytest.mark.parametrize(("orders", "pause"), [(1, 0.1), (5, 0.1), (5, 0.0)])
    def test_it_sweeps_after_a_supervisor_that_did_not_read_its_answer(
        self, runtime: Path, before: Host, orders: int, pause: float
    ) -> None:
        done = python(UNREAD_ANSWER.format(orders=orders, pause=pause), runtime)
        assert done.returncode == -signal.SIGKILL, done.stderr
        assert wait_until(lambda: not others(before))
        assert_nothing_left(before, runtime)

    def test_a_machine_without_user_namespaces_gets_an_error_and_no_second_warden(self, runtime: Path) -> None:
        done = python(NO_NAMESPACES, runtime)
        assert (done.returncode, done.stdout) == (0, "refused"), done.stderr

    def test_one_that_cannot_be_started_gives_its_block_back(
        self, runtime: Path, before: Host, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        held = os.listdir("/proc/self/fd")
        with monkeypatch.context() as patch:
            patch.setattr(sys, "executable", "/nonexistent/python")
            with pytest.raises(SandboxError, match="did not start"):
                create({"profile": "plain"})
        assert os.listdir("/proc/self/fd") == held
        next_open_works(before, runtime)


def python(program: str, runtime: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", program], env=environment(runtime), cwd=ROOT, capture_output=True,
        text=True, timeout=PATIENCE_SECONDS, check=False,
    )  # fmt: skip


class TestForks:
    @pytest.mark.parametrize("act", FORKS.values(), ids=FORKS.keys())
    def test_a_fork_of_the_supervisor_does_no_harm(self, runtime: Path, before: Host, act: str) -> None:
        body = "ok(sandbox)\n" + act + "\nfor _ in range(4): ok(sandbox)\nsys.stdout.write('fine')\n"
        program = FORKING + "with open_sandbox('native:profile=plain,park=2') as sandbox:\n" + indent(body)
        done = python(program, runtime)
        assert (done.returncode, done.stdout) == (0, "fine"), done.stdout + done.stderr
        assert_nothing_left(before, runtime)

    def test_a_forked_child_that_lives_on_does_not_keep_a_dead_supervisors_jobs(
        self, runtime: Path, before: Host
    ) -> None:
        program = (
            FORKING
            + """
sandbox = open_sandbox('native:profile=plain,park=2')
ok(sandbox)
pid = os.fork()
if pid == 0:
    time.sleep(60)
    os._exit(0)
sys.stdout.write(f"{pid}\\n")
sys.stdout.flush()
time.sleep(60)
"""
        )
        command = [sys.executable, "-c", program]
        with subprocess.Popen(command, env=environment(runtime), cwd=ROOT, stdout=subprocess.PIPE, text=True) as parent:
            assert parent.stdout is not None
            forked = int(parent.stdout.readline())
            parent.kill()
            parent.wait()
            wait_until(lambda: others(before) == {forked})
            left = others(before)
            kill([*left])
        assert wait_until(lambda: not others(before))
        assert left == {forked}
        assert_nothing_left(before, runtime)


def others(before: Host) -> set[int]:
    reap_orphans(set(before.processes))
    return set(descendants()) - set(before.processes)


def indent(text: str) -> str:
    return "".join(f"    {line}\n" for line in text.splitlines())
