"""Time: every way to run on after the clock says stop."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest

from ringfence import Job, Outcome
from ringfence.sandbox import Sandbox
from ringfence.sandbox.outcome import Status

from tests.attacks.attack import IGNORE_ALL, Attack, assert_serves, limits, run_attack, run_promptly
from tests.attacks.canary import Canary
from tests.attacks.host import Host, Watch, jailed, processor_seconds

SHORT = limits(wall_seconds=0.7)

ENDLESS = {
    "busy_loop": "while True: pass",
    "sleep": "import time\ntime.sleep(3600)",
    "pause": "import signal\nwhile True: signal.pause()",
    "lock": "import threading\nlock = threading.Lock()\nlock.acquire()\nlock.acquire()",
    "select_on_nothing": "import select\nwhile True: select.select([], [], [])",
    "wait_for_a_child": "import os, time\nif os.fork() == 0: time.sleep(3600)\nos.wait()",
    "fifo_without_a_writer": "import os\nos.mkfifo('f')\nopen('f').read()",
    "busy_threads": """
import threading
def burn():
    while True: pass
for _ in range(8): threading.Thread(target=burn).start()
""",
    "ignored_signals": IGNORE_ALL + "while True: time.sleep(60)",
    "blocked_signals": """
import signal
signal.pthread_sigmask(signal.SIG_BLOCK, range(1, 65))
while True: signal.sigtimedwait(range(1, 32), 60)
""",
    "handled_signals": """
import signal, time
for n in (signal.SIGTERM, signal.SIGINT, signal.SIGALRM, signal.SIGHUP, signal.SIGXCPU, signal.SIGUSR1):
    signal.signal(n, lambda *_: None)
while True: time.sleep(60)
""",
    "cancelled_alarms": """
import resource, signal
while True:
    signal.alarm(0)
    for timer in (signal.ITIMER_REAL, signal.ITIMER_VIRTUAL, signal.ITIMER_PROF):
        signal.setitimer(timer, 0)
""",
    "storm_of_timers": """
import signal
signal.signal(signal.SIGALRM, lambda *_: None)
signal.setitimer(signal.ITIMER_REAL, 1e-6, 1e-6)
while True: pass
""",
    "c_call_that_holds_the_gil": "import ctypes\nctypes.PyDLL(None).sleep(3600)",
    "c_loop_that_holds_the_gil": "import itertools\nsum(itertools.repeat(1))",
    "large_power": "x = 9 ** 9 ** 9",
    "catastrophic_regex": "import re\nre.match(r'(a+)+$', 'a' * 64 + 'b')",
    "catastrophic_comparison": "a = []\nb = []\nfor _ in range(60): a, b = [a, a], [b, b]\na == b",
    "swallowed_interrupts": """
import time
while True:
    try:
        while True: time.sleep(60)
    except BaseException:
        continue
""",
    "atexit_hang": "import atexit, time\natexit.register(time.sleep, 3600)",
    "atexit_that_comes_back": """
import atexit
def again():
    atexit.register(again)
    while True: pass
again_ = atexit.register(again)
""",
    "del_hang": """
class Slow:
    def __del__(self):
        while True: pass
slow = Slow()
slow.self = slow
""",
    "thread_that_is_never_joined": "import threading, time\nthreading.Thread(target=time.sleep, args=(3600,)).start()",
    "excepthook_hang": """
import sys, time
sys.excepthook = lambda *_: time.sleep(3600)
raise ValueError
""",
    "slow_repr_of_the_error": """
import time
class Slow(Exception):
    def __str__(self):
        while True: time.sleep(60)
    __repr__ = __str__
raise Slow
""",
    "slow_result": """
class Slow(dict):
    def items(self):
        while True: pass
    __iter__ = keys = __len__ = __repr__ = __reduce__ = items
result = Slow(a=1)
""",
    "slow_exit_code": """
class Slow:
    def __str__(self):
        while True: pass
    __int__ = __index__ = __repr__ = __str__
