"""Each shim mends what it is for, says so with its kind, and leaves alone what works."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from ringfence.sandbox.job import Mount
from ringfence.trade.arrow import write_bars
from ringfence.trade.bars import Bars, Candles
from ringfence.trade.scripts import ScriptReport, ScriptRun, read_script_report

from tests.corpus.bench import Bench, open_bench
from tests.corpus.programs import BTC, program
from tests.corpus.strategies import SKETCHES

SMA, EMA = SKETCHES[0], SKETCHES[1]
NEXT = "    def next(self):\n"


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    with open_bench(tmp_path_factory.mktemp("prices")) as bench:
        yield bench


def healed(bench: Bench, text: str) -> tuple[ScriptRun, dict[str, str]]:
    report = bench.report(text, heal=True, files=[BTC])
    assert report.headline is not None
    return report.headline, {healed.what: healed.kind for healed in report.healed}


def same_as(bench: Bench, healthy: str, sick: str) -> dict[str, str]:
    """The healed text gives what the healthy one gives; returns what was healed."""
    assert not bench.outcome(sick).ok
    run, what = healed(bench, sick)
    assert run.statistics == bench.headline(healthy).statistics
    return what


def test_a_script_that_runs_is_the_same_when_healing_is_on(bench: Bench) -> None:
    for sketch in SKETCHES:
        text = program(sketch, settings=2)
        run, what = healed(bench, text)
        assert run.statistics == bench.headline(text).statistics and not what, sketch.name


def test_nothing_is_healed_unless_it_is_asked_for(bench: Bench) -> None:
    outcome = bench.outcome(program(SMA).replace("import crossover", "import crossover, crossunder"))
    assert outcome.error is not None and outcome.error.type == "ImportError"


def test_crossunder_is_crossover_the_other_way_round(bench: Bench) -> None:
    sick = program(SMA).replace("crossover(self.sma2, self.sma1)", "crossunder(self.sma1, self.sma2)")
    what = same_as(bench, program(SMA), sick.replace("import crossover", "import crossover, crossunder"))
    assert set(what.values()) == {"alias"}


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("self.trades[-1].entry_price", "self.position.entry_price"),
        ("self.trades[-1].entry_price", "self.position.avg_price"),
        ("self.data.Close[0] + self.trades[0].entry_bar", "self.data.Close[0] + self.position.entry_bar"),
        ("self.position.pl", "self.position.pnl"),
        ("self._broker._cash", "self.broker.cash"),
        ("self._broker._cash", "self.broker.get_cash()"),
        ("self.equity", "self.broker.equity"),
        ("len(self.data) - 1", "self.i"),
        ("self.data.Close[-1]", "self.data.Close.iloc[-1]"),
        ("self.data.Close[-2]", "self.data.Close.shift(1).iloc[-1]"),
        ("self.data.Close[-3:].mean()", "self.data.Close.rolling(3).mean().iloc[-1]"),
        ("self.data.Close.s.ewm(span=5).mean().iloc[-1]", "self.data.Close.ewm(span=5).mean().iloc[-1]"),
        ("self.data.High[-1]", "self.data.high[-1]"),
        ("self.data.df.iloc[-1]['Low']", "self.data.iloc[-1]['Low']"),
    ],
)
def test_an_invented_attribute_has_its_evident_meaning(bench: Bench, right: str, wrong: str) -> None:
    use = "        if self.position and ({}) % 7 < 1:\n            self.position.close()\n"
    healthy, sick = (program(SMA, run="bt.run()\n").replace(NEXT, NEXT + use.format(e)) for e in (right, wrong))
    assert set(same_as(bench, healthy, sick).values()) == {"alias"}


def test_a_size_is_rounded_down_to_whole_units(bench: Bench) -> None:
    what = same_as(bench, _sized("12"), _sized("12.7"))
    assert list(what.values()) == ["semantic"] and "rounded down" in next(iter(what))


def test_an_order_of_no_size_is_not_placed(bench: Bench) -> None:
    run, what = healed(bench, _sized("float('nan')"))
    assert run.trades == () and list(what.values()) == ["semantic"]


def _sized(size: str) -> str:
    return program(EMA, settings=2).replace("self.buy()", f"self.buy(size={size})")


def test_an_order_with_its_stop_on_the_wrong_side_is_not_placed(bench: Bench) -> None:
    sick = program(EMA, settings=2).replace(
        "self.buy()", "self.buy(sl=self.data.Close[-1] * (1.1 if self.odd() else .9))"
    )
    sick = sick.replace(NEXT, "    def odd(self):\n        return len(self.data) % 2\n\n" + NEXT)
    healthy = sick.replace("if not self.position:", "if not self.position and not self.odd():")
    assert list(same_as(bench, healthy, sick).values()) == ["semantic"]


def test_names_without_their_import_are_found(bench: Bench) -> None:
    what = same_as(bench, program(EMA), program(EMA).replace("import pandas as pd\n", ""))
    assert what == {"The name pd was used without its import: it was taken from pandas.": "lossless"}


def test_pandas_ta_is_its_successor_and_takes_arrays(bench: Bench) -> None:
    sick = program(EMA).replace("self.I(EMA, self.data.Close, self.fast)", "self.I(ta.ema, self.data.Close, self.fast)")
    run, what = healed(bench, sick.replace("import pandas as pd\n", "import pandas as pd\nimport pandas_ta as ta\n"))
    assert run.trades and set(what.values()) == {"lossless"}


def test_removed_names_of_numpy_and_pandas_are_what_they_were(bench: Bench) -> None:
    lines = (
        "assert np.isnan(np.NaN) and np.float is float and -np.Inf < 0\n"
        "log = pd.DataFrame({'a': [1]}).append({'a': 2}, ignore_index=True)\n"
        "assert log['a'].tolist() == [1, 2] and [n for n, _ in log.iteritems()] == ['a']\n"
        "assert data.ix[0]['Close'] == data.iloc[0]['Close']\n"
        "assert pd.Series([1, 2]).append(pd.Series([3])).sum() == 6\n"
    )
    what = same_as(bench, program(SMA), program(SMA).replace("bt = Backtest", lines + "bt = Backtest"))
    assert set(what.values()) == {"lossless"} and len(what) == 7


def test_columns_are_found_however_they_are_spelled(bench: Bench) -> None:
    clean = program(EMA, "cleaned", settings=2)
    start, end = clean.index("data = pd.read_csv"), clean.index("bt = Backtest")
    raw = f"data = pd.read_csv('{BTC}', parse_dates=['datetime'], index_col='datetime')\n"
    what = same_as(bench, clean, clean[:start] + raw + clean[end:])
    assert set(what.values()) == {"lossless"}


def test_a_file_elsewhere_of_the_same_name_is_read(bench: Bench) -> None:
    clean = program(EMA, "cleaned", settings=2)
    what = same_as(bench, clean, clean.replace(BTC, "BTC-USD-15m.csv"))
    assert f"The file 'BTC-USD-15m.csv' was read from {BTC!r}." in what


@pytest.fixture(scope="module")
def bars(tmp_path_factory: pytest.TempPathFactory) -> Mount:
    rng = np.random.default_rng(3)
    close = 100 * np.exp(np.cumsum(rng.normal(0, 0.02, 400)))
    opening = np.concatenate([[100.0], close[:-1]])
    time = np.arange(400, dtype=np.int64) * 86_400_000_000_000
    candles = Candles(
        time, opening, np.maximum(opening, close) + 1, np.minimum(opening, close) - 1, close, np.full(400, 9.0)
    )
    path = tmp_path_factory.mktemp("bars") / "bars.arrow"
    write_bars(Bars(candles={"X": candles}, timeframe="1d", source="test"), path)
    return Mount(path, "/data/bars.arrow")


@pytest.mark.parametrize(
    "reading",
    [
        "data = pd.read_csv('x.csv', index_col=0, parse_dates=True)\n",
        "data = pd.read_csv('x.csv')\ndata['Date'] = pd.to_datetime(data['Date'])\ndata = data.set_index('Date')\n",
        "data = pd.read_csv('x.csv')\ndata['close'].mean()\ndata.index = pd.to_datetime(data['timestamp'])\n",
    ],
)
def test_a_missing_file_is_replaced_by_the_given_bars_and_that_is_said(bench: Bench, bars: Mount, reading: str) -> None:
    text = program(SMA, settings=2).replace("data = GOOG.copy()\n", reading)
    report = _with_bars(bench, text, bars)
    assert report.headline is not None and report.headline.bars.rows == 400 and report.headline.bars.dated
    assert [h.what for h in report.healed if h.kind == "semantic"] == [
        "The file 'x.csv' does not exist: the given bars were used in its place."
    ]


def _with_bars(bench: Bench, text: str, bars: Mount) -> ScriptReport:
    outcome = bench.outcome(text, mounts=(bars,), heal=True, bars=bars.guest)
    assert outcome.ok, outcome.stderr
    return read_script_report(outcome.result)


def test_an_added_run_takes_the_bars(bench: Bench, bars: Mount) -> None:
    outcome = bench.outcome(program(SMA, run=""), mounts=(bars,), add_run=True, bars=bars.guest)
    run = read_script_report(outcome.result).headline
    assert run is not None and run.bars.last == "1971-02-04T00:00:00"


def test_missing_data_is_never_invented(bench: Bench, bars: Mount) -> None:
    text = program(SMA).replace(NEXT, NEXT + "        self.data.funding_rate[-1]\n")
    outcome = bench.outcome(text, mounts=(bars,), heal=True, bars=bars.guest)
    report = read_script_report(outcome.result)
    assert outcome.status == "error" and not report.runs
    assert [(need.kind, need.name) for need in report.needs] == [("column", "funding_rate")]


def test_what_workers_healed_is_listed_too(bench: Bench) -> None:
    sick = program(SMA, run="bt.optimize(n1=[5, 10], n2=[20, 30])\n").replace(NEXT, NEXT + "        self.i\n")
    report = bench.report(sick, heal=True)
    assert report.healed[0].count > 4 * 2_000


def test_the_bars_file_is_named_when_it_is_no_bars_file(bench: Bench, tmp_path: Path) -> None:
    broken = tmp_path / "broken.arrow"
    broken.write_bytes(b"nothing")
    outcome = bench.outcome(program(SMA, run=""), mounts=(Mount(broken, "/data/b"),), add_run=True, bars="/data/b")
    assert outcome.error is not None and "is no file of bars" in outcome.error.message
