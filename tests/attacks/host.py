"""What the machine looks like from outside: our processes, cgroups, mounts, shared memory, files, System V IPC and
containers."""

from __future__ import annotations

import json
import os
import re
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from glob import glob  # which does not mind a folder that goes while it looks
from pathlib import Path
from typing import Generic, TypeVar

from tests import engine
from tests.attacks import containers
from tests.attacks.backends import USER_ID
from tests.patience import PATIENCE_SECONDS, wait_until

T = TypeVar("T")

# Engines that any session of tests on this machine has started: see tests/engine.py and tests/sandbox/engines.py.
_OF_AN_ENGINE = re.compile(rf"/{engine.STATE.parent.name}/{engine.STATE.name}/|/rf[ep]\.\w+/")
JAIL_UID = 0x70000000  # jailed programs run under uids from here on when the supervisor is root
_LINKS_OF_A_LEAF = 2
JAIL_DEPTH = 2  # pid namespaces below ours: the zygote's, and in it each job's own
Everybody = tuple[dict[int, int], dict[int, str]]  # the parent of each process, and its "uid state name"
OF_THE_USER = (f"ringfence-{USER_ID}",)  # where an ordinary user's supervisors note what they own
# A container engine that was started for the tests may hang below this process; it is none of what they look for.
ENGINE = ("dockerd", "containerd", "containerd-shim", "runc", "exe")


@dataclass(frozen=True, slots=True)
class Host:
    processes: dict[int, str]  # live and zombie descendants of this process
    cgroups: frozenset[str]
    mounts: frozenset[str]
    files: frozenset[str]  # a jailed program's, in /tmp, /var/tmp and /dev/shm
    ipc: frozenset[str]
    containers: dict[str, str]
    contained: dict[int, str]  # processes in our containers, whoever their parent is
    belongings: frozenset[str]  # of the engine's containers: networks, volumes, folders

    @classmethod
    def now(cls) -> Host:
        everybody = _everybody()
        below = descendants(everybody=everybody)
        inside = contained(below, everybody)
        found = containers.present()
        return cls(
            processes=below,
            cgroups=frozenset(cgroups(below)),
            mounts=frozenset(_mounts()),
            files=frozenset(_files()),
            ipc=frozenset(_ipc()),
            containers=found,
            contained=inside,
            belongings=frozenset(containers.belongings(found)),
        )

    @classmethod
    def settled(cls) -> Host:
        """A snapshot taken once the pool has stopped changing: as it was when it last had, or three in a row with the
        same counts. Of containers it is known how many there should be, and two will do."""
        deadline = time.monotonic() + PATIENCE_SECONDS
        last, same = cls.now(), 0
        if _AT_REST and last._is_at_rest() and not _AT_REST[-1].surplus(last) and not last.surplus(_AT_REST[-1]):
            return last
        while same < (1 if containers.is_watched() else 2) and time.monotonic() < deadline:
            time.sleep(_pause())
            now = cls.now()
            same = same + 1 if now._counts() == last._counts() and now._is_at_rest() else 0
            last = now
        assert last._is_at_rest(), f"the containers that wait are not all there, or too many are: {last.containers}"
        _AT_REST[:] = [last]
        return last

    def _counts(self) -> tuple[int, int, int]:
        return len(self.processes), len(self.cgroups), len(self.contained)

    def _is_at_rest(self) -> bool:
        """Whether exactly those containers are there that wait for a job, and in each what waits there."""
        wanted = containers.expected()
        return len(self.containers) == wanted and len(self.contained) == wanted * containers.PROCESSES

    def surplus(self, later: Host) -> list[str]:
        """What `later` has that this has not. The pool renews its children, so those are counted and not named."""
        found: list[str] = []
        if len(later.processes) > len(self.processes):
            found += [f"process {pid} {what}" for pid, what in later.processes.items() if pid not in self.processes]
        if len(later.cgroups) > len(self.cgroups):
            found += [f"cgroup {name}" for name in sorted(later.cgroups - self.cgroups)]
        if len(later.containers) > len(self.containers):
            found += [f"container {what}" for name, what in later.containers.items() if name not in self.containers]
        if len(later.contained) > len(self.contained):
            found += [
                f"in a container: {pid} {what}" for pid, what in later.contained.items() if pid not in self.contained
            ]
        found += [f"of a container: {what}" for what in sorted(later.belongings - self.belongings)]
        found += [f"mount {line}" for line in sorted(later.mounts - self.mounts)]
        found += [f"file {name}" for name in sorted(later.files - self.files)]
        return found + [f"ipc {line}" for line in sorted(later.ipc - self.ipc)]

    def assert_same_after(self) -> None:
        """Assert that everything made since is gone; the pool gets a moment to tidy up and refill."""
        tidy = wait_until(lambda: not self.surplus(Host.now()), pause_seconds=_pause())
        assert tidy, "left behind on the host:\n" + "\n".join(self.surplus(Host.now()))


