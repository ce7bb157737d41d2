"""What the native backend does in the machine of scripts/cgroup2-vm, told as one JSON object per line.

test_cgroup2.py starts this there once, as root, and judges what it tells: an emulated machine is slow, so nothing
is loaded here that the backend does not need, and everything is tried in one boot.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import sysconfig
import time
import traceback
from collections.abc import Callable, Mapping
from pathlib import Path

from ringfence.base.errors import LimitError, SandboxError
from ringfence.sandbox import gauge, open_sandbox
from ringfence.sandbox.job import Job, Json, Limits
from ringfence.sandbox.native import cgroup
from ringfence.sandbox.native.fence import NativeSandbox

from tests.nobody import NOBODY, ROOT, become_nobody
from tests.patience import PATIENCE_SECONDS

MOUNT = Path("/sys/fs/cgroup")
DELEGATED = MOUNT / "delegated"
WATCHED = ("memory.max", "memory.swap.max", "memory.oom.group", "pids.max", "cpu.max", "cpu.stat", "cgroup.procs")

HEAP = "x = bytearray(300 << 20)"
# Each child is far below the limit and their sum is above it; the program itself only waits for them.
FAMILY = """
import os, time
for _ in range(4):
    if os.fork() == 0:
        x = bytearray(40 << 20)
        time.sleep(60)
for _ in range(4):
    os.wait()
"""
FORKS = """
import os, time
for _ in range(20):
    if os.fork() == 0:
        time.sleep(60)
        os._exit(0)
"""
# `look` tells us to look at the group; the pause gives us the time.
BUSY = """
import time
while time.process_time() < 0.6:
    pass
print("look", flush=True)
time.sleep(0.8)
"""
USAGE = """
import os, time
x = bytearray(80 << 20)
for _ in range(3):
    if os.fork() == 0:
        time.sleep(0.8)
        os._exit(0)
while time.process_time() < 0.3:
    pass
for _ in range(3):
    os.wait()
"""
# Attacks: what they did is judged by the groups, from outside. The owner of a delegated group is the job's own user.
HIDDEN = "import ctypes\nctypes.CDLL(None).prctl(4, 0, 0, 0, 0)  # PR_SET_DUMPABLE: none\n" + FAMILY
BOMB = """
import os
while True:
    try:
        os.fork()
    except OSError:
        pass
"""
DAEMONS = """
import os, signal, time
for number in set(range(1, 65)) - {signal.SIGCHLD}:
    try:
        signal.signal(number, signal.SIG_IGN)
    except OSError:
        pass
for _ in range(3):
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            os.closerange(0, 64)
            time.sleep(600)
        os._exit(0)
"""
LIFT = """
import os
result = []
for place, _, _ in os.walk("/sys"):
    result.append(place)
own = open("/proc/self/cgroup").read().strip().partition("::")[2]
for mount in ("/sys/fs/cgroup", "/proc/self/root/sys/fs/cgroup", "/proc/1/root/sys/fs/cgroup"):
    for group in (own, "/delegated", "/delegated/leaf", ""):
        for name, text in (("cgroup.procs", "0"), ("memory.max", "max"), ("pids.max", "max"), ("cgroup.kill", "1")):
            try:
                with open(f"{mount}{group}/{name}", "w") as file:
                    file.write(text)
            except OSError:
                continue
            result.append(f"{mount}{group}/{name}")
"""
LISTEN = "import socket\ns = socket.socket(socket.AF_UNIX)\ns.bind('\\0meeting')\ns.listen()"
KNOCK = """
import socket
try:
    socket.socket(socket.AF_UNIX).connect("\\0meeting")
    result = "connected"
except OSError as e:
    result = type(e).__name__
