"""The native backend does everything a sandbox must do, and what is its own."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator

import pytest

from ringfence.base.errors import SandboxError, SettingsError
from ringfence.sandbox import Sandbox, open_sandbox, open_session
from ringfence.sandbox.job import Job
from ringfence.sandbox.native import create
from ringfence.testing import SandboxSuite

from tests.patience import PATIENCE_SECONDS


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    with open_sandbox("native:profile=quant,park=2") as sandbox:
        yield sandbox


# Without control groups, as an ordinary user has it.
UNPRIVILEGED_GAPS = {
    "test_processes_are_limited": "a fork that RLIMIT_NPROC refuses is counted nowhere, so the status stays `error`",
    "test_threads_count_as_processes": "a thread that RLIMIT_NPROC refuses is counted nowhere",
    "test_the_limits_are_echoed": "CPU affinity cannot give half a CPU, so the job is refused",
}


class TestNative(SandboxSuite):
    known_gaps = {} if os.geteuid() == 0 else UNPRIVILEGED_GAPS

    def test_no_job_runs_as_root(self, sandbox: Sandbox) -> None:
        outcome = sandbox.run(Job(code="import os\nresult = [os.getuid(), os.getgid()]"))
        if os.geteuid() == 0:
            assert isinstance(outcome.result, list)
            assert all(isinstance(number, int) and number >= 0x70000000 for number in outcome.result)
        else:
            assert outcome.result == [os.getuid(), os.getgid()]

    def test_the_libraries_are_imported_already(self, sandbox: Sandbox) -> None:
        outcome = sandbox.run(
            Job(code="import sys\nresult = [n in sys.modules for n in ('pandas', 'talib', 'backtesting')]")
        )
        assert outcome.result == [True, True, True]


class TestPlainProfile:
    def test_libraries_are_there_but_not_loaded(self) -> None:
        with open_sandbox("native:profile=plain") as sandbox:
            code = "import sys\nbefore = 'numpy' in sys.modules\nimport numpy\nresult = [before, numpy.arange(3).sum()]"
            assert sandbox.run(Job(code=code)).result == [False, 3]

    def test_more_runs_than_parked_children_are_served(self) -> None:
        with open_sandbox("native:profile=plain,park=1") as sandbox:
            assert [sandbox.run(Job(code=f"result = {i}")).result for i in range(5)] == list(range(5))

    def test_nothing_parked_is_served_on_demand(self) -> None:
        with open_sandbox("native:profile=plain,park=0") as sandbox:
            assert [sandbox.run(Job(code=f"result = {i}")).result for i in range(3)] == [0, 1, 2]

    def test_a_parked_child_that_dies_with_its_order_unread_is_replaced(self) -> None:
        with create({"profile": "plain", "park": "1"}) as sandbox:
            assert sandbox.wait_parked(1, PATIENCE_SECONDS)
            (parked,) = sandbox.parked_pids()
            os.kill(parked, signal.SIGSTOP)
            threading.Timer(0.3, os.kill, (parked, signal.SIGKILL)).start()
            outcome = sandbox.run(Job(code="result = 6 * 7"))
            assert (outcome.status, outcome.result) == ("ok", 42)

    def test_a_closed_sandbox_refuses_and_may_be_closed_again(self) -> None:
        sandbox = open_sandbox("native:profile=plain")
        sandbox.close()
        sandbox.close()
        with pytest.raises(SandboxError, match="open"):
            sandbox.run(Job(code="x = 1"))

    def test_a_session_of_its_own_closes_its_sandbox(self) -> None:
        with open_session("native:profile=plain") as session:
            assert session.run("1 + 1").result == 2
        assert not session.alive


class TestOptions:
    @pytest.mark.parametrize("options", ["profile=fast", "park=many", "park=-1", "colour=blue", "preload=perhaps"])
    def test_a_wrong_option_is_refused_by_name(self, options: str) -> None:
        with pytest.raises(SettingsError, match=options.partition("=")[0]):
            open_sandbox(f"native:{options}")
