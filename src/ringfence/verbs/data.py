"""Fetch prices, list those that are kept, and say what they are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from ringfence.markets import WARMUP_BARS, load_bars
from ringfence.markets.cache import Cache, Entry
from ringfence.markets.calendars import find_gaps
from ringfence.markets.spec import names_a_source
from ringfence.trade.bars import COLUMNS, Bars, Candles
from ringfence.trade.run import Json, plain
from ringfence.trade.times import iso

DEFAULT_SOURCE = "yahoo"
_SHOWN_GAPS = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    time: str
    open: float
    high: float
    low: float
    close: float
    volume: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Instrument:
    symbol: str
    rows: int
    start: str
    end: str
    gaps: int | None  # bars that the calendar says are missing; None where it cannot say
    first_gaps: tuple[str, ...]
    first: tuple[Row, ...]
    last: tuple[Row, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Description:
    sha256: str
    source: str
    symbols: tuple[str, ...]
    rows: int
    start: str
    end: str
    timeframe: str
    calendar: str
    timezone: str
    adjusted: str
    synthetic: bool
    tradable_from: str | None
    notes: tuple[str, ...]
    path: str | None  # of the file that holds them, where they are kept
    instruments: tuple[Instrument, ...]

    def to_json(self) -> Json:
        return plain(asdict(self))


def get_data(
    words: Sequence[str],
    *,
    source: str | None = None,
    cache: Cache,
    start: str | None = None,
    end: str | None = None,
    timeframe: str | None = None,
    warmup_bars: int = WARMUP_BARS,
    repair: bool = False,
    environ: Mapping[str, str],
    now_ns: int | None = None,
) -> Description:
    """Load what the words name, keep it, and describe it. A word is a symbol of `source`, a path or a whole spec."""
    bars = load_bars(
        to_specs(words, source),
        start=start,
        end=end,
        timeframe=timeframe,
        warmup_bars=warmup_bars,
        repair=repair,
        cache=cache,
        environ=environ,
        now_ns=now_ns,
    )
    return describe(bars, rows=0, path=cache.materialise(bars))


def list_data(cache: Cache) -> list[Entry]:
    return cache.list()


def show_data(
    text: str, *, cache: Cache, rows: int = 5, environ: Mapping[str, str], now_ns: int | None = None
) -> Description:
    """Describe what is kept under the hash that `text` begins, or what the spec `text` loads."""
    sha256 = cache.resolve(text)
    if sha256 is not None:
        return describe(cache.read(sha256), rows=rows, path=cache.root / f"{sha256}.arrow")
    return describe(load_bars([text], cache=cache, environ=environ, now_ns=now_ns), rows=rows)


def to_specs(words: Sequence[str], source: str | None) -> list[str]:
    """Symbols of one source become one spec; a path or a model is a spec of its own, and so is a word with a source."""
    specs: list[str] = []
    symbols: list[str] = []
    for word in words:
        if names_a_source(word) and source is None:
            specs.append(word)
        elif source in ("csv", "parquet", "synthetic"):
            specs.append(f"{source}:{word}")
        else:
            symbols.append(word)
    return [*specs, f"{source or DEFAULT_SOURCE}:{','.join(symbols)}"] if symbols else specs


def describe(bars: Bars, *, rows: int = 5, path: Path | None = None) -> Description:
    return Description(
        sha256=bars.sha256,
        source=bars.source,
        symbols=bars.symbols,
        rows=bars.rows,
        start=iso(bars.start),
        end=iso(bars.end),
        timeframe=bars.timeframe,
        calendar=bars.calendar,
        timezone=bars.timezone,
        adjusted=bars.adjusted,
        synthetic=bars.synthetic,
        tradable_from=None if bars.tradable_from is None else iso(bars.tradable_from),
        notes=bars.notes,
        path=None if path is None else str(path),
        instruments=tuple(_describe(symbol, candles, bars, rows) for symbol, candles in bars),
    )


def _describe(symbol: str, candles: Candles, bars: Bars, rows: int) -> Instrument:
    gaps = find_gaps(candles, bars.timeframe, bars.calendar)
    shown = min(rows, len(candles))
    return Instrument(
        symbol=symbol,
        rows=len(candles),
        start=iso(int(candles.time[0])),
        end=iso(int(candles.time[-1])),
        gaps=None if gaps is None else len(gaps),
        first_gaps=() if gaps is None else tuple(iso(int(moment)) for moment in gaps[:_SHOWN_GAPS]),
        first=_rows(candles.slice(0, shown)),
        last=_rows(candles.slice(max(shown, len(candles) - shown), len(candles))),
    )


def _rows(candles: Candles) -> tuple[Row, ...]:
    columns = [getattr(candles, name).tolist() for name in ("time", *COLUMNS)]
    return tuple(
        Row(time=iso(time), open=first, high=high, low=low, close=last, volume=volume)
        for time, first, high, low, last, volume in zip(*columns, strict=True)
    )
