"""Which backends there are, as which user, and how a sandbox or a supervisor of each is opened.

Root opens its sandboxes in this process. An ordinary user's are opened in a process of their own (see `remote`), with
a user id that nobody else on the machine has, so that whatever carries it came from there. `native_delegated` is that
user with control groups that root has handed over, as an administrator would.
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ringfence.sandbox import Sandbox, open_sandbox
from ringfence.sandbox.native import cgroup

from tests.attacks.remote import RemoteSandbox
from tests.conftest import require

BACKENDS = ("native", "native_user", "native_delegated", "docker")
OF_A_USER = ("native_user", "native_delegated")
_FIRST_ID = 1_000_000
USER_ID = _FIRST_ID + os.getpid()

_delegated: list[Path] = []


def spec_of(backend: str, options: str = "profile=plain,park=1") -> str:
    return f"{'docker' if backend == 'docker' else 'native'}:{options}"


def user_of(backend: str) -> int:
    return USER_ID if backend in OF_A_USER else os.geteuid()


def prefix_of(backend: str) -> list[str]:
    """What to put before a command so that it runs as this backend's user."""
    if backend not in OF_A_USER:
        return []
    groups = [f"--group={place}" for place in _delegated] if backend == "native_delegated" else []
    return [sys.executable, "-m", "tests.nobody", f"--uid={USER_ID}", *groups]


def open_on(backend: str, options: str = "profile=plain,park=1") -> Sandbox:
    spec = spec_of(backend, options)
    return RemoteSandbox(spec, prefix_of(backend), USER_ID) if backend in OF_A_USER else open_sandbox(spec)


@contextmanager
def ordinary_user(*, groups: bool) -> Iterator[None]:
    """For the block, the user may be, and has control groups of its own or has none."""
    require("root")
    made = _delegate() if groups else []
    try:
        yield
    finally:
        _delegated.clear()
        for place in made:
            cgroup.sweep([place])
        shutil.rmtree(f"/tmp/ringfence-{USER_ID}", ignore_errors=True)


def _delegate() -> list[Path]:
    """Hand a group of each hierarchy over to the user. In version 2 the user's processes begin in a leaf of it."""
    found = cgroup.find_hierarchy(Path("/proc/self/cgroup").read_text(), Path("/proc/self/mounts").read_text())
    require("a control group that can be handed over", present=found is not None)
    assert found is not None
    for left in (group for place in found.places for group in place.glob("delegated-*")):
        if not Path(f"/proc/{int(left.name.partition('-')[2]) - _FIRST_ID}").exists():
            cgroup.sweep([left])  # its session of tests was killed
    made = [place / f"delegated-{USER_ID}" for place in found.places]
    for group in made:
        begin = group / "begin" if found.version == 2 else group
        begin.mkdir(parents=True)
        for place in {group, begin}:
            for name in (".", "cgroup.procs", "tasks", "cgroup.threads", "cgroup.subtree_control"):
                if (place / name).exists():
                    os.chown(place / name, USER_ID, USER_ID)
        if found.version == 2:
            (group / "cgroup.subtree_control").write_text("+memory +pids +cpu")
        _delegated.append(begin)
    return made
