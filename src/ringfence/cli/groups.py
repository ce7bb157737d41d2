"""Options that several commands have together, written once: a dataclass whose fields are options, given to a command
as one value.

    def price(*, prices: Prices, horizon: Horizon = "30d", wish: Annotated[Wish, without("code")]) -> int: ...

`spread` makes of it the command that typer reads, with the fields of each group in their order where the group stood. A
field that is left out keeps its default.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, is_dataclass
from typing import Annotated, get_args, get_origin, get_type_hints

_KEYWORD = inspect.Parameter.KEYWORD_ONLY


@dataclass(frozen=True, slots=True)
class Without:
    names: frozenset[str]


def without(*names: str) -> Without:
    """The group without these of its options."""
    return Without(frozenset(names))


def spread(command: Callable[..., int]) -> Callable[..., int]:
    hints = get_type_hints(command, include_extras=True)
    made: list[inspect.Parameter] = []
    groups: dict[str, tuple[type, tuple[str, ...]]] = {}
    for name, parameter in inspect.signature(command).parameters.items():
        group, left_out = _group(hints[name])
        if group is None:
            made.append(parameter.replace(annotation=hints[name], kind=_KEYWORD))
        else:
            options = [option for option in _options(group) if option.name not in left_out]
            groups[name] = group, tuple(option.name for option in options)
            made += options

    def spread_out(**given: object) -> int:
        return command(**_gathered(given, groups))

    spread_out.__name__ = command.__name__
    spread_out.__signature__ = inspect.Signature(made)  # type: ignore[attr-defined]  # typer reads it
    spread_out.__annotations__ = {parameter.name: parameter.annotation for parameter in made}
    return spread_out


def _group(hint: object) -> tuple[type | None, frozenset[str]]:
    inner, marks = (get_args(hint)[0], get_args(hint)[1:]) if get_origin(hint) is Annotated else (hint, ())
    if not isinstance(inner, type) or not is_dataclass(inner):
        return None, frozenset()
    return inner, frozenset().union(*(mark.names for mark in marks if isinstance(mark, Without)))


def _options(group: type) -> list[inspect.Parameter]:
    hints = get_type_hints(group, include_extras=True)
    return [
        inspect.Parameter(field.name, _KEYWORD, default=field.default, annotation=hints[field.name])
        for field in fields(group)
    ]


def _gathered(given: Mapping[str, object], groups: Mapping[str, tuple[type, tuple[str, ...]]]) -> dict[str, object]:
    """The values of each group's options as one value; the others as they are."""
    values = dict(given)
    for name, (group, options) in groups.items():
        values[name] = group(**{option: values.pop(option) for option in options})
    return values
