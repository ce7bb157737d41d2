"""The parts of the tear sheet that compute: thinning, months, drawdowns, bars of a histogram, numbers, the picture."""

from __future__ import annotations

import io
from dataclasses import replace

import numpy as np
import pytest
from matplotlib.image import imread

from ringfence.trade.run import Curve, Json
from ringfence.trade.times import DAY, parse_moment
from ringfence.verbs.report import formats, summary_png, tear_sheet
from ringfence.verbs.report.charts import make_charts
from ringfence.verbs.report.curves import MOST_POINTS, exposure, lowest_values, make_axis, on_axis
from ringfence.verbs.report.depths import deepest
from ringfence.verbs.report.histogram import trade_histogram
from ringfence.verbs.report.months import monthly

from tests.trade.run_builder import make_run
from tests.verbs.report_documents import HOSTILE, START, document, flat_curve, hostile_document, make_candles

MINUTE = 60 * 10**9


def curve(*values: float, start: int = START, step: int = DAY) -> Curve:
    return Curve(start + np.arange(len(values), dtype=np.int64) * step, np.array(values, np.float64))


def test_a_thinned_candle_is_what_its_bars_come_to() -> None:
    candles = make_candles(1000)
    axis = make_axis([candles.time], most=100)
    told = on_axis(axis, candles)
    assert len(axis.time) == 100 and axis.step == 10
    assert told["open"][3] == candles.open[30]
    assert told["high"][3] == candles.high[30:40].max()
    assert told["low"][3] == candles.low[30:40].min()
    assert told["close"][3] == candles.close[39]
    assert told["volume"][3] == candles.volume[30:40].sum()


def test_a_million_bars_are_thinned_and_the_page_says_so() -> None:
    candles = make_candles(1_000_000, step=MINUTE)
    bars = make_run().bars
    assert bars is not None
    run = document(
        bars=replace(bars, timeframe="1m"), equity=flat_curve(300, step=MINUTE), benchmark=None, indicators={}
    )
    charts = make_charts(run, {"GOOG": candles}, "UTC")
    assert len(charts.axis.time) <= MOST_POINTS
    assert "1,000,000 bars are drawn as 20,000 candles" in tear_sheet(run, code="", candles={"GOOG": candles})


def test_what_is_not_thinned_is_left_alone() -> None:
    candles = make_candles(252)
    told = on_axis(make_axis([candles.time]), candles)
    assert np.array_equal(told["close"], candles.close)
    assert not make_charts(document(), {"GOOG": candles}, "UTC").notes


def test_an_instrument_without_a_bar_has_a_gap_there() -> None:
    one, other = make_candles(10), make_candles(4, start=START + 3 * DAY)
    told = on_axis(make_axis([one.time, other.time]), other)
    assert np.isnan(told["close"][[0, 1, 2, 7, 8, 9]]).all()
    assert np.array_equal(told["close"][3:7], other.close)


def test_a_thinned_drawdown_keeps_its_depth() -> None:
    axis = make_axis([curve(*range(1, 101)).time], most=10)
    deep = curve(*([0.0] * 57 + [-0.5] + [0.0] * 42))
    assert lowest_values(axis, deep).min() == -0.5


def test_exposure_is_the_share_of_the_equity_that_is_invested() -> None:
    candles = make_candles(4)
    fills: Json = [
        {"symbol": "GOOG", "side": "buy", "qty": 10.0, "time": "2020-01-02T00:00:00Z"},
        {"symbol": "GOOG", "side": "sell", "qty": 30.0, "time": "2020-01-04T00:00:00Z"},
    ]
    found = exposure(fills, {"GOOG": candles}, flat_curve(4, 1000.0))
    assert found is not None
    held = np.array([0.0, 10.0, 10.0, -20.0])
    assert found.value == pytest.approx(held * candles.close / 1000.0)
    assert exposure([], {"GOOG": candles}, flat_curve(4)) is None


def test_months_count_from_the_month_before_and_years_compound_them() -> None:
    points = Curve(
        np.array([parse_moment(day) for day in ("2020-11-30", "2020-12-31", "2021-01-29", "2021-02-26")], np.int64),
        np.array([111.0, 98.0, 108.9, 108.9]),
    )
    first, second = monthly(points, None, "UTC", 100.0)
    assert (first.year, first.months[10].shown, first.months[11].shown, first.total.shown) == (
        2020,
        "+11.0%",
        "−11.7%",
        "−2.0%",
    )
    assert (second.months[0].shown, second.months[1].shown, second.total.shown) == ("+11.1%", "0.0%", "+11.1%")
    assert first.months[10].heat == "gain-5" and first.months[11].heat == "loss-5" and second.months[1].heat == "heat-0"
    assert first.months[0].shown == "" and first.benchmark.shown == ""


