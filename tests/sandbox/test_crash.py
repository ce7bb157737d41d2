"""Whoever is killed, whenever: nothing is left behind, and the next run works."""

from __future__ import annotations

import os
import random
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from ringfence import Job, Limits, open_sandbox
from ringfence.base.errors import SandboxError
from ringfence.sandbox.native import create
from ringfence.sandbox.native.fence import NativeSandbox

from tests.attacks.host import Host
from tests.patience import PATIENCE_SECONDS, wait_until
from tests.sandbox.busy import (
    Busy,
    adopting_orphans,
    assert_nothing_left,
    children,
    kill,
    next_open_works,
    own_runtime,
    probe,
    reap_orphans,
    state,
)

pytestmark = [pytest.mark.alone]

THREADS = 3
SURVIVORS = (
    ("zygote",), ("warden",), ("init",), ("program",), ("zygote", "warden"), ("warden", "zygote"),
    ("zygote", "program"), ("warden", "init"), ("init", "program"), ("program", "program"),
)  # fmt: skip
DEATHS = (
    ("supervisor",), ("supervisor", "warden"), ("warden", "supervisor"), ("supervisor", "zygote"),
    ("zygote", "supervisor"), ("supervisor", "init"), ("program", "supervisor"),
)  # fmt: skip

orphans = pytest.fixture(autouse=True)(adopting_orphans)
runtime = pytest.fixture(own_runtime)


@pytest.fixture
def before(runtime: Path) -> Host:
    return Host.settled()


@pytest.fixture
def sandbox(runtime: Path, before: Host) -> Iterator[NativeSandbox]:
    with create({"profile": "plain", "park": "2"}) as sandbox:
        assert probe(sandbox) == 0
        yield sandbox
    reap_orphans(set(before.processes))
    assert_nothing_left(before, runtime)


def pick(busy: Busy, roles: tuple[str, ...], dice: random.Random) -> list[int]:
    there = busy.roles()
    return [dice.choice(there[role]) for role in roles if there[role]]


class TestRandomMoments:
    @pytest.mark.parametrize("seed", [1, 2, 3])
    def test_a_supervisor_outlives_its_family(self, runtime: Path, before: Host, seed: int) -> None:
        dice = random.Random(seed)
        with Busy(runtime, threads=THREADS) as busy:
            busy.up()
            for roles in dice.sample(SURVIVORS, len(SURVIVORS)):
                time.sleep(dice.uniform(0, 0.06))
                victims = pick(busy, roles, dice)
                kill(victims)
                busy.await_gone(victims)  # a parked child that is still dying may be given out, see TestParkedChildren
                assert busy.probe() <= 1, f"after {roles}"
            tally = busy.stop()
            busy.assert_family_gone()
        assert not tally.wrong
        assert tally.failures <= THREADS * len(SURVIVORS)
        assert tally.runs > 20
        assert_nothing_left(before, runtime)

    @pytest.mark.parametrize("seed", range(14))
    def test_a_supervisor_is_killed(self, runtime: Path, before: Host, seed: int) -> None:
        dice = random.Random(seed)
        roles = DEATHS[seed % len(DEATHS)]
        with Busy(runtime) as busy:
            busy.up()
            time.sleep(dice.uniform(0, 0.1))
            kill(pick(busy, roles, dice))
            busy.assert_family_gone()
        if "warden" not in roles:  # the warden has swept already; without it the next owner does
            assert_nothing_left(before, runtime)
        next_open_works(before, runtime)

    @pytest.mark.parametrize("seed", range(8))
    def test_a_supervisor_is_killed_while_it_starts(self, runtime: Path, before: Host, seed: int) -> None:
        with Busy(runtime) as busy:
            time.sleep(random.Random(seed).uniform(0.05, 0.6))
            busy.signal(signal.SIGKILL)
            busy.assert_family_gone()
        next_open_works(before, runtime)


