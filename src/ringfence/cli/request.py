"""From words on the command line to the parts of a Job. Whatever is read from the host is read up to a bound."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import BinaryIO

from ringfence.base.errors import InputError
from ringfence.cli.sizes import MB, show_bytes
from ringfence.sandbox.job import Json
from ringfence.sandbox.source import MAX_SOURCE_BYTES, decode_source

MAX_INPUT_BYTES = 64 * MB


def read_program(word: str) -> tuple[str, str]:
    """The text of the program that `word` names (`-` is standard input), and what tracebacks call it."""
    if word == "-":
        return decode_source(_read_up_to(sys.stdin.buffer, MAX_SOURCE_BYTES)), "stdin.py"
    path = Path(word)
    text = decode_source(_read_file(path, MAX_SOURCE_BYTES, "the program"))
    plain = path.name.isprintable() and 0 < len(path.name) <= 200 and path.name not in (".", "..")
    return text, path.name if plain else "script.py"


def read_inputs(words: Iterable[str]) -> dict[str, Json]:
    """Each `NAME=JSON` or `NAME=@file` as a value."""
    inputs: dict[str, Json] = {}
    for word in words:
        name, equals, text = word.partition("=")
        if not equals:
            raise InputError(f"input {word!r} is not NAME=JSON: write for example --input n=5 or bars=@bars.json")
        if name in inputs:
            raise InputError(f"input {name!r} is given twice: keep one of them")
        inputs[name] = _read_value(name, text)
    return inputs


def read_files(words: Iterable[str], disk_mb: int) -> dict[str, bytes]:
    """The files to copy into the working directory, under their base names."""
    files: dict[str, bytes] = {}
    room = disk_mb * MB
    for word in words:
        path = Path(word)
        if path.name in files:
            raise InputError(f"two files are called {path.name!r}: rename one, they go into the same directory")
        data = _read_file(path, room, "a file")
        if len(data) > room:
            raise InputError(f"the files do not fit into {disk_mb} MB of disk: raise --disk, or --mount {word!r}")
        files[path.name] = data
        room -= len(data)
    return files


def _read_value(name: str, text: str) -> Json:
    if text.startswith("@"):
        raw = _read_file(Path(text[1:]), MAX_INPUT_BYTES, f"input {name!r}")
        if len(raw) > MAX_INPUT_BYTES:
            most = show_bytes(MAX_INPUT_BYTES)
            raise InputError(f"input {name!r} is over {most}: pass the file itself with --file or --mount")
        example = f"check the file {text[1:]!r}"
    else:
        raw = text.encode("utf-8", "surrogateescape")
        example = f"quote a string twice, as in --input {name}='\"text\"', or name a file with {name}=@file"
    try:
        value: Json = json.loads(raw.decode("utf-8-sig"), parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as e:
        raise InputError(f"input {name!r} is not JSON ({e}): {example}") from e
    return value


def _refuse_constant(word: str) -> Json:
    raise ValueError(f"{word} is not a JSON value")


def _read_file(path: Path, most: int, what: str) -> bytes:
    """Up to one byte more than `most`, so that the caller can tell that there was too much."""
    try:
        with path.open("rb") as file:
            return _read_up_to(file, most)
    except (OSError, ValueError) as e:  # ValueError: a NUL in the name
        reason = e.strerror if isinstance(e, OSError) and e.strerror else str(e)
        raise InputError(f"{what} cannot be read from {str(path)!r} ({reason}): check the path") from e


def _read_up_to(file: BinaryIO, most: int) -> bytes:
    return file.read(most + 1)
