"""Files: reading what is not the guest's, and writing to the kernel's own files."""

from __future__ import annotations

import json
import os
import platform
import secrets
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from ringfence import Job, Outcome
from ringfence.sandbox import Sandbox

from tests.attacks.attack import ATTEMPT, QUICK, Attack, nothing_won, run_attack, run_promptly
from tests.attacks.canary import Canary
from tests.attacks.host import Host
from tests.patience import PATIENCE_SECONDS

READS = [
    Attack(
        name="opens_host_secrets_by_path",
        code=ATTEMPT
        + """
for place in ("secret", "private", "home"):
    attempt(place, lambda: open(canary[place]).read())
    attempt("raw " + place, lambda: __import__("os").read(__import__("os").open(canary[place], 0), 100))
    attempt("stat " + place, lambda: __import__("os").stat(canary[place]))
result = won
""",
        check=nothing_won,
    ),
    Attack(
        name="goes_through_the_root_and_cwd_links_of_every_process",
        code=ATTEMPT
        + """
import os
for pid in [n for n in os.listdir("/proc") if n.isdigit()] + ["1", "self", "thread-self", str(canary["supervisor"])]:
    for link in ("root", "cwd", "task/" + pid + "/root"):
        for place in ("secret", "private", "home"):
            attempt((pid, link), lambda: open(f"/proc/{pid}/{link}{canary[place]}").read())
            attempt((pid, link, "up"), lambda: open(f"/proc/{pid}/{link}/../../../..{canary[place]}").read())
result = won
""",
        check=nothing_won,
    ),
    Attack(
        name="reads_the_environment_of_every_process",
        code="""
import os
seen = {}
for pid in [*range(1, 300), canary["supervisor"], os.getppid()]:
    for name in ("environ", "cmdline", "maps"):
        try:
            text = open(f"/proc/{pid}/{name}", "rb").read()
        except OSError:
            continue
        if name == "environ":
            seen[pid] = sorted(pair.partition(b"=")[0].decode() for pair in text.split(b"\\0") if pair)
        print(text)
print(os.environ.get(canary["variable"]))
assert canary["variable"] not in str(seen)
""",
    ),
    Attack(
        name="leaves_through_inherited_descriptors",
        code=ATTEMPT
        + """
import os
for fd in range(3, 1024):
    attempt((fd, "relative"), lambda: os.open("../../../../../.." + canary["secret"], os.O_RDONLY, dir_fd=fd))
    attempt((fd, "fchdir"), lambda: os.fchdir(fd))
    attempt((fd, "through proc"), lambda: open(f"/proc/self/fd/{fd}{canary['secret']}").read())
    attempt((fd, "listing"), lambda: os.listdir(fd))
result = won
""",
        check=nothing_won,
    ),
    Attack(
        name="reopens_inherited_descriptors_for_writing",
        code="""
import os
for fd in os.listdir("/proc/self/fd"):
    for flags in (os.O_RDWR, os.O_WRONLY | os.O_TRUNC, os.O_RDONLY):
        try:
            again = os.open(f"/proc/self/fd/{fd}", flags | os.O_NONBLOCK)
        except OSError:
            continue
        if int(fd) > 2:
            try:
                os.read(again, 1 << 20), os.lseek(again, 0, 0), print(os.read(again, 1 << 20))
            except OSError:
                pass
""",
        expect=("ok", "error"),
    ),
    Attack(
        name="calls_the_sockets_of_daemons",
        code=ATTEMPT
        + """
import socket
def call(path):
    with socket.socket(socket.AF_UNIX) as s:
        s.settimeout(0.5)
        s.connect(path)
        s.sendall(b"GET /version HTTP/1.0\\r\\n\\r\\n")
        return s.recv(1000)
for path in (canary["socket"], "/proc/1/root" + canary["socket"], "/var/run/docker.sock", "/run/docker.sock",
             "/run/containerd/containerd.sock", "/run/podman/podman.sock", "/run/systemd/private",
             "/run/dbus/system_bus_socket", "/var/run/nscd/socket", "/dev/log", "/tmp/.X11-unix/X0"):
    attempt(path, lambda: call(path))
result = won
""",
        check=nothing_won,
    ),
    Attack(
        name="climbs_out_with_dots_and_links",
        code=ATTEMPT
        + """
import os
for up in ("..", "../..", "../../../../../../../..", "/..", "/../../..", "/job/../../..", "/tmp/..//../"):
    attempt(up, lambda: open(up + canary["secret"]).read())
os.makedirs("a/b/c")
os.symlink("../../../../../..", "a/b/c/out")
os.symlink("/", "top")
os.symlink("/proc/1/root", "other")
for link in ("a/b/c/out", "top", "other", "top/proc/1/root"):
    attempt(link, lambda: open(link + canary["secret"]).read())
os.chdir("/")
for _ in range(50):
    os.chdir("..")
attempt("chdir", lambda: open("." + canary["secret"]).read())
attempt("chroot", lambda: os.chroot("/job/a"))
result = won
""",
        check=nothing_won,
    ),
]


