"""CSV and Parquet as people have them: read where the meaning is clear, refused with the line where it is not."""

from __future__ import annotations

import gzip
import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from ringfence.base.errors import DataError
from ringfence.markets import load_bars
from ringfence.trade.bars import Bars
from ringfence.trade.times import iso

Write = Callable[..., str]

ROWS = (
    "2020-01-06,10,12,9,11,100",
    "2020-01-07,11,13,10,12,200",
    "2020-01-08,12,14,11,13,300",
    "2020-01-09,13,15,12,14,400",
)
HEADER = "date,open,high,low,close,volume"
GOOD = "\n".join([HEADER, *ROWS]) + "\n"


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def put(content: str | bytes, name: str = "prices.csv") -> str:
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return str(path)

    return put


def refusal(path: str, **asked: object) -> str:
    with pytest.raises(DataError) as caught:
        load_bars([path], **asked)  # type: ignore[arg-type]
    return str(caught.value)


def closes(bars: Bars) -> list[float]:
    return [float(close) for close in bars.candles[bars.symbols[0]].close]


def times(bars: Bars) -> list[str]:
    return [iso(moment) for moment in bars.candles[bars.symbols[0]].time.tolist()]


DAYS = [f"2020-01-0{day}T00:00:00Z" for day in (6, 7, 8, 9)]


@pytest.mark.parametrize(
    "text",
    [
        GOOD,
        GOOD.replace("\n", "\r\n"),
        GOOD.replace(",", ", "),
        GOOD.replace(",", ",  ").replace("\n", ",\n"),
        "\n".join([HEADER, *(row + "," for row in ROWS)]),
        GOOD.replace(",", ";"),
        GOOD.replace(",", "\t"),
        GOOD.upper(),
        GOOD.replace("date,", "Unnamed: 0,"),
        GOOD.replace("date,", ","),
        GOOD.replace(HEADER, "Open,High,Low,Close,Volume"),
        GOOD.replace("\n", ",x\n").replace(",volume,x", ",volume,Unnamed: 6"),
        "# made by hand\n\n" + GOOD,
        GOOD.replace("2020-01-07", "\n2020-01-07"),
        GOOD.replace("2020-01-07", "   \n2020-01-07"),
        GOOD.replace("date", "Open time"),
        GOOD.replace("date", "timestamp").replace("2020-01-0", "2020-01-0").replace(",1", " ,1"),
        GOOD.replace("volume", "Volume BTC"),
        GOOD.replace(HEADER, "<DATE>,<OPEN>,<HIGH>,<LOW>,<CLOSE>,<VOL>"),
        GOOD.replace("2020-01-0", '"2020-01-0').replace(",1", '",1', 1),
    ],
)
def test_a_file_is_read_however_it_is_laid_out(write: Write, text: str) -> None:
    if text.count('"') % 2:
        text = "\n".join([HEADER, *(f'"{row[:10]}"{row[10:]}' for row in ROWS)])
    bars = load_bars([write(text)])
    assert bars.timeframe == "1d"
    assert closes(bars) == [11, 12, 13, 14]
    assert times(bars) == DAYS
    assert bars.candles["prices"].volume.tolist() == [100, 200, 300, 400]


@pytest.mark.parametrize(
    "stamps",
    [
        ["2020-01-06", "2020-01-07", "2020-01-08", "2020-01-09"],
        ["2020-01-06T00:00:00Z", "2020-01-07T00:00:00Z", "2020-01-08T00:00:00Z", "2020-01-09T00:00:00Z"],
        [f"2020-01-0{d} 00:00:00-05:00" for d in (6, 7, 8, 9)],
        [f"2020-01-0{d} 00:00:00 UTC" for d in (6, 7, 8, 9)],
        [f"2020010{d}" for d in (6, 7, 8, 9)],
        [f"2020/01/0{d}" for d in (6, 7, 8, 9)],
        [f"2020.01.0{d} 00:00" for d in (6, 7, 8, 9)],
        [f"0{d}.01.2020" for d in (6, 7, 8, 9)],
        [f"0{d}-Jan-2020" for d in (6, 7, 8, 9)],
        [f'"Jan 0{d}, 2020"' for d in (6, 7, 8, 9)],
        [str(1578268800 + d * 86400) for d in range(4)],
        [str((1578268800 + d * 86400) * 1000) for d in range(4)],
        [str((1578268800 + d * 86400) * 10**6) for d in range(4)],
        [str((1578268800 + d * 86400) * 10**9) for d in range(4)],
        [f"{1578268800 + d * 86400}.0" for d in range(4)],
    ],
)
def test_stamps_are_read_in_every_common_spelling(write: Write, stamps: list[str]) -> None:
    lines = [stamp + row[10:] for stamp, row in zip(stamps, ROWS, strict=True)]
    assert times(load_bars([write("\n".join([HEADER, *lines]))])) == DAYS


