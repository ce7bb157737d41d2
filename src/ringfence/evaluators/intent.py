"""Whether the program does what the words ask for, in the eyes of a model."""

from __future__ import annotations

from ringfence.evaluators.judging import Judge, ModelJudge

ASKED = (
    "Does this program do what the idea asks for, and nothing that it does not ask for? Look at the indicators, their "
    "settings, the thresholds and which way they are crossed, the exits, stops, targets and sizes, and the instruments."
)


def create(judge: Judge | None = None) -> ModelJudge:
    return ModelJudge(name="intent", asked=ASKED, judge_by=judge)
