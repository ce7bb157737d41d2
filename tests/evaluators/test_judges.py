"""The judges that ask a model: what it is shown, and what becomes of its answer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pytest
from hypothesis import given, strategies as st

from ringfence.base.errors import AgentError
from ringfence.evaluators import coherence, intent, trade_execution
from ringfence.evaluators.judging import Answer, NotAsked, Question, question, trade_rows
from ringfence.evaluators.panel import evaluate
from ringfence.evaluators.verdict import Verdict
from ringfence.testing.runs import make_trade
from ringfence.trade.run import Json

from tests.evaluators.built import case_of

WORDS = "Buy GOOG when RSI is below 45. Sell when RSI is above 55. Stop loss 5 %."
CASE = replace(case_of(WORDS), indicators={"rsi(14)": (None, float("nan"), 44.5)})
CREATORS = [intent.create, coherence.create, trade_execution.create]


def answered(parsed: Mapping[str, Json] | None, **more: str) -> Verdict:
    return intent.create(lambda asked: Answer(parsed=parsed, **more)).judge(CASE)


def test_without_a_model_they_are_skipped_with_the_reason() -> None:
    for create in CREATORS:
        verdict = create().judge(CASE)
        assert verdict.status == "skipped"
        assert verdict.warnings == ("no model is configured: choose one with --model to have this judged",)


def test_a_model_that_is_left_alone_is_no_missing_model() -> None:
    def unasked(asked: Question) -> Answer:
        raise NotAsked("no model was asked: 5 of 5 tokens are used")

    for create in CREATORS:
        verdict = create(unasked).judge(CASE)
        assert (verdict.status, verdict.warnings) == ("skipped", ("no model was asked: 5 of 5 tokens are used",))


def test_they_see_code_rules_trades_and_indicator_values() -> None:
    seen: list[Question] = []

    def ask(asked: Question) -> Answer:
        seen.append(asked)
        return Answer(parsed={"status": "passed", "score": 1})

    for create in CREATORS:
        assert create(ask).judge(CASE).status == "passed"
    assert len({asked.asked for asked in seen}) == 3
    shown = seen[0]
    assert shown.idea == WORDS
    assert "class RsiRule" in shown.code
    assert shown.rules.startswith("Trade GOOG. Buy when the 14-bar RSI is below 45.")
    assert shown.indicators == ("rsi(14): -, -, 44.5",)
    assert shown.metrics["trades"] == len(CASE.run.trades if CASE.run else ())
    assert "start" not in shown.metrics
    assert shown.trades[0].startswith("GOOG long ")


def test_an_answer_is_a_verdict() -> None:
    said: dict[str, Json] = {
        "status": "failed", "score": 0.8, "explanation": "no", "errors": ["line 9 buys high"], "warnings": ["hm"],
    }  # fmt: skip
    verdict = answered(said, model="m")
    assert (verdict.status, verdict.score, verdict.errors) == ("failed", 0.49, ("line 9 buys high",))
    assert (verdict.kind, verdict.details["model"], verdict.warnings) == ("model", "m", ("hm",))
    assert answered({**said, "errors": []}).errors == ("no",)


def test_a_pass_with_a_low_score_is_a_doubt() -> None:
    assert answered({"status": "passed", "score": 0.2}).status == "warning"


@pytest.mark.parametrize(
    "parsed",
    [None, {}, {"status": "great", "score": 1}, {"status": "passed", "score": 7}, {"status": "passed", "score": True},
     {"status": "passed", "score": "1"}, {"status": "passed", "score": float("nan")}, {"status": "failed"}],
)  # fmt: skip
def test_an_answer_that_is_none_is_an_error_and_says_nothing_of_the_strategy(parsed: Mapping[str, Json] | None) -> None:
    verdict = answered(parsed, text="I would rather not")
    assert (verdict.status, verdict.score) == ("error", 0.0)
    assert verdict.errors[0].endswith(": ask another model")


def test_a_model_that_cannot_be_had_is_an_error() -> None:
    def away(asked: Question) -> Answer:
        raise AgentError("the day's budget is spent: wait, or raise it")

    seen = evaluate(CASE, judges=away)
    assert [v.status for v in seen.verdicts if v.kind == "model"] == ["error"] * 3
    assert seen.all_passed


def test_zero_trades_are_not_even_asked_about() -> None:
    def never(asked: Question) -> Answer:
        raise AssertionError("it was asked")

    idle = case_of("Buy GOOG when RSI is below 2. Sell when RSI is above 55.")
    verdict = trade_execution.create(never).judge(idle)
    assert (verdict.status, verdict.score) == ("failed", 0.0)
    assert trade_execution.create(never).judge(replace(idle, run=None)).status == "skipped"


def test_of_many_trades_the_first_and_the_last_are_shown() -> None:
    rows = trade_rows([make_trade(qty=float(n)) for n in range(1, 101)])
    assert len(rows) == 13
    assert rows[6] == "(88 trades between)"
    assert "still open" in trade_rows([make_trade(exit_time=None, exit_price=None)])[0]
    assert question("?", replace(CASE, run=None)).trades == ()


JSONS = st.recursive(st.none() | st.booleans() | st.floats() | st.text(), lambda inner: st.lists(inner, max_size=3))


@given(st.dictionaries(st.sampled_from(["status", "score", "errors", "warnings", "explanation"]), JSONS), JSONS, JSONS)
def test_any_answer_gives_a_score_within_0_and_1(parsed: dict[str, Json], status: Json, score: Json) -> None:
    for said in (parsed, {**parsed, "status": status, "score": score}, {**parsed, "status": "passed", "score": score}):
        assert 0 <= answered(said).score <= 1
