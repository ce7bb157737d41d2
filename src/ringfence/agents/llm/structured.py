"""Answers of a fixed shape, from models that differ in how they can be held to one.

First the model is held to the schema by its server, then it is asked to call a tool with that schema, then it is told
the schema in words. What a server refuses is not tried on it again; what comes back in the wrong shape is asked for in
the next way, and the model is told what was wrong.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping
from typing import TYPE_CHECKING, Literal

from ringfence.agents.brief import Brief
from ringfence.agents.llm.asking import Conversation, first_messages, stop_reason
from ringfence.agents.llm.failures import Rejected
from ringfence.agents.reading import Answer
from ringfence.agents.shapes import SHAPES, ShapeError, check_shape, read_shape
from ringfence.base.errors import AgentError, BudgetError

if TYPE_CHECKING:
    from pydantic_ai.messages import ModelResponse
    from pydantic_ai.models import Model, ModelRequestParameters

    from ringfence.trade.run import Json

Mode = Literal["native", "tool", "prompted"]
_MODES: tuple[Mode, ...] = ("native", "tool", "prompted")
_TOOL = "answer"


class Refusals:
    """The modes that servers refused, by model. Shared by the threads of one agent."""

    def __init__(self) -> None:
        self._known: dict[str, set[Mode]] = {}
        self._lock = threading.Lock()

    def add(self, model: str, mode: Mode) -> None:
        with self._lock:
            self._known.setdefault(model, set()).add(mode)

    def of(self, model: str) -> frozenset[Mode]:
        with self._lock:
            return frozenset(self._known.get(model, ()))


async def answer_in_shape(conversation: Conversation, brief: Brief, refusals: Refusals) -> tuple[str, Answer]:
    target = conversation.target
    modes = [m for m in _MODES if _can(conversation.model, m) and m not in refusals.of(str(target))] or ["prompted"]
    note, text, said = "", "", ""
    ways: list[Mode] = [*modes, "prompted"]  # the last way gets a second try
    for mode in ways:
        try:
            response = await _ask(conversation, brief, mode, note)
        except Rejected as e:
            refusals.add(str(target), mode)
            said = str(e)
            continue
        except BudgetError as e:
            if not note:
                raise
            return text, Answer(stop_reason="refused", notices=(str(e),))
        text = response.text or _arguments(response)
        stop = stop_reason(response)
        if stop != "end":
            return text, Answer(stop_reason=stop)
        try:
            return text, Answer(parsed=_read(brief, response))
        except ShapeError as e:
            note = f"An earlier answer could not be used: {e}. Answer with one JSON object of the given schema."
            conversation.notices.append(f"an answer was not of its shape ({e}) and was asked for again")
    if not note:
        raise AgentError(f"{target} takes none of the requests we can make ({said}): choose another model")
    return text, Answer(stop_reason="refused", notices=("no answer of the fixed shape came: use another model",))


async def _ask(conversation: Conversation, brief: Brief, mode: Mode, note: str) -> ModelResponse:
    """Half an object cannot be continued, so one that was cut off is asked for once more, with twice the room."""
    messages, parameters = first_messages(brief, note), _parameters(brief, mode)
    response = await conversation.send(messages, parameters, brief.max_output_tokens)
    if stop_reason(response) == "length":
        conversation.notices.append("the answer was cut off and was asked for again, with room for twice as much")
        response = await conversation.send(messages, parameters, brief.max_output_tokens * 2)
    return response


def _can(model: Model, mode: Mode) -> bool:
    if mode == "native":
        return bool(model.profile.get("supports_json_schema_output", False))
    return mode == "prompted" or bool(model.profile.get("supports_tools", True))


def _parameters(brief: Brief, mode: Mode) -> ModelRequestParameters:
    from pydantic_ai.models import ModelRequestParameters
    from pydantic_ai.output import OutputObjectDefinition
    from pydantic_ai.tools import ToolDefinition

    schema = json.loads(json.dumps(SHAPES[brief.role]))  # a copy: the library changes schemas to a provider's taste
    if mode == "tool":
        tool = ToolDefinition(
            name=_TOOL, description="Give the answer.", parameters_json_schema=schema, kind="output", strict=True
        )
        return ModelRequestParameters(output_mode="tool", output_tools=[tool], allow_text_output=False)
    shape = OutputObjectDefinition(json_schema=schema, name=brief.role, strict=True)
    return ModelRequestParameters(output_mode=mode, output_object=shape)


def _arguments(response: ModelResponse) -> str:
    """The arguments of the call that is the answer, as JSON text, whole or not."""
    call = next((call for call in response.tool_calls if call.tool_name == _TOOL), None)
    if call is None:
        return ""
    return call.args if isinstance(call.args, str) else json.dumps(call.args)


def _read(brief: Brief, response: ModelResponse) -> Mapping[str, Json]:
    arguments = _arguments(response)
    if not arguments:
        return read_shape(brief.role, response.text or "")
    try:
        value = json.loads(arguments)
    except (ValueError, RecursionError) as e:
        raise ShapeError(f"the call's arguments are no JSON ({e})") from e
    return check_shape(brief.role, value)
