"""Files that all jobs see: the runtime is everybody's, so no job may move its pages, flush, lock or ask about it."""

from __future__ import annotations

import os
import secrets
import stat
import sysconfig
from pathlib import Path

import pytest

from ringfence import Job
from ringfence.sandbox import Sandbox
from ringfence.sandbox.job import Json

from tests.attacks.attack import QUICK, run_promptly
from tests.attacks.beside import beside

PAGES = 64
# One bit a page: a page that was dropped is 0, one that was read is 1.
SAY = """
import mmap, os
fd = os.open(path, os.O_RDONLY)
os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_RANDOM)
os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
for page, bit in enumerate(bits):
    if bit:
        os.pread(fd, 1, page * 4096)
"""
HEAR = """
import ctypes, mmap, os
fd = os.open(path, os.O_RDONLY)
def cached(page):
    try:
        os.preadv(fd, [bytearray(1)], page * 4096, 8)  # RWF_NOWAIT
    except BlockingIOError:
        return 0
    return 1
heard = {}
try:
    heard["preadv2"] = [cached(page) for page in range(len(bits))]
except OSError as e:
    heard["preadv2"] = e.errno
libc = ctypes.CDLL(None, use_errno=True)
libc.mmap.restype = ctypes.c_void_p
at = libc.mmap(None, ctypes.c_size_t(len(bits) * 4096), 1, 1, fd, ctypes.c_long(0))
answer = (ctypes.c_ubyte * len(bits))()
if libc.mincore(ctypes.c_void_p(at), ctypes.c_size_t(len(bits) * 4096), answer):
    heard["mincore"] = ctypes.get_errno()
else:
    heard["mincore"] = [value & 1 for value in answer]
result = heard
"""


def large_file() -> str:
    """A file of the runtime with pages enough."""
    places = (Path(sysconfig.get_path("stdlib")), Path("/usr/lib"))
    return str(
        next(f for p in places for f in p.rglob("*.so*") if f.stat().st_size > 2 * PAGES * 4096 and not f.is_symlink())
    )


def test_no_message_is_left_in_the_page_cache(sandbox: Sandbox, backend: str) -> None:
    """One run writes it, the next one reads it: a strategy could tell itself the future."""
    path = "/opt/ringfence/bin/python" if backend == "docker" else large_file()
    bits = [secrets.randbelow(2) for _ in range(PAGES)]
    inputs: dict[str, Json] = {"path": path, "bits": bits}
    said = run_promptly(sandbox, Job(code=SAY, limits=QUICK, inputs=inputs))
    heard = run_promptly(sandbox, Job(code=HEAR, limits=QUICK, inputs=inputs))
    assert said.ok and heard.ok, (said.reason, heard.reason)
    assert heard.result == {"preadv2": 1, "mincore": 1}, heard.result  # EPERM


def flushes() -> int:
    """How often the disks of this machine were told to flush."""
    rows = (line.split() for line in Path("/proc/diskstats").read_text().splitlines())
    return sum(int(row[18]) for row in rows if len(row) > 18)


@pytest.mark.alone
@pytest.mark.backends("native", "native_user", "native_delegated", why="a container's files are copies, on an overlay")
def test_no_flush_of_the_hosts_disk(sandbox: Sandbox) -> None:
    code = """
import mmap, os
fd = os.open(path, os.O_RDONLY)
view = mmap.mmap(fd, 4096, mmap.MAP_SHARED, mmap.PROT_READ)
for _ in range(3000):
    os.fsync(fd)
    os.fdatasync(fd)
    view.flush()
"""
    before = flushes()
    outcome = run_promptly(sandbox, Job(code=code, limits=QUICK, inputs={"path": large_file()}))
    assert outcome.ok, outcome.reason
    assert flushes() - before < 1500


def test_what_a_program_flushes_in_its_own_space_succeeds(sandbox: Sandbox) -> None:
    code = """
import os, sqlite3
with open("/job/x", "w") as f:
    f.write("kept")
    os.fsync(f.fileno())
    os.posix_fadvise(f.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
base = sqlite3.connect("/job/b.db")
base.execute("create table t (x)")
base.commit()
result = open("/job/x").read()
"""
    assert run_promptly(sandbox, Job(code=code, limits=QUICK)).result == "kept"