class TestSignals:
    @pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
    def test_a_supervisor_told_to_end_leaves_nothing(self, runtime: Path, before: Host, number: int) -> None:
        with Busy(runtime) as busy:
            busy.up()
            busy.probe()
            busy.signal(number)
            assert busy.wait() == -number
            busy.assert_family_gone()
        assert_nothing_left(before, runtime)

    def test_a_stopped_zygote_goes_with_its_supervisor(self, runtime: Path, before: Host) -> None:
        with Busy(runtime) as busy:
            busy.up()
            os.kill(busy.roles()["zygote"][0], signal.SIGSTOP)
            busy.signal(signal.SIGKILL)
            busy.assert_family_gone()
        assert_nothing_left(before, runtime)

    def test_a_stopped_warden_does_not_keep_the_jobs_alive(self, runtime: Path, before: Host) -> None:
        with Busy(runtime) as busy:
            busy.up()
            (warden,), (zygote,) = busy.roles()["warden"], busy.roles()["zygote"]
            os.kill(warden, signal.SIGSTOP)
            busy.signal(signal.SIGKILL)
            assert wait_until(lambda: not children(zygote))
            os.kill(warden, signal.SIGCONT)
            busy.assert_family_gone()
        assert_nothing_left(before, runtime)


class TestTwoSupervisors:
    def test_the_death_of_one_does_not_disturb_the_other(self, runtime: Path, before: Host) -> None:
        with Busy(runtime) as other:
            other.up()
            for _ in range(3):
                with Busy(runtime) as victim:
                    victim.up()
                    time.sleep(0.05)
                    victim.signal(signal.SIGKILL)
                    victim.wait()
                assert len(os.listdir(runtime)) == 1
                assert other.probe() == 0
            tally = other.stop()
            other.assert_family_gone()
        assert (tally.failures, tally.signalled, tally.wrong) == (0, 0, [])
        assert_nothing_left(before, runtime)

    def test_the_next_open_sweeps_after_a_dead_one_and_spares_the_living(self, runtime: Path, before: Host) -> None:
        with Busy(runtime) as other:
            other.up()
            with Busy(runtime) as victim:
                victim.up()
                kill([victim.pid, *victim.roles()["warden"]])
                victim.wait()
            with open_sandbox("native:profile=plain,park=0") as third:
                assert probe(third) == 0
                assert len(os.listdir(runtime)) == 2
            tally = other.stop()
        assert (tally.failures, tally.signalled, tally.wrong) == (0, 0, [])
        assert_nothing_left(before, runtime)


class TestParkedChildren:
    @pytest.mark.parametrize("who", ["program", "init"])
    def test_the_dead_are_replaced_and_never_given_out(self, sandbox: NativeSandbox, who: str) -> None:
        for _ in range(10):
            assert sandbox.wait_parked(2, PATIENCE_SECONDS)
            parked = sandbox.parked_pids()
            inits = [pid for pid in zygote_children(sandbox) if pid not in parked]
            kill(parked if who == "program" else inits)
            await_gone(parked)
            assert [sandbox.run(Job(code="result = 1")).result for _ in range(3)] == [1, 1, 1]
            assert not set(parked) & set(sandbox.parked_pids())

    def test_those_of_a_dead_zygote_are_not_given_out(self, sandbox: NativeSandbox) -> None:
        for _ in range(5):
            assert sandbox.wait_parked(2, PATIENCE_SECONDS)
            kill(children(sandbox.warden_pid))
            assert probe(sandbox) <= 1

    def test_a_killed_warden_is_replaced(self, sandbox: NativeSandbox) -> None:
        for _ in range(5):
            kill([sandbox.warden_pid])
            assert probe(sandbox) <= 1


