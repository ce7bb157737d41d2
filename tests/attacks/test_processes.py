"""Processes: bombs, daemons, orphans that hold on, signals, and exec."""

from __future__ import annotations

import os
import subprocess
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from ringfence import Outcome
from ringfence.sandbox.outcome import Status

from tests.attacks.attack import IGNORE_ALL, QUICK, Attack, limits
from tests.attacks.backends import user_of
from tests.attacks.host import Watch, contained, jailed

# A parked child, its init and the run's own init are no processes of the attack.
MACHINERY = 8

BOMBS = {
    "fork": "import os\nwhile True:\n    os.fork()",
    "fork_and_hide_errors": """
import os
while True:
    try:
        os.setsid() if os.fork() == 0 else None
    except OSError:
        pass
""",
    "shell": "import os\nos.system('bomb() { bomb | bomb & }; bomb; while :; do :; done')",
    "spawned_interpreters": """
import subprocess, sys
code = "import subprocess, sys\\nwhile True: subprocess.Popen([sys.executable, '-c', sys.argv[1], sys.argv[1]])"
while True:
    try:
        subprocess.Popen([sys.executable, "-c", code, code])
    except OSError:
        pass
""",
    "raw_clone": """
import ctypes
libc = ctypes.CDLL(None)
while True:
    libc.syscall(56, 17, 0, 0, 0, 0)  # clone(SIGCHLD), past every at-fork hook
""",
}


@pytest.mark.parametrize("how", BOMBS)
def test_fork_bombs(contain: Callable[[Attack], Outcome], how: str) -> None:
    # A shell that cannot fork any more may give up, and then all is well.
    ends: tuple[Status, ...] = ("timeout", "process_limit", "memory_limit", "cpu_limit", "error", "ok")
    with Watch(lambda: _crowd(dict.fromkeys(jailed(), 1))) as watch:
        contain(Attack(name=how, code=BOMBS[how], expect=ends, limits=limits(wall_seconds=1.0)))
    assert max(watch.seen) <= QUICK.processes + MACHINERY


def _threads() -> int:
    tasks = {}
    for pid in jailed():
        try:
            tasks[pid] = len(os.listdir(f"/proc/{pid}/task"))
        except (FileNotFoundError, ProcessLookupError):
            pass  # it ended while we looked
    return _crowd(tasks)


def _crowd(tasks: dict[int, int]) -> int:
    """All of them together; in containers, each of which has a user id of its own, the fullest one."""
    total: Counter[str] = Counter()
    inside, about = contained(), jailed()
    for pid, count in tasks.items():
        total[about[pid].split()[0] if pid in inside and pid in about else ""] += count
    return max(total.values(), default=0)


def test_thread_bomb(contain: Callable[[Attack], Outcome]) -> None:
    code = """
import threading, time
while True:
    try:
        threading.Thread(target=time.sleep, args=(60,), daemon=True).start()
    except RuntimeError:
        time.sleep(0.001)
"""
    with Watch(_threads) as watch:
        contain(Attack(name="threads", code=code, expect=("timeout",), limits=limits(wall_seconds=1.0)))
    assert max(watch.seen) <= QUICK.processes + MACHINERY


def test_a_thread_bomb_that_fails_is_told_apart(contain: Callable[[Attack], Outcome]) -> None:
    code = "import threading, time\nwhile True: threading.Thread(target=time.sleep, args=(60,), daemon=True).start()"
    contain(Attack(name="threads_uncaught", code=code, expect=("process_limit",)))


