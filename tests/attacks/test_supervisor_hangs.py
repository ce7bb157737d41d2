"""What keeps a supervisor's thread from its clock: no read or write of its own may wait for the guest."""

from __future__ import annotations

import struct
import time
from pathlib import Path

import pytest

from ringfence import Job, Limits
from ringfence.base.errors import LimitError, MountError, SandboxError
from ringfence.sandbox import Sandbox, Session

from tests.attacks.attack import assert_serves, wait_parked
from tests.attacks.host import processor_seconds

ZOMBIE = """
import os, threading, ctypes
if os.fork() == 0:
    threading.Thread(target=lambda: [0 for _ in iter(int, 1)]).start()
    ctypes.CDLL(None).syscall(60, 0)
"""
# Processes that go on without their first threads, and wake each other and everybody else.
ZOMBIES_THAT_WAKE = """
import os, threading, ctypes
def wake():
    while True: os.kill(-1, 18)
for _ in range(8):
    if os.fork() == 0:
        threading.Thread(target=wake).start()
        ctypes.CDLL(None).syscall(60, 0)
"""
WAKE_EACH_OTHER = """
for _ in range(3):
    if os.fork() == 0:
        while True: os.kill(-1, 18)
"""
# Processes whose children end all the time, and whose end is told by SIGCONT.
ENDS_THAT_WAKE = """
import os, ctypes, time
libc = ctypes.CDLL(None)
for _ in range(8):
    if os.fork() == 0:
        while True:
            if libc.syscall(56, 18, 0, 0, 0, 0) == 0:
                libc._exit(0)
            while True:
                try: os.waitpid(-1, 0x40000000)  # of such children too
                except OSError: break
time.sleep(0.2)
"""
# A timer that wakes the whole program, half a second after the cell. Some kernels drop one with an ignored signal.
TIMER_THAT_WAKES = """
import ctypes, signal, struct, threading
signal.signal(signal.SIGCONT, lambda *_: None)
libc = ctypes.CDLL(None)
timer = ctypes.c_int()
if libc.syscall(222, 1, struct.pack('qii48x', 0, 18, 0), ctypes.byref(timer)) == 0:
    libc.syscall(223, timer, 0, struct.pack('qqqq', 0, 50_000_000, 0, 500_000_000), None)
def spin():
    while True: pass
threading.Thread(target=spin, daemon=True).start()
"""
CLONE = """
import ctypes
libc = ctypes.CDLL(None, use_errno=True)
result = [libc.syscall(56, 0x8011, 0, 0, 0, 0), ctypes.get_errno()]
"""
OUT_OF_BAND = """
import socket, os, time
s = socket.socket(fileno=os.dup(3))
s.send(b'xy')
s.send(b'x', socket.MSG_OOB)
time.sleep(60)
"""
SHORT = Limits(wall_seconds=1)
FRAME = (
    "import os, struct\n"
    """payload = b'{"v":1,"end":"ok","result":1,"error":null,"exit_code":0}'\n"""
    "os.write(3, struct.pack('!I', len(payload)) + payload)\n"
)


@pytest.mark.parametrize(
    "code",
    [
        "import socket, os, time\nsocket.socket(fileno=os.dup(3)).send(b'x', socket.MSG_OOB)\ntime.sleep(60)",
        OUT_OF_BAND,
        "import os, time\nos.write(3, b'\\xff\\xff')\ntime.sleep(60)",
    ],
    ids=["out of band", "data and out of band", "half a head"],
)
def test_the_clock_runs_whatever_is_on_the_channel(sandbox: Sandbox, code: str) -> None:
    outcome = sandbox.run(Job(code=code, limits=SHORT))
    assert outcome.status == "timeout"
    assert_serves(sandbox)


def assert_not_taken(session: Session, code: str) -> None:
    """The session ends with it. Where the cell goes through a keeper, nobody but the clock can tell that it was not
    taken; else that is an error."""
    try:
        outcome = session.run(code)
    except SandboxError:
        pass
    else:
        assert (outcome.status, outcome.backend) == ("timeout", "docker")
    assert not session.alive


