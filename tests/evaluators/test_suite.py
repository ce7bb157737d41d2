"""Every evaluator answers every odd case, and the suite finds what it is there to find."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest

from ringfence.base.errors import AgentError, SettingsError
from ringfence.base.plugins import find_plugin
from ringfence.evaluators import (
    coherence,
    correctness,
    execution,
    intent,
    lookahead,
    parameters,
    robustness,
    schema,
    source,
    trade_execution,
)
from ringfence.evaluators.case import Case
from ringfence.evaluators.judging import Answer, Question
from ringfence.evaluators.panel import PANEL, evaluators
from ringfence.evaluators.verdict import Evaluator, Kind, Status, Verdict
from ringfence.testing.evaluator import EvaluatorSuite, odd_cases


class TestSchema(EvaluatorSuite):
    @pytest.fixture
    def evaluator(self) -> Evaluator:
        return schema.create()


class TestParameters(EvaluatorSuite):
    @pytest.fixture
    def evaluator(self) -> Evaluator:
        return parameters.create()


class TestSource(EvaluatorSuite):
    @pytest.fixture
    def evaluator(self) -> Evaluator:
        return source.create()


class TestCorrectness(EvaluatorSuite):
    about_trading = True

    @pytest.fixture
    def evaluator(self) -> Evaluator:
        return correctness.create()


class TestExecution(EvaluatorSuite):
    about_trading = True

    @pytest.fixture
    def evaluator(self) -> Evaluator:
        return execution.create()


class TestLookahead(EvaluatorSuite):
    @pytest.fixture
    def evaluator(self) -> Evaluator:
        return lookahead.create()


class TestRobustness(EvaluatorSuite):
    about_trading = True

    @pytest.fixture
    def evaluator(self) -> Evaluator:
        return robustness.create()


def agrees(question: Question) -> Answer:
    return Answer(parsed={"status": "passed", "score": 0.9, "explanation": "it does", "errors": [], "warnings": []})


class TestIntent(EvaluatorSuite):
    @pytest.fixture
    def evaluator(self) -> Evaluator:
        return intent.create(agrees)


class TestIntentWithoutModel(EvaluatorSuite):
    @pytest.fixture
    def evaluator(self) -> Evaluator:
        return intent.create()


class TestCoherence(EvaluatorSuite):
    @pytest.fixture
    def evaluator(self) -> Evaluator:
        def away(question: Question) -> Answer:
            raise AgentError("the model does not answer: try again later")

        return coherence.create(away)


class TestTradeExecution(EvaluatorSuite):
    about_trading = True

    @pytest.fixture
    def evaluator(self) -> Evaluator:
        return trade_execution.create(agrees)


def test_the_table_names_each_evaluator_by_its_file() -> None:
    assert [one.name for one in evaluators()] == list(PANEL)
    assert {one.name: one.kind for one in evaluators()} == {name: seat.kind for name, seat in PANEL.items()}
    with pytest.raises(SettingsError, match=r"unknown: use one of .*correctness"):
        find_plugin("ringfence.evaluators", "nobody")


# The suite itself.


@dataclass
class Made:
    """An evaluator that says what it is told to."""

    verdict: Verdict
    name: str = "made"
    kind: Kind = "deterministic"
    asked: list[str] = field(default_factory=list)

    def judge(self, case: Case) -> Verdict:
        self.asked.append(case.idea)
        return self.verdict


def said(status: Status, score: float, *errors: str, warnings: tuple[str, ...] = ()) -> Made:
    return Made(
        Verdict(name="made", kind="deterministic", status=status, score=score, errors=errors, warnings=warnings)
    )


def test_the_cases_are_odd_in_many_ways() -> None:
    cases = odd_cases()
    assert any(case.run is None for case in cases.values())
    assert any(case.bars is None for case in cases.values())
    assert len({type(case.description.plan) for case in cases.values() if case.description}) == 4


def test_the_suite_finds_errors_without_a_remedy() -> None:
    EvaluatorSuite().test_an_error_says_what_to_do(said("failed", 0.0, "it is wrong: mend it"))
    with pytest.raises(AssertionError, match="no remedy"):
        EvaluatorSuite().test_an_error_says_what_to_do(said("failed", 0.0, "it is wrong"))


@pytest.mark.parametrize(
    "made",
    [
        said("failed", 0.0),
        said("failed", 0.9, "wrong: mend it"),
        said("passed", 1.0, "wrong: mend it"),
        said("skipped", 0.0),
        said("warning", 0.7),
    ],
)
def test_the_suite_finds_a_status_that_is_not_what_is_said(made: Made) -> None:
    with pytest.raises(AssertionError):
        EvaluatorSuite().test_a_status_agrees_with_what_is_said(made)


def test_the_suite_finds_a_pass_without_a_trade() -> None:
    class Trading(EvaluatorSuite):
        about_trading = True

    with pytest.raises(AssertionError):
        Trading().test_what_traded_nothing_never_passes(said("passed", 1.0))
    EvaluatorSuite().test_what_traded_nothing_never_passes(said("passed", 1.0))


def test_a_score_outside_of_its_range_is_no_verdict() -> None:
    for score in (-0.1, 1.1, float("nan"), float("inf")):
        with pytest.raises(ValueError, match="from 0 to 1"):
            Verdict(name="x", kind="model", status="passed", score=score)
