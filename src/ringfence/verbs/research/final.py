"""The end: the best version meets the sealed part of the data, once, and everything that was asked about it is told."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from statistics import variance
from typing import cast

from ringfence.agents.brief import Reply
from ringfence.trade.draft import Draft, read_draft
from ringfence.trade.metrics import measure
from ringfence.trade.parameters import Parameter
from ringfence.trade.run import Json, Run, plain
from ringfence.verbs.backtest import Finished
from ringfence.verbs.research.judging import AgentJudge, evaluation_of
from ringfence.verbs.research.loop import Findings
from ringfence.verbs.research.objective import figures_of
from ringfence.verbs.research.replies import Spent
from ringfence.verbs.research.request import Means, ResearchRequest
from ringfence.verbs.research.trial import Range, objection
from ringfence.verbs.research.versions import Version, keep_lineage

_MOST_NEIGHBOURS = 3  # parameters that are moved
_NEAR = 0.1  # of their value


def examine(request: ResearchRequest, means: Means, range_: Range, found: Findings, best: Version) -> Json:
    """All that is to be said of the best version, for the journal."""
    draft = read_draft(best.code, name=range_.name)
    whole = request.grounds.splits.whole
    finished = range_.run(draft, whole, lookahead=True)
    run = finished.run
    version = range_.save(finished, draft)
    if best.trial.version is None:
        kept = replace(best, trial=replace(best.trial, version=version, strategy=draft.name))
        keep_lineage(means.store, kept, None, now=means.now())
    against = objection(run)
    reruns = {} if against is not None else _reruns(request, range_, draft)
    judge = None if means.judges is None else AgentJudge(means.judges, request.grounds.facts())
    evaluation = evaluation_of(
        idea=found.idea,
        description=found.description,
        draft=draft,
        finished=finished,
        bars=whole,
        reruns=reruns,
        judges=judge,
    )
    few = len(run.trades) < request.aim.min_trades
    if against is None and few:
        reason = f"{len(run.trades)} trades are fewer than the {request.aim.min_trades} asked for"
    else:
        reason = run.reason if against is None else f"{against.type}: {against.message}"
    holdout = reruns.get("holdout")
    return {
        "run_id": run.run_id,
        "ran": against is None and not few,
        "reason": reason,
        "guidance": list(run.guidance),
        "metrics": plain(figures_of(run.metrics)),
        "holdout": None if holdout is None else plain(figures_of(holdout.metrics)),
        "reruns": {name: plain(figures_of(again.metrics)) for name, again in reruns.items()},
        "selection": _selection(request, found, run),
        "evaluation": evaluation,
        "data_sets": _elsewhere(request, range_, draft) if against is None and not few else [],
        "execution": _execution(finished),
        "judging": plain(_cost(judge.replies if judge else [])),
    }


def _reruns(request: ResearchRequest, range_: Range, draft: Draft) -> dict[str, Run]:
    """The same under other conditions: unseen data, costs doubled, parameters a little off."""
    splits = request.grounds.splits
    found = {}
    if splits.holdout is not None:
        found["holdout"] = range_.run(draft, splits.holdout, lookahead=False).run
    found["costs_doubled"] = range_.run(draft, splits.whole, lookahead=False, costs=2.0).run
    for name, value in neighbours(draft.parameters):
        again = range_.run(draft, splits.whole, lookahead=False, parameters={name: value}).run
        found[f"perturbed:{name}={value:g}"] = again
    return found


def _selection(request: ResearchRequest, found: Findings, run: Run) -> Json:
    """How many versions this one was chosen from, and the chance that its Sharpe ratio is more than that choice."""
    scored = [v for v in found.versions if v.status in ("ran", "few_trades")]
    sharpes = [value for v in scored if (value := v.trial.validation.get("sharpe")) is not None]
    whole = request.grounds.splits.whole
    if len(sharpes) < 2 or run.equity is None or run.metrics is None:
        return {"trials": len(scored), "deflated_sharpe": run.metrics.deflated_sharpe if run.metrics else None}
    chosen = measure(
        time=run.equity.time,
        equity=run.equity.value,
        trades=run.trades,
        exposure=None,
        turnover_value=0.0,
        fees=0.0,
        initial_equity=request.rules.cash,
        benchmark=None,
        timeframe=whole.timeframe,
        calendar=whole.calendar,
        trials=len(scored),
        trial_sharpe_variance=variance(sharpes),
    )
    return {"trials": len(scored), "deflated_sharpe": plain(chosen.deflated_sharpe)}


def neighbours(parameters: tuple[Parameter, ...]) -> list[tuple[str, float]]:
    """The first numbers among them, a tenth down and a tenth up, within their ranges."""
    found: list[tuple[str, float]] = []
    numbers = [p for p in parameters if isinstance(p.default, (int, float)) and not isinstance(p.default, bool)]
    for parameter in numbers[:_MOST_NEIGHBOURS]:
        value = cast(float, parameter.default)
        far = max(1, round(abs(value) * _NEAR)) if isinstance(value, int) else abs(value) * _NEAR
        for moved in (value - far, value + far):
            if moved != value and moved * value > 0 and parameter.objection(moved) is None:
                found.append((parameter.name, moved))
    return found


def _elsewhere(request: ResearchRequest, range_: Range, draft: Draft) -> list[Json]:
    """On further data, which only those see that got this far."""
    rows: list[Json] = []
    for grounds in request.also:
        bars = grounds.splits.whole
        run = range_.run(draft, bars, lookahead=False, grounds=grounds).run
        rows.append(
            {
                "data": bars.source,
                "symbols": list(bars.symbols),
                "verdict": run.verdict,
                "reason": run.reason,
                "metrics": plain(figures_of(run.metrics)),
            }
        )
    return rows


def _execution(finished: Finished) -> Json:
    run, used = finished.run, finished.outcome.usage
    return {
        "run_id": run.run_id,
        "status": run.outcome.status,
        "verdict": run.verdict,
        "reason": run.reason,
        "provenance": run.provenance,
        "lookahead": plain(run.lookahead),
        "backend": run.outcome.backend,
        "isolation": dict(finished.outcome.isolation),
        "wall_ms": used.wall_ms,
        "cpu_ms": used.cpu_ms,
        "peak_memory_bytes": used.peak_memory_bytes,
    }


def _cost(replies: list[Reply]) -> Spent:
    spent = Spent()
    for reply in replies:
        spent = spent.plus(reply)
    return spent


def read_spent(value: Json) -> Spent:
    return Spent(**cast("Mapping[str, int]", value))
