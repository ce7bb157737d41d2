"""What this machine can enforce, how, and what to do about the rest. Nothing is assumed: a real job is run."""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from ringfence.base.config import Settings
from ringfence.base.errors import RingfenceError
from ringfence.sandbox.job import Job, Json

# What the probe job says it sees from inside; the host compares it with what should be so.
_PROBE = """
import os, socket
def refused(action):
    try:
        action()
    except OSError as e:
        return e.errno
    return 0
result = {
    "uid": os.getuid(),
    "root": sorted(os.listdir("/")),
    "socket": refused(lambda: socket.socket(socket.AF_INET)),
    "write": refused(lambda: open("/usr/ringfence-probe", "w")),
    "unshare": refused(lambda: os.unshare(0x10000000)) if hasattr(os, "unshare") else 1,
}
"""


@dataclass(frozen=True, slots=True)
class Check:
    name: str
    ok: bool
    how: str
    remedy: str | None = None


@dataclass(frozen=True, slots=True)
class Report:
    checks: tuple[Check, ...]
    isolation: Mapping[str, str]
    usable: bool


def examine(settings: Settings | None = None) -> Report:
    """Look at the machine, then run a probe behind the fence."""
    containers = _containers(settings or Settings())
    if not sys.platform.startswith("linux"):
        check = Check("platform", False, platform.system(), "the native backend needs Linux: use --backend docker")
        return Report((check, containers), {}, usable=containers.ok)
    checks = [_kernel(), _user(), _groups(settings or Settings()), _landlock(), _libraries()]
    probe, isolation = _probe()
    return Report((*checks, probe, containers), isolation, usable=probe.ok)


def _kernel() -> Check:
    release = platform.release()
    numbers = release.split("-")[0].split(".")[:2]
    new_enough = tuple(int(n) for n in numbers if n.isdecimal()) >= (5, 12)
    known = platform.machine() in ("x86_64", "aarch64")
    remedy = None
    if not new_enough:
        remedy = "use Linux 5.12 or newer: mount_setattr and pidfds are needed"
    elif not known:
        remedy = "use an x86_64 or aarch64 machine, or --backend docker"
    return Check("kernel", new_enough and known, f"Linux {release} on {platform.machine()}", remedy)


def _user() -> Check:
    if os.geteuid() == 0:
        return Check("user", True, "root: every job gets a user id of its own")
    blocked = _user_namespaces_blocked()
    if blocked:
        return Check("user", False, f"uid {os.getuid()}, but user namespaces are off", blocked)
    return Check("user", True, f"uid {os.getuid()}: jobs run as it, each in a user namespace")


def _user_namespaces_blocked() -> str | None:
    """Why an ordinary user cannot make a user namespace, as a remedy; None when nothing is known to forbid it."""
    switches = {
        "/proc/sys/user/max_user_namespaces": ("0", "sysctl user.max_user_namespaces=10000"),
        "/proc/sys/kernel/unprivileged_userns_clone": ("0", "sysctl kernel.unprivileged_userns_clone=1"),
        "/proc/sys/kernel/apparmor_restrict_unprivileged_userns": (
            "1",
            "sysctl kernel.apparmor_restrict_unprivileged_userns=0, or an AppArmor profile for this Python",
        ),
    }
    for path, (bad, remedy) in switches.items():
        file = Path(path)
        if file.exists() and file.read_text().strip() == bad:
            return f"as root: {remedy}"
    return None


def _groups(settings: Settings) -> Check:
    from ringfence.sandbox.native.launch import find_hierarchy

    hierarchy = find_hierarchy(settings)
    if hierarchy:
        places = ", ".join(str(place) for place in hierarchy.places)
        return Check("control groups", True, f"version {hierarchy.version}: {', '.join(hierarchy.dirs)} in {places}")
    how = "none that we may write: memory is bounded by RLIMIT_DATA and polling, CPUs by affinity"
    remedy = (
        "run as root; or, in a group delegated to you (systemd-run --user --scope -p Delegate=yes bash), move the "
        "shell to a group below it (mkdir $g/shell; echo $$ > $g/shell/cgroup.procs) and set RINGFENCE_CGROUP=$g"
    )
    return Check("control groups", False, how, remedy)


def _landlock() -> Check:
    from ringfence.sandbox.native.syscalls import landlock_abi

    abi = landlock_abi()
    if abi:
        return Check("landlock", True, f"version {abi}")
    return Check("landlock", False, "not in this kernel; the mounts still protect", "boot with lsm=landlock,...")


def _libraries() -> Check:
    from importlib.util import find_spec

    from ringfence.sandbox.native.profiles import PROFILES

    wanted = sorted({name.partition(".")[0] for name in PROFILES["quant"].full})
    missing = [name for name in wanted if find_spec(name) is None]
    if missing:
        return Check("libraries", False, f"missing: {', '.join(missing)}", "pip install 'ringfence[guest,backtesting]'")
    return Check("libraries", True, f"all of the quant profile: {', '.join(wanted)}")


def _containers(settings: Settings) -> Check:
    """The docker backend, which nobody needs where the native one works."""
    from ringfence.sandbox import open_sandbox

    try:
        with open_sandbox(f"docker:profile=plain,park=0,image={settings.image}") as sandbox:
            outcome = sandbox.run(Job(code=_PROBE))
    except (RingfenceError, OSError) as e:
        return Check("docker", False, str(e).partition(":")[0], f"only for --backend docker:{str(e).partition(':')[2]}")
    wrong = outcome.reason if not outcome.ok else _what_leaks(outcome.result)
    if wrong:
        return Check("docker", False, wrong, "do not trust this sandbox; report what you see here")
    return Check("docker", True, f"a job ran in a container of {outcome.isolation['container']}")


def _probe() -> tuple[Check, Mapping[str, str]]:
    from ringfence.sandbox import open_sandbox

    try:
        with open_sandbox("native:profile=plain,park=0") as sandbox:
            outcome = sandbox.run(Job(code=_PROBE))
    except (RingfenceError, OSError) as e:
        return Check("probe", False, str(e), _probe_remedy()), {}
    wrong = outcome.reason if not outcome.ok else _what_leaks(outcome.result)
    if wrong:
        return Check("probe", False, wrong, "do not trust this sandbox; report what you see here"), outcome.isolation
    return Check("probe", True, "a job ran, saw only the runtime, and was refused the rest"), outcome.isolation


def _probe_remedy() -> str:
    if os.geteuid() == 0:
        return "inside a container: give it CAP_SYS_ADMIN and an unconfined seccomp profile, or use --backend docker"
    return _user_namespaces_blocked() or "run as root, or use --backend docker"


def _what_leaks(seen: Json) -> str | None:
    if not isinstance(seen, dict):
        return "the probe gave no answer"
    if seen["uid"] == 0:
        return "the job ran as root"
    for name in ("socket", "write", "unshare"):
        if seen[name] == 0:
            return f"the job was not refused: {name}"
    return None
