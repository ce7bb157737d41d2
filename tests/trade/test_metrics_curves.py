"""What the tear sheet draws: the curve under water and the table of months."""

from __future__ import annotations

import numpy as np
import pytest

from ringfence.base.errors import DataError
from ringfence.trade.metrics import MonthReturn, drawdown, monthly_returns
from ringfence.trade.times import SECOND, parse_moment

from tests.trade.measured import days, measured, real_closes

HOUR = 3600 * SECOND


def stamps(*texts: str) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    return np.array([parse_moment(text) for text in texts], dtype=np.int64)


def test_the_curve_under_water() -> None:
    found = drawdown(np.array([100.0, 120.0, 90.0, 120.0, 60.0, -12.0, 130.0]))
    assert found.tolist() == pytest.approx([0, 0, -0.25, 0, -0.5, -1.1, 0])
    assert drawdown(np.array([])).tolist() == []


def test_the_curve_under_water_ends_where_the_metric_says() -> None:
    for time, close in real_closes().values():
        assert drawdown(close).min() == measured(close, time=time, calendar="XNYS").max_drawdown


def test_months_count_from_the_last_bar_before_them() -> None:
    time = stamps("2019-12-30", "2019-12-31", "2020-01-02", "2020-01-31", "2020-03-05")
    found = monthly_returns(time, np.array([100.0, 110.0, 121.0, 99.0, 198.0]), "UTC")
    assert [(m.year, m.month) for m in found] == [(2019, 12), (2020, 1), (2020, 3)]
    assert [m.value for m in found] == pytest.approx([0.1, -0.1, 1.0])


def test_months_compound_to_the_total_return() -> None:
    for time, close in real_closes().values():
        found = monthly_returns(time, close, "America/New_York")
        assert np.prod([1 + (m.value or 0) for m in found]) == pytest.approx(close[-1] / close[0])
        whole = monthly_returns(time, close, "America/New_York", initial_equity=50.0)
        assert np.prod([1 + (m.value or 0) for m in whole]) == pytest.approx(close[-1] / 50)


def test_months_agree_with_pandas() -> None:
    import pandas as pd

    time, close = real_closes()["IBM"]
    ends = pd.Series(close, index=pd.to_datetime(time)).resample("ME").last()
    expected = ends.pct_change().to_numpy()
    found = monthly_returns(time, close, "UTC")
    assert [(m.year, m.month) for m in found] == [(day.year, day.month) for day in ends.index]
    assert [m.value for m in found[1:]] == pytest.approx(expected[1:].tolist())


def test_a_bar_belongs_to_the_month_in_which_it_begins_at_the_exchange() -> None:
    # 04:30 UTC on the first is the evening before in New York, in winter and (03:30) in summer.
    time = stamps("2020-01-31T20:00", "2020-02-01T04:30", "2020-02-01T05:00", "2020-07-01T03:30", "2020-07-01T04:00")
    found = monthly_returns(time, np.array([100.0, 110.0, 121.0, 242.0, 121.0]), "America/New_York")
    assert [(m.year, m.month, round(m.value or 0, 9)) for m in found] == [
        (2020, 1, 0.1),
        (2020, 2, 0.1),
        (2020, 6, 1.0),
        (2020, 7, -0.5),
    ]


def test_stamps_at_midnight_utc_are_dates_wherever_the_exchange_is() -> None:
    time = stamps("2020-01-31", "2020-02-01", "2020-02-29")
    found = monthly_returns(time, np.array([100.0, 110.0, 121.0]), "America/New_York")
    assert [(m.year, m.month) for m in found] == [(2020, 1), (2020, 2)]
    assert [m.value for m in found] == pytest.approx([0.0, 0.21])


def test_after_ruin_a_month_has_no_return() -> None:
    time = stamps("2020-01-31", "2020-02-29", "2020-03-31")
    found = monthly_returns(time, np.array([100.0, 0.0, 5.0]), "UTC")
    assert found == (
        MonthReturn(year=2020, month=1, value=0.0),
        MonthReturn(year=2020, month=2, value=-1.0),
        MonthReturn(year=2020, month=3, value=None),
    )


def test_no_bars_have_no_months() -> None:
    assert monthly_returns(days(0), np.array([]), "UTC") == ()


@pytest.mark.parametrize("zone", ["Mars/Olympus", "../etc/passwd", ""])
def test_an_unknown_time_zone_is_refused(zone: str) -> None:
    with pytest.raises(DataError, match="America/New_York"):
        monthly_returns(days(2, HOUR), np.array([1.0, 2.0]), zone)