# Each leaves something running and then ends by itself; the wall limit is far away.
LEFTOVERS = {
    "double_forked_daemon": """
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        os.chdir("/")
        os.closerange(0, 1024)
        while True:
            time.sleep(60)
    os._exit(0)
os.wait()
""",
    "orphan_holding_stdout": """
if os.fork() == 0:
    time.sleep(60)
print("done", flush=True)
""",
    "orphan_writing_to_stdout": """
if os.fork() == 0:
    while True:
        os.write(1, b"still here\\n")
        time.sleep(0.01)
""",
    "orphan_holding_every_descriptor": """
if os.fork() == 0:
    for fd in range(64):
        try:
            os.dup2(fd, 100 + fd)
        except OSError:
            pass
    time.sleep(60)
""",
    "background_shell": """
os.system("nohup sh -c 'trap : HUP TERM INT; while :; do sleep 60; done' >/dev/null 2>&1 &")
""",
    "subreaper": """
ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)
for _ in range(5):
    if os.fork() == 0:
        if os.fork() == 0:
            time.sleep(60)
        os._exit(0)
""",
    "unjoined_pool": """
import multiprocessing
pool = multiprocessing.get_context("fork").Pool(3)
pool.apply_async(time.sleep, (60,))
os._exit(0)
""",
    "stopped_children": """
for _ in range(4):
    if os.fork() == 0:
        os.kill(os.getpid(), signal.SIGSTOP)
time.sleep(0.1)
""",
    "zombie_farm": """
for _ in range(12):
    if os.fork() == 0:
        if os.fork() == 0:
            os._exit(0)
        os._exit(0)
time.sleep(0.1)
""",
    "busy_children": """
for _ in range(4):
    if os.fork() == 0:
        while True:
            pass
""",
}


@pytest.mark.container_sample(
    "double_forked_daemon",
    "orphan_holding_stdout",
    "subreaper",
    "zombie_farm",
    why="the keeper is the parent of them all",
)
@pytest.mark.parametrize("how", LEFTOVERS)
def test_nothing_stays_behind(contain: Callable[[Attack], Outcome], how: str) -> None:
    """Nor does the answer wait for what the program left behind: its time would be up."""
    contain(Attack(name=how, code=IGNORE_ALL + LEFTOVERS[how], expect=("ok", "exit"), limits=limits(wall_seconds=20)))


@pytest.fixture
def decoy(backend: str) -> Iterator[subprocess.Popen[bytes]]:
    """A process of the host, under the supervisor's uid, that no guest may signal."""
    process = subprocess.Popen(["sleep", "600"], user=user_of(backend))
    yield process
    process.kill()
    process.wait()


SIGNALS = [
    Attack(name="kill_everyone", code="import os\nos.kill(-1, 9)", expect=("ok", "error", "signal", "exit")),
    Attack(
        name="kill_everyone_from_a_child",
        code="import os, time\nif os.fork() == 0:\n    os.kill(-1, 9)\n    os._exit(0)\ntime.sleep(60)",
        expect=("signal",),
    ),
    Attack(name="kill_the_group", code="import os\nos.killpg(0, 9)", expect=("signal",)),
    Attack(
        name="kill_init",
        code="""
import os, signal
for n in range(1, 65):
    for pid in (1, os.getppid()):
        try:
            os.kill(pid, n)
        except OSError:
            pass
result = "alive"
""",
        expect=("ok", "signal", "error", "exit"),
    ),
    Attack(
        name="kill_every_pid",
        code="""
import os
for pid in [canary["supervisor"], *range(1, 40_000)]:
    if pid != os.getpid():
        for n in (19, 9):
            try:
                os.kill(pid, n)
            except OSError:
                pass
""",
        expect=("ok", "signal", "error", "exit"),
    ),
    Attack(
        name="signals_through_pidfds_and_queues",
        code="""
import ctypes, os, signal
libc = ctypes.CDLL(None)
info = ctypes.create_string_buffer(128)
for pid in (1, os.getppid(), canary["supervisor"]):
    try:
        signal.pidfd_send_signal(os.pidfd_open(pid), 9)
    except OSError:
        pass
    libc.syscall(129, pid, 9, info)       # rt_sigqueueinfo
    libc.syscall(234, pid, pid, 9)        # tgkill
    libc.syscall(200, pid, 9)             # tkill
""",
        expect=("ok", "signal", "error", "exit"),
    ),
    Attack(
        name="owner_signals_by_descriptor",
        code="""
import fcntl, os, signal
r, w = os.pipe()
for owner in (1, -1, canary["supervisor"], -canary["supervisor"]):
    try:
        fcntl.fcntl(r, fcntl.F_SETSIG, 9)
        fcntl.fcntl(r, fcntl.F_SETOWN, owner)
        fcntl.fcntl(r, fcntl.F_SETFL, os.O_ASYNC | os.O_NONBLOCK)
    except (OSError, AttributeError):
        continue
    os.write(w, b"x")
""",
        expect=("ok", "signal", "error", "exit"),
    ),
    Attack(
        name="pids_used_again",
        code="""
import os, signal
for _ in range(1500):
    pid = os.fork()
    if pid == 0:
        os._exit(0)
    os.waitpid(pid, 0)
    try:
        os.kill(pid, 9)
    except OSError:
        pass
for pid in range(2, 4000):
    if pid != os.getpid():
        try:
            os.kill(pid, 9)
        except OSError:
            pass
""",
        expect=("ok", "signal", "error"),
        limits=limits(wall_seconds=15),
    ),
    Attack(
        name="stops_itself",
        code="import os\nos.kill(os.getpid(), 19)",
        expect=("timeout",),
        limits=limits(wall_seconds=1),
    ),
    Attack(
        name="is_stopped_by_its_child",
        code="""
import os, time
parent = os.getpid()
if os.fork() == 0:
    while True:
        os.kill(parent, 19)
        os.kill(0, 19)
time.sleep(60)
""",
        expect=("timeout",),
        limits=limits(wall_seconds=1),
    ),
]


