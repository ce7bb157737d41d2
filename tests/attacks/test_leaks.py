"""Leaks: a guest finds nothing of the supervisor, of the machine or of the guests before it."""

from __future__ import annotations

import json
import os
import platform
import re
import secrets
import socket
import sys
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from ringfence import Job, Limits, Outcome
from ringfence.sandbox import Sandbox

from tests.attacks.attack import ATTEMPT, QUICK, Attack, limits, nothing_won, run_attack, run_promptly
from tests.attacks.canary import VARIABLE, Canary
from tests.conftest import ROOT
from tests.patience import PATIENCE_SECONDS

Contain = Callable[[Attack], Outcome]

PARKED = replace(QUICK, disk_mb=Limits().disk_mb)  # of the shape that waits in the pool, so the child is an older one

# `hunt(marker)` looks through every object and every readable page of the process for the marker and prints what
# follows it. The marker is built from two halves, so that the program's own text does not hold it.
HUNT = """
import ctypes, gc, os, sys
def regions():
    try:
        lines = open("/proc/self/maps").read().splitlines()
    except OSError:
        return
    for line in lines:
        span, rights, *rest = line.split()
        if rights[0] == "r" and not line.endswith(("[vvar]", "[vsyscall]", "[vvar_vclock]")):
            start, end = (int(n, 16) for n in span.split("-"))
            yield start, end
def pages():
    try:
        memory = os.open("/proc/self/mem", os.O_RDONLY)
    except OSError:
        memory = None
    for start, end in regions():
        for at in range(start, end, 1 << 22):
            size = min(1 << 22, end - at)
            if memory is None:
                yield ctypes.string_at(at, size)
                continue
            try:
                yield os.pread(memory, size, at)
            except OSError:
                pass  # a page that is mapped beyond the end of its file
def hunt(first, second):
    marker = (first + second).encode()
    looked = 0
    for page in pages():
        looked += len(page)
        at = page.find(marker)
        while at >= 0:
            print(page[at : at + 200], flush=True)
            at = page.find(marker, at + 1)
    gc.unfreeze()
    for holder in gc.get_objects():
        for thing in gc.get_referents(holder):
            if type(thing) in (str, bytes):
                text = thing if type(thing) is str else thing.decode("latin-1")
                if first + second in text:
                    print(repr(text[:1000]), flush=True)
    return looked
"""


def hunted(outcome: Outcome) -> None:
    """The hunt itself must have looked at something, or it proves nothing."""
    assert isinstance(outcome.result, int) and outcome.result > 1 << 20, f"looked at {outcome.result} bytes only"


ENVIRONMENT = """
import glob, os, subprocess, sys
print(dict(os.environ))
for path in glob.glob("/proc/*/environ"):
    try:
        print(path, open(path, "rb").read())
    except OSError as e:
        print(path, e)
print(subprocess.run(["env"], capture_output=True).stdout)
result = sorted(os.environ)
"""


@pytest.mark.parametrize("shape", [QUICK, PARKED], ids=["forked", "parked"])
def test_environment(contain: Contain, shape: Limits) -> None:
    def check(outcome: Outcome) -> None:
        assert VARIABLE not in outcome.stdout
        ours = set(os.environ) - {"HOME", "PATH", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "TMPDIR", "USER", "SHELL", "PWD"}
        assert isinstance(outcome.result, list) and not ours & {n for n in outcome.result if not n.startswith("PYTHON")}

    contain(Attack(name="environment", code=ENVIRONMENT, check=check, limits=shape))


def test_environment_in_memory(contain: Contain) -> None:
    name = VARIABLE
    code = f"{HUNT}\nresult = hunt({name[:10]!r}, {name[10:] + '='!r})"
    contain(Attack(name="environment in memory", code=code, check=hunted))


@pytest.mark.parametrize("shape", [QUICK, PARKED], ids=["forked", "parked"])
def test_descriptors(contain: Contain, shape: Limits) -> None:
    """Standard input, two streams, and one channel to the supervisor: nothing else is inherited."""
    code = """
import os
result = {}
for name in os.listdir("/proc/self/fd"):
    try:
        result[name] = os.readlink("/proc/self/fd/" + name)
    except FileNotFoundError:
        pass  # the listing's own
"""

    def check(outcome: Outcome) -> None:
        assert isinstance(outcome.result, dict)
        found = {int(name): str(target) for name, target in outcome.result.items()}
        assert set(found) <= {0, 1, 2, 3}, found
        assert found[0] == "/dev/null"
        assert all(re.fullmatch(r"(pipe|socket):\[\d+\]", found[fd]) for fd in found if fd), found

    contain(Attack(name="descriptors", code=code, check=check, limits=shape))


