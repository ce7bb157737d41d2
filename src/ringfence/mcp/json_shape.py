"""Whether a JSON text is small once it is read: found before anything is made of it.

A text of brackets is short, and what a parser makes of it is not. Everything here is linear, runs at the speed of C and
looks at a piece at a time, so that other threads get their turn. What is too deep is known as soon as it is.
"""

from __future__ import annotations

from array import array
from itertools import accumulate

MOST_DEPTH = 100  # of a message
MOST_VALUES = 100_000

_PIECE = 1 << 16
_NOT_BRACKETS = bytes(set(range(256)) - set(b"[]{}"))
_STEPS = bytes.maketrans(b"[{]}", b"\x01\x01\xff\xff")  # +1 and -1 as signed bytes


def find_excess(raw: bytes, *, depth: int, values: int) -> str | None:
    """What is too much of it, in words; exact for JSON, and up to the first error for what is none."""
    bare = raw.replace(b"\\\\", b"").replace(b'\\"', b"")
    many = f"it holds more than {values:,} values"
    if bare.count(b'"') > 2 * values:  # each string is a value or the name of one
        return many
    outside = b"".join(bare.split(b'"')[::2])
    # Each value but the first has a comma, a colon or an opening bracket before it. What closes is counted too, so
    # that the number of steps below is bounded for what is no JSON as well.
    if max(sum(map(outside.count, signs)) for signs in ((b",", b":", b"[", b"{"), (b"]", b"}"))) > values:
        return many
    return f"it is nested deeper than {depth} levels" if _is_deep(outside, depth) else None


def _is_deep(outside: bytes, depth: int) -> bool:
    level = 0
    for start in range(0, len(outside), _PIECE):
        steps = array("b", outside[start : start + _PIECE].translate(_STEPS, _NOT_BRACKETS))
        levels = array("q", accumulate(steps, initial=level))
        if max(levels) > depth:
            return True
        level = levels[-1]
    return False
