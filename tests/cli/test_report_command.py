"""`ringfence report`: a stored run comes out as a page and a picture, with its prices where they are still there."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from ringfence.store import RunUsage, open_store
from ringfence.testing.runs import TEXT, make_run
from ringfence.trade.arrow import write_bars
from ringfence.trade.bars import Bars
from ringfence.trade.run import Run

from tests.cli.command import Done
from tests.verbs.report_documents import make_candles

Call = Callable[..., Done]


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("RINGFENCE_HOME", str(tmp_path / "home"))
    monkeypatch.delenv("RINGFENCE_DATABASE", raising=False)
    monkeypatch.chdir(tmp_path)
    return tmp_path / "home"


@pytest.fixture
def report(home: Path, capfdbinary: pytest.CaptureFixture[bytes]) -> Call:
    from ringfence.cli import main

    def call(*words: str) -> Done:
        code = main(["report", *words])
        out, err = capfdbinary.readouterr()
        return Done(code, out.decode(), err.decode())

    return call


@pytest.fixture
def bars() -> Bars:
    return Bars(candles={"GOOG": make_candles(252)}, timeframe="1d", source="sample:GOOG", timezone="America/New_York")


def save(home: Path, bars: Bars | None) -> str:
    """A run on `bars`, stored; its id."""
    run: Run = make_run()
    ref = run.bars
    assert ref is not None
    run = replace(run, bars=replace(ref, sha256=bars.sha256) if bars else None)
    with open_store(f"sqlite:///{home}/ringfence.db") as store:
        usage = RunUsage(wall_ms=1.0, cpu_ms=1.0, peak_memory_bytes=1)
        return store.save_run(run, draft_text=TEXT, usage=usage, now=datetime(2026, 1, 31, tzinfo=UTC)).run_id


def test_a_stored_run_becomes_a_page_with_its_prices_and_its_code(report: Call, home: Path, bars: Bars) -> None:
    run_id = save(home, bars)
    write_bars(bars, home / "bars" / f"{bars.sha256}.arrow")
    assert report(run_id) == Done(0, f"{run_id}.html\n", "")
    html = Path(f"{run_id}.html").read_text()
    assert run_id in html and "chart-prices" in html
    assert '<span class="c-name">Dip</span>' in html


def test_the_beginning_of_an_id_is_enough(report: Call, home: Path, bars: Bars) -> None:
    run_id = save(home, bars)
    assert report(run_id[:6], "--out", "x.html").out == "x.html\n"
    assert run_id in Path("x.html").read_text()


def test_prices_that_are_gone_are_missed_aloud(report: Call, home: Path, bars: Bars) -> None:
    done = report(save(home, bars), "--out", "x.html")
    assert done.code == 0
    assert "the price chart is left out: the prices are no longer in" in done.err
    html = Path("x.html").read_text()
    assert "The price chart is left out: the prices are no longer in" in html
    assert 'id="chart-prices"' not in html


def test_prices_under_a_wrong_name_are_not_shown(report: Call, home: Path, bars: Bars) -> None:
    other = Bars(candles={"GOOG": make_candles(100)}, timeframe="1d", source="sample:GOOG")
    run_id = save(home, bars)
    write_bars(other, home / "bars" / f"{bars.sha256}.arrow")
    assert "holds other prices than its name says" in report(run_id, "--out", "x.html").err


def test_a_broken_file_of_prices_is_named(report: Call, home: Path, bars: Bars) -> None:
    run_id = save(home, bars)
    (home / "bars").mkdir()
    (home / "bars" / f"{bars.sha256}.arrow").write_bytes(b"nothing")
    assert "is no file of bars" in report(run_id, "--out", "x.html").err


def test_a_script_that_brought_its_own_data_has_no_price_chart(report: Call, home: Path) -> None:
    assert "the script brought its own data" in report(save(home, None), "--out", "x.html").err


def test_a_picture_alone_makes_no_page(report: Call, home: Path, bars: Bars) -> None:
    run_id = save(home, bars)
    assert report(run_id, "--png", "x.png").out == "x.png\n"
    assert Path("x.png").read_bytes().startswith(b"\x89PNG")
    assert not Path(f"{run_id}.html").exists()


def test_json_names_what_was_written(report: Call, home: Path, bars: Bars) -> None:
    run_id = save(home, bars)
    write_bars(bars, home / "bars" / f"{bars.sha256}.arrow")
    done = report(run_id, "--out", "x.html", "--png", "x.png", "--json")
    assert json.loads(done.out) == {"run_id": run_id, "html": "x.html", "png": "x.png", "prices": True}


def test_an_unknown_run_and_an_empty_store_are_told_apart(report: Call, home: Path, bars: Bars) -> None:
    done = report("abc")
    assert done.code == 73 and "run `ringfence backtest` first" in done.err
    assert not home.exists()
    save(home, bars)
    done = report("zzz")
    assert done.code == 73 and "zzz" in done.err


def test_a_place_that_cannot_be_written_is_named(report: Call, home: Path, bars: Bars) -> None:
    done = report(save(home, bars), "--out", "no/such/x.html")
    assert done.code == 66
    assert "'no/such/x.html' cannot be written" in done.err
