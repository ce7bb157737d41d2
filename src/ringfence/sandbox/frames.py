"""Reading what the guest says: bytes from a hostile process, never trusted.

Every way these bytes can be wrong ends in FrameError. Depth and the length of numbers are checked on the
bytes before the parser sees them, so that neither its stack nor its time is the guest's to spend.
"""

from __future__ import annotations

import json
import math
import re
from array import array
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import accumulate
from typing import Literal, NoReturn, TypeGuard, get_args

from ringfence.sandbox.job import Json
from ringfence.sandbox.outcome import Failure

End = Literal["ok", "error", "exit"]

_REPORT_KEYS = frozenset({"v", "end", "result", "error", "exit_code"})
_ERROR_KEYS = frozenset({"type", "message", "line", "traceback"})
_MOST_CHARACTERS = {"type": 200, "message": 10_000, "traceback": 100_000}

_NOT_BRACKETS = bytes(set(range(256)) - set(b"[]{}"))
_STEPS = bytes.maketrans(b"[{]}", b"\x01\x01\xff\xff")  # +1 and -1 as signed bytes
# The look-behind keeps the search linear on many runs of digits that are each just short enough.
_LONG_NUMBER = re.compile(rb"(?<![0-9])[0-9]{4301}")
_SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]")


class FrameError(ValueError):
    """The guest's bytes are not what they must be."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """What the guest says of itself. The status of an Outcome comes from the supervisor's evidence first."""

    end: End
    result: Json
    error: Failure | None
    exit_code: int


def parse_json(raw: bytes, *, max_depth: int = 110) -> Json:
    """Parse strict JSON: no NaN, no infinity, no duplicate key, no lone surrogate, nothing deep or endless."""
    outside = _outside_strings(raw)
    steps = array("b", outside.translate(_STEPS, _NOT_BRACKETS))
    if max(accumulate(steps), default=0) > max_depth:
        raise FrameError(f"JSON is nested deeper than {max_depth} levels")
    if _LONG_NUMBER.search(outside):
        raise FrameError("JSON holds a number of over 4,300 digits")
    try:
        value: Json = json.loads(
            raw.decode(), object_pairs_hook=_unique, parse_constant=_constant, parse_float=_finite, parse_int=int
        )
        if _SURROGATE.search(raw):
            json.dumps(value, ensure_ascii=False).encode()
    except UnicodeError as e:
        raise FrameError("JSON is not valid Unicode text") from e
    except FrameError:
        raise
    except ValueError as e:
        raise FrameError(f"not JSON: {e}") from e
    return value


def _outside_strings(raw: bytes) -> bytes:
    """The bytes that are in no string. Exact up to the first syntax error, where the parser stops too."""
    return b"".join(raw.replace(b"\\\\", b"").replace(b'\\"', b"").split(b'"')[::2])


def _unique(pairs: list[tuple[str, Json]]) -> dict[str, Json]:
    made = dict(pairs)
    if len(made) != len(pairs):
        raise FrameError("JSON holds a key twice in one object")
    return made


def _constant(name: str) -> NoReturn:
    raise FrameError(f"JSON holds {name}, which is not a JSON number")


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise FrameError("JSON holds a number that is too large for a float")
    return number


def parse_report(raw: bytes) -> Report:
    """Read the single final frame of a guest."""
    frame = _object(parse_json(raw), _REPORT_KEYS, "report")
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
