"""Hold-out, neighbours and doubled costs: what holds up, and what collapses."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from ringfence.evaluators.case import Case
from ringfence.evaluators.chance import luck_of
from ringfence.evaluators.panel import THRESHOLDS
from ringfence.evaluators.robustness import create
from ringfence.evaluators.verdict import Verdict
from ringfence.testing.runs import make_metrics, make_run, make_trade
from ringfence.trade.draft import read_draft
from ringfence.trade.run import Run

from tests.evaluators.built import make_bars
from tests.evaluators.texts import native

DRAFT = read_draft(native(), name="x")


def run(sharpe: float | None, total: float = 0.1) -> Run:
    return make_run(metrics=make_metrics(sharpe=sharpe, total_return=total))


def near(sharpe: float | None) -> Run:
    """With a parameter a little off, and so with another trade."""
    return replace(run(sharpe), trades=(make_trade(exit_price=1099.0),))


def judged(own: Run, **reruns: Run) -> Verdict:
    return create().judge(Case(idea="", draft=DRAFT, run=own, reruns=reruns))


GOOD = {"holdout": run(0.9), "costs_doubled": run(0.8, 0.08), "perturbed:n=3": near(0.9), "perturbed:n=5": near(1.1)}


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


def test_the_hold_out_is_compared_with_what_came_before_it() -> None:
    """All of the data has the hold-out in it: a good hold-out would make up for itself."""
    kept = judged(run(0.4), **{**GOOD, "before_holdout": run(1.0), "holdout": run(0.1)})
    assert "is 0.10, and 1.00 on its own" in kept.errors[0] and kept.details["sharpe"] == 1.0
    lucky = judged(run(1.0), **{**GOOD, "before_holdout": run(-0.5, -0.1), "holdout": run(3.0)})
    assert (lucky.status, lucky.score) == ("warning", 0.25)
    costly = judged(run(1.0, 0.01), **{**GOOD, "before_holdout": run(1.0, 0.4), "costs_doubled": run(0.5, 0.1)})
    assert costly.warnings == ("twice the costs take more than half of its return (40.0% to 10.0%)",)


def test_no_trade_on_the_hold_out_fails() -> None:
    verdict = judged(run(1.0), **{**GOOD, "holdout": replace(run(5.0), trades=())})
    assert verdict.errors == ("on data it has not seen it trades nothing: the rules fit one stretch of history only",)


def test_a_collapse_of_the_neighbours_fails() -> None:
    lost = {"perturbed:n=3": near(0.1), "perturbed:n=5": replace(run(2.0), trades=())}
    verdict = judged(run(1.0), **{**GOOD, **lost})
    told = "2 of 2 small changes cost half of the Sharpe ratio or more (n=3, n=5)"
    assert verdict.errors == (f"{told}: choose parameters whose neighbours do as well",)
    more = {**GOOD, "perturbed:n=3": near(0.1), "perturbed:n=6": near(1.0)}
    assert judged(run(1.0), **more).warnings == ("it is sensitive to n=3",)


def test_a_parameter_that_changes_no_trade_proves_nothing() -> None:
    """Else an author could add harmless ones until most of the neighbours do as well."""
    idle = {f"perturbed:idle={n}": replace(run(1.0), trades=(make_trade(qty=90.0 + n),)) for n in range(4)}
    lost = {**GOOD, "perturbed:n=3": near(0.1), "perturbed:n=5": near(0.1)}
    verdict = judged(run(1.0), **{**lost, **idle})
    assert verdict.status == "failed" and verdict.errors == judged(run(1.0), **lost).errors
    rest = {name: again for name, again in GOOD.items() if not name.startswith("perturbed:")}
    verdict = judged(run(1.0), **{**rest, **idle})
    assert verdict.score == pytest.approx((0.9 + 0.8) / 2)
    assert verdict.warnings == ("no parameter that was moved a little changes a trade: its numbers prove nothing",)


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


BARS = make_bars(rows=300)


def held(entries: Sequence[int], bars_held: int, *, side: str = "long") -> Run:
    """Trades at the opens of BARS."""
    candles = BARS.candles["GOOG"]
    trades = tuple(
        make_trade(id=n, side=side, entry_price=float(candles.open[k]), exit_price=float(candles.open[k + bars_held]),
                   entry_time=int(candles.time[k]), exit_time=int(candles.time[k + bars_held]), bars_held=bars_held)
        for n, k in enumerate(entries, 1)
    )  # fmt: skip
    return make_run(metrics=make_metrics(sharpe=1.0), trades=trades)


def test_entries_at_random_show_what_is_luck() -> None:
    opened = BARS.candles["GOOG"].open
    gains = np.argsort(opened[5:] / opened[:-5])  # the worst entries first
    best, worst = held(gains[-20:].tolist(), 5), held(gains[:20].tolist(), 5)
    assert luck_of(best, BARS) == 0 and luck_of(worst, BARS) == 1
    assert luck_of(replace(worst, trades=held(gains[:20].tolist(), 5, side="short").trades), BARS) == 0
    usual = luck_of(held(range(0, 290, 5), 5), BARS)
    assert usual is not None and 0.05 < usual < 0.95
    assert luck_of(best, make_bars(("AAPL",))) is None and luck_of(replace(best, trades=()), BARS) is None
    assert luck_of(held([0], 299), BARS) is None or luck_of(held([0], 299), BARS) == 1, "there is one place for it"


def test_what_chance_does_as_well_is_told_and_shuts_nothing() -> None:
    opened = BARS.candles["GOOG"].open
    gains = np.argsort(opened[5:] / opened[:-5])
    for entries, status in ((gains[-20:], "passed"), (gains[:20], "warning")):
        case = Case(idea="", draft=DRAFT, run=held(entries.tolist(), 5), bars=BARS, reruns=GOOD)
        verdict = create().judge(case)
        assert verdict.status == status and verdict.score == judged(run(1.0), **GOOD).score
    assert verdict.warnings[0].startswith("100% of entries at random, held as long, did as well")


NUMBERS = st.one_of(st.none(), st.floats(allow_nan=True, allow_infinity=True))


@given(NUMBERS, NUMBERS, NUMBERS, st.floats(allow_nan=True), st.floats(allow_nan=True))
@settings(max_examples=60, deadline=None)
def test_scores_stay_within_0_and_1(
    own: float | None, held: float | None, beside: float | None, total: float, dear: float
) -> None:
    verdict = judged(
        run(own, total), holdout=run(held), **{"perturbed:n=1": near(beside), "costs_doubled": run(1.0, dear)}
    )
    assert 0 <= verdict.score <= 1