"""

JOBS: Mapping[str, tuple[str, Limits]] = {
    "ok": ("print('look', flush=True)\nimport time\ntime.sleep(0.8)\nresult = 6 * 7", Limits(processes=33)),
    "heap": (HEAP, Limits(memory_mb=64)),
    "family": (FAMILY, Limits(memory_mb=100)),
    "forks": (FORKS, Limits(processes=10)),
    "cpu": ("while True: pass", Limits(cpu_seconds=0.5)),
    "quota": (BUSY, Limits(cpus=0.2)),
    "usage": (USAGE, Limits(memory_mb=256)),
    "hidden": (HIDDEN, Limits(memory_mb=100)),
    "bomb": (BOMB, Limits(processes=10, wall_seconds=3)),
    "daemons": (DAEMONS, Limits()),
    "lift": (LIFT, Limits()),
}


def tell(name: str, fact: Json) -> None:
    sys.stdout.write(json.dumps({"name": name, "fact": fact}) + "\n")
    sys.stdout.flush()


def groups() -> list[str]:
    """Our groups, wherever they are."""
    return sorted(str(path) for place in (MOUNT, DELEGATED) for path in place.glob("ringfence-*"))


def look() -> dict[str, Json]:
    """The files of the running job's group, which is the oldest: the child parked after it has a higher number."""
    runs = [run for folder in groups() for run in Path(folder).glob("run-*")]
    oldest = min(runs, key=lambda run: int(run.name.partition("-")[2]))
    return {name: (oldest / name).read_text() for name in WATCHED}


def open_plain(park: int = 1) -> NativeSandbox:
    sandbox = open_sandbox(f"native:profile=plain,park={park}")
    assert isinstance(sandbox, NativeSandbox)
    return sandbox


def try_job(sandbox: NativeSandbox, code: str, limits: Limits) -> Json:
    seen: list[Json] = []
    assert sandbox.wait_parked(1, 60)

    def watch(stream: str, data: bytes) -> None:
        if data == b"look\n":
            seen.append(look())

    outcome = sandbox.run(Job(code=code, limits=limits), on_output=watch)
    return {"outcome": outcome.to_json(), "seen": seen}


def try_jobs(who: str) -> None:
    with open_plain() as sandbox:
        for name, (code, limits) in JOBS.items():
            tell(f"{who} {name}", try_job(sandbox, code, limits))
        with sandbox.open_session() as session:
            listening = session.run(LISTEN).status
            tell(f"{who} meeting", [listening, sandbox.run(Job(code=KNOCK)).result])
        tell(f"{who} lowered", try_lowering(sandbox))
    tell(f"{who} groups left", groups())


def try_lowering(sandbox: NativeSandbox) -> Json:
    """A cell that may have less memory than the session has in use; the kernel would kill to get there."""
    with sandbox.open_session(limits=Limits(memory_mb=200)) as session:
        session.run("hoard = bytearray(100 << 20)")
        try:
            session.run("1", limits=Limits(memory_mb=64))
        except LimitError as e:
            return [str(e), session.run("len(hoard) >> 20").result]
    return None


def try_dead_groups() -> Json:
    """What is left in the kernel of the groups of jobs that were the first to read a file."""
    files = sorted(Path(sysconfig.get_path("stdlib")).glob("*.py"))[:20]
    with open_plain(park=0) as sandbox:
        for file in files:
            sandbox.run(Job(code=f"open({str(file)!r}, 'rb').read()"))
    stat = dict(line.split() for line in (MOUNT / "cgroup.stat").read_text().splitlines())
    return [len(files), int(stat["nr_dying_descendants"])]


def kernel_words() -> list[str]:
    """What the kernel said of groups that it killed as a whole."""
    fd = os.open("/dev/kmsg", os.O_RDONLY | os.O_NONBLOCK)
    said = []
    try:
        while True:
            said.append(os.read(fd, 8192).decode(errors="replace"))
    except BlockingIOError:
        return [line.partition(";")[2].strip() for line in said if "memory.oom.group" in line]
    finally:
        os.close(fd)


def breed(procs: int) -> None:
    """Processes that live for a moment and leave another each: whoever lists them has an old list."""
    os.write(procs, b"0")
    while os.fork() == 0:
        pass


def try_sweep() -> Json:
    """A group full of restless processes whose owner is dead."""
    found = cgroup.find_hierarchy("0::/\n", f"none {MOUNT} cgroup2 rw 0 0\n")
    assert found is not None
    folder = cgroup.GroupFolder(found, "ringfence-sweep")
    folder.make()
    (procs,) = folder.new("run-1", Limits(processes=40)).open_procs()
    for _ in range(20):
        os.waitpid(in_child(lambda: breed(procs)), 0)
    os.close(procs)
    before = (folder.places[0] / "run-1" / "cgroup.procs").read_text().split()
    started = time.monotonic()
    cgroup.sweep(folder.places)
    return {"processes": len(before), "seconds": time.monotonic() - started, "left": groups()}