def _pause() -> float:
    """Between two looks; to ask an engine costs more than to look into /proc."""
    return 0.15 if containers.is_watched() else 0.02


def descendants(root: int | None = None, everybody: Everybody | None = None) -> dict[int, str]:
    """Every process below `root` (this process), as pid -> "uid state name"."""
    parents, about = everybody or _everybody()
    mine = {root or os.getpid()}
    while grown := {pid for pid, parent in parents.items() if parent in mine and not _is_engine(about[pid])} - mine:
        mine |= grown
    return {pid: about[pid] for pid in sorted(mine) if pid in about and pid != (root or os.getpid())}


def _is_engine(about: str) -> bool:
    uid, _, name = about.split(" ", 2)
    return uid == "0" and name.startswith(ENGINE)


def contained(below: dict[int, str] | None = None, everybody: Everybody | None = None) -> dict[int, str]:
    """Every process in a container of ours, or of a process below us: the engine is their parent, not we."""
    owners = {os.getpid(), *(descendants() if below is None else below)}
    return running_as(containers.uids(owners), everybody)


def running_as(uids: list[range], everybody: Everybody | None = None) -> dict[int, str]:
    if not uids:
        return {}
    _, about = everybody or _everybody()
    return {pid: what for pid, what in about.items() if any(int(what.split()[0]) in span for span in uids)}


def _everybody() -> Everybody:
    """The parent of every process, and "uid state name"."""
    parents: dict[int, int] = {}
    about: dict[int, str] = {}
    for pid in _pids():
        try:
            stat = Path(f"/proc/{pid}/stat").read_text(errors="replace")
            uid = os.stat(f"/proc/{pid}").st_uid
        except (FileNotFoundError, ProcessLookupError):
            continue  # it ended while we looked
        name, _, rest = stat.partition("(")[2].rpartition(")")
        state, parent = rest.split()[:2]
        parents[pid], about[pid] = int(parent), f"{uid} {state} {name}"
    return parents, about


def jailed() -> dict[int, str]:
    """The descendants that are programs or parked children, not our own machinery, and all that is in our containers.

    Root's jails have user ids of their own; an ordinary user's share it with their supervisor and their zygote, and are
    known by their pid namespace, inside the zygote's.
    """
    found = descendants()
    inside = contained(found)
    depth = _namespaces(os.getpid()) + JAIL_DEPTH
    jails = {
        pid: what
        for pid, what in found.items()
        if int(what.split()[0]) >= JAIL_UID or (int(what.split()[0]) == USER_ID and _namespaces(pid) >= depth)
    }
    return jails | inside


def _namespaces(pid: int) -> int:
    """How many pid namespaces deep a process is; 0 when it has ended."""
    try:
        status = Path(f"/proc/{pid}/status").read_text(errors="replace")
    except (FileNotFoundError, ProcessLookupError):
        return 0
    return next((len(line.split()) - 1 for line in status.splitlines() if line.startswith("NSpid:")), 0)


def processor_seconds() -> dict[int, float]:
    """What each jailed process has used so far, itself and the children it has reaped."""
    spent = {}
    for pid in jailed():
        try:
            spent[pid] = _spent(pid, 4)
        except (FileNotFoundError, ProcessLookupError):
            continue  # it ended while we looked
    return spent


def own_processor_seconds(pid: int) -> float:
    """What this process has used so far, without its children."""
    return _spent(pid, 2)


def peak_memory_kb(pid: int) -> int:
    """The most memory that this process has had so far."""
    status = Path(f"/proc/{pid}/status").read_text(errors="replace")
    return next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmHWM:"))


