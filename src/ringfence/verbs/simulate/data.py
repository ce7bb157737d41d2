"""Which prices a question is about, and what is told of them in the answer."""

from __future__ import annotations

from dataclasses import asdict, dataclass

from ringfence.base.errors import DataError
from ringfence.sandbox.job import Json
from ringfence.trade.annual import EXCHANGE, SESSIONS, bars_per_year
from ringfence.trade.bars import Bars
from ringfence.trade.times import iso


@dataclass(frozen=True, slots=True, kw_only=True)
class DataRequest:
    """As `load_bars` takes them."""

    specs: tuple[str, ...]
    symbols: tuple[str, ...] = ()
    start: str | None = None
    end: str | None = None
    timeframe: str | None = None
    repair: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """Where the numbers came from. `spec` is how to ask for the prices again; without prices it says so in words."""

    spec: str
    asked_on: str  # the day of the computation
    symbols: tuple[str, ...] = ()
    timeframe: str | None = None
    first: str | None = None
    last: str | None = None
    bars: int = 0
    sha256: str | None = None
    synthetic: bool = False
    notes: tuple[str, ...] = ()

    def sentence(self) -> str:
        if self.first is None or self.last is None:
            return f"{self.spec}; computed on {self.asked_on}"
        made_up = "SYNTHETIC, no market printed these prices: " if self.synthetic else ""
        return (
            f"{made_up}{self.spec}, {self.timeframe} bars from {self.first} to {self.last}; computed on {self.asked_on}"
        )

    def to_json(self) -> dict[str, Json]:
        return asdict(self)


def source_of(bars: Bars, today: str) -> Source:
    return Source(
        spec=bars.source,
        asked_on=today,
        symbols=bars.symbols,
        timeframe=bars.timeframe,
        first=_day(bars.start),
        last=_day(bars.end),
        bars=bars.rows,
        sha256=bars.sha256,
        synthetic=bars.synthetic,
        notes=bars.notes,
    )


def no_prices(what: str, today: str) -> Source:
    return Source(spec=what, asked_on=today)


def pick(bars: Bars, symbol: str | None) -> str:
    """The one instrument that is meant."""
    if symbol is None:
        if len(bars.symbols) == 1:
            return bars.symbols[0]
        raise DataError(f"{bars.source} holds {', '.join(bars.symbols)}: name the one you mean with --symbols")
    if symbol not in bars.symbols:
        raise DataError(f"{symbol} is not in {bars.source}: it holds {', '.join(bars.symbols)}")
    return symbol


def per_year(bars: Bars, symbol: str) -> float:
    return bars_per_year(bars.candles[symbol].time, timeframe=bars.timeframe, calendar=bars.calendar)


def sessions_per_year(bars: Bars) -> int:
    return SESSIONS.get(bars.calendar, EXCHANGE)


def _day(moment: int) -> str:
    return iso(moment).removesuffix("T00:00:00Z")
