"""Sizes as people write them: `256m`, `2g`, `1.5 GiB`. A unit is always a power of 1024."""

from __future__ import annotations

import re
from fractions import Fraction

from ringfence.base.errors import LimitError

_SIZE = re.compile(r"\s*([+-]?[0-9]{1,18}(?:\.[0-9]{1,18})?)\s*([kmgt]?)(i?b)?\s*", re.IGNORECASE | re.ASCII)
_POWER = {"k": 1, "m": 2, "g": 3, "t": 4}

KB, MB, GB = 1 << 10, 1 << 20, 1 << 30


def parse_mb(text: str) -> int:
    """Whole megabytes, rounded up so that nobody gets less than asked; a plain number is megabytes."""
    size = _parse(text, MB)
    return -(-size.numerator // (size.denominator * MB))


def parse_bytes(text: str) -> int:
    """Whole bytes, rounded up; a plain number is bytes."""
    return -(-_parse(text, 1) // 1)


def show_bytes(count: int) -> str:
    """`412 B`, `12.5 kB`, `96 MB`, `2 GB`: short, and never with a false digit of precision."""
    if count < KB:
        return f"{count} B"
    for unit, name in ((GB, "GB"), (MB, "MB"), (KB, "kB")):
        # 999.5 and up would print as "1e+03", so the next unit takes over a little before it is full.
        if count >= unit or (unit != KB and count >= unit * 999.5 / 1024):
            value = count / unit
            return f"{value:.3g} {name}" if value < 999.5 else f"{value:.0f} {name}"
    return f"{count / KB:.3g} kB"


def _parse(text: str, plain: int) -> Fraction:
    found = _SIZE.fullmatch(text)
    if not found:
        raise LimitError(f"{text!r} is not a size: write a number with k, m or g after it, such as 256m or 2g")
    number, unit, byte = found.groups()
    if not unit:
        factor = 1 if byte else plain
    else:
        factor = 1 << (10 * _POWER[unit.lower()])
    return Fraction(number) * factor