def test_day_and_month_are_told_apart_by_the_whole_column_or_by_option(write: Write) -> None:
    days = pd.date_range("2020-01-06", periods=20, freq="D")
    for form in ("%m/%d/%Y", "%d/%m/%Y"):
        lines = [f"{day.strftime(form)},1,2,1,2,0" for day in days]
        assert times(load_bars([write("\n".join([HEADER, *lines]))]))[-1] == "2020-01-25T00:00:00Z"
    short = write(f"{HEADER}\n1/2/2020,1,2,1,2,0\n2/2/2020,1,2,1,2,0\n3/2/2020,1,2,1,2,0")
    assert "?dates=mdy" in refusal(short)
    assert times(load_bars([f"{short}?dates=dmy"]))[-1] == "2020-02-03T00:00:00Z"


def test_a_date_and_a_time_column_belong_together(write: Write) -> None:
    lines = [f"2020.01.06,{9 + n:02}:30,1,2,1,2,0" for n in range(4)]
    bars = load_bars([write("\n".join(["<DATE>,<TIME>,<OPEN>,<HIGH>,<LOW>,<CLOSE>,<TICKVOL>", *lines]))])
    assert bars.timeframe == "1h"
    assert times(bars)[0] == "2020-01-06T09:30:00Z"


def test_stamps_without_a_zone_are_utc_or_of_the_zone_that_is_named(write: Write) -> None:
    lines = [f"2020-07-06 {9 + n:02}:30:00,1,2,1,2,0" for n in range(4)]
    path = write("\n".join([HEADER, *lines]))
    assert times(load_bars([path]))[0] == "2020-07-06T09:30:00Z"
    zoned = load_bars([f"{path}?timezone=America/New_York&calendar=XNYS"])
    assert (times(zoned)[0], zoned.calendar, zoned.timezone) == ("2020-07-06T13:30:00Z", "XNYS", "America/New_York")
    assert "Mars" in refusal(f"{path}?timezone=Mars/Olympus")
    assert "XXXX" in refusal(f"{path}?calendar=XXXX")


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-16-le", "utf-16-be"])
def test_encodings_are_recognised(write: Write, encoding: str) -> None:
    assert closes(load_bars([write(GOOD.encode(encoding))])) == [11, 12, 13, 14]


def test_latin_1_is_read_and_noted(write: Write) -> None:
    bars = load_bars([write(GOOD.replace("volume", "volume,note €").replace("100\n", "100,é\n").encode("cp1252"))])
    assert closes(bars) == [11, 12, 13, 14]
    assert any("latin-1" in note for note in bars.notes)


def test_gzip_is_read(write: Write) -> None:
    assert closes(load_bars([write(gzip.compress(GOOD.encode()), "prices.csv.gz")])) == [11, 12, 13, 14]
    assert "damaged" in refusal(write(gzip.compress(GOOD.encode())[:-9], "cut.csv.gz"))


def test_decimal_commas_and_thousands_are_numbers(write: Write) -> None:
    german = "datum;date;open;high;low;close\n" + "".join(f"x;2020-01-0{d};1,5;2,5;1,25;2,0\n" for d in (6, 7, 8))
    assert closes(load_bars([write(german)])) == [2.0, 2.0, 2.0]
    grouped = HEADER + "\n" + "".join(f'2020-01-0{d},"1,000.5","2,000",900,"1,500",0\n' for d in (6, 7, 8))
    assert closes(load_bars([write(grouped)])) == [1500.0] * 3


def test_what_yfinance_writes_is_read_with_its_ticker(write: Write) -> None:
    text = "Price,Close,High,Low,Open,Volume\nTicker,AAPL,AAPL,AAPL,AAPL,AAPL\nDate,,,,,\n"
    text += "2020-01-06,11,12,9,10,100\n2020-01-07,12,13,10,11,200\n2020-01-08,-1,14,11,12,300\n"
    assert "line 6" in refusal(write(text))
    bars = load_bars([write(text.replace(",-1,", ",13,"))])
    assert bars.symbols == ("AAPL",) and closes(bars) == [11, 12, 13]


