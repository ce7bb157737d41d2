"""What an agent is asked, and what it answers: values, so that a question can be stored, replayed and compared."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from ringfence.trade.description import Description
    from ringfence.trade.run import Json

# compute and summarise are for questions; the others are for strategies.
Role = Literal["research", "code", "package", "debug", "analyst", "optimise", "judge", "compute", "summarise"]
Change = Literal["parameters", "entry", "exit", "risk", "filter", "rewrite", "crossover"]
# end: it said all it had to say. length: it was cut off, and what there is of it is no program.
# refused: it could not do what was asked, and its text says why.
StopReason = Literal["end", "length", "refused"]


@dataclass(frozen=True, slots=True, kw_only=True)
class DataFacts:
    """What the strategy will be tried on, as far as its author may know it: never a price."""

    symbols: tuple[str, ...] = ()
    timeframe: str = "1d"
    first: str = ""  # ISO 8601
    last: str = ""
    bars: int = 0
    columns: tuple[str, ...] = ("open", "high", "low", "close", "volume")


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorSeen:
    """How the last attempt failed."""

    type: str
    message: str
    line: int | None = None
    traceback: str = ""
    times: int = 1  # in a row


@dataclass(frozen=True, slots=True, kw_only=True)
class VerdictSeen:
    """What one evaluator said of the last attempt."""

    name: str
    status: str
    errors: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Brief:
    """One question. Which fields count depends on `role`; what is empty is not known."""

    role: Role
    idea: str = ""
    data: DataFacts = field(default_factory=DataFacts)
    code: str = ""
    error: ErrorSeen | None = None
    metrics: Mapping[str, float | None] = field(default_factory=lambda: MappingProxyType({}))
    trades: tuple[str, ...] = ()  # a few rows as text
    verdicts: tuple[VerdictSeen, ...] = ()
    change: Change | None = None  # the kind of change that is asked for
    notes: tuple[str, ...] = ()  # what was tried, and what came of it
    max_output_tokens: int = 8_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    input_tokens: int = 0
    output_tokens: int = 0
    requests: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """One answer. Only where `stop_reason` is "end" is `code` a whole program."""

    text: str
    code: str | None = None
    description: Description | None = None
    parsed: Mapping[str, Json] | None = None  # of the roles that answer in a fixed shape
    stop_reason: StopReason = "end"
    usage: Usage = field(default_factory=Usage)
    cost_usd: float | None = None  # None where nobody knows
    model: str = ""
    notices: tuple[str, ...] = ()
