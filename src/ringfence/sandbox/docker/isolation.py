"""What the docker backend enforces, in words: the `isolation` of an Outcome."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Means:
    """The facts that decide how each limit is enforced; the last three are found out inside a container."""

    engine: str
    runtime: str
    maps_users: bool
    engine_seccomp: bool
    cgroup_version: int | None = None
    landlock_abi: int = 0

    def describe(self) -> Mapping[str, str]:
        group = f"cgroup v{self.cgroup_version}" if self.cgroup_version else "the runtime's own accounting"
        return {
            "user": "a user id of its own, not root" + (", mapped by the engine" if self.maps_users else ""),
            "namespaces": "pid, mount, network, ipc, uts" + (", user" if self.maps_users else ""),
            "filesystem": "read-only image, private tmpfs to write in",
            "network": "none: only a loopback of its own, and only unix sockets can be made",
            "capabilities": "none, no_new_privs",
            "seccomp": "allowlist, foreign ABIs killed" + (", and the engine's own" if self.engine_seccomp else ""),
            "landlock": f"version {self.landlock_abi}" if self.landlock_abi else "not available in the container",
            "memory": f"{group}, no swap",
            "processes": group if self.cgroup_version else "counted every 50 ms",
            "cpus": f"{group} quota",
            "cpu_seconds": f"{group} counter, polled every 50 ms" if self.cgroup_version else "RLIMIT_CPU",
            "disk": "size and inode limit of each tmpfs; their sum polled every 50 ms",
            "container": f"{self.engine}, runtime {self.runtime}",
        }