def test_a_cell_that_is_not_taken_ends_the_session(sandbox: Sandbox) -> None:
    deaf = (
        FRAME + "import time\nwhile True:\n    try:\n        time.sleep(100)\n    except BaseException:\n        pass\n"
    )
    with sandbox.open_session(limits=SHORT) as session:
        session.run(deaf)
        assert_not_taken(session, "#" * 900_000)


def test_a_session_that_stops_reading_is_not_left_to_run(sandbox: Sandbox) -> None:
    deaf = "import socket, os\nsocket.socket(fileno=os.dup(3)).shutdown(socket.SHUT_RD)\n" + FRAME + "while True: pass"
    with sandbox.open_session(limits=SHORT) as session:
        session.run(deaf)
        assert_not_taken(session, "1")


@pytest.mark.parametrize(
    "left",
    [ZOMBIE + ZOMBIES_THAT_WAKE + ENDS_THAT_WAKE + WAKE_EACH_OTHER, TIMER_THAT_WAKES],
    ids=["all that wake each other", "a timer"],
)
def test_nothing_runs_between_cells(sandbox: Sandbox, left: str) -> None:
    """Whoever finds a way to wake is stopped at once, or soon loses the session."""
    with sandbox.open_session(limits=Limits(cpus=2)) as session:
        assert session.run(left).status == "ok"
        wait_parked(sandbox)
        before = processor_seconds()
        time.sleep(3)
        after = processor_seconds()
    used = sum(seconds - before.get(pid, 0.0) for pid, seconds in after.items())
    assert used < 0.5, f"{used:.1f} s of processor time between two cells"


def test_a_cell_with_less_memory_than_in_use_is_refused_and_the_session_stays(sandbox: Sandbox) -> None:
    with sandbox.open_session() as session:
        session.run("hoard = bytearray(200 << 20)")
        with pytest.raises(LimitError, match="in use"):
            session.run("1", limits=Limits(memory_mb=64))
        assert session.run("len(hoard) >> 20").result == 200


def test_an_order_that_is_too_long_harms_nobody(sandbox: Sandbox) -> None:
    with sandbox.open_session() as neighbour:
        deep = "/".join(["a" * 90] * 10)
        with pytest.raises(MountError):
            sandbox.run(Job(code="1", mounts=[f"/usr/share:/{deep}/{i}" for i in range(64)] * 2))
        assert neighbour.run("6 * 7").result == 42


@pytest.mark.parametrize(
    ("call", "number"),
    [
        ("fcntl.fcntl(fd, 1024, fcntl.F_WRLCK)", 1),  # a lease
        ("fcntl.fcntl(fd, 1026, 1)", 1),  # dnotify
        ("mmap.mmap(-1, 4 << 20, flags=0x40022)", 1),  # huge pages
        ("os.memfd_create('x', 4)", 1),  # and in a file
    ],
)
def test_calls_that_reach_past_the_fence_are_refused(sandbox: Sandbox, call: str, number: int) -> None:
    code = (
        f"import fcntl, mmap, os\nfd = os.open('/job', 0)\ntry:\n    {call}\nexcept OSError as e:\n    result = e.errno"
    )
    assert sandbox.run(Job(code=code)).result == number


def test_a_child_of_somebody_else_cannot_be_made(sandbox: Sandbox) -> None:
    assert sandbox.run(Job(code=CLONE)).result == [-1, 1]


def test_a_single_file_can_be_mounted_writable(sandbox: Sandbox, backend: str, tmp_path: Path) -> None:
    file = tmp_path / "notes.txt"
    file.write_text("a")
    if backend == "docker":
        file.chmod(0o666)  # a container's user is a stranger to the host's files
    outcome = sandbox.run(Job(code="open('/notes.txt', 'a').write('b')", mounts=[f"{file}:/notes.txt:rw"]))
    assert (outcome.status, file.read_text()) == ("ok", "ab")


def test_frames_are_what_this_file_thinks(sandbox: Sandbox) -> None:
    outcome = sandbox.run(Job(code=FRAME + "os._exit(0)"))
    assert (outcome.status, outcome.result) == ("ok", 1)
    assert struct.calcsize("!I") == 4