def test_a_symbol_column_makes_several_instruments(write: Write) -> None:
    lines = [f"{symbol},{row}" for row in ROWS for symbol in ("NA", "0005")]
    path = write("\n".join(["ticker," + HEADER, *lines]))
    assert load_bars([path]).symbols == ("NA", "0005")
    assert load_bars([path], symbols=["0005"]).symbols == ("0005",)
    assert "MSFT" in refusal(path, symbols=["MSFT"])


def test_the_symbol_is_the_files_name_or_the_one_that_is_given(write: Write) -> None:
    path = write(GOOD, "BTC-USD.csv")
    assert load_bars([path]).symbols == ("BTC-USD",)
    assert load_bars([path], symbols=["BTC"]).symbols == ("BTC",)
    assert load_bars([f"{path}?symbol=XBT"]).symbols == ("XBT",)
    assert "no symbol column" in refusal(path, symbols=["A", "B"])


def test_prices_are_adjusted_on_request_and_the_last_ones_stay(write: Write) -> None:
    text = HEADER + ",Adj Close\n2020-01-06,10,12,9,10,1,2.5\n2020-01-07,10,12,9,10,1,2.5\n2020-01-08,5,6,4,5,1,2.5\n"
    path = write(text)
    plain = load_bars([path])
    assert closes(plain) == [10, 10, 5] and plain.adjusted == "unknown"
    assert any("?adjust=yes" in note for note in plain.notes)
    adjusted = load_bars([f"{path}?adjust=yes"])
    assert closes(adjusted) == [5, 5, 5] and adjusted.adjusted == "splits and dividends"
    assert adjusted.candles["prices"].high.tolist() == [6, 6, 6]


def test_the_calendar_is_told_by_the_dates(write: Write) -> None:
    def daily(days: pd.DatetimeIndex) -> str:
        return "\n".join([HEADER, *(f"{day:%Y-%m-%d},1,2,1,2,0" for day in days)])

    sessions = load_bars(["sample:GOOG"]).candles["GOOG"].time[:300]
    bars = load_bars([write(daily(pd.DatetimeIndex(sessions)))])
    assert (bars.calendar, bars.timezone) == ("XNYS", "America/New_York")
    assert load_bars([write(daily(pd.bdate_range("2020-01-01", periods=300)))]).calendar == "24/5"
    assert load_bars([write(daily(pd.date_range("2020-01-01", periods=300)))]).calendar == "24/7"


BAD = {
    "duplicate": (GOOD.replace("2020-01-08", "2020-01-07"), "line 4", "twice"),
    "unsorted": (GOOD.replace("2020-01-09", "2020-01-01"), "line 5", "earlier"),
    "nan": (GOOD.replace("11,13,10,12,200", "11,NaN,10,12,200"), "line 3", "missing"),
    "text": (GOOD.replace("11,13,10,12,200", "11,abc,10,12,200"), "line 3", "missing"),
    "short row": (GOOD.replace("11,13,10,12,200", "11,13"), "line 3", "missing"),
    "negative": (GOOD.replace("11,13,10,12,200", "11,13,-10,12,200"), "line 3", "negative"),
    "high below low": (GOOD.replace("11,13,10,12,200", "11,9,10,12,200"), "line 3", "below low"),
    "open outside": (GOOD.replace("11,13,10,12,200", "15,13,10,12,200"), "line 3", "outside"),
    "volume": (GOOD.replace("11,13,10,12,200", "11,13,10,12,-5"), "line 3", "volume"),
    "stamp": (GOOD.replace("2020-01-07", "yesterday"), "line 3", "cannot be read"),
    "blank lines": (
        GOOD.replace("2020-01-06", "\n\n2020-01-06").replace("2020-01-08", "2020-01-07"),
        "line 6",
        "twice",
    ),
}


@pytest.mark.parametrize("name", BAD)
def test_a_row_that_cannot_be_is_refused_with_its_line_and_mended_with_a_note(write: Write, name: str) -> None:
    text, line, what = BAD[name]
    path = write(text)
    said = refusal(path)
    assert "prices.csv" in said and line in said and what in said and "--repair" in said
    mended = load_bars([path], repair=True)
    assert mended.rows >= 3
    assert any("prices: 1 " in note and "line " in note for note in mended.notes)


