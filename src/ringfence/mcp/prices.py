"""Where a caller's prices come from: the host loads them, and reads no file of its own but those it was told to show.

Imports the sources of prices, so it is imported when needed.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from ringfence.base.errors import RefusedError
from ringfence.markets import load_bars
from ringfence.markets.cache import Cache
from ringfence.markets.spec import parse_spec
from ringfence.trade.bars import Bars

if TYPE_CHECKING:
    from ringfence.mcp.desk import Desk

_ON_THE_HOST = ("csv", "parquet")


def open_cache(desk: Desk) -> Cache:
    return Cache(desk.home / "bars")


def load(
    desk: Desk,
    specs: Sequence[str],
    *,
    symbols: Sequence[str],
    start: str | None,
    end: str | None,
    timeframe: str | None,
    repair: bool = False,
) -> Bars:
    return load_bars(
        allowed(desk, specs),
        symbols=symbols,
        start=start,
        end=end,
        timeframe=timeframe,
        repair=repair,
        cache=open_cache(desk),
        environ=desk.environ,
        now_ns=time.time_ns(),
    )


def allowed(desk: Desk, specs: Sequence[str]) -> tuple[str, ...]:
    """The same with whole paths; RefusedError where one names a file that is not for callers."""
    return tuple(_checked(spec, desk.settings.mcp_data_dir) for spec in specs)


def _checked(text: str, folder: Path | None) -> str:
    """A caller names no file of the host but those in the folder that the server was given for it."""
    spec = parse_spec(text)
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
