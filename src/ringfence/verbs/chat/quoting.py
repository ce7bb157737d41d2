"""Whether a text says only numbers that are known: those that came back, and those that were asked about."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence

from ringfence.sandbox.job import Json
from ringfence.verbs.chat.slots import in_digits

_NUMBER = re.compile(r"(?<![\w.])[-+−]?\$?(\d+(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?|\.\d+)(?:[eE]([+-]?\d+))?")


def strange_numbers(text: str, known: Iterable[float], said: str = "") -> list[str]:
    """Numbers of `text` that are none of `known`, rounded as they are written, nor written the same in `said`.

    A fraction may be told as a percentage, and a loss without its sign; ninety is a number, too.
    """
    values = [value for value in known if math.isfinite(value)]
    written = {match[0].lstrip("+-−$") for match in _NUMBER.finditer(in_digits(said))}
    return [
        match[0]
        for match in _NUMBER.finditer(in_digits(text))
        if match[0].lstrip("+-−$") not in written and not any(_is(match, value) for value in values)
    ]


def _is(match: re.Match[str], value: float) -> bool:
    digits = match[1].replace(",", "")
    decimals = len(digits.partition(".")[2])
    power = int(match[2] or 0)
    told = float(digits) * 10.0**power
    half = 0.5000001 * 10.0 ** (power - decimals)
    return any(abs(told - abs(value) * scale) <= half for scale in (1.0, 100.0) if _worth(told, abs(value) * scale))


def _worth(told: float, value: float) -> bool:
    """A value that is rounded away to nothing is not told by a zero, unless it is one."""
    return told != 0 or abs(value) < 1e-12


def flatten(result: Json, name: str = "") -> dict[str, float | None]:
    """Every number of a result, by its path; texts are left out."""
    if isinstance(result, bool) or result is None or isinstance(result, str):
        return {}
    if isinstance(result, (int, float)):
        return {name or "result": result}
    made: dict[str, float | None] = {}
    if isinstance(result, Mapping):
        items: Sequence[tuple[str, Json]] = [(str(key), value) for key, value in result.items()]
    else:
        items = [(str(n), value) for n, value in enumerate(result)]
    for key, value in items:
        made |= flatten(value, f"{name}.{key}" if name else key)
    return made
