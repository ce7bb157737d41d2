"""What one evaluator says of a strategy: a value with a status, a score, and sentences to act on."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Literal, Protocol

from ringfence.evaluators.case import Case
from ringfence.trade.run import Json, plain

Kind = Literal["deterministic", "model"]
# error: it could not be judged, which says nothing about the strategy. skipped: there was nothing to judge it by.
Status = Literal["passed", "failed", "warning", "skipped", "error"]

MOST_SENTENCES = 8  # of a kind; the rest are counted


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """`score` is from 0 to 1, and 0 where there is none. Each error says what is wrong, and what to do about it."""

    name: str
    kind: Kind
    status: Status
    score: float
    errors: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    details: Mapping[str, Json] = field(default_factory=lambda: MappingProxyType({}))

    def __post_init__(self) -> None:
        if not 0 <= self.score <= 1:  # also where it is no number
            raise ValueError(f"{self.name} has a score of {self.score}: give one from 0 to 1")
        object.__setattr__(self, "details", MappingProxyType(dict(self.details)))

    @property
    def counts(self) -> bool:
        """Whether it says something about the strategy."""
        return self.status in ("passed", "warning", "failed")

    def to_json(self) -> dict[str, Json]:
        return {
            "name": self.name,
            "kind": self.kind,
            "status": self.status,
            "score": self.score,
            "errors": list(self.errors),
            "warnings": list(self.warnings),
            "details": plain(self.details),
        }


class Evaluator(Protocol):
    """One module of this folder with a `create()`, or `create(judge)` for the ones that ask a model."""

    @property
    def name(self) -> str: ...

    @property
    def kind(self) -> Kind: ...

    def judge(self, case: Case) -> Verdict: ...


def found(
    name: str,
    *,
    score: float,
    errors: Iterable[str] = (),
    warnings: Iterable[str] = (),
    details: Mapping[str, Json] | None = None,
    kind: Kind = "deterministic",
) -> Verdict:
    """Failed with any error, a warning with any warning, else passed; an error keeps the score below a half."""
    wrong, doubtful = tuple(errors), tuple(warnings)
    status: Status = "failed" if wrong else "warning" if doubtful else "passed"
    score = within(score)
    return Verdict(
        name=name,
        kind=kind,
        status=status,
        score=min(score, 0.49) if wrong else score,
        errors=shortened(wrong),
        warnings=shortened(doubtful),
        details=details or {},
    )


def skipped(name: str, reason: str, *, kind: Kind = "deterministic") -> Verdict:
    return Verdict(name=name, kind=kind, status="skipped", score=0.0, warnings=(reason,))


def unjudged(name: str, reason: str, *, kind: Kind = "deterministic") -> Verdict:
    """The evaluator itself could not do its work."""
    return Verdict(name=name, kind=kind, status="error", score=0.0, errors=(reason,))


def within(score: float) -> float:
    """The score brought into 0..1; what is no number is 0."""
    return min(max(float(score), 0.0), 1.0) if score == score else 0.0


def shortened(sentences: tuple[str, ...]) -> tuple[str, ...]:
    """Each once, and of many the first ones, with a count of the rest."""
    once = tuple(dict.fromkeys(sentences))
    if len(once) <= MOST_SENTENCES:
        return once
    left = len(once) - MOST_SENTENCES
    return (*once[:MOST_SENTENCES], f"and {left} more of the kind: mend the first ones and look again")
