"""Hold-out, neighbours and doubled costs: what holds up, and what collapses."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings, strategies as st

from ringfence.evaluators.case import Case
from ringfence.evaluators.panel import THRESHOLDS
from ringfence.evaluators.robustness import create
from ringfence.evaluators.verdict import Verdict
from ringfence.testing.runs import make_metrics, make_run
from ringfence.trade.draft import read_draft
from ringfence.trade.run import Run

from tests.evaluators.texts import native

DRAFT = read_draft(native(), name="x")


def run(sharpe: float | None, total: float = 0.1) -> Run:
    return make_run(metrics=make_metrics(sharpe=sharpe, total_return=total))


def judged(own: Run, **reruns: Run) -> Verdict:
    return create().judge(Case(idea="", draft=DRAFT, run=own, reruns=reruns))


GOOD = {"holdout": run(0.9), "costs_doubled": run(0.8, 0.08), "perturbed:n=3": run(0.9), "perturbed:n=5": run(1.1)}


def test_what_holds_up_passes() -> None:
    verdict = judged(run(1.0), **GOOD)
    assert (verdict.status, verdict.errors) == ("passed", ())
    assert verdict.score == pytest.approx((0.9 + 1.0 + 0.8) / 3)


def test_a_collapse_on_the_hold_out_fails() -> None:
    verdict = judged(run(1.0), **{**GOOD, "holdout": run(0.1)})
    assert verdict.errors == (
        "on data it has not seen the Sharpe ratio is 0.10, and 1.00 on its own: use fewer rules and rounder numbers",
    )
    assert judged(run(1.0), **{**GOOD, "holdout": run(-2.0)}).status == "failed"
    assert judged(run(1.0), **{**GOOD, "holdout": run(THRESHOLDS.holdout_keeps)}).status == "warning"
    assert judged(run(1.0), **{**GOOD, "holdout": run(THRESHOLDS.holdout_doubt)}).status == "passed"


def test_no_trade_on_the_hold_out_fails() -> None:
    verdict = judged(run(1.0), **{**GOOD, "holdout": replace(run(5.0), trades=())})
    assert verdict.errors == ("on data it has not seen it trades nothing: the rules fit one stretch of history only",)


def test_a_collapse_of_the_neighbours_fails() -> None:
    lost = {"perturbed:n=3": run(0.1), "perturbed:n=5": replace(run(2.0), trades=())}
    verdict = judged(run(1.0), **{**GOOD, **lost})
    told = "2 of 2 small changes cost half of the Sharpe ratio or more (n=3, n=5)"
    assert verdict.errors == (f"{told}: choose parameters whose neighbours do as well",)
    more = {**GOOD, "perturbed:n=3": run(0.1), "perturbed:n=6": run(1.0)}
    assert judged(run(1.0), **more).warnings == ("it is sensitive to n=3",)


def test_doubled_costs_that_eat_the_return_fail() -> None:
    verdict = judged(run(1.0), **{**GOOD, "costs_doubled": run(-0.1, -0.02)})
    assert verdict.errors == (
        "with twice the costs its return is -2.0%, and 10.0% with them as they are: trade less often, or for more",
    )
    assert judged(run(1.0), **{**GOOD, "costs_doubled": run(0.3, 0.03)}).status == "warning"


def test_nothing_to_compare_with_is_skipped() -> None:
    assert judged(run(1.0)).status == "skipped"
    assert judged(run(1.0), other=run(1.0)).status == "skipped"
    assert create().judge(Case(idea="", draft=DRAFT, reruns=GOOD)).status == "skipped"


def test_what_earns_nothing_has_nothing_to_lose() -> None:
    verdict = judged(run(-0.3, -0.1), **GOOD)
    assert (verdict.status, verdict.score) == ("warning", 0.25)


def test_zero_trades_never_pass() -> None:
    assert judged(replace(run(1.0), trades=()), **GOOD).status == "failed"


NUMBERS = st.one_of(st.none(), st.floats(allow_nan=True, allow_infinity=True))


@given(NUMBERS, NUMBERS, NUMBERS, st.floats(allow_nan=True), st.floats(allow_nan=True))
@settings(max_examples=60, deadline=None)
def test_scores_stay_within_0_and_1(
    own: float | None, held: float | None, near: float | None, total: float, dear: float
) -> None:
    verdict = judged(
        run(own, total), holdout=run(held), **{"perturbed:n=1": run(near), "costs_doubled": run(1.0, dear)}
    )
    assert 0 <= verdict.score <= 1