LOCKED = """
import fcntl, struct, time
f = open(path, "rb")
for at in range(16):
    if mark >> at & 1:
        fcntl.fcntl(f, fcntl.F_SETLK, struct.pack("hhqqi", fcntl.F_RDLCK, 0, at, 1, 0))
print("go", flush=True)
time.sleep(2)
"""
ASKED = """
import fcntl, struct
f = open(path, "rb")
found = 0
try:
    for at in range(16):
        asked = struct.pack("hhqqi", fcntl.F_WRLCK, 0, at, 1, 0)
        kind = struct.unpack("hhqqi", fcntl.fcntl(f, command, asked))[0]
        found |= (kind != fcntl.F_UNLCK) << at
except OSError as e:
    found = -e.errno
result = found
"""


@pytest.mark.parametrize("command", [5, 36], ids=["F_GETLK", "F_OFD_GETLK"])
def test_no_lock_of_another_run_is_seen(sandbox: Sandbox, backend: str, command: int) -> None:
    path = "/opt/ringfence/bin/python" if backend == "docker" else large_file()
    mark = secrets.randbelow(1 << 16) | 1
    inputs: dict[str, Json] = {"path": path, "mark": mark, "command": command}
    with beside(sandbox, Job(code=LOCKED, limits=QUICK, inputs=inputs)):
        asked = run_promptly(sandbox, Job(code=ASKED, limits=QUICK, inputs=inputs))
    assert asked.result == (0 if backend == "docker" else -1), (mark, asked)


def test_nothing_is_left_on_a_writable_mount_that_means_more_than_its_bytes(sandbox: Sandbox, tmp_path: Path) -> None:
    folder = tmp_path / "shared"
    folder.mkdir()
    folder.chmod(0o777)
    code = """
import ctypes, os, stat
libc = ctypes.CDLL(None, use_errno=True)
tries = [
    lambda: os.mknod("/data/mem", 0o666 | stat.S_IFCHR, os.makedev(1, 1)),
    lambda: os.mknod("/data/disk", 0o666 | stat.S_IFBLK, os.makedev(254, 0)),
    lambda: os.mknod("/data/suid", 0o4755 | stat.S_IFREG),
    lambda: os.chmod("/data/plain", 0o4755),
    lambda: os.chmod("/data/plain", 0o2755),
    lambda: os.setxattr("/data/plain", "user.rf", b"x"),
    lambda: os.setxattr("/data/plain", "trusted.rf", b"x"),
    lambda: libc.syscall(463, -100, b"/data/plain", 0, b"user.rf", 0, 0),
    lambda: libc.syscall(452, -100, b"/data/plain", 0o4755, 0),
    lambda: os.open("/data/sync", os.O_CREAT | os.O_WRONLY | os.O_SYNC),
]
open("/data/plain", "w").write("x")
result = 0
for one in tries:
    try:
        one()
    except OSError:
        result += 1
"""
    outcome = run_promptly(sandbox, Job(code=code, limits=QUICK, mounts=[f"{folder}:/data:rw"]))
    assert outcome.ok, outcome.stderr
    for path in folder.iterdir():
        found = path.lstat()
        assert stat.S_ISREG(found.st_mode), path
        assert not found.st_mode & 0o6000, (path, oct(found.st_mode))
        assert os.listxattr(path) == [], path
    assert not (folder / "sync").exists()


def test_a_core_handler_of_the_host_is_never_started(sandbox: Sandbox) -> None:
    """With a limit of 0 the kernel would start it, as root; with 1 it does not."""
    code = """
import resource
for wanted in ((0, 0), (0, 1)):
    try:
        resource.setrlimit(resource.RLIMIT_CORE, wanted)
    except (OSError, ValueError):
        pass
    try:
        resource.prlimit(0, resource.RLIMIT_CORE, wanted)
    except (OSError, ValueError):
        pass
result = resource.getrlimit(resource.RLIMIT_CORE)
"""
    assert run_promptly(sandbox, Job(code=code, limits=QUICK)).result == [1, 1]
