"""Control groups, version 1 and version 2: what bounds a job's memory, processes and CPU, and counts them.

A sandbox owns one group per hierarchy, named after its block (see `blocks`), and makes one group in it for
every job. Nothing here trusts the job: the kernel's own counters are the evidence for its status.

A memory group that is removed stays in the kernel, dead, for as long as a page is charged to it: a page of a file that
its job was the first to read may be there for ever. So in version 1, where the peak can be reset, the next job gets the
memory group of one that has ended. Version 2 has no such reset in most kernels, so there the pages are reclaimed.
"""

from __future__ import annotations

import contextlib
import errno
import os
import signal
import time
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ringfence.base.errors import SandboxError, SettingsError
from ringfence.sandbox.gauge import Gauge, read_file
from ringfence.sandbox.job import Limits

_MOUNT = Path("/sys/fs/cgroup")
_CONTROLLERS = ("memory", "pids", "cpu")  # of version 2; version 1 counts CPU time in one more, cpuacct
_CPU_PERIOD_US = 100_000
_MB = 1 << 20


@dataclass(frozen=True, slots=True)
class Hierarchy:
    """Where groups can be made: one directory for version 2, one per controller for version 1."""

    version: int
    dirs: Mapping[str, Path]  # controller -> directory that will hold our groups

    @property
    def places(self) -> list[Path]:
        return list(dict.fromkeys(self.dirs.values()))


def find_hierarchy(own: str, mounts: str, override: Path | None = None) -> Hierarchy | None:
    """The hierarchy this process may use, from the texts of /proc/self/cgroup and /proc/self/mounts.

    None where there is none, or where it is not ours to write.
    """
    if override is not None:
        if not os.access(override / "cgroup.procs", os.W_OK):
            raise SettingsError(f"RINGFENCE_CGROUP={override} is not a control group of version 2 that we may write")
        return _usable(Hierarchy(2, dict.fromkeys(_CONTROLLERS, override)))
    rows = [line.split() for line in mounts.splitlines()]
    groups = [line.split(":", 2) for line in own.splitlines()]
    version_1 = {
        controller: Path(row[1]) / path.lstrip("/")
        for _, controllers, path in groups
        for controller in controllers.split(",")
        for row in rows
        if row[2] == "cgroup" and controller in row[3].split(",") and controller in ("memory", "pids", "cpu", "cpuacct")
    }
    if "memory" in version_1 and "pids" in version_1:
        return _usable(Hierarchy(1, version_1))
    for row in rows:
        if row[2] == "cgroup2":
            path = next((g[2] for g in groups if g[0] == "0"), "/")
            return _find_version_2(Path(row[1]), path)
    return None


def _find_version_2(mount: Path, own: str) -> Hierarchy | None:
    """In version 2 a group with processes cannot hand controllers to its children, so our own group is
    no place for ours: its ancestors are tried, nearest first, and only one that already hands them down is taken."""
    place = mount / own.lstrip("/")
    for candidate in (place, *place.parents):
        if mount not in (candidate, *candidate.parents):
            break
        given = read_file(candidate / "cgroup.subtree_control").split()
        if set(_CONTROLLERS) <= set(given):
            found = _usable(Hierarchy(2, dict.fromkeys(_CONTROLLERS, candidate)))
            if found:
                return found
    return None


def _usable(hierarchy: Hierarchy) -> Hierarchy | None:
    return hierarchy if all(os.access(place, os.W_OK) for place in hierarchy.places) else None


class GroupGone(SandboxError):
    """The group was swept, as it is as soon as its zygote is gone."""

    def __init__(self) -> None:
        super().__init__("the zygote is gone: run the job again, a new one will be started")


def _write(path: Path, text: str) -> None:
    try:
        fd = os.open(path, os.O_WRONLY | os.O_CLOEXEC)
        try:
            os.write(fd, text.encode())
        finally:
            os.close(fd)
    except OSError as e:
        if e.errno == errno.ENODEV or (e.errno == errno.ENOENT and not path.parent.exists()):
            raise GroupGone from e
        raise


