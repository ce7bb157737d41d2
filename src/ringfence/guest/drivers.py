"""What may be done with a program's text beside running it. A driver is one module with `make(task)`."""

from __future__ import annotations

from importlib import import_module
from typing import cast

from ringfence.guest.script import Drive

_MODULES = {
    "backtest": "ringfence.guest.backtest",
    "backtesting_py": "ringfence.guest.dialects.backtesting_py",
    "text": "ringfence.guest.text",
}


def find(kind: str, task: dict[str, object]) -> Drive | None:
    """The driver called `kind`, told what to do; None for a plain script."""
    if kind == "script":
        return None
    return cast(Drive, import_module(_MODULES[kind]).make(task))
