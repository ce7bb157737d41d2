"""What the panel says of a version, and a model as one of its judges."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import cast

from ringfence.agents import Agent
from ringfence.agents.brief import Brief, DataFacts, VerdictSeen
from ringfence.evaluators.case import Case
from ringfence.evaluators.judging import Answer, Judge, NotAsked, Question
from ringfence.evaluators.panel import evaluate
from ringfence.sandbox import Sandbox, texts
from ringfence.trade.bars import Bars
from ringfence.trade.description import Description
from ringfence.trade.draft import Draft
from ringfence.trade.run import Curve, Json, Run
from ringfence.verbs.backtest import Finished
from ringfence.verbs.research.replies import Spent


class AgentJudge:
    """Asks an agent in its role as judge, and counts what that costs. `objection` is given what was spent so far, and
    says why no more should be."""

    def __init__(self, agent: Agent, data: DataFacts, objection: Callable[[Spent], str]) -> None:
        self._agent, self._data, self._objection = agent, data, objection
        self.spent = Spent()

    def __call__(self, question: Question) -> Answer:
        if reason := self._objection(self.spent):
            raise NotAsked(f"no model was asked: {reason}")
        rules = (f"The rules: {question.rules}",) if question.rules else ()
        brief = Brief(
            role="judge",
            idea=question.idea,
            data=self._data,
            code=question.code,
            metrics=question.metrics,
            trades=question.trades,
            notes=(*rules, *(f"Indicator {line}" for line in question.indicators), question.asked),
        )
        reply = self._agent.act(brief)
        self.spent = self.spent.plus(reply)
        return Answer(parsed=reply.parsed, text=reply.text, model=reply.model)


def evaluation_of(
    *,
    idea: str,
    description: Description | None,
    draft: Draft,
    finished: Finished,
    bars: Bars,
    reruns: Mapping[str, Run] | None = None,
    judges: Judge | None = None,
    min_trades: int = 1,
    sandbox: Sandbox,
) -> dict[str, Json]:
    """In the shape that the faces print."""
    given = finished.run.draft.parameters
    seen = texts.check(draft.text, name=draft.name, class_name=draft.class_name, given=given, sandbox=sandbox)
    case = Case(
        idea=idea,
        description=description,
        draft=draft,
        run=finished.run,
        outcome=finished.outcome,
        bars=bars,
        findings=seen.findings,
        written=seen.written,
        reruns=reruns or {},
        indicators={name: _values(curve) for name, curve in finished.run.indicators.items()},
    )
    told = evaluate(case, judges=judges, min_trades=min_trades).to_json()
    return {**{name: value for name, value in told.items() if name != "verdicts"}, "results": told["verdicts"]}


def verdicts_seen(evaluation: Mapping[str, Json]) -> tuple[VerdictSeen, ...]:
    """What of it the next brief is told: what failed first, then what is doubtful."""
    found = []
    for row in cast("Sequence[Mapping[str, Json]]", evaluation["results"]):
        said = [*cast("Sequence[str]", row["errors"]), *cast("Sequence[str]", row["warnings"])]
        if row["status"] in ("failed", "warning"):
            found.append(VerdictSeen(name=str(row["name"]), status=str(row["status"]), errors=tuple(said)))
    return tuple(sorted(found, key=lambda seen: seen.status != "failed"))


def _values(curve: Curve) -> Sequence[float | None]:
    return [None if value != value else value for value in curve.value.tolist()]
