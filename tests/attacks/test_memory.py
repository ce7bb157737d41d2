"""Memory: every way to take more than the limit, and every way to look as if one had."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import replace

import pytest

from ringfence import Outcome
from ringfence.sandbox import Sandbox
from ringfence.sandbox.outcome import Status

from tests.attacks.attack import QUICK, Attack, limits, memory_bound, run_attack
from tests.attacks.canary import Canary
from tests.attacks.containers import is_watched
from tests.attacks.host import Watch, jailed

SMALL = limits(memory_mb=96, wall_seconds=10)
ROOMY_DISK = limits(memory_mb=96, disk_mb=600, wall_seconds=10)
LIMIT = 96 << 20

GUEST = 64 << 20  # what a guest in a container takes before its job starts; on the host it is shared with all others

HOGS = [
    Attack(name="heap", code="hog = []\nwhile True: hog.append(bytearray(b'x' * (1 << 20)))", expect=("memory_limit",)),
    Attack(name="many_small_objects", code="hog = []\nwhile True: hog.append([{}])", expect=("memory_limit",)),
    Attack(name="one_long_string", code="s = 'x'\nwhile True: s += s", expect=("memory_limit", "error")),
    Attack(name="one_large_integer", code="x = 1 << (1 << 31)", expect=("memory_limit", "error")),
    Attack(
        name="anonymous_mmap",
        code="import mmap\nm = mmap.mmap(-1, 400 << 20)\nfor n in range(0, 400 << 20, 4096): m[n] = 1",
        expect=("memory_limit",),
    ),
    Attack(
        name="private_mmap",
        code="""
