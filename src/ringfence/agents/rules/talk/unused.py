"""Lines that the talk names: a rule must use them, as they may have been meant as one."""

from __future__ import annotations

from collections.abc import Collection

from ringfence.agents.rules.measures.settings import BANDS, PARTED, SIMPLE
from ringfence.trade.description.lines import lines_of
from ringfence.trade.description.model import Description

LINES = {**SIMPLE, **{kind: name for kind, (name, _) in PARTED.items()}, **BANDS}
_IDEAS = ("MOMENTUM", "ROC", "VOLATILITY")  # what a strategy is called after, whatever it is measured by
_ALIKE = {"ichimoku": ("cloud",), "vwap": ("session_vwap",), "donchian": ("highest", "lowest")}


def unused_line(made: Description, about: Collection[str]) -> str:
    """A line that the talk names and no rule uses: it may have been meant as one."""
    used = {line.name for line in lines_of(made)}
    for kind in sorted(about):
        name = LINES[kind]
        if kind not in _IDEAS and not used & {name, *_ALIKE.get(name, ())}:
            return name
    return ""
