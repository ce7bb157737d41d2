"""Which kind of change to ask for next: upper confidence bounds over the kinds, each reward within 0 and 1."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import get_args

from ringfence.agents.brief import Change

KINDS: tuple[Change, ...] = get_args(Change)
_CURIOSITY = 1.0
_LEAST_SCALE = 0.1  # of the score that a change is measured against


class Bandit:
    """Deterministic: the same rewards give the same choices, so a resumed loop asks for what it asked for."""

    def __init__(self) -> None:
        self._pulls: dict[Change, int] = dict.fromkeys(KINDS, 0)
        self._sums: dict[Change, float] = dict.fromkeys(KINDS, 0.0)

    def choose(self, *, advised: Sequence[Change] = (), crossover: bool = False) -> Change:
        """What was never tried comes first, and of that what was advised; crossover needs two parents."""
        kinds = [kind for kind in KINDS if crossover or kind != "crossover"]
        fresh = [kind for kind in (*advised, *kinds) if kind in kinds and not self._pulls[kind]]
        if fresh:
            return fresh[0]
        total = sum(self._pulls.values())

        def bound(kind: Change) -> float:
            pulls = self._pulls[kind]
            return self._sums[kind] / pulls + _CURIOSITY * math.sqrt(2 * math.log(total) / pulls)

        return max(kinds, key=bound)

    def reward(self, kind: Change, *, parent: float | None, child: float | None) -> float:
        """The improvement as a share of the parent's score, clipped: no lucky version may drown out all others."""
        gain = 0.0
        if child is not None:
            gain = 1.0 if parent is None else (child - parent) / max(abs(parent), _LEAST_SCALE)
        gain = min(1.0, max(0.0, gain))
        self._pulls[kind] += 1
        self._sums[kind] += gain
        return gain
