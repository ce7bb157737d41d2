"""Bars: impossible rows are refused by name, content is hashed, nothing can be changed, files are mapped."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from ringfence.base.errors import DataError
from ringfence.trade.arrow import read_bars, write_bars
from ringfence.trade.bars import Bars, Candles, find_problems
from ringfence.trade.times import DAY, iso, iso_all, local_days, parse_moment, periods, timeframe_ns

from tests.trade.prices import MONDAY, make_bars, make_candles


def changed(column: str, row: int, value: float) -> Candles:
    candles = make_candles(20)
    columns = {name: getattr(candles, name).copy() for name in ("time", "open", "high", "low", "close", "volume")}
    columns[column][row] = value
    return Candles(**columns)


@pytest.mark.parametrize(
    ("column", "value", "word"),
    [
        ("close", float("nan"), "not finite"),
        ("open", float("inf"), "not finite"),
        ("low", -1.0, "negative"),
        ("close", 0.0, "zero"),
        ("high", 1.0, "below low"),
        ("open", 1e9, "outside"),
        ("volume", -5.0, "volume"),
        ("time", MONDAY + 6 * DAY, "twice"),
        ("time", MONDAY - DAY, "earlier"),
    ],
)
def test_an_impossible_row_is_refused_by_its_number(column: str, value: float, word: str) -> None:
    with pytest.raises(DataError, match=f"XYZ row 8 .*{word}.*--repair"):
        make_bars(XYZ=changed(column, 7, value))


def test_problems_come_in_the_order_of_rows() -> None:
    assert [p.row for p in find_problems(changed("close", 3, -1.0))] == [3, 3]
    assert find_problems(make_candles(5)) == []


@pytest.mark.parametrize("candles", [{}, {"A": make_candles(3).slice(0, 0)}])
def test_nothing_is_not_bars(candles: dict[str, Candles]) -> None:
    with pytest.raises(DataError):
        Bars(candles=candles, timeframe="1d", source="x")


def test_columns_cannot_be_changed_by_anyone() -> None:
    mine = np.array([1.0, 2.0, 3.0])
    candles = Candles(np.arange(3) * DAY, mine, mine, mine, mine, mine)
    mine[1] = 99.0
    assert candles.close[1] == 2.0
    with pytest.raises(ValueError):
        candles.close[0] = 5.0
    with pytest.raises(TypeError):
        make_bars(A=candles).candles["B"] = candles  # type: ignore[index]


def test_the_hash_is_of_what_a_strategy_can_see() -> None:
    bars = make_bars(50)
    assert make_bars(50).sha256 == bars.sha256
    assert replace(bars, source="elsewhere", notes=("mended",)).sha256 == bars.sha256
    others = [
        make_bars(50, 2),
        make_bars(49),
        replace(bars, timeframe="1h"),
        replace(bars, tradable_from=MONDAY),
        make_bars(XYZ=bars.candles["ABC"]),
    ]
    assert len({bars.sha256, *(other.sha256 for other in others)}) == 6


def test_until_leaves_what_was_known_then() -> None:
    bars = make_bars(A=make_candles(10), B=make_candles(10, begin=MONDAY + 5 * DAY))
    known = bars.until(MONDAY + 4 * DAY)
    assert known.symbols == ("A",)
    assert known.rows == 5
    assert bars.until(MONDAY + 5 * DAY).rows == 7


def test_a_file_of_bars_is_read_as_it_was_written(tmp_path: Path) -> None:
    bars = replace(make_bars(A=make_candles(30), B=make_candles(7, 2)), notes=("one", "two"), tradable_from=MONDAY)
    write_bars(bars, tmp_path / "deep" / "x.arrow")
    again = read_bars(tmp_path / "deep" / "x.arrow")
    assert again.sha256 == bars.sha256
    assert again.notes == bars.notes
    assert not again.candles["A"].close.flags.writeable
    assert [p.name for p in (tmp_path / "deep").iterdir()] == ["x.arrow"]


@pytest.mark.parametrize("content", [b"", b"nonsense", b"ARROW1\0\0" + b"\xff" * 200])
def test_a_file_that_is_none_is_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "x.arrow").write_bytes(content)
    with pytest.raises(DataError, match="no file of bars"):
        read_bars(tmp_path / "x.arrow")
    with pytest.raises(DataError):
        read_bars(tmp_path / "missing.arrow")


@pytest.mark.parametrize("text", ["2004-08-19T00:00:00Z", "1969-12-31T23:59:59Z", "2020-02-29T12:30:00.000000001Z"])
def test_moments_are_written_as_they_were(text: str) -> None:
    whole, _, fraction = text.rstrip("Z").partition(".")
    assert iso(parse_moment(whole) + (int(fraction) if fraction else 0)) == text


def test_many_moments_are_written_like_each_of_them() -> None:
    for moments in ([0, -1_000_000_000, 10**18], [0, 1], []):
        assert iso_all(np.array(moments, dtype=np.int64)) == [iso(moment) for moment in moments]


def test_a_moment_with_a_zone_is_that_moment() -> None:
    assert iso(parse_moment("2020-01-31T09:30:00-05:00")) == "2020-01-31T14:30:00Z"
    with pytest.raises(DataError, match="not a date"):
        parse_moment("soon")


def test_days_begin_where_the_exchange_is() -> None:
    evening = parse_moment("2020-07-01T23:00:00-04:00")  # 03:00 of the next day in UTC
    winter = parse_moment("2020-01-01T23:30:00-05:00")
    days = local_days(np.array([evening, winter]), "America/New_York")
    assert [iso(day * DAY)[:10] for day in days.tolist()] == ["2020-07-01", "2020-01-01"]


@pytest.mark.parametrize(
    ("timeframe", "same"),
    [("1w", [1, 1, 0]), ("1mo", [1, 1, 1]), ("1d", [1, 0, 0]), ("4h", [0, 0, 0])],
)
def test_moments_fall_into_periods(timeframe: str, same: list[int]) -> None:
    monday = parse_moment("2024-01-08T01:00")
    moments = [
        monday,
        parse_moment("2024-01-08T23:00"),
        parse_moment("2024-01-14T12:00"),
        parse_moment("2024-01-15T00:00"),
    ]
    numbers = periods(np.array(moments), timeframe, "UTC").tolist()
    assert [int(number == numbers[0]) for number in numbers[1:]] == same


@pytest.mark.parametrize("word", ["", "d", "0d", "1y", "1.5h", "-1d"])
def test_an_unknown_timeframe_is_refused(word: str) -> None:
    with pytest.raises(DataError, match="timeframe"):
        timeframe_ns(word)
