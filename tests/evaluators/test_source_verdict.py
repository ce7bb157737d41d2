"""The lint as an evaluator."""

from __future__ import annotations

from dataclasses import replace

from ringfence.evaluators.case import Case
from ringfence.evaluators.source import create
from ringfence.testing.evaluator import look
from ringfence.trade.draft import read_draft
from ringfence.trade.lint import Finding
from ringfence.trade.lint.findings import lint

from tests.evaluators.texts import native

CLEAN = native(step="if not self.position: self.buy(sl=0.05, tp=0.1)")
SMELLS = native(top="def f(c):\n    return c.shift(-1)")
FINDING = Finding(code="RF999", line=3, column=1, severity="error", message="it is wrong", hint="mend it")


def of(text: str) -> Case:
    return look(Case(idea="", draft=read_draft(text, name="x")))


def test_a_clean_text_passes() -> None:
    assert lint(of(CLEAN).draft) == ()
    verdict = create().judge(of(CLEAN))
    assert (verdict.status, verdict.score, verdict.details["codes"]) == ("passed", 1.0, {})


def test_a_smell_is_a_warning_with_its_line() -> None:
    verdict = create().judge(of(SMELLS))
    assert verdict.status == "warning"
    assert 0.5 <= verdict.score < 1
    assert any(sentence.startswith("line ") and "(RF201)" in sentence for sentence in verdict.warnings)


def test_an_error_fails_and_more_of_them_cost_more() -> None:
    one = create().judge(replace(of(CLEAN), findings=(FINDING,)))
    assert (one.status, one.errors) == ("failed", ("line 3: it is wrong (RF999): mend it",))
    two = create().judge(replace(of(CLEAN), findings=(FINDING, replace(FINDING, line=4))))
    assert two.score < one.score < 0.5


def test_findings_that_are_there_are_not_looked_for_again() -> None:
    assert create().judge(replace(of(SMELLS), findings=(replace(FINDING, severity="info"),))).status == "passed"
