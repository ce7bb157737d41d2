"""Files left to be collected: links, special files, hostile names, traps for the collector and races with it."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path, PurePosixPath

import pytest

from ringfence import Outcome
from ringfence.sandbox import Sandbox

from tests.attacks.attack import REPEATS, Attack, assert_contained, assert_serves, limits, run_attack, run_promptly
from tests.attacks.backends import user_of
from tests.attacks.canary import Canary
from tests.attacks.host import Host, peak_memory_kb

MAX_ARTIFACTS, MAX_BYTES = 100, 64 << 20


def collected(*names: str) -> Callable[[Outcome], None]:
    """Exactly these files were collected; whatever else there was has been rejected with a reason."""

    def check(outcome: Outcome) -> None:
        assert sorted(a.name for a in outcome.artifacts) == sorted(names), outcome.artifacts
        assert all(r.reason for r in outcome.rejected_artifacts)

    return check


def rejected(outcome: Outcome, *names: str) -> None:
    assert {r.name for r in outcome.rejected_artifacts} >= set(names), outcome.rejected_artifacts


SPECIALS = [
    Attack(
        name="symlinks_to_secrets",
        code="""
import os
open("real.txt", "w").write("x")
os.symlink(canary["secret"], "secret.txt")
os.symlink("/etc/passwd", "passwd.txt")
os.symlink("/proc/self/environ", "environ.txt")
os.symlink("real.txt", "inside.txt")
os.symlink("loop", "loop")
os.symlink("nowhere", "dangling")
os.symlink("../../../../../.." + canary["secret"], "relative.txt")
""",
        check=collected("real.txt"),
    ),
    Attack(
        name="directories_that_are_symlinks",
        code="""
import os
os.symlink("/", "root")
os.symlink("/etc", "etc")
os.symlink(os.path.dirname(canary["secret"]), "host")
os.symlink("..", "up")
os.symlink(".", "here")
os.makedirs("a/b")
os.symlink("../..", "a/b/back")
open("a/b/real.txt", "w").write("x")
""",
        check=collected("a/b/real.txt"),
    ),
    Attack(
        name="the_work_dir_itself_is_replaced",
        code="""
import os
os.chdir("/")
home = os.environ["HOME"]
for step in (lambda: os.rename(home, "/tmp/old"), lambda: os.rmdir(home), lambda: os.symlink("/etc", home),
             lambda: os.rename("/box/job", "/box/old"), lambda: os.symlink("/etc", "/box/job")):
    try:
        step()
    except OSError:
        pass
""",
        check=collected(),
    ),
    Attack(
        name="hard_links",
        code="""
import os, sys
open("real.txt", "w").write("x")
os.link("real.txt", "same.txt")
for target in (canary["secret"], "/etc/passwd", os.__file__, sys.executable, __file__, "/proc/self/environ"):
    try:
        os.link(target, "stolen-" + os.path.basename(target))
    except OSError:
        pass
""",
        check=lambda o: _only(o, "real.txt", "same.txt"),
    ),
    Attack(name="fifo", code="import os\nos.mkfifo('pipe.csv')\nos.mkfifo('pipe2', 0o000)", check=collected()),
    Attack(
        name="fifo_with_a_reader_and_a_writer",
        code="""
import os, time
os.mkfifo("pipe")
if os.fork() == 0:
    fd = os.open("pipe", os.O_RDWR)
    while True:
        os.write(fd, b"x")
        os.read(fd, 1)
""",
        check=collected(),
    ),
    Attack(
        name="socket",
        code="import socket\ns = socket.socket(socket.AF_UNIX)\ns.bind('/job/sock')\ns.listen()",
        check=collected(),
    ),
    Attack(
        name="device_nodes",
        code="""
import os, stat
for name, major, minor in (("mem", 1, 1), ("zero", 1, 5), ("disk", 254, 0), ("tty", 5, 0), ("whiteout", 0, 0)):
    try:
        os.mknod(name, (stat.S_IFBLK if name == "disk" else stat.S_IFCHR) | 0o666, os.makedev(major, minor))
    except OSError:
        continue
    if name != "whiteout":
        raise SystemExit(f"made {name}")
""",
        check=collected(),
    ),
    Attack(
        name="files_without_permissions",
        code="""
import os
os.makedirs("closed/inner")
open("closed/inner/file.txt", "w").write("x")
open("unreadable.txt", "w").write("x")
os.chmod("unreadable.txt", 0)
os.chmod("closed/inner", 0)
os.chmod("closed", 0)
os.chmod("/job", 0)
os.chmod("/tmp", 0)
""",
        check=lambda o: _only(o, "closed/inner/file.txt", "unreadable.txt"),
    ),
    Attack(
        name="flags_and_attributes_that_hinder_removal",
        code="""
