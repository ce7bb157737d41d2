"""Where strategies are tried: one data set in its parts, each in the file that the guest maps."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Lock

from ringfence.agents.brief import DataFacts
from ringfence.trade.arrow import write_bars
from ringfence.trade.bars import Bars
from ringfence.trade.times import iso
from ringfence.verbs.research.splits import Splits, split


@dataclass(slots=True, eq=False, kw_only=True)
class Grounds:
    """May be used from many threads: a part is written when it is first asked for, and then only mapped."""

    splits: Splits
    folder: Path
    _files: dict[str, Path] = field(default_factory=dict)
    _lock: Lock = field(default_factory=Lock)

    def file_of(self, bars: Bars) -> Path:
        with self._lock:
            path = self._files.get(bars.sha256)
            if path is None:
                path = self.folder / bars.sha256 / "bars.arrow"
                path.parent.mkdir()
                write_bars(bars, path)
                self._files[bars.sha256] = path
            return path

    def facts(self) -> DataFacts:
        """What an author may know. The sealed part is not among it, not even its dates."""
        seen = self.splits.validation or self.splits.train
        return DataFacts(
            symbols=seen.symbols,
            timeframe=seen.timeframe,
            first=iso(seen.start),
            last=iso(seen.end),
            bars=len(seen.timeline()),
        )


@contextmanager
def open_grounds(bars: Bars) -> Iterator[Grounds]:
    with TemporaryDirectory(prefix="ringfence-research-") as folder:
        yield Grounds(splits=split(bars), folder=Path(folder))
