"""Bars between the process that reads a file and ours: one line of JSON, then the columns as they lie in memory.

The other side has read a stranger's file and is believed nothing: the line is bounded, the columns must fill the rest
to the byte, and making the Bars checks every row.
"""

from __future__ import annotations

import json
import mmap
from typing import BinaryIO, TypedDict

import numpy as np

from ringfence.trade.bars import COLUMNS, Bars, Candles

_MOST_HEAD_BYTES = 16 << 20
_TEXTS = ("timeframe", "calendar", "timezone", "adjusted")
_NAMES = ("time", *COLUMNS)
_WIDTH = 8


class Head(TypedDict):
    """`error` is what the file was refused for; there are no bars then."""

    error: str | None
    texts: dict[str, str]
    notes: list[str]
    rows: dict[str, int]  # by symbol, in order


def pack_error(message: str, sink: BinaryIO) -> None:
    _write_head(Head(error=message, texts={}, notes=[], rows={}), sink)


def pack_bars(bars: Bars, sink: BinaryIO) -> None:
    texts = {name: str(getattr(bars, name)) for name in _TEXTS}
    rows = {symbol: len(candles) for symbol, candles in bars}
    _write_head(Head(error=None, texts=texts, notes=list(bars.notes), rows=rows), sink)
    for _, candles in bars:
        for name in _NAMES:
            sink.write(memoryview(getattr(candles, name)).cast("B"))


def unpack(packed: BinaryIO, *, source: str) -> Bars | str:
    """The bars, or the sentence that the file was refused with. ValueError for anything that is neither."""
    packed.seek(0)
    line = packed.readline(_MOST_HEAD_BYTES)
    head = json.loads(line)
    if not isinstance(head, dict) or set(head) != set(Head.__annotations__):
        raise ValueError("the head is no head")
    error, texts, notes, rows = (head[name] for name in ("error", "texts", "notes", "rows"))
    if isinstance(error, str):
        return error
    if not _is_dict_of(texts, str) or not _is_dict_of(rows, int) or set(texts) != set(_TEXTS) or not rows:
        raise ValueError("the head is of the wrong shape")
    if not isinstance(notes, list) or not all(isinstance(note, str) for note in notes):
        raise ValueError("the notes are no texts")
    return Bars(candles=_candles(rows, packed, len(line)), source=source, notes=tuple(notes), **texts)


def _candles(rows: dict[str, int], packed: BinaryIO, start: int) -> dict[str, Candles]:
    size = packed.seek(0, 2)
    if min(rows.values()) < 1 or start + sum(rows.values()) * len(_NAMES) * _WIDTH != size:
        raise ValueError("the columns are not as long as they are said to be")
    held = mmap.mmap(packed.fileno(), size, access=mmap.ACCESS_READ)
    candles, at = {}, start
    for symbol, count in rows.items():
        stamps = np.frombuffer(held, np.int64, count, at)
        prices = np.frombuffer(held, np.float64, count * len(COLUMNS), at + count * _WIDTH).reshape(len(COLUMNS), count)
        candles[symbol] = Candles(stamps, *prices)
        at += count * len(_NAMES) * _WIDTH
    return candles


def _write_head(head: Head, sink: BinaryIO) -> None:
    line = json.dumps(head).encode()
    # The columns begin where numbers of eight bytes may lie.
    sink.write(line + b" " * (-(len(line) + 1) % _WIDTH) + b"\n")


def _is_dict_of(value: object, kind: type) -> bool:
    return isinstance(value, dict) and all(type(item) is kind for item in value.values())
