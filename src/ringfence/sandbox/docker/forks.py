"""A fork of the process that opened a sandbox does not own it: the fork lets go of its copies of what says "alive".

Otherwise a lock or a connection would outlive its owner in a child that knows nothing of it.
"""

from __future__ import annotations

import functools
import os
import weakref
from typing import Protocol


class Disowned(Protocol):
    def disown(self) -> None:
        """In a forked child: close its copies, and tell nobody."""


def mind(held: Disowned) -> None:
    """Have a later fork disown it."""
    _minded().add(held)


@functools.cache
def _minded() -> weakref.WeakSet[Disowned]:
    minded: weakref.WeakSet[Disowned] = weakref.WeakSet()

    def let_go() -> None:
        for held in list(minded):
            held.disown()

    os.register_at_fork(after_in_child=let_go)
    return minded
