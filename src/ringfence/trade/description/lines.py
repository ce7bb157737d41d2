"""The lines in a description, wherever they stand."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import fields, is_dataclass, replace
from typing import TypeVar

from ringfence.trade.description.model import Compare, Cross, Line

T = TypeVar("T")


def lines_of(part: object) -> Iterator[Line]:
    """In the order in which they are said; a line that another is computed of comes before that one."""
    if isinstance(part, Line):
        if part.of is not None:
            yield inner(part)
        yield part
    elif isinstance(part, tuple):
        for item in part:
            yield from lines_of(item)
    elif is_dataclass(part):
        for field in fields(part):
            yield from lines_of(getattr(part, field.name))


def inner(line: Line) -> Line:
    """What the line is computed of, of the same instrument and bars."""
    assert line.of is not None
    return replace(line.of, symbol=line.symbol, timeframe=line.timeframe)


def map_lines(part: T, change: Callable[[Line], Line]) -> T:
    if isinstance(part, Line):
        return change(part)  # type: ignore[return-value]
    if isinstance(part, tuple):
        return tuple(map_lines(item, change) for item in part)  # type: ignore[return-value]
    if is_dataclass(part) and not isinstance(part, type):
        changed = {f.name: map_lines(getattr(part, f.name), change) for f in fields(part)}
        return replace(part, **changed)
    return part


def own_named(part: T, own: str) -> T:
    """With the name of what is traded where a line of it is held against another's: there it must be said."""
    if isinstance(part, (Compare, Cross)):
        named = {line.symbol for line in lines_of(part)}
        return map_lines(part, lambda line: replace(line, symbol=line.symbol or own)) if len(named) > 1 else part
    if isinstance(part, tuple):
        return tuple(own_named(item, own) for item in part)  # type: ignore[return-value]
    if is_dataclass(part) and not isinstance(part, type):
        return replace(part, **{f.name: own_named(getattr(part, f.name), own) for f in fields(part)})
    return part
