"""The text of a program, with the values that were asked for in place of its capitals."""

from __future__ import annotations

import ast
import json
from collections.abc import Mapping, Sequence
from importlib.resources import files

from ringfence.sandbox.job import Json


def fill(name: str, values: Mapping[str, Json]) -> str:
    """The program `name`, as it is shown and run. Every value must have its place in it."""
    text = files("ringfence.verbs.simulate").joinpath("scripts", f"{name}.py").read_text(encoding="utf-8")
    lines = text.splitlines(keepends=True)
    places = _places(text)
    unknown = sorted(set(values) - set(places))
    if unknown:
        raise KeyError(f"{unknown[0]} is no capital of {name}.py: it has {', '.join(sorted(places))}")
    # From the end backwards, so that an insertion moves nothing that is still to be found.
    for key in sorted(values, key=lambda key: places[key].lineno, reverse=True):
        node = places[key]
        row = node.lineno - 1
        assert node.end_lineno == node.lineno and node.end_col_offset is not None, f"{key} must stand on one line"
        line = lines[row].encode()
        lines[row] = (line[: node.col_offset] + _literal(values[key]).encode() + line[node.end_col_offset :]).decode()
    return "".join(lines)


def _places(text: str) -> dict[str, ast.expr]:
    """Where each capital of the module gets its value."""
    found: dict[str, ast.expr] = {}
    for node in ast.parse(text).body:
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=value) if name.isupper():
                found[name] = value
            case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value) if name.isupper():
                found[name] = value
            case _:
                continue
    return found


def _literal(value: Json) -> str:
    """As Python writes it, texts in double quotes."""
    if isinstance(value, str):
        return json.dumps(value)
    if isinstance(value, Mapping):
        return f"{{{', '.join(f'{_literal(k)}: {_literal(v)}' for k, v in value.items())}}}"
    if isinstance(value, Sequence):
        return f"[{', '.join(map(_literal, value))}]"
    return repr(value)
