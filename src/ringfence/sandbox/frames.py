"""Reading what the guest says: bytes from a hostile process, never trusted.

Every way these bytes can be wrong ends in FrameError. Depth, the length of numbers and the memory that the values will
take are found from the bytes before the parser sees them (see `ringfence.guest.cost`), so that neither the stack nor
the time nor the memory of the host is the guest's to spend.
"""

from __future__ import annotations

import json
import math
import mmap
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal, NoReturn, TypeGuard, get_args

from ringfence.guest.cost import Cost, TooCostly, weigh
from ringfence.sandbox.job import Json
from ringfence.sandbox.outcome import Failure

End = Literal["ok", "error", "exit"]

_REPORT_KEYS = frozenset({"v", "end", "result", "error", "exit_code"})
_ERROR_KEYS = frozenset({"type", "message", "line", "traceback"})
_MOST_CHARACTERS = {"type": 200, "message": 10_000, "traceback": 100_000}
_LARGE_BYTES = 1 << 17
_HOLDERS = frozenset({dict, list})


class FrameError(ValueError):
    """The guest's bytes are not what they must be."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """What the guest says of itself. The status of an Outcome comes from the supervisor's evidence first."""

    end: End
    result: Json
    error: Failure | None
    exit_code: int


Body = bytearray | mmap.mmap


def new_body(size: int) -> Body:
    """Room for so many bytes. Large ones lie outside the heap, where what is freed may stay a hole for good."""
    return bytearray(size) if size <= _LARGE_BYTES else mmap.mmap(-1, size)


def free(body: Body) -> None:
    if isinstance(body, mmap.mmap):
        body.close()
    else:
        body.clear()


class Sealed:
    """JSON bytes that were counted and found cheap enough to read. Reading uses them up: they are freed before the
    values are made, so that no more than the text and the values are there at once."""

    __slots__ = ("_body", "_cost")

    def __init__(self, body: Body, cost: Cost) -> None:
        self._body, self._cost = body, cost

    def open(self) -> Json:
        text = str(self._body, "ascii")
        free(self._body)
        try:
            value: Json = (_CAREFUL if self._cost.may_overflow else _DECODER).decode(text)
        except FrameError:
            raise
        except ValueError as e:
            raise FrameError(f"not JSON: {e}") from None  # the cause would keep the whole text
        if _count_entries(value) != self._cost.entries:
            raise FrameError("JSON holds a key twice in one object")
        return value


def seal(raw: bytes, *, max_depth: int = 110) -> Sealed:
    try:
        return Sealed(bytearray(raw), weigh(raw, max_depth=max_depth))
    except TooCostly as e:
        raise FrameError(str(e)) from None


def parse_json(raw: bytes, *, max_depth: int = 110) -> Json:
    """Parse strict JSON in ASCII: no NaN, no infinity, no duplicate key, no lone surrogate, nothing deep, endless or
    far larger in memory than it is as text."""
    return seal(raw, max_depth=max_depth).open()


def _count_entries(value: Json) -> int:
    """How many entries all objects have together, level by level."""
    found = 0
    level: list[Json] = [value]
    while level:
        below: list[Json] = []
        for holder in level:
            if type(holder) is dict:
                found += len(holder)
                values: Iterable[Json] = holder.values()
            elif type(holder) is list:
                values = holder
            else:
                continue
            if not _HOLDERS.isdisjoint(map(type, values)):
                below += [v for v in values if type(v) in _HOLDERS]
        level = below
    return found


def _constant(name: str) -> NoReturn:
    raise FrameError(f"JSON holds {name}, which is not a JSON number")


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise FrameError("JSON holds a number that is too large for a float")
    return number


_DECODER = json.JSONDecoder(parse_constant=_constant)
_CAREFUL = json.JSONDecoder(parse_constant=_constant, parse_float=_finite)


def parse_report(raw: bytes) -> Report:
    return read_report(seal(raw))


def read_report(sealed: Sealed) -> Report:
    """Read the single final frame of a guest."""
    frame = _object(sealed.open(), _REPORT_KEYS, "report")
    if type(frame["v"]) is not int or frame["v"] != 1:
        raise FrameError("report is of an unknown version")
    end, exit_code = frame["end"], frame["exit_code"]
    if not _is_end(end):
        raise FrameError("report has an unknown end")
    if type(exit_code) is not int or not -(1 << 31) <= exit_code < 1 << 31:
        raise FrameError("report has an exit code that is not a 32-bit whole number")
    error = None if frame["error"] is None else _failure(frame["error"])
    if (end == "error") != (error is not None):
        raise FrameError("report must carry an error if and only if it ended in one")
    return Report(end=end, result=frame["result"], error=error, exit_code=exit_code)


def _is_end(value: Json) -> TypeGuard[End]:
    return isinstance(value, str) and value in get_args(End)


def _object(value: Json, keys: frozenset[str], what: str) -> Mapping[str, Json]:
    if not isinstance(value, dict) or value.keys() != keys:
        raise FrameError(f"{what} is not an object with exactly the keys {', '.join(sorted(keys))}")
    return value


def _failure(value: Json) -> Failure:
    frame = _object(value, _ERROR_KEYS, "error of the report")
    texts: dict[str, str] = {}
    for name, most in _MOST_CHARACTERS.items():
        text = frame[name]
        if not isinstance(text, str):
            raise FrameError(f"{name} in the error of the report is not text")
        texts[name] = text if len(text) <= most else text[: most - 1] + "…"
    line = frame["line"]
    if line is not None and (type(line) is not int or not 1 <= line < 1 << 31):
        raise FrameError("line in the error of the report is not a line number")
    return Failure(type=texts["type"], message=texts["message"], line=line, traceback=texts["traceback"])