class Group(Gauge):
    """The groups of one job, one directory per hierarchy."""

    def __init__(self, version: int, dirs: Mapping[str, Path], limits: Limits, *, reused: Path | None) -> None:
        super().__init__(version, dirs)
        self.places = list(dict.fromkeys(dirs.values()))
        self._limits: Limits | None = None
        made = []
        try:
            for place in self.places:
                if place != reused:
                    os.mkdir(place)
                    made.append(place)
            self.apply(limits)
        except BaseException as e:
            for place in made:
                remove_group(place)
            if isinstance(e, FileNotFoundError):
                raise GroupGone from e
            raise

    @property
    def memory_place(self) -> Path:
        return self._dirs["memory"]

    def open_procs(self) -> list[int]:
        """Descriptors a process writes "0" to, to move itself in."""
        try:
            return [os.open(place / "cgroup.procs", os.O_WRONLY | os.O_CLOEXEC) for place in self.places]
        except FileNotFoundError as e:
            raise GroupGone from e

    def pids(self) -> list[int]:
        return [int(pid) for pid in read_file(self._dirs["pids"] / "cgroup.procs").split()]

    def apply(self, limits: Limits) -> None:
        """Set the limits; those that are set already cost nothing."""
        old = self._limits
        if old is None or old.memory_mb != limits.memory_mb:
            self._apply_memory(limits.memory_mb * _MB)
        self._limits = limits
        if old is None or old.processes != limits.processes:
            _write(self._dirs["pids"] / "pids.max", str(limits.processes))
        if "cpu" in self._dirs and (old is None or old.cpus != limits.cpus):
            quota = max(1000, int(limits.cpus * _CPU_PERIOD_US))
            if self.version == 2:
                _write(self._dirs["cpu"] / "cpu.max", f"{quota} {_CPU_PERIOD_US}")
            else:
                _write(self._dirs["cpu"] / "cpu.cfs_quota_us", str(quota))

    def _apply_memory(self, size: int) -> None:
        place = self._dirs["memory"]
        if self.version == 2:
            # Version 1 refuses a limit below what is in use; here the kernel would kill to get there.
            if self._limits is not None and self.memory_bytes() > size:
                raise OSError(errno.EBUSY, "the memory is in use")
            _write(place / "memory.max", str(size))
            _write(place / "memory.oom.group", "1")
            with contextlib.suppress(FileNotFoundError):  # a kernel without swap accounting
                _write(place / "memory.swap.max", "0")
            return
        # Memory plus swap may never be below memory alone, so the order depends on the direction.
        files = ["memory.limit_in_bytes", "memory.memsw.limit_in_bytes"]
        if int(read_file(place / files[0]) or 0) < size:
            files.reverse()
        for file in files:
            if (place / file).exists():
                _write(place / file, str(size))

    def reset_peak(self) -> None:
        """Forget the peak so far; what the kernel cannot reset is then the peak of parking, which is small."""
        if self.version == 1:
            _write(self._dirs["memory"] / "memory.max_usage_in_bytes", "0")

    def remove(self, *, but: Path | None = None) -> None:
        for place in self.places:
            if place != but:
                remove_group(place)

    def reclaim(self) -> None:
        """Have the kernel drop the pages that are charged here, which it can be told from Linux 5.19 on."""
        charged = read_file(self.memory_place / "memory.current").strip()
        with contextlib.suppress(OSError, GroupGone):  # EAGAIN: some of it is in use elsewhere
            _write(self.memory_place / "memory.reclaim", charged)


class GroupFolder:
    """A sandbox's own group in every hierarchy, in which each job gets one."""

    def __init__(self, hierarchy: Hierarchy, name: str) -> None:
        self.version = hierarchy.version
        self._dirs = {controller: place / name for controller, place in hierarchy.dirs.items()}
        self.places = list(dict.fromkeys(self._dirs.values()))
        self._idle: deque[Path] = deque()  # memory groups of version 1 that a next job can have

    def make(self) -> None:
        if self.version == 2:
            _hand_down(self.places[0].parent)
        for place in self.places:
            with contextlib.suppress(FileExistsError):
                os.mkdir(place)
        if self.version == 2:
            _hand_down(self.places[0])

    def new(self, name: str, limits: Limits) -> Group:
        dirs = {controller: place / name for controller, place in self._dirs.items()}
        idle = None
        if self.version == 1:
            dirs["memory"] = self._dirs["memory"] / f"memory-of-{name}"  # and of others after it
            with contextlib.suppress(IndexError):  # none is idle: this one is made
                idle = dirs["memory"] = self._idle.popleft()
        return Group(self.version, dirs, limits, reused=idle)

    def give_back(self, group: Group) -> None:
        """Take the group of a job of which nothing is left."""
        if self.version == 1:
            group.remove(but=group.memory_place)
            self._idle.append(group.memory_place)
        else:
            group.reclaim()
            group.remove()


def _hand_down(place: Path) -> None:
    """Give the groups below a version 2 group the controllers we need. One that was delegated to us may not yet."""
    missing = sorted(set(_CONTROLLERS) - set(read_file(place / "cgroup.subtree_control").split()))
    if not missing:
        return
    try:
        _write(place / "cgroup.subtree_control", " ".join(f"+{name}" for name in missing))
    except OSError as e:
        raise SandboxError(
            f"control group {place} cannot hand down {', '.join(missing)} ({e.strerror}): move the processes in it "
            "to a group below it, see that its own parent hands these down, or unset RINGFENCE_CGROUP"
        ) from e


def remove_group(place: Path, *, patience_seconds: float = 5.0) -> None:
    """Remove one group. The last process may be on its way out: EBUSY is tried again for a while."""
    deadline = time.monotonic() + patience_seconds
    while True:
        try:
            os.rmdir(place)
            return
        except FileNotFoundError:
            return
        except OSError as e:
            if time.monotonic() > deadline:
                raise SandboxError(f"control group {place} is not empty: look at its cgroup.procs") from e
            time.sleep(0.001)


def sweep(places: Sequence[Path]) -> None:
    """Kill what is left in these groups and remove them, innermost first. For groups whose owner is dead."""
    for place in places:
        for folder, _, _ in os.walk(place, topdown=False):
            _kill_all(Path(folder))
            with contextlib.suppress(OSError, GroupGone):  # no memory group of version 1, or another sweeps too
                _write(Path(folder, "memory.force_empty"), "0")
            remove_group(Path(folder))


def _kill_all(place: Path) -> None:
    for _ in range(100):  # a process may fork while we kill: repeat until none is listed
        pids = read_file(place / "cgroup.procs").split()
        if not pids:
            return
        for pid in pids:
            with contextlib.suppress(ProcessLookupError):
                os.kill(int(pid), signal.SIGKILL)
        time.sleep(0.005)