import mmap
m = mmap.mmap(-1, 400 << 20, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
m.madvise(mmap.MADV_HUGEPAGE)
for n in range(0, 400 << 20, 4096): m[n] = 1
""",
        expect=("memory_limit", "error"),
    ),
    Attack(
        name="huge_pages",
        code="import mmap\nm = mmap.mmap(-1, 400 << 20, flags=0x40022)\nm[0] = 1",  # MAP_HUGETLB
        expect=("error", "signal", "memory_limit"),
    ),
    Attack(
        name="locked_pages",
        code="""
import ctypes, mmap
libc = ctypes.CDLL(None)
libc.mlockall(7)
hog = []
while True: hog.append(mmap.mmap(-1, 1 << 20, flags=0x2022 | 0x8000))  # MAP_LOCKED, MAP_POPULATE
""",
        expect=("memory_limit", "error"),
    ),
    Attack(
        name="copied_file_mappings",
        code="""
import mmap, os, sys
hog = []
while True:
    with open(os.path.realpath(sys.executable), "rb") as f:
        m = mmap.mmap(f.fileno(), 0, access=mmap.ACCESS_COPY)
    for n in range(0, len(m), 4096): m[n] = 1
    hog.append(m)
""",
        expect=("memory_limit", "error"),
    ),
    Attack(
        name="page_tables",
        code="""
import mmap
hog = []
for _ in range(200):
    m = mmap.mmap(-1, 1 << 30, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | 0x4000)  # MAP_NORESERVE
    m.madvise(mmap.MADV_NOHUGEPAGE)
    hog.append(m)
    for n in range(0, 1 << 30, 2 << 20): m[n]  # a page table each, and only the zero page behind it
""",
        expect=("memory_limit", "error"),
    ),
    Attack(
        name="thread_stacks",
        code="""
import threading, time
threading.stack_size(64 << 20)
def dig():
    data = [bytes(5_000_000) + b"x" for _ in range(3)]
    time.sleep(60)
for _ in range(20): threading.Thread(target=dig).start()
""",
        expect=("memory_limit",),
    ),
    Attack(
        name="dev_shm",
        code="f = open('/dev/shm/hog', 'wb', buffering=0)\nfor _ in range(400): f.write(b'x' * (1 << 20))",
        expect=("memory_limit", "disk_limit"),
        limits=ROOMY_DISK,
    ),
    Attack(
        name="scratch_files",
        code="""
for n in range(400):
    open(f"{('/job', '/tmp')[n % 2]}/{n}", "wb").write(b"x" * (1 << 20))
""",
        expect=("memory_limit", "disk_limit"),
        limits=ROOMY_DISK,
    ),
    Attack(
        name="shared_memory_segments",
        code="""
from multiprocessing import shared_memory
hog = []
for _ in range(40):
    s = shared_memory.SharedMemory(create=True, size=10 << 20)
    s.buf[:] = b"x" * len(s.buf)
    hog.append(s)
""",
        expect=("memory_limit", "disk_limit"),
        limits=ROOMY_DISK,
    ),
    Attack(
        name="memfd",
        code="""
import os
fd = os.memfd_create("hog")
for _ in range(400): os.write(fd, b"x" * (1 << 20))
""",
        expect=("memory_limit", "error"),
    ),
    Attack(
        name="system_v_shared_memory",
        code="""
import ctypes
libc = ctypes.CDLL(None, use_errno=True)
libc.shmat.restype = ctypes.c_void_p
taken = 0
while taken < 400:
    number = libc.shmget(taken + 1, 10 << 20, 0o1666)
    if number < 0:
        raise OSError(ctypes.get_errno(), "shmget")
    ctypes.memset(libc.shmat(number, None, 0), 1, 10 << 20)
    taken += 10
""",
        expect=("memory_limit", "error"),
    ),
    Attack(
        name="children_adding_up",
        code="""
import os, time
for _ in range(10):
    if os.fork() == 0:
        hog = bytearray(b"x" * (30 << 20))
        time.sleep(1)
        os._exit(0)
for _ in range(10): os.wait()
""",
        expect=("memory_limit",),
    ),
    Attack(
        name="copies_after_fork",
        code="""
import os, time
hog = bytearray(b"x" * (50 << 20))
for _ in range(4):
    if os.fork() == 0:
        for n in range(0, len(hog), 4096): hog[n] = 1
        time.sleep(60)
time.sleep(60)
""",
        expect=("memory_limit",),
    ),
    Attack(
        name="a_child_is_the_victim_and_the_parent_says_all_is_well",
        code="""
import os
if os.fork() == 0:
    hog = []
    while True: hog.append(bytearray(b"x" * (1 << 20)))
os.wait()
result = "all is well"
""",
        expect=("memory_limit",),
    ),
]

# Where RLIMIT_DATA refuses the memory, so that there is nothing to stop: the first threads sleep on.
REFUSED: Mapping[str, Status] = {"thread_stacks": "timeout"}


@pytest.mark.container_sample(
    "heap",
    "page_tables",
    "thread_stacks",
    "dev_shm",
    "memfd",
    "system_v_shared_memory",
    "children_adding_up",
    "a_child_is_the_victim_and_the_parent_says_all_is_well",
    why="one control group counts them all",
)
@pytest.mark.parametrize("attack", HOGS, ids=lambda a: a.name)
def test_hogs_are_stopped(contain: Callable[[Attack], Outcome], backend: str, attack: Attack) -> None:
    if backend == "native_user" and attack.name in REFUSED:
        attack = replace(attack, expect=(*attack.expect, REFUSED[attack.name]), limits=replace(SMALL, wall_seconds=3))
    with Watch(_largest_jail) as watch:
        outcome = contain(replace(attack, limits=SMALL) if attack.limits is QUICK else attack)
    most = memory_bound(backend, outcome)
    assert outcome.usage.peak_memory_bytes <= most
    seen = max(watch.seen) - LIMIT * 0.15 - (GUEST if is_watched() else 0)
    assert seen <= most, "the host saw far more resident memory than the limit allows"


def _largest_jail() -> int:
    """Anonymous memory of the largest jail as the host counts it, each shared page once.

    Jail by jail, because a pool makes and drops others while the attack runs."""
    jails: dict[str, int] = {}
    for pid in jailed():
        try:
            jail = os.readlink(f"/proc/{pid}/ns/pid")
            with open(f"/proc/{pid}/smaps_rollup") as lines:
                taken = sum(int(line.split()[1]) << 10 for line in lines if line.startswith("Pss_Anon:"))
        except (FileNotFoundError, ProcessLookupError):
            continue  # it ended while we looked
        jails[jail] = jails.get(jail, 0) + taken
    return max(jails.values(), default=0)


# Memory that belongs to no process. Each prints how much the kernel has taken so far.
BUFFERS = {
    "socket_buffers": """
import socket
queued, held = 0, []
try:
    while True:
        a, b = socket.socketpair()
        for s in (a, b):
            s.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 30)
            s.setblocking(False)
            try:
                while True: queued += s.send(b"x" * 65536)
            except BlockingIOError:
                pass
        held.append((a, b))
        print(queued, flush=True)
except OSError as e:
    print(e)
""",
    "pipe_buffers": """
import fcntl, os
queued, held = 0, []
try:
    while True:
        r, w = os.pipe()
        try:
            fcntl.fcntl(w, 1031, 1 << 20)  # F_SETPIPE_SZ
        except OSError:
            pass
        os.set_blocking(w, False)
        try:
            while True: queued += os.write(w, b"x" * 65536)
        except BlockingIOError:
            pass
        held.append((r, w))
        print(queued, flush=True)
