"""An entry in a TOML file, changed as text so that comments and layout stay.

Only a table of its own, with a header line, is touched. The new text is parsed and compared with the old one: if
anything but our entry would differ, as it would for an entry written inline elsewhere, the file is left alone.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Mapping, Set

from ringfence.mcp.install.clients import TRANSPORT, Entry, merged

_BARE = re.compile(r"[A-Za-z0-9_-]+")
_HEADER = re.compile(r"^\s*\[")


def edit(text: str, place: tuple[str, ...], entry: Entry | None) -> str:
    before = _parse(text)
    there = _at(before, place)
    wanted = None if entry is None else merged(there, entry)
    if there == wanted:
        return text
    newline = "\r\n" if "\r\n" in text else "\n"
    lines = text.splitlines(keepends=True)
    start, end = _section(lines, place)
    made: list[str] = []
    if entry is not None and wanted is not None:
        if start < end:
            made = _changed(lines[start:end], place, entry, wanted, newline)
        else:  # a new one, at the end
            if lines and not lines[-1].endswith("\n"):
                lines[-1] += newline
            made = [newline] if lines and lines[-1].strip() else []
            made += [f"[{'.'.join(map(_key, place))}]{newline}", *_rows(entry, newline)]
    after = "".join([*lines[:start], *made, *lines[end:]])
    _check(before, after, place, wanted)
    return after


def _rows(values: Mapping[str, object], newline: str) -> list[str]:
    return [f"{_key(name)} = {_value(value)}{newline}" for name, value in values.items()]


def _changed(
    lines: list[str], place: tuple[str, ...], entry: Entry, wanted: Mapping[str, object], newline: str
) -> list[str]:
    """The table's lines with our values. Where it has a table of variables inside, ours go into that."""
    heads = [number for number, line in enumerate(lines) if number and _HEADER.match(line)]
    inner = next((number for number in heads if _header(lines[number]) == (*place, "env")), None)
    env = entry.get("env")
    if inner is None or not isinstance(env, Mapping):
        rows = _rows({name: wanted[name] for name in entry}, newline)
        return [lines[0], *rows, *_own_lines(lines[1:], TRANSPORT | set(entry))]
    end = next((number for number in heads if number > inner), len(lines))
    rows = _rows({name: value for name, value in entry.items() if name != "env"}, newline)
    own, variables = lines[1:inner], lines[inner + 1 : end]
    return [
        *(lines[0], *rows, *_own_lines(own, TRANSPORT)),
        *(lines[inner], *_rows(env, newline), *_own_lines(variables, set(env)), *lines[end:]),
    ]


def _own_lines(lines: list[str], ours: Set[str]) -> list[str]:
    """A table's lines without those that say what is ours to say; a value may go over several lines."""
    kept: list[str] = []
    while lines:
        size = 1
        if not _HEADER.match(lines[0]) and lines[0].strip() and not lines[0].lstrip().startswith("#"):
            while size < len(lines) and not _is_toml("".join(lines[:size])):
                size += 1
        piece, lines = lines[:size], lines[size:]
        names = _parse("".join(piece)) if _is_toml("".join(piece)) else {}
        if _HEADER.match(piece[0]):  # a table inside: all that follows belongs to it
            return [*kept, *piece, *lines]
        if not set(names) & ours:
            kept += piece
    return kept


def _is_toml(text: str) -> bool:
    try:
        tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return False
    return True


def _parse(text: str) -> dict[str, object]:
    try:
        return tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as e:
        raise ValueError(f"since it is not TOML ({e})") from e


def _section(lines: list[str], place: tuple[str, ...]) -> tuple[int, int]:
    """Where the table and its sub-tables stand, blank lines and comments after them left out; the end if nowhere."""
    start = end = None
    for number, line in enumerate(lines):
        if not _HEADER.match(line):
            continue
        if _header(line)[: len(place)] == place:
            start = number if start is None else start
        elif start is not None:
            end = number
            break
    if start is None:
        return len(lines), len(lines)
    end = len(lines) if end is None else end
    while end > start + 1 and (not lines[end - 1].strip() or lines[end - 1].lstrip().startswith("#")):
        end -= 1
    return start, end


def _header(line: str) -> tuple[str, ...]:
    """The names of a header line, read by the parser itself; nothing for what only looks like one."""
    try:
        found: object = tomllib.loads(line)
    except tomllib.TOMLDecodeError:
        return ()
    names = []
    while isinstance(found, dict) and found:
        [(name, found)] = found.items()
        names.append(name)
    return tuple(names)


def _key(name: str) -> str:
    return name if _BARE.fullmatch(name) else _value(name)


def _value(value: object) -> str:
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{_key(name)} = {_value(inner)}" for name, inner in value.items()) + " }"
    if isinstance(value, list):
        return "[" + ", ".join(map(_value, value)) + "]"
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")  # a basic string is written like JSON's


def _at(root: object, place: tuple[str, ...]) -> object:
    for name in place:
        root = root.get(name) if isinstance(root, dict) else None
    return root


def _without(root: object, place: tuple[str, ...]) -> object:
    """All but what is at `place`, and without the tables that are empty then."""
    if not isinstance(root, dict):
        return root
    first, *rest = place
    kept = {name: value for name, value in root.items() if name != first}
    if rest and first in root:
        inner = _without(root[first], tuple(rest))
        if inner != {}:
            kept[first] = inner
    return kept


def _check(before: object, text: str, place: tuple[str, ...], wanted: object) -> None:
    try:
        after = tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        after = None
    if after is None or _at(after, place) != wanted or _without(before, place) != _without(after, place):
        raise ValueError(f"since its {'.'.join(place)} is not a table with a header of its own")
