"""How many bars make a year. Every annualised number rests on it; docs/metrics.md tells the reasons.

The timeframe and the calendar give a round number that everyone uses (252 days, 35,040 quarters of an hour). The
stamps are then asked whether they agree: data that says `24/7` and never trades at weekends is not believed.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

import numpy as np

from ringfence.trade.bars import Ints
from ringfence.trade.times import DAY, timeframe_ns

YEAR_DAYS = 365.25  # of elapsed time; a 24/7 market's year of bars is 365 days by convention
EXCHANGE = 252  # sessions, for a calendar we have no number for

# Sessions a year from 2010 to 2024, rounded; tests compare them with exchange-calendars, which is slow to import.
SESSIONS: Mapping[str, int] = MappingProxyType(
    {
        "24/7": 365,
        "24/5": 261,
        **dict.fromkeys(("XNYS", "XNAS", "NYSE", "NASDAQ", "ARCX", "BATS"), 252),
        **dict.fromkeys(("CMES", "CME", "CBOT", "COMEX", "NYMEX", "IEPA", "ICEUS", "us_futures"), 258),
        **dict.fromkeys(("XPAR", "XAMS", "XBRU", "XMAD"), 256),
        **dict.fromkeys(("XETR", "XFRA", "XMIL"), 254),
        **dict.fromkeys(("XLON", "XASX"), 253),
        **dict.fromkeys(("XTSE", "XSWX", "XSES"), 251),
        **dict.fromkeys(("XTKS", "XTAI"), 245),
        **dict.fromkeys(("XHKG", "XKRX"), 246),
        "XBOM": 247,
        "BVMF": 248,
        "XJSE": 250,
        "XSHG": 243,
    }
)

_ROUND_THE_CLOCK = frozenset({"24/7", "24/5"})
_LEAST_STEPS = 10  # fewer stamps, or a shorter span, prove nothing against the calendar: one holiday weighs too much
_LEAST_SPAN = 14 * DAY
_NAMED_TOLERANCE = 0.15  # a short stretch with holidays stays inside; weekends that are missing (31 %) do not
_GUESSED_TOLERANCE = 0.03  # nobody named this calendar, so the stamps must fit it well


def bars_per_year(time: Ints, *, timeframe: str, calendar: str) -> float:
    """By the calendar where the stamps bear it out, else by how often the stamps come."""
    expected = _expected(time, timeframe, SESSIONS.get(calendar, EXCHANGE), calendar in _ROUND_THE_CLOCK)
    seen = _seen(time)
    tolerance = _NAMED_TOLERANCE if calendar in SESSIONS else _GUESSED_TOLERANCE
    if seen is None or _close(seen, expected, tolerance):
        return expected
    exchange = _expected(time, timeframe, EXCHANGE, round_the_clock=False)
    return exchange if _close(seen, exchange, _GUESSED_TOLERANCE) else seen


def span_years(time: Ints) -> float:
    """Elapsed time from the first stamp to the last, in years of 365.25 days."""
    return float(time[-1] - time[0]) / (YEAR_DAYS * DAY) if len(time) else 0.0


def _expected(time: Ints, timeframe: str, sessions: int, round_the_clock: bool) -> float:
    bar = timeframe_ns(timeframe)
    if timeframe.endswith("mo"):
        return 12 / int(timeframe[:-2])
    if timeframe.endswith("w"):
        return 52 / int(timeframe[:-1])
    if bar >= DAY:
        return sessions * DAY / bar
    return sessions * (DAY / bar if round_the_clock or not len(time) else _bars_per_session(time))


def _bars_per_session(time: Ints) -> float:
    """The median number of stamps per UTC date that has any.

    A session that crosses midnight UTC leaves a short date only at the ends of its week, and half days, late starts
    and missing bars are few: the median is the full session's count in each case.
    """
    day = time // DAY
    starts = np.flatnonzero(np.diff(day, prepend=day[:1] - 1))
    return float(np.median(np.diff(starts, append=len(time))))


def _seen(time: Ints) -> float | None:
    steps = len(time) - 1
    if steps < _LEAST_STEPS or int(time[-1] - time[0]) < _LEAST_SPAN:
        return None
    return steps / span_years(time)


def _close(seen: float, expected: float, tolerance: float) -> bool:
    return abs(seen / expected - 1) <= tolerance
