"""Whether the parts of the strategy fit together, in the eyes of a model."""

from __future__ import annotations

from ringfence.evaluators.judging import Judge, ModelJudge

ASKED = (
    "Do the parts of this strategy fit together? Entry and exit must not contradict each other, a stop must lie where "
    "it can be hit before the rule that ends the trade, no condition may be impossible or always true, and sizes and "
    "periods must suit the data."
)


def create(judge: Judge | None = None) -> ModelJudge:
    return ModelJudge(name="coherence", asked=ASKED, judge_by=judge)
