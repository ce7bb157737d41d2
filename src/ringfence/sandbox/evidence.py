"""What a supervisor saw of a job, as values. The status of an Outcome is found from these and nothing else."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from ringfence.sandbox.frames import Sealed

Kill = Literal["timeout", "cpu_limit", "memory_limit", "output_limit", "disk_limit", "cancelled"]


@dataclass(frozen=True, slots=True)
class Exit:
    """How a program ended, said when everything it started is gone too."""

    status: int  # as from waitpid
    user_seconds: float
    system_seconds: float
    peak_memory_bytes: int


@dataclass(frozen=True, slots=True)
class Counters:
    """What the kernel counted for a control group."""

    cpu_seconds: float = 0.0
    peak_memory_bytes: int = 0
    oom_kills: int = 0
    refused_forks: int = 0
    processes: int = 0

    def since(self, before: Counters) -> Counters:
        """The same with what had been counted before taken off; peaks stay what they are."""
        return replace(
            self,
            cpu_seconds=self.cpu_seconds - before.cpu_seconds,
            oom_kills=self.oom_kills - before.oom_kills,
            refused_forks=self.refused_forks - before.refused_forks,
        )


@dataclass(frozen=True, slots=True)
class Census:
    """A process tree as counted from outside, where no control group counts it."""

    processes: int = 0  # threads count, as in Limits.processes
    memory_bytes: int = 0  # anonymous; a page that n processes share counts as 1/n in each
    shared_bytes: int = 0  # in files in memory, the scratch space among them
    cpu_seconds: float = 0.0
    hidden: bool = False  # a living process does not let its memory be read, so nobody knows what it has

    def highest(self, other: Census) -> Census:
        return Census(
            max(self.processes, other.processes),
            max(self.memory_bytes, other.memory_bytes),
            max(self.shared_bytes, other.shared_bytes),
            max(self.cpu_seconds, other.cpu_seconds),
            self.hidden or other.hidden,
        )


@dataclass(frozen=True, slots=True)
class Evidence:
    """What the supervisor saw, none of it taken from what the program says of itself but `report`."""

    exit: Exit | None  # None while a session lives
    killed: Kill | None
    report: Sealed | None
    damage: str | None  # what is wrong with what came instead of one report
    wall_seconds: float
    disk_full: bool
    peak: Census  # what the program itself used, where no control group counts it
    reported_at: float | None