def test_the_deepest_drawdowns_come_first_and_an_open_one_is_called_so() -> None:
    first, second = deepest(curve(100, 90, 100, 120, 60, 90))
    assert (first.depth, first.peak, first.low, first.back) == ("−50.0%", "2020-01-04", "2020-01-05", "not yet")
    assert (second.depth, second.back, second.lasted) == ("−10.0%", "2020-01-03", "2 days")


def test_no_drawdown_is_no_row() -> None:
    assert deepest(flat_curve(5)) == []


def test_bars_of_the_histogram_never_mix_gains_and_losses() -> None:
    found = trade_histogram([-0.05, -0.01, 0.01, 0.02, 0.03])
    assert found is not None
    assert sum(bar.count for bar in found.bars) == 5
    assert sum(bar.count for bar in found.bars if bar.tone == "loss") == 2
    assert max(bar.height for bar in found.bars) == 100.0


def test_a_far_outlier_does_not_flatten_the_histogram() -> None:
    found = trade_histogram([0.01 * (at % 7 - 3) for at in range(500)] + [50.0])
    assert found is not None
    assert len(found.bars) > 5
    assert sum(bar.count for bar in found.bars) == 501
    assert "1 far beyond" in found.outside


@pytest.mark.parametrize("returns", [[0.0], [0.1], [-0.1], [0.0] * 40, [1e-9, -1e-9], [-1.0, 3.0]])
def test_a_histogram_holds_whatever_there_is(returns: list[float]) -> None:
    found = trade_histogram(returns)
    assert found is not None
    assert sum(bar.count for bar in found.bars) == len(returns)
    assert all(0 <= bar.left < 100 for bar in found.bars)


def test_without_trades_there_is_no_histogram() -> None:
    assert trade_histogram([]) is None


@pytest.mark.parametrize(
    ("shown", "wanted"),
    [
        (formats.percent(0.1234, signed=True), "+12.34%"),
        (formats.percent(-0.5), "−50.00%"),
        (formats.percent(123.0), "12,300%"),
        (formats.percent(0.0, signed=True), "0.00%"),
        (formats.percent(-0.000001, signed=True), "0.00%"),
        (formats.percent(None), "–"),
        (formats.money(1234567.891), "1,234,568"),
        (formats.money(-12.5, signed=True), "−12.50"),
        (formats.quantity(100.0), "100"),
        (formats.quantity(0.125), "0.125"),
        (formats.duration(1883), "1,883\N{NARROW NO-BREAK SPACE}days (5.2\N{NARROW NO-BREAK SPACE}years)"),
        (formats.duration(1), "1\N{NARROW NO-BREAK SPACE}day"),
        (formats.whatever(0.0821), "0.0821"),
        (formats.whatever(True), "yes"),
        (formats.whatever([1, "a\x1b"]), "[1, 'a\\x1b']"),
    ],
)
def test_numbers_read_well(shown: str, wanted: str) -> None:
    assert shown == wanted


def test_the_picture_is_the_same_each_time() -> None:
    run, candles = document(), {"GOOG": make_candles(252)}
    first = summary_png(run, candles=candles)
    assert first.startswith(b"\x89PNG")
    assert summary_png(run, candles=candles) == first


def test_the_picture_shows_that_prices_are_synthetic() -> None:
    bars = make_run().bars
    assert bars is not None
    assert pixels(document(bars=replace(bars, synthetic=True))) != pixels(document())


def test_the_picture_draws_whatever_there_is() -> None:
    nothing = document(verdict="failed", metrics=None, equity=None, benchmark=None, indicators={}, trades=(), bars=None)
    assert summary_png(nothing).startswith(b"\x89PNG")
    assert summary_png(document(benchmark=None)).startswith(b"\x89PNG")


@pytest.mark.filterwarnings("ignore:Glyph")  # a name may hold what the font cannot draw
def test_the_picture_takes_hostile_words() -> None:
    assert summary_png(hostile_document(), candles={HOSTILE: make_candles(252)}).startswith(b"\x89PNG")
    assert summary_png({**document(), "draft": {"name": "$\\frac{1}{$ {x} _^"}}).startswith(b"\x89PNG")


def pixels(run: object) -> bytes:
    assert isinstance(run, dict)
    found: bytes = imread(io.BytesIO(summary_png(run)), format="png").tobytes()
    return found
