"""The year in bars: the conventions everyone uses, and what the stamps have to say about them."""

from __future__ import annotations

import numpy as np
import pytest

from ringfence.base.errors import DataError
from ringfence.trade.annual import SESSIONS, bars_per_year, span_years
from ringfence.trade.bars import Ints
from ringfence.trade.times import DAY, SECOND, parse_moment

from tests.trade.measured import days, real_closes

HOUR = 3600 * SECOND
MINUTE = 60 * SECOND


def weekdays(count: int, first: str = "2020-01-06") -> Ints:
    """From a Monday on, without weekends."""
    number = np.arange(count, dtype=np.int64)
    return parse_moment(first) + (number // 5 * 7 + number % 5) * DAY


def sessions(count: int, opens: int, step: int, bars: int) -> Ints:
    """On each weekday `bars` bars of length `step`, the first `opens` after midnight UTC."""
    return (weekdays(count)[:, None] + opens + np.arange(bars) * step).ravel()


@pytest.mark.parametrize(
    ("timeframe", "calendar", "time", "expected"),
    [
        ("15m", "24/7", days(40_000, 15 * MINUTE), 35_040),
        ("1m", "24/7", days(40_000, MINUTE), 525_600),
        ("1h", "24/7", days(9_000, HOUR), 8_760),
        ("1d", "24/7", days(800), 365),
        ("1d", "XNYS", weekdays(600), 252),
        ("1d", "XLON", weekdays(600), 253),
        ("1d", "24/5", weekdays(600), 261),
        ("2d", "24/7", days(400, 2 * DAY), 182.5),
        ("1w", "XNYS", days(300, 7 * DAY), 52),
        ("1mo", "24/7", np.array([parse_moment(f"20{y}-{m:02}-01") for y in (20, 21) for m in range(1, 13)]), 12),
        ("3mo", "24/7", np.array([parse_moment(f"20{y}-{m:02}-01") for y in range(10, 20) for m in (1, 4, 7, 10)]), 4),
        ("1h", "XNYS", sessions(400, 14 * HOUR + 30 * MINUTE, HOUR, 7), 252 * 7),
        ("15m", "XNYS", sessions(400, 14 * HOUR + 30 * MINUTE, 15 * MINUTE, 26), 252 * 26),
        ("1m", "XNYS", sessions(100, 14 * HOUR + 30 * MINUTE, MINUTE, 390), 252 * 390),
        ("1h", "24/5", sessions(300, 0, HOUR, 24), 261 * 24),
    ],
)
def test_a_regular_market_has_its_round_number(timeframe: str, calendar: str, time: Ints, expected: float) -> None:
    assert bars_per_year(time, timeframe=timeframe, calendar=calendar) == pytest.approx(expected, rel=1e-12)


def test_a_session_that_crosses_midnight_is_counted_whole() -> None:
    overnight = sessions(400, 22 * HOUR, HOUR, 6)
    assert bars_per_year(overnight, timeframe="1h", calendar="XASX") == 253 * 6


def test_half_days_and_missing_bars_do_not_change_the_session() -> None:
    rng = np.random.default_rng(5)
    time = sessions(500, 14 * HOUR, HOUR, 7)
    kept = np.sort(rng.choice(len(time), len(time) - 100, replace=False))
    assert bars_per_year(time[kept], timeframe="1h", calendar="XNYS") == 252 * 7


def test_real_daily_prices_have_252_bars_whether_or_not_the_exchange_is_named() -> None:
    for time, _ in real_closes().values():
        if len(time) > 1000:
            assert bars_per_year(time, timeframe="1d", calendar="XNYS") == 252
            assert bars_per_year(time, timeframe="1d", calendar="24/7") == 252
            assert bars_per_year(time, timeframe="1d", calendar="nowhere") == 252


def test_exchange_hours_under_a_calendar_that_never_closes_are_seen_through() -> None:
    time = sessions(600, 14 * HOUR, HOUR, 7)
    holidays = np.arange(len(time)) // 7 % 29 != 0  # about nine a year
    assert bars_per_year(time[holidays], timeframe="1h", calendar="24/7") == 252 * 7


def test_irregular_data_is_annualised_by_how_often_it_comes() -> None:
    rng = np.random.default_rng(3)
    time = np.sort(rng.choice(days(3653), 700, replace=False))
    expected = 699 / ((time[-1] - time[0]) / (365.25 * DAY))
    assert bars_per_year(time, timeframe="1d", calendar="24/7") == pytest.approx(expected)
    assert bars_per_year(time, timeframe="1d", calendar="XNYS") == pytest.approx(expected)


def test_too_little_data_proves_nothing_against_the_calendar() -> None:
    assert bars_per_year(weekdays(8), timeframe="1d", calendar="24/7") == 365
    for count in (0, 1, 2):
        assert bars_per_year(days(count), timeframe="1d", calendar="XNYS") == 252
    assert bars_per_year(days(0), timeframe="1h", calendar="24/7") == 8760
    assert bars_per_year(days(2, HOUR), timeframe="1h", calendar="24/7") == 8760
    hole = np.concatenate((days(4), days(4) + 60 * DAY))
    assert bars_per_year(hole, timeframe="1d", calendar="24/7") == 365
    assert bars_per_year(sessions(4, 14 * HOUR, HOUR, 7), timeframe="1h", calendar="24/7") == 8760


def test_an_unknown_timeframe_is_refused() -> None:
    with pytest.raises(DataError, match="fortnight"):
        bars_per_year(days(3), timeframe="fortnight", calendar="24/7")


def test_a_year_of_elapsed_time_has_365_and_a_quarter_days() -> None:
    time = np.array([parse_moment("2000-01-01"), parse_moment("2020-01-01")])
    assert span_years(time) == pytest.approx(20.0, abs=1e-9)
    assert span_years(days(1)) == span_years(days(0)) == 0.0


@pytest.mark.parametrize("calendar", sorted(SESSIONS))
def test_the_table_agrees_with_the_exchanges_own_calendar(calendar: str) -> None:
    import exchange_calendars

    opened = len(exchange_calendars.get_calendar(calendar, start="2010-01-01", end="2024-12-31").sessions)
    assert SESSIONS[calendar] == pytest.approx(opened / 15, abs=0.55)
