"""Meetings: two runs of different tenants at the same time must find no place where one can reach the other."""

from __future__ import annotations

import secrets
import sysconfig

import pytest

from ringfence import Job
from ringfence.sandbox import Sandbox

from tests.attacks.attack import QUICK, run_promptly
from tests.attacks.beside import beside
from tests.attacks.canary import Canary
from tests.attacks.host import Host

# What the run that waits does, and what the one that calls does; either says "met" when it worked.
# The one that waits prints when it is there; `mark` is a name both know, `stdlib` a place both see.
WAITS = {
    "abstract_socket": """
import socket
s = socket.socket(socket.AF_UNIX)
s.bind("\\0" + mark)
s.listen()
s.settimeout(1.5)
print("go", flush=True)
result = s.accept()[0].recv(100).decode()
""",
    "abstract_datagrams": """
import socket
s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
s.bind("\\0" + mark)
s.settimeout(1.5)
print("go", flush=True)
result = s.recv(100).decode()
""",
    "named_socket": """
import os, socket
s = socket.socket(socket.AF_UNIX)
s.bind("/tmp/" + mark)
os.chmod("/tmp/" + mark, 0o777)
s.listen()
s.settimeout(1.5)
print("go", flush=True)
result = s.accept()[0].recv(100).decode()
""",
    "shared_memory": """
import time
from multiprocessing import shared_memory
s = shared_memory.SharedMemory(mark, True, 4096)
print("go", flush=True)
time.sleep(1.5)
result = bytes(s.buf[:3]).decode()
""",
    "system_v_memory": """
import ctypes, time
ctypes.CDLL(None).shmget(4242, 4096, 0o1666)
print("go", flush=True)
time.sleep(1.5)
""",
    "system_v_messages": """
import ctypes, time
ctypes.CDLL(None).msgget(4242, 0o1666)
print("go", flush=True)
time.sleep(1.5)
""",
    "message_queue": """
import ctypes, time
ctypes.CDLL(None).syscall(240, mark.encode(), 0o102, 0o777, None)  # mq_open
print("go", flush=True)
time.sleep(1.5)
""",
    "tcp_port": """
import socket
s = socket.create_server(("127.0.0.1", 45454))
s.settimeout(1.5)
print("go", flush=True)
result = s.accept()[0].recv(100).decode()
""",
    "fifo": """
import os, select
os.mkfifo("/tmp/" + mark)
fd = os.open("/tmp/" + mark, os.O_RDONLY | os.O_NONBLOCK)
print("go", flush=True)
select.select([fd], [], [], 1.5)
result = os.read(fd, 3).decode()
""",
    "file_events": """
import ctypes, select
libc = ctypes.CDLL(None)
fd = libc.inotify_init1(0)
libc.inotify_add_watch(fd, (stdlib + "/this.py").encode(), 0xfff)
print("go", flush=True)
result = "met" if fd >= 0 and select.select([fd], [], [], 1.5)[0] else "alone"
""",
    "file_locks": """
import fcntl, time
f = open(stdlib + "/this.py")
fcntl.flock(f, fcntl.LOCK_EX)
print("go", flush=True)
time.sleep(1.5)
""",
}

CALLS = {
    "abstract_socket": """
import socket
s = socket.socket(socket.AF_UNIX)
s.connect("\\0" + mark)
s.sendall(b"met")
result = "met"
""",
    "abstract_datagrams": """
import socket
socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM).sendto(b"met", "\\0" + mark)
result = "met"
""",
    "named_socket": """
import socket
s = socket.socket(socket.AF_UNIX)
s.connect("/tmp/" + mark)
s.sendall(b"met")
result = "met"
""",
    "shared_memory": """
from multiprocessing import shared_memory
shared_memory.SharedMemory(mark).buf[:3] = b"met"
result = "met"
""",
    "system_v_memory": """
import ctypes
result = "met" if ctypes.CDLL(None).shmget(4242, 4096, 0o666) >= 0 else "alone"
""",
    "system_v_messages": """
import ctypes
result = "met" if ctypes.CDLL(None).msgget(4242, 0o666) >= 0 else "alone"
""",
    "message_queue": """
import ctypes
result = "met" if ctypes.CDLL(None).syscall(240, mark.encode(), 2) >= 0 else "alone"
""",
    "tcp_port": """
import socket
socket.create_connection(("127.0.0.1", 45454), 1).sendall(b"met")
result = "met"
""",
    "fifo": """
import os
os.write(os.open("/tmp/" + mark, os.O_WRONLY | os.O_NONBLOCK), b"met")
result = "met"
""",
    "file_events": """
open(stdlib + "/this.py").read()
result = "visited"
""",
    "file_locks": """
import fcntl
f = open(stdlib + "/this.py")
try:
    fcntl.flock(f, fcntl.LOCK_EX | fcntl.LOCK_NB)
except BlockingIOError:
    result = "met"
except OSError:
    result = "alone"
""",
}


@pytest.mark.container_sample(
    "abstract_socket", "shared_memory", "system_v_memory", "tcp_port", "file_locks", why="one of each namespace"
)
@pytest.mark.parametrize("where", WAITS)
def test_two_runs_cannot_meet(sandbox: Sandbox, canary: Canary, where: str) -> None:
    """Neither can serve the other a lie, nor listen to it, nor block it."""
    before = Host.settled()
    inputs = {"mark": "rf-" + secrets.token_hex(6), "stdlib": sysconfig.get_path("stdlib")}
    with beside(sandbox, Job(code=WAITS[where], limits=QUICK, inputs=inputs)) as waiting:
        caller = run_promptly(sandbox, Job(code=CALLS[where], limits=QUICK, inputs=inputs))
    assert caller.result != "met", "the second run reached the first"
    assert waiting[0].outcomes[0].result != "met", "the first run was reached by the second"
    before.assert_same_after()
    canary.untouched()


def test_a_run_sees_no_process_but_its_own(sandbox: Sandbox) -> None:
    code = "import os\nresult = sorted(int(n) for n in os.listdir('/proc') if n.isdigit())"
    sleeper = Job(code="import time\nprint('go', flush=True)\ntime.sleep(1)", limits=QUICK)
    with beside(sandbox, *[sleeper] * 3):
        outcome = run_promptly(sandbox, Job(code=code, limits=QUICK))
    assert outcome.ok
    assert isinstance(outcome.result, list)
    assert len(outcome.result) <= 2, outcome.result
