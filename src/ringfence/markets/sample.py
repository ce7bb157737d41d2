"""Real prices that ship inside packages: for trying things out where there is no network.

The files are found and read without importing the packages that hold them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path
from types import MappingProxyType

import numpy as np

from ringfence.base.errors import DataError
from ringfence.markets import Request
from ringfence.markets.csv import read
from ringfence.markets.files import check_options
from ringfence.markets.shape import merge, within
from ringfence.trade.bars import Bars, Candles

_NEW_YORK = "America/New_York"


@dataclass(frozen=True, slots=True, kw_only=True)
class Shelf:
    """One file of a package; `adjusted` says what its prices are when they are read with `adjust`."""

    package: str
    file: str
    adjust: bool = False
    calendar: str = "XNYS"
    timezone: str = _NEW_YORK
    adjusted: str
    note: str
    ends_of_months: bool = False  # the file stamps a month with its last day


_UNSPLIT = ("GOOG", "FB")

_STOCKS = Shelf(
    package="bokeh_sampledata",
    file="_data/stocks.csv.gz",
    adjust=True,
    adjusted="splits and dividends",
    note="prices before a split or a dividend are scaled by the file's adjusted close, volume is as reported",
)
_INDEX = Shelf(package="arch", file="", adjusted="none", note="an index: it has no splits, and pays no dividends")
_TESTED = Shelf(package="backtesting", file="", timezone="UTC", adjusted="none", note="")

SHELVES: Mapping[str, Shelf] = MappingProxyType(
    {
        "AAPL": _STOCKS,
        "FB": _STOCKS,
        "GOOG": _STOCKS,
        "IBM": _STOCKS,
        "MSFT": _STOCKS,
        "SP500": replace(_INDEX, file="data/sp500/sp500.csv.gz"),
        "NASDAQ": replace(_INDEX, file="data/nasdaq/nasdaq.csv.gz"),
        "EURUSD": replace(
            _TESTED, file="test/EURUSD.csv", calendar="24/5", note="a currency pair, its stamps taken as UTC"
        ),
        "BTCUSD": replace(
            _TESTED,
            file="test/BTCUSD.csv",
            calendar="24/7",
            note="the file stamps a month with its last day; here it is the first, when the bar begins",
            ends_of_months=True,
        ),
    }
)


def create(options: Mapping[str, str]) -> SampleSource:
    check_options("sample", options, ("adjust",))
    return SampleSource(options)


class SampleSource:
    def __init__(self, options: Mapping[str, str]) -> None:
        self._options = options

    def load(self, request: Request) -> Bars:
        names = request.symbols or self.symbols()
        parts = [self._load(name, request) for name in names]
        if len({part.timeframe for part in parts}) > 1 and not request.symbols:
            raise DataError("the samples have different timeframes: name those you want, such as sample:AAPL,MSFT")
        bars = merge(parts)
        return replace(bars, source=f"sample:{','.join(names)}", notes=tuple(dict.fromkeys(bars.notes)))

    def symbols(self) -> Sequence[str]:
        return tuple(name for name, shelf in SHELVES.items() if _place(shelf) is not None)

    def _load(self, name: str, request: Request) -> Bars:
        shelf = SHELVES.get(name)
        if shelf is None:
            raise DataError(f"sample has no {name}: use one of {', '.join(self.symbols())}")
        path = _place(shelf)
        if path is None:
            raise DataError(f"sample:{name} is a file of the package {shelf.package}, which is missing: install it")
        adjust = "yes" if shelf.adjust and self._options.get("adjust", "yes") != "no" else "no"
        # A file of an installed package is no stranger's, so it is read here.
        bars = read(
            {"path": str(path), "adjust": adjust, "calendar": shelf.calendar},
            # The month's last day is only moved after reading, so that the bounds are applied then.
            replace(request, symbols=(name,), options={}, start=None, end=None),
        )
        candles = bars.candles[name]
        if shelf.ends_of_months:
            candles = _at_first_of_month(candles)
        note = shelf.note if adjust == "yes" or not shelf.adjust else "prices are as printed on the day, splits are in"
        if name in _UNSPLIT:
            note = "prices are as printed: there was no split and no dividend in this time"
        return replace(
            bars,
            candles={name: _bounded(name, candles, request)},
            timezone=shelf.timezone,
            adjusted=shelf.adjusted if adjust == "yes" or not shelf.adjust else "none",
            notes=(note, *(n for n in bars.notes if n.startswith(f"{name}:"))),
        )


def _place(shelf: Shelf) -> Path | None:
    found = find_spec(shelf.package)
    if found is None or not found.submodule_search_locations:
        return None
    path = Path(next(iter(found.submodule_search_locations)), shelf.file)
    return path if path.is_file() else None


def _bounded(name: str, candles: Candles, request: Request) -> Candles:
    kept = within(candles, request.start, request.end)
    if not len(kept):
        raise DataError(f"sample:{name} has no bars between those dates: see `ringfence data show sample:{name}`")
    return kept


def _at_first_of_month(candles: Candles) -> Candles:
    months = candles.time.astype("datetime64[ns]").astype("datetime64[M]")
    first = months.astype("datetime64[ns]").astype(np.int64)
    return Candles(first, candles.open, candles.high, candles.low, candles.close, candles.volume)
