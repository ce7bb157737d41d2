"""Specs, dates, timeframes, joining: what load_bars makes of what it is asked for."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from ringfence.base.errors import DataError, SettingsError
from ringfence.markets import load_bars, open_source
from ringfence.markets.calendars import find_gaps
from ringfence.markets.shape import fit_timeframe, infer_timeframe
from ringfence.markets.spec import names_a_source, parse_end, parse_spec
from ringfence.trade.bars import Bars, Candles
from ringfence.trade.times import iso, parse_moment, timeframe_ns


@pytest.mark.parametrize(
    ("text", "source", "symbols", "options"),
    [
        ("sample:GOOG", "sample", ("GOOG",), {}),
        ("sample:AAPL, MSFT,AAPL", "sample", ("AAPL", "MSFT"), {}),
        ("sample", "sample", (), {}),
        ("sample:AAPL?adjust=no", "sample", ("AAPL",), {"adjust": "no"}),
        ("alpaca:BTC/USD", "alpaca", ("BTC/USD",), {}),
        ("csv:a b/c,d.csv", "csv", (), {"path": "a b/c,d.csv"}),
        ("csv:what?.csv", "csv", (), {"path": "what?.csv"}),
        ("csv:x.csv?timezone=America/New_York", "csv", (), {"path": "x.csv", "timezone": "America/New_York"}),
        ("data/x.CSV.gz", "csv", (), {"path": "data/x.CSV.gz"}),
        ("./x.parquet", "parquet", (), {"path": "./x.parquet"}),
        ("synthetic:gbm?seed=1&rows=2520", "synthetic", (), {"model": "gbm", "seed": "1", "rows": "2520"}),
    ],
)
def test_a_spec_is_read(text: str, source: str, symbols: tuple[str, ...], options: dict[str, str]) -> None:
    spec = parse_spec(text)
    assert (spec.source, spec.symbols, dict(spec.options)) == (source, symbols, options)
    assert parse_spec(spec.text) == spec


@pytest.mark.parametrize("text", ["", "csv:", "what/is/this", "prices.xlsx", "synthetic"])
def test_a_spec_that_names_nothing_is_refused(text: str) -> None:
    with pytest.raises(DataError):
        parse_spec(text)


def test_a_symbol_is_told_from_a_path_and_from_a_spec() -> None:
    assert not names_a_source("AAPL") and not names_a_source("BRK.B") and not names_a_source("gbm?seed=1")
    assert names_a_source("x.csv") and names_a_source("x.csv?dates=mdy") and names_a_source("sample:GOOG")


def test_an_unknown_source_is_refused_with_those_there_are() -> None:
    with pytest.raises(SettingsError, match="sample"):
        load_bars(["nowhere:AAPL"])


def test_keys_and_addresses_cannot_be_part_of_a_spec() -> None:
    with pytest.raises(DataError, match="environment"):
        open_source(parse_spec("alpaca:AAPL?APCA_API_DATA_URL=http://example.org"))


def test_an_end_that_is_a_day_means_all_of_it() -> None:
    assert parse_end("2020-01-31") == parse_moment("2020-02-01") - 1
    assert parse_end("2020-01-31T12:00") == parse_moment("2020-01-31T12:00")
    assert parse_end(5) == 5
    bars = load_bars(["synthetic:gbm?timeframe=1h&rows=100&start=2020-01-01"], end="2020-01-02")
    assert iso(bars.end) == "2020-01-02T23:00:00Z"


def test_history_before_the_start_is_kept_and_trading_begins_at_it() -> None:
    bars = load_bars(["sample:GOOG"], start="2010-01-01", end="2010-12-31")
    candles = bars.candles["GOOG"]
    assert bars.tradable_from == parse_moment("2010-01-01")
    assert int((candles.time < bars.tradable_from).sum()) == 250
    assert iso(bars.end) == "2010-12-31T00:00:00Z"
    none = load_bars(["sample:GOOG"], start="2010-01-01", warmup_bars=0)
    assert iso(none.start) == "2010-01-04T00:00:00Z"
    early = load_bars(["sample:GOOG"], start="2004-08-23")
    assert int((early.candles["GOOG"].time < parse_moment("2004-08-23")).sum()) == 2


def test_dates_without_bars_are_refused_with_those_there_are() -> None:
    with pytest.raises(DataError, match="2004-08-19"):
        load_bars(["sample:GOOG"], start="2020-01-01")
    with pytest.raises(DataError, match="swap"):
        load_bars(["sample:GOOG"], start="2010-01-02", end="2010-01-01")
    with pytest.raises(DataError, match="not a date"):
        load_bars(["sample:GOOG"], start="soon")


def test_several_specs_are_one_bars() -> None:
    bars = load_bars(["sample:AAPL", "sample:MSFT,IBM"], symbols=["IBM", "AAPL"])
    assert bars.symbols == ("IBM", "AAPL")
    assert (bars.calendar, bars.adjusted) == ("XNYS", "splits and dividends")
    mixed = load_bars(["sample:AAPL", "synthetic:gbm"])
    assert mixed.synthetic and (mixed.calendar, mixed.adjusted) == ("24/7", "unknown")
    assert any("calendars differ" in note for note in mixed.notes)


def test_specs_that_do_not_go_together_are_refused() -> None:
    with pytest.raises(DataError, match="--timeframe"):
        load_bars(["sample:AAPL", "synthetic:gbm?timeframe=1h"])
    with pytest.raises(DataError, match="two of the sources"):
        load_bars(["sample:AAPL", "sample:AAPL,MSFT"])
    with pytest.raises(DataError, match="IBM"):
        load_bars(["sample:AAPL"], symbols=["IBM"])
    with pytest.raises(DataError, match="no data"):
        load_bars([])
    joined = load_bars(["sample:AAPL", "synthetic:gbm?timeframe=1h&start=2005-01-01"], timeframe="1d")
    assert joined.timeframe == "1d"


@pytest.mark.parametrize(
    ("step", "name"),
    [("1m", "1m"), ("15m", "15m"), ("60m", "1h"), ("4h", "4h"), ("1d", "1d"), ("1w", "1w"), ("90s", "90s")],
)
def test_the_timeframe_is_the_commonest_step(step: str, name: str) -> None:
    stamps = np.arange(50, dtype=np.int64) * timeframe_ns(step)
    assert infer_timeframe([np.delete(stamps, [7, 8, 20])], "x") == name


@pytest.mark.parametrize(("frequency", "name"), [("M", "1mo"), ("3M", "3mo"), ("12M", "12mo")])
def test_months_are_told_although_they_differ_in_length(frequency: str, name: str) -> None:
    count = int(frequency[:-1] or 1)
    months = np.arange(0, 40 * count, count).astype("datetime64[M]").astype("datetime64[ns]").astype(np.int64)
    assert infer_timeframe([months], "x") == name


def bars_of(times: list[str], timeframe: str, timezone: str = "UTC") -> Bars:
    stamps = np.array([parse_moment(t) for t in times])
    price = np.arange(1.0, len(times) + 1)
    candles = Candles(stamps, price, price + 0.5, price - 0.5, price + 0.25, np.ones(len(times)))
    return Bars(candles={"X": candles}, timeframe=timeframe, source="x:X", timezone=timezone)


def test_resampling_takes_first_highest_lowest_last_and_sum() -> None:
    fine = bars_of([f"2020-01-01T{h:02}:{m:02}" for h in (9, 10) for m in (0, 15, 30, 45)], "15m")
    hours = fit_timeframe(fine, "1h")
    x = hours.candles["X"]
    assert [iso(t) for t in x.time.tolist()] == ["2020-01-01T09:00:00Z", "2020-01-01T10:00:00Z"]
    assert (x.open.tolist(), x.high.tolist(), x.low.tolist()) == ([1, 5], [4.5, 8.5], [0.5, 4.5])
    assert (x.close.tolist(), x.volume.tolist()) == ([4.25, 8.25], [4, 4])
    assert any("resampled from 15m to 1h" in note for note in hours.notes)


def test_days_begin_in_the_exchanges_time_zone() -> None:
    fine = bars_of(["2020-07-01T23:00", "2020-07-02T03:00", "2020-07-02T04:00"], "1h", "America/New_York")
    days = fit_timeframe(fine, "1d").candles["X"]
    assert [iso(t) for t in days.time.tolist()] == ["2020-07-01T00:00:00Z", "2020-07-02T00:00:00Z"]
    assert days.volume.tolist() == [2, 1]


def test_weeks_begin_on_a_monday_and_months_on_the_first() -> None:
    days = bars_of([f"2020-01-{d:02}" for d in range(1, 32)], "1d")
    weeks = fit_timeframe(days, "1w").candles["X"]
    assert [iso(t)[:10] for t in weeks.time.tolist()][:2] == ["2019-12-30", "2020-01-06"]
    assert [iso(t)[:10] for t in fit_timeframe(days, "1mo").candles["X"].time.tolist()] == ["2020-01-01"]


@pytest.mark.parametrize(("have", "want"), [("1d", "1h"), ("15m", "40m"), ("1w", "1mo"), ("2d", "1mo")])
def test_what_cannot_be_made_is_refused(have: str, want: str) -> None:
    with pytest.raises(DataError, match=want):
        fit_timeframe(bars_of(["2020-01-01", "2020-01-15"], have), want)


def test_an_unknown_timeframe_is_refused_before_anything_is_loaded(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="fortnight"):
        load_bars([f"csv:{tmp_path}/none.csv"], timeframe="fortnight")


def test_gaps_are_counted_against_the_calendar() -> None:
    goog = load_bars(["sample:GOOG"]).candles["GOOG"]
    gaps = find_gaps(goog, "1d", "XNYS")
    assert gaps is not None and len(gaps) == 0
    keep = np.delete(np.arange(len(goog)), 100)
    holed = Candles(*(getattr(goog, name)[keep] for name in goog.__slots__))
    gaps = find_gaps(holed, "1d", "XNYS")
    assert gaps is not None and gaps.tolist() == [int(goog.time[100])]
    holiday = bars_of(["2020-01-01", "2020-01-03"], "1d").candles["X"]
    gaps = find_gaps(holiday, "1d", "XNYS")
    assert gaps is not None and [iso(t)[:10] for t in gaps.tolist()] == ["2020-01-02"]
    hours = bars_of(["2020-01-01T00:00", "2020-01-01T01:00", "2020-01-01T04:00"], "1h").candles["X"]
    gaps = find_gaps(hours, "1h", "24/7")
    assert gaps is not None and [iso(t) for t in gaps.tolist()] == ["2020-01-01T02:00:00Z", "2020-01-01T03:00:00Z"]
    session = bars_of(["2020-01-02T14:30", "2020-01-02T14:45", "2020-01-03T14:30"], "15m").candles["X"]
    gaps = find_gaps(session, "15m", "XNYS")
    assert gaps is not None and len(gaps) == 24
    assert find_gaps(session, "1mo", "XNYS") is None
    assert find_gaps(bars_of(["1700-01-01", "1700-01-02"], "1d").candles["X"], "1d", "NOWHERE") is None