def test_descriptors_after_exec(contain: Contain) -> None:
    """A program that the guest executes inherits the three streams only; the shell's own listing adds one."""
    code = """
import subprocess
result = subprocess.run(["ls", "-l", "/proc/self/fd"], capture_output=True, text=True, close_fds=False).stdout
"""

    def check(outcome: Outcome) -> None:
        links = re.findall(r"(\d+) -> (\S+)", str(outcome.result))
        assert links, outcome.result
        extra = [link for link in links if int(link[0]) > 2 and not link[1].startswith("/proc/")]
        assert not extra, extra

    contain(Attack(name="descriptors after exec", code=code, check=check))


def test_descriptors_cannot_be_reopened(contain: Contain) -> None:
    """Through the magic links of its own streams the guest reaches no file of the host."""
    code = f"""{ATTEMPT}
import os
for fd in range(64):
    for flags in (os.O_RDWR, os.O_RDONLY | os.O_DIRECTORY, os.O_PATH | os.O_DIRECTORY):
        attempt((fd, flags), lambda: os.listdir(os.open(f"/proc/self/fd/{{fd}}", flags | os.O_NONBLOCK)))
    attempt(fd, lambda: os.listdir(f"/proc/self/fd/{{fd}}/.."))
result = won
"""
    contain(Attack(name="reopen descriptors", code=code, check=nothing_won))


SECRET_JOB = """
import builtins, os, sys, types
held = [secret * 3, {secret: secret}, secret.encode()]
builtins.stolen = secret
os.environ["STOLEN"] = secret
sys.modules["stolen"] = types.ModuleType("stolen")
sys.modules["stolen"].value = secret
json_module = __import__("json")
json_module.stolen = secret
for place in ("/job", "/tmp", "/dev/shm", "/box", "/var/tmp", "/"):
    try:
        open(place + "/stolen", "w").write(secret)
    except OSError:
        pass
print(secret)
result = secret
"""
LOOK_BACK = """
import builtins, json, os, sys
result = {
    "builtins": hasattr(builtins, "stolen"),
    "environment": "STOLEN" in os.environ,
    "modules": "stolen" in sys.modules,
    "attributes": hasattr(json, "stolen"),
    "files": [p for p in ("/job", "/tmp", "/dev/shm", "/box", "/var/tmp", "/") if os.path.exists(p + "/stolen")],
    "working directory": os.listdir("/job"),
    # An interpreter that lives under /tmp is bound again into it.
    "temporary": [n for n in os.listdir("/tmp") if not sys.prefix.startswith(f"/tmp/{n}/")] + os.listdir("/dev/shm"),
    "processes": [name for name in os.listdir("/proc") if name.isdigit() and name not in ("1", str(os.getpid()))],
}
"""
NOTHING = {
    "builtins": False,
    "environment": False,
    "modules": False,
    "attributes": False,
    "files": [],
    "working directory": [],
    "temporary": [],
    "processes": [],
}


def plant(sandbox: Sandbox, secret: str, count: int = 3) -> None:
    """Several earlier guests that leave the secret wherever they can."""
    for _ in range(count):
        job = Job(code=SECRET_JOB, inputs={"secret": secret}, files={"given": secret.encode()}, limits=PARKED)
        outcome = run_promptly(sandbox, job)
        assert (outcome.status, outcome.result) == ("ok", secret), outcome


def test_earlier_guests_leave_nothing(sandbox: Sandbox, canary: Canary) -> None:
    plant(sandbox, secrets.token_hex(16))
    for _ in range(3):
        outcome = run_attack(sandbox, canary, Attack(name="look back", code=LOOK_BACK, limits=PARKED))
        assert outcome.result == NOTHING


