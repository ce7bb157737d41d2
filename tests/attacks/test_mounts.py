"""Mounts: what the host shows to a run stays as it is, and is no way to the rest of the host."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

from ringfence import Job
from ringfence.sandbox import Sandbox

from tests.attacks.attack import ATTEMPT, QUICK, assert_serves, run_promptly
from tests.attacks.backends import user_of
from tests.attacks.canary import Canary
from tests.attacks.remote import give


def test_read_only_mounts_stay_as_they_are(backend: str, sandbox: Sandbox, canary: Canary, tmp_path: Path) -> None:
    data = tmp_path / "data"
    (data / "sub").mkdir(parents=True)
    (data / "bars.csv").write_text("1,2,3")
    (data / "bars.csv").chmod(0o666)
    (data / "out").symlink_to(canary.root)
    data.chmod(0o777)
    give(data, user_of(backend))
    before = {path: path.lstat()[:9] for path in sorted(tmp_path.rglob("*"))}
    code = (
        ATTEMPT
        + """
import os
attempt("write", lambda: open("/data/bars.csv", "r+").write("9"))
attempt("append", lambda: open("/data/bars.csv", "a").write("9"))
attempt("create", lambda: open("/data/new", "w"))
attempt("unlink", lambda: os.unlink("/data/bars.csv"))
attempt("rename", lambda: os.rename("/data/bars.csv", "/data/other"))
attempt("chmod", lambda: os.chmod("/data/bars.csv", 0o777))
attempt("utime", lambda: os.utime("/data/bars.csv", (0, 0)))
attempt("truncate", lambda: os.truncate("/data/bars.csv", 0))
attempt("link", lambda: os.link("/data/bars.csv", "/data/hard"))
attempt("mkdir", lambda: os.mkdir("/data/dir"))
attempt("xattr", lambda: os.setxattr("/data/bars.csv", "user.x", b"1"))
attempt("reopen", lambda: os.write(os.open(f"/proc/self/fd/{os.open('/data/bars.csv', 0)}", os.O_RDWR), b"9"))
attempt("link out", lambda: open("/data/out/secret.txt").read())
attempt("dots", lambda: open("/data/../../../.." + canary["secret"]).read())
result = won
"""
    )
    job = Job(code=code, inputs={"canary": canary.inputs()}, mounts=[f"{data}:/data:ro"], limits=QUICK)
    outcome = run_promptly(sandbox, job)
    assert (outcome.status, outcome.result) == ("ok", []), outcome
    assert {path: path.lstat()[:9] for path in sorted(tmp_path.rglob("*"))} == before
    canary.untouched()
    canary.unleaked(outcome)
    assert_serves(sandbox)


def test_a_writable_mount_is_no_way_out(sandbox: Sandbox, canary: Canary, tmp_path: Path) -> None:
    data = tmp_path / "data"
    data.mkdir()
    data.chmod(0o777)
    (tmp_path / "outside.txt").write_text(canary.token)
    code = (
        ATTEMPT
        + """
import ctypes, os, stat, struct
os.umask(0)
os.symlink("/", "/data/root")
os.symlink("../outside.txt", "/data/up")
attempt("up", lambda: open("/data/up").read())
attempt("dots", lambda: open("/data/../outside.txt").read())
attempt("root", lambda: open("/data/root" + canary["secret"]).read())
open("/data/tool", "w").write("#!/bin/sh\\nid\\n")
attempt("setuid", lambda: os.chmod("/data/tool", 0o6755))
# Whatever these say, the host looks at what is there afterwards.
libc = ctypes.CDLL(None)
how = struct.pack("QQQ", os.O_CREAT | os.O_WRONLY, 0o6755, 0)
for step in (lambda: os.open("/data/opened", os.O_CREAT | os.O_WRONLY, 0o6755),
             lambda: os.mknod("/data/node", stat.S_IFREG | 0o6755),
             lambda: os.mkdir("/data/folder", 0o6777),
             lambda: os.fchmod(os.open("/data/tool", os.O_RDWR), 0o4755),
             lambda: libc.syscall(2, b"/data/old", os.O_CREAT | os.O_WRONLY, 0o6755),   # open
             lambda: libc.syscall(85, b"/data/creat", 0o6755),                          # creat
             lambda: libc.syscall(437, -100, b"/data/openat2", how, len(how)),          # openat2
             lambda: libc.syscall(452, -100, b"/data/tool", 0o6755, 0),                 # fchmodat2
             lambda: libc.syscall(133, b"/data/oldnode", stat.S_IFREG | 0o6755, 0),     # mknod
             lambda: os.setxattr("/data/tool", "security.capability", b"\\x01\\0\\0\\x02" + b"\\xff" * 16)):
    try:
        step()
    except OSError:
        pass
attempt("device", lambda: os.mknod("/data/mem", 0o20666, os.makedev(1, 1)))
fd = os.open("/data", os.O_RDONLY)
attempt("dir_fd", lambda: os.open("../outside.txt", os.O_RDONLY, dir_fd=fd))
result = won
"""
    )
    job = Job(code=code, inputs={"canary": canary.inputs()}, mounts=[f"{data}:/data:rw"], limits=QUICK)
    outcome = run_promptly(sandbox, job)
    assert (outcome.status, outcome.result) == ("ok", []), outcome
    canary.untouched()
    canary.unleaked(outcome)
    for path in data.iterdir():
        assert not path.lstat().st_mode & 0o6000, f"{path} is setuid on the host"
        assert path.is_symlink() or path.is_file() or path.is_dir(), f"{path} is a special file on the host"
        assert "security.capability" not in os.listxattr(path, follow_symlinks=False)
    assert_serves(sandbox)


def test_a_socket_inside_a_mount_is_not_reached(sandbox: Sandbox, canary: Canary, tmp_path: Path) -> None:
    """A directory shown read-only may hold an agent's socket; to talk to it is more than to read it."""
    data = tmp_path / "data"
    data.mkdir()
    with socket.socket(socket.AF_UNIX) as agent:
        agent.bind(str(data / "agent.sock"))
        (data / "agent.sock").chmod(0o600)
        agent.listen()
        agent.setblocking(False)
        code = "import socket\nsocket.socket(socket.AF_UNIX).connect('/data/agent.sock')\nresult = 'connected'"
        outcome = run_promptly(sandbox, Job(code=code, mounts=[f"{data}:/data:ro"], limits=QUICK))
        visitors = 0
        try:
            agent.accept()[0].close()
            visitors = 1
        except BlockingIOError:
            pass  # nobody came
    assert (outcome.result, visitors) == (None, 0), "the guest reached a socket of the host"
    canary.untouched()
    assert_serves(sandbox)


def test_a_datagram_socket_inside_a_mount_is_not_reached(sandbox: Sandbox, tmp_path: Path) -> None:
    """A datagram needs no connection."""
    tmp_path.chmod(0o755)
    door = tmp_path / "notify"
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as listener:
        listener.bind(str(door))
        door.chmod(0o777)
        listener.settimeout(1)
        code = "import socket\nsocket.socket(socket.AF_UNIX, socket.SOCK_DGRAM).sendto(b'x', '/data/notify')"
        outcome = sandbox.run(Job(code=code, mounts=[f"{tmp_path}:/data"]))
        assert outcome.status == "error"
        with pytest.raises(TimeoutError):
            listener.recv(10)
