"""What the native backend enforces on this machine, in words: the `isolation` of an Outcome, and of `doctor`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ringfence.sandbox.job import Limits


@dataclass(frozen=True, slots=True)
class Means:
    """The facts that decide how each limit is enforced."""

    privileged: bool
    cgroup_version: int | None
    landlock_abi: int

    def describe(self) -> Mapping[str, str]:
        group = f"cgroup v{self.cgroup_version}" if self.cgroup_version else None
        return {
            "user": "its own user id, distinct for each run"
            if self.privileged
            else "our own user id, in a user namespace",
            "namespaces": "pid, mount, network, ipc, uts, cgroup" + ("" if self.privileged else ", user"),
            "filesystem": "read-only view of the runtime (pivot_root), private tmpfs to write in",
            "network": "none: an empty network namespace of its own, and only unix sockets can be made",
            "capabilities": "none, no_new_privs",
            "seccomp": "allowlist, foreign ABIs killed",
            "landlock": f"version {self.landlock_abi}" if self.landlock_abi else "not in this kernel",
            "memory": f"{group}, no swap"
            if group
            else "polled every 50 ms; RLIMIT_DATA of twice the limit for each process",
            "processes": f"{group}" if group else "RLIMIT_NPROC in a user namespace of its own",
            "cpus": f"{group} quota" if group else "CPU affinity, whole CPUs only",
            "cpu_seconds": f"{group} counter, polled every 50 ms"
            if group
            else "process tree, polled every 50 ms; RLIMIT_CPU",
            "disk": "size and inode limit of the tmpfs",
        }

    def weaknesses(self, limits: Limits) -> list[str]:
        """The limits asked for that cannot be enforced at all here."""
        if self.cgroup_version:
            return []
        return (
            [] if float(limits.cpus).is_integer() else [f"cpus={limits.cpus:g}: without control groups only whole CPUs"]
        )
