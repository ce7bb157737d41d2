"""Reading a file that somebody named: what can be wrong with it, in words."""

from __future__ import annotations

import stat
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from ringfence.base.config import Settings
from ringfence.base.errors import DataError

ENVIRONMENT = ("RINGFENCE_MAX_DATA_MB", "RINGFENCE_MAX_DATA_ROWS")
MOST_COLUMNS = 1_000
_LARGEST_FILE = 4 << 30


@dataclass(frozen=True, slots=True)
class Bounds:
    """What reading one file may take, whatever its own head says of its size."""

    memory_mb: int
    rows: int

    @classmethod
    def of(cls, environ: Mapping[str, str]) -> Bounds:
        settings = Settings.from_env({name: environ[name] for name in ENVIRONMENT if name in environ})
        return cls(settings.max_data_mb, settings.max_data_rows)

    @property
    def unpacked_bytes(self) -> int:
        """A text is in memory about four times on its way to columns: as bytes, decoded, parsed and checked."""
        return (self.memory_mb << 20) // 4

    def check_rows(self, rows: int, name: str) -> None:
        if rows > self.rows:
            raise DataError(
                f"{name} has more than {self.rows:,} rows: keep those you need, or raise RINGFENCE_MAX_DATA_ROWS"
            )

    def check_bytes(self, size: int, name: str) -> None:
        if size > self.unpacked_bytes:
            raise self.too_much_memory(name)

    def too_much_memory(self, name: str) -> DataError:
        return DataError(
            f"reading {name} takes more than the {self.memory_mb:,} MB that a file may take: "
            "keep only the rows and columns you need, or raise RINGFENCE_MAX_DATA_MB"
        )


def check_columns(count: int, name: str) -> None:
    if count > MOST_COLUMNS:
        raise DataError(
            f"{name} has {count:,} columns, over {MOST_COLUMNS:,}: keep the time, the prices and the volume"
        )


def read_bytes(path: Path) -> bytes:
    check_file(path)
    try:
        return path.read_bytes()
    except OSError as e:
        raise DataError(f"{str(path)!r} cannot be read ({e.strerror}): check its permissions") from e


def check_file(path: Path) -> None:
    try:
        about = path.stat()
    except PermissionError as e:
        raise DataError(f"{str(path)!r} cannot be read ({e.strerror}): check its permissions") from e
    except (OSError, ValueError) as e:  # ValueError: a NUL in the name
        raise DataError(
            f"{str(path)!r} is not there: check the path, or use --source sample (--data sample:GOOG)"
        ) from e
    if stat.S_ISDIR(about.st_mode):
        raise DataError(f"{str(path)!r} is a directory: name a file in it")
    if not stat.S_ISREG(about.st_mode):
        raise DataError(f"{str(path)!r} is no regular file: name one")
    if about.st_size > _LARGEST_FILE:
        raise DataError(
            f"{str(path)!r} is larger than {_LARGEST_FILE >> 30} GB: split it, or keep only the rows you need"
        )


def symbol_of(path: Path) -> str:
    """prices/AAPL.csv.gz is about AAPL."""
    return path.name.split(".")[0] or path.name


def check_options(source: str, options: Mapping[str, str], known: Iterable[str]) -> None:
    names = sorted(known)
    unknown = sorted(set(options) - set(names))
    if unknown:
        raise DataError(f"{source} has no option {unknown[0]!r}: use one of {', '.join(names) or 'none'}")
