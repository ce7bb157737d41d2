"""How long a test waits for what must happen: far longer than it takes on a busy machine, so only a hang gets there."""

from __future__ import annotations

import time
from collections.abc import Callable

PATIENCE_SECONDS = 60.0


def wait_until(happened: Callable[[], object], *, pause_seconds: float = 0.01) -> bool:
    """Whether it happened while our patience lasted."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not happened():
        if time.monotonic() > deadline:
            return False
        time.sleep(pause_seconds)
    return True
