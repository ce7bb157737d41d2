"""Which files a batch has, and what is in each: whatever lies there, it is named and nothing of it is lost."""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

SUFFIXES = (".py", ".md", ".txt")
MOST_BYTES = 1 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Content:
    text: str
    sha256: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Unfit:
    """A file that holds no text of a strategy; `sha256` changes when there is something else to say of it."""

    verdict: str
    reason: str
    sha256: str


def find_files(words: Sequence[str]) -> Iterator[Path]:
    """Every file that `words` name, once, as they are found: a file as it is given, a directory with all below it.

    A directory gives its *.py, *.md and *.txt in the order of their names, without hidden ones. Links are followed,
    and what two of them lead to is seen once. What cannot be listed or does not exist is found too, for `read_file`
    to say so.
    """
    seen: set[str] = set()
    folders: set[tuple[int, int]] = set()
    for word in words:
        for path in _walk(Path(word), folders) if os.path.isdir(word) else [Path(word)]:
            real = os.path.realpath(path)
            if real not in seen:
                seen.add(real)
                yield path


def _walk(top: Path, seen: set[tuple[int, int]]) -> Iterator[Path]:
    """Directories wait on a list and not on the stack: a tree may be deeper than Python can recurse."""
    left = [top]
    while left:
        path = left.pop()
        if not os.path.isdir(path):
            yield path
            continue
        try:
            about = os.stat(path)
            if (about.st_dev, about.st_ino) in seen:
                continue
            with os.scandir(path) as entries:
                names = sorted(entry.name for entry in entries if _is_wanted(entry))
        except OSError:
            yield path
            continue
        seen.add((about.st_dev, about.st_ino))
        left += [path / name for name in reversed(names)]


def _is_wanted(entry: os.DirEntry[str]) -> bool:
    if entry.name.startswith("."):
        return False
    try:
        return entry.is_dir() or entry.name.endswith(SUFFIXES)
    except OSError:  # a link that leads round in a circle
        return entry.name.endswith(SUFFIXES)


def read_file(path: Path) -> Content | Unfit:
    """The text of a file, or why it has none. At most a little over 1 MB is read, and never from a pipe or a device."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
        with open(handle, "rb") as file:
            kind = os.fstat(handle).st_mode
            if not stat.S_ISREG(kind):
                what = "a directory that cannot be listed" if stat.S_ISDIR(kind) else "no regular file"
                return _unfit("failed", f"it is {what}: give a file with the text of a strategy")
            raw = file.read(MOST_BYTES + 1)
    except (OSError, ValueError) as e:  # ValueError: a NUL in the name
        why = e.strerror if isinstance(e, OSError) and e.strerror else str(e)
        return _unfit("failed", f"it cannot be read ({why}): check the path and its permissions")
    return _decode(raw)


def _decode(raw: bytes) -> Content | Unfit:
    if len(raw) > MOST_BYTES:
        return _unfit("failed", "it is over 1 MB, which no strategy is: give the program without its data", raw)
    if not raw.strip():
        return _unfit("not_a_strategy", "it is empty", raw)
    if b"\0" in raw:
        return _unfit("not_a_strategy", "it is binary and no text: save it as UTF-8 if it was meant as text", raw)
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as e:
        return _unfit("failed", f"it is not UTF-8 (byte {e.start} cannot be read): save it as UTF-8", raw)
    return Content(text=text, sha256=hashlib.sha256(raw).hexdigest())


def _unfit(verdict: str, reason: str, raw: bytes = b"") -> Unfit:
    return Unfit(verdict=verdict, reason=reason, sha256=hashlib.sha256(reason.encode() + b"\n" + raw).hexdigest())


def places(words: Sequence[str]) -> list[str]:
    """The directories that a batch is about. It stays the same batch when `*.py` has come to mean one file more."""
    found = (word if os.path.isdir(word) else os.path.dirname(os.path.abspath(word)) for word in words)
    return sorted({printable(os.path.realpath(place)) for place in found})


def printable(path: str | Path) -> str:
    """As text that JSON and any database can carry: bytes that are no UTF-8 are spelled out."""
    return os.fsencode(path).decode("utf-8", "backslashreplace")
