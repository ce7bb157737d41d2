"""The samples are what they say, and made-up prices are marked and fixed by their seed."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

from ringfence.base.errors import DataError
from ringfence.markets import load_bars, open_source
from ringfence.markets.spec import parse_spec
from ringfence.trade.times import iso


@pytest.mark.parametrize(
    ("symbol", "rows", "first", "last"),
    [
        ("AAPL", 3270, "2000-03-01", "2013-03-01"),
        ("IBM", 3270, "2000-03-01", "2013-03-01"),
        ("MSFT", 3270, "2000-03-01", "2013-03-01"),
        ("GOOG", 2148, "2004-08-19", "2013-03-01"),
        ("FB", 196, "2012-05-18", "2013-03-01"),
        ("SP500", 5031, "1999-01-04", "2018-12-31"),
        ("NASDAQ", 5031, "1999-01-04", "2018-12-31"),
        ("EURUSD", 5000, "2017-04-19T09:00:00Z", "2018-02-07T15:00:00Z"),
        ("BTCUSD", 156, "2012-01-01", "2024-12-01"),
    ],
)
def test_a_sample_is_whole(symbol: str, rows: int, first: str, last: str) -> None:
    bars = load_bars([f"sample:{symbol}"])
    assert bars.rows == rows
    assert iso(bars.start).startswith(first) and iso(bars.end).startswith(last)
    assert not bars.synthetic
    assert bars.notes


def test_splits_are_taken_out_of_the_samples_and_the_last_price_stays() -> None:
    adjusted, raw = load_bars(["sample:AAPL"]), load_bars(["sample:AAPL?adjust=no"])
    split = int(np.searchsorted(raw.candles["AAPL"].time, np.datetime64("2005-02-28", "ns").astype(np.int64)))
    before, after = raw.candles["AAPL"].close[split - 1], raw.candles["AAPL"].close[split]
    assert after / before == pytest.approx(0.504, abs=0.01)
    smooth = adjusted.candles["AAPL"].close
    assert smooth[split] / smooth[split - 1] == pytest.approx(1.008, abs=0.01)
    assert smooth[-1] == raw.candles["AAPL"].close[-1]
    assert (adjusted.adjusted, raw.adjusted) == ("splits and dividends", "none")


def test_a_sample_without_splits_or_dividends_keeps_its_printed_prices() -> None:
    assert load_bars(["sample:GOOG"]).sha256 == load_bars(["sample:GOOG?adjust=no"]).sha256


def test_samples_are_read_without_importing_the_packages_that_hold_them() -> None:
    script = (
        "import sys\nfrom ringfence.markets import load_bars\n"
        "load_bars(['sample:GOOG', 'sample:SP500'])\nload_bars(['sample:EURUSD'])\n"
        "print(sorted({'bokeh_sampledata', 'bokeh', 'arch', 'backtesting', 'yfinance', 'alpaca'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=False)
    assert done.stdout.strip() == "[]", done.stderr


def test_the_samples_are_listed() -> None:
    assert {"AAPL", "GOOG", "SP500"} <= set(open_source(parse_spec("sample")).symbols())


@pytest.mark.parametrize("model", ["gbm", "jump", "regime"])
def test_made_up_prices_are_fixed_by_their_seed_and_marked(model: str) -> None:
    one = load_bars([f"synthetic:{model}?seed=1&rows=500"])
    assert one.sha256 == load_bars([f"synthetic:{model}?seed=1&rows=500"]).sha256
    assert one.sha256 != load_bars([f"synthetic:{model}?seed=2&rows=500"]).sha256
    assert one.synthetic and any("SYNTHETIC" in note for note in one.notes)
    assert one.source == f"synthetic:{model}?seed=1&rows=500"
    assert (one.rows, one.symbols) == (500, (model.upper(),))


def test_an_instrument_stays_the_same_when_others_come_beside_it() -> None:
    alone = load_bars(["synthetic:gbm?symbols=A"]).candles["A"].close
    beside = load_bars(["synthetic:gbm?symbols=B,A"]).candles["A"].close
    assert alone.tolist() == beside.tolist()
    assert alone.tolist() != load_bars(["synthetic:gbm?symbols=B"]).candles["B"].close.tolist()


def test_gbm_has_the_volatility_and_the_start_that_were_asked_for() -> None:
    bars = load_bars(["synthetic:gbm?rows=20000&volatility=0.5&drift=0&price=40"]).candles["GBM"]
    assert bars.open[0] == 40
    assert np.diff(np.log(bars.close)).std() * np.sqrt(365) == pytest.approx(0.5, rel=0.03)


@pytest.mark.parametrize(
    "query", ["rows=0", "rows=x", "volatility=nan", "price=-1", "timeframe=1mo", "timeframe=x", "seed=-1", "start=soon"]
)
def test_a_recipe_that_cannot_be_is_refused(query: str) -> None:
    with pytest.raises(DataError):
        load_bars([f"synthetic:gbm?{query}"])
    with pytest.raises(DataError, match="gbm"):
        load_bars(["synthetic:magic"])