import array, fcntl, os
open("stuck.txt", "w").write("x")
fd = os.open("stuck.txt", os.O_RDONLY)
for flag in (0x10, 0x20, 0x30):
    try:
        fcntl.ioctl(fd, 0x40086602, array.array("l", [flag]))
    except OSError:
        pass
for name in ("user.x", "trusted.overlay.opaque", "security.capability", "system.posix_acl_access"):
    try:
        os.setxattr("stuck.txt", name, b"x" * 20)
    except OSError:
        pass
os.mkdir("held")
os.chdir("held")
""",
        check=lambda o: _only(o, "stuck.txt"),
    ),
]


def _only(outcome: Outcome, *allowed: str) -> None:
    assert {a.name for a in outcome.artifacts} <= set(allowed), outcome.artifacts


@pytest.mark.container_sample("symlinks_to_secrets", "hard_links", "device_nodes", why="what opens them is the same")
@pytest.mark.parametrize("attack", SPECIALS, ids=lambda a: a.name)
def test_special_files(contain: Callable[[Attack], Outcome], attack: Attack) -> None:
    contain(attack)


def test_a_sparse_file_does_not_fill_the_supervisor(contain: Callable[[Attack], Outcome], supervisor: int) -> None:
    code = """
import os
for name, size in (("some.bin", 200 << 20), ("huge.bin", 100 << 30), ("absurd.bin", (1 << 62))):
    try:
        with open(name, "wb") as f:
            f.truncate(size)
            f.seek(size - 1)
            f.write(b"x")
    except OSError:
        pass
"""
    before = peak_memory_kb(supervisor)
    outcome = contain(Attack(name="sparse", code=code, expect=("ok", "signal")))
    grown = peak_memory_kb(supervisor) - before
    assert grown < 150 << 10, f"the supervisor grew by {grown >> 10} MB"
    assert sum(a.bytes for a in outcome.artifacts) <= MAX_BYTES


def test_setuid_files_lose_their_power(backend: str, sandbox: Sandbox, canary: Canary, tmp_path: Path) -> None:
    code = """
import os, shutil
shutil.copy("/bin/true", "tool")
for mode in (0o4755, 0o2755, 0o6777, 0o1777):
    for step in (lambda: os.chmod("tool", mode), lambda: os.close(os.open("made", os.O_CREAT | os.O_WRONLY, mode)),
                 lambda: os.fchmod(os.open("tool", os.O_RDONLY), mode), lambda: os.mkdir("folder", mode)):
        try:
            step()
        except OSError:
            pass
"""
    attack = Attack(name="setuid", code=code, expect=("ok", "error"))
    outcome = run_promptly(sandbox, replace(attack.job(canary), artifacts_dir=tmp_path))
    assert_contained(outcome, attack, canary)
    for path in tmp_path.rglob("*"):
        mode = path.lstat().st_mode
        assert not mode & 0o6000, f"{path.name} is setuid on the host"
        assert path.lstat().st_uid == user_of(backend)
    assert_serves(sandbox)


@pytest.mark.parametrize("levels", [300, 10_000])
def test_deep_directories(contain: Callable[[Attack], Outcome], levels: int) -> None:
    code = f"""
import os
try:
    for n in range({levels}):
        os.mkdir("d")
        os.chdir("d")
    open("bottom.txt", "w").write("x")
except OSError as e:
    print(n, e)
"""
    outcome = contain(Attack(name="deep", code=code, limits=limits(wall_seconds=20, disk_mb=64)))
    for artifact in outcome.artifacts:
        assert len(artifact.name) < os.pathconf("/", "PC_PATH_MAX")
    assert sys.getrecursionlimit() == 1000  # nobody raised it to walk this


NAMES = [
    "new\nline.txt",
    "bell\x07\x1b[31mred.txt",
    "\x1b]0;title\x07.txt",
    "..hidden",
    "..\\..\\windows.txt",
    "..%2f..%2fetc%2fpasswd",
    "C:\\autoexec.bat",
    "-rf",
    "a" * 255,
    " lead and trail ",
    "\u202egnp.exe",
    "semi;colon|pipe&`id`$(id)",
    "tab\tname",
    "\u2028line",
    "caf\u00e9",
    "cafe\u0301",
]


def test_hostile_names(sandbox: Sandbox, canary: Canary, tmp_path: Path) -> None:
    """Whatever the name, nothing lands outside the artifacts directory, and no name can forge a line of a report."""
    code = f"""
import ctypes, os
for name in {NAMES!r}:
    open(name, "w").write("x")
for raw in (b"\\xff\\xfe.txt", b"half\\xc3", b"\\x80" * 255):
    open(b"/job/" + raw, "wb").write(b"x")
