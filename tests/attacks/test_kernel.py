"""Kernel surface: calls that no ordinary program makes must be refused before the kernel looks at their arguments."""

from __future__ import annotations

import errno
import os
import platform
import signal
import struct
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from ringfence import Job, Outcome
from ringfence.sandbox import Sandbox

from tests.attacks import containers
from tests.attacks.attack import ATTEMPT, Attack, limits, nothing_won
from tests.attacks.backends import OF_A_USER, USER_ID
from tests.attacks.calls import CALLS, COLUMN, PROBE, REFUSED, SOCKET, SOCKETPAIR, UNSHARE, Call
from tests.attacks.canary import Canary
from tests.attacks.host import JAIL_UID, jailed
from tests.conftest import require
from tests.patience import PATIENCE_SECONDS

Contain = Callable[[Attack], Outcome]


@pytest.mark.backends("native", why="the same list is asked at once below, in one container")
@pytest.mark.parametrize("call", [c for c in CALLS if c.number is not None], ids=lambda c: c.name)
def test_call_is_refused(contain: Contain, call: Call) -> None:
    code = f"{PROBE}\nresult = call({call.number}, *{call.args!r})"
    outcome = contain(Attack(name=call.name, code=code))
    assert outcome.result in REFUSED, f"{call.name}: errno {outcome.result}, 0 means that it succeeded"


def test_no_call_is_let_through_after_the_others(contain: Contain) -> None:
    """All of them from one process, so that a call which opens a way for another shows as well."""
    wanted = {call.name: (call.number, call.args) for call in CALLS if call.number is not None}
    code = f"{PROBE}\nresult = {{name: call(number, *args) for name, (number, args) in {wanted!r}.items()}}"
    outcome = contain(Attack(name="every call", code=code))
    assert isinstance(outcome.result, dict) and len(outcome.result) == len(wanted) > 90
    assert {name: got for name, got in outcome.result.items() if got not in REFUSED} == {}, "0 means that it succeeded"


@pytest.mark.parametrize("numbers", [SOCKET, SOCKETPAIR], ids=["socket", "socketpair"])
def test_socket_families_but_unix_are_refused(contain: Contain, numbers: tuple[int, int]) -> None:
    code = f"""{PROBE}
result = {{}}
for family in (f for f in range(51) if f != 1):
    for kind in (1, 2, 3, 5):
        result[f"family {{family}}, type {{kind}}"] = call({numbers[COLUMN]}, family, kind, 0, bytes(8))
"""
    outcome = contain(Attack(name="socket families", code=code))
    assert isinstance(outcome.result, dict) and len(outcome.result) == 200
    assert {what: got for what, got in outcome.result.items() if got not in REFUSED} == {}


# Calls through another ABI: either the process is killed for it (SIGSYS) or the call is refused.
INT80 = b"\x53\x89\xf8\x89\xf3\x41\x89\xc8\x89\xd1\x44\x89\xc2\xcd\x80\x5b\xc3"  # int f(eax, ebx, ecx, edx)
FOREIGN = {
    "x32 getpid": f"{PROBE}\nresult = call(0x40000000 | 39)",
    "x32 unshare": f"{PROBE}\nresult = call(0x40000000 | 272, 0x10000000)",
    **{
        f"int 0x80 {name}": f"""
import ctypes, mmap
page = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
page.write({INT80!r})
int80 = ctypes.CFUNCTYPE(ctypes.c_int, *[ctypes.c_uint] * 4)(ctypes.addressof(ctypes.c_char.from_buffer(page)))
result = -int80({args})
"""
        for name, args in {"getpid": "20, 0, 0, 0", "unshare": "310, 0x10000000, 0, 0", "mount": "21, 0, 0, 0"}.items()
    },
}


@pytest.mark.parametrize("name", FOREIGN)
def test_foreign_abi(contain: Contain, name: str) -> None:
    require("x86_64", platform.machine() == "x86_64")
    outcome = contain(Attack(name=name, code=FOREIGN[name], expect=("signal", "ok")))
    if outcome.status == "signal":
        assert outcome.signal in (signal.SIGSYS, signal.SIGSEGV)  # SEGV: this kernel has no such ABI
    else:
        assert outcome.result in REFUSED


def test_foreign_executable(contain: Contain) -> None:
    """A 32-bit program: unshare(CLONE_NEWUSER), then exit with what that returned."""
    require("x86_64", platform.machine() == "x86_64")
    code = b"\xb8\x36\x01\x00\x00\xbb\x00\x00\x00\x10\xcd\x80\x89\xc3\xb8\x01\x00\x00\x00\xcd\x80"
    base, size = 0x08048000, 52 + 32 + len(code)
    elf = struct.pack("<16sHHIIIIIHHHHHH", b"\x7fELF\x01\x01\x01", 2, 3, 1, base + 84, 52, 0, 0, 52, 32, 1, 0, 0, 0)
    elf += struct.pack("<8I", 1, 0, base, base, size, size, 5, 0x1000) + code
    program = f"""
import os, subprocess
open("foreign", "wb").write({elf!r})
os.chmod("foreign", 0o755)
try:
    result = subprocess.run(["./foreign"]).returncode
except OSError:
    result = "no such ABI"
os.remove("foreign")
"""
    outcome = contain(Attack(name="32-bit program", code=program))
    refused = {256 - number for number in REFUSED}
    assert outcome.result in ({-signal.SIGSYS, -signal.SIGSEGV, "no such ABI"} | refused), outcome.result


