"""Whether it ran to its end, with a whole result whose numbers can be true and were checked by us."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, fields

import numpy as np

from ringfence.evaluators.case import Case
from ringfence.evaluators.panel import THRESHOLDS
from ringfence.evaluators.verdict import Kind, Verdict, found, skipped
from ringfence.trade.metrics import Metrics
from ringfence.trade.run import Json, Run

_CLAIMED, _HEALED, _DOUBTFUL = 0.4, 0.1, 0.1  # taken off the score
MORE_MONEY = "give more with --cash, or trade parts of a share with --fractional"
_SHARES = ("win_rate", "exposure", "probabilistic_sharpe", "deflated_sharpe")


@dataclass(frozen=True, slots=True, kw_only=True)
class ExecutionEvaluator:
    name: str = "execution"
    kind: Kind = "deterministic"

    def judge(self, case: Case) -> Verdict:
        run, outcome = case.run, case.outcome
        if run is None and outcome is None:
            return skipped(self.name, "it has not run: backtest it")
        if run is None:
            assert outcome is not None
            reason = outcome.reason or (outcome.error.message if outcome.error else "it gave no result")
            return found(self.name, score=0.0, errors=[f"{outcome.status}: {reason}: mend that and run it again"])
        details: dict[str, Json] = {
            "verdict": run.verdict,
            "provenance": run.provenance,
            "outcome": run.outcome.status,
            "trades": len(run.trades),
        }
        errors = [*_outcome(case, run), *_traded(run)]
        if not errors:
            errors = [*_complete(case, run), *_plausible(run.metrics), *_curve(run)]
        errors += _provenance(run)
        warnings = list(_doubts(run))
        score = 0.0
        if not errors:
            claimed, healed = run.provenance == "claimed", bool(run.healed)
            doubts = len(warnings) - claimed - healed
            score = max(1 - _CLAIMED * claimed - _HEALED * healed - _DOUBTFUL * doubts, 0.5)
        return found(self.name, score=score, errors=errors, warnings=warnings, details=details)


def _outcome(case: Case, run: Run) -> Iterator[str]:
    status, reason = run.outcome.status, run.outcome.reason
    if case.outcome is not None and case.outcome.status != "ok":
        status, reason = case.outcome.status, case.outcome.reason
    if status != "ok" or run.verdict not in ("traded", "no_trades"):
        failing = run.outcome.failing
        where = f" on line {failing.line}" if failing is not None and failing.line else ""
        said = run.reason or reason or "it gave no reason"
        yield f"{run.verdict} ({status}){where}: {said.rstrip('.')}: mend that and run it again"


def wanted_money(run: Run) -> bool:
    """Whether nothing was traded because there was too little to pay with: the rules are not to blame for that."""
    return not run.trades and any(o.status == "rejected" and "can be spent" in o.reason for o in run.orders)


def _traded(run: Run) -> Iterator[str]:
    if run.verdict == "no_trades" or (run.verdict == "traded" and not run.trades):
        hints = "; ".join(line.rstrip(".") for line in run.guidance[:3])
        remedy = MORE_MONEY if wanted_money(run) else "loosen the entry, or use data on which it is met"
        yield f"nothing was traded{f' ({hints})' if hints else ''}: {remedy}"


def _provenance(run: Run) -> Iterator[str]:
    if run.provenance == "mismatch":
        told = next((w for w in run.warnings if w.startswith("MISMATCH")), run.reason or "the books disagree")
        yield f"the result is not what its orders come to ({told.rstrip('.')}): do not use it, and look at the program"


def _complete(case: Case, run: Run) -> Iterator[str]:
    """A Run of something else, or half a Run."""
    if run.draft.sha256 != case.draft.sha256:
        yield "the run is of another program text: backtest this one"
    if case.bars is not None and run.bars is not None and run.bars.sha256 != case.bars.sha256:
        yield "the run is on other bars than these: backtest it on them"
    if run.provenance != "claimed":
        missing = [name for name in ("metrics", "equity", "bars") if getattr(run, name) is None]
        if missing:
            yield f"the result has no {', '.join(missing)}: run it again"
        if not run.fills:
            yield "the result has trades and no fills: run it again"
    elif run.metrics is None and not run.statistics:
        yield "the script left no statistics: let it call Backtest.run() and end"
    if run.metrics is not None and run.metrics.trades != len(run.trades):
        yield f"the metrics count {run.metrics.trades} trades and {len(run.trades)} are listed: run it again"


def _plausible(metrics: Metrics | None) -> Iterator[str]:
    if metrics is None:
        return
    for field in fields(metrics):
        value = getattr(metrics, field.name)
        if isinstance(value, float) and not math.isfinite(value):
            yield f"{field.name} is {value}, which is no number: look at the fills"
    for name in _SHARES:
        value = getattr(metrics, name)
        if value is not None and not -1e-9 <= value <= 1 + 1e-9:
            yield f"{name} is {value:g} and can only be from 0 to 1: look at the trades"
    if metrics.max_drawdown > 1e-9:
        yield f"max_drawdown is {metrics.max_drawdown:g} and cannot be above 0: look at the equity"
    if metrics.fees < 0 or metrics.turnover < 0:
        yield f"fees are {metrics.fees:g} and turnover is {metrics.turnover:g}, below zero: look at the fills"
    if metrics.initial_equity > 0 and math.isfinite(metrics.total_return):
        grown = metrics.final_equity / metrics.initial_equity - 1
        if abs(grown - metrics.total_return) > THRESHOLDS.price_rounding * max(1.0, abs(grown)):
            yield f"total_return is {metrics.total_return:g}, and the equity grew by {grown:g}: measure it again"


def _curve(run: Run) -> Iterator[str]:
    if run.equity is None:
        return
    if not len(run.equity) or not bool(np.isfinite(run.equity.value).all()):
        yield "the equity has no value on some bars: look at the fills"
    elif bool((np.diff(run.equity.time) <= 0).any()):
        yield "the equity goes back in time: run it again"


def _doubts(run: Run) -> Iterator[str]:
    metrics = run.metrics
    if run.provenance == "claimed":
        yield "the numbers are the script's own and were not checked: write it for our engine to have them verified"
    if run.healed:
        yield f"it ran only after {len(run.healed)} repairs ({'; '.join(run.healed[:3])}): write these into the program"
    if metrics is None or not run.trades:
        return
    if len(run.trades) < THRESHOLDS.few_trades:
        told = "1 trade proves" if len(run.trades) == 1 else f"{len(run.trades)} trades prove"
        yield f"{told} little: use a longer stretch of data or more instruments"
    if metrics.sharpe is not None and metrics.sharpe > THRESHOLDS.great_sharpe:
        yield f"a Sharpe ratio of {metrics.sharpe:.1f} is more likely a mistake than a discovery: look at the fills"
    if metrics.cagr is not None and metrics.cagr > THRESHOLDS.great_cagr:
        yield f"{metrics.cagr:.0%} a year is more likely a mistake than a discovery: look at the fills"
    if metrics.ruined_at is not None:
        yield f"the account was worth nothing on {metrics.ruined_at}: trade smaller, or with a stop"


def create() -> ExecutionEvaluator:
    return ExecutionEvaluator()
