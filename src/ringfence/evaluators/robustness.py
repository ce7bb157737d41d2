"""Whether what it earns survives data it has not seen, parameters a little off, and twice the costs."""

from __future__ import annotations

from dataclasses import dataclass, field

from ringfence.evaluators.case import Case
from ringfence.evaluators.chance import luck_of
from ringfence.evaluators.panel import THRESHOLDS
from ringfence.evaluators.verdict import Kind, Verdict, found, skipped, within
from ringfence.trade.run import Json, Run

# The names of the reruns. With a hold-out, all else is tried on what comes before it, and compared with that.
BEFORE_HOLDOUT, HOLDOUT, COSTS_DOUBLED, PERTURBED = "before_holdout", "holdout", "costs_doubled", "perturbed:"
_NO_EDGE = 0.25  # the score of what loses money as it is


@dataclass(slots=True)
class _Heard:
    errors: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    scores: list[float] = field(default_factory=list)
    details: dict[str, Json] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class RobustnessEvaluator:
    name: str = "robustness"
    kind: Kind = "deterministic"

    def judge(self, case: Case) -> Verdict:
        run = case.run
        if run is None or run.metrics is None:
            return skipped(self.name, "there is no measured run to compare with: backtest it first")
        if not run.trades:
            return found(self.name, score=0.0, errors=["nothing was traded: there is nothing that could hold up"])
        if not case.reruns:
            return skipped(self.name, "it was not run under other conditions: a hold-out and doubled costs are needed")
        known = case.reruns.get(BEFORE_HOLDOUT, run)
        earned = _sharpe(known)
        if earned <= 0:
            warning = f"its Sharpe ratio is {earned:.2f} as it is: there is no edge that could be lost"
            return found(self.name, score=_NO_EDGE, warnings=[warning], details={"sharpe": earned})
        heard = _Heard(details={"sharpe": earned})
        _holdout(case, earned, heard)
        _perturbed(case, known, heard)
        _costs(case, known, heard)
        _chance(case, run, heard)
        if not heard.scores:
            names = ", ".join(sorted(case.reruns))
            return skipped(self.name, f"none of the reruns is one to judge by ({names}): a hold-out is needed")
        score = sum(heard.scores) / len(heard.scores)
        return found(self.name, score=score, errors=heard.errors, warnings=heard.warnings, details=heard.details)


def _sharpe(run: Run) -> float:
    """What a run is judged by. Nothing traded, or nothing measured, is worth nothing."""
    if run.metrics is None or not run.trades:
        return 0.0
    value = run.metrics.sharpe if run.metrics.sharpe is not None else run.metrics.total_return
    return value if value == value else 0.0


def _holdout(case: Case, earned: float, heard: _Heard) -> None:
    run = case.reruns.get(HOLDOUT)
    if run is None:
        heard.warnings.append("there is no hold-out: keep some data back and run it there once")
        return
    kept = _sharpe(run) / earned
    heard.scores.append(within(kept))
    heard.details["holdout_sharpe"] = _sharpe(run)
    told = f"on data it has not seen the Sharpe ratio is {_sharpe(run):.2f}, and {earned:.2f} on its own"
    if not run.trades:
        heard.errors.append("on data it has not seen it trades nothing: the rules fit one stretch of history only")
    elif kept < THRESHOLDS.holdout_keeps:
        heard.errors.append(f"{told}: use fewer rules and rounder numbers")
    elif kept < THRESHOLDS.holdout_doubt:
        heard.warnings.append(f"{told}: it may be fitted to the past")


def same_trades(one: Run, other: Run) -> bool:
    """But for their size, which a ratio of returns does not see."""
    return _made(one) == _made(other)


def _made(run: Run) -> list[tuple[object, ...]]:
    return [(t.symbol, t.side, t.entry_time, t.entry_price, t.exit_time, t.exit_price) for t in run.trades]


def _perturbed(case: Case, known: Run, heard: _Heard) -> None:
    """A neighbour that makes the same trades says nothing: its parameter decides nothing."""
    moved = {name.removeprefix(PERTURBED): run for name, run in case.reruns.items() if name.startswith(PERTURBED)}
    runs = {name: run for name, run in moved.items() if not same_trades(run, known)}
    if not runs:
        if moved:
            told = "no parameter that was moved a little changes a trade"
            heard.warnings.append(f"{told}: its numbers prove nothing")
        return
    earned = _sharpe(known)
    lost = [name for name, run in runs.items() if _sharpe(run) < THRESHOLDS.perturbed_keeps * earned]
    share = 1 - len(lost) / len(runs)
    heard.scores.append(within(share))
    heard.details["perturbed_kept"] = share
    if share < THRESHOLDS.perturbed_share:
        told = f"{len(lost)} of {len(runs)} small changes cost half of the Sharpe ratio or more"
        heard.errors.append(f"{told} ({', '.join(lost[:4])}): choose parameters whose neighbours do as well")
    elif lost:
        heard.warnings.append(f"it is sensitive to {', '.join(lost[:4])}")


def _costs(case: Case, run: Run, heard: _Heard) -> None:
    dear = case.reruns.get(COSTS_DOUBLED)
    if dear is None or run.metrics is None:
        return
    before = run.metrics.total_return
    after = dear.metrics.total_return if dear.metrics is not None and dear.trades else -1.0
    heard.details["costs_doubled_return"] = after
    if before <= 0:
        return
    heard.scores.append(within(after / before))
    if after <= 0:
        told = f"with twice the costs its return is {after:.1%}, and {before:.1%} with them as they are"
        heard.errors.append(f"{told}: trade less often, or for more")
    elif after < before / 2:
        heard.warnings.append(f"twice the costs take more than half of its return ({before:.1%} to {after:.1%})")


def _chance(case: Case, run: Run, heard: _Heard) -> None:
    """Luck speaks against a strategy and proves nothing: it is told, and shuts no gate."""
    luck = None if case.bars is None else luck_of(run, case.bars)
    if luck is None:
        return
    heard.details["random_entries_as_good"] = luck
    if luck > THRESHOLDS.random_entries:
        told = f"{luck:.0%} of entries at random, held as long, did as well"
        heard.warnings.append(f"{told}: the market may have earned it, and not the rules")


def create() -> RobustnessEvaluator:
    return RobustnessEvaluator()
