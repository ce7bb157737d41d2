"""The end: the best version meets the sealed part of the data, once, and everything that was asked about it is told."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from statistics import variance
from typing import cast

from ringfence.evaluators.robustness import BEFORE_HOLDOUT, COSTS_DOUBLED, HOLDOUT, PERTURBED
from ringfence.trade.draft import Draft, read_draft
from ringfence.trade.parameters import Parameter
from ringfence.trade.run import Json, Run, plain
from ringfence.verbs.backtest import Finished
from ringfence.verbs.research.judging import evaluation_of
from ringfence.verbs.research.loop import Findings, Loop
from ringfence.verbs.research.objective import figures_of
from ringfence.verbs.research.replies import Spent
from ringfence.verbs.research.request import ResearchRequest
from ringfence.verbs.research.trial import Range, discounted, objection
from ringfence.verbs.research.versions import Version, keep_lineage

_MOST_NEIGHBOURS = 3  # parameters that are moved
_NEAR = 0.1  # of their value


def examine(loop: Loop, best: Version) -> Json:
    """All that is to be said of the best version, for the journal."""
    request, range_, found = loop.request, loop.range, loop.found
    draft = read_draft(best.code, name=range_.name)
    whole = request.grounds.splits.whole
    trials, spread = _selection(found)
    finished = discounted(range_.run(draft, whole, lookahead=True), whole, trials, spread)
    run = finished.run
    version = range_.save(finished, draft)
    if best.trial.version is None:
        kept = replace(best, trial=replace(best.trial, version=version, strategy=draft.name))
        keep_lineage(loop.means.store, kept, None, now=loop.means.now())
    against = objection(run)
    reruns = {} if against is not None else _reruns(request, range_, draft)
    judges = loop.judges()
    evaluation = evaluation_of(
        idea=found.idea,
        description=loop.described(best),
        draft=draft,
        finished=finished,
        bars=whole,
        reruns=reruns,
        judges=judges,
    )
    few = len(run.trades) < request.aim.min_trades
    if against is None and few:
        reason = f"{len(run.trades)} trades are fewer than the {request.aim.min_trades} asked for"
    else:
        reason = run.reason if against is None else f"{against.type}: {against.message}"
    holdout = reruns.get(HOLDOUT)
    return {
        "run_id": run.run_id,
        "ran": against is None and not few,
        "reason": reason,
        "guidance": list(run.guidance),
        "metrics": plain(figures_of(run.metrics)),
        "holdout": None if holdout is None else plain(figures_of(holdout.metrics)),
        "reruns": {name: plain(figures_of(again.metrics)) for name, again in reruns.items()},
        "selection": {"trials": trials, "deflated_sharpe": plain(run.metrics.deflated_sharpe if run.metrics else None)},
        "evaluation": evaluation,
        "data_sets": _elsewhere(request, range_, draft) if against is None and not few else [],
        "execution": _execution(finished),
        "judging": plain(judges.spent if judges else Spent()),
    }


def _reruns(request: ResearchRequest, range_: Range, draft: Draft) -> dict[str, Run]:
    """The same under other conditions. The hold-out is met once; all else is tried on what comes before it."""
    splits = request.grounds.splits
    known = splits.before or splits.whole
    found = {}
    if splits.before is not None and splits.holdout is not None:
        found[BEFORE_HOLDOUT] = range_.run(draft, splits.before, lookahead=False).run
        found[HOLDOUT] = range_.run(draft, splits.holdout, lookahead=False).run
    found[COSTS_DOUBLED] = range_.run(draft, known, lookahead=False, costs=2.0).run
    for name, value in neighbours(draft.parameters):
        again = range_.run(draft, known, lookahead=False, parameters={name: value}).run
        found[f"{PERTURBED}{name}={value:g}"] = again
    return found


def _selection(found: Findings) -> tuple[int, float | None]:
    """How many programs this one was chosen from, and how far their Sharpe ratios on validation data lie apart."""
    sharpes = [value for v in found.tried if (value := v.trial.validation.get("sharpe")) is not None]
    return max(1, len(found.tried)), variance(sharpes) if len(sharpes) > 1 else None


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
        there = retargeted(draft.parameters, request.grounds.splits.whole.symbols, bars.symbols)
        run = range_.run(draft, bars, lookahead=False, grounds=grounds, parameters=there).run
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


def retargeted(parameters: tuple[Parameter, ...], here: Sequence[str], there: Sequence[str]) -> dict[str, Json]:
    """A program that names its one instrument as a parameter trades the one instrument of other data."""
    if len(there) != 1:
        return {}
    return {p.name: there[0] for p in parameters if isinstance(p.default, str) and p.default in {*here} - {*there}}


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
