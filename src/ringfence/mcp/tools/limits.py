"""The limits that a caller may lower, as arguments."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from ringfence.mcp.tool import Arguments

Timeout = Annotated[float | None, Field(description="Wall-clock seconds.", ge=0.01)]
MemoryMb = Annotated[int | None, Field(description="Memory of all its processes, in MB.", ge=24)]


class Limited(Arguments):
    timeout: Timeout = None
    memory_mb: MemoryMb = None
    cpu_seconds: float | None = Field(default=None, description="CPU seconds of all its processes.", ge=0.01)
    cpus: float | None = Field(default=None, description="CPUs it may keep busy, such as 0.5.", ge=0.01)
    processes: int | None = Field(default=None, description="Processes and threads at once.", ge=1)
    disk_mb: int | None = Field(default=None, description="Working directory, /tmp and /dev/shm, in MB.", ge=1)
    output_bytes: int | None = Field(default=None, description="Bytes kept of each of stdout and stderr.", ge=0)

    @property
    def asked(self) -> dict[str, float | None]:
        """By the names of `Limits`."""
        return {
            "wall_seconds": self.timeout,
            "memory_mb": self.memory_mb,
            "cpu_seconds": self.cpu_seconds,
            "cpus": self.cpus,
            "processes": self.processes,
            "disk_mb": self.disk_mb,
            "output_bytes": self.output_bytes,
        }