def try_without_peaks() -> Json:
    """As on a kernel that keeps no peaks."""
    read = gauge.read_file
    vars(gauge).update(read_file=lambda path: "" if path.name.endswith(".peak") else read(path))
    with open_plain() as sandbox:
        return try_job(sandbox, *JOBS["usage"])


def supervise(report: int) -> None:
    """A supervisor that will not live to see the end of its job."""
    sandbox = open_plain()
    warden = sandbox.warden_pid
    job = Job(code="print('on', flush=True)\nimport time\ntime.sleep(100)", limits=Limits(wall_seconds=100))
    sandbox.run(job, on_output=lambda *_: os.close(report) if os.write(report, b"%d" % warden) else None)


def kill_supervisor(who: str, *, warden_too: bool) -> None:
    read, write = os.pipe()
    supervisor = in_child(lambda: supervise(write))
    os.close(write)
    warden = int(os.read(read, 32))
    os.close(read)
    before = groups()
    os.kill(supervisor, signal.SIGSTOP)  # or it would sweep after a warden that dies first
    if warden_too:
        os.kill(warden, signal.SIGKILL)
    os.kill(supervisor, signal.SIGKILL)
    os.waitpid(supervisor, 0)
    deadline = time.monotonic() + (2 if warden_too else PATIENCE_SECONDS)
    while groups() and time.monotonic() < deadline:
        time.sleep(0.05)
    after = groups()
    with open_plain(park=0):
        opened = groups()
    fact: Json = {"before": before, "after": after, "opened": opened, "closed": groups()}
    tell(f"{who} {'both' if warden_too else 'supervisor'} killed", fact)


def in_child(action: Callable[[], None]) -> int:
    sys.stdout.flush()
    child = os.fork()
    if child == 0:
        code = 1
        try:
            action()
            code = 0
        except BaseException:  # noqa: BLE001  whatever it is, it must be seen, and the child must end here
            traceback.print_exc()
        finally:
            sys.stderr.flush()
            os._exit(code)
    return child


def delegate() -> None:
    """What an administrator does for a user; and the user's shell is in a leaf, as it must be in version 2."""
    (DELEGATED / "leaf").mkdir(parents=True)
    for place in (DELEGATED, DELEGATED / "leaf"):
        for name in (".", "cgroup.procs", "cgroup.threads", "cgroup.subtree_control"):
            os.chown(place / name, NOBODY, NOBODY)


def be_user() -> None:
    (DELEGATED / "leaf" / "cgroup.procs").write_text("0")
    become_nobody([Path(sys.base_prefix).resolve(), ROOT])
    os.environ.update(HOME="/tmp", RINGFENCE_CGROUP=str(DELEGATED))
    try_jobs("user")
    kill_supervisor("user", warden_too=True)
    own, mounts = Path("/proc/self/cgroup").read_text(), Path("/proc/self/mounts").read_text()
    found = cgroup.find_hierarchy(own, mounts)
    tell("user finds by itself", [str(place) for place in found.places] if found else None)


def be_user_in_the_way() -> None:
    """The user's own process is in the group that it would make groups in."""
    (DELEGATED / "cgroup.subtree_control").write_text("-memory -pids -cpu")
    (DELEGATED / "cgroup.procs").write_text("0")
    become_nobody([Path(sys.base_prefix).resolve(), ROOT])
    os.environ.update(HOME="/tmp", RINGFENCE_CGROUP=str(DELEGATED))
    try:
        open_plain().close()
    except SandboxError as e:
        tell("user in the way", str(e))


def ask_doctor() -> None:
    doctor = subprocess.run([sys.executable, "-m", "ringfence", "doctor", "--json"], capture_output=True, check=False)
    tell("doctor", json.loads(doctor.stdout or doctor.stderr))


def main() -> None:
    delegate()
    parts: list[Callable[[], None]] = [
        ask_doctor,
        lambda: try_jobs("root"),
        lambda: tell("sweep", try_sweep()),
        lambda: tell("dead groups", try_dead_groups()),
        lambda: tell("no peaks", try_without_peaks()),
        lambda: kill_supervisor("root", warden_too=False),
        lambda: kill_supervisor("root", warden_too=True),
        be_user,
        be_user_in_the_way,
    ]
    for part in parts:  # a failing one shows its traceback, and the others are still told
        os.waitpid(in_child(part), 0)
    tell("kernel", kernel_words())
    tell("groups at the end", groups())


if __name__ == "__main__":
    main()
