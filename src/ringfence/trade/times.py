"""Stamps and timeframes. Inside, a moment is an int of nanoseconds since 1970 UTC; outside, ISO 8601 with a Z."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import numpy as np
from numpy.typing import NDArray

from ringfence.base.errors import DataError

SECOND = 1_000_000_000
DAY = 86_400 * SECOND
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_UNITS = {"s": SECOND, "m": 60 * SECOND, "h": 3600 * SECOND, "d": DAY, "w": 7 * DAY, "mo": 30 * DAY}
_TIMEFRAME = re.compile(r"([1-9]\d{0,3})(mo|[smhdw])")


def iso(moment: int) -> str:
    """2004-08-19T00:00:00Z; a fraction of a second only where there is one."""
    whole, rest = divmod(moment, SECOND)
    text = (_EPOCH + timedelta(seconds=whole)).strftime("%Y-%m-%dT%H:%M:%S")
    return f"{text}.{rest:09d}".rstrip("0") + "Z" if rest else text + "Z"


def iso_all(moments: NDArray[np.int64]) -> list[str]:
    """The same for many, and for whole seconds a good deal faster."""
    if (moments % SECOND).any():
        return [iso(moment) for moment in moments.tolist()]
    return [f"{text}Z" for text in np.datetime_as_string((moments // SECOND).astype("datetime64[s]")).tolist()]


def parse_moment(text: str) -> int:
    """The moment that ISO text such as 2020-01-31 or 2020-01-31T09:30:00-05:00 names; UTC where it names no zone."""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise DataError(f"{text!r} is not a date: write for example 2020-01-31 or 2020-01-31T09:30") from None
    since = (moment if moment.tzinfo else moment.replace(tzinfo=UTC)) - _EPOCH
    return (since.days * 86_400 + since.seconds) * SECOND + since.microseconds * 1000


def timeframe_ns(timeframe: str) -> int:
    """How long one bar lasts; a month counts as 30 days."""
    match = _TIMEFRAME.fullmatch(timeframe)
    if match is None:
        raise DataError(f"timeframe {timeframe!r} is unknown: write for example 1m, 15m, 1h, 1d, 1w or 1mo")
    return int(match[1]) * _UNITS[match[2]]


def local_days(time: NDArray[np.int64], timezone: str) -> NDArray[np.int64]:
    """For each moment the number of its day since 1970 by the clock of `timezone`."""
    if timezone == "UTC":
        return time // DAY
    zone = ZoneInfo(timezone)
    hours, place = np.unique(time // (3600 * SECOND), return_inverse=True)  # no clock is changed within an hour
    offsets = [datetime.fromtimestamp(h * 3600, zone).utcoffset() or timedelta() for h in hours.tolist()]
    seconds = np.array([offset.days * 86_400 + offset.seconds for offset in offsets], dtype=np.int64)
    return (time + seconds[place] * SECOND) // DAY


def periods(time: NDArray[np.int64], timeframe: str, timezone: str) -> NDArray[np.int64]:
    """For each moment the number of the `timeframe` it falls into; weeks begin on Monday."""
    length = timeframe_ns(timeframe)
    count = int(timeframe.rstrip("smhdwo"))
    if length < DAY:
        return time // length
    days = local_days(time, timezone)
    if timeframe.endswith("mo"):
        return days.astype("datetime64[D]").astype("datetime64[M]").astype(np.int64) // count
    return (days + 3) // (7 * count) if timeframe.endswith("w") else days // count
