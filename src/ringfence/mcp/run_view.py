"""A stored Run, cut to what a model can read: the numbers always, long lists only when they are asked for."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Literal, get_args

from pydantic import JsonValue

from ringfence.mcp.answers import RunAnswer
from ringfence.mcp.text import SERVER, one_line, untrusted
from ringfence.mcp.wording import for_callers
from ringfence.sandbox.job import Json

Part = Literal["trades", "orders", "fills", "equity", "benchmark", "indicators", "outcome", "mounts", "code"]

_ALWAYS = (
    "run_id", "verdict", "reason", "provenance", "lookahead", "metrics", "statistics", "draft", "bars", "engine",
    "seed", "warnings", "healed", "guidance",
)  # fmt: skip
_CURVES = ("equity", "benchmark")
_SHOWN = ("total_return", "buy_and_hold", "cagr", "sharpe", "max_drawdown", "trades", "win_rate", "exposure")


def run_answer(document: Mapping[str, Json], code: str, parts: Sequence[Part], most: int) -> RunAnswer:
    """At most `most` entries of each list: the first of trades, and points spread over the whole of a curve."""
    details: dict[str, JsonValue] = {}
    left_out: dict[str, int] = {}
    for name in get_args(Part):
        value = code if name == "code" else document.get(name)
        size = len(value) if isinstance(value, (Sequence, Mapping)) else 0
        if name not in parts:
            if size:
                left_out[name] = size
            continue
        details[name], missing = _cut(name, value, most)
        if missing:
            left_out[name] = missing
    values = {name: document[name] for name in _ALWAYS}
    return RunAnswer.model_validate({**values, "details": details, "left_out": left_out})


def run_text(answer: RunAnswer, *, details: bool = True) -> str:
    """The verdict and the handful of numbers that one looks at first."""
    future = answer.lookahead.get("status")
    lines = [f"Stored run {answer.run_id}: {answer.verdict}, {answer.provenance}, look-ahead {future}."]
    figures = answer.metrics or answer.statistics or {}
    shown = figures_line(figures)
    said = {"reason": (answer.reason,), "warnings": answer.warnings, "guidance": answer.guidance}
    ours = {name: for_callers("\n".join(words)) for name, words in said.items()}
    own: dict[str, str] = {}
    if answer.metrics is not None and shown:  # computed by the host
        lines.append(shown)
    elif figures:
        own["statistics"] = one_line(json.dumps(figures), 2000)
    if answer.details and details:
        ours["details"] = json.dumps(answer.details)
    if answer.left_out:
        lines.append(f"runs_get shows, by parts: {', '.join(_amount(name, answer) for name in answer.left_out)}.")
    return "\n".join([*lines, *filter(None, (untrusted(ours, by=SERVER), untrusted(own)))])


def _amount(part: str, answer: RunAnswer) -> str:
    """How much there is of it, whatever of it the answer has."""
    shown = answer.details.get(part)
    count = answer.left_out[part] + (len(shown) if isinstance(shown, list) else 0)
    if part == "outcome":
        return "the outcome"
    if part == "code":
        return f"{count:,} characters of code"
    if part in _CURVES:
        return f"{count:,} points of {part}"
    return f"{count:,} {part if count != 1 else part.removesuffix('s')}"


def figures_line(figures: Mapping[str, JsonValue]) -> str:
    """Those that one looks at first."""
    shown = {name: figures[name] for name in _SHOWN if figures.get(name) is not None}
    return ", ".join(f"{name} {number(value)}" for name, value in shown.items())


def _cut(name: str, value: Json, most: int) -> tuple[JsonValue, int]:
    if name in _CURVES and isinstance(value, Sequence):
        points = spread(value, most)
        return points, len(value) - len(points)
    if name == "indicators" and isinstance(value, Mapping):
        return {key: spread(curve, most) for key, curve in value.items() if isinstance(curve, Sequence)}, 0
    if isinstance(value, list):
        return value[:most], max(0, len(value) - most)
    return value, 0  # type: ignore[return-value]  # our Json is pydantic's


def spread(curve: Sequence[Json], most: int) -> list[JsonValue]:
    """Points over all of it, the first and the last among them."""
    if len(curve) <= most:
        return list(curve)  # type: ignore[arg-type]  # our Json is pydantic's
    step = (len(curve) - 1) / max(1, most - 1)
    return [curve[round(i * step)] for i in range(most)]  # type: ignore[misc]  # our Json is pydantic's


def number(value: JsonValue) -> str:
    """For people; the structured answer has every digit."""
    return f"{value:.4g}" if isinstance(value, float) else str(value)
