"""The end: the best version meets the sealed part of the data, once, and everything that was asked about it is told."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from statistics import variance
from typing import cast

from ringfence.evaluators.robustness import BEFORE_HOLDOUT, COSTS_DOUBLED, HOLDOUT, PERTURBED, same_trades
from ringfence.sandbox.texts import read_draft
from ringfence.trade.draft import Draft
from ringfence.trade.parameters import Parameter
from ringfence.trade.run import Json, Run, plain
from ringfence.verbs.backtest import Finished
from ringfence.verbs.research.journal import Journal
from ringfence.verbs.research.judging import evaluation_of
from ringfence.verbs.research.loop import Findings, Loop
from ringfence.verbs.research.objective import figures_of
from ringfence.verbs.research.replies import Spent
from ringfence.verbs.research.request import Progress, ResearchRequest
from ringfence.verbs.research.trial import Range, discounted, objection
from ringfence.verbs.research.versions import Status, Version, keep_lineage

_MOST_NEIGHBOURS = 3  # parameters that are moved and change a trade
_MOST_MOVED = 8  # parameters that are moved at all
_NEAR = 0.1  # of their value


def conclude(loop: Loop, journal: Journal) -> tuple[Version | None, Mapping[str, Json] | None]:
    """The version that is shown, and what is said of it: the best that runs on all of the data, or else the one that
    was thought best. What ran on parts of it and fails on the whole gives way to the next best."""
    found = loop.found
    shown: tuple[Version, Mapping[str, Json]] | None = None
    while (best := found.best) is not None:
        loop.means.on_progress(Progress(stage="final", message=f"version {best.number} meets the hold-out"))
        value = journal.step("final", "", partial(examine, loop, best))
        final = cast("Mapping[str, Json]", value)
        if not loop.means.author.revises:
            best = found.mark(_filled(best, final))
        if final["ran"]:
            return best, final
        status: Status = "few_trades" if final["few"] else "failed"
        failed = found.mark(replace(best, status=status, reason=str(final["reason"])))
        shown = shown or (failed, final)
    return shown or (None, None)


def _filled(version: Version, final: Mapping[str, Json]) -> Version:
    """What was tried for the first time at the end, told with what that came to."""
    kept, trades = cast("Mapping[str, Json]", final["kept"]), cast("int | None", final["trades"])
    trial = replace(
        version.trial,
        trades=trades,
        run_id=str(final["run_id"]),
        strategy=str(kept["strategy"]),
        version=cast(int, kept["version"]),
    )
    reason = version.reason if trades is None else "1 trade" if trades == 1 else f"{trades:,} trades"
    evaluation = cast("Mapping[str, Json]", final["evaluation"])
    return replace(version, trial=trial, reason=reason, evaluation=evaluation)


def examine(loop: Loop, best: Version) -> Json:
    """All that is to be said of the best version, for the journal."""
    request, range_, found = loop.request, loop.range, loop.found
    draft = read_draft(best.code, name=range_.name, sandbox=loop.means.sandbox)
    whole = request.grounds.splits.whole
    trials, spread = _selection(found)
    finished = discounted(range_.run(draft, whole, lookahead=True), whole, trials, spread)
    run = finished.run
    version = range_.save(finished, draft)
    if best.trial.version is None:
        kept = replace(best, trial=replace(best.trial, version=version, strategy=draft.name))
        keep_lineage(loop.means.store, kept, None, now=loop.means.now())
    against = objection(run)
    reruns = {} if against is not None else _reruns(request, range_, draft, run)
    judges = loop.judges()
    evaluation = evaluation_of(
        idea=found.idea,
        description=loop.described(best),
        draft=draft,
        finished=finished,
        bars=whole,
        reruns=reruns,
        judges=judges,
        min_trades=request.aim.min_trades,
        sandbox=loop.means.sandbox,
    )
    few = against is None and len(run.trades) < request.aim.min_trades
    if few:
        reason = f"{len(run.trades)} trades are fewer than the {request.aim.min_trades} asked for"
    else:
        reason = run.reason if against is None else f"{against.type}: {against.message}"
    holdout = reruns.get(HOLDOUT)
    return {
        "run_id": run.run_id,
        "kept": {"strategy": draft.name, "version": version},
        "ran": against is None and not few,
        "few": few,
        "trades": len(run.trades) if run.verdict in ("traded", "no_trades") else None,
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


def _reruns(request: ResearchRequest, range_: Range, draft: Draft, run: Run) -> dict[str, Run]:
    """The same under other conditions. The hold-out is met once; all else is tried on what comes before it."""
    splits = request.grounds.splits
    known = splits.before or splits.whole
    found = {}
    if splits.before is not None and splits.holdout is not None:
        found[BEFORE_HOLDOUT] = range_.run(draft, splits.before, lookahead=False).run
        found[HOLDOUT] = range_.run(draft, splits.holdout, lookahead=False).run
    found[COSTS_DOUBLED] = range_.run(draft, known, lookahead=False, costs=2.0).run
    own, telling = found.get(BEFORE_HOLDOUT, run), set[str]()
    for name, value in neighbours(draft.parameters):
        if len(telling - {name}) >= _MOST_NEIGHBOURS:
            break
        again = range_.run(draft, known, lookahead=False, parameters={name: value}).run
        found[f"{PERTURBED}{name}={value:g}"] = again
        if not same_trades(again, own):  # a number that decides nothing must not stand before one that does
            telling.add(name)
    return found


def _selection(found: Findings) -> tuple[int, float | None]:
    """How many programs this one was chosen from, and how far their Sharpe ratios on validation data lie apart."""
    sharpes = [value for v in found.tried if (value := v.trial.validation.get("sharpe")) is not None]
    return max(1, len(found.tried)), variance(sharpes) if len(sharpes) > 1 else None


def neighbours(parameters: tuple[Parameter, ...]) -> list[tuple[str, float]]:
    """The first numbers among them, a tenth down and a tenth up, within their ranges."""
    found: list[tuple[str, float]] = []
    numbers = [p for p in parameters if isinstance(p.default, (int, float)) and not isinstance(p.default, bool)]
    for parameter in numbers[:_MOST_MOVED]:
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
