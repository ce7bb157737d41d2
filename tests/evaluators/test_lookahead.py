"""Clean, suspect, and not checked."""

from __future__ import annotations

from dataclasses import replace

from ringfence.evaluators.case import Case
from ringfence.evaluators.lookahead import create
from ringfence.testing.evaluator import look
from ringfence.trade.draft import read_draft
from ringfence.trade.run import Evidence, Lookahead
from ringfence.trade.times import DAY

from tests.evaluators.built import case_of, with_run
from tests.evaluators.texts import native

CASE = case_of("Buy GOOG when RSI is below 40. Sell when RSI is above 55.")
UNCHECKED = Lookahead(status="not_checked", reason="it was not asked for")


def of(seen: Lookahead) -> Case:
    return with_run(CASE, lookahead=seen)


def test_clean_passes() -> None:
    verdict = create().judge(CASE)
    assert (verdict.status, verdict.score, verdict.details["cuts"]) == ("passed", 1.0, 3)


def test_suspect_fails_with_its_evidence() -> None:
    seen = Evidence(time=DAY, test="truncated", cut=2 * DAY, with_future="buy GOOG", without_future="nothing")
    verdict = create().judge(of(Lookahead(status="suspect", reason="1 of 3", cuts=3, evidence=(seen,))))
    assert (verdict.status, verdict.score) == ("failed", 0.0)
    what, _, remedy = verdict.errors[0].rpartition(": ")
    assert what == (
        "on 1970-01-02T00:00:00Z it decided 'buy GOOG', and with the bars after 1970-01-03T00:00:00Z cut off 'nothing'"
    )
    assert remedy == "use only what is known at the close of a bar"
    bare = create().judge(of(Lookahead(status="suspect", reason="it sent something else")))
    assert "it sent something else" in bare.errors[0]


def test_not_checked_is_a_doubt_and_no_pass() -> None:
    verdict = create().judge(of(UNCHECKED))
    assert (verdict.status, verdict.score) == ("warning", 0.5)
    assert verdict.warnings == ("look-ahead was not checked (it was not asked for): backtest it with --lookahead",)


def test_not_checked_with_a_smell_in_the_text_fails() -> None:
    draft = read_draft(native(top="def f(c):\n    return c.shift(-1)"), name="x")
    assert create().judge(look(replace(of(UNCHECKED), draft=draft))).status == "failed"
    assert create().judge(replace(CASE, draft=draft)).status == "passed"  # it was tried, and found clean


def test_without_a_run_it_is_skipped() -> None:
    assert create().judge(replace(CASE, run=None)).status == "skipped"