@pytest.mark.container_sample(
    "kill_everyone",
    "kill_init",
    "signals_through_pidfds_and_queues",
    "stops_itself",
    why="a pid namespace is the same everywhere",
)
@pytest.mark.parametrize("attack", SIGNALS, ids=lambda a: a.name)
def test_signals_stay_inside(
    contain: Callable[[Attack], Outcome], decoy: subprocess.Popen[bytes], attack: Attack
) -> None:
    contain(attack)
    assert decoy.poll() is None, "a process of the host was signalled"
    assert "T" not in Path(f"/proc/{decoy.pid}/stat").read_text().split()[2], "a process of the host was stopped"


EXECS = [
    Attack(
        name="endless_shell",
        code="import os\nos.execv('/bin/sh', ['sh', '-c', 'while :; do :; done'])",
        expect=("timeout",),
        limits=limits(wall_seconds=1),
    ),
    Attack(
        name="deaf_shell",
        code="import os\nos.execv('/bin/sh', ['sh', '-c', 'trap \"\" TERM INT HUP; sleep 60'])",
        expect=("timeout",),
        limits=limits(wall_seconds=1),
    ),
    Attack(
        name="itself_for_ever",
        code="""
import os, sys
again = "import os, sys; os.execv(sys.executable, sys.orig_argv)"
os.execv(sys.executable, [sys.executable, "-c", again])
""",
        expect=("timeout",),
        limits=limits(wall_seconds=1),
    ),
    Attack(
        name="a_binary_of_its_own",
        code="""
import os, shutil
shutil.copy("/bin/sleep", "/job/mine")
os.execv("/job/mine", ["mine", "60"])
""",
        expect=("timeout", "error"),
        limits=limits(wall_seconds=1),
    ),
    Attack(
        name="a_binary_in_memory",
        code="""
import os
fd = os.memfd_create("x")
os.write(fd, open("/bin/sleep", "rb").read())
os.execve(fd, ["sleep", "60"], {})
""",
        expect=("timeout", "error"),
        limits=limits(wall_seconds=1),
    ),
    Attack(
        name="setuid_helpers",
        code="""
import os, subprocess
for tool in ("su", "sudo", "mount", "passwd", "newgrp", "chfn", "ping", "newuidmap", "pkexec", "unix_chkpwd"):
    for folder in ("/bin", "/usr/bin", "/sbin", "/usr/sbin"):
        try:
            subprocess.run([f"{folder}/{tool}", "-c", "id; cat " + canary["private"]], timeout=1, input=b"")
        except (OSError, subprocess.TimeoutExpired):
            pass
print(os.getresuid())
""",
        limits=limits(wall_seconds=15),
    ),
]


@pytest.mark.parametrize("attack", EXECS, ids=lambda a: a.name)
def test_exec_changes_nothing(contain: Callable[[Attack], Outcome], attack: Attack) -> None:
    contain(attack)
