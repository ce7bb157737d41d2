"""What the library warns of, counted in full: Python itself shows a warning once, or never if the script says so."""

from __future__ import annotations

import os
import re
import sys
import warnings
from collections.abc import Callable

_MOST_TEXTS, _LONGEST = 100, 500
_OURS = os.path.dirname(os.path.dirname(__file__)) + os.sep

# What differs from one bar to the next, so that the same warning is counted and not listed a thousand times.
_VARYING = re.compile(r"^time=\d+: |^\(\d{4}[^)]*\) | \(equity=[^)]*\)")


class Log:
    """Warnings by text, with how often they came."""

    __slots__ = ("cancelled_orders", "counts")

    def __init__(self) -> None:
        self.counts: dict[str, int] = {}
        self.cancelled_orders = 0

    def add(self, text: str, count: int = 1) -> None:
        text = _VARYING.sub("", text)[:_LONGEST]
        if text in self.counts or len(self.counts) < _MOST_TEXTS:
            self.counts[text] = self.counts.get(text, 0) + count
        if "Broker canceled the" in text:
            self.cancelled_orders += count

    def merge(self, other: Log) -> None:
        for text, count in other.counts.items():
            self.add(text, count)

    def rows(self) -> list[object]:
        return [{"text": text, "count": count} for text, count in self.counts.items()]


class Listening:
    """Stands where the library's modules have the `warnings` module: it hears each warning, then lets Python judge."""

    def __init__(self, hear: Callable[[str], None]) -> None:
        self._hear = hear

    def __getattr__(self, name: str) -> object:
        return getattr(warnings, name)

    def warn(
        self,
        message: str | Warning,
        category: type[Warning] | None = None,
        stacklevel: int = 1,
        source: object | None = None,
    ) -> None:
        if not _silenced_by_library(str(message)):
            self._hear(str(message))
        level = stacklevel + 1
        frame = sys._getframe(1)
        for _ in range(stacklevel - 1):
            frame = frame.f_back or frame
        while frame.f_back is not None and frame.f_code.co_filename.startswith(_OURS):  # our hooks are not the culprit
            frame, level = frame.f_back, level + 1
        warnings.warn(message, category, level, source)


def _silenced_by_library(message: str) -> bool:
    """FractionalBacktest does not mean the warning that prices are larger than the cash: it is what it is for."""
    if "larger than initial cash" not in message:
        return False
    frame = sys._getframe(2)
    while frame.f_back is not None:
        frame = frame.f_back
        if frame.f_code.co_name == "__init__" and frame.f_globals.get("__name__") == "backtesting.lib":
            return True
    return False