except OSError as e:
    print(e)
""",
    "descriptors_in_flight": """
import socket
queued, held = 0, []
try:
    while True:
        a, b = socket.socketpair()
        a.setblocking(False)
        try:
            while True:
                inner = socket.socketpair()
                inner[0].setblocking(False)
                try:
                    while True: queued += inner[0].send(b"x" * 65536)
                except BlockingIOError:
                    pass
                socket.send_fds(a, [b"x"], [s.fileno() for s in inner])
                for s in inner: s.close()
                print(queued, flush=True)
        except BlockingIOError:
            held.append((a, b))
except OSError as e:
    print(e)
""",
}


@pytest.mark.parametrize("how", BUFFERS)
def test_kernel_buffers_count(contain: Callable[[Attack], Outcome], how: str) -> None:
    attack = Attack(name=how, code=BUFFERS[how], expect=("memory_limit", "ok", "timeout"), limits=SMALL)
    outcome = contain(attack)
    queued = max((int(line) for line in outcome.stdout.split() if line.isdecimal()), default=0)
    assert queued <= LIMIT * 1.1, f"{queued >> 20} MB were taken in kernel buffers, with a limit of 96 MB"


LOOKALIKES = [
    Attack(
        name="exit_137", code="import sys\nsys.exit(137)", expect=("exit",), check=lambda o: _ended(o, exit_code=137)
    ),
    Attack(
        name="os_exit_137", code="import os\nos._exit(137)", expect=("exit",), check=lambda o: _ended(o, exit_code=137)
    ),
    Attack(
        name="kills_itself",
        code="import os\nos.kill(os.getpid(), 9)",
        expect=("signal",),
        check=lambda o: _ended(o, signal=9),
    ),
    Attack(
        name="is_killed_by_its_child",
        code="import os, time\nif os.fork() == 0:\n    os.kill(os.getppid(), 9)\n    os._exit(0)\ntime.sleep(60)",
        expect=("signal",),
        check=lambda o: _ended(o, signal=9),
    ),
    Attack(
        name="says_that_it_was_killed",
        code="""
import os, sys
print("Killed")
print("Out of memory: Killed process 2 (python3) total-vm:1kB", file=sys.stderr)
print('{"status": "memory_limit"}')
sys.exit(9)
""",
        expect=("exit",),
        check=lambda o: _ended(o, exit_code=9),
    ),
    Attack(
        name="raises_memory_error",
        code="raise MemoryError('out of memory')",
        expect=("error",),
        check=lambda o: _failed(o, "MemoryError"),
    ),
    Attack(
        name="asks_for_the_impossible",
        code="bytearray(1 << 60)",
        expect=("error",),
        check=lambda o: _failed(o, "MemoryError"),
    ),
    Attack(
        name="near_the_limit_but_under_it",
        code="hog = bytearray(b'x' * (40 << 20))\nraise SystemExit(3)",
        expect=("exit",),
        check=lambda o: _ended(o, exit_code=3),
    ),
]


def _ended(outcome: Outcome, *, exit_code: int | None = None, signal: int | None = None) -> None:
    assert outcome.signal == signal
    if exit_code is not None:
        assert outcome.exit_code == exit_code


def _failed(outcome: Outcome, kind: str) -> None:
    assert outcome.error is not None
    assert outcome.error.type == kind


@pytest.mark.container_sample(
    "exit_137", "kills_itself", "is_killed_by_its_child", "raises_memory_error",
    "near_the_limit_but_under_it",
    why="the keeper passes on what the kernel says",
)  # fmt: skip
@pytest.mark.parametrize("attack", LOOKALIKES, ids=lambda a: a.name)
def test_lookalikes_are_not_taken_for_the_limit(contain: Callable[[Attack], Outcome], attack: Attack) -> None:
    outcome = contain(replace(attack, limits=SMALL))
    assert outcome.status != "memory_limit"


def test_arrays(quant: Sandbox, canary: Canary) -> None:
    """The libraries of the field allocate behind Python's back; the limit is over what the profile needs itself."""
    code = "import numpy as np\nhog = []\nwhile True: hog.append(np.ones(1 << 20))"
    tight = limits(memory_mb=256, wall_seconds=10)
    outcome = run_attack(quant, canary, Attack(name="numpy", code=code, expect=("memory_limit",), limits=tight))
    assert outcome.usage.peak_memory_bytes <= (256 << 20) * 1.1
