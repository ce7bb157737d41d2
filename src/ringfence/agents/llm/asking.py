"""One conversation with one model for one brief: requests, retries, continuations, and what they cost."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from ringfence.agents.brief import Brief, StopReason, Usage
from ringfence.agents.llm.budget import Budget
from ringfence.agents.llm.config import LlmConfig, Target
from ringfence.agents.llm.failures import Failure, Rejected, read_failure, wait_seconds
from ringfence.agents.llm.joining import continue_prompt, join, whole_lines
from ringfence.agents.prompt import brief_prompt, role_prompt
from ringfence.agents.reading import Answer, read_answer
from ringfence.base.errors import AgentError, BudgetError

if TYPE_CHECKING:
    from pydantic_ai.messages import ModelMessage, ModelResponse
    from pydantic_ai.models import Model, ModelRequestParameters
    from pydantic_ai.settings import ModelSettings

Sleep = Callable[[float], Awaitable[None]]
_MOST_TEXT = 1 << 20  # characters of one reply; a model that rambles is stopped


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    """What time and chance are to an agent; tests have their own."""

    sleep: Sleep = asyncio.sleep
    clock: Callable[[], float] = time.monotonic
    rng: random.Random = field(default_factory=random.Random)


@dataclass(frozen=True, slots=True, kw_only=True)
class Tally:
    usage: Usage = field(default_factory=Usage)
    cost_usd: float | None = 0.0
    model: str = ""

    def plus(self, response: ModelResponse, usd: float | None) -> Tally:
        return Tally(
            usage=Usage(
                input_tokens=self.usage.input_tokens + response.usage.input_tokens,
                output_tokens=self.usage.output_tokens + response.usage.output_tokens,
                requests=self.usage.requests + 1,
            ),
            cost_usd=None if usd is None or self.cost_usd is None else self.cost_usd + usd,
            model=response.model_name or self.model,
        )


class Conversation:
    def __init__(self, target: Target, model: Model, config: LlmConfig, budget: Budget, world: World) -> None:
        self.target, self._model, self._config, self._budget, self._world = target, model, config, budget, world
        self._deadline = world.clock() + config.seconds
        self.tally = Tally(model=target.model)
        self.notices: list[str] = []

    @property
    def model(self) -> Model:
        return self._model

    async def write(self, brief: Brief) -> tuple[str, Answer]:
        """The reply to a brief that is answered in text. One that was cut off is continued, a few times."""
        messages = first_messages(brief)
        response = await self.send(messages, None, brief.max_output_tokens)
        text = response.text or ""
        answer = read_answer(brief.role, text, stop_reason(response))
        times = 0
        while answer.stop_reason == "length" and times < self._config.continuations and text and len(text) < _MOST_TEXT:
            times += 1
            so_far = whole_lines(text)
            try:
                response = await self.send(_to_be_continued(messages, so_far, brief), None, brief.max_output_tokens)
            except BudgetError as e:
                self.notices.append(f"the reply was cut off and not continued: {e}")
                break
            if not (response.text or "").strip():
                break
            text = join(so_far, response.text or "")
            answer = read_answer(brief.role, text, stop_reason(response))
        if times:
            end = "is whole now" if answer.stop_reason == "end" else "is still not whole"
            self.notices.append(f"the reply was cut off and continued ({times} more requests); it {end}")
        return text, answer

    async def send(
        self, messages: Sequence[ModelMessage], parameters: ModelRequestParameters | None, max_tokens: int
    ) -> ModelResponse:
        """One response, after as many tries as it may take.

        Rejected where the server refuses the form of the request, AgentError where there is no response to be had.
        """
        from pydantic_ai.exceptions import AgentRunError, UserError

        attempt = 0
        while True:
            self._budget.check()
            try:
                response = await self._once(messages, parameters, self._settings(max_tokens))
            except UserError as e:
                remedy = "check the model's name and the options"
                raise Rejected(f"{self.target} cannot be asked so ({str(e)[:200]}): {remedy}") from e
            except AgentRunError as e:
                failure = read_failure(e, self.target)
                if failure.rejected:
                    raise Rejected(str(failure.error(self.target))) from e
                await self._wait(failure, attempt, e)
                attempt += 1
                continue
            self._count(response)
            if response.finish_reason == "error":
                later = "try again later, or set RINGFENCE_MODEL_FALLBACK to another model"
                await self._wait(Failure(what="broke off with an error", again=True, remedy=later), attempt, None)
                attempt += 1
                continue
            return response

    async def _once(
        self, messages: Sequence[ModelMessage], parameters: ModelRequestParameters | None, settings: ModelSettings
    ) -> ModelResponse:
        from pydantic_ai.direct import model_request, model_request_stream

        if not self._config.stream:
            return await model_request(
                self._model, messages, model_settings=settings, model_request_parameters=parameters
            )
        async with model_request_stream(
            self._model, messages, model_settings=settings, model_request_parameters=parameters
        ) as stream:
            async for _ in stream:
                pass
            response = stream.get()
        # The library takes a stream that just ends for one that is complete.
        told = (response.provider_details or {}).get("finish_reason")
        return response if told else replace(response, finish_reason="length")

    def _settings(self, max_tokens: int) -> ModelSettings:
        from pydantic_ai.settings import ModelSettings

        left = self._deadline - self._world.clock()
        if left <= 0:
            raise self._late("did not answer")
        # Tries of the client's own would know nothing of our clock and our budget.
        settings = ModelSettings(max_tokens=max_tokens, request_timeout=left, timeout=left, max_retries=0)
        if self._config.temperature is not None:
            settings["temperature"] = self._config.temperature
        if self._config.seed is not None:
            settings["seed"] = self._config.seed
        return settings

    async def _wait(self, failure: Failure, attempt: int, error: Exception | None) -> None:
        if not failure.again:
            raise failure.error(self.target) from error
        if attempt >= self._config.retries:
            tried = replace(failure, what=f"{failure.what} after {attempt + 1} tries")
            raise tried.error(self.target) from error
        seconds = wait_seconds(failure, attempt, self._world.rng)
        if self._world.clock() + seconds >= self._deadline:
            late = self._late(f"{failure.what} and is to be asked again in {seconds:.3g} s, which is too late")
            raise late from error
        await self._world.sleep(seconds)

    def _late(self, what: str) -> AgentError:
        return AgentError(
            f"{self.target} {what} (the limit is {self._config.seconds:g} s): "
            "raise RINGFENCE_MODEL_SECONDS, or choose a faster model"
        )

    def _count(self, response: ModelResponse) -> None:
        usd = price(response)
        self.tally = self.tally.plus(response, usd)
        self._budget.spend(
            response.model_name or self.target.model,
            input_tokens=response.usage.input_tokens,
            output_tokens=response.usage.output_tokens,
            usd=usd,
        )


def stop_reason(response: ModelResponse) -> StopReason:
    if response.finish_reason == "length":
        return "length"
    return "refused" if response.finish_reason == "content_filter" else "end"


def first_messages(brief: Brief, note: str = "") -> list[ModelMessage]:
    return [request_of(brief_prompt(brief) + (f"\n\n{note}" if note else ""), brief)]


def request_of(text: str, brief: Brief) -> ModelMessage:
    from pydantic_ai.messages import ModelRequest, UserPromptPart

    return ModelRequest(parts=[UserPromptPart(content=text)], instructions=role_prompt(brief.role))


def _to_be_continued(messages: Sequence[ModelMessage], so_far: str, brief: Brief) -> list[ModelMessage]:
    from pydantic_ai.messages import ModelResponse, TextPart

    said: list[ModelMessage] = [ModelResponse(parts=[TextPart(content=so_far)])] if so_far.strip() else []
    return [*messages, *said, request_of(continue_prompt(so_far), brief)]


def price(response: ModelResponse) -> float | None:
    """In USD, where the library's list has the model; it is an estimate from list prices."""
    if not response.model_name:
        return None
    try:
        return float(response.cost().total_price)
    except (LookupError, ValueError):
        return None
