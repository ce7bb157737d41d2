"""What chat answers, as a value. It is the same whether somebody watched it being made or not."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from types import MappingProxyType
from typing import Literal

from ringfence.sandbox.job import Json, Limits
from ringfence.sandbox.outcome import Artifact, Outcome
from ringfence.verbs.chat.intent import Intent
from ringfence.verbs.simulate.data import Source
from ringfence.verbs.simulate.finding import Finding, artifact_list, outcome_summary

# answered: with numbers that came back. asked: something is missing, and the text says what. refused: nobody here can
# do it, and the text says who could. failed: it was tried, and the text says why there are no numbers.
Kind = Literal["answered", "asked", "refused", "failed"]
EventKind = Literal["read_as", "code", "limits", "stdout", "stderr", "text"]

_NO_NUMBERS: Mapping[str, float | None] = MappingProxyType({})


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    kind: EventKind
    text: str


OnEvent = Callable[[Event], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    kind: Kind
    text: str
    intent: Intent = "none"
    read_as: str = ""  # how the text was understood
    code: str | None = None  # what was run
    limits: Limits | None = None
    outcome: Outcome | None = None
    numbers: Mapping[str, float | None] = field(default_factory=lambda: _NO_NUMBERS)
    source: Source | None = None
    by: str = ""  # template:NAME or model:NAME
    notices: tuple[str, ...] = ()

    @property
    def artifacts(self) -> tuple[Artifact, ...]:
        return self.outcome.artifacts if self.outcome is not None else ()

    def to_json(self) -> dict[str, Json]:
        return {
            "kind": self.kind,
            "text": self.text,
            "intent": self.intent,
            "read_as": self.read_as,
            "code": self.code,
            "limits": asdict(self.limits) if self.limits is not None else None,
            "outcome": outcome_summary(self.outcome) if self.outcome is not None else None,
            "artifacts": artifact_list(self.outcome) if self.outcome is not None else [],
            "numbers": dict(self.numbers),
            "source": self.source.to_json() if self.source is not None else None,
            "by": self.by,
            "notices": list(self.notices),
        }


def from_finding(found: Finding, intent: Intent, read_as: str) -> Answer:
    return Answer(
        kind="answered" if found.status == "ok" else "failed",
        text=found.text,
        intent=intent,
        read_as=read_as,
        code=found.code,
        limits=found.outcome.limits,
        outcome=found.outcome,
        numbers=found.told.numbers if found.told is not None else _NO_NUMBERS,
        source=found.source,
        by=f"template:{found.template}",
    )
