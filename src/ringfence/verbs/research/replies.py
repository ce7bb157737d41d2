"""Asking an agent once: its answer goes on record before it is used, with what it cost."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import cast

from ringfence.agents import Agent
from ringfence.agents.brief import Brief, Reply, StopReason, Usage
from ringfence.agents.reading import behind
from ringfence.sandbox import Sandbox
from ringfence.trade.description.stored import from_json, to_json
from ringfence.trade.run import Json, plain
from ringfence.verbs.research.journal import Journal


@dataclass(frozen=True, slots=True, kw_only=True)
class Spent:
    """`usd` is what is known of it: replies whose price nobody knows are counted in `unpriced`."""

    tokens: int = 0
    usd: float = 0.0
    requests: int = 0
    unpriced: int = 0

    @property
    def known_usd(self) -> float | None:
        """None where there is something to pay and nobody knows how much."""
        return None if self.unpriced and not self.usd else self.usd

    @property
    def money(self) -> str:
        if self.known_usd is None:
            return "price unknown"
        return f"at least {self.usd:.4f} USD" if self.unpriced else f"{self.usd:.4f} USD"

    def to_json(self) -> dict[str, Json]:
        return {
            "tokens": self.tokens,
            "usd": self.known_usd,
            "requests": self.requests,
            "unpriced": self.unpriced,
        }

    def plus(self, reply: Reply) -> Spent:
        return Spent(
            tokens=self.tokens + reply.usage.input_tokens + reply.usage.output_tokens,
            usd=self.usd + (reply.cost_usd or 0.0),
            requests=self.requests + reply.usage.requests,
            unpriced=self.unpriced + (reply.cost_usd is None),
        )

    def add(self, other: Spent) -> Spent:
        return Spent(
            tokens=self.tokens + other.tokens,
            usd=self.usd + other.usd,
            requests=self.requests + other.requests,
            unpriced=self.unpriced + other.unpriced,
        )


def read_spent(value: Json) -> Spent:
    return Spent(**cast("Mapping[str, int]", value))


def ask(agent: Agent, brief: Brief, journal: Journal, sandbox: Sandbox) -> Reply:
    """What it writes is read in that sandbox."""

    def act() -> Json:
        with behind(sandbox):
            return _stored(agent.act(brief))

    return _read(journal.step("reply", f"{brief.role} brief", act))


def _stored(reply: Reply) -> Json:
    return {
        "text": reply.text,
        "code": reply.code,
        "description": None if reply.description is None else to_json(reply.description),
        "parsed": plain(reply.parsed),
        "stop_reason": reply.stop_reason,
        "usage": plain(reply.usage),
        "cost_usd": reply.cost_usd,
        "model": reply.model,
        "notices": list(reply.notices),
    }


def _read(value: Json) -> Reply:
    row = cast("Mapping[str, Json]", value)
    description = row["description"]
    return Reply(
        text=str(row["text"]),
        code=cast("str | None", row["code"]),
        description=None if description is None else from_json(description),
        parsed=cast("Mapping[str, Json] | None", row["parsed"]),
        stop_reason=cast(StopReason, row["stop_reason"]),
        usage=Usage(**cast("Mapping[str, int]", row["usage"])),
        cost_usd=cast("float | None", row["cost_usd"]),
        model=str(row["model"]),
        notices=tuple(str(notice) for notice in cast("Sequence[Json]", row["notices"])),
    )
