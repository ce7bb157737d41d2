"""What a template found, as a value: the sentences, the numbers behind them, and how they were come by."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from types import MappingProxyType
from typing import Literal

from ringfence.sandbox.job import Json
from ringfence.sandbox.outcome import Outcome
from ringfence.verbs.simulate.data import Source

_NOTHING: Mapping[str, Json] = MappingProxyType({})


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """What a template makes of a result that fits: `lead` says the numbers, the rest says what they rest on."""

    lead: str
    horizon: str
    assumptions: tuple[str, ...]
    observations: int
    observed: str  # what was counted: daily returns, closed trades
    numbers: Mapping[str, float | None]
    series: Mapping[str, Json] = field(default_factory=lambda: _NOTHING)


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    status: Literal["ok", "failed"]
    template: str
    text: str
    told: Told | None  # None where nothing came back that could be told
    source: Source
    code: str
    outcome: Outcome

    def to_json(self) -> dict[str, Json]:
        told = self.told
        return {
            "status": self.status,
            "template": self.template,
            "text": self.text,
            "horizon": told.horizon if told else None,
            "assumptions": list(told.assumptions) if told else [],
            "observations": told.observations if told else None,
            "numbers": dict(told.numbers) if told else {},
            "series": dict(told.series) if told else {},
            "source": self.source.to_json(),
            "code": self.code,
            "limits": asdict(self.outcome.limits),
            "outcome": outcome_summary(self.outcome),
            "artifacts": artifact_list(self.outcome),
        }


def summary(told: Told, source: Source) -> str:
    """Always horizon, assumptions, number of observations, source and date, whatever the lead says."""
    lines = [
        told.lead,
        f"Horizon: {told.horizon}.",
        f"Assumptions: {'; '.join(told.assumptions)}.",
        f"Observations: {told.observations:,} {told.observed}.",
        f"Data: {source.sentence()}.",
    ]
    lines += [f"Note: {note}." for note in source.notes]
    return "\n".join(lines)


def failure(outcome: Outcome, why: str | None, source: Source) -> str:
    """The program did not give an answer, and nothing is put in its place."""
    if why is not None:
        reason = f"its result cannot be believed: {why}"
    elif outcome.error is not None:
        reason = f"{outcome.error.type}: {outcome.error.message}"
    else:
        reason = outcome.reason or outcome.status
    return f"The computation failed, so there are no numbers to give: {reason}.\nData: {source.sentence()}."


def outcome_summary(outcome: Outcome) -> dict[str, Json]:
    failed = outcome.error
    return {
        "run_id": outcome.run_id,
        "status": outcome.status,
        "reason": outcome.reason,
        "error": None if failed is None else {"type": failed.type, "message": failed.message, "line": failed.line},
        "stdout": outcome.stdout,
        "stderr": outcome.stderr,
        "wall_ms": outcome.usage.wall_ms,
        "cpu_ms": outcome.usage.cpu_ms,
        "peak_memory_bytes": outcome.usage.peak_memory_bytes,
        "backend": outcome.backend,
    }


def artifact_list(outcome: Outcome) -> list[Json]:
    return [
        {"name": a.name, "bytes": a.bytes, "sha256": a.sha256, "mime": a.mime, "path": a.path}
        for a in outcome.artifacts
    ]