def test_earlier_guests_are_not_in_memory(sandbox: Sandbox, canary: Canary) -> None:
    """Text, inputs, files and results of a job go past the zygote, so nothing of them is in the next child."""
    marker, secret = f"tenant-{secrets.token_hex(8)}-", secrets.token_hex(16)
    plant(sandbox, marker + secret)
    code = f"{HUNT}\nresult = hunt({marker[:12]!r}, {marker[12:]!r})"
    for shape in (PARKED, PARKED, QUICK):
        attack = Attack(name="earlier guests in memory", code=code, check=hunted, limits=shape)
        outcome = run_attack(sandbox, canary, attack)
        assert secret not in json.dumps(outcome.to_json())


@pytest.mark.backends("native", "native_user", "native_delegated", why="a container has no zygote for each profile")
def test_earlier_guests_are_not_in_the_quant_zygote(quant: Sandbox, canary: Canary) -> None:
    marker, secret = f"tenant-{secrets.token_hex(8)}-", secrets.token_hex(16)
    plant(quant, marker + secret, count=2)
    code = f"{HUNT}\nresult = hunt({marker[:12]!r}, {marker[12:]!r})"
    attack = Attack(name="quant zygote heap", code=code, check=hunted, limits=limits(wall_seconds=10, memory_mb=512))
    assert secret not in json.dumps(run_attack(quant, canary, attack).to_json())


def test_host_activity_is_not_watched(sandbox: Sandbox) -> None:
    """The runtime's files are the host's own: a guest must not be told when somebody else opens one of them."""
    code = """
import ctypes, json, os, select
libc = ctypes.CDLL(None, use_errno=True)
fd = libc.inotify_init1(os.O_NONBLOCK)
libc.inotify_add_watch(fd, os.path.dirname(json.__file__).encode(), 0x21)
print("watching", flush=True)
select.select([fd] if fd >= 0 else [], [], [], 1)
result = os.read(fd, 4096).hex() if fd >= 0 and select.select([fd], [], [], 0)[0] else None
"""
    watching, outcomes = threading.Event(), list[Outcome]()
    job = Job(code=code, limits=QUICK)
    thread = threading.Thread(target=lambda: outcomes.append(sandbox.run(job, on_output=lambda *_: watching.set())))
    thread.start()
    assert watching.wait(PATIENCE_SECONDS)
    Path(json.__file__).read_bytes()
    thread.join()
    assert (outcomes[0].status, outcomes[0].result) == ("ok", None), outcomes[0]


def test_concurrent_guests_do_not_see_each_other(contain: Contain) -> None:
    """Parked children and other runs live in namespaces of their own: only init and the guest are there."""
    code = """
import os
pids = sorted(int(name) for name in os.listdir("/proc") if name.isdigit())
others = []
for pid in range(1, 5000):
    if pid not in (os.getpid(), 1):
        try:
            os.kill(pid, 0)
            others.append(pid)
        except OSError:
            pass
result = [pid for pid in pids if pid not in (1, os.getpid())] + others
"""
    contain(Attack(name="other guests", code=code, check=nothing_won))


def test_machine_is_not_named(contain: Contain) -> None:
    code = """
import os, platform, socket, subprocess
said = [socket.gethostname(), platform.node(), os.uname().nodename, socket.getfqdn()]
said.append(subprocess.run(["uname", "-n"], capture_output=True, text=True).stdout.strip())
for path in ("/etc/hostname", "/etc/machine-id", "/var/lib/dbus/machine-id", "/proc/sys/kernel/hostname",
             "/proc/sys/kernel/random/boot_id", "/sys/class/dmi/id/product_uuid", "/etc/hosts", "/etc/resolv.conf"):
    try:
        said.append(open(path).read())
    except OSError:
        pass
result = said
"""

    def check(outcome: Outcome) -> None:
        assert isinstance(outcome.result, list)
        said = " ".join(map(str, outcome.result)).split()
        hidden = {socket.gethostname(), platform.node()} - {"ringfence", "localhost"}
        for path in ("/etc/machine-id", "/proc/sys/kernel/random/boot_id"):
            if Path(path).exists():
                hidden.add(Path(path).read_text().strip())
        assert not hidden & set(said), hidden & set(said)

    contain(Attack(name="machine names", code=code, check=check))


