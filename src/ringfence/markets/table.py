"""A table of unknown making to Bars: whose columns are which, what its stamps mean, and whether its rows can be."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from ringfence.base.errors import DataError
from ringfence.markets import Request
from ringfence.markets.calendars import check_calendar, infer_calendar
from ringfence.markets.repair import Place, Rows, check, mend
from ringfence.markets.shape import infer_timeframe, to_dates, within
from ringfence.markets.stamps import STRING, Stamps, join_date_and_time, parse_stamps
from ringfence.trade.bars import PRICES, Bars, Candles, Floats
from ringfence.trade.times import DAY, timeframe_ns

OPTIONS = ("timezone", "calendar", "dates", "adjust", "symbol")  # that every table may be read with

# The spellings of each column without case, spaces and punctuation; of several the first in this order is taken.
_TIME = (
    *("datetime", "timestamp", "opentime", "date", "time", "gmttime", "localtime", "unix", "unixtimestamp"),
    *("timeutc", "dateutc", "datetimeutc", "index", "level0", ""),
)
_NAMES: Mapping[str, tuple[str, ...]] = {
    "open": ("open", "o", "openprice"),
    "high": ("high", "h", "highprice"),
    "low": ("low", "l", "lowprice"),
    "close": ("close", "c", "closeprice", "last", "closelast"),
    "volume": ("volume", "vol", "v", "tickvolume", "tickvol", "basevolume"),
    "adjusted": ("adjclose", "adjustedclose", "closeadj", "adjclosing"),
    "symbol": ("symbol", "ticker", "instrument", "pair"),
}
_SAME = 1e-6  # adjustment factors that differ by less are the same factor, printed with few digits


@dataclass(frozen=True, slots=True)
class Layout:
    """Which column is which, by position; None for one that is not there."""

    time: int
    clock: int | None  # the time of day, where it has a column of its own
    prices: tuple[int, int, int, int]
    volume: int | None
    adjusted: int | None
    symbol: int | None


def find_layout(names: Sequence[str], where: str) -> Layout:
    plain = [_plain(name) for name in names]
    found = {role: _find(role, spellings, plain, names, where) for role, spellings in _NAMES.items()}
    time = _find_time(plain)
    missing = [role for role in PRICES if found[role] is None]
    if time is None:
        missing.insert(0, "a date or time")
    if missing or time is None:
        there = ", ".join(repr(name.strip()) for name in names if name.strip()) or "none"
        raise DataError(f"{where} lacks the columns {', '.join(missing)}; it has {there}: rename or add them")
    first, second, third, fourth = (found[role] for role in PRICES)
    assert first is not None and second is not None and third is not None and fourth is not None
    clock = plain.index("time") if plain[time] == "date" and "time" in plain else None
    return Layout(time, clock, (first, second, third, fourth), found["volume"], found["adjusted"], found["symbol"])


def _plain(name: str) -> str:
    text = re.sub(r"[^0-9a-z]", "", name.lower())
    return "" if text.startswith("unnamed") else text


def _find(role: str, spellings: Sequence[str], plain: Sequence[str], names: Sequence[str], where: str) -> int | None:
    hits = [at for spelling in spellings for at, name in enumerate(plain) if name == spelling]
    if len(hits) > 1 and plain[hits[0]] == plain[hits[1]]:
        twice = " and ".join(repr(names[at].strip()) for at in hits[:2])
        raise DataError(f"{where} has two columns for {role}, {twice}: leave one of them out")
    if not hits and role == "volume":
        hits = [at for at, name in enumerate(plain) if name.startswith("volume")]
    return hits[0] if hits else None


def _find_time(plain: Sequence[str]) -> int | None:
    """The nameless first column is an index that was written without its name; a nameless later one is not."""
    hits = [at for spelling in _TIME for at, name in enumerate(plain) if name == spelling and (name or at == 0)]
    return hits[0] if hits else None


def to_bars(
    frame: pd.DataFrame, place: Place, request: Request, *, symbol: str, source: str, notes: Sequence[str] = ()
) -> Bars:
    """The table's columns must be named as the file names them; `symbol` is for a table that names none."""
    if not len(frame):
        raise DataError(f"{place.name} has a header and no rows: give a file with prices")
    names = [str(name) for name in frame.columns]
    layout = find_layout(names, place.name)
    frame = frame.set_axis(range(len(names)), axis=1)
    options, told = request.options, list(notes)
    stamps = _stamps(frame, layout, options, place.name)
    groups = _groups(frame, layout, request, symbol, place.name)
    timeframe = _timeframe(stamps, groups, request, place.name)
    columns = [_floats(frame[at]) for at in layout.prices]
    if layout.volume is None:
        told.append(f"{place.name} has no volume: it is 0")
    volume = np.zeros(len(frame)) if layout.volume is None else _floats(frame[layout.volume])
    closing = None if layout.adjusted is None else _floats(frame[layout.adjusted])
    adjust = _wants_adjusting(options, closing is not None, place.name)
    time = np.where(stamps.bad, np.iinfo(np.int64).min, stamps.time)
    if timeframe_ns(timeframe) >= DAY:
        time = np.where(stamps.bad, time, to_dates(stamps.wall))
    candles = {}
    for name, at in groups.items():
        rows = Rows.of(time[at], [*(column[at] for column in columns), volume[at]], at)
        if adjust and closing is not None:
            rows = _adjusted(rows, closing[at])
        candles[name], mended = mend(name, rows, place) if request.repair else (check(name, rows, place), [])
        told += mended
    if closing is not None and not adjust:
        told.append("prices are as in the file, its adjusted close was not used: add ?adjust=yes to use it")
    calendar, timezone, note = _calendar(candles, timeframe, options, place.name)
    return Bars(
        candles={name: within(c, request.start, request.end) for name, c in candles.items()},
        timeframe=timeframe,
        source=source,
        calendar=calendar,
        timezone=timezone,
        adjusted="splits and dividends" if adjust else "unknown",
        notes=(*told, *([note] if note else [])),
    )


