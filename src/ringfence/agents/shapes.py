"""The fixed shapes in which some roles answer: JSON schemas, and a reader that says what is wrong with an answer."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, get_args

from ringfence.agents.brief import Change, Role

if TYPE_CHECKING:
    from ringfence.trade.run import Json

# These answer with a program; a role that is neither here nor in SHAPES answers with plain text.
WRITING: frozenset[Role] = frozenset({"code", "package", "debug", "optimise", "compute"})

_TEXT: Mapping[str, Json] = {"type": "string"}
_TEXTS: Mapping[str, Json] = {"type": "array", "items": _TEXT}


def _object(**properties: Mapping[str, Json]) -> Mapping[str, Json]:
    # Every property is required and no other allowed: providers that hold a model to a schema insist on it.
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


SHAPES: Mapping[Role, Mapping[str, Json]] = {
    "research": _object(
        title=_TEXT, summary=_TEXT, rules=_TEXTS, symbols=_TEXTS, assumptions=_TEXTS, data_needed=_TEXTS
    ),
    "analyst": _object(
        assessment=_TEXT,
        problems=_TEXTS,
        changes={
            "type": "array",
            "items": _object(kind={"type": "string", "enum": list(get_args(Change))}, what=_TEXT, why=_TEXT),
        },
        stop={"type": "boolean"},
    ),
    "judge": _object(
        status={"type": "string", "enum": ["passed", "warning", "failed"]},
        score={"type": "number", "minimum": 0, "maximum": 1},
        explanation=_TEXT,
        errors=_TEXTS,
        warnings=_TEXTS,
    ),
}

_FENCED = re.compile(r"```[ \t]*(?:json)?[ \t]*\n(.*?)\n[ \t]*```", re.DOTALL)
_KINDS: Mapping[str, tuple[type, ...]] = {
    "object": (Mapping,),
    "array": (list, tuple),
    "string": (str,),
    "number": (int, float),
    "boolean": (bool,),
}


class ShapeError(ValueError):
    """The answer is not of its role's shape; the message says where."""


def read_shape(role: Role, text: str) -> Mapping[str, Json]:
    """The JSON object in a reply, held to the role's shape."""
    return check_shape(role, _load(text))


def check_shape(role: Role, value: object) -> Mapping[str, Json]:
    shape = SHAPES[role]
    wrong = next(_problems(value, shape, "the answer"), None)
    if wrong:
        raise ShapeError(wrong)
    assert isinstance(value, Mapping)
    return value


def _load(text: str) -> object:
    """JSON alone, in a fence, or between the first and the last brace of a text."""
    tried = [text, *_FENCED.findall(text), text[text.find("{") : text.rfind("}") + 1]]
    for candidate in tried:
        try:
            return json.loads(candidate, parse_constant=_no_constant)
        except (ValueError, RecursionError):
            continue
    raise ShapeError("the answer is no JSON")


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is no JSON")


def _problems(value: object, shape: Mapping[str, Json], where: str) -> Iterator[str]:
    kind = str(shape["type"])
    if not isinstance(value, _KINDS[kind]) or (kind == "number" and isinstance(value, bool)):
        yield f"{where} is no {kind}"
        return
    choices = shape.get("enum")
    if isinstance(choices, list) and value not in choices:
        yield f"{where} is {value!r} and not one of {', '.join(map(str, choices))}"
    if isinstance(value, int | float):
        yield from _bounds(value, shape, where)
    items, properties = shape.get("items"), shape.get("properties")
    if isinstance(value, list | tuple) and isinstance(items, Mapping):
        for n, item in enumerate(value):
            yield from _problems(item, items, f"{where}[{n}]")
    if isinstance(value, Mapping) and isinstance(properties, Mapping):
        for name, inner in properties.items():
            if name not in value:
                yield f"{where} has no {name!r}"
            elif isinstance(inner, Mapping):
                yield from _problems(value[name], inner, f"{name!r}" if where == "the answer" else f"{where}.{name}")


def _bounds(value: float, shape: Mapping[str, Json], where: str) -> Iterator[str]:
    low, high = shape.get("minimum"), shape.get("maximum")
    if isinstance(low, int | float) and isinstance(high, int | float) and not low <= value <= high:
        yield f"{where} is {value} and not within {low} and {high}"
