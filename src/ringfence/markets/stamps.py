"""Time stamps as files have them: epochs in any unit, ISO text, and the common ways to write a date."""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ringfence.base.errors import DataError
from ringfence.trade.bars import Ints
from ringfence.trade.times import SECOND

_ISO = re.compile(r"\d{4}-\d{2}-\d{2}([T ]\d{2}(:?\d{2}){0,2}([.,]\d+)?)?\s*(Z|UTC|[+-]\d{2}:?\d{2}|[+-]\d{2})?")
_OFFSET = r"(\d)\s*(?:Z|UTC|[+-]\d{2}:?\d{2})$"
_SHORT_OFFSET = r"(:\d{2}(?:\.\d+)?)[+-]\d{2}$"
_DATES = (  # a date, and the formats it may have; two formats mean that the order of day and month is in question
    (r"\d{4}-\d{1,2}-\d{1,2}", ("%Y-%m-%d",)),
    (r"\d{4}/\d{1,2}/\d{1,2}", ("%Y/%m/%d",)),
    (r"\d{4}\.\d{1,2}\.\d{1,2}", ("%Y.%m.%d",)),
    (r"\d{8}", ("%Y%m%d",)),
    (r"\d{1,2}\.\d{1,2}\.\d{4}", ("%d.%m.%Y",)),
    (r"\d{1,2}\.\d{1,2}\.\d{2}", ("%d.%m.%y",)),
    (r"\d{1,2}/\d{1,2}/\d{4}", ("%m/%d/%Y", "%d/%m/%Y")),
    (r"\d{1,2}-\d{1,2}-\d{4}", ("%m-%d-%Y", "%d-%m-%Y")),
    (r"\d{1,2}/\d{1,2}/\d{2}", ("%m/%d/%y", "%d/%m/%y")),
    (r"\d{1,2}-[A-Za-z]{3}-\d{4}", ("%d-%b-%Y",)),
    (r"\d{1,2}-[A-Za-z]{3}-\d{2}", ("%d-%b-%y",)),
    (r"\d{1,2} [A-Za-z]{3} \d{4}", ("%d %b %Y",)),
    (r"[A-Za-z]{3} \d{1,2}, \d{4}", ("%b %d, %Y",)),
    (r"[A-Za-z]{4,} \d{1,2}, \d{4}", ("%B %d, %Y",)),
)
_TIMES = (
    (r"", ""),
    (r" \d{1,2}:\d{2}", " %H:%M"),
    (r" \d{1,2}:\d{2}:\d{2}", " %H:%M:%S"),
    (r" \d{1,2}:\d{2}:\d{2}\.\d+", " %H:%M:%S.%f"),
    (r" \d{1,2}:\d{2} ?[AaPp][Mm]", " %I:%M %p"),
    (r" \d{1,2}:\d{2}:\d{2} ?[AaPp][Mm]", " %I:%M:%S %p"),
    (r" \d{1,2}-[AaPp][Mm]", " %I-%p"),
    (r" \d{6}", " %H%M%S"),
)
_EPOCHS = ((1e11, SECOND), (1e14, 1_000_000), (1e17, 1000), (float("inf"), 1))  # the first bound above wins
_LEAST_EPOCH = 1e8  # 1973 in seconds: what is below counts rows and not seconds
_FIRST_DATE, _LAST_DATE = 1800_01_01, 2200_12_31
STRING = pd.StringDtype("pyarrow")  # many times as fast as the default one
_NAT = np.iinfo(np.int64).min


@dataclass(frozen=True, slots=True, eq=False)
class Stamps:
    """Each row's moment; as the clock on the wall showed it, counted as if UTC; and whether it could not be read."""

    time: Ints
    wall: Ints
    bad: NDArray[np.bool_]


def parse_stamps(column: pd.Series, *, timezone: str, dates: str | None, where: str) -> Stamps:
    """`timezone` is that of stamps which name none; `dates` is mdy or dmy where a file does not tell."""
    if isinstance(column.dtype, pd.DatetimeTZDtype):
        utc = nanoseconds(column.dt.tz_convert("UTC").dt.tz_localize(None))
        return Stamps(utc, nanoseconds(column.dt.tz_localize(None)), utc == _NAT)
    if pd.api.types.is_datetime64_any_dtype(column):
        return _localised(column, timezone)
    if pd.api.types.is_numeric_dtype(column) and not pd.api.types.is_bool_dtype(column):
        return _parse_numbers(column, timezone, where)
    text = column.astype(STRING).str.strip()
    known = text.dropna()
    known = known[known != ""]
    first = str(known.iloc[0]) if len(known) else ""
    if re.fullmatch(r"\d{9,19}(\.\d+)?", first):
        return _parse_numbers(pd.to_numeric(text, errors="coerce"), timezone, where)
    if _ISO.fullmatch(first):
        return _parse_iso(text, first, timezone)
    return _localised(_parse_format(text, first, dates, where), timezone)


