"""Mending scripts that failed: known mistakes, each by a shim that says so when it is used.

Only a text that has already failed as it is comes here. Every shim leaves alone what works: it steps in where the
library, pandas or numpy would have raised.
"""

from __future__ import annotations

import types
from dataclasses import dataclass
from typing import Any

from ringfence.guest.healing import arrays, attributes, files, indicators, names, orders, removed, tables
from ringfence.guest.healing.ledger import Ledger


@dataclass(frozen=True, slots=True, kw_only=True)
class Supplies:
    """What the host mounted: files that a script may know under another folder, and bars in an Arrow file."""

    files: tuple[str, ...] = ()
    bars: str | None = None


def install(ledger: Ledger, library: Any, module: types.ModuleType, code: str, supplies: Supplies) -> None:
    tables.install(ledger, library)
    files.install(ledger, code, supplies.files, supplies.bars)
    removed.install(ledger)
    attributes.install(ledger, library)
    arrays.install(ledger, library)
    orders.install(ledger, library)
    indicators.install(ledger, library)
    names.install(ledger, module, code)
