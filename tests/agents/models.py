"""What the tests of agents share: replies, and an llm agent at a server on this machine."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from ringfence.agents.brief import Role
from ringfence.agents.llm import LlmAgent
from ringfence.agents.llm.asking import World
from ringfence.agents.llm.budget import Limits
from ringfence.agents.llm.config import LlmConfig, Target
from ringfence.agents.prompt import role_prompt
from ringfence.agents.scripted import RecordedReply, ScriptedAgent
from ringfence.agents.shapes import SHAPES
from ringfence.testing import AgentCase
from ringfence.testing.agent import PROGRAM

from tests.agents.server import Asked, ModelServer, Say

FENCED = f"Here it is.\n\n```python\n{PROGRAM}```\n"
KEY = "a-secret-key"
CASE = AgentCase(agent=ScriptedAgent((RecordedReply(text=FENCED, repeat=True),)))  # for its briefs
PRICED = "anthropic:claude-sonnet-5"  # in the library's price list
VERDICT: Mapping[str, object] = {
    "status": "failed", "score": 0.2, "explanation": "it buys above 35", "errors": ["line 9 buys above 35"],
    "warnings": [],
}  # fmt: skip
SHAPED: Mapping[Role, Mapping[str, object]] = {
    "research": {
        "title": "Dip", "summary": "buys dips", "rules": ["Buy when RSI(14) drops below 35"], "symbols": ["GOOG"],
        "assumptions": [], "data_needed": [],
    },
    "analyst": {
        "assessment": "nine trades prove nothing", "problems": ["few trades"],
        "changes": [{"kind": "exit", "what": "sell earlier", "why": "it gives back its gains"}], "stop": False,
    },
    "judge": VERDICT,
}  # fmt: skip


def by_role(asked: Asked) -> Say:
    """What a good model would say: JSON to a role that wants it, else a program."""
    for role, answer in SHAPED.items():
        if role_prompt(role)[:60] in asked.text:
            assert set(answer) == set(json.loads(json.dumps(SHAPES[role]["properties"])))
            return Say(text=json.dumps(answer))
    return Say(text=FENCED)


@dataclass
class Waits:
    """Time that passes when somebody waits, and only then."""

    seconds: list[float] = field(default_factory=list)

    async def sleep(self, seconds: float) -> None:
        self.seconds.append(seconds)

    @property
    def world(self) -> World:
        return World(sleep=self.sleep)


def llm(
    server: ModelServer,
    home: Path,
    *,
    model: str = "local",
    fallback: tuple[Target, ...] = (),
    waits: Waits | None = None,
    limits: Limits | None = None,
    seconds: float = 60.0,
    retries: int = 4,
    continuations: int = 3,
    stream: bool = False,
) -> LlmAgent:
    url = server.url if model.startswith("anthropic:") else server.openai
    config = LlmConfig(
        targets=(Target(model=model, url=url, key=KEY), *fallback),
        ledger_dir=home / "models",
        limits=limits or Limits(),
        seconds=seconds,
        retries=retries,
        continuations=continuations,
        stream=stream,
    )
    return LlmAgent(config, world=(waits or Waits()).world)