ctypes.CDLL(None).creat(b"nul.txt\\0/../../hidden", 0o644)
os.makedirs("sub/.../....")
open("sub/.../..../x", "w").write("x")
os.makedirs("x" * 255 + "/" + "y" * 255 + "/" + "z" * 255)
open("x" * 255 + "/" + "y" * 255 + "/" + "z" * 255 + "/f", "w").write("x")
"""
    inner = tmp_path / "one" / "two"
    inner.mkdir(parents=True)
    attack = Attack(name="names", code=code)
    before = Host.settled()
    outcome = run_promptly(sandbox, replace(attack.job(canary), artifacts_dir=inner))
    assert_contained(outcome, attack, canary)
    for artifact in outcome.artifacts:
        pure = PurePosixPath(artifact.name)
        assert artifact.name.isprintable(), artifact.name
        assert not pure.is_absolute()
        assert not {"..", "\\"} & {*pure.parts, *artifact.name}
        assert Path(artifact.path or "").resolve().is_relative_to(inner.resolve())
    assert all(r.name.isprintable() for r in outcome.rejected_artifacts), "a rejected name can forge report lines"
    on_disk = {p for p in tmp_path.rglob("*") if p.is_file()}
    assert on_disk == {Path(a.path or "") for a in outcome.artifacts}
    before.assert_same_after()


SWAPS = {
    "file_and_link": """
open("good", "w").write("x" * 1000)
os.symlink(canary["secret"], "bad")
while True:
    for source in ("good", "bad"):
        os.link(source, "next", follow_symlinks=False)
        os.rename("next", "swap.txt")
""",
    "directory_and_link": """
os.makedirs("good")
open("good/secret.txt", "w").write("x")
os.symlink(os.path.dirname(canary["secret"]), "bad")
while True:
    os.rename("good", "swap"); os.rename("swap", "good")
    os.rename("bad", "swap"); os.rename("swap", "bad")
""",
    "growing_and_shrinking": """
fd = os.open("swap.txt", os.O_CREAT | os.O_RDWR)
while True:
    os.pwrite(fd, b"x" * 100_000, 0)
    os.ftruncate(fd, 10)
""",
    "file_and_fifo": """
open("good", "w").write("x")
os.mkfifo("bad")
while True:
    os.rename("good", "swap"); os.rename("swap", "good")
    os.rename("bad", "swap"); os.rename("swap", "bad")
""",
}


@pytest.mark.parametrize("how", SWAPS)
def test_swapping_files_under_the_collector(sandbox: Sandbox, canary: Canary, backend: str, how: str) -> None:
    """The program ends while a process it left behind keeps swapping: collection has to come after that one's end."""
    code = f"""
import os, signal, time
if os.fork() == 0:
    os.setsid()
    for n in range(1, 65):
        try:
            signal.signal(n, signal.SIG_IGN)
        except (OSError, ValueError):
            pass
{_indent(SWAPS[how])}
time.sleep(0.1)
"""
    attack = Attack(name=how, code=code)
    for _ in range(REPEATS[backend]):
        outcome = run_attack(sandbox, canary, attack)
        for artifact in outcome.artifacts:
            assert artifact.data is not None
            assert artifact.bytes == len(artifact.data)


def _indent(text: str) -> str:
    return "\n".join("    " + line for line in text.splitlines())


def test_a_flood_of_files_is_cut(contain: Callable[[Attack], Outcome]) -> None:
    code = "for n in range(1500): open(f'f{n:05}.txt', 'w').write('x')"
    outcome = contain(Attack(name="many", code=code))
    assert len(outcome.artifacts) <= MAX_ARTIFACTS
    assert outcome.truncated.artifacts
    assert len(outcome.rejected_artifacts) < 3000


def test_given_files_swapped_for_links(contain: Callable[[Attack], Outcome]) -> None:
    code = """
import os
os.unlink("bars.csv")
os.symlink(canary["secret"], "bars.csv")
os.rename("data", "moved")
os.symlink(os.path.dirname(canary["secret"]), "data")
"""
    attack = Attack(name="given", code=code, files={"bars.csv": b"1", "data/secret.txt": b"2"})
    outcome = contain(attack)
    _only(outcome, "moved/secret.txt")
    rejected(outcome, "bars.csv")


def test_figures_are_not_saved_through_links(quant: Sandbox, canary: Canary) -> None:
    code = """
import os
import matplotlib.pyplot as plt
os.symlink(canary["writable"] + "/figure.png", "figure-1.png")
os.mkdir("figure-2.png")
os.mkfifo("figure-3.png")
for _ in range(3):
    plt.figure()
    plt.plot([1, 2])
"""
    run_attack(
        quant,
        canary,
        Attack(name="figures", code=code, expect=("ok", "error"), limits=limits(wall_seconds=10, memory_mb=512)),
    )
