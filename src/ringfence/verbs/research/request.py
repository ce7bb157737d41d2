"""What is to be researched, within which bounds, and with whose help."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime

from ringfence.agents import Agent
from ringfence.base.errors import SettingsError
from ringfence.sandbox import Sandbox
from ringfence.sandbox.job import PRESETS, Cancel, Limits
from ringfence.store import Store
from ringfence.trade.run import FillRules
from ringfence.verbs.research.grounds import Grounds
from ringfence.verbs.research.objective import Aim
from ringfence.verbs.research.replies import Spent

MOST_ITERATIONS = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """None is no bound. A step that is under way is finished."""

    iterations: int = 5
    minutes: float | None = None
    usd: float | None = None
    tokens: int | None = None

    def __post_init__(self) -> None:
        if not 1 <= self.iterations <= MOST_ITERATIONS:
            raise SettingsError(
                f"iterations {self.iterations} is out of range: give a number from 1 to {MOST_ITERATIONS:,}"
            )
        for name in ("minutes", "usd", "tokens"):
            value = getattr(self, name)
            if value is not None and not 0 < value < 1e9:
                raise SettingsError(f"a budget of {value:g} {name} is out of range: give a number above 0")

    def spent_out(self, spent: Spent, seconds: float) -> str:
        """Which bound is reached; empty where none is. Iterations are counted by the loop."""
        if self.minutes is not None and seconds >= 60 * self.minutes:
            return f"{self.minutes:g} minutes are over"
        if self.usd is not None and spent.usd >= self.usd:
            return f"{spent.usd:.4f} of {self.usd:g} USD are spent"
        if self.tokens is not None and spent.tokens >= self.tokens:
            return f"{spent.tokens:,} of {self.tokens:,} tokens are used"
        return ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Author:
    """Who writes. The offline author reads words and nothing else, so what it wrote is not revised."""

    name: str
    agent: Agent
    revises: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ResearchRequest:
    idea: str
    grounds: Grounds  # the data it is tried on, in its parts
    also: tuple[Grounds, ...] = ()  # further data, for what has done well on the first
    aim: Aim = field(default_factory=Aim)
    budget: Budget = field(default_factory=Budget)
    rules: FillRules = field(default_factory=FillRules)
    seed: int = 0
    limits: Limits = PRESETS["backtest"]
    secret: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """Something has happened: `stage` is one of idea, code, version, stop, final."""

    stage: str
    message: str
    version: int = 0


OnProgress = Callable[[Progress], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Means:
    """What it takes to do it. `judges` may be None: there are judgements that only a model can give."""

    author: Author
    sandbox: Sandbox
    store: Store
    now: Callable[[], datetime]
    judges: Agent | None = None
    cancel: Cancel | None = None
    on_progress: OnProgress = lambda progress: None