def test_seccomp_cannot_be_relaxed(contain: Contain) -> None:
    """A filter that allows everything, put over ours, takes nothing away from it."""
    seccomp = (317, 277)[COLUMN]
    code = f"""{PROBE}
import struct
allow_all = ctypes.create_string_buffer(struct.pack("HBBI", 6, 0, 0, 0x7FFF0000), 8)
program = struct.pack("HxxxxxxQ", 1, ctypes.addressof(allow_all))
call({(157, 167)[COLUMN]}, 22, 2, program, 0, 0)  # PR_SET_SECCOMP, as a filter
call({(157, 167)[COLUMN]}, 22, 0, 0, 0, 0)  # and switched off
call({seccomp}, 1, 0, program)
call({seccomp}, 1, 8, program)  # with a listener
call({(157, 167)[COLUMN]}, 38, 0, 0, 0, 0)  # PR_SET_NO_NEW_PRIVS, 0
result = [call({UNSHARE[COLUMN]}, 0x10000000), call({SOCKET[COLUMN]}, 2, 1, 0), call({(321, 280)[COLUMN]}, 0, 0, 0)]
"""
    outcome = contain(Attack(name="relax seccomp", code=code))
    assert isinstance(outcome.result, list) and set(outcome.result) <= REFUSED, outcome.result


def test_landlock_cannot_be_relaxed(contain: Contain) -> None:
    """A ruleset of the guest's own that allows everything everywhere adds no right."""
    code = f"""{PROBE}{ATTEMPT}
import struct
ruleset = libc.syscall(444, struct.pack("QQQ", 0x1FFF, 0, 0), 24, 0)
if ruleset >= 0:
    for place in ("/", "/usr", canary["writable"]):
        try:
            fd = os.open(place, os.O_PATH)
        except OSError:
            continue
        libc.syscall(445, ruleset, 1, struct.pack("=Qi", 0x1FFF, fd), 0)
    libc.syscall(446, ruleset, 0)
for place in (canary["writable"] + "/x", canary["secret"], "/usr/bin/x", "/etc/x", "/x", os.__file__):
    attempt(place, lambda: open(place, "a"))
result = won
"""
    contain(Attack(name="relax landlock", code=code, check=nothing_won))


def test_devices_are_not_there(contain: Contain) -> None:
    code = f"""{ATTEMPT}
import os
names = "mem kmem port kmsg kvm fuse vsock vhost-vsock loop-control loop0 ptmx tty tty0 console ttyS0 userfaultfd"
names += " vda sda nvme0 zram0 btrfs-control hwrng cpu/0/msr input/event0 snapshot net/tun dri/card0 pts/0 nvidia0"
null = os.stat("/dev/null").st_rdev
names = [n for n in names.split() if not (os.path.exists("/dev/" + n) and os.stat("/dev/" + n).st_rdev == null)]
for name in names:
    attempt(name, lambda: os.open("/dev/" + name, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY))
    attempt(name, lambda: os.open("/dev/" + name, os.O_WRONLY | os.O_NONBLOCK | os.O_NOCTTY))
known = set("null zero full random urandom shm fd stdin stdout stderr".split())
for name in set(os.listdir("/dev")) - known:  # an empty folder, or null under another name, is nothing to have
    path = "/dev/" + name
    if os.path.isdir(path) and not os.listdir(path) or os.path.exists(path) and os.stat(path).st_rdev == null:
        known.add(name)
    elif os.path.islink(path) and not os.path.exists(path):
        known.add(name)
result = won + sorted(set(os.listdir("/dev")) - known)
"""
    contain(Attack(name="devices", code=code, check=nothing_won))


def test_setuid_helpers_give_nothing(contain: Contain) -> None:
    code = '''
import shutil, subprocess
tries = """
su -c id; sudo -n id; pkexec id; runuser -u root id; setpriv --reuid 0 id; mount -t tmpfs none /job; umount /proc
passwd -d root; chsh -s /bin/sh root; chage -E 0 root; gpasswd -a guest root; fusermount -u /job
unshare -Ur id; unshare -m id; nsenter -t 1 -m id; chroot / id
"""
result = []
for argv in (line.split() for line in tries.strip().replace(chr(10), ";").split(";")):
    if shutil.which(argv[0]):
        done = subprocess.run(argv, stdin=subprocess.DEVNULL, capture_output=True, timeout=2)
        if done.returncode == 0:
            result.append([argv, done.stdout.decode()])
'''
    contain(Attack(name="setuid helpers", code=code, check=nothing_won, limits=limits(wall_seconds=6)))


