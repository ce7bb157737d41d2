"""Supervision: raising limits and priorities, core dumps, and outliving the supervisor."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from ringfence import Cancel, Job, Outcome
from ringfence.sandbox import Sandbox

from tests.attacks.attack import ATTEMPT, IGNORE_ALL, QUICK, Attack, assert_serves, limits, nothing_won, run_promptly
from tests.attacks.canary import Canary
from tests.attacks.host import Host, Watch, jailed, processor_seconds
from tests.attacks.supervisor import Supervisor
from tests.patience import PATIENCE_SECONDS


def test_rlimits_cannot_be_raised(contain: Callable[[Attack], Outcome]) -> None:
    """Whatever setrlimit said, the memory limit still has to hold afterwards."""
    code = """
import os, resource
for name in (n for n in dir(resource) if n.startswith("RLIMIT_")):
    number = getattr(resource, name)
    hard = resource.getrlimit(number)[1]
    for pid in (0, os.getppid(), 1):
        for value in ((resource.RLIM_INFINITY,) * 2, (hard, resource.RLIM_INFINITY)):
            try:
                resource.prlimit(pid, number, value)
            except (OSError, ValueError):
                continue
            if hard != resource.RLIM_INFINITY:
                print("raised", name, "of", pid)
hog = []
while True:
    hog.append(bytearray(b"x" * (1 << 20)))
"""
    outcome = contain(Attack(name="rlimits", code=code, expect=("memory_limit",)))
    assert "raised" not in outcome.stdout


def test_limits_of_others_cannot_be_lowered(contain: Callable[[Attack], Outcome]) -> None:
    code = (
        ATTEMPT
        + """
import os, resource
for pid in {1, os.getppid() or 1, canary["supervisor"]}:  # 0 would be ourselves
    for number in (resource.RLIMIT_NOFILE, resource.RLIMIT_CPU, resource.RLIMIT_CORE):
        attempt((pid, number), lambda: resource.prlimit(pid, number, (0, 0)))
    attempt(pid, lambda: os.setpriority(os.PRIO_PROCESS, pid, 19))
    attempt((pid, "affinity"), lambda: os.sched_setaffinity(pid, {0}))
attempt("by uid", lambda: os.setpriority(os.PRIO_USER, 0, -1))
result = won
"""
    )
    contain(Attack(name="others", code=code, check=nothing_won))


def _scheduling() -> list[tuple[int, int, int]]:
    """(niceness, policy, real-time priority) of every jailed process, from the kernel's own table."""
    found = []
    for pid in jailed():
        try:
            fields = Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(")")[2].split()
        except (FileNotFoundError, ProcessLookupError):
            continue  # it ended while we looked
        found.append((int(fields[16]), int(fields[38]), int(fields[37])))
    return found


def test_priority_cannot_be_raised(contain: Callable[[Attack], Outcome]) -> None:
    code = """
import ctypes, os, time
libc = ctypes.CDLL(None)
for step in (lambda: os.nice(-20), lambda: os.setpriority(os.PRIO_PROCESS, 0, -20),
             lambda: os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(50)),
             lambda: os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(1)),
             lambda: libc.syscall(251, 1, 0, 1 << 13 | 0)):  # ioprio_set: real-time
    try:
        step()
    except OSError:
        pass
time.sleep(0.5)
"""
    with Watch(_scheduling) as watch:
        contain(Attack(name="priority", code=code))
    for niceness, policy, priority in {row for rows in watch.seen for row in rows}:
        assert niceness >= 0
        assert policy in (0, 3, 5), "not SCHED_OTHER, BATCH or IDLE"
        assert priority == 0


@pytest.mark.skipif(os.cpu_count() == 1, reason="one processor cannot be exceeded")
def test_one_cpu_stays_one_cpu(contain: Callable[[Attack], Outcome]) -> None:
    """Eight burners that ask for every processor get one between them, by the host's own count."""
    code = """
import os
try:
    os.sched_setaffinity(0, range(os.cpu_count()))
except OSError:
    pass
for _ in range(8):
    if os.fork() == 0:
        try:
            os.sched_setaffinity(0, range(os.cpu_count()))
        except OSError:
            pass
        while True:
            pass
while True:
    pass
"""
    before = processor_seconds()
    with Watch(processor_seconds) as watch:
        outcome = contain(Attack(name="cpus", code=code, expect=("timeout",), limits=limits(wall_seconds=2.0)))
    used = max(sum(seconds - before.get(pid, 0) for pid, seconds in seen.items()) for seen in watch.seen)
    assert used < 2.0 * 1.35, f"{used:.1f} s of processor time in 2 s on one processor"
    assert outcome.usage.cpu_ms < 2000 * 1.35


CRASHES = {
    "abort": ("import os\nos.abort()", signal.SIGABRT),
    "segfault": ("import ctypes\nctypes.string_at(0)", signal.SIGSEGV),
    "quit": ("import os\nos.kill(os.getpid(), 3)", signal.SIGQUIT),
}


