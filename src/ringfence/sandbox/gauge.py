"""What the kernel counts for a control group, of version 1 or version 2, read from its files."""

from __future__ import annotations

import errno
import os
from collections.abc import Mapping
from pathlib import Path

from ringfence.sandbox.evidence import Counters


class Gauge:
    """Reads the counters of one group: one directory for version 2, one per controller for version 1."""

    def __init__(self, version: int, dirs: Mapping[str, Path]) -> None:
        self.version, self._dirs = version, dirs
        self._most: dict[str, int] = {}

    def cpu_seconds(self) -> float:
        if self.version == 2:
            return _field(read_file(self._dirs["cpu"] / "cpu.stat"), "usage_usec") / 1e6
        return int(read_file(self._dirs["cpuacct"] / "cpuacct.usage") or 0) / 1e9 if "cpuacct" in self._dirs else 0.0

    def oom_kills(self) -> int:
        file = "memory.events" if self.version == 2 else "memory.oom_control"
        return _field(read_file(self._dirs["memory"] / file), "oom_kill")

    def memory_bytes(self) -> int:
        """What cannot be given back: all but the page cache of files on disk."""
        place = self._dirs["memory"]
        used = read_file(place / ("memory.current" if self.version == 2 else "memory.usage_in_bytes"))
        rows = (line.split() for line in read_file(place / "memory.stat").splitlines())
        stat = {row[0]: int(row[1]) for row in rows}
        cached = stat.get("file", 0) if self.version == 2 else stat.get("total_cache", 0)
        in_memory = stat.get("shmem", 0) if self.version == 2 else stat.get("total_shmem", 0)
        return int(used or 0) - cached + in_memory

    def counters(self) -> Counters:
        refused = _field(read_file(self._dirs["pids"] / "pids.events"), "max")
        if self.version == 2:
            peak = self._peak("memory")
        else:
            peak = int(read_file(self._dirs["memory"] / "memory.max_usage_in_bytes") or 0)
        return Counters(self.cpu_seconds(), peak, self.oom_kills(), refused, self._peak("pids"))

    def _peak(self, controller: str) -> int:
        """The kernel's own peak; before Linux 6.1 (memory: 5.19) it keeps none, and this is the most we ever saw."""
        place = self._dirs[controller]
        kept = read_file(place / f"{controller}.peak")
        if kept:
            return int(kept)
        now = int(read_file(place / f"{controller}.current") or 0)
        self._most[controller] = max(now, self._most.get(controller, 0))
        return self._most[controller]


def read_file(path: Path) -> str:
    """A file's text; none where this kernel's version of the controller has no such file, or the group is gone."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return ""
    try:
        return os.read(fd, 1 << 16).decode()
    except OSError as e:
        if e.errno == errno.ENODEV:
            return ""
        raise
    finally:
        os.close(fd)


def _field(text: str, name: str) -> int:
    for line in text.splitlines():
        key, _, value = line.partition(" ")
        if key == name:
            return int(value)
    return 0
