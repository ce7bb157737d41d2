"""The harness: an Attack is a hostile program and the ways in which it may end.

    run_attack(sandbox, canary, Attack(name="reads the shadow file", code="print(open('/etc/shadow').read())",
                                       expect=("error",)))

`run_attack` runs it and then looks at the host: the status is an allowed one, the answer came in time, every
canary is untouched and unleaked, a neighbour gets the right answer afterwards, and no process, cgroup, mount,
file or System V object is left. What the guest says about itself may be checked besides, never instead.
The program finds the canaries' whereabouts in the global `canary` (see Canary.inputs).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from ringfence import Job, Limits, Outcome
from ringfence.sandbox import Sandbox
from ringfence.sandbox.outcome import Status

from tests.attacks.canary import Canary
from tests.attacks.host import Host

QUICK = Limits(wall_seconds=3.0, memory_mb=128, processes=32, disk_mb=8)
SLACK_SECONDS = 3.0  # over the wall limit, for a noisy machine; the kill itself takes milliseconds

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

    def job(self, canary: Canary) -> Job:
        return Job(code=self.code, inputs={"canary": canary.inputs()}, files=self.files, limits=self.limits)


def limits(**changes: float) -> Limits:
    """QUICK with some limits changed."""
    return replace(QUICK, **changes)  # type: ignore[arg-type]  # Limits checks the values itself


def run_attack(sandbox: Sandbox, canary: Canary, attack: Attack) -> Outcome:
    before = Host.settled()
    outcome = run_promptly(sandbox, attack.job(canary))
    assert_contained(outcome, attack, canary)
    assert_serves(sandbox)
    before.assert_same_after()
    if attack.check is not None:
        attack.check(outcome)
    return outcome


def run_promptly(sandbox: Sandbox, job: Job) -> Outcome:
    """Run a Job and assert that the answer comes soon after the wall limit at the latest."""
    limit = job.limits.wall_seconds + SLACK_SECONDS
    started = time.monotonic()
    outcome = sandbox.run(job)
    took = time.monotonic() - started
    assert took < limit, f"the answer took {took:.1f} s, with a wall limit of {job.limits.wall_seconds} s"
    return outcome


def assert_contained(outcome: Outcome, attack: Attack, canary: Canary) -> None:
    said = f"{outcome.status} ({outcome.reason}); stderr ends: {outcome.stderr[-600:]}"
    assert outcome.status in attack.expect, f"{attack.name}: expected {' or '.join(attack.expect)}, got {said}"
    canary.untouched()
    canary.unleaked(outcome)


def assert_serves(sandbox: Sandbox) -> None:
    """Assert that a neighbour still gets the right answer."""
    neighbour = run_promptly(sandbox, Job(code="result = 40 + 2"))
    assert (neighbour.status, neighbour.result) == ("ok", 42), neighbour


def nothing_won(outcome: Outcome) -> None:
    """For `check`, with ATTEMPT and `result = won`: no door opened."""
    assert outcome.result == [], outcome.result
