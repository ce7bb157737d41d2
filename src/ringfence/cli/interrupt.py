"""Ctrl-C and SIGTERM while a guest runs: the first cancels the run and lets it report, the second gives up."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from ringfence.sandbox.job import Cancel


class Interruption:
    """The flag to pass to a run, and the signal that set it, if one did."""

    def __init__(self) -> None:
        self.cancel = Cancel()
        self.signal: int | None = None

    def __call__(self, number: int, frame: FrameType | None) -> None:
        if self.signal is not None:
            raise KeyboardInterrupt
        self.signal = number
        self.cancel.set()


@contextmanager
def cancelling() -> Iterator[Interruption]:
    interruption = Interruption()
    # Python lets only the main thread handle signals; called from another one, there is nothing to catch.
    caught = (signal.SIGINT, signal.SIGTERM) if threading.current_thread() is threading.main_thread() else ()
    before = {number: signal.signal(number, interruption) for number in caught}
    try:
        yield interruption
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        interruption.cancel.close()
