"""What a Job did, as a value. Its JSON form is the contract that every face prints."""

from __future__ import annotations

import builtins
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from ringfence.sandbox.job import Device, Json, Limits

Status = Literal[
    "ok",
    "error",
    "exit",
    "signal",
    "timeout",
    "cpu_limit",
    "memory_limit",
    "output_limit",
    "disk_limit",
    "process_limit",
    "cancelled",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """An exception the program did not catch; `line` is in the program's own text, if any line of it is."""

    type: str
    message: str
    line: int | None
    traceback: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Artifact:
    """A file the program left. Exactly one of `path` (on the host) and `data` is set."""

    name: str
    bytes: int
    sha256: str
    mime: str
    path: str | None = None
    data: builtins.bytes | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class RejectedArtifact:
    name: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Truncated:
    stdout: bool = False
    stderr: bool = False
    artifacts: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    wall_ms: float
    cpu_ms: float
    peak_memory_bytes: int
    processes: int  # the most seen at once
    output_bytes: int  # both streams, dropped bytes included


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceReport:
    """`used` is what the program had in reach; `found` is what a probe of our own saw there, if one was asked for."""

    requested: Device = "auto"
    used: Literal["cpu", "gpu", "npu"] = "cpu"
    notice: str | None = None  # why it is not what was asked for
    found: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    run_id: str
    status: Status
    reason: str
    exit_code: int | None
    signal: int | None
    stdout: str
    stderr: str
    truncated: Truncated
    result: Json
    error: Failure | None
    artifacts: tuple[Artifact, ...]
    rejected_artifacts: tuple[RejectedArtifact, ...]
    usage: Usage
    limits: Limits
    backend: str
    isolation: Mapping[str, str]  # what was really enforced: mechanism -> how
    device: DeviceReport
    stages: Mapping[str, float]  # milliseconds per stage

    @property
    def ok(self) -> bool:
        return self.status == "ok"

    def to_json(self) -> dict[str, Json]:
        """The Outcome as plain JSON values, artifact bytes left out."""
        return {name: _plain(getattr(self, name)) for name in self.__slots__}


def _plain(value: object) -> Json:
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, Mapping):
        return {str(k): _plain(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(v) for v in value]
    slots: tuple[str, ...] = getattr(type(value), "__slots__", ())
    if slots:
        return {name: _plain(getattr(value, name)) for name in slots if name != "data"}
    raise TypeError(f"{type(value).__name__} cannot be part of an Outcome")