raise SystemExit(Slow())
""",
    "endless_generator_as_result": "import itertools\nresult = itertools.count()",
    "trace_function": "import sys\ndef trace(*_):\n    while True: pass\nsys.settrace(trace)\n(lambda: 1)()",
    "decompression": "import zlib\nd = zlib.compress(bytes(1 << 20))\nwhile True: zlib.decompress(d)",
    "kernel_time": "f = open('/dev/urandom', 'rb', buffering=0)\nwhile True: f.read(1 << 20)",
}

# These may also fail before the clock runs out, without any harm.
MAY_FAIL: dict[str, tuple[Status, ...]] = {
    "large_power": ("timeout", "memory_limit", "error"),
    "slow_result": ("timeout", "ok", "error"),
    "slow_exit_code": ("timeout", "exit", "error"),
    "slow_repr_of_the_error": ("timeout", "error"),
    "excepthook_hang": ("timeout", "error"),
    "del_hang": ("timeout", "ok"),
    "atexit_that_comes_back": ("timeout", "ok"),
    "atexit_hang": ("timeout", "ok"),
    "endless_generator_as_result": ("timeout", "error"),
}


@pytest.mark.container_sample(
    "busy_loop",
    "ignored_signals",
    "c_call_that_holds_the_gil",
    "kernel_time",
    why="one clock of the host stops them all",
)
@pytest.mark.parametrize("how", ENDLESS)
def test_the_clock_runs_out(contain: Callable[[Attack], Outcome], how: str) -> None:
    ends = MAY_FAIL.get(how, ("timeout",))
    outcome = contain(Attack(name=how, code=ENDLESS[how], expect=ends, limits=SHORT))
    assert outcome.usage.wall_ms < 10_000
    if outcome.status == "timeout":
        assert outcome.usage.wall_ms >= 690


BURNERS = {
    "one_process": "while True: pass",
    "system_time": "import os\nwhile True: os.urandom(1 << 20)",
    "threads": """
import hashlib, threading
def burn():
    while True: hashlib.sha256(bytes(1 << 20)).digest()
for _ in range(4): threading.Thread(target=burn).start()
""",
    "ignored_xcpu": "import signal\nsignal.signal(signal.SIGXCPU, signal.SIG_IGN)\nwhile True: pass",
    "parallel_children": """
import os
for _ in range(6):
    if os.fork() == 0:
        while True: pass
while True: os.wait()
""",
    "relay": """
import os, time
while True:
    pid = os.fork()
    if pid == 0:
        end = time.process_time() + 0.05
        while time.process_time() < end: pass
        os._exit(0)
    os.waitpid(pid, 0)
""",
    "relay_of_orphans": """
import os, time
def run():
    end = time.process_time() + 0.05
    while time.process_time() < end: pass
    if os.fork() == 0:
        run()
    os._exit(0)
if os.fork() == 0:
    os.setsid()
    run()
time.sleep(60)
""",
    "relay_of_execs": """
import os, sys
code = "import os, sys, time\\nwhile time.process_time() < 0.1: pass\\nif os.fork(): os._exit(0)\\n"
code += "os.execv(sys.executable, [sys.executable, '-c', sys.argv[1], sys.argv[1]])"
if os.fork() == 0:
    os.execv(sys.executable, [sys.executable, "-c", code, code])
import time
time.sleep(60)
""",
    "unreaped_children": """
import os, time
for _ in range(20):
    if os.fork() == 0:
        end = time.process_time() + 0.1
        while time.process_time() < end: pass
        os._exit(0)
time.sleep(60)
""",
}


@pytest.mark.container_sample(
    "one_process", "parallel_children", "relay_of_orphans", why="one control group counts them all"
)
@pytest.mark.parametrize("how", BURNERS)
def test_processor_time_runs_out(contain: Callable[[Attack], Outcome], how: str) -> None:
    """No child, orphan or successor gets a fresh allowance. The wall limit is far away, so the timeout is no help."""
    tight = limits(wall_seconds=10, cpu_seconds=0.6)
    outcome = contain(Attack(name=how, code=BURNERS[how], expect=("cpu_limit",), limits=tight))
    assert outcome.usage.cpu_ms < 2500
    assert outcome.usage.wall_ms < 9500


def test_sleeping_costs_no_processor_time(contain: Callable[[Attack], Outcome]) -> None:
    code = "import os, time\nfor _ in range(5): os.fork()\ntime.sleep(1.2)"
    contain(Attack(name="asleep", code=code, limits=limits(cpu_seconds=0.9, processes=40)))


CLOCKS = {
    "patched_functions": """
import time
start = time.monotonic()
for name in ("time", "monotonic", "perf_counter", "process_time", "sleep", "monotonic_ns", "clock_gettime"):
    setattr(time, name, lambda *a: 0)
while True: pass
""",
    "set_clock": """
import ctypes, time
libc = ctypes.CDLL(None)
now = (ctypes.c_long * 2)(1, 1)
libc.settimeofday(now, None)
for clock in (0, 1, 7):
    libc.clock_settime(clock, now)
    try:
        time.clock_settime(clock, 0)
    except (OSError, ValueError):
        pass
