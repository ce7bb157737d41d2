"""A tool as a value, and how its arguments are read."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any, Literal

from mcp_types import ContentBlock
from pydantic import BaseModel, ConfigDict, ValidationError, model_validator

from ringfence.base.errors import InputError, SourceTooLarge
from ringfence.mcp.answers import Answer
from ringfence.mcp.bounds import SPELLED, Bounds
from ringfence.mcp.calls import Call
from ringfence.mcp.desk import Desk
from ringfence.mcp.json_shape import MOST_DEPTH, MOST_VALUES, find_excess


@dataclass(frozen=True, slots=True)
class Text:
    """Marks an argument that is a text to read or to run: it has a size of its own, below that of a message."""


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
    work: Callable[[Desk, Any, Call], Reply]  # in a thread; the arguments are of the type above
    first: str  # what it does at first, for the report of progress
    quick: bool = False  # it runs no program, and need not wait for those that do
    preset: Literal["chat", "backtest"] | None = None  # whose limits its arguments may lower
    read_only: bool = False
    idempotent: bool = False
    open_world: bool = False

    def read(self, given: object, most_text_kb: int) -> Arguments:
        try:
            read = self.arguments.model_validate(given)
        except ValidationError as e:
            raise InputError(f"{self.name} was not called right: {_explain(e, self.arguments)}") from None
        for name, about in self.arguments.model_fields.items():
            value = getattr(read, name)
            if any(isinstance(mark, Text) for mark in about.metadata) and isinstance(value, str):
                size = len(value.encode("utf-8", "replace"))
                if size > most_text_kb << 10:
                    raise SourceTooLarge(
                        f"{name} has {size:,} bytes, and this server takes {most_text_kb << 10:,}: send less, "
                        "or set RINGFENCE_MCP_TEXT_KB where the server is started"
                    )
        return read

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
    work: Callable[[Desk, Any, Call], Reply],
    *,
    first: str,
    preset: Literal["chat", "backtest"] | None = None,
    quick: bool = False,
    open_world: bool = False,
) -> Tool:
    """A tool that changes nothing: a client may call it again at will."""
    return Tool(
        name=name,
        title=title,
        description=description,
        arguments=arguments,
        answer=answer,
        work=work,
        first=first,
        quick=quick,
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
    if find_excess(value.encode("utf-8", "replace"), depth=MOST_DEPTH, values=MOST_VALUES) is not None:
        return value
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
