"""Scripts for backtesting.py: run unchanged on the real library behind the fence; their numbers are claims."""

from __future__ import annotations

from dataclasses import replace

from ringfence.base.errors import DraftError
from ringfence.sandbox import Sandbox
from ringfence.sandbox.job import MOST_RESULT_MB
from ringfence.sandbox.outcome import Outcome
from ringfence.trade.metrics import Metrics, measure
from ringfence.trade.run import EngineRef, Json, Lookahead, OutcomeRef, Run
from ringfence.trade.scripts import ScriptReport, ScriptRun, read_script_report
from ringfence.verbs.backtest import shapes
from ringfence.verbs.backtest.request import BARS_PLACE, Finished, Request

_LOOKAHEAD = Lookahead(status="not_checked", reason="a script brings its own data and engine")


def run_script(request: Request, sandbox: Sandbox) -> Finished:
    """As it stands first; with healing only after that gave no result."""
    if request.parameters:
        raise DraftError("a backtesting.py script runs its own Backtest: set parameters in its text, not with --param")
    first, report = _attempt(request, sandbox, heal=False)
    if request.heal and first.status in ("ok", "error", "exit") and not (report and report.runs):
        second, healed = _attempt(request, sandbox, heal=True)
        if healed is not None and (healed.runs or report is None):
            return Finished(run=_judge(request, second, healed), outcome=second)
        if second.status not in ("ok", "error", "exit"):
            run = _judge(request, first, report)
            said = f"mending it did not come to an end: {second.reason}"
            return Finished(run=replace(run, warnings=(*run.warnings, said)), outcome=first)
    return Finished(run=_judge(request, first, report), outcome=first)


def _attempt(request: Request, sandbox: Sandbox, *, heal: bool) -> tuple[Outcome, ScriptReport | None]:
    files = [mount.guest for mount in request.mounts]
    task: dict[str, Json] = {
        "heal": heal,
        "add_run": heal and request.bars is not None,
        "files": files,
        "cash": request.rules.cash,
        "commission": request.rules.costs.percent,
        "result_mb": MOST_RESULT_MB,
    }
    if request.bars is not None:
        task |= {"bars": BARS_PLACE, "symbol": request.bars.symbols[0]}
    job = request.job(driver="backtesting_py", task=task)
    outcome = sandbox.run(job, on_output=request.on_output, cancel=request.cancel)
    if outcome.result is None:
        return outcome, None
    try:
        return outcome, read_script_report(outcome.result)
    except ValueError as e:
        return replace(outcome, status="error", reason=f"its report makes no sense: {e}"), None


def _judge(request: Request, outcome: Outcome, report: ScriptReport | None) -> Run:
    seen = shapes.outcome_ref(outcome, None)
    if report is None:
        verdict, reason = shapes.verdict_of(outcome), shapes.failure_reason(seen)
        if outcome.ok:
            reason = "it ended without a report of what it ran: it may have replaced the library"
        return _own(shapes.failed_run(request, seen, verdict, reason, own_engine=True))
    healed = tuple(f"{h.kind}: {h.what}" + (f" (× {h.count:,})" if h.count > 1 else "") for h in report.healed)
    said = [f"{w.text}" + (f" (× {w.count:,})" if w.count > 1 else "") for w in report.warnings]
    headline = report.headline
    if headline is None:
        verdict, reason = _without_result(outcome, seen, report)
        run = shapes.failed_run(
            request, seen, verdict, reason, libraries=report.libraries, warnings=said, healed=healed, own_engine=True
        )
        return _own(run)
    return _with_result(request, outcome, seen, report, headline, healed, said)


def _own(run: Run) -> Run:
    """A script that brought its own data has none of ours to show."""
    return replace(run, lookahead=_LOOKAHEAD)


def _without_result(outcome: Outcome, seen: OutcomeRef, report: ScriptReport) -> tuple[str, str]:
    if report.needs:
        missing = ", ".join(f"{need.kind} {need.name}" for need in report.needs[:5])
        return "needs_data", f"it needs data that is not here: {missing}; serve it with --mount HOST:GUEST or --data"
    if outcome.status != "ok":
        return shapes.verdict_of(outcome), shapes.failure_reason(seen)
    if report.classes:
        names = ", ".join(report.classes[:3])
        return "needs_data", f"it defines {names} and never runs it: give --data, and it is run on that"
    return "not_a_strategy", "it ran to its end without a strategy and without a backtest"


def _with_result(
    request: Request,
    outcome: Outcome,
    seen: OutcomeRef,
    report: ScriptReport,
    headline: ScriptRun,
    healed: tuple[str, ...],
    said: list[str],
) -> Run:
    said += [f"{w.text}" + (f" (× {w.count:,})" if w.count > 1 else "") for w in headline.warnings]
    if headline.cancelled_orders:
        said.append(f"{headline.cancelled_orders:,} orders were cancelled by the library for want of margin")
    if any(h.kind == "semantic" for h in report.healed):
        said.append("it was mended in ways that change what it means: this result wins no ranking")
    others = len(report.runs) - 1 + report.dropped
    if others:
        said.append(f"{others:,} earlier results of the same script are kept with it; this is the last")
    if not outcome.ok:
        said.append(f"after this result the script failed: {shapes.failure_reason(seen)}")
    said += list(report.notes)
    return Run(
        draft=request.draft_ref(headline.class_name, headline.parameters),
        bars=request.bars_ref(),
        engine=EngineRef(version=shapes.ENGINE_VERSION, rules=None, fed="history", libraries=report.libraries),
        seed=request.seed,
        verdict="traded" if headline.trades or headline.open_trades else "no_trades",
        reason=f"{len(headline.trades):,} trades in the library's {headline.kind}()",
        metrics=_metrics(headline),
        trades=headline.trades,
        fills=(),
        orders=(),
        equity=headline.equity,
        indicators={},
        benchmark=None,
        statistics={
            **headline.statistics,
            **({"_earlier": [dict(run.statistics) for run in report.runs[:-1]]} if len(report.runs) > 1 else {}),
        },
        warnings=tuple(dict.fromkeys(said)),
        healed=healed,
        guidance=(),
        provenance="claimed",
        lookahead=_LOOKAHEAD,
        outcome=seen,
        mounts=request.mount_hashes(),
    )


def _metrics(run: ScriptRun) -> Metrics | None:
    """Ours, over the curve and the trades that it claims; None where the curve has been thinned or has no dates."""
    equity = run.equity
    if equity is None or not run.bars.dated or len(equity) < run.bars.rows or len(equity) < 2:
        return None
    days = (int(equity.time[-1]) - int(equity.time[0])) / (len(equity) - 1) / 86_400e9
    return measure(
        time=equity.time,
        equity=equity.value,
        trades=run.trades,
        exposure=None,
        turnover_value=sum(trade.qty * (trade.entry_price + (trade.exit_price or 0.0)) for trade in run.trades),
        fees=sum(trade.fees for trade in run.trades),
        initial_equity=float(equity.value[0]),
        benchmark=None,
        timeframe=_timeframe(days),
        calendar="XNYS" if 1.3 < days < 1.6 else "24/7",
    )


def _timeframe(days: float) -> str:
    minutes = max(1, round(days * 1440))
    if minutes < 60:
        return f"{minutes}m"
    if days < 0.9:
        return f"{max(1, round(days * 24))}h"
    return "1d" if days < 4 else "1w" if days < 15 else "1mo"
