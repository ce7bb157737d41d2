"""A description as JSON and back. Every object says what it is in `type`; what is missing has its usual value."""

from __future__ import annotations

import types
from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass, replace
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from ringfence.base.errors import InputError
from ringfence.trade.description import model
from ringfence.trade.description.catalogue import KINDS, SOURCED
from ringfence.trade.description.model import VERSION, Description, Line, MonthDays, OnSchedule
from ringfence.trade.run import Json

_CLASSES = {name: made for name, made in vars(model).items() if isinstance(made, type) and is_dataclass(made)}
_DEEPEST = 40
_ON = ("first", "last", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")


def to_json(description: Description) -> dict[str, Json]:
    made = _plain(description)
    assert isinstance(made, dict)
    return made


def from_json(value: Json) -> Description:
    """The description that `to_json` wrote; InputError with the place where it is none."""
    if isinstance(value, Mapping) and value.get("version", VERSION) != VERSION:
        raise InputError(f"description version {value.get('version')!r} is unknown: this is version {VERSION}")
    made = _read(value, Description, "description", 0)
    assert isinstance(made, Description)
    return made


def _plain(value: Any) -> Json:
    if is_dataclass(value):
        return {"type": type(value).__name__, **{f.name: _plain(getattr(value, f.name)) for f in fields(value)}}
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    return value  # type: ignore[no-any-return]  # a number, a text, a flag or None


def _read(value: Json, wanted: Any, place: str, depth: int) -> object:
    if depth > _DEEPEST:
        raise InputError(f"{place} is nested too deeply: say it with fewer conditions")
    origin = get_origin(wanted)
    if origin is Literal:
        if value in get_args(wanted):
            return value
    elif origin in (Union, types.UnionType):
        return _read_one_of(value, get_args(wanted), place, depth)
    elif origin is tuple:
        if isinstance(value, Sequence) and not isinstance(value, str):
            return tuple(_read(item, get_args(wanted)[0], f"{place}[{n}]", depth + 1) for n, item in enumerate(value))
    elif is_dataclass(wanted):
        return _read_object(value, wanted, place, depth)
    elif wanted is type(None):
        if value is None:
            return None
    elif wanted is float:
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            return value
    elif isinstance(value, wanted) and not (wanted is int and isinstance(value, bool)):
        return value
    raise InputError(f"{place} is {value!r:.60}, which it cannot be: see docs/english.md for what it may hold")


def _read_one_of(value: Json, choices: tuple[Any, ...], place: str, depth: int) -> object:
    if value is None and type(None) in choices:
        return None
    names = [str(choice.__name__) for choice in choices if choice in _CLASSES.values()]
    named = value.get("type") if isinstance(value, Mapping) else None
    if named in names:
        return _read(value, _CLASSES[str(named)], place, depth)
    raise InputError(f"{place} is of type {named!r}: give one of {', '.join(names)}")


def _read_object(value: Json, wanted: Any, place: str, depth: int) -> object:
    if not isinstance(value, Mapping) or value.get("type", wanted.__name__) != wanted.__name__:
        raise InputError(f"{place} is no {wanted.__name__}: write an object with type {wanted.__name__!r}")
    hints = get_type_hints(wanted, vars(model))
    strange = [name for name in value if name not in hints and name != "type"]
    if strange:
        raise InputError(f"{place} has {strange[0]!r}, which no {wanted.__name__} has: leave it out")
    given = {
        name: _read(item, hints[name], f"{place}.{name}", depth + 1) for name, item in value.items() if name != "type"
    }
    try:
        made = wanted(**given)
    except TypeError as e:
        raise InputError(f"{place} lacks something: {e}") from e
    if isinstance(made, Line):
        _check_line(made, place)
    if isinstance(made, OnSchedule) and made.each != 1 and made.every not in ("week", "month"):
        raise InputError(f"{place} comes each {made.each} {made.every}s: only weeks and months are counted")
    if isinstance(made, OnSchedule) and made.on not in _ON and not (made.every == "month" and is_day(made.on)):
        raise InputError(f"{place} is on {made.on!r:.20}: give first, last, a weekday, or a day of the month up to 28")
    if isinstance(made, MonthDays) and not (1 <= made.first <= made.last <= 23 or -23 <= made.first <= made.last <= -1):
        raise InputError(f"{place} has days {made.first} to {made.last}: count both from one end, the earlier first")
    return made


def is_day(on: str) -> bool:
    """Whether every month has a day of that number."""
    return on.isdigit() and 2 <= int(on) <= 28


def _check_line(line: Line, place: str) -> None:
    kind = KINDS.get(line.name)
    if kind is None:
        raise InputError(f"{place} names {line.name!r}, which is no indicator: use one of {', '.join(KINDS)}")
    if len(line.values) != len(kind.settings) or (line.part not in kind.parts if kind.parts else line.part):
        raise InputError(
            f"{place} has settings {line.values} and part {line.part!r}: {line.name} takes "
            f"{', '.join(s.name for s in kind.settings) or 'no settings'}; parts are {', '.join(kind.parts) or 'none'}"
        )
    within = line.of
    if within is not None and (line.name not in SOURCED or line.source or within != _plain_line(within)):
        raise InputError(
            f"{place} is the {line.name} of a line: {', '.join(SOURCED)} may be, of a line with no of, ago, symbol or "
            "timeframe of its own"
        )


def _plain_line(line: Line) -> Line:
    return replace(line, of=None, ago=0, symbol="", timeframe="")
