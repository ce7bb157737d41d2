"""The driver for backtesting.py scripts: what it records, what it draws, and how it ends."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from ringfence.trade.scripts import read_script_report

from tests.corpus.bench import LIMITS, Bench, open_bench
from tests.corpus.programs import BTC, program
from tests.corpus.strategies import SKETCHES

SMA = SKETCHES[0]
RUN = "stats = bt.run()\n"


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    with open_bench(tmp_path_factory.mktemp("prices")) as bench:
        yield bench


def test_a_run_is_recorded_with_its_class_parameters_settings_and_prices(bench: Bench) -> None:
    run = bench.headline(program(SMA, settings=3, run="bt.run(n1=7)\n"), symbol="GOOG")
    assert (run.kind, run.class_name, dict(run.parameters)) == ("run", "SmaCross", {"n1": 7, "n2": 30})
    assert run.settings["commission"] == (5, 0.0005) and run.settings["cash"] == 1_000_000
    assert (run.bars.rows, run.bars.first, run.bars.dated) == (2148, "2004-08-19T00:00:00", True)
    assert {trade.symbol for trade in run.trades} == {"GOOG"}
    assert len(run.trades) == run.statistics["# Trades"]
    assert sum(trade.fees for trade in run.trades) == pytest.approx(run.statistics["Commissions [$]"])
    assert run.equity is not None and run.equity.value[-1] == run.statistics["Equity Final [$]"]


def test_what_a_script_does_to_its_statistics_afterwards_changes_nothing(bench: Bench) -> None:
    honest = bench.headline(program(SMA, run=RUN))
    forged = bench.headline(
        program(SMA, run=RUN + "stats['Return [%]'] = 1e9\nstats['_trades'].drop(index=0, inplace=True)\n")
    )
    assert forged.statistics == honest.statistics and forged.trades == honest.trades


def test_results_are_kept_in_order_and_the_oldest_are_counted_when_they_are_too_many(bench: Bench) -> None:
    report = bench.report(program(SMA, run="for n in range(5, 65):\n    bt.run(n1=n, n2=70)\n"))
    assert [run.parameters["n1"] for run in report.runs] == list(range(15, 65))
    assert report.dropped == 10


def test_an_optimisation_is_one_result(bench: Bench) -> None:
    report = bench.report(program(SMA, run="bt.optimize(n1=[5, 10], n2=[20, 30])\n"))
    assert [run.kind for run in report.runs] == ["optimize"]


def test_orders_cancelled_for_margin_are_counted_even_if_warnings_are_silenced(bench: Bench) -> None:
    text = program(SMA, run="import warnings\nwarnings.simplefilter('ignore')\nbt.run()\n").replace(
        "self.buy()", "self.buy(size=10_000)"
    )
    run = bench.headline(text)
    assert run.cancelled_orders > 10
    warning = next(w for w in run.warnings if "insufficient margin" in w.text)
    assert warning.count == run.cancelled_orders and "equity=" not in warning.text


def test_warnings_point_at_the_scripts_own_line(bench: Bench) -> None:
    text = program(SMA, run=RUN)
    line = next(number for number, line in enumerate(text.splitlines(), 1) if line == RUN.strip())
    assert f"/box/script.py:{line}: UserWarning: Some trades remain open" in bench.outcome(text).stderr


def test_a_failing_text_still_reports_what_ran_before(bench: Bench) -> None:
    outcome = bench.outcome(program(SMA, run=RUN + "raise ValueError('later')\n"))
    assert outcome.status == "error" and outcome.error is not None
    assert (outcome.error.type, outcome.error.message) == ("ValueError", "later")
    assert len(read_script_report(outcome.result).runs) == 1


def test_a_failure_inside_a_worker_of_optimize_is_the_scripts_own(bench: Bench) -> None:
    text = program(SMA, run="bt.optimize(n1=[5, 10], n2=[20, 30])\n").replace(
        "    def next(self):\n", "    def next(self):\n        raise ZeroDivisionError('in next')\n"
    )
    outcome = bench.outcome(text)
    assert outcome.error is not None and outcome.error.type == "ZeroDivisionError"
    assert "in next" in outcome.error.traceback and outcome.error.line is not None


def test_a_worker_that_is_killed_is_an_error_and_no_wait(bench: Bench) -> None:
    text = program(SMA, run="bt.optimize(n1=[5, 10], n2=[20, 30])\n").replace(
        "    def next(self):\n", "    def next(self):\n        import os\n        os.kill(os.getpid(), 9)\n"
    )
    outcome = bench.outcome(text)
    assert outcome.error is not None and "ended without an answer" in outcome.error.message


def test_optimize_works_where_no_other_process_is_allowed(bench: Bench) -> None:
    text = program(SMA, run="bt.optimize(n1=[5, 10], n2=[20, 30])\n")
    outcome = bench.outcome(text, limits=replace(LIMITS, processes=1))
    assert read_script_report(outcome.result).headline is not None, outcome.stderr


def test_a_plot_is_a_page_of_its_own_and_needs_no_network(bench: Bench) -> None:
    outcome = bench.outcome(
        program(SMA, run=RUN + "bt.plot()\nbt.plot(filename='/Users/me/x.html')\nbt.plot(filename='c')\n")
    )
    pages = {artifact.name: artifact.data for artifact in outcome.artifacts}
    assert set(pages) == {"plot.html", "plot-2.html", "c.html"}
    assert read_script_report(outcome.result).plots == ("plot.html", "plot-2.html", "c.html")
    page = pages["plot.html"]
    assert page is not None and b"<script src=" not in page.replace(
        b'<script type="text/javascript" src=', b"<script src="
    )
    assert b"plx.gif" not in page


def test_a_plot_that_fails_is_a_warning(bench: Bench) -> None:
    report = bench.report(program(SMA, run="bt.plot()\n" + RUN))
    assert len(report.runs) == 1 and not report.plots
    assert any("plot() failed" in warning.text for warning in report.warnings)


def test_a_strategy_that_is_never_run_is_named(bench: Bench) -> None:
    report = bench.report(program(SMA, run=""))
    assert (report.runs, report.classes) == ((), ("SmaCross",))


def test_a_run_can_be_added_and_is_listed_as_such(bench: Bench) -> None:
    report = bench.report(program(SMA, run=""), add_run=True, data=BTC, cash=50_000, commission=0.001)
    assert report.headline is not None and report.headline.settings["cash"] == 50_000
    assert [healed.kind for healed in report.healed] == ["semantic"]
    assert not bench.report(program(SMA, run=RUN), add_run=True, data=BTC).healed


def test_threads_and_exit_handlers_are_waited_for(bench: Bench) -> None:
    late = "import atexit, threading\natexit.register(lambda: bt.run(n1=6))\n"
    late += "threading.Timer(.1, lambda: bt.run(n1=5)).start()\n"
    assert [run.parameters["n1"] for run in bench.report(program(SMA, run=late)).runs] == [5, 6]


def test_a_result_that_does_not_fit_loses_details_and_says_so(bench: Bench) -> None:
    outcome = bench.outcome(program(SMA, run="for n in range(5, 45):\n    bt.run(n1=n, n2=50)\n"), result_mb=1)
    report = read_script_report(outcome.result)
    assert outcome.ok and report.headline is not None and report.headline.trades
    assert report.runs[0].trades == () and report.runs[0].trades_dropped > 0 and report.notes


def test_half_a_character_costs_nobody_the_result(bench: Bench) -> None:
    text = program(SMA, run=RUN).replace("    n1 = 10\n", "    n1 = 10\n    word = '\\ud800'\n")
    assert bench.headline(text).parameters["word"] == "?"


def test_prices_without_stamps_are_counted_and_not_dated(bench: Bench) -> None:
    run = bench.headline(program(SMA, run="bt = Backtest(data.reset_index(drop=True), SmaCross)\nbt.run()\n"))
    assert not run.bars.dated and run.equity is not None and run.equity.time[-1] == 2147


def test_a_tag_is_the_reason_of_its_trade(bench: Bench) -> None:
    assert {t.entry_reason for t in bench.headline(program(SKETCHES[6], settings=2)).trades} == {"cross"}


def test_a_missing_file_is_named_even_if_the_script_catches_the_error(bench: Bench) -> None:
    text = program(SMA, run=RUN).replace(
        "data = GOOG.copy()", "try:\n    data = pd.read_csv('a/b.csv')\nexcept FileNotFoundError:\n    raise SystemExit"
    )
    assert [(need.kind, need.name) for need in bench.report(text).needs] == [("file", "a/b.csv")]


def test_warnings_of_making_a_backtest_belong_to_its_run(bench: Bench) -> None:
    report = bench.report(program(SMA, run="bt = Backtest(data, SmaCross, cash=100)\nbt.run()\n"))
    assert report.headline is not None
    for warnings in (report.warnings, report.headline.warnings):
        assert any("larger than initial cash" in warning.text for warning in warnings)


def test_orders_cancelled_in_the_best_run_of_an_optimisation_are_counted(bench: Bench) -> None:
    text = program(SMA, run="bt.optimize(n1=[5], n2=[20])\n").replace("self.sell()", "self.sell(size=10_000)")
    alone = bench.headline(text.replace("optimize(n1=[5], n2=[20])", "run(n1=5, n2=20)"))
    assert bench.headline(text).cancelled_orders == alone.cancelled_orders > 0