@pytest.mark.parametrize("how", CRASHES)
def test_no_core_is_dumped(contain: Callable[[Attack], Outcome], how: str) -> None:
    crash, number = CRASHES[how]
    raise_core = """
import ctypes, resource
try:
    resource.setrlimit(resource.RLIMIT_CORE, (-1, -1))
except (OSError, ValueError):
    pass
ctypes.CDLL(None).prctl(4, 1, 0, 0, 0)  # PR_SET_DUMPABLE
secret = "x" * 1_000_000
"""
    places = [
        Path.cwd(),
        Path("/tmp"),
        Path("/var/crash"),
        Path("/var/lib/systemd/coredump"),
        Path("/cores"),
        Path("/"),
    ]
    before = {path for place in places for path in place.glob("core*")}
    outcome = contain(Attack(name=how, code=raise_core + crash, expect=("signal",)))
    assert outcome.signal == number
    assert {path for place in places for path in place.glob("core*")} == before
    assert not outcome.artifacts


def test_a_misleading_process_name_hides_nothing(contain: Callable[[Attack], Outcome]) -> None:
    """Readers of /proc/<pid>/stat who split at the wrong bracket would see a zombie that uses no time."""
    code = """
import ctypes, os
libc = ctypes.CDLL(None)
for _ in range(3):
    os.fork()
libc.prctl(15, b") Z 0 0 0 0\\n", 0, 0, 0)
while True:
    pass
"""
    tight = limits(wall_seconds=8, cpu_seconds=0.5)
    contain(Attack(name="name", code=code, expect=("cpu_limit",), limits=tight))


def test_closing_every_descriptor_hides_nothing(contain: Callable[[Attack], Outcome]) -> None:
    code = "import os\nos.closerange(0, 65536)\nwhile True: pass"
    contain(Attack(name="closed", code=code, expect=("timeout",), limits=limits(wall_seconds=1)))


# Three daemons under the program, all deaf, in sessions of their own, without a PDEATHSIG.
HIDDEN = (
    IGNORE_ALL
    + """
libc = ctypes.CDLL(None)
program = os.getpid()
for _ in range(3):
    if os.fork() == 0:
        os.setsid()
        if os.fork() > 0:
            os._exit(0)
        break
libc.prctl(1, 0, 0, 0, 0)   # PR_SET_PDEATHSIG: none
libc.prctl(4, 1, 0, 0, 0)   # PR_SET_DUMPABLE
if os.getpid() == program:
    time.sleep(0.2)
    print("ready", flush=True)
else:
    time.sleep(0.4)
while True:
"""
)

OUTLIVE = {
    "asleep": "    time.sleep(60)",
    "busy": "    pass",
    "forking": "    try:\n        os.fork()\n    except OSError:\n        pass",
    "writing": "    os.write(1, b'x' * 1000)\n    open('/tmp/x', 'w').write('x' * 100_000)",
}


@pytest.mark.container_sample(
    "forking-SIGKILL", "asleep-SIGTERM",
    why="the end of its input is all that a container hears",
)  # fmt: skip
@pytest.mark.parametrize("end", [signal.SIGKILL, signal.SIGTERM], ids=lambda s: s.name)
@pytest.mark.parametrize("how", OUTLIVE)
def test_nobody_outlives_the_supervisor(
    backend: str, sandbox: Sandbox, canary: Canary, how: str, end: signal.Signals
) -> None:
    """The guest has cleared its PDEATHSIG and is deaf; then its supervisor is killed."""
    before = Host.settled()
    with Supervisor(backend, HIDDEN + OUTLIVE[how], limits(wall_seconds=60)) as supervisor:
        supervisor.ready()
        supervisor.kill(end)
        supervisor.assert_family_gone()
    before.assert_same_after()
    assert_serves(sandbox)
    canary.untouched()


def test_a_client_that_goes_away_leaves_nothing(sandbox: Sandbox) -> None:
    """A thread that runs a job is of no more use to its owner; the job is cancelled and gone."""
    before = Host.settled()
    cancel, started = Cancel(), threading.Event()
    ends: list[Outcome] = []
    code = IGNORE_ALL + "os.fork()\nprint('ready', flush=True)\nwhile True: time.sleep(60)"
    job = Job(code=code, limits=limits(wall_seconds=30))
    thread = threading.Thread(
        target=lambda: ends.append(sandbox.run(job, on_output=lambda *_: started.set(), cancel=cancel))
    )
    thread.start()
    assert started.wait(PATIENCE_SECONDS)
    cancel.set()
    thread.join(PATIENCE_SECONDS)
    cancel.close()
    assert [outcome.status for outcome in ends] == ["cancelled"]
    assert "ready" in ends[0].stdout
    before.assert_same_after()
    assert_serves(sandbox)
    assert run_promptly(sandbox, Job(code="result = 1", limits=QUICK)).ok
