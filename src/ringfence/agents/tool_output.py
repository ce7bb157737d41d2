"""What a coding tool printed: plain text, or the JSON of Claude Code's `--output-format json` and `stream-json`.

Such tools say `subtype: "success"` of a request that the service refused: only `is_error` tells. Stopped by a cap of
theirs, they print no `result` at all.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ringfence.agents.brief import StopReason, Usage
from ringfence.agents.process import Finished
from ringfence.base.errors import AgentError

if TYPE_CHECKING:
    from ringfence.trade.run import Json

_SHOWN = 300  # characters of somebody else's words in a message of ours
_INPUT = ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    text: str
    parsed: Mapping[str, Json] | None = None
    stop_reason: StopReason = "end"
    usage: Usage = field(default_factory=lambda: Usage(requests=1))
    cost_usd: float | None = None
    model: str = ""


def read_text_output(name: str, finished: Finished) -> Said:
    if finished.code != 0:
        raise AgentError(f"{name} ended with exit code {finished.code} ({_last(finished)}): try the command by hand")
    if not finished.out.strip():
        raise AgentError(f"{name} printed nothing ({_last(finished)}): try the command by hand")
    return Said(text=finished.out)


def read_json_output(name: str, finished: Finished) -> Said:
    answer = _result(finished.out)
    if answer is None:
        raise AgentError(
            f"{name} printed no JSON result (exit code {finished.code}; {_last(finished)}): try the command by hand"
        )
    text = answer.get("result")
    if answer.get("is_error") or not isinstance(text, str):
        kind = answer.get("subtype") if not isinstance(text, str) else text
        raise AgentError(f"{name} could not answer ({_short(str(kind))}): try the command by hand")
    if finished.code != 0:
        raise AgentError(f"{name} ended with exit code {finished.code} ({_last(finished)}): try the command by hand")
    stop: StopReason = "length" if answer.get("stop_reason") == "max_tokens" else "end"
    if answer.get("stop_reason") == "refusal":
        stop = "refused"
    parsed = answer.get("structured_output")
    return Said(
        text=text,
        parsed=parsed if isinstance(parsed, dict) else None,
        stop_reason=stop,
        usage=_usage(answer),
        cost_usd=_money(answer.get("total_cost_usd")),
        model=_model(answer.get("modelUsage")),
    )


def _result(out: str) -> dict[str, Any] | None:
    """The object, or the line of a stream of them, that is the result."""
    for candidate in (out, *reversed(out.splitlines())):
        try:
            value = json.loads(candidate)
        except (ValueError, RecursionError):
            continue
        if isinstance(value, list):  # with --verbose the json format is a list of all messages
            value = next((v for v in reversed(value) if isinstance(v, dict) and v.get("type") == "result"), None)
        if isinstance(value, dict) and (value.get("type") == "result" or "result" in value or "is_error" in value):
            return value
    return None


def _usage(answer: Mapping[str, Any]) -> Usage:
    told = answer.get("usage")
    told = told if isinstance(told, dict) else {}
    turns = _count(answer.get("num_turns"))
    return Usage(
        input_tokens=sum(_count(told.get(name)) for name in _INPUT),
        output_tokens=_count(told.get("output_tokens")),
        requests=max(1, turns),
    )


def _count(value: object) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else 0


def _money(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < float("inf"):
        return None
    return float(value)


def _model(usage: object) -> str:
    return str(next(iter(usage))) if isinstance(usage, dict) and len(usage) == 1 else ""


def _last(finished: Finished) -> str:
    lines = [line.strip() for line in (finished.err or finished.out).splitlines() if line.strip()]
    return _short(lines[-1]) if lines else "it said nothing"


def _short(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"