def _stamps(frame: pd.DataFrame, layout: Layout, options: Mapping[str, str], where: str) -> Stamps:
    column = frame[layout.time]
    if layout.clock is not None:
        column = join_date_and_time(column, frame[layout.clock])
    timezone, dates = options.get("timezone", "UTC"), options.get("dates")
    if dates not in (None, "mdy", "dmy"):
        raise DataError(f"dates={dates} is unknown: use mdy where the month comes first, or dmy")
    try:
        return parse_stamps(column, timezone=timezone, dates=dates, where=where)
    except (KeyError, LookupError):  # what zoneinfo and pytz raise for a zone they do not have
        raise DataError(f"time zone {timezone!r} is unknown: use a name such as America/New_York") from None


def _groups(frame: pd.DataFrame, layout: Layout, request: Request, symbol: str, where: str) -> dict[str, np.ndarray]:
    """The rows of each instrument that was asked for, in the order of the file."""
    if layout.symbol is None:
        if len(request.symbols) > 1:
            raise DataError(f"{where} has no symbol column, so it cannot hold {', '.join(request.symbols)}: name one")
        return {(request.symbols or (symbol,))[0]: np.arange(len(frame))}
    codes, found = pd.factorize(frame[layout.symbol].astype(STRING).str.strip().fillna(""))
    there = [str(name) for name in found]
    wanted = request.symbols or tuple(name for name in there if name)
    missing = [name for name in wanted if name not in there]
    if missing or not wanted:
        raise DataError(f"{where} has no rows of {missing[0] if missing else 'any symbol'}: it has {', '.join(there)}")
    return {name: np.flatnonzero(codes == there.index(name)) for name in wanted}


def _timeframe(stamps: Stamps, groups: Mapping[str, np.ndarray], request: Request, where: str) -> str:
    """What the rows tell; what was asked for is believed only where they tell nothing."""
    try:
        return infer_timeframe([stamps.wall[at][~stamps.bad[at]] for at in groups.values()], where)
    except DataError:
        if request.timeframe is None:
            raise
        return request.timeframe


def _floats(column: pd.Series) -> Floats:
    if pd.api.types.is_numeric_dtype(column):
        return column.to_numpy(dtype=np.float64, na_value=np.nan)
    text = column.astype(STRING).str.strip()
    grouped = text.str.fullmatch(r"[+-]?\d{1,3}(,\d{3})+(\.\d*)?").fillna(False)
    text = text.where(~grouped, text.str.replace(",", ""))
    return pd.to_numeric(text, errors="coerce").to_numpy(dtype=np.float64, na_value=np.nan)


def _wants_adjusting(options: Mapping[str, str], possible: bool, where: str) -> bool:
    choice = options.get("adjust", "no")
    if choice not in ("yes", "no"):
        raise DataError(f"adjust={choice} is unknown: use yes or no")
    if choice == "yes" and not possible:
        raise DataError(f"{where} has no adjusted close to adjust by: leave adjust=yes out")
    return choice == "yes"


def _adjusted(rows: Rows, closing: Floats) -> Rows:
    """Prices scaled by how the adjusted close differs from the close, so that the last ones stay as printed."""
    with np.errstate(divide="ignore", invalid="ignore"):
        factor = closing / rows.close
    factor = factor / factor[np.argmax(rows.time)]
    factor = np.where(np.abs(factor - 1) < _SAME, 1.0, factor)
    return replace(rows, **{name: getattr(rows, name) * factor for name in PRICES})


def _calendar(
    candles: Mapping[str, Candles], timeframe: str, options: Mapping[str, str], where: str
) -> tuple[str, str, str | None]:
    calendar, timezone, note = infer_calendar([c.time for c in candles.values()], timeframe, where)
    if "calendar" in options:
        calendar, note = check_calendar(options["calendar"]), None
    return calendar, options.get("timezone", timezone), note
