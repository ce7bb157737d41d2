"""Which tests stay with one worker: those of a file, so that what it sets up is set up once.

Attacks on containers are one share as well, in whichever files they are: each worker that had some would start a pool.
"""

from __future__ import annotations

import re

from xdist.scheduler import LoadScopeScheduling  # type: ignore[import-untyped]  # publishes no types

_IN_CONTAINERS = re.compile(r"tests/attacks/.*\[(.*-)?docker(-.*)?\]$")


def share_of(nodeid: str) -> str:
    return "attacks on docker" if _IN_CONTAINERS.match(nodeid) else nodeid.partition("::")[0]


class Shares(LoadScopeScheduling):  # type: ignore[misc]  # so its class is Any
    def _split_scope(self, nodeid: str) -> str:
        return share_of(nodeid)
