"""What `research_run` answers with: the document that `ringfence research --json` prints, cut to what a model can read.

The whole of it lies beside the answer as a file. Numbers are the host's; the texts may be a model's or a program's own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, cast

from pydantic import Field, JsonValue

from ringfence.mcp.answers import Answer
from ringfence.mcp.run_view import figures_line, spread
from ringfence.mcp.text import SERVER, clean, untrusted
from ringfence.sandbox.job import Json

_MOST_TRADES = 50
_MOST_POINTS = 100
_MOST_CURVES = 10
_MOST_VERSIONS = 20
_MOST_ENTRIES = 20  # of any other list
_LONGEST = 2_000  # characters of any text but the program
_ENDS = {
    "passed": "a strategy was produced, ran, and passed every gate",
    "ran": "a strategy was produced and ran, and a gate is shut",
    "failed": "no strategy passed",
    "not_understood": "the request was not understood",
}


class StrategyAnswer(Answer):
    idea: str
    title: str
    reading: str = Field(description="How the idea was understood.")
    name: str | None
    version: int | None
    author: str = Field(description="rules: offline, no number of yours is changed; llm: a model.")
    models: list[str]
    description: dict[str, JsonValue] | None = Field(description="The rules in typed form, from the offline author.")


class ResultsAnswer(Answer):
    summary: dict[str, JsonValue] | None
    trades: list[dict[str, JsonValue]]
    equity_curve: list[dict[str, JsonValue]]
    indicators: dict[str, list[JsonValue]]
    execution: dict[str, JsonValue] | None = Field(description="run_id is the stored Run: runs_get shows all of it.")


class FinalAnswer(Answer):
    results: ResultsAnswer


class VerdictAnswer(Answer):
    name: str
    kind: Literal["deterministic", "model"]
    status: Literal["passed", "failed", "warning", "skipped", "error"]
    score: float
    errors: list[str]
    warnings: list[str]
    details: dict[str, JsonValue]


class EvaluationAnswer(Answer):
    all_passed: bool
    pass_rate: float
    average_score: float
    summary: str
    gates_shut: dict[str, JsonValue] = Field(default_factory=dict)
    results: list[VerdictAnswer]


class ResearchAnswer(Answer):
    """Fractions are decimals. `iterations` are the versions that were tried, the programs of the others in the file."""

    job_id: str
    status: Literal["passed", "ran", "failed", "not_understood"]
    reason: str = Field(
        description="How it ended; of a request that was not understood, which words and what would be."
    )
    strategy: StrategyAnswer
    code: str | None
    code_sha: str | None
    final_backtest: FinalAnswer | None
    evaluation_results: EvaluationAnswer
    iterations: list[dict[str, JsonValue]]
    best_iteration: int | None
    objective: str
    split: dict[str, str]
    holdout: dict[str, JsonValue] | None = Field(description="The figures on the sealed part of the data, seen once.")
    selection: dict[str, JsonValue] | None
    data_sets: list[dict[str, JsonValue]]
    stopped: str
    usage: dict[str, JsonValue]
    seconds: float
    warnings: list[str]
    advice: str | None = Field(description="What to do where the request was not understood.")
    left_out: dict[str, int] = Field(description="How many entries of a part are in the whole document alone.")
    document: str | None = Field(description="Where the whole document can be read for a while; null if not kept.")


def research_answer(document: Mapping[str, Json], *, advice: str | None, uri: str | None) -> ResearchAnswer:
    left_out: dict[str, int] = {}
    cut = {name: _shorten(value) for name, value in document.items() if name not in ("code", "final_backtest")}
    final = cast("Mapping[str, Mapping[str, Json]] | None", document["final_backtest"])
    versions = cast("Sequence[Mapping[str, Json]]", document["iterations"])
    cut["iterations"] = _versions(versions, document["best_iteration"], left_out)
    cut["code"] = cast(JsonValue, document["code"])
    cut["final_backtest"] = None if final is None else {"results": _results(final["results"], left_out)}
    return ResearchAnswer.model_validate({**cut, "advice": advice, "left_out": left_out, "document": uri})


def research_text(answer: ResearchAnswer) -> str:
    lines = [f"Research {answer.job_id}: {_ENDS[answer.status]}."]
    said = {"reading": answer.strategy.reading, "reason": answer.reason}
    own, ours = {"code": answer.code or ""}, {"warnings": "\n".join(answer.warnings)}
    if answer.final_backtest is not None:
        lines += _figures(answer, answer.final_backtest.results)
        said["evaluation"] = answer.evaluation_results.summary
    offline = answer.strategy.author == "rules"
    if offline:  # these are our words then, and the user's
        lines += [clean(words) for words in said.values() if words]
    else:
        own = {"reading": said.pop("reading"), **own}
        ours = {**said, **ours}
    lines += [answer.advice] if answer.advice else []
    if answer.document is not None:
        lines.append(f"The whole document, with every trade, curve and version: {answer.document}")
    elif answer.left_out:
        lines.append("The whole document is larger than what this server keeps: runs_get shows the Run.")
    writer = "was written by the offline author" if offline else "was written by a model"
    return "\n".join([*lines, *filter(None, (untrusted(own, by=writer), untrusted(ours, by=SERVER)))])


def _figures(answer: ResearchAnswer, results: ResultsAnswer) -> list[str]:
    run = results.execution or {}
    best = answer.best_iteration
    version = "No version is the best" if best is None else f"Version {best}"
    ended = f"{run.get('verdict')}, {run.get('provenance')}"
    return [
        f"{version}, stored run {run.get('run_id')}: {ended}.",
        f"On all of the data: {figures_line(results.summary or {})}",
        f"On the hold-out, seen once: {figures_line(answer.holdout or {}) or 'nothing'}",
    ]


def _results(results: Mapping[str, Json], left_out: dict[str, int]) -> dict[str, JsonValue]:
    trades = _list(results["trades"])
    curve = _list(results["equity_curve"])
    lines = cast("Mapping[str, Sequence[Json]]", results["indicators"] or {})
    shown = {name: spread(lines[name], _MOST_POINTS) for name in list(lines)[:_MOST_CURVES]}
    points = spread(curve, _MOST_POINTS)
    _note(left_out, "trades", len(trades) - _MOST_TRADES)
    _note(left_out, "equity_curve", len(curve) - len(points))
    _note(left_out, "indicators", sum(map(len, lines.values())) - sum(map(len, shown.values())))
    return {
        "summary": _shorten(results["summary"]),
        "trades": [_shorten(trade) for trade in trades[:_MOST_TRADES]],
        "equity_curve": points,
        "indicators": dict(shown),
        "execution": _shorten(results["execution"]),
    }


def _versions(versions: Sequence[Mapping[str, Json]], best: Json, left_out: dict[str, int]) -> list[JsonValue]:
    """The last ones and the best, without their programs: the best one's is the answer's `code`."""
    first = len(versions) - _MOST_VERSIONS
    kept = [v for n, v in enumerate(versions) if n >= first or v["number"] == best]
    _note(left_out, "iterations", len(versions) - len(kept))
    return [
        {name: _shorten(value) for name, value in version.items() if name not in ("code", "diff", "evaluation")}
        for version in kept
    ]


def _note(left_out: dict[str, int], part: str, missing: int) -> None:
    if missing > 0:
        left_out[part] = missing


def _list(value: Json) -> Sequence[Json]:
    return value if isinstance(value, (list, tuple)) else ()


def _shorten(value: Json) -> JsonValue:
    """The same with no text and no list in it that is too long to be read."""
    if isinstance(value, str):
        return value if len(value) <= _LONGEST else f"{value[:_LONGEST]}…"
    if isinstance(value, Mapping):
        return {name: _shorten(item) for name, item in value.items()}
    if isinstance(value, Sequence):
        return [_shorten(item) for item in value[:_MOST_ENTRIES]]
    return value
