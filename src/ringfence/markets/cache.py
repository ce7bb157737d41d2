"""Bars kept by the hash of their content, and which request led to which.

    <root>/<sha256>.arrow            the bars, as the sandbox maps them
    <root>/<sha256>.json             what they are, for a list that need not open them
    <root>/requests/<key>.json       a request, the hash it led to, and when

Every file is written beside its place and then moved there, so readers and other writers see all of it or nothing.
"""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path

from ringfence.base.errors import DataError
from ringfence.markets import Request
from ringfence.markets.shape import pick
from ringfence.trade.arrow import read_bars, write_bars
from ringfence.trade.bars import Bars
from ringfence.trade.times import DAY, iso

_HEX = frozenset("0123456789abcdef")
_LEAST_PREFIX = 6
_READABLE = 0o644  # the sandbox reads as another user


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One of the files, in the words of `data list`."""

    sha256: str
    source: str
    symbols: tuple[str, ...]
    timeframe: str
    start: str
    end: str
    rows: int
    adjusted: str
    synthetic: bool
    notes: tuple[str, ...]
    bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """An answer that was kept; `end` is that of the request it answered, `fetched_at` when that was."""

    bars: Bars
    end: int | None
    fetched_at: int | None

    def is_fresh(self, now_ns: int | None, fresh_ns: int) -> bool:
        """Whether the network could say no more: its end was long over, or it was asked only lately."""
        if now_ns is None or self.fetched_at is None:
            return True
        over = self.end is not None and self.end + DAY < self.fetched_at
        return over or now_ns - self.fetched_at < fresh_ns


class Cache:
    def __init__(self, root: Path) -> None:
        self.root = root

    def get(self, request: Request) -> Bars | None:
        kept = self.find(request)
        return kept.bars if kept else None

    def find(self, request: Request) -> Kept | None:
        """What was kept for this request, or for a longer one. A damaged file counts as not there."""
        for record in (self._record(_key(request)), *self._records()):
            if record is None or not _covers(record, request):
                continue
            try:
                bars = self.read(str(record["sha256"]))
            except DataError:  # the network is asked again, and its answer takes the damaged file's place
                continue
            wanted = request.symbols or bars.symbols
            return Kept(bars=pick(bars, wanted), end=_moment(record["end"]), fetched_at=_moment(record["fetched_at"]))
        return None

    def put(self, request: Request, bars: Bars, *, fetched_at: int | None = None) -> Path:
        path = self.materialise(bars)
        record = {**_asked(request), "sha256": bars.sha256, "fetched_at": fetched_at}
        self._write(self.root / "requests" / f"{_key(request)}.json", json.dumps(record))
        return path

    def materialise(self, bars: Bars) -> Path:
        """The file that holds exactly these bars, written if need be."""
        path = self.root / f"{bars.sha256}.arrow"
        if not self._holds(path, bars.sha256):
            part = self._part(path)
            try:
                write_bars(bars, part)
                os.chmod(part, _READABLE)
                os.replace(part, path)
            except OSError as e:
                raise _unwritable(self.root, e) from e
            finally:
                part.unlink(missing_ok=True)
        about = path.with_suffix(".json")
        if not about.exists():
            self._write(about, json.dumps(_about(bars, path.stat().st_size)))
        return path

    def read(self, sha256: str) -> Bars:
        """The bars of that hash, compared with it: what a disk or a hand changed is refused."""
        path = self.root / f"{sha256}.arrow"
        if not path.exists():
            raise DataError(f"no bars are kept under {sha256}: see `ringfence data list`")
        try:
            bars = read_bars(path)
        except (KeyError, TypeError, ValueError) as e:  # DataError is a ValueError
            raise _damaged(path) from e
        if bars.sha256 != sha256:
            raise _damaged(path)
        return bars

    def list(self) -> list[Entry]:
        """All that is kept, by source and start."""
        entries = []
        for path in sorted(self.root.glob("*.json")):
            about = _load(path)
            if about is not None and {f.name for f in fields(Entry)} <= set(about):
                entries.append(_entry(about))
        return sorted(entries, key=lambda e: (e.source, e.start, e.sha256))

    def resolve(self, prefix: str) -> str | None:
        """The one hash that begins so; None where the text is no beginning of a hash at all."""
        if len(prefix) < _LEAST_PREFIX or not set(prefix) <= _HEX:
            return None
        found = sorted(path.stem for path in self.root.glob(f"{prefix}*.arrow"))
        if len(found) > 1:
            raise DataError(f"{prefix} begins {len(found)} hashes: write more of it")
        if not found:
            raise DataError(f"no bars are kept under {prefix}: see `ringfence data list`")
        return found[0]

    def _holds(self, path: Path, sha256: str) -> bool:
        try:
            return path.exists() and self.read(sha256).sha256 == sha256
        except DataError:
            return False

    def _records(self) -> Iterator[Mapping[str, object]]:
        for path in sorted((self.root / "requests").glob("*.json")):
            record = _load(path)
            if record is not None:
                yield record

    def _record(self, key: str) -> Mapping[str, object] | None:
        return _load(self.root / "requests" / f"{key}.json")

    def _part(self, path: Path) -> Path:
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            handle, name = tempfile.mkstemp(prefix=f".{path.stem[:16]}.", suffix=".part", dir=path.parent)
        except OSError as e:
            raise _unwritable(self.root, e) from e
        os.close(handle)
        os.chmod(name, _READABLE)
        return Path(name)

    def _write(self, path: Path, text: str) -> None:
        part = self._part(path)
        try:
            with open(part, "w", encoding="utf-8") as f:
                f.write(text)
                f.flush()
                os.fsync(f.fileno())
            os.replace(part, path)
        except OSError as e:
            raise _unwritable(self.root, e) from e
        finally:
            part.unlink(missing_ok=True)


def _asked(request: Request) -> dict[str, object]:
    return {
        "source": request.source,
        "symbols": list(request.symbols),
        "start": request.start,
        "end": request.end,
        "timeframe": request.timeframe,
        "options": dict(sorted(request.options.items())),
        "repair": request.repair,
    }


def _key(request: Request) -> str:
    return hashlib.sha256(json.dumps(_asked(request), sort_keys=True).encode()).hexdigest()


def _covers(record: Mapping[str, object], request: Request) -> bool:
    """Whether the answer to that request holds the answer to this one."""
    asked = _asked(request)
    if any(record.get(name) != asked[name] for name in ("source", "timeframe", "options", "repair")):
        return False
    symbols = record.get("symbols")
    if not isinstance(symbols, Sequence) or not set(request.symbols) <= set(symbols):
        return False
    start, end = _moment(record.get("start")), _moment(record.get("end"))
    early = start is None or (request.start is not None and start <= request.start)
    late = end == request.end or (request.end is not None and (end is None or end >= request.end))
    return early and late


def _moment(value: object) -> int | None:
    return value if isinstance(value, int) else None


def _load(path: Path) -> Mapping[str, object] | None:
    """A record that cannot be read says nothing: what it was about is fetched again."""
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return value if isinstance(value, dict) else None


def _about(bars: Bars, size: int) -> dict[str, object]:
    return {
        "sha256": bars.sha256,
        "source": bars.source,
        "symbols": bars.symbols,
        "timeframe": bars.timeframe,
        "start": iso(bars.start),
        "end": iso(bars.end),
        "rows": bars.rows,
        "adjusted": bars.adjusted,
        "synthetic": bars.synthetic,
        "notes": bars.notes,
        "bytes": size,
    }


def _entry(about: Mapping[str, object]) -> Entry:
    values = {f.name: about[f.name] for f in fields(Entry)}
    lists = {name: tuple(str(v) for v in _sequence(values[name])) for name in ("symbols", "notes")}
    make: type = Entry
    entry: Entry = make(**{**values, **lists})
    return entry


def _sequence(value: object) -> Sequence[object]:
    return value if isinstance(value, list | tuple) else ()


def _damaged(path: Path) -> DataError:
    return DataError(f"{str(path)!r} is damaged: delete it and get the data again with `ringfence data get`")


def _unwritable(root: Path, e: OSError) -> DataError:
    return DataError(f"{str(root)!r} cannot be written ({e.strerror}): set RINGFENCE_HOME to a place that can")
