"""Whether the trades are the ones that the rules call for, in the eyes of a model."""

from __future__ import annotations

from dataclasses import dataclass

from ringfence.evaluators.case import Case
from ringfence.evaluators.execution import MORE_MONEY, wanted_money
from ringfence.evaluators.judging import Judge, ModelJudge
from ringfence.evaluators.verdict import Verdict, found

ASKED = (
    "Are these trades the ones that the rules call for? A decision is made at the close of a bar and filled at the "
    "open of the next. Compare the entries and exits with the indicator values, and the exits with the rules."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class TradeJudge(ModelJudge):
    """No model need be asked about what could not be paid for."""

    def judge(self, case: Case) -> Verdict:
        if case.run is not None and wanted_money(case.run):
            error = f"nothing was traded for want of money: {MORE_MONEY}"
            return found(self.name, score=0.0, errors=[error], kind=self.kind)
        return ModelJudge.judge(self, case)


def create(judge: Judge | None = None) -> ModelJudge:
    return TradeJudge(name="trade_execution", asked=ASKED, judge_by=judge, about_trading=True)