def _spent(pid: int, fields: int) -> float:
    """The first of: user time, system time, and both of the children that were reaped."""
    stat = Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(")")[2].split()
    return sum(map(int, stat[11 : 11 + fields])) / os.sysconf("SC_CLK_TCK")


_AT_REST: list[Host] = []  # the snapshot that was last seen to stay


class Watch(Generic[T]):
    """Calls `look` over and over while its block runs, and keeps what it saw."""

    def __init__(self, look: Callable[[], T], seconds: float = 0.01) -> None:
        self.seen: list[T] = []
        self._look, self._pause, self._stop = look, seconds, threading.Event()
        self._thread = threading.Thread(target=self._run, name="watch", daemon=True)

    def _run(self) -> None:
        while not self._stop.wait(self._pause):
            self.seen.append(self._look())

    def __enter__(self) -> Watch[T]:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()
        assert self.seen, "the watch saw nothing: the run was too short"


def cgroups(below: dict[int, str] | None = None) -> Iterator[str]:
    """Cgroups named after us, under every controller, but for those that another living supervisor owns."""
    ours = {os.getpid(), *(descendants() if below is None else below)}
    others = {
        group
        for owner, groups in _blocks()
        if owner not in ours and Path(f"/proc/{owner}").exists()
        for group in groups
    }
    for mount in sorted(_cgroup_mounts()):
        for group in _groups(mount, but=others):
            if "/ringfence" in group and not _is_idle(group):
                yield group


def _groups(top: str, but: set[str]) -> Iterator[str]:
    """A group and all below it. Its links tell whether it has any, and to list one that has none takes long."""
    yield top
    try:
        if os.stat(top).st_nlink > _LINKS_OF_A_LEAF:
            with os.scandir(top) as entries:
                below = [entry.path for entry in entries if entry.is_dir(follow_symlinks=False)]
            for group in below:
                if group not in but:
                    yield from _groups(group, but)
    except FileNotFoundError:
        return  # it went while we looked


def _is_idle(group: str) -> bool:
    """Whether it is a memory group that waits, empty, for the next job of a sandbox that is open."""
    if not os.path.basename(group).startswith("memory-of-"):
        return False
    try:
        return not Path(group, "cgroup.procs").read_text()
    except OSError:
        return True  # it is gone


def _blocks() -> Iterator[tuple[int, list[str]]]:
    """Who owns which groups, as the supervisors on this machine have noted it."""
    for note in (*glob("/run/ringfence/block-*.json"), *glob("/tmp/ringfence-*/block-*.json")):
        try:
            noted = json.loads(Path(note).read_text())
        except (OSError, ValueError):
            continue  # just made, or just given back
        yield noted["pid"], noted["groups"]


def _cgroup_mounts() -> Iterator[str]:
    for line in Path("/proc/self/mountinfo").read_text().splitlines():
        left, _, right = line.partition(" - ")
        if right.split()[0] in ("cgroup", "cgroup2"):
            yield left.split()[4]


def _mounts() -> Iterator[str]:
    """The mount table, without what container engines come and go with."""
    for line in Path("/proc/self/mountinfo").read_text().splitlines():
        if not _OF_AN_ENGINE.search(line.split()[4]) and line.partition(" - ")[2].split()[0] not in ("overlay", "nsfs"):
            yield line


def _files() -> Iterator[str]:
    for place in ("/tmp", "/var/tmp", "/dev/shm"):
        with os.scandir(place) as entries:
            for entry in entries:
                try:
                    owner = entry.stat(follow_symlinks=False).st_uid
                except FileNotFoundError:
                    continue  # somebody else's, and gone
                if owner >= JAIL_UID or (owner == USER_ID and entry.name not in OF_THE_USER):
                    yield entry.path


def _ipc() -> Iterator[str]:
    """A jailed program's and our own; PostgreSQL, which other tests start as another user, has some too."""
    for table in Path("/proc/sysvipc").glob("*"):
        names, *lines = (line.split() for line in table.read_text().splitlines())
        for line in lines:
            maker = int(line[names.index("cuid")])
            if maker in (os.geteuid(), USER_ID) or maker >= JAIL_UID:
                yield f"{table.name} {' '.join(line[:2])}"


def _pids() -> list[int]:
    return [int(name) for name in os.listdir("/proc") if name.isdecimal()]
