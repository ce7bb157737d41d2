"""What a container's own control group says, read from inside it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from ringfence.sandbox.evidence import Counters
from ringfence.sandbox.gauge import Gauge, read_file

_MOUNT = Path("/sys/fs/cgroup")
_KEEPER = 1  # the keeper is a process of the group too


class Inside(Gauge):
    """Counters of the job alone: what the keeper and the libraries took before it began is taken off."""

    def __init__(self, version: int, mount: Path = _MOUNT) -> None:
        names = ("memory", "pids", "cpu", "cpuacct")
        super().__init__(version, {name: mount / name if version == 1 else mount for name in names})
        self.reset()

    @classmethod
    def find(cls, mount: Path = _MOUNT) -> Inside | None:
        """None where the container's runtime shows it no control group."""
        if (mount / "memory.current").exists():
            return cls(2, mount)
        return cls(1, mount) if (mount / "memory" / "memory.usage_in_bytes").exists() else None

    def reset(self) -> None:
        """From here on a job is counted."""
        self._before = super().counters()
        self.base_bytes = self._most_bytes = self.memory_bytes()
        self._most_processes = 1

    def sample(self) -> None:
        """Remember the highest memory and number of processes seen: not every kernel keeps a peak."""
        self._most_bytes = max(self._most_bytes, self.memory_bytes())
        running = int(read_file(self._dirs["pids"] / "pids.current") or 0)
        self._most_processes = max(self._most_processes, running - _KEEPER)

    def counters(self) -> Counters:
        self.sample()
        now = super().counters().since(self._before)
        # The kernel's peaks are of the container's whole life: they say something of the job only if it raised them.
        peak, crowd = now.peak_memory_bytes, now.processes
        raised = peak - self.base_bytes if peak > self._before.peak_memory_bytes else 0
        grown = crowd - _KEEPER if crowd > self._before.processes else 0
        return replace(
            now,
            peak_memory_bytes=max(raised, self._most_bytes - self.base_bytes),
            processes=max(grown, self._most_processes),
        )
