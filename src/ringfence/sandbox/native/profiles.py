"""Profiles: which libraries a zygote imports before it forks.

Every mapped library makes each fork and each exit slower, by about half again for the full set. So the quant profile
is served by two zygotes: a lean one for most programs, and a full one for programs that name one of its libraries. In
both every installed library can be imported: the choice, made by a look at the text, is about speed and nothing else.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

_LEAN = (
    "numpy",
    "numpy.random",
    "pandas",
    "talib",
    "backtesting",
    "ringfence.guest.backtest",
    "ringfence.guest.text",
    "ringfence.guest.dialects.hooked",
    "ringfence.trade.indicators",
)

_STRATEGY = ("numpy", "talib", "ringfence.guest.backtest", "ringfence.guest.text", "ringfence.trade.indicators")


@dataclass(frozen=True, slots=True)
class Profile:
    """What is imported, in this order; what is not installed is left out, because a profile is what is there."""

    lean: tuple[str, ...] = ()
    full: tuple[str, ...] = ()  # empty where one zygote serves all

    def wants_full(self, code: str) -> bool:
        extra = {name.partition(".")[0] for name in self.full} - {name.partition(".")[0] for name in self.lean}
        return bool(extra) and re.search(rf"\b(?:{'|'.join(sorted(extra))})\b", code) is not None


PROFILES: Mapping[str, Profile] = {
    "plain": Profile(),
    "strategy": Profile(lean=_STRATEGY),  # for our own engine: no pandas until a strategy asks for it
    "quant": Profile(lean=_LEAN, full=(*_LEAN, "scipy.stats", "numba", "matplotlib.pyplot")),
}
