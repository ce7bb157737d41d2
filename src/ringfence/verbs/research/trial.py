"""One program put to the test, cheap tests first: parse, lint, 60 bars, a short run, training, validation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Literal, cast

from ringfence.agents.brief import ErrorSeen
from ringfence.evaluators.judging import trade_rows
from ringfence.store import RunUsage
from ringfence.trade.bars import Bars
from ringfence.trade.draft import Draft
from ringfence.trade.lint import Finding
from ringfence.trade.metrics import measure
from ringfence.trade.run import Json, Run, plain
from ringfence.trade.times import iso
from ringfence.verbs.backtest import Finished, Request, backtest
from ringfence.verbs.check import check
from ringfence.verbs.research.grounds import Grounds
from ringfence.verbs.research.journal import Cancelled
from ringfence.verbs.research.novelty import footprints
from ringfence.verbs.research.objective import figures_of
from ringfence.verbs.research.request import Means, ResearchRequest

Stage = Literal["parse", "lint", "smoke", "short", "train", "validation", "done"]
# What a check calls by a code, and Python by a name that every author knows.
_KNOWN = {"RF001": "SyntaxError", "RF002": "Truncated", "RF003": "NotAStrategy", "RF007": "ModuleNotFoundError"}
_RAN = ("traded", "no_trades")


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """How far a program came. Without an `error` it ran on all it was tried on, and it traded."""

    stage: Stage
    sha256: str = ""
    fingerprint: str = ""
    error: ErrorSeen | None = None
    run_id: str | None = None  # of the run on training data
    strategy: str = ""
    version: int | None = None  # among the texts of its strategy in the store
    train: Mapping[str, float | None] = field(default_factory=dict)
    validation: Mapping[str, float | None] = field(default_factory=dict)
    trades: int | None = None  # over training and validation; None where it did not get that far
    footprints: tuple[str, ...] = ()
    rows: tuple[str, ...] = ()

    def to_json(self) -> Json:
        return plain(self)


def read_trial(value: Json) -> Trial:
    row = dict(cast("Mapping[str, Json]", value))
    error = row.pop("error")
    for name in ("footprints", "rows"):
        row[name] = tuple(cast("Sequence[Json]", row[name]))
    make: type = Trial
    trial = cast(Trial, make(**{f.name: row[f.name] for f in fields(Trial) if f.name in row}))
    return replace(trial, error=ErrorSeen(**cast("Mapping[str, str]", error)) if error else None)  # type: ignore[arg-type]


class Range:
    """Tries programs for one request, and keeps the last run of each for who must look at it closely."""

    def __init__(self, request: ResearchRequest, means: Means, name: str) -> None:
        self.name = name
        self._request, self._means = request, means
        self._kept: dict[str, Finished] = {}

    def try_out(self, text: str, *, trials: int = 1) -> Trial:
        """`trials` is how many programs have been measured for this idea, with this one."""
        checked = check(text, self.name, sandbox=self._means.sandbox)
        draft = checked.draft
        wrong = next((f for f in checked.findings if f.severity == "error"), None)
        if draft is None or wrong is not None:
            stage: Stage = "parse" if draft is None else "lint"
            assert wrong is not None
            return Trial(stage=stage, sha256=draft.sha256 if draft else "", error=_found(wrong))
        made = Trial(stage="smoke", sha256=draft.sha256, fingerprint=checked.fingerprint)
        if draft.dialect == "backtesting.py":
            return replace(made, stage="lint", error=_foreign())
        splits = self._request.grounds.splits
        for stage, bars in (("smoke", splits.smoke), ("short", splits.short)):
            if bars is not None:
                run = self.run(draft, bars, lookahead=False).run
                if run.verdict not in _RAN:
                    return replace(made, stage=stage, error=_failure(run))
        if not self._means.author.revises:  # nothing is chosen by these parts: it is measured on all of it, at the end
            return replace(made, stage="done")
        return self._full(draft, replace(made, stage="train"), trials)

    def _full(self, draft: Draft, made: Trial, trials: int) -> Trial:
        splits = self._request.grounds.splits
        finished = discounted(self.run(draft, splits.train, lookahead=True), splits.train, trials)
        run = finished.run
        self._kept[draft.sha256] = finished
        saved = self.save(finished, draft)
        made = replace(made, run_id=run.run_id, strategy=draft.name, version=saved)
        error = objection(run)
        if error is not None:
            return replace(made, error=error, trades=len(run.trades) if run.verdict in _RAN else None)
        made = replace(
            made,
            train=figures_of(run.metrics),
            trades=len(run.trades),
            footprints=footprints(run),
            rows=trade_rows(run.trades),
        )
        if splits.validation is None:
            made = replace(made, validation=made.train)
        else:
            later = self.run(draft, splits.validation, lookahead=False).run
            if later.verdict not in _RAN:
                return replace(made, stage="validation", error=_failure(later))
            made = replace(made, validation=figures_of(later.metrics), trades=len(run.trades) + len(later.trades))
        return replace(made, stage="done")

    def run(
        self,
        draft: Draft,
        bars: Bars,
        *,
        lookahead: bool,
        parameters: Mapping[str, Json] | None = None,
        costs: float = 1.0,
        grounds: Grounds | None = None,
    ) -> Finished:
        """`costs` multiplies what trading costs."""
        asked, rules = self._request, self._request.rules
        paid = rules.costs
        paid = replace(
            paid,
            percent=min(0.5, paid.percent * costs),
            per_share=paid.per_share * costs,
            minimum=paid.minimum * costs,
            slippage_bps=min(5_000.0, paid.slippage_bps * costs),
            spread_bps=min(5_000.0, paid.spread_bps * costs),
        )
        request = Request(
            draft=draft,
            bars=bars,
            bars_file=(grounds or asked.grounds).file_of(bars),
            parameters=parameters or {},
            rules=replace(rules, costs=paid),
            seed=asked.seed,
            limits=asked.limits,
            lookahead=lookahead,
            secret=asked.secret,
            cancel=self._means.cancel,
        )
        finished = backtest(request, sandbox=self._means.sandbox)
        if finished.cut_short:
            raise Cancelled  # half a run proves nothing, and is not kept
        return finished

    def kept(self, draft: Draft) -> Finished:
        """The run on training data; made again where another process made it."""
        if draft.sha256 not in self._kept:
            bars = self._request.grounds.splits.train
            self._kept[draft.sha256] = self.run(draft, bars, lookahead=True)
        return self._kept[draft.sha256]

    def save(self, finished: Finished, draft: Draft) -> int:
        used = finished.outcome.usage
        usage = RunUsage(wall_ms=used.wall_ms, cpu_ms=used.cpu_ms, peak_memory_bytes=used.peak_memory_bytes)
        record = self._means.store.save_run(finished.run, draft_text=draft.text, usage=usage, now=self._means.now())
        return record.version


def discounted(finished: Finished, bars: Bars, trials: int, variance: float | None = None) -> Finished:
    """The run with the number of trials that it is one of, or was chosen from, and the Sharpe ratio that allows for it.
    `variance` is that of the trials' Sharpe ratios, where it is known."""
    run = finished.run
    if trials < 2 or run.metrics is None or run.equity is None:
        return finished
    chosen = measure(
        time=run.equity.time,
        equity=run.equity.value,
        trades=run.trades,
        exposure=None,
        turnover_value=0.0,
        fees=0.0,
        initial_equity=run.metrics.initial_equity,
        benchmark=None,
        timeframe=bars.timeframe,
        calendar=bars.calendar,
        trials=trials,
        trial_sharpe_variance=variance,
    )
    metrics = replace(run.metrics, trials=trials, deflated_sharpe=chosen.deflated_sharpe)
    return replace(finished, run=replace(run, metrics=metrics))


