"""What was mended in a script's behalf. A shim writes here when it is used, and not when it is put in place."""

from __future__ import annotations

from typing import Literal

Kind = Literal["lossless", "alias", "semantic"]

_MOST = 200


class Ledger:
    """Each mend once, with how often it was needed.

    lossless: the script's meaning is untouched (a path, a column's spelling, a missing import);
    alias: a name that does not exist, whose meaning is clear;
    semantic: a decision was changed (a size floored, an order left out, a run added), so the numbers are not quite
    the script's own.
    """

    def __init__(self) -> None:
        self._counts: dict[tuple[Kind, str], int] = {}

    def note(self, kind: Kind, what: str, count: int = 1) -> None:
        key = (kind, what[:500])
        if key in self._counts or len(self._counts) < _MOST:
            self._counts[key] = self._counts.get(key, 0) + count

    def entries(self) -> list[tuple[Kind, str, int]]:
        return [(kind, what, count) for (kind, what), count in self._counts.items()]

    def rows(self) -> list[dict[str, object]]:
        return [{"kind": kind, "what": what, "count": count} for kind, what, count in self.entries()]
