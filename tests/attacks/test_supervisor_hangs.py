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
    [
        ZOMBIE,
        "import os\nfor _ in range(3):\n    if os.fork() == 0:\n        while True:\n            os.kill(-1, 18)",
    ],
    ids=["a leader that is gone", "waking each other"],
)
def test_nothing_runs_between_cells(sandbox: Sandbox, left: str) -> None:
    with sandbox.open_session(limits=Limits(cpus=2)) as session:
        session.run(left)
        wait_parked(sandbox)
        before = sum(processor_seconds().values())
        time.sleep(1)
        assert sum(processor_seconds().values()) - before < 0.3


def test_a_cell_with_less_memory_than_in_use_is_refused_and_the_session_stays(sandbox: Sandbox) -> None:
    with sandbox.open_session() as session:
        session.run("hoard = bytearray(200 << 20)")
        with pytest.raises(LimitError, match="in use"):
            session.run("1", limits=Limits(memory_mb=64))
        assert session.run("len(hoard) >> 20").result == 200


def test_artifacts_do_not_go_where_the_job_can_put_a_link(sandbox: Sandbox, tmp_path: Path) -> None:
    victim, shared = tmp_path / "victim", tmp_path / "shared"
    victim.mkdir()
    (shared / "out").mkdir(parents=True)
    code = f"import os\nos.rmdir('/data/out')\nos.symlink({str(victim)!r}, '/data/out')\nopen('evil', 'w').write('x')"
    with pytest.raises(MountError, match="writable mount"):
        sandbox.run(Job(code=code, mounts=[f"{shared}:/data:rw"], artifacts_dir=shared / "out"))
    assert list(victim.iterdir()) == []


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