def _found(finding: Finding) -> ErrorSeen:
    kind = _KNOWN.get(finding.code, finding.code)
    return ErrorSeen(type=kind, message=f"{finding.message}; {finding.hint}", line=finding.line)


def _foreign() -> ErrorSeen:
    return ErrorSeen(
        type="NotNative",
        message="it is written for backtesting.py, whose numbers nobody can check: derive the class from Strategy of "
        "ringfence (`from ringfence import Strategy`) and leave Backtest out",
    )


def _failure(run: Run) -> ErrorSeen:
    failing = run.outcome.failing
    if failing is not None:
        return ErrorSeen(type=failing.type, message=failing.message, line=failing.line, traceback=failing.traceback)
    return ErrorSeen(type=run.verdict, message=run.reason, traceback=run.outcome.stderr)


def objection(run: Run) -> ErrorSeen | None:
    """What speaks against a run that came to its end, or how it did not."""
    if run.verdict == "no_trades":
        guidance = "\n".join(run.guidance)
        return ErrorSeen(
            type="NoTrades", message=f"it ran to the end and never traded: {run.reason}", traceback=guidance
        )
    if run.verdict != "traded":
        return _failure(run)
    if run.provenance == "mismatch":
        return ErrorSeen(type="Mismatch", message=next(iter(run.warnings), "the host's replay gave other numbers"))
    if run.lookahead.status == "suspect":
        seen = "\n".join(
            f"{iso(e.time)}: {e.with_future} with the future, {e.without_future} without"
            for e in run.lookahead.evidence
        )
        return ErrorSeen(type="LookAhead", message=f"it uses the future: {run.lookahead.reason}", traceback=seen)
    return None