def test_host_folders_are_not_there(contain: Contain, backend: str) -> None:
    """Of the host's folders only those are there that lead to the interpreter, each with the next one on the way.

    In a container all is the image's own, and nothing but names can be the same as on the host.
    """
    home = str(Path.home())
    places = ["/", "/root", "/home", "/var", "/run", "/srv", "/opt", "/mnt", "/media", "/boot", "/sys", home]
    code = f"""{ATTEMPT}
import os
attempt("home", lambda: os.listdir(os.path.dirname(canary["home"])))
attempt("canary", lambda: os.listdir(os.path.dirname(canary["secret"])))
attempt("users", lambda: [l for l in open("/etc/passwd") if l.split(":")[0] not in ("root", "guest", "nobody")][0])
attempt("shadow", lambda: open("/etc/shadow").read())
listed = {{place: os.listdir(place) for place in {places!r} if os.path.isdir(place)}}
listed["/sys"] = [n for n in listed.get("/sys", ()) if os.listdir("/sys/" + n)]
result = [won, listed]
"""
    runtime = [Path(p) for p in (sys.prefix, sys.base_prefix, str(ROOT / "src"), "/usr/local")]
    on_the_way = {part for path in runtime for part in path.parts}
    top = {"bin", "dev", "etc", "lib", "lib32", "lib64", "libx32", "proc", "sbin", "tmp", "usr"}

    image = ("/var", "/opt") if backend == "docker" else ()
    if image:
        top |= {".dockerenv", "sys", *(place.strip("/") for place in image)}

    def check(outcome: Outcome) -> None:
        assert isinstance(outcome.result, list)
        won, listed = outcome.result
        assert won == [] and isinstance(listed, dict) and listed
        for place, names in listed.items():
            if place in image:
                continue
            # Below /sys only the control groups are left in a container; the keeper reads its own.
            allowed = on_the_way | (top if place == "/" else {"fs"} if place == "/sys" and image else set())
            assert set(map(str, names)) & set(os.listdir(place)) <= allowed, f"{place}: {names}"

    contain(Attack(name="users and homes", code=code, check=check))


RAISERS = {
    "own code": "def f():\n    raise ValueError('x')\nf()",
    "a library": "import json\njson.loads('{')",
    "a callback of a library": "sorted([1, 2], key=lambda x: 1 / 0)",
    "a result that cannot be carried": "result = object()",
    "a syntax error": "def (",
    "an import error": "import no_such_module",
    "a chained error": "try:\n    1 / 0\nexcept ZeroDivisionError as e:\n    raise KeyError('x') from e",
    "an exit handler": "import atexit\natexit.register(lambda: 1 / 0)",
    "a thread": "import threading\nt = threading.Thread(target=lambda: 1 / 0)\nt.start()\nt.join()\n1 / 0",
    "a finaliser": "class A:\n    def __del__(self):\n        1 / 0\na = A()\ndel a\n1 / 0",
}


@pytest.mark.container_sample("own code", "a library", "an exit handler", why="the guest that writes them is the same")
@pytest.mark.parametrize("name", RAISERS)
def test_tracebacks_hold_no_host_paths(contain: Contain, name: str) -> None:
    """A traceback names the program and the interpreter's libraries; neither our own frames nor the checkout."""

    def check(outcome: Outcome) -> None:
        text = outcome.stderr + (outcome.error.traceback + outcome.error.message if outcome.error else "")
        known = ("/box/", "<", sys.prefix, sys.base_prefix, "/usr/lib")
        assert [path for path in re.findall(r'File "([^"]+)"', text) if not path.startswith(known)] == []
        assert str(ROOT / "src") not in text and str(ROOT / "tests") not in text
        assert not re.search(r"ringfence/(guest|sandbox|base)", text), text

    contain(Attack(name=name, code=RAISERS[name], expect=("error", "ok"), check=check))


def test_mount_table_names_no_secret_place(contain: Contain) -> None:
    code = """
texts = []
for name in ("mountinfo", "mounts", "mountstats", "cgroup", "maps"):
    try:
        texts.append(open("/proc/self/" + name).read())
    except OSError:
        pass
result = texts
"""

    def check(outcome: Outcome) -> None:
        text = str(outcome.result)
        assert "ringfence-canary" not in text
        assert str(ROOT / "tests") not in text

    contain(Attack(name="mount table", code=code, check=check))
