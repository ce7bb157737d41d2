"""Any language model as an author and judge, through pydantic-ai behind our own protocol.

    llm:model=anthropic:NAME             at its provider, with the provider's key from the environment
    llm:model=NAME,url=http://host/v1    at any server that speaks OpenAI's chat completions

A request that fails for a while is sent again, with the waits that the server asks for; then the fallback model is
asked. All of it happens within one wall clock per model and within the budget. A reply that was cut off is continued,
and refused if that does not make it whole.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from ringfence.agents.brief import Brief, Reply
from ringfence.agents.llm.asking import Conversation, World
from ringfence.agents.llm.budget import Budget
from ringfence.agents.llm.config import LlmConfig, Target, read_config
from ringfence.agents.llm.failures import Rejected
from ringfence.agents.llm.providers import open_model
from ringfence.agents.llm.structured import Refusals, answer_in_shape
from ringfence.agents.reading import Answer
from ringfence.agents.shapes import SHAPES
from ringfence.base.errors import AgentError, BudgetError

if TYPE_CHECKING:
    from pydantic_ai.models import Model


def create(options: Mapping[str, str]) -> LlmAgent:
    return LlmAgent(read_config(options, os.environ))


class LlmAgent:
    """May be asked from many threads at once; they share its budget. It must not be asked inside an event loop."""

    def __init__(
        self,
        config: LlmConfig,
        *,
        opener: Callable[[Target], Model] = open_model,
        world: World | None = None,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._config, self._opener = config, opener
        self._world = world or World()
        self._budget = Budget(config.limits, config.ledger_dir, now=now)
        self._refusals = Refusals()

    def act(self, brief: Brief) -> Reply:
        return asyncio.run(self._act(brief))

    async def _act(self, brief: Brief) -> Reply:
        notices: list[str] = []
        for n, target in enumerate(self._config.targets):
            try:
                return await self._ask(target, brief, notices)
            except BudgetError:
                raise
            except AgentError as e:
                if n + 1 == len(self._config.targets):
                    raise
                notices.append(f"{e}. The fallback model was asked")
        raise AssertionError("there is always a model")

    async def _ask(self, target: Target, brief: Brief, notices: list[str]) -> Reply:
        # A client belongs to one event loop, and each brief has its own; a new connection costs little beside a model.
        async with self._opener(target) as model:
            conversation = Conversation(target, model, self._config, self._budget, self._world)
            try:
                if brief.role in SHAPES:
                    text, answer = await answer_in_shape(conversation, brief, self._refusals)
                else:
                    text, answer = await conversation.write(brief)
            except Rejected as e:
                raise AgentError(str(e)) from e
        return self._reply(conversation, text, answer, notices)

    def _reply(self, conversation: Conversation, text: str, answer: Answer, notices: list[str]) -> Reply:
        tally = conversation.tally
        unpriced = []
        if tally.cost_usd is None and self._config.limits.money:
            unpriced.append(
                f"the price of {tally.model} is not known: its tokens are counted and no money, so a limit in USD "
                "cannot hold; use --max-tokens, RINGFENCE_MODEL_RUN_TOKENS or RINGFENCE_MODEL_DAY_TOKENS"
            )
        return Reply(
            text=text or (f"{tally.model} declined to answer." if answer.stop_reason == "refused" else ""),
            code=answer.code,
            parsed=answer.parsed,
            stop_reason=answer.stop_reason,
            usage=tally.usage,
            cost_usd=tally.cost_usd,
            model=tally.model,
            notices=(*notices, *conversation.notices, *unpriced, *answer.notices),
        )
