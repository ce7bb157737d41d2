"""What tools answer with: one model per answer. Its schema is published, and its values are the structured content."""

from __future__ import annotations

import json
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, JsonValue

from ringfence.mcp.leavings import Left
from ringfence.sandbox.job import Device
from ringfence.sandbox.outcome import Status


class Answer(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True)


class TruncatedAnswer(Answer):
    stdout: bool
    stderr: bool
    artifacts: bool


class ErrorAnswer(Answer):
    """An exception that the program did not catch."""

    type: str
    message: str
    line: int | None = Field(description="In the program's own text.")
    traceback: str


class ArtifactAnswer(Answer):
    name: str
    bytes: int
    sha256: str
    mime: str
    path: None = Field(default=None, description="Always null: what is kept is read by its uri.")
    uri: str | None = Field(default=None, description="Where to read it, for a while; null if it was not kept.")


class RejectedAnswer(Answer):
    name: str
    reason: str


class UsageAnswer(Answer):
    wall_ms: float
    cpu_ms: float
    peak_memory_bytes: int
    processes: int
    output_bytes: int


class LimitsAnswer(Answer):
    wall_seconds: float
    cpu_seconds: float | None
    memory_mb: int
    cpus: float
    processes: int
    disk_mb: int
    output_bytes: int


class DeviceAnswer(Answer):
    requested: Device
    used: Literal["cpu", "gpu", "npu"]
    notice: str | None
    found: dict[str, str] = Field(default_factory=dict)


class OutcomeAnswer(Answer):
    """What the program did. stdout, stderr, result, error and artifacts are the program's own words: untrusted."""

    run_id: str = Field(description="Of this run of the sandbox: artifact_list and artifact_read take it.")
    status: Status
    reason: str
    exit_code: int | None
    signal: int | None
    stdout: str
    stderr: str
    truncated: TruncatedAnswer
    result: JsonValue = Field(
        description="Null, too, where it is too large for an answer: `reason` says which artifact it is."
    )
    error: ErrorAnswer | None
    artifacts: list[ArtifactAnswer]
    rejected_artifacts: list[RejectedAnswer]
    usage: UsageAnswer
    limits: LimitsAnswer
    backend: str
    isolation: dict[str, str]
    device: DeviceAnswer
    stages: dict[str, float] = Field(description="Milliseconds of each stage.")


def outcome_values(left: Left) -> dict[str, JsonValue]:
    """The fields of an OutcomeAnswer, with where each artifact can be read.

    Without halves of characters: a backend may hand them on, and neither the models nor the protocol take them.
    """
    outcome, kept = left.outcome, left.kept
    values: dict[str, JsonValue] = json.loads(whole(json.dumps(outcome.to_json(), ensure_ascii=False)))
    values["artifacts"] = [
        {
            "name": artifact.name,
            "bytes": artifact.bytes,
            "sha256": artifact.sha256,
            "mime": artifact.mime,
            "uri": kept[artifact.name].uri if artifact.name in kept else None,
        }
        for artifact in outcome.artifacts
    ]
    values["stages"] = {name: round(milliseconds, 2) for name, milliseconds in outcome.stages.items()}
    return values


def whole(text: str) -> str:
    """With a question mark for each half of a character."""
    return text.encode("utf-8", "replace").decode()


class SessionAnswer(Answer):
    session_id: str
    backend: str
    limits: LimitsAnswer
    idle_seconds: float = Field(description="The session ends after so long without a cell.")


class CellAnswer(OutcomeAnswer):
    session_id: str
    alive: bool = Field(description="Whether the session goes on; if not, open another.")


class ClosedAnswer(Answer):
    session_id: str
    closed: bool


class ArtifactListAnswer(Answer):
    artifacts: list[KeptAnswer]


class KeptAnswer(Answer):
    run_id: str
    name: str
    bytes: int
    sha256: str
    mime: str
    uri: str


class ArtifactPartAnswer(KeptAnswer):
    offset: int
    encoding: Literal["text", "base64"]
    content: str = Field(description="What a program wrote: untrusted.")
    next_offset: int | None = Field(description="Where the rest begins; null at the end.")


class FindingAnswer(Answer):
    code: str
    line: int
    column: int
    severity: Literal["error", "warning", "info"]
    message: str
    hint: str


class CheckAnswer(Answer):
    ok: bool
    dialect: str | None
    class_: str | None = Field(alias="class")
    parameters: list[dict[str, JsonValue]]
    sha256: str | None
    findings: list[FindingAnswer]
    notes: list[str]


class RunRowAnswer(Answer):
    """One stored run. Fractions are decimals, a drawdown is negative, null is not known."""

    run_id: str
    strategy_name: str
    version: int
    code_hash: str
    dialect: str
    total_return: float | None
    sharpe_ratio: float | None
    max_drawdown: float | None
    win_rate: float | None
    num_trades: int | None
    verdict: str
    reason: str
    error_message: str | None
    provenance: str
    lookahead: str
    bars_sha256: str | None
    symbols: list[str]
    wall_ms: float
    cpu_ms: float
    peak_memory_bytes: int
    execution_time: float
    created_at: str
    updated_at: str


class RunsAnswer(Answer):
    runs: list[RunRowAnswer]
    matching: int
    stored: int


class RunAnswer(Answer):
    """A Run of docs/engine.md, without what was not asked for; `left_out` says what that is and how long."""

    run_id: str = Field(description="Of the stored run: runs_get takes it.")
    verdict: str
    reason: str
    provenance: str = Field(description="verified: replayed by the host; claimed: a script's own; mismatch: neither.")
    lookahead: dict[str, JsonValue]
    metrics: dict[str, JsonValue] | None
    statistics: dict[str, JsonValue] | None
    draft: dict[str, JsonValue]
    bars: dict[str, JsonValue] | None
    engine: dict[str, JsonValue]
    seed: int
    warnings: list[str]
    healed: list[str]
    guidance: list[str]
    details: dict[str, JsonValue] = Field(description="The parts that were asked for, such as trades.")
    left_out: dict[str, int] = Field(
        description="What of each part is not in details and runs_get can give: entries of a list, points of a curve, "
        "lines of indicators, fields of outcome, characters of code."
    )


class BacktestAnswer(OutcomeAnswer):
    run: RunAnswer = Field(description="The stored run, with an id of its own.")
