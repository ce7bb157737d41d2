"""Where a caller's prices come from: the host loads them, and reads no file of its own but those it was told to show.

Prices of a caller's own making are bounded before they are made. What a call needs as a file is gone when it ends: a
caller names as many different ones as it likes, and the disk is the host's. Only answers of the network are kept.
Imports the sources of prices, so it is imported when needed.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from ringfence.base.errors import RefusedError
from ringfence.markets import Request, load_bars
from ringfence.markets.cache import Cache
from ringfence.markets.spec import Spec, parse_spec
from ringfence.markets.synthetic import count_rows
from ringfence.trade.bars import Bars

if TYPE_CHECKING:
    from ringfence.mcp.desk import Desk

_ON_THE_HOST = ("csv", "parquet")


class _CallCache(Cache):
    """The server's cache for answers of the network, and a folder of the call's own for everything else."""

    def __init__(self, root: Path, folder: Path) -> None:
        super().__init__(root)
        self._folder = folder

    def put(self, request: Request, bars: Bars, *, fetched_at: int | None = None) -> Path:
        return Cache(self.root).put(request, bars, fetched_at=fetched_at)

    def materialise(self, bars: Bars) -> Path:
        return Cache(self._folder).materialise(bars)


@contextmanager
def open_cache(desk: Desk) -> Iterator[Cache]:
    with desk.shelf.scratch() as folder:
        yield _CallCache(desk.home / "bars", folder)


def load(
    desk: Desk,
    cache: Cache,
    specs: Sequence[str],
    *,
    symbols: Sequence[str],
    start: str | None,
    end: str | None,
    timeframe: str | None,
    repair: bool = False,
) -> Bars:
    return load_bars(
        allowed(desk, specs, symbols),
        symbols=symbols,
        start=start,
        end=end,
        timeframe=timeframe,
        repair=repair,
        cache=cache,
        environ=desk.environ,
        now_ns=time.time_ns(),
    )


def allowed(desk: Desk, specs: Sequence[str], symbols: Sequence[str] = ()) -> tuple[str, ...]:
    """The same with whole paths; RefusedError where one names a file that is not for callers, or asks for too much."""
    read = [parse_spec(text) for text in specs]
    made = [spec for spec in read if spec.source == "synthetic"]
    rows, most = sum(count_rows(spec.options, symbols) for spec in made), desk.settings.mcp_synthetic_rows
    if rows > most:
        raise RefusedError(
            f"{rows:,} rows of synthetic prices are over this server's maximum of {most:,} for a call: ask for fewer "
            "rows or symbols"
        )
    return tuple(_checked(text, spec, desk.settings.mcp_data_dir) for text, spec in zip(specs, read))


def _checked(text: str, spec: Spec, folder: Path | None) -> str:
    """A caller names no file of the host but those in the folder that the server was given for it."""
    if spec.source not in _ON_THE_HOST:
        return text
    if folder is None:
        raise RefusedError(
            f"{text!r} is a file of the host, and this server shows none: name another source, "
            "or set RINGFENCE_MCP_DATA_DIR to the folder that callers may read"
        )
    place = (folder / spec.options["path"]).resolve()
    if not place.is_relative_to(folder.resolve()):
        raise RefusedError(f"{text!r} is outside of the server's data folder: name a file inside it")
    return replace(spec, options={**spec.options, "path": str(place)}).text
