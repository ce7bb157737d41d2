"""Whether the trades are the ones that the rules call for, in the eyes of a model."""

from __future__ import annotations

from ringfence.evaluators.judging import Judge, ModelJudge

ASKED = (
    "Are these trades the ones that the rules call for? A decision is made at the close of a bar and filled at the "
    "open of the next. Compare the entries and exits with the indicator values, and the exits with the rules."
)


def create(judge: Judge | None = None) -> ModelJudge:
    return ModelJudge(name="trade_execution", asked=ASKED, judge_by=judge, about_trading=True)