libc.adjtimex(ctypes.create_string_buffer(b"\\xff" * 208, 208))
while True: pass
""",
}


@pytest.mark.parametrize("how", CLOCKS)
def test_clocks_cannot_be_turned(contain: Callable[[Attack], Outcome], how: str) -> None:
    offset = time.time() - time.monotonic()
    outcome = contain(Attack(name=how, code=CLOCKS[how], expect=("timeout",), limits=SHORT))
    assert abs(time.time() - time.monotonic() - offset) < 1, "the host's clock was turned"
    assert 690 <= outcome.usage.wall_ms < 10_000


DRIPS = {
    "stdout": "import time\nwhile True:\n    print('.', end='', flush=True)\n    time.sleep(0.02)",
    "stderr": "import os, time\nwhile True:\n    os.write(2, b'.')\n    time.sleep(0.02)",
    "from_a_child": """
import os, time
if os.fork() == 0:
    while True:
        os.write(1, b".")
        time.sleep(0.02)
time.sleep(60)
""",
}


@pytest.mark.parametrize("how", DRIPS)
def test_dripping_output_buys_no_time(contain: Callable[[Attack], Outcome], how: str) -> None:
    outcome = contain(Attack(name=how, code=DRIPS[how], expect=("timeout",), limits=SHORT))
    assert outcome.usage.wall_ms < 10_000
    assert "..." in outcome.stdout + outcome.stderr, "partial output is kept"


def test_everything_is_dead_when_the_answer_comes(sandbox: Sandbox) -> None:
    """The kill is confirmed before the answer: right then, no process of the run is left, not even for a moment."""
    idle = Host.settled()
    machinery = set(jailed())
    code = IGNORE_ALL + "for _ in range(4): os.fork()\nwhile True: pass"
    with Watch(lambda: set(jailed()), seconds=0.02) as watch:
        outcome = run_promptly(sandbox, Job(code=code, limits=SHORT))
        left = set(jailed())
    assert outcome.status == "timeout"
    busiest = max(watch.seen, key=len)
    assert len(busiest) >= 16, "the host saw the run"
    # A fresh parked child may be there already; the run's own children are not.
    fresh = len(machinery) + 2
    assert len(left) <= fresh, f"{len(left)} jailed processes right after the answer"
    idle.assert_same_after()


def test_a_session_cannot_swallow_the_interrupt_for_ever(sandbox: Sandbox, canary: Canary) -> None:
    before = Host.settled()
    with sandbox.open_session(limits=limits(wall_seconds=0.5)) as session:
        assert session.run("x = 1").ok
        outcome = session.run(
            "import time\nwhile True:\n    try:\n        while True: time.sleep(9)\n    except BaseException: pass"
        )
        assert outcome.status == "timeout"
        assert not session.alive
    before.assert_same_after()
    assert_serves(sandbox)
    canary.untouched()


def test_a_session_cannot_leave_a_thread_that_runs_on(sandbox: Sandbox, canary: Canary) -> None:
    before = Host.settled()
    with sandbox.open_session(limits=limits(wall_seconds=0.5)) as session:
        session.run(
            IGNORE_ALL + "import threading\nthreading.Thread(target=time.sleep, args=(3600,)).start()\nos.fork()"
        )
    before.assert_same_after()
    assert_serves(sandbox)
    canary.untouched()


def test_a_session_at_rest_uses_no_processor_time(sandbox: Sandbox) -> None:
    """Between cells nobody waits for the guest: what a cell left behind must not use the time until the next one."""
    before, parked = Host.settled(), sum(processor_seconds().values())
    with sandbox.open_session(limits=limits(wall_seconds=2.0, cpu_seconds=0.5)) as session:
        outcome = session.run(
            "import os\nfor _ in range(3):\n    if os.fork() == 0:\n        while True: pass\nresult = 1"
        )
        assert outcome.status in ("ok", "cpu_limit")
        time.sleep(3)
        used = sum(processor_seconds().values()) - parked
    assert used < 1.5, f"{used:.1f} s of processor time, with a limit of 0.5 s"
    before.assert_same_after()


def test_a_fork_that_falls_out_of_a_cell_does_not_answer_for_the_session(sandbox: Sandbox) -> None:
    before = Host.settled()
    with sandbox.open_session(limits=limits(wall_seconds=2.0)) as session:
        mine = session.run("import os\nresult = os.getpid()").result
        assert session.run("pid = os.fork()\nresult = os.getpid()").result == mine
        for n in range(3):
            outcome = session.run(f"result = [{n}, os.getpid()]")
            assert (outcome.status, outcome.result) == ("ok", [n, mine]), outcome
    before.assert_same_after()


def test_numeric_code_that_holds_the_gil(quant: Sandbox, canary: Canary) -> None:
    code = "import numpy as np\na = np.ones((3000, 3000))\nwhile True: a = a @ a"
    tight = limits(wall_seconds=1.0, memory_mb=512)
    run_attack(quant, canary, Attack(name="matmul", code=code, expect=("timeout",), limits=tight))
