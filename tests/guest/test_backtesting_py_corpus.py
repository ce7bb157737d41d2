"""Every script of the corpus that is program text ends as its group says."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from ringfence.trade.scripts import ScriptReport, read_script_report

from tests.corpus.bench import LIMITS, Bench, open_bench
from tests.corpus.programs import BTC
from tests.corpus.scripts import FILES, Script, scripts

ALL = list(scripts())


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    with open_bench(tmp_path_factory.mktemp("prices")) as bench:
        yield bench


def of(*groups: str) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("script", [s for s in ALL if s.group in groups], ids=lambda script: script.name)


def trades(report: ScriptReport) -> object:
    assert report.headline is not None
    return report.headline.statistics["# Trades"]


def test_the_corpus_is_large_and_its_names_are_unique() -> None:
    assert len(ALL) >= 300 and len({script.name for script in ALL}) == len(ALL)
    assert [script.text for script in scripts()] == [script.text for script in ALL]


@of("good")
def test_a_good_script_trades(bench: Bench, script: Script) -> None:
    report = bench.report(script.text)
    assert isinstance(number := trades(report), int) and number > 0 and not report.healed


@of("no_trades")
def test_a_quiet_script_trades_nothing(bench: Bench, script: Script) -> None:
    assert trades(bench.report(script.text)) == 0


@of("healable")
def test_a_healable_script_fails_as_it_is_and_runs_when_healed(bench: Bench, script: Script) -> None:
    assert not bench.outcome(script.text).ok
    report = bench.report(script.text, heal=True, files=list(FILES))
    assert report.runs and report.healed


@of("unrun")
def test_a_script_that_never_runs_is_given_a_run(bench: Bench, script: Script) -> None:
    assert not bench.report(script.text).runs
    assert bench.report(script.text, add_run=True, data=BTC, cash=100_000).runs


@of("needs_data")
def test_missing_data_is_named_also_when_healing(bench: Bench, script: Script) -> None:
    for heal in (False, True):
        report = read_script_report(bench.outcome(script.text, heal=heal).result)
        assert report.needs and not report.runs


@of("failed")
def test_a_failing_script_fails_also_when_healed(bench: Bench, script: Script) -> None:
    for heal in (False, True):
        outcome = bench.outcome(script.text, heal=heal)
        assert outcome.status in ("error", "exit")
        assert outcome.result is None or not read_script_report(outcome.result).needs


@of("not_a_strategy")
def test_what_is_no_strategy_has_neither_classes_nor_runs(bench: Bench, script: Script) -> None:
    report = read_script_report(bench.outcome(script.text).result)
    assert not report.runs and not report.classes


@of("timeout", "memory_limit")
def test_a_greedy_script_is_stopped(bench: Bench, script: Script) -> None:
    outcome = bench.outcome(script.text, limits=replace(LIMITS, wall_seconds=5, memory_mb=400))
    assert outcome.status in script.verdicts