def join_date_and_time(date: pd.Series, time: pd.Series) -> pd.Series:
    """A date column and a time column as one; 93000 is half past nine with its zero lost."""
    clock = time.astype(STRING).str.strip()
    if pd.api.types.is_integer_dtype(time):
        clock = clock.str.zfill(6)
    return date.astype(STRING).str.strip() + " " + clock


def _parse_numbers(column: pd.Series, timezone: str, where: str) -> Stamps:
    values = column.to_numpy(dtype=np.float64, na_value=np.nan)
    bad = ~np.isfinite(values)
    typical = float(np.median(np.abs(values[~bad]))) if not bad.all() else 0.0
    if _FIRST_DATE <= typical <= _LAST_DATE:
        whole = column.astype("Float64").round().astype("Int64").astype(STRING)
        return _localised(pd.to_datetime(whole, format="%Y%m%d", errors="coerce"), timezone)
    if typical < _LEAST_EPOCH:
        raise DataError(f"the time column of {where} holds numbers that are no dates: write ISO dates or an epoch")
    unit = next(unit for bound, unit in _EPOCHS if typical < bound)
    if pd.api.types.is_integer_dtype(column) and not bad.any():
        time = column.to_numpy(dtype=np.int64) * unit
    else:
        time = np.full(len(values), _NAT)
        time[~bad] = np.round(values[~bad] * unit).astype(np.int64)
    return Stamps(time, time, bad)


def _parse_iso(text: pd.Series, first: str, timezone: str) -> Stamps:
    zoned = re.search(_OFFSET, first) or re.search(_SHORT_OFFSET, first)
    if not zoned:
        return _localised(pd.to_datetime(text, format="ISO8601", errors="coerce"), timezone)
    text = text.str.replace(r"\s*UTC$", "Z", regex=True)
    utc = pd.to_datetime(text, format="ISO8601", errors="coerce", utc=True).dt.tz_localize(None)
    for offset in (_OFFSET, _SHORT_OFFSET):
        text = text.str.replace(offset, r"\1", regex=True)
    wall = pd.to_datetime(text, format="ISO8601", errors="coerce")
    time, shown = nanoseconds(utc), nanoseconds(wall)
    return Stamps(time, shown, (time == _NAT) | (shown == _NAT))


def _parse_format(text: pd.Series, first: str, dates: str | None, where: str) -> pd.Series:
    found = [
        [date_format + time_format for date_format in formats]
        for pattern, formats in _DATES
        for time_pattern, time_format in _TIMES
        if re.fullmatch(pattern + time_pattern, first)
    ]
    if not found:
        raise DataError(f"{first!r} in {where} is no time stamp that is known here: write ISO dates such as 2020-01-31")
    if len(found[0]) == 1:
        return pd.to_datetime(text, format=found[0][0], errors="coerce")
    if dates in ("mdy", "dmy"):
        return pd.to_datetime(text, format=found[0][("mdy", "dmy").index(dates)], errors="coerce")
    month_first, day_first = (pd.to_datetime(text, format=one, errors="coerce") for one in found[0])
    unread = int(month_first.isna().sum()), int(day_first.isna().sum())
    if unread[0] == unread[1]:
        raise DataError(
            f"{first!r} in {where} may begin with the day or with the month, and no row tells: "
            "add ?dates=mdy or ?dates=dmy to the path"
        )
    return month_first if unread[0] < unread[1] else day_first


def _localised(column: pd.Series, timezone: str) -> Stamps:
    """Naive stamps are on the clock of `timezone`. An hour that the clock showed twice cannot be told, and is bad."""
    wall = nanoseconds(column)
    if timezone == "UTC":
        return Stamps(wall, wall, wall == _NAT)
    zoned = column.dt.tz_localize(timezone, ambiguous="NaT", nonexistent="NaT").dt.tz_convert("UTC")
    time = nanoseconds(zoned.dt.tz_localize(None))
    return Stamps(time, wall, time == _NAT)


def nanoseconds(naive: pd.Series | pd.DatetimeIndex) -> Ints:
    """Stamps without a time zone, counted from 1970 as if they were UTC."""
    return naive.to_numpy().astype("datetime64[ns]").astype(np.int64)
