"""What tests of the research loop share: programs with one thing wrong, recorded authors, and a little data."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from ringfence.agents import Agent
from ringfence.agents.brief import Brief, Reply
from ringfence.agents.scripted import RecordedReply, ScriptedAgent
from ringfence.markets import load_bars
from ringfence.sandbox import Sandbox
from ringfence.sandbox.job import Cancel
from ringfence.store import open_store
from ringfence.verbs.research import (
    Aim,
    Author,
    Budget,
    Grounds,
    Means,
    ResearchRequest,
    ResearchResult,
    open_grounds,
    research,
)

IDEA = "Buy GOOG when RSI drops below 35, sell when it rises above 65"


def strategy(low: int = 40, high: int = 60, period: int = 14, extra: str = "", head: str = "") -> str:
    return (
        f"{head}from ringfence import Strategy, rsi\n\n\n"
        "class Dip(Strategy):\n"
        f"    period = {period}\n    low = {low}\n    high = {high}\n\n"
        "    def init(self):\n"
        "        self.rsi = self.I(rsi, self.data.close, self.period)\n\n"
        "    def next(self):\n"
        f"{extra}"
        "        if not self.position and self.rsi[-1] < self.low:\n"
        "            self.buy()\n"
        "        elif self.position and self.rsi[-1] > self.high:\n"
        "            self.position.close()\n"
    )


GOOD = strategy()
BROKEN_SYNTAX = GOOD.replace("def next(self):", "def next(self)")
BROKEN_IMPORT = strategy(head="import no_such_library\n")
BROKEN_NAME = strategy(extra="        level = undefined_level\n")
NEVER = strategy(low=-5)


def fenced(code: str, said: str = "Here it is.") -> str:
    return f"{said}\n\n```python\n{code}```\n"


def advice(*kinds: str, stop: bool = False) -> str:
    changes = [{"kind": kind, "what": f"change the {kind}", "why": "it may help"} for kind in kinds]
    return json.dumps({"assessment": "so so", "problems": [], "changes": changes, "stop": stop})


def says(role: str, text: str, *expect: str) -> RecordedReply:
    return RecordedReply(role=role, text=text, expect=expect)  # type: ignore[arg-type]  # a role, as the tests spell it


@dataclass
class Remembering:
    """Hands briefs on and remembers them."""

    agent: Agent
    briefs: list[Brief] = field(default_factory=list)

    def act(self, brief: Brief) -> Reply:
        self.briefs.append(brief)
        return self.agent.act(brief)

    @property
    def roles(self) -> list[str]:
        return [brief.role for brief in self.briefs if brief.role != "judge"]


@dataclass
class Bench:
    sandbox: Sandbox
    grounds: Grounds
    folder: Path

    def research(
        self,
        replies: Sequence[RecordedReply] | Agent,
        *,
        idea: str = IDEA,
        research_id: str = "test",
        revises: bool = True,
        name: str = "scripted",
        aim: Aim | None = None,
        budget: Budget | None = None,
        also: tuple[Grounds, ...] = (),
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
        cancel: Cancel | None = None,
    ) -> tuple[ResearchResult, Remembering]:
        agent = Remembering(ScriptedAgent(tuple(replies)) if isinstance(replies, Sequence) else replies)
        request = ResearchRequest(
            idea=idea,
            grounds=self.grounds,
            also=also,
            aim=aim or Aim(),
            budget=budget or Budget(iterations=1),
            secret="secret",
        )
        with open_store(self.url) as store:
            means = Means(
                author=Author(name=name, agent=agent, revises=revises),
                sandbox=self.sandbox,
                store=store,
                now=now,
                cancel=cancel,
            )
            return research(request, means, research_id=research_id), agent

    @property
    def url(self) -> str:
        return f"sqlite:///{self.folder}/results.db"


@contextmanager
def small_grounds(spec: str = "sample:GOOG", end: str = "2006-12-31") -> Iterator[Grounds]:
    with open_grounds(load_bars([spec], end=end)) as grounds:
        yield grounds


def results(evaluation: Mapping[str, object]) -> dict[str, str]:
    rows = evaluation["results"]
    assert isinstance(rows, list)
    return {row["name"]: row["status"] for row in rows}
