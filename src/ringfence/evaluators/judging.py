"""Judges that ask a model. What the model is, and how it is asked, is whoever calls' business: here it is a function
from a question to an answer, and what comes back is trusted no more than any other reply."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from itertools import islice
from types import MappingProxyType
from typing import Protocol

from ringfence.base.errors import AgentError
from ringfence.evaluators.case import Case
from ringfence.evaluators.schema import problems
from ringfence.evaluators.verdict import Kind, Status, Verdict, shortened, skipped, unjudged
from ringfence.trade.description.echo import echo
from ringfence.trade.orders import Trade
from ringfence.trade.run import Json, Run
from ringfence.trade.times import iso

_MOST_TRADES = 12
_MOST_VALUES = 40  # the last ones of each indicator
_STATUSES: tuple[Status, ...] = ("passed", "warning", "failed")
NO_MODEL = "no model is configured: choose one with --model to have this judged"


class NotAsked(Exception):
    """There is a model, and a reason not to ask it, which is the message."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What a judge is shown. `asked` is the question itself; `rules` are the idea in canonical English, where known."""

    asked: str
    idea: str
    code: str
    rules: str = ""
    metrics: Mapping[str, float | None] = field(default_factory=lambda: MappingProxyType({}))
    trades: tuple[str, ...] = ()
    indicators: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """`parsed` has status, score, explanation, errors and warnings; None where the model gave no such thing, and `text`
    is then what it said instead."""

    parsed: Mapping[str, Json] | None
    text: str = ""
    model: str = ""


class Judge(Protocol):
    """Raises AgentError where the model cannot be had, NotAsked where it is to be left alone."""

    def __call__(self, question: Question, /) -> Answer: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelJudge:
    """One question to the judge about every case."""

    name: str
    asked: str
    judge_by: Judge | None
    about_trading: bool = False  # it cannot be answered with yes where nothing was traded
    kind: Kind = "model"

    def judge(self, case: Case) -> Verdict:
        if self.about_trading and not case.traded:
            if case.run is None:
                return skipped(self.name, "it has not run: there are no trades to look at", kind=self.kind)
            return Verdict(name=self.name, kind=self.kind, status="failed", score=0.0, errors=(_NOTHING,))
        if self.judge_by is None:
            return skipped(self.name, NO_MODEL, kind=self.kind)
        try:
            answer = self.judge_by(question(self.asked, case))
        except NotAsked as e:
            return skipped(self.name, str(e), kind=self.kind)
        except AgentError as e:
            return unjudged(self.name, str(e), kind=self.kind)
        return _read(self.name, answer)


_NOTHING = "nothing was traded: loosen the entry or choose data on which it can be met"


def question(asked: str, case: Case) -> Question:
    run = case.run
    return Question(
        asked=asked,
        idea=case.idea,
        code=case.draft.text,
        rules="" if case.description is None or problems(case.description) else echo(case.description),
        metrics=MappingProxyType(_metrics(run)) if run is not None else MappingProxyType({}),
        trades=trade_rows(run.trades) if run is not None else (),
        indicators=tuple(f"{name}: {_values(values)}" for name, values in islice(case.indicators.items(), 12)),
    )


def trade_rows(trades: Sequence[Trade]) -> tuple[str, ...]:
    """The first and the last trades, one to a line."""
    half = _MOST_TRADES // 2
    shown = list(trades) if len(trades) <= _MOST_TRADES else [*trades[:half], *trades[-half:]]
    rows = [_row(trade) for trade in shown]
    if len(trades) > _MOST_TRADES:
        rows.insert(half, f"({len(trades) - _MOST_TRADES} trades between)")
    return tuple(rows)


def _row(trade: Trade) -> str:
    out = "still open"
    if trade.exit_time is not None and trade.exit_price is not None:
        out = f"out {iso(trade.exit_time)} at {trade.exit_price:.6g} ({trade.exit_reason or 'no reason given'})"
    return (
        f"{trade.symbol} {trade.side} {trade.qty:g}: in {iso(trade.entry_time)} at {trade.entry_price:.6g}, "
        f"{out}, {trade.pnl_pct:+.2%} in {trade.bars_held} bars"
    )


def _values(values: Sequence[float | None]) -> str:
    last = values[-_MOST_VALUES:]
    return ", ".join("-" if value is None or value != value else f"{value:.6g}" for value in last)


def _metrics(run: Run) -> dict[str, float | None]:
    if run.metrics is None:
        return {}
    named = {f.name: getattr(run.metrics, f.name) for f in fields(run.metrics)}
    return {n: v for n, v in named.items() if v is None or (isinstance(v, (int, float)) and math.isfinite(v))}


def _read(name: str, answer: Answer) -> Verdict:
    """What the model answered, if it is an answer."""
    parsed = answer.parsed
    if parsed is None:
        return unjudged(name, f"the judge gave no verdict ({answer.text[:120]!r}): ask another model", kind="model")
    status, score = parsed.get("status"), parsed.get("score")
    if status not in _STATUSES or isinstance(score, bool) or not isinstance(score, (int, float)) or not 0 <= score <= 1:
        told = f"status {status!r} and score {score!r}"
        return unjudged(name, f"the judge's answer makes no sense ({told}): ask another model", kind="model")
    errors, warnings = _texts(parsed.get("errors")), _texts(parsed.get("warnings"))
    explanation = str(parsed.get("explanation") or "")
    if status == "passed" and score < 0.5:
        status, warnings = "warning", (*warnings, f"the judge passed it with a score of {score:.2f}: look for yourself")
    if status == "failed":
        errors = errors or (explanation or "the judge gave no reason: look at the program yourself",)
    verdict: Status = next(one for one in _STATUSES if one == status)
    return Verdict(
        name=name,
        kind="model",
        status=verdict,
        score=min(float(score), 0.49) if verdict == "failed" else float(score),
        errors=shortened(errors),
        warnings=shortened(warnings),
        details={"explanation": explanation, "model": answer.model},
    )


def _texts(value: Json) -> tuple[str, ...]:
    if isinstance(value, str):
        return (value,) if value.strip() else ()
    return tuple(str(item) for item in value if str(item).strip()) if isinstance(value, (list, tuple)) else ()