class TestRunningJobs:
    def test_a_job_whose_zygote_dies_is_our_failure_and_not_its_own(self, sandbox: NativeSandbox) -> None:
        started = [threading.Event() for _ in range(3)]  # one that has not begun is simply begun again
        errors: list[str] = []

        def run(begun: threading.Event) -> None:
            with pytest.raises(SandboxError) as caught:
                sandbox.run(sleeper(), on_output=lambda *_: begun.set())
            errors.append(str(caught.value))

        threads = [threading.Thread(target=run, args=(begun,)) for begun in started]
        for thread in threads:
            thread.start()
        assert all(begun.wait(PATIENCE_SECONDS) for begun in started)
        kill(children(sandbox.warden_pid))
        for thread in threads:
            thread.join(PATIENCE_SECONDS)
        assert len(errors) == 3
        assert all("again" in error for error in errors), errors
        assert probe(sandbox) == 0

    def test_close_ends_what_runs_in_other_threads(self, runtime: Path, before: Host) -> None:
        for _ in range(3):
            sandbox = create({"profile": "plain", "park": "2"})
            ended: list[BaseException | None] = []
            threads = [threading.Thread(target=lambda: ended.append(loop(sandbox))) for _ in range(4)]  # noqa: B023
            for thread in threads:
                thread.start()
            time.sleep(0.1)
            assert_close_ends(sandbox, threads, ended)
            assert_nothing_left(before, runtime)

    def test_close_does_not_wait_for_a_stopped_zygote(self, runtime: Path, before: Host) -> None:
        sandbox = create({"profile": "plain", "park": "2"})
        assert sandbox.wait_parked(2, PATIENCE_SECONDS)
        os.kill(children(sandbox.warden_pid)[0], signal.SIGSTOP)
        ended: list[BaseException | None] = []
        threads = [threading.Thread(target=lambda: ended.append(loop(sandbox))) for _ in range(3)]
        for thread in threads:
            thread.start()
        time.sleep(0.1)
        assert_close_ends(sandbox, threads, ended)
        assert_nothing_left(before, runtime)

    def test_close_while_a_dead_zygote_is_being_replaced(self, runtime: Path, before: Host) -> None:
        for pause in (0.0, 0.02, 0.1, 0.2):
            sandbox = create({"profile": "plain", "park": "2"})
            ended: list[BaseException | None] = []
            threads = [threading.Thread(target=lambda: ended.append(loop(sandbox))) for _ in range(2)]  # noqa: B023
            for thread in threads:
                thread.start()
            kill(children(sandbox.warden_pid))
            time.sleep(pause)
            sandbox.close()
            for thread in threads:
                thread.join(PATIENCE_SECONDS)
            assert [type(e) for e in ended] == [SandboxError] * 2, ended
            assert_nothing_left(before, runtime)


def assert_close_ends(
    sandbox: NativeSandbox, threads: list[threading.Thread], ended: list[BaseException | None]
) -> None:
    """Closing returns, and each thread that was using the sandbox is told, rather than when its job would end."""
    sandbox.close()
    for thread in threads:
        thread.join(PATIENCE_SECONDS)
    assert [type(e) for e in ended] == [SandboxError] * len(threads), ended


def sleeper() -> Job:
    return Job(code="import time\nprint('on', flush=True)\ntime.sleep(600)", limits=Limits(wall_seconds=600))


def loop(sandbox: NativeSandbox) -> BaseException | None:
    """Run jobs until the sandbox is closed; what else than a SandboxError came, or the last of those."""
    while True:
        try:
            sandbox.run(Job(code="import time\ntime.sleep(0.02)"))
            sandbox.run(sleeper())
        except SandboxError as e:
            if "closed" in str(e):
                return e
        except Exception as e:  # noqa: BLE001 - the test compares it with what it should be
            return e


def zygote_children(sandbox: NativeSandbox) -> list[int]:
    return [pid for zygote in children(sandbox.warden_pid) for pid in children(zygote)]


def await_gone(pids: list[int]) -> None:
    """Until none of them is there, or no more than an entry that waits to be reaped."""
    assert wait_until(lambda: all(state(pid) in ("", "Z") for pid in pids), pause_seconds=0.001)
