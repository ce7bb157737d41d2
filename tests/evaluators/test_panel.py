"""What the verdicts come to: gates, averages, the summary, and what is told to whoever writes the next version."""

from __future__ import annotations

import json
import re
from dataclasses import fields, replace

import pytest
from hypothesis import given, strategies as st

from ringfence.evaluators.case import Case
from ringfence.evaluators.panel import PANEL, THRESHOLDS, evaluate, weigh
from ringfence.evaluators.verdict import Status, Verdict, found, skipped
from ringfence.trade.run import Lookahead

from tests.conftest import ROOT
from tests.evaluators.built import case_of, with_run

RSI = "Buy GOOG when RSI is below 45. Sell when RSI is above 55. Stop loss 5 %."


@pytest.fixture(scope="module")
def case() -> Case:
    return case_of(RSI)


def test_our_own_program_passes_every_gate(case: Case) -> None:
    seen = evaluate(case)
    assert seen.all_passed
    assert seen.pass_rate == 1.0
    assert seen.average_score > 0.9
    assert seen.summary.startswith("All gates passed: 6 verdicts")
    assert "Not judged: robustness, intent, coherence, trade_execution" in seen.summary
    assert [verdict.name for verdict in seen.verdicts] == list(PANEL)


def test_the_same_case_is_weighed_the_same(case: Case) -> None:
    assert evaluate(case).to_json() == evaluate(case).to_json()
    assert json.loads(json.dumps(evaluate(case).to_json(), allow_nan=False))["all_passed"] is True


def test_the_summary_says_which_gate_is_shut_and_why() -> None:
    seen = evaluate(case_of(RSI, parameters={"entry_rsi": 30}))
    assert not seen.all_passed
    assert set(seen.shut) == {"parameters", "correctness"}
    assert seen.summary.startswith("parameters: RSI below 45 was asked for and the program has 30, 55: write 45.")
    assert seen.pass_rate == pytest.approx(4 / 6)


def test_zero_trades_shut_the_gate_whatever_else_is_said(case: Case) -> None:
    idle = evaluate(case_of("Buy GOOG when RSI is below 2. Sell when RSI is above 55. Stop loss 5 %."))
    assert {"execution", "correctness"} <= set(idle.shut)
    praised = tuple(Verdict(name=v.name, kind=v.kind, status="passed", score=1.0) for v in idle.verdicts)
    kept = weigh(with_run(case, trades=()), praised)
    assert not kept.all_passed
    assert kept.summary == "execution: nothing was traded, and that is never a pass."


def test_what_has_not_run_shuts_the_gates_that_need_a_run(case: Case) -> None:
    seen = evaluate(replace(case, run=None))
    assert {"execution", "correctness", "lookahead"} == set(seen.shut)


def test_a_future_that_was_not_looked_at_is_told(case: Case) -> None:
    unseen = with_run(case, lookahead=Lookahead(status="not_checked", reason="it was not asked for"))
    assert evaluate(unseen).all_passed
    assert {v.name: v.status for v in evaluate(unseen).verdicts}["lookahead"] == "warning"
    suspect = with_run(case, lookahead=Lookahead(status="suspect", reason="1 of 3 cuts"))
    assert set(evaluate(suspect).shut) == {"lookahead"}


def test_a_judge_that_cannot_be_asked_shuts_nothing(case: Case) -> None:
    away = Verdict(name="intent", kind="model", status="error", score=0.0, errors=("no answer: try again",))
    ours = Verdict(name="correctness", kind="deterministic", status="error", score=0.0, errors=("no rules: say some",))
    assert weigh(case, (away,)).all_passed
    assert weigh(case, (ours,)).shut == {"correctness": "no rules: say some"}


def test_a_low_score_shuts_the_gate_without_an_error(case: Case) -> None:
    low = found("robustness", score=0.25, warnings=["there is no edge that could be lost"])
    assert weigh(case, (low,)).shut == {
        "robustness": "its score of 0.25 is below 0.40: there is no edge that could be lost"
    }


def test_what_is_skipped_is_in_no_average(case: Case) -> None:
    seen = weigh(case, (found("schema", score=0.8), skipped("robustness", "no reruns")))
    assert (seen.average_score, seen.pass_rate) == (0.8, 1.0)


STATUSES: list[Status] = ["passed", "failed", "warning", "skipped", "error"]


@given(
    st.lists(st.tuples(st.sampled_from([*PANEL, "another"]), st.sampled_from(STATUSES), st.floats(0, 1)), max_size=12)
)
def test_averages_stay_within_0_and_1(rows: list[tuple[str, Status, float]]) -> None:
    verdicts = tuple(Verdict(name=n, kind="deterministic", status=s, score=x) for n, s, x in rows)
    seen = weigh(Case(idea="", draft=None), verdicts)  # type: ignore[arg-type]  # a draft is not looked at
    assert 0 <= seen.average_score <= 1
    assert 0 <= seen.pass_rate <= 1
    assert not seen.all_passed  # nothing was traded


@given(st.floats(allow_nan=True, allow_infinity=True), st.lists(st.text()), st.lists(st.text()))
def test_any_score_is_brought_into_its_range(score: float, errors: list[str], warnings: list[str]) -> None:
    verdict = found("x", score=score, errors=errors, warnings=warnings)
    assert 0 <= verdict.score <= 1
    assert len(verdict.errors) <= 9


def test_the_docs_have_the_table_and_the_thresholds() -> None:
    page = (ROOT / "docs" / "evaluators.md").read_text(encoding="utf-8")
    for name, seat in PANEL.items():
        needed = "yes" if seat.needed else "no"
        assert f"| `{name}` | {seat.kind} | {seat.weight:g} | {seat.least:.2f} | {needed} |" in page, name
    for field in fields(THRESHOLDS):
        assert re.search(rf"\| `{field.name}` \| {getattr(THRESHOLDS, field.name):g} \|", page), field.name
