"""Outcome, completeness, plausibility, provenance: one doctored run for each."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from ringfence.evaluators.case import Case
from ringfence.evaluators.execution import create
from ringfence.testing.fake import outcome
from ringfence.trade.run import Curve, EngineRef, Failing

from tests.evaluators.built import case_of, make_bars, with_run

WORDS = "Buy GOOG when RSI is below 40. Sell when RSI is above 55. Stop loss 5 %."


@pytest.fixture(scope="module")
def case() -> Case:
    made = case_of(WORDS)
    assert made.run is not None and len(made.run.trades) > 10
    return made


def metrics(case: Case, **changes: object) -> Case:
    assert case.run is not None and case.run.metrics is not None
    return with_run(case, metrics=replace(case.run.metrics, **changes))  # type: ignore[arg-type]  # fields of Metrics


def test_a_whole_verified_run_passes(case: Case) -> None:
    verdict = create().judge(case)
    assert (verdict.status, verdict.score, verdict.errors) == ("passed", 1.0, ())


def test_without_a_run_there_is_nothing_to_say(case: Case) -> None:
    assert create().judge(replace(case, run=None)).status == "skipped"


def test_an_outcome_without_a_run_fails_with_its_reason(case: Case) -> None:
    verdict = create().judge(replace(case, run=None, outcome=outcome(status="timeout", reason="30 s are over")))
    assert verdict.errors == ("timeout: 30 s are over: mend that and run it again",)


def test_an_outcome_that_is_not_ok_fails(case: Case) -> None:
    verdict = create().judge(replace(case, outcome=outcome(status="memory_limit", reason="512 MB")))
    assert (verdict.status, verdict.score) == ("failed", 0.0)


def test_a_failed_run_says_where(case: Case) -> None:
    assert case.run is not None
    failing = Failing(type="ValueError", message="x", line=7, bar=3, time=0, traceback="")
    seen = replace(case.run.outcome, status="error", failing=failing)
    verdict = create().judge(with_run(case, verdict="failed", reason="ValueError: x", outcome=seen, metrics=None))
    assert verdict.errors == ("failed (error) on line 7: ValueError: x: mend that and run it again",)


def test_zero_trades_never_pass() -> None:
    verdict = create().judge(case_of("Buy GOOG when RSI is below 2. Sell when RSI is above 65."))
    assert (verdict.status, verdict.score) == ("failed", 0.0)
    assert verdict.errors[0].startswith("nothing was traded (the closest the RSI came to 5 was 12.3): loosen the entry")


def test_a_run_that_says_it_traded_and_lists_nothing_fails(case: Case) -> None:
    assert create().judge(with_run(case, trades=(), fills=())).status == "failed"


def test_a_mismatch_fails_loudly(case: Case) -> None:
    told = "MISMATCH: inside, the cash was 1; replayed here it is 2"
    verdict = create().judge(with_run(case, provenance="mismatch", warnings=("x", told)))
    assert (verdict.status, verdict.score) == ("failed", 0.0)
    assert told in verdict.errors[0]


def test_a_claim_is_a_warning_with_less_than_a_pass(case: Case) -> None:
    own = EngineRef(version="1", rules=None, fed="history", libraries={})
    verdict = create().judge(with_run(case, provenance="claimed", engine=own, fills=(), orders=(), statistics={"x": 1}))
    assert verdict.status == "warning"
    assert 0.5 <= verdict.score < 0.7
    empty = create().judge(with_run(case, provenance="claimed", engine=own, fills=(), metrics=None, statistics=None))
    assert empty.errors == ("the script left no statistics: let it call Backtest.run() and end",)


def test_repairs_and_few_trades_are_told(case: Case) -> None:
    assert case.run is not None
    healed = create().judge(with_run(case, healed=("columns renamed",)))
    assert (healed.status, healed.score) == ("warning", 0.9)
    few = metrics(with_run(case, trades=case.run.trades[:3]), trades=3)
    assert create().judge(few).warnings[0].startswith("3 trades prove little")
    assert create().judge(few).score == 0.9


@pytest.mark.parametrize("name", ["metrics", "equity", "bars"])
def test_half_a_result_fails(case: Case, name: str) -> None:
    assert create().judge(with_run(case, **{name: None})).errors == (f"the result has no {name}: run it again",)


def test_trades_without_fills_fail(case: Case) -> None:
    assert create().judge(with_run(case, fills=())).errors == ("the result has trades and no fills: run it again",)


def test_a_run_of_something_else_fails(case: Case) -> None:
    assert case.run is not None
    other = create().judge(with_run(case, draft=replace(case.run.draft, sha256="0" * 64)))
    assert other.errors == ("the run is of another program text: backtest this one",)
    moved = create().judge(replace(case, bars=make_bars(seed=9)))
    assert moved.errors == ("the run is on other bars than these: backtest it on them",)


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"sharpe": math.nan}, "sharpe is nan"),
        ({"win_rate": 1.5}, "win_rate is 1.5"),
        ({"exposure": -0.5}, "exposure is -0.5"),
        ({"max_drawdown": 0.2}, "max_drawdown is 0.2"),
        ({"fees": -5.0}, "fees are -5"),
        ({"total_return": 9.0}, "total_return is 9"),
        ({"trades": 1}, "the metrics count 1 trades"),
    ],
)
def test_numbers_that_cannot_be_fail(case: Case, changes: dict[str, object], told: str) -> None:
    verdict = create().judge(metrics(case, **changes))
    assert verdict.status == "failed"
    assert verdict.errors[0].startswith(told)


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"sharpe": 9.0}, "a Sharpe ratio of 9.0"),
        ({"cagr": 20.0}, "2000% a year"),
        ({"ruined_at": "2020"}, "the account"),
    ],
)
def test_numbers_that_are_too_good_are_doubted(case: Case, changes: dict[str, object], told: str) -> None:
    verdict = create().judge(metrics(case, **changes))
    assert verdict.status == "warning"
    assert verdict.warnings[0].startswith(told)


def test_an_equity_with_holes_or_backwards_fails(case: Case) -> None:
    assert case.run is not None and case.run.equity is not None
    time, value = case.run.equity.time, case.run.equity.value
    holes = Curve(time, np.where(np.arange(len(value)) == 5, np.nan, value))
    assert create().judge(with_run(case, equity=holes)).errors[0].startswith("the equity has no value")
    assert create().judge(with_run(case, equity=Curve(time[::-1], value))).errors[0].startswith("the equity goes back")