@pytest.mark.parametrize("attack", READS, ids=lambda a: a.name)
def test_reads_are_refused(contain: Callable[[Attack], Outcome], attack: Attack) -> None:
    contain(attack)


def test_homes_and_system_secrets_are_not_in_view(contain: Callable[[Attack], Outcome]) -> None:
    code = f"""
import os
for place in ("/root", "/home", "/etc", "/var", "/run", "/mnt", "/srv", "/opt", {str(Path.home())!r}):
    for top, folders, files in os.walk(place):
        for name in files:
            path = os.path.join(top, name)
            if any(word in path for word in ("shadow", "gshadow", "ssh", "rsa", "history", "token", ".git", "canary")):
                try:
                    print(path, open(path, errors="replace").read(2000))
                except OSError:
                    pass
"""
    outcome = contain(Attack(name="homes", code=code))
    shadow = Path("/etc/shadow")
    if os.access(shadow, os.R_OK):
        assert shadow.read_text().splitlines()[0] not in outcome.stdout
    assert "/etc/shadow" not in outcome.stdout
    assert "ringfence-canary" not in outcome.stdout  # not even the name of the file in the home directory


def test_other_runs_are_out_of_reach_while_they_run_and_after(sandbox: Sandbox, canary: Canary) -> None:
    mark = secrets.token_hex(12)
    before = Host.settled()
    started = threading.Event()
    leave = f"""
import time
for place in ("/job", "/tmp", "/dev/shm"):
    open(place + "/private-" + mark, "w").write(mark)
hold = mark * 1000
print("ready", flush=True)
time.sleep({QUICK.wall_seconds - 1})
"""
    victim = Job(code=leave, inputs={"mark": mark}, limits=QUICK)
    thread = threading.Thread(target=lambda: sandbox.run(victim, on_output=lambda *_: started.set()))
    thread.start()
    search = """
import os
roots = ["/job", "/tmp", "/dev/shm", "/box", "/var/tmp", "/run"]
for pid in filter(str.isdigit, os.listdir("/proc")):
    roots += [f"/proc/{pid}/root/job", f"/proc/{pid}/root/tmp", f"/proc/{pid}/cwd"]
for root in roots:
    for top, folders, files in os.walk(root):
        # An interpreter that lives under /tmp is bound again into it; that is no other run's.
        folders[:] = [f for f in folders if not os.path.ismount(os.path.join(top, f))]
        for name in files:
            print(os.path.join(top, name))
            print(open(os.path.join(top, name), errors="replace").read(1000))
"""
    assert started.wait(PATIENCE_SECONDS), "the first run did not start"
    while_running = run_promptly(sandbox, Job(code=search, limits=QUICK))
    thread.join()
    afterwards = [run_promptly(sandbox, Job(code=search, limits=QUICK)) for _ in range(3)]
    for outcome in (while_running, *afterwards):
        assert outcome.status == "ok", outcome
        assert mark not in json.dumps(outcome.to_json())
    before.assert_same_after()


def _kernel_settings() -> list[str]:
    names = ("kernel/core_pattern", "kernel/hostname", "kernel/modprobe", "vm/overcommit_memory", "vm/panic_on_oom")
    paths = [Path("/proc/sys", name) for name in names]
    return [path.read_text() for path in paths if path.exists()] + [platform.node()]


