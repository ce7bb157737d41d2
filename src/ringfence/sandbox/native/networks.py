"""Empty network namespaces, each lent to one child at a time.

A job sees the sockets of its network namespace in /proc/net, and abstract names are taken in all of it, so no two jobs
may have one together. But to make one takes the kernel most of a millisecond, and to dismantle it more. So one that a
job has left, and that is empty again, is lent to the next.
"""

from __future__ import annotations

import os

from ringfence.sandbox.native import syscalls as sc

_OWN = "/proc/self/ns/net"


class Networks:
    def __init__(self) -> None:
        """Without a /proc there is no way back from a new one: then each child makes its own."""
        self._home = os.open(_OWN, os.O_RDONLY | os.O_CLOEXEC) if os.path.exists(_OWN) else None
        self._free: list[int] = []

    def lend(self) -> int | None:
        if self._home is None:
            return None
        if self._free:
            return self._free.pop()
        sc.unshare(sc.CLONE_NEWNET)
        made = os.open(_OWN, os.O_RDONLY | os.O_CLOEXEC)
        sc.setns(self._home, sc.CLONE_NEWNET)
        return made

    def give_back(self, network: int | None) -> None:
        """To be called when no process of its job is left."""
        if network is not None:
            self._free.append(network)
