"""Hiding: a program that uses more than it may, and tries to keep whoever counts from seeing it."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from ringfence import Job, Outcome
from ringfence.sandbox import Sandbox

from tests.attacks.attack import QUICK, Attack, limits, run_promptly
from tests.attacks.beside import beside

HOARD = """
import ctypes, os, threading, time
def hoard():
    kept = []
    for _ in range(9):
        kept.append(b"x" * (10 << 20))
        time.sleep(0.02)
    time.sleep(6)
"""

MEMORY = (
    Attack(
        name="undumpable",
        code=HOARD
        + "ctypes.CDLL(None).prctl(4, 0, 0, 0, 0)\nfor _ in range(4):\n    if os.fork() == 0: hoard()\ntime.sleep(8)",
        expect=("memory_limit",),
        limits=limits(memory_mb=64, wall_seconds=30),
    ),
    Attack(
        name="without_a_first_thread",
        code=HOARD + "threading.Thread(target=hoard).start()\nctypes.CDLL(None).syscall(__import__('platform')"
        ".machine() == 'x86_64' and 60 or 93, 0)",
        expect=("memory_limit",),
        limits=limits(memory_mb=64, wall_seconds=30),
    ),
    Attack(
        name="behind_a_program_that_nobody_may_read",
        code="import os, shutil, sys\nshutil.copy(os.path.realpath(sys.executable), '/job/python')\n"
        "os.chmod('/job/python', 0o111)\nos.environ['PYTHONHOME'] = sys.base_prefix\n"
        f"os.execv('/job/python', ['python', '-c', {HOARD + 'hoard()'!r}])",
        expect=("memory_limit", "error", "exit"),
        limits=limits(memory_mb=64, wall_seconds=30, disk_mb=32),
    ),
)  # fmt: skip

# Nobody waits for these children, and each is gone before anybody has looked twice.
CHILDREN = """
import ctypes, os, signal, time
{ignore}
end = time.monotonic() + 20
while time.monotonic() < end:
    child = os.fork()
    if child == 0:
        until = time.process_time() + 0.02
        while time.process_time() < until: pass
        os._exit(0)
    try:
        os.waitpid(child, 0)
    except ChildProcessError:
        pass
"""
NO_WAIT = """
class Action(ctypes.Structure):
    _fields_ = [("handler", ctypes.c_void_p), ("mask", ctypes.c_ulong * 16), ("flags", ctypes.c_int),
                ("restorer", ctypes.c_void_p)]
ctypes.CDLL(None).sigaction(17, ctypes.byref(Action(None, (ctypes.c_ulong * 16)(), 2, None)), None)  # SA_NOCLDWAIT
"""
TIME = tuple(
    Attack(
        name=name,
        code=CHILDREN.format(ignore=ignore),
        expect=("cpu_limit",),
        limits=limits(cpu_seconds=1, wall_seconds=30),
    )
    for name, ignore in (
        ("children_that_are_ignored", "signal.signal(signal.SIGCHLD, signal.SIG_IGN)"),
        ("children_that_leave_nothing", NO_WAIT),
    )
)  # fmt: skip


@pytest.mark.parametrize("attack", [*MEMORY, *TIME], ids=lambda attack: attack.name)
def test_what_is_hidden_counts(contain: Callable[[Attack], Outcome], attack: Attack) -> None:
    contain(attack)


IN_FLIGHT = """
import array, socket, time
held = []
try:
    while len(held) < 100:
        a, b = socket.socketpair()
        a.setblocking(False)
        held += [a, b]
        a.sendmsg([b"x"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [0] * 250))])
except OSError as e:
    result = e.errno
print("go", flush=True)
time.sleep(3)
"""


def test_descriptors_in_flight_keep_no_job_from_starting(sandbox: Sandbox) -> None:
    """The kernel counts them by user, and an ordinary user's jobs have one in common."""
    with beside(sandbox, Job(code=IN_FLIGHT, limits=QUICK), Job(code=IN_FLIGHT, limits=QUICK)):
        for disk_mb in (5, 6):  # no parked child is of that shape
            outcome = run_promptly(sandbox, Job(code="result = 1", limits=limits(disk_mb=disk_mb)))
            assert outcome.result == 1, outcome.reason
