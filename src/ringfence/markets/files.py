"""Reading a file that somebody named: what can be wrong with it, in words."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from ringfence.base.errors import DataError

MOST_BYTES = 4 << 30  # of a file, unpacked


def read_bytes(path: Path) -> bytes:
    check_file(path)
    try:
        return path.read_bytes()
    except OSError as e:
        raise DataError(f"{str(path)!r} cannot be read ({e.strerror}): check its permissions") from e


def check_file(path: Path) -> None:
    if path.is_dir():
        raise DataError(f"{str(path)!r} is a directory: name a file in it")
    if path.exists() and not path.is_file():
        raise DataError(f"{str(path)!r} is no regular file: name one")
    if path.exists() and path.stat().st_size > MOST_BYTES:
        raise DataError(f"{str(path)!r} is larger than {MOST_BYTES >> 30} GB: split it, or keep only the rows you need")
    if not path.exists():
        raise DataError(f"{str(path)!r} is not there: check the path, or use --source sample (--data sample:GOOG)")


def symbol_of(path: Path) -> str:
    """prices/AAPL.csv.gz is about AAPL."""
    return path.name.split(".")[0] or path.name


def check_options(source: str, options: Mapping[str, str], known: Iterable[str]) -> None:
    names = sorted(known)
    unknown = sorted(set(options) - set(names))
    if unknown:
        raise DataError(f"{source} has no option {unknown[0]!r}: use one of {', '.join(names) or 'none'}")