MAGIC = [
    Attack(
        name="writes_kernel_settings",
        code=ATTEMPT
        + """
import os, socket
for path in ("/proc/sys/kernel/core_pattern", "/proc/sys/kernel/hostname", "/proc/sys/kernel/modprobe",
             "/proc/sys/vm/overcommit_memory", "/proc/sys/vm/panic_on_oom", "/proc/sysrq-trigger",
             "/proc/sys/kernel/panic", "/proc/self/loginuid", "/sys/kernel/uevent_helper", "/proc/mtrr"):
    attempt(path, lambda: open(path, "r+").write("1"))
    attempt("w " + path, lambda: os.close(os.open(path, os.O_WRONLY)))
attempt("sethostname", lambda: socket.sethostname("owned"))
result = won
""",
        check=nothing_won,
    ),
    Attack(
        name="widens_its_own_maps_and_scores",
        code=ATTEMPT
        + """
import os
for name, text in {"uid_map": "0 0 1", "gid_map": "0 0 1", "setgroups": "allow", "oom_score_adj": "-1000"}.items():
    for pid in ("self", "1"):
        attempt((pid, name), lambda: open(f"/proc/{pid}/{name}", "w").write(text))
result = won
""",
        check=nothing_won,
    ),
    Attack(
        name="follows_namespace_links",
        code=ATTEMPT
        + """
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
for pid in ("self", "1", str(os.getppid()), str(canary["supervisor"])):
    for kind in ("mnt", "pid", "net", "user", "ipc", "uts", "cgroup"):
        def enter():
            fd = os.open(f"/proc/{pid}/ns/{kind}", os.O_RDONLY)
            if libc.setns(fd, 0):
                raise OSError(ctypes.get_errno())
        attempt((pid, kind), enter)
    maps = f"/proc/{pid}/map_files/"
    attempt((pid, "map_files"), lambda: os.open(maps + os.listdir(maps)[0], os.O_RDWR))
result = won
""",
        check=nothing_won,
    ),
    Attack(
        name="writes_the_memory_of_its_parent",
        code=ATTEMPT
        + """
import os
for pid in (1, os.getppid(), canary["supervisor"]):
    for name in ("mem", "environ", "maps", "syscall", "stack", "auxv"):
        attempt((pid, name), lambda: open(f"/proc/{pid}/{name}", "r+b" if name == "mem" else "rb").read(1))
result = [w for w in won if "maps" not in w[0]]
""",
        check=nothing_won,
    ),
    Attack(
        name="raises_its_limits_in_the_cgroup_files",
        code="""
import glob, os
for top, folders, files in os.walk("/sys"):
    for name in files:
        if name.startswith(("memory.", "cgroup.", "pids.", "cpu.", "release_agent", "notify_on_release")):
            try:
                open(os.path.join(top, name), "w").write("max" if name.endswith("max") else "-1")
            except OSError:
                pass
hog = []
while True:
    hog.append(bytearray(b"x" * (1 << 20)))
""",
        expect=("memory_limit",),
    ),
    Attack(
        name="uses_a_terminal_device",
        code=ATTEMPT
        + """
import os
def use(path):
    fd = os.open(path, os.O_RDWR)
    if os.fstat(fd).st_rdev == os.stat("/dev/null").st_rdev:
        raise LookupError("null, under another name")
    return fd
for path in ("/dev/tty", "/dev/console", "/dev/ptmx", "/dev/pts/0", "/dev/mem", "/dev/kmsg", "/dev/kvm", "/dev/fuse",
             "/dev/net/tun", "/dev/sda", "/dev/vda", "/dev/loop-control", "/dev/port"):
    attempt(path, lambda: use(path))
result = won
""",
        check=nothing_won,
    ),
]


@pytest.mark.parametrize("attack", MAGIC, ids=lambda a: a.name)
def test_kernel_files_and_magic_links(sandbox: Sandbox, canary: Canary, attack: Attack) -> None:
    before = _kernel_settings()
    run_attack(sandbox, canary, attack)
    assert _kernel_settings() == before