def test_repair_keeps_the_later_of_two_and_widens_ranges(write: Write) -> None:
    text = GOOD + "2020-01-07,20,30,19,25,5\n2020-01-10,40,35,30,29,5\n"
    bars = load_bars([write(text)], repair=True)
    assert times(bars) == [*DAYS, "2020-01-10T00:00:00Z"]
    assert closes(bars) == [11, 25, 13, 14, 29]
    assert (bars.candles["prices"].high[-1], bars.candles["prices"].low[-1]) == (40, 29)
    assert any("line 3" in note for note in bars.notes)


def test_a_good_file_is_not_changed_by_repair(write: Write) -> None:
    path = write(GOOD)
    assert load_bars([path], repair=True).sha256 == load_bars([path]).sha256


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("", "is empty"),
        ("\n\n  \n", "is empty"),
        (HEADER + "\n", "no rows"),
        ("date,open,close\n2020-01-06,1,2\n", "lacks the columns high, low; it has 'date', 'open', 'close'"),
        ("open,high,low,close\n1,2,1,2\n", "a date or time"),
        ("2020-01-06,10,12,9,11,100\n", "begins with data"),
        ("\n".join([HEADER, ROWS[0]]), "one row"),
        (b"PAR1\x00\x01\x02\x03" * 20, "no text file"),
        (b"\xff\xfe" + b"a\xd8" * 3 + b"x", "utf-16"),
        (GOOD.replace("open,", "open,Open,").replace(",10,", ",10,10,"), "two columns for open"),
        (GOOD.replace("12,14,11,13,300", "12,14,11,13,300,1,2,3"), "line 4 has 9 fields"),
        (HEADER + "\nsoon,1,2,1,2,0\nlater,1,2,1,2,0\n", "'soon'"),
        (HEADER + "\n0,1,2,1,2,0\n1,1,2,1,2,0\n2,1,2,1,2,0\n", "no dates"),
    ],
)
def test_a_file_that_is_no_table_of_prices_is_refused_in_words(write: Write, content: str | bytes, said: str) -> None:
    assert said in refusal(write(content))


def test_one_row_is_bars_once_its_timeframe_is_named(write: Write) -> None:
    bars = load_bars([write("\n".join([HEADER, ROWS[0]]))], timeframe="1d")
    assert (bars.rows, bars.timeframe) == (1, "1d")


def test_uneven_rows_ask_for_the_timeframe(write: Write) -> None:
    path = write("\n".join([HEADER, *(f"{1578268800 + n * n * 61},1,2,1,2,0" for n in range(9))]))
    assert "--timeframe" in refusal(path)
    assert load_bars([path], timeframe="1m").timeframe == "1m"


def test_a_place_that_is_no_readable_file_is_refused(tmp_path: Path) -> None:
    assert "is a directory" in refusal(f"csv:{tmp_path}")
    assert "is not there" in refusal(f"csv:{tmp_path}/none.csv")
    fifo_like = tmp_path / "loop.csv"
    fifo_like.symlink_to(fifo_like)
    assert "loop.csv" in refusal(str(fifo_like))
    closed = tmp_path / "closed.csv"
    closed.write_text(GOOD)
    closed.chmod(0)
    if not os.access(closed, os.R_OK):
        assert "permissions" in refusal(str(closed))


def test_a_million_rows_are_read_whole(tmp_path: Path) -> None:
    count = 1_000_000
    close = 100 + np.cumsum(np.random.default_rng(1).normal(0, 0.001, count)).round(6)
    stamps = pd.date_range("2020-01-01", periods=count, freq="min")
    path = tmp_path / "million.csv"
    frame = pd.DataFrame({"time": stamps, "open": close, "high": close + 1, "low": close - 1, "close": close})
    frame.to_csv(path, index=False)
    bars = load_bars([str(path)])
    assert (bars.rows, bars.timeframe, bars.calendar) == (count, "1m", "24/7")
    assert bars.candles["million"].close.tolist() == close.tolist()


def test_parquet_refuses_by_row_and_reads_an_index(tmp_path: Path) -> None:
    frame = pd.DataFrame(
        {"Open": [1.0, 1.0, 1.0], "High": [2.0, 2.0, 0.5], "Low": [1.0] * 3, "Close": [2.0] * 3},
        index=pd.date_range("2020-01-01", periods=3, name="Date"),
    )
    path = tmp_path / "a.parquet"
    frame.to_parquet(path)
    assert "a.parquet row 3" in refusal(str(path))
    frame.clip(lower=1.0).assign(High=2.0).to_parquet(path)
    assert times(load_bars([str(path)]))[-1] == "2020-01-03T00:00:00Z"
    path.write_bytes(b"PAR1 nonsense")
    assert "cannot be read as Parquet" in refusal(str(path))
