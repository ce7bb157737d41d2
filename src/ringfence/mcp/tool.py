"""A tool as a value, and how its arguments are read."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any, Literal

from mcp_types import ContentBlock
from pydantic import BaseModel, ConfigDict, ValidationError, model_validator

from ringfence.base.errors import InputError
from ringfence.mcp.answers import Answer
from ringfence.mcp.bounds import SPELLED, Bounds
from ringfence.mcp.calls import Caller
from ringfence.mcp.desk import Desk


class Arguments(BaseModel):
    """Unknown names are refused: a limit that is misspelt must not be ignored in silence."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    @model_validator(mode="before")
    @classmethod
    def _unquote(cls, given: object) -> object:
        """Some clients send lists and objects as the text of their JSON."""
        if not isinstance(given, dict):
            return given
        return {name: _parsed(value) if _is_quoted(cls, name, value) else value for name, value in given.items()}


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """The answer, the few lines that a model reads, and what goes beside them."""

    answer: Answer
    text: str
    blocks: tuple[ContentBlock, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    name: str
    title: str
    description: str
    arguments: type[Arguments]
    answer: type[Answer]
    call: Callable[[Desk, Any, Caller], Awaitable[Reply]]  # the arguments are of the type above
    preset: Literal["chat", "backtest"] | None = None  # whose limits its arguments may lower
    read_only: bool = False
    idempotent: bool = False
    open_world: bool = False

    def read(self, given: object) -> Arguments:
        try:
            return self.arguments.model_validate(given)
        except ValidationError as e:
            raise InputError(f"{self.name} was not called right: {_explain(e, self.arguments)}") from None

    def input_schema(self, bounds: Bounds | None) -> dict[str, object]:
        """With each limit's default and maximum as this server has them."""
        schema: dict[str, Any] = self.arguments.model_json_schema()
        if bounds is not None:
            for name in bounds.most.__slots__:
                place = schema["properties"].get(SPELLED.get(name, name))
                if place is not None:
                    place["default"] = getattr(bounds.default, name)
                    if getattr(bounds.most, name) is not None:
                        place["maximum"] = getattr(bounds.most, name)
        return schema


def reading(
    name: str,
    title: str,
    description: str,
    arguments: type[Arguments],
    answer: type[Answer],
    call: Callable[[Desk, Any, Caller], Awaitable[Reply]],
    *,
    preset: Literal["chat", "backtest"] | None = None,
    open_world: bool = False,
) -> Tool:
    """A tool that changes nothing: a client may call it again at will."""
    return Tool(
        name=name,
        title=title,
        description=description,
        arguments=arguments,
        answer=answer,
        call=call,
        preset=preset,
        read_only=True,
        idempotent=True,
        open_world=open_world,
    )


def _is_quoted(model: type[BaseModel], name: object, value: object) -> bool:
    wanted = model.model_fields.get(name) if isinstance(name, str) else None
    return (
        wanted is not None
        and isinstance(value, str)
        and value.lstrip()[:1] in ("{", "[")
        and any(kind in str(wanted.annotation) for kind in ("dict", "list"))
    )


def _parsed(value: str) -> object:
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        return value


def _explain(error: ValidationError, model: type[BaseModel]) -> str:
    """One clause for each thing that is wrong, and which arguments there are."""
    said = []
    for found in error.errors(include_url=False, include_input=False)[:5]:
        place = ".".join(str(part) for part in found["loc"])
        if found["type"] == "extra_forbidden":
            near = get_close_matches(place, model.model_fields, n=1)
            said.append(f"{place!r} is no argument of it" + (f" (is {near[0]!r} meant?)" if near else ""))
        elif found["type"] == "missing":
            said.append(f"{place!r} is missing")
        else:
            said.append(f"{place!r}: {found['msg'].removeprefix('Value error, ')}" if place else found["msg"])
    return f"{'; '.join(said)}. Its arguments are {', '.join(model.model_fields)}: call it again with those"
