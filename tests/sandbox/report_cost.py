"""Reads hostile reports as a supervisor does and says what each took; test_report_cost runs it in a process of its own.

Each report is made in one fork and read in another, from a file: no row profits from memory that another has left.
A dense row is first made as dense as is still taken: the rest of the report is one long plain text.
"""

from __future__ import annotations

import functools
import json
import os
import random
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ringfence.guest import wire
from ringfence.guest.cost import SPARE_BYTES, TooCostly, weigh
from ringfence.sandbox.channel import Channel
from ringfence.sandbox.frames import FrameError, read_report

_SCALE = 32
_CHUNK = 1 << 16

Row = Callable[[int], bytes]


def _many(unit: str | Callable[[int], str], before: str = "[", after: str = "]") -> Row:
    """As many of `unit` as it takes, or as many different ones."""

    def make(size: int) -> bytes:
        if isinstance(unit, str):
            return f"{before}{unit * (size // len(unit))}0{after}".encode()
        parts, length, i = [], 0, 0
        while length < size:
            part = unit(i)
            parts.append(part)
            length += len(part)
            i += 1
        return f"{before}{''.join(parts)}{after}".encode()

    return make


def _mixed(i: int) -> str:
    return ['"",', "1.5,", "[],", "{},", '{"k":[]},', "null,", f'"{i}",', f'{{"{i}":1}},'][i % 8]


_KEY_LAST = '"":0}'
DENSE: dict[str, Row] = {
    "empty lists": _many("[],"),
    "empty objects": _many("{},"),
    "lists of five": _many("[0,0,0,0,0],"),
    "lists of nine": _many("[0,0,0,0,0,0,0,0,0],"),
    "objects of one": _many('{"a":0},'),
    "objects of six": _many('{"a":0,"b":0,"c":0,"d":0,"e":0,"f":0},'),
    "small numbers": _many("0,"),
    "short floats": _many("1.5,"),
    "short texts": _many('"aa",'),
    "wide texts": _many('"\\u4f60a",'),
    "emoji texts": _many('"\\ud83d\\ude00a",'),
    "different keys": _many(lambda i: f'"{i}":0,', "{", _KEY_LAST),
    "different keys with colons": _many(lambda i: f'":{i}":"v",', "{", _KEY_LAST),
    "different objects": _many(lambda i: f'{{"{i}":0}},', after="0]"),
    "keys with escaped quotes": _many(lambda i: f'"{i:b}":0,'.replace("1", '\\"'), "{", _KEY_LAST),
    "all kinds": _many(_mixed, after="0]"),
    "random floats": _many(lambda i: f"{random.Random(i).random()!r},", after="0]"),
    "records": _many('{"Open":101.25,"High":102.5,"Low":100.25,"Close":101.5,"Volume":1234567,"Day":"2024-01-01"},'),
}
OTHER: dict[str, Row] = {
    "deep lists": _many("[", after=""),
    "deep objects": _many('{"a":', after=""),
    "an endless number": _many("9"),
    "an endless fraction": _many("9", "[0."),
    "duplicate keys": _many('"a":"' + "x" * 1000 + '",', "{", '"a":0}'),
    "a text with one emoji": _many("x", '["\\ud83d\\ude00', '"]'),
    "a text with an emoji at its end": _many("x", '["', '\\ud83d\\ude00"]'),
    "raw emoji": lambda size: b'["' + "\U0001f600".encode() * (size // 4) + b'"]',
    "halves of characters": _many("\\ud83d", '["', '"]'),
    "nothing but quotes": _many('"'),
    "nothing but backslashes": _many("\\", '["', '"]'),
    "nothing but commas": _many(","),
    "nothing but colons": _many(":", "{", "}"),
    "spaces": _many(" "),
    "all empty lists": _many("[],"),
    "all empty objects": _many("{},"),
    "all small numbers": _many("0,"),
    "all short texts": _many('"aa",'),
    "all different keys": DENSE["different keys"],
}


def densest(row: Row, size: int) -> bytes:
    """A result of `size` bytes that is still taken, as dense as it can be by the count that is used."""
    low, high = 0.0, 1.0
    for _ in range(7):
        part = (low + high) / 2
        try:
            weigh(_padded(row, part, size // _SCALE), spare=SPARE_BYTES // _SCALE)
            low = part
        except TooCostly:
            high = part
    return _padded(row, low, size)


def _padded(row: Row, part: float, size: int) -> bytes:
    dense = row(int(part * size))
    return b'[%s,"%s"]' % (dense, b"x" * max(0, size - len(dense)))


def read(path: Path, result_mb: int) -> str:
    """As a supervisor does it; what became of it in a word."""
    channel = Channel(result_mb)
    with open(path, "rb", buffering=0) as frame:
        while chunk := frame.read(_CHUNK):
            if not channel.take(chunk):
                return "refused"
    report = channel.report()
    assert report is not None, channel.damage
    try:
        read_report(report)
    except FrameError:
        return "refused"
    return "read"


def _peak_bytes() -> int:
    with open("/proc/self/status") as f:
        return next(int(line.split()[1]) << 10 for line in f if line.startswith("VmHWM"))


def in_a_fork(work: Callable[[], object]) -> Any:
    """What `work` returns, done in a process that leaves nothing behind in this one."""
    ours, theirs = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.write(theirs, json.dumps(work()).encode())
        os._exit(0)
    os.close(theirs)
    with os.fdopen(ours) as answer:
        done = json.load(answer)
    os.waitpid(pid, 0)
    return done


def make(path: Path, row: Row, size: int, *, dense: bool) -> int:
    result = densest(row, size) if dense else row(size)
    path.write_bytes(wire.pack(b'{"v":1,"end":"ok","result":%s,"error":null,"exit_code":0}' % result))
    return len(result)


def measure(path: Path, result_mb: int) -> tuple[str, int]:
    """What became of it, and what it took at most beyond what was there before."""
    Path("/proc/self/clear_refs").write_text("5")  # sets the high-water mark back
    before = _peak_bytes()
    ending = read(path, result_mb)
    return ending, _peak_bytes() - before


def main(result_mb: int, path: Path, names: list[str]) -> None:
    rows, told = DENSE | OTHER, {}
    for name in names or rows:
        making = functools.partial(make, path, rows[name], (result_mb << 20) - 1000, dense=name in DENSE)
        told[name] = [in_a_fork(making), *in_a_fork(functools.partial(measure, path, result_mb))]
    json.dump(told, sys.stdout)


if __name__ == "__main__":
    main(int(sys.argv[1]), Path(sys.argv[2]), sys.argv[3:])
