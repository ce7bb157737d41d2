"""Reading a Run's JSON without trusting its shape: what is missing or of another kind reads as empty."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from ringfence.trade.run import Json

Table = Mapping[str, Json]


def table(value: Json) -> Table:
    return value if isinstance(value, Mapping) else {}


def rows(value: Json) -> list[Table]:
    return [row for row in items(value) if isinstance(row, Mapping)]


def items(value: Json) -> Sequence[Json]:
    return value if isinstance(value, Sequence) and not isinstance(value, str) else ()


def text(value: Json) -> str:
    return value if isinstance(value, str) else ""


def texts(value: Json) -> list[str]:
    return [item for item in items(value) if isinstance(item, str)]


def number(value: Json) -> float | None:
    """A finite number; a bool is none."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    return float(value) if math.isfinite(value) else None


def whole(value: Json) -> int | None:
    found = number(value)
    return None if found is None else int(found)
