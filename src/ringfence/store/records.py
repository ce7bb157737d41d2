"""What goes into the store and comes out of it: frozen values, never rows of a table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from datetime import UTC, datetime
from typing import Literal

from ringfence.trade.run import Dialect, Json, LookaheadStatus, Provenance

OrderBy = Literal[
    "created_at",
    "strategy_name",
    "total_return",
    "sharpe_ratio",
    "max_drawdown",
    "win_rate",
    "num_trades",
    "execution_time",
]
TrialState = Literal["complete", "pruned", "failed"]


@dataclass(frozen=True, slots=True, kw_only=True)
class RunUsage:
    """What a run cost. It differs from one execution to the next, so it is kept beside the Run and not in it."""

    wall_ms: float
    cpu_ms: float
    peak_memory_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class DraftRecord:
    sha256: str
    name: str
    dialect: Dialect
    class_name: str | None
    text: str
    created_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRecord:
    """One line of the list of runs. Fractions are decimals, a drawdown is negative, None is not known.

    A script that ran its own engine has no metrics of ours: its own statistics stand in, and `provenance` says so.
    """

    run_id: str
    strategy_name: str
    version: int
    code_hash: str
    dialect: Dialect
    total_return: float | None
    sharpe_ratio: float | None
    max_drawdown: float | None
    win_rate: float | None
    num_trades: int | None
    verdict: str
    reason: str
    error_message: str | None
    provenance: Provenance
    lookahead: LookaheadStatus
    bars_sha256: str | None
    symbols: tuple[str, ...]
    wall_ms: float
    cpu_ms: float
    peak_memory_bytes: int
    created_at: datetime
    updated_at: datetime

    @property
    def execution_time(self) -> float:
        """Seconds on the wall."""
        return self.wall_ms / 1000

    def to_json(self) -> dict[str, Json]:
        found: dict[str, Json] = {"execution_time": self.execution_time}
        for f in fields(self):
            value = getattr(self, f.name)
            if isinstance(value, datetime):
                value = stamp(value)
            found[f.name] = list(value) if isinstance(value, tuple) else value
        return found


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredRun:
    record: RunRecord
    text: str  # the Run's JSON, byte for byte as it was saved
    json: Mapping[str, Json]
    draft: DraftRecord


@dataclass(frozen=True, slots=True, kw_only=True)
class RunFilter:
    """Which runs, in which order; without a number the value is not known, and such runs come last."""

    strategy: str | None = None
    verdict: str | None = None
    symbol: str | None = None
    since: datetime | None = None
    provenance: Provenance | None = None
    min_trades: int | None = None
    order_by: OrderBy = "created_at"
    descending: bool = True
    limit: int | None = None
    offset: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Lineage:
    strategy_name: str
    parent_version: int | None  # None: written from nothing
    child_version: int
    optimization_type: str
    changes_made: str
    performance_delta: Mapping[str, float]  # metric -> child minus parent
    created_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Study:
    study_id: int
    strategy_name: str
    objective: str
    spec: Json
    created_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialResult:
    parameters: Mapping[str, Json]
    value: float | None
    state: TrialState = "complete"
    run_id: str | None = None  # of the Run, where it was kept


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    study_id: int
    number: int  # counted from 0 within its study, in the order of saving
    result: TrialResult
    created_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    seq: int  # grows in the order of commits, so whoever has seen n misses nothing by asking for what is after n
    subject: str
    type: str
    message: str
    data: Json
    ts: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanState:
    plan: str
    state: Json
    updated_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    batch_id: int
    spec_sha256: str
    created_at: datetime
    resumed: bool = field(default=False, compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchFile:
    batch_id: int
    file: str
    sha256: str  # of the file's content when it was done: another content is not done
    verdict: str
    line: Mapping[str, Json]
    created_at: datetime


def stamp(moment: datetime) -> str:
    """2026-01-31T09:30:00.123456Z"""
    return moment.astimezone(UTC).isoformat().replace("+00:00", "Z")
