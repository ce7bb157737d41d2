"""What came back from inside is somebody else's word: each number is looked at before it is quoted."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from ringfence.sandbox.job import Json

_HUGE = 1e300


class ShapeError(ValueError):
    """The result is not what the program was to give."""


@dataclass(frozen=True, slots=True)
class Field:
    least: float = -_HUGE
    most: float = _HUGE
    optional: bool = False
    whole: bool = False


ANY = Field()
POSITIVE = Field(0.0)
FRACTION = Field(0.0, 1.0)
COUNT = Field(0, 1e12, whole=True)


def read_numbers(result: Json, shape: Mapping[str, Field]) -> dict[str, float | None]:
    table = read_table(result)
    return {name: _number(name, table.get(name), field) for name, field in shape.items()}


def read_table(result: Json) -> Mapping[str, Json]:
    if not isinstance(result, Mapping):
        raise ShapeError(f"the program gave {type(result).__name__} and no table of numbers")
    return result


def known(numbers: Mapping[str, float | None], name: str) -> float:
    value = numbers[name]
    if value is None:
        raise ShapeError(f"{name} is missing")
    return value


def in_order(numbers: Mapping[str, float | None], *names: str) -> None:
    values = [known(numbers, name) for name in names]
    if values != sorted(values):
        raise ShapeError(f"{', '.join(names)} are not in this order")


def same_count(numbers: Mapping[str, float | None], counted: int) -> None:
    """The host has counted too."""
    if known(numbers, "observations") != counted:
        raise ShapeError(f"it speaks of {known(numbers, 'observations'):g} observations, and there are {counted}")


def read_rows(result: Json, name: str, *, rows: int, columns: int) -> tuple[tuple[float | None, ...], ...]:
    """A table of numbers of just this size; what is no number in it is None."""
    given = read_table(result).get(name)
    if not isinstance(given, list) or len(given) != rows:
        raise ShapeError(f"{name} is not a list of {rows} rows")
    made = []
    for row in given:
        if not isinstance(row, list) or len(row) != columns:
            raise ShapeError(f"a row of {name} does not have {columns} numbers")
        made.append(tuple(_number(name, value, Field(optional=True)) for value in row))
    return tuple(made)


def _number(name: str, value: Json, field: Field) -> float | None:
    if value is None and field.optional:
        return None
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
        raise ShapeError(f"{name} is no number")
    if not field.least <= value <= field.most:
        raise ShapeError(f"{name} is {value:g}, which cannot be")
    if field.whole and value != int(value):
        raise ShapeError(f"{name} is {value:g} and no whole number")
    return value
