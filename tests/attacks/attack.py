"""The harness: an Attack is a hostile program and the ways in which it may end.

    run_attack(sandbox, canary, Attack(name="reads the shadow file", code="print(open('/etc/shadow').read())",
                                       expect=("error",)))

`run_attack` runs it and then looks at the host: the status is an allowed one, the answer came in time, every
canary is untouched and unleaked, a neighbour gets the right answer afterwards, and no process, cgroup, mount,
file, System V object or container is left. What the guest says about itself may be checked besides, never instead.
The program finds the canaries' whereabouts in the global `canary` (see Canary.inputs).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from ringfence import Job, Limits, Outcome
from ringfence.sandbox import Sandbox, Session
from ringfence.sandbox.docker.fence import DockerSandbox
from ringfence.sandbox.native.fence import NativeSandbox
from ringfence.sandbox.outcome import Status

from tests.attacks.canary import Canary
from tests.attacks.host import Host
from tests.attacks.remote import supervisor_of
from tests.patience import PATIENCE_SECONDS

QUICK = Limits(wall_seconds=3.0, memory_mb=128, processes=32, disk_mb=8)
# Where an attack tries its luck more than once.
REPEATS = {"native": 3, "native_user": 3, "native_delegated": 1, "docker": 1}
# A container is dear: beside a docker sandbox one session stays open, and is the neighbour of every attack.
NEIGHBOURS: dict[DockerSandbox, Session] = {}

# Put before a program that tries many doors: `attempt(what, function)` notes in `won` what did not fail.
ATTEMPT = """
won = []
def attempt(what, function):
    try:
        value = function()
    except Exception:
        return
    won.append([str(what), repr(value)[:200]])
"""

# Put before a program that turns a deaf ear to every signal that can be ignored.
IGNORE_ALL = """
import ctypes, os, signal, time
for n in set(range(1, 65)) - {signal.SIGCHLD}:
    try:
        signal.signal(n, signal.SIG_IGN)
    except (OSError, ValueError):
        pass
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Attack:
    name: str
    code: str
    expect: tuple[Status, ...] = ("ok",)
    limits: Limits = QUICK
    check: Callable[[Outcome], None] | None = None  # looks at the Outcome, after the host was found unharmed
    files: Mapping[str, bytes] = field(default_factory=dict)

    def job(self, canary: Canary, supervisor: int | None = None) -> Job:
        """With time enough for a busy machine, unless that it runs out is what is looked at."""
        wall = self.limits.wall_seconds if "timeout" in self.expect else max(self.limits.wall_seconds, PATIENCE_SECONDS)
        limits = replace(self.limits, wall_seconds=wall)
        return Job(code=self.code, inputs={"canary": canary.inputs(supervisor)}, files=self.files, limits=limits)


def limits(**changes: float) -> Limits:
    """QUICK with some limits changed."""
    return replace(QUICK, **changes)  # type: ignore[arg-type]  # Limits checks the values itself


def run_attack(sandbox: Sandbox, canary: Canary, attack: Attack) -> Outcome:
    wait_parked(sandbox)  # or a child that is made meanwhile is taken for something left behind
    before = Host.settled()
    outcome = run_promptly(sandbox, attack.job(canary, supervisor_of(sandbox)))
    assert_contained(outcome, attack, canary)
    assert_serves(sandbox)
    before.assert_same_after()
    if attack.check is not None:
        attack.check(outcome)
    return outcome


def run_promptly(sandbox: Sandbox, job: Job) -> Outcome:
    """Run a Job and assert that the answer comes when its time is up at the latest, and not for ever."""
    limit = job.limits.wall_seconds + PATIENCE_SECONDS
    wait_parked(sandbox)
    started = time.monotonic()
    outcome = sandbox.run(job)
    took = time.monotonic() - started
    assert took < limit, f"the answer took {took:.1f} s, with a wall limit of {job.limits.wall_seconds} s"
    return outcome


def wait_parked(sandbox: Sandbox) -> None:
    """A child or container that is being made uses time, and one that is not there yet has to be made twice."""
    if isinstance(sandbox, DockerSandbox | NativeSandbox):
        assert sandbox.wait_parked(1, PATIENCE_SECONDS), "the pool was not refilled"


def assert_contained(outcome: Outcome, attack: Attack, canary: Canary) -> None:
    said = f"{outcome.status} ({outcome.reason}); stderr ends: {outcome.stderr[-600:]}"
    assert outcome.status in attack.expect, f"{attack.name}: expected {' or '.join(attack.expect)}, got {said}"
    canary.untouched()
    canary.unleaked(outcome)


def assert_serves(sandbox: Sandbox) -> None:
    """Assert that a neighbour still gets the right answer."""
    session = NEIGHBOURS.get(sandbox) if isinstance(sandbox, DockerSandbox) else None
    neighbour = assert_starts(sandbox) if session is None else session.run("result = 40 + 2")
    assert (neighbour.status, neighbour.result) == ("ok", 42), neighbour


def assert_starts(sandbox: Sandbox) -> Outcome:
    """Assert that a run that begins now gets the right answer."""
    # With the limits of most attacks, so that the containers that are parked stay of use.
    usual = QUICK if isinstance(sandbox, DockerSandbox) else Limits()
    outcome = run_promptly(sandbox, Job(code="result = 40 + 2", limits=usual))
    assert (outcome.status, outcome.result) == ("ok", 42), outcome
    return outcome


def memory_bound(backend: str, outcome: Outcome) -> float:
    """The most bytes a run may have had at any moment. Where no group counts, its processes are looked at twenty times
    a second, and in between each of them gets twice the limit from the kernel and no more."""
    limit = outcome.limits.memory_mb << 20
    return limit * 2.2 * outcome.usage.processes if backend == "native_user" else limit * 1.1


def nothing_won(outcome: Outcome) -> None:
    """For `check`, with ATTEMPT and `result = won`: no door opened."""
    assert outcome.result == [], outcome.result
