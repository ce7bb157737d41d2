"""`ringfence data` fetches, lists and shows prices, for people and as JSON."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from ringfence.base.errors import DataError, SettingsError
from ringfence.cli.dispatch import make_app

Call = Callable[..., str]

COMMANDS = [("data", "ringfence.cli.data", "Fetch prices, list them and show what they are.")]


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Call:
    """Run `ringfence data` with a home of its own, and return what it printed."""
    monkeypatch.setenv("RINGFENCE_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)

    def call(*words: str) -> str:
        capsys.readouterr()
        assert make_app(COMMANDS)(["data", *words], prog_name="ringfence", standalone_mode=False) == 0
        said = capsys.readouterr()
        assert said.err == ""
        return said.out

    return call


def test_get_keeps_what_list_and_show_then_know(data: Call, tmp_path: Path) -> None:
    got = json.loads(data("get", "GOOG", "AAPL", "--source", "sample", "--start", "2010-01-01", "--json"))
    assert got["symbols"] == ["GOOG", "AAPL"]
    assert (got["source"], got["timeframe"], got["calendar"]) == ("sample:GOOG,AAPL", "1d", "XNYS")
    assert got["tradable_from"] == "2010-01-01T00:00:00Z"
    assert Path(got["path"]) == tmp_path / "home" / "bars" / f"{got['sha256']}.arrow"
    assert Path(got["path"]).is_file()
    (entry,) = json.loads(data("list", "--json"))
    assert (entry["sha256"], entry["rows"]) == (got["sha256"], got["rows"])
    shown = json.loads(data("show", got["sha256"][:10], "--rows", "2", "--json"))
    assert shown["sha256"] == got["sha256"] and shown["notes"] == got["notes"]
    assert [len(shown["instruments"][0][side]) for side in ("first", "last")] == [2, 2]
    assert shown["instruments"][0]["last"][-1]["time"] == "2013-03-01T00:00:00Z"


def test_the_same_is_shown_to_people(data: Call) -> None:
    out = data("get", "GOOG", "--source", "sample")
    assert "sample:GOOG" in out and "2,148 of 1d" in out and "XNYS" in out and "splits and dividends" in out
    assert "GOOG" in data("list")
    out = data("show", "sample:GOOG", "--rows", "1")
    assert "2004-08-19" in out and "… 2,146 more" in out and "806.19" in out
    assert "missing bars" in out


def test_made_up_prices_are_marked_wherever_they_are_shown(data: Call) -> None:
    assert "SYNTHETIC" in data("get", "gbm?seed=3", "--source", "synthetic")
    assert "SYNTHETIC" in data("list")
    assert "SYNTHETIC" in data("show", "synthetic:gbm?seed=3")
    assert json.loads(data("show", "synthetic:gbm", "--json"))["synthetic"] is True


def test_nothing_kept_says_how_to_keep_something(data: Call) -> None:
    assert "ringfence data get" in data("list")
    assert json.loads(data("list", "--json")) == []


def test_files_are_read_resampled_and_mended(data: Call, tmp_path: Path) -> None:
    lines = [f"2020-01-01 {n // 4:02}:{n % 4 * 15:02}:00,1,2,1,2,5" for n in range(16)]
    (tmp_path / "BTC.csv").write_text("\n".join(["date,open,high,low,close,volume", *lines, lines[-1]]))
    with pytest.raises(DataError, match="line 18"):
        data("get", "BTC.csv")
    got = json.loads(data("get", "BTC.csv", "--repair", "--timeframe", "1h", "--json"))
    assert (got["timeframe"], got["rows"], got["symbols"]) == ("1h", 4, ["BTC"])
    assert any("1 rows dropped" in note for note in got["notes"])
    assert any("resampled" in note for note in got["notes"])
    assert (
        json.loads(data("get", "BTC.csv", "--source", "csv", "--repair", "--end", "2020-01-01", "--json"))["rows"] == 16
    )


def test_gaps_are_counted_and_the_first_ones_named(data: Call, tmp_path: Path) -> None:
    rows = [f"2020-01-{day:02},1,2,1,2,5" for day in range(1, 21) if day not in (8, 9)]
    (tmp_path / "X.csv").write_text("\n".join(["date,open,high,low,close,volume", *rows]))
    (instrument,) = json.loads(data("show", "X.csv", "--json"))["instruments"]
    assert instrument["gaps"] == 2
    assert instrument["first_gaps"] == ["2020-01-08T00:00:00Z", "2020-01-09T00:00:00Z"]
    assert "2 (2020-01-08, 2020-01-09)" in data("show", "X.csv")


def test_what_cannot_be_had_is_an_error_that_names_the_sample(data: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("YAHOO_API_URL", "http://127.0.0.1:9")
    for name in ("APCA_API_KEY_ID", "APCA_API_SECRET_KEY"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(DataError, match=r"AAPL.*--source sample"):
        data("get", "AAPL")
    with pytest.raises(DataError, match=r"AAPL.*--source sample"):
        data("get", "AAPL", "--source", "alpaca")
    with pytest.raises(DataError, match="NOSUCH"):
        data("show", "sample:NOSUCH")


def test_a_hash_that_is_not_kept_is_refused(data: Call) -> None:
    with pytest.raises(DataError, match="data list"):
        data("show", "abcdef12")


def test_rows_out_of_range_are_refused(data: Call) -> None:
    with pytest.raises(SettingsError, match="--rows"):
        data("show", "sample:GOOG", "--rows", "-1")