def test_program_in_memory_stays_in_the_jail(contain: Contain) -> None:
    """An executable that never was a file: the interpreter itself, copied into a memfd and executed."""
    inner = f"""{PROBE}
import sys
try:
    open(sys.argv[1] + "/x", "w")
    opened = 0
except OSError as e:
    opened = e.errno
print(opened, call({UNSHARE[COLUMN]}, 0x10000000), os.geteuid())
"""
    code = f"""
import os, sys
fd = os.memfd_create("program", 0)
with open(os.path.realpath(sys.executable), "rb") as program:
    os.sendfile(fd, program.fileno(), 0, 1 << 30)
child = os.fork()
if child == 0:
    os.execve(fd, ["python", "-S", "-c", {inner!r}, canary["writable"]], os.environ | {{"PYTHONHOME": sys.base_prefix}})
result = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
"""

    def check(outcome: Outcome) -> None:
        if outcome.status == "ok":
            opened, unshared, euid = map(int, outcome.stdout.split())
            assert opened in REFUSED | {errno.ENOENT, errno.EROFS}
            assert unshared in REFUSED
            assert euid != 0
        else:
            assert outcome.error is not None and outcome.error.type == "PermissionError"  # memfd_create is refused

    contain(Attack(name="memfd exec", code=code, expect=("ok", "error"), check=check))


def test_other_processes_cannot_be_taken_over(contain: Contain) -> None:
    """The first process of the jail is ours: its memory, descriptors and namespaces are not for the guest."""
    code = f"""{PROBE}{ATTEMPT}
pid = canary["supervisor"]
attempt("open the supervisor", lambda: os.pidfd_open(pid))
attempt("signal the supervisor", lambda: os.kill(pid, 0))
for target in (1, os.getppid() or 1, pid):
    for name in "mem environ maps fd fdinfo root cwd exe ns/mnt ns/user stack syscall".split():
        path = f"/proc/{{target}}/{{name}}"
        attempt(path, lambda: os.open(path, os.O_RDONLY))
    attempt("write memory", lambda: os.open(f"/proc/{{target}}/mem", os.O_RDWR))
    attempt("oom", lambda: open(f"/proc/{{target}}/oom_score_adj", "w").write("1000"))
result = won
"""
    contain(Attack(name="take over others", code=code, check=nothing_won))


# The root of a container, and what an engine puts into every one; besides, empty folders that mask others.
OF_THE_ENGINE = ("/", "/etc/hosts", "/etc/hostname", "/etc/resolv.conf")


def test_jail_seen_from_outside(sandbox: Sandbox, canary: Canary, backend: str) -> None:
    """What the kernel itself says of a running guest: no privilege, a filter, and no namespace or mount of the host."""
    started, outcomes = threading.Event(), list[Outcome]()
    code = "import ctypes, time; ctypes.CDLL(None).prctl(15, b'outside-view'); print('x', flush=True); time.sleep(20)"

    def run() -> None:
        job = Job(code=code, limits=limits(wall_seconds=2))
        outcomes.append(sandbox.run(job, on_output=lambda stream, data: started.set()))

    thread = threading.Thread(target=run)
    thread.start()
    try:
        assert started.wait(PATIENCE_SECONDS)
        (pid,) = (pid for pid, about in jailed().items() if about.endswith(" outside-view"))
        proc = Path(f"/proc/{pid}")
        status = dict(line.split(":\t", 1) for line in (proc / "status").read_text().splitlines() if ":\t" in line)
        spaces = {name: os.readlink(proc / "ns" / name) for name in ("mnt", "pid", "net", "ipc", "uts")}
        mounts = [line.split() for line in (proc / "mountinfo").read_text().splitlines()]
        groups = (proc / "cgroup").read_text()
    finally:
        thread.join()
    assert outcomes[0].status == "timeout"
    assert (status["Seccomp"], status["NoNewPrivs"]) == ("2", "1")
    assert set(status["Groups"].split()) <= set(status["Gid"].split()), "a group that is not the guest's own"
    assert {int(status[f"Cap{kind}"], 16) for kind in ("Inh", "Prm", "Eff", "Bnd", "Amb")} == {0}
    for name, space in spaces.items():
        assert space != os.readlink(f"/proc/self/ns/{name}"), f"the guest shares our {name} namespace"
    ids = [int(number) for number in status["Uid"].split() + status["Gid"].split()]
    if backend in OF_A_USER:
        assert set(ids) == {USER_ID}
    else:
        assert min(ids) >= JAIL_UID
    if backend != "native_user":
        assert any(name in groups for name in ("ringfence", *containers.present()))
    for _, _, _, root, place, options, *rest in mounts:
        assert str(canary.root) not in root + place
        kind = rest[rest.index("-") + 1]
        if backend == "docker" and (place in OF_THE_ENGINE or (kind == "tmpfs" and options.startswith("ro"))):
            # More cannot be asked for; NoNewPrivs, above, takes the rest away.
            assert {"ro", "nosuid"} & set(options.split(","))
            continue
        assert "nosuid" in options.split(",")
        if kind not in ("tmpfs", "proc") and not place.startswith("/dev/"):
            assert {"ro", "nodev"} <= set(options.split(",")), f"{place} is {options}"
