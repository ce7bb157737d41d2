"""The native backend's host side: what the machine does while it is open, and what is left when a child fails."""

from __future__ import annotations

import ctypes
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

import ringfence
from ringfence import Job, Limits
from ringfence.base.errors import MountError, SandboxError
from ringfence.sandbox.job import Mount
from ringfence.sandbox.native import create, session as session_module
from ringfence.sandbox.native.child import Child, Unkillable
from ringfence.sandbox.native.fence import NativeSandbox

from tests.conftest import ROOT, require
from tests.patience import PATIENCE_SECONDS, wait_until
from tests.sandbox.busy import children, comm

EXHAUSTIVE = os.environ.get("RINGFENCE_TEST_ALL") == "1"


@pytest.fixture(scope="module")
def sandbox() -> Iterator[NativeSandbox]:
    require("linux")
    with create({"profile": "plain", "park": "0"}) as sandbox:
        yield sandbox


class TestReplacedFiles:
    def test_a_linker_cache_written_anew_breaks_no_job_with_mounts(
        self, sandbox: NativeSandbox, tmp_path: Path
    ) -> None:
        """As every installed package does it."""
        require("root")
        (tmp_path / "x").write_text("there")
        before = os.stat("/etc/ld.so.cache").st_ino
        subprocess.run(["/sbin/ldconfig"], check=True)
        assert os.stat("/etc/ld.so.cache").st_ino != before
        outcome = sandbox.run(Job(code="result = open('/data/x').read()", mounts=[f"{tmp_path}:/data"]))
        assert outcome.result == "there"

    def test_a_runtime_written_anew_gets_a_fresh_zygote_before_anybody_is_told(self, tmp_path: Path) -> None:
        """As an upgrade of the package does it, while a session of the old one goes on."""
        package = tmp_path / "copy" / "ringfence"
        shutil.copytree(Path(ringfence.__file__).parent, package, ignore=shutil.ignore_patterns("__pycache__"))
        (tmp_path / "x").write_text("there")
        tmp_path.chmod(0o755)
        program = f"""
import os, shutil
from ringfence import Job, open_sandbox
with open_sandbox("native:profile=plain,park=0") as sandbox, sandbox.open_session() as old:
    old.run("kept = 1")
    shutil.rmtree({str(package / "guest")!r})
    shutil.copytree({str(Path(ringfence.__file__).parent / "guest")!r}, {str(package / "guest")!r})
    job = Job(code="result = open('/data/x').read()", mounts=["{tmp_path}:/data"])
    print(sandbox.run(job).result, old.run("kept").result)
"""
        done = subprocess.run(
            [sys.executable, "-c", program], env={**os.environ, "PYTHONPATH": str(package.parent)}, cwd="/",
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.stdout == "there 1\n", done.stderr

    def test_a_mount_that_cannot_be_placed_is_blamed_by_its_name(self, sandbox: NativeSandbox, tmp_path: Path) -> None:
        mounts = [f"{tmp_path}:/data", f"{tmp_path}:/data/inner"]
        with pytest.raises(MountError, match="'/data/inner'"):
            sandbox.run(Job(code="1", mounts=mounts))


class TestMountsThatHang:
    def test_they_stop_no_other_job(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """A file system whose server never answers, which as root a descriptor of /dev/fuse is enough for."""
        require("root")
        require("/dev/fuse", present=Path("/dev/fuse").exists())
        monkeypatch.setattr(Mount, "check_host", lambda self: None)  # which would hang first, in its caller only
        place = tmp_path / "dead"
        place.mkdir()
        fd = os.open("/dev/fuse", os.O_RDWR)
        options = f"fd={fd},rootmode=40000,user_id=0,group_id=0".encode()
        libc = ctypes.CDLL(None, use_errno=True)
        assert libc.mount(b"dead", os.fsencode(place), b"fuse", 0, options) == 0
        ended: list[BaseException] = []
        opened = create({"profile": "plain", "park": "0"})

        def run() -> None:
            try:
                opened.run(Job(code="1", mounts=[Mount(place / "inner", "/data")]))
            except (SandboxError, MountError) as e:
                ended.append(e)

        waiting = threading.Thread(target=run)
        try:
            waiting.start()
            for disk_mb in (5, 6, 7):
                assert opened.run(Job(code="result = 1", limits=Limits(disk_mb=disk_mb))).result == 1
            assert waiting.is_alive(), ended
        finally:
            os.close(fd)  # its requests fail now
            libc.umount2(os.fsencode(place), 2)
            waiting.join(PATIENCE_SECONDS)
            opened.close()
        assert isinstance(ended[0], MountError)


class TestManyChildren:
    def test_none_gets_a_descriptor_of_another(self, tmp_path: Path) -> None:
        """The zygote has some descriptors for each child, so at about a hundred their numbers pass 200."""
        (tmp_path / "x").write_text("there")
        with ExitStack() as stack:
            sandbox = stack.enter_context(create({"profile": "plain", "park": "0"}))
            for _ in range(110):
                stack.enter_context(sandbox.open_session())
            job = Job(code="result = open('/d7/x').read()", mounts=[f"{tmp_path}:/d{i}" for i in range(8)])
            assert sandbox.run(job).result == "there"


class TestFailures:
    def test_sessions_that_fail_to_open_leave_nothing(
        self, sandbox: NativeSandbox, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def fail(*_: object, **__: object) -> bytes:
            raise SandboxError("as it must")

        def held() -> tuple[int, int, int]:
            cradle = sandbox._pools.lean._cradle
            folder = cradle._folder
            groups = [] if folder is None else [g for place in folder.places for g in os.listdir(place)]
            return len(os.listdir("/proc/self/fd")), len(cradle._users._free), len(groups)

        sandbox.open_session().close()
        before = held()
        with monkeypatch.context() as patch:
            patch.setattr(session_module, "session_order", fail)
            for _ in range(1000 if EXHAUSTIVE else 100):
                with pytest.raises(SandboxError, match="as it must"):
                    sandbox.open_session()
        assert held() == before

    def test_the_user_of_one_that_cannot_be_killed_is_lent_to_nobody(
        self, sandbox: NativeSandbox, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        require("root")
        users = sandbox._pools.lean._cradle._users
        before = set(users._free)
        session = sandbox.open_session()
        (lent,) = before - set(users._free)
        reap = Child.reap

        def hang(self: Child, seconds: float = 30.0) -> None:
            reap(self, seconds)
            raise Unkillable

        monkeypatch.setattr(Child, "reap", hang)
        session.close()
        assert lent not in users._free

    def test_a_killed_mounter_is_replaced(self, sandbox: NativeSandbox, tmp_path: Path) -> None:
        (mounter,) = [pid for pid in children(sandbox.warden_pid) if comm(pid) == "rf-mounter"]
        os.kill(mounter, 9)
        assert wait_until(lambda: not sandbox._pools.lean._cradle.line.alive)
        assert sandbox.run(Job(code="result = 1", mounts=[f"{tmp_path}:/data"])).result == 1


@pytest.mark.alone
def test_jobs_leave_no_dead_groups(sandbox: NativeSandbox, tmp_path: Path) -> None:
    """A group that is removed while a page that its job read first is in the cache stays in the kernel's books."""
    require("root")
    require("control groups of version 1", present=sandbox.means.cgroup_version == 1)

    def dead() -> int:
        (row,) = [line.split() for line in Path("/proc/cgroups").read_text().splitlines() if line.startswith("memory")]
        mounts = (line.split() for line in Path("/proc/self/mounts").read_text().splitlines())
        (mount,) = [row[1] for row in mounts if row[2] == "cgroup" and "memory" in row[3].split(",")]
        return int(row[2]) - sum(1 for _ in os.walk(mount))

    jobs = 40
    for i in range(jobs):
        fd = os.open(tmp_path / f"{i}", os.O_RDWR | os.O_CREAT)
        os.write(fd, bytes(1 << 16))
        os.fsync(fd)
        os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
        os.close(fd)
    before = dead()
    for i in range(jobs):
        job = Job(code=f"result = len(open('/data/{i}', 'rb').read())", mounts=[f"{tmp_path}:/data"])
        assert sandbox.run(job).result == 1 << 16
    assert wait_until(lambda: dead() - before < jobs // 4), dead() - before


def test_signals_are_at_their_defaults_whatever_the_caller_ignores() -> None:
    """As under nohup, and as shells start what runs in the background."""
    program = """
import os, signal, subprocess, sys
for number in (signal.SIGINT, signal.SIGQUIT, signal.SIGHUP, signal.SIGTERM, signal.SIGUSR1):
    signal.signal(number, signal.SIG_IGN)
signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
sys.exit(subprocess.call([sys.executable, "-m", "ringfence", "run", "--profile", "plain", "-c", sys.argv[1]]))
"""
    inside = """
import os, signal
odd = [n.name for n in signal.Signals if signal.getsignal(n) == signal.SIG_IGN]
print(odd, list(signal.pthread_sigmask(signal.SIG_BLOCK, ())))
os.kill(os.getpid(), signal.SIGQUIT)
print("deaf")
"""
    done = subprocess.run(
        [sys.executable, "-c", program, inside], capture_output=True, text=True, check=False, cwd=ROOT
    )
    assert done.stdout == "['SIGPIPE', 'SIGXFSZ'] []\n", done.stdout + done.stderr
