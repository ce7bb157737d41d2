"""Between two cells of a session nobody waits and no clock runs: nothing of the program may run then, or grow."""

from __future__ import annotations

import time

import pytest

from ringfence.base.errors import SandboxError
from ringfence.sandbox import Sandbox

from tests.attacks.attack import limits

# `beats` counts while the program runs; each way below has somebody who would wake it when it was stopped.
BEATS = """
import ctypes, os, signal, threading, time
signal.signal(signal.SIGCONT, lambda *_: None)  # some kernels drop a timer whose signal nobody takes
beats = 0
def beat():
    global beats
    while True:
        beats += 1
        time.sleep(0.001)
threading.Thread(target=beat, daemon=True).start()
"""
WAKERS = {
    "timer": """
class Event(ctypes.Structure):
    _fields_ = [("value", ctypes.c_void_p), ("signo", ctypes.c_int), ("notify", ctypes.c_int),
                ("pad", ctypes.c_char * 64)]
librt, timer = ctypes.CDLL(None), ctypes.c_void_p()
librt.timer_create(0, ctypes.byref(Event(None, signal.SIGCONT, 0)), ctypes.byref(timer))
librt.timer_settime(timer, 0, (ctypes.c_long * 4)(0, 5_000_000, 0, 5_000_000), None)
""",
    "descriptor": """
import fcntl
r, w = os.pipe()
try:
    fcntl.fcntl(r, fcntl.F_SETSIG, signal.SIGCONT)
    fcntl.fcntl(r, fcntl.F_SETOWN, os.getpid())
    fcntl.fcntl(r, fcntl.F_SETFL, os.O_ASYNC | os.O_NONBLOCK)
except OSError:
    pass
""",
    "children_that_wake_each_other": """
main = os.getpid()
for _ in range(3):
    if os.fork() == 0:
        while True:
            for pid in range(2, 60):
                try:
                    os.kill(pid, signal.SIGCONT)
                except OSError:
                    pass
""",
    "the_end_of_a_child": """
libc = ctypes.CDLL(None)
for i in range(20):
    if libc.syscall(56, signal.SIGCONT, 0, 0, 0, 0) == 0:
        time.sleep(0.02 * i)
        os._exit(0)
""",
}  # fmt: skip


@pytest.mark.container_sample("timer", "children_that_wake_each_other", why="both ways of being woken")
@pytest.mark.parametrize("waker", WAKERS)
def test_nothing_runs_between_cells(sandbox: Sandbox, waker: str) -> None:
    """It stays where it was, or the session is ended and says so."""
    with sandbox.open_session(limits=limits(wall_seconds=30)) as session:
        assert session.run(BEATS + WAKERS[waker]).ok
        before = session.run("beats")
        time.sleep(1.5)
        try:
            after = session.run("beats")
        except SandboxError:
            return
        assert isinstance(before.result, int) and isinstance(after.result, int)
        assert after.result - before.result < 300, "it ran on: 1,500 beats are about all there is time for"


def test_memory_is_bounded_between_cells(sandbox: Sandbox) -> None:
    grow = """
import threading, time
hoard = []
def grow():
    while len(hoard) < 60:
        hoard.append(b"x" * (10 << 20))
        time.sleep(0.01)
threading.Thread(target=grow, daemon=True).start()
"""
    with sandbox.open_session(limits=limits(memory_mb=100, wall_seconds=30)) as session:
        assert session.run(BEATS + WAKERS["timer"] + grow).ok
        time.sleep(1.5)
        try:
            held = session.run("len(hoard)")
        except SandboxError:
            return
        assert held.status == "memory_limit" or (isinstance(held.result, int) and held.result <= 10), held
