"""Exchange calendars: which one the dates of a file tell, and which bars it says are missing."""

from __future__ import annotations

from collections.abc import Iterable

import exchange_calendars
import numpy as np
import pandas as pd
from exchange_calendars.errors import CalendarError

from ringfence.base.errors import DataError
from ringfence.trade.bars import Candles, Ints
from ringfence.trade.times import DAY, timeframe_ns

_ENOUGH_DATES = 60  # below this too few holidays lie between the dates to tell an exchange
_WEEK = np.array([3, 4, 5, 6, 0, 1, 2])  # of 1970-01-01, a Thursday, and the days after it; Monday is 0


def infer_calendar(stamps: Iterable[Ints], timeframe: str, where: str) -> tuple[str, str, str | None]:
    """Calendar, time zone and a note on how they were told: weekends, and for days the holidays of New York."""
    dates = np.unique(np.concatenate([column // DAY for column in stamps]))
    if timeframe_ns(timeframe) > DAY or np.isin(_WEEK[dates % 7], (5, 6)).any() or len(dates) < 5:
        return "24/7", "UTC", None
    if timeframe == "1d" and len(dates) >= _ENOUGH_DATES:
        sessions = _sessions("XNYS", int(dates[0]), int(dates[-1]))
        if sessions is not None and np.isin(dates, sessions).all():
            return "XNYS", "America/New_York", f"calendar XNYS: every date of {where} is a session of it"
    note = f"calendar 24/5: {where} has no weekend; name another with ?calendar=XNYS"
    return "24/5", "UTC", note


def check_calendar(name: str) -> str:
    if name not in exchange_calendars.get_calendar_names():
        raise DataError(f"calendar {name!r} is unknown: use XNYS, XLON, 24/5, 24/7 or another of exchange-calendars")
    return name


def find_gaps(candles: Candles, timeframe: str, calendar: str) -> Ints | None:
    """The stamps between first and last that the calendar says there should be; None where it cannot say."""
    first, last = int(candles.time[0]), int(candles.time[-1])
    step = timeframe_ns(timeframe)
    if step > DAY:
        return None
    if step == DAY:
        sessions = _sessions(calendar, first // DAY, last // DAY)
        return None if sessions is None else np.setdiff1d(sessions, candles.time // DAY) * DAY
    if calendar == "24/7":
        expected = np.arange(first, last + 1, step)
    else:
        try:
            opened = _open(calendar, first // DAY, last // DAY)
            index = opened.trading_index(
                _day(first // DAY), _day(last // DAY), pd.Timedelta(step), intervals=False, closed="left"
            )
        except (CalendarError, ValueError):
            return None
        expected = index.tz_localize(None).as_unit("ns").asi8
        expected = expected[(expected >= first) & (expected <= last)]
    return np.setdiff1d(expected, candles.time)


def _sessions(calendar: str, first_day: int, last_day: int) -> Ints | None:
    """The days since 1970 on which there is trading; None where the calendar does not reach that far."""
    try:
        opened = _open(calendar, first_day, last_day)
        sessions = opened.sessions_in_range(_day(first_day), _day(last_day))
    except (CalendarError, ValueError):
        return None
    days: Ints = sessions.as_unit("ns").asi8 // DAY
    return days


def _open(calendar: str, first_day: int, last_day: int) -> exchange_calendars.ExchangeCalendar:
    """A calendar answers only for days between its first and last session, so it reaches further on both sides."""
    return exchange_calendars.get_calendar(calendar, start=_day(first_day - 14), end=_day(last_day + 14))


def _day(number: int) -> pd.Timestamp:
    return pd.Timestamp(number * DAY)
