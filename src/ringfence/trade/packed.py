"""Long tables on their way over the fence: a column for each field, its numbers as the bytes of an array in base64.

A row of plain JSON is thirty bytes on the way and ten times that in the host's memory; a packed column is one text.
Whoever wrote it is not trusted: a reader gets as many values of the right kind as there are rows, or a ValueError.

A table is {"rows": 2, "columns": {"qty": {"type": "d", "data": "…"}, …}}. `type` is the array's: b, i and q are whole
numbers of 1, 4 and 8 bytes, d are floats, all with the lowest byte first. `set` has a byte for each row where some have
no value, and `data` then has only the others. Texts are the numbers of `words`, without `data` where there is only one.
"""

from __future__ import annotations

import binascii
import sys
from array import array
from collections.abc import Mapping, Sequence
from typing import Literal, TypeVar, cast

Kind = Literal["whole", "real", "text"]
Json = object
T = TypeVar("T", int, float)

_CODES: dict[Kind, tuple[str, ...]] = {"whole": ("b", "i", "q"), "real": ("d",), "text": ("b", "i")}
_REACH = {"b": 1 << 7, "i": 1 << 31, "q": 1 << 63}


def pack_table(rows: int, columns: Mapping[str, tuple[Kind, Sequence[object]]]) -> dict[str, Json]:
    return {"rows": rows, "columns": {name: _pack(kind, values) for name, (kind, values) in columns.items()}}


def _pack(kind: Kind, values: Sequence[object]) -> dict[str, Json]:
    column: dict[str, Json] = {}
    given = values
    if None in values:
        given = [value for value in values if value is not None]
        column["set"] = _text_of(array("b", [value is not None for value in values]))
    if kind == "text":
        words = list(dict.fromkeys(given))
        column["words"] = words
        if len(words) == 1:
            return column
        places = {word: place for place, word in enumerate(words)}
        given = [places[value] for value in given]
    numbers = array("d", cast("Sequence[float]", given)) if kind == "real" else _whole(cast("Sequence[int]", given))
    return column | {"type": numbers.typecode, "data": _text_of(numbers)}


def _whole(values: Sequence[int]) -> array[int]:
    reach = max((abs(value) for value in values), default=0)
    return array(next((code for code, most in _REACH.items() if reach < most), "q"), values)


def _text_of(numbers: array[int] | array[float]) -> str:
    if sys.byteorder == "big":
        numbers.byteswap()
    return binascii.b2a_base64(numbers, newline=False).decode("ascii")


class Table:
    """A table that somebody sent. It has a number of rows; what else it has is found out column by column."""

    def __init__(self, value: Json, what: str, *, most_rows: int) -> None:
        rows = value.get("rows") if isinstance(value, dict) else None
        columns = value.get("columns") if isinstance(value, dict) else None
        if type(rows) is not int or not isinstance(columns, dict) or rows < 0:
            raise ValueError(f"{what} is not a table of columns")
        if rows > most_rows:
            raise ValueError(f"{what} has {rows:,} rows, and {most_rows:,} are the most")
        self._what, self.rows, self._columns = what, rows, columns

    @property
    def names(self) -> frozenset[str]:
        return frozenset(self._columns)

    def whole(self, name: str) -> list[int]:
        return self._full(name, self.whole_or_none(name))

    def whole_or_none(self, name: str) -> list[int | None]:
        return self._read(name, "whole", int)

    def real_or_none(self, name: str) -> list[float | None]:
        """NaN and infinities among them, where they were sent."""
        return self._read(name, "real", float)

    def texts(self, name: str) -> list[str]:
        """One for each row, equal ones the same object."""
        column = self._column(name)
        words = column.get("words")
        if not isinstance(words, list) or not all(type(word) is str for word in words) or "set" in column:
            raise self._fault(name, "is not a column of texts")
        if len(words) == 1 and "data" not in column:
            return words * self.rows
        codes = self._numbers(column, name, "text", self.rows)
        if any(not 0 <= code < len(words) for code in codes):
            raise self._fault(name, "speaks of a word that is not there")
        return [words[int(code)] for code in codes]

    def _read(self, name: str, kind: Kind, make: type[T]) -> list[T | None]:
        column = self._column(name)
        if "set" not in column:
            return list(map(make, self._numbers(column, name, kind, self.rows)))
        there = self._array(column["set"], "b", name, self.rows)
        if any(flag not in (0, 1) for flag in there):
            raise self._fault(name, "does not say which rows have a value")
        values = iter(self._numbers(column, name, kind, int(sum(there))))
        return [make(next(values)) if flag else None for flag in there]

    def _column(self, name: str) -> dict[str, Json]:
        column = self._columns.get(name)
        if not isinstance(column, dict):
            raise self._fault(name, "is missing")
        return column

    def _numbers(self, column: dict[str, Json], name: str, kind: Kind, count: int) -> array[float]:
        code = column.get("type")
        if not isinstance(code, str) or code not in _CODES[kind]:
            raise self._fault(name, f"is not a column of type {' or '.join(_CODES[kind])}")
        return self._array(column.get("data"), code, name, count)

    def _array(self, data: Json, code: str, name: str, count: int) -> array[float]:
        numbers: array[float] = array(code)
        size = count * numbers.itemsize
        if not isinstance(data, str) or len(data) != (size + 2) // 3 * 4:
            raise self._fault(name, f"has not {count:,} values")
        try:
            raw = binascii.a2b_base64(data, strict_mode=True)
        except ValueError:
            raise self._fault(name, "is not in base64") from None
        if len(raw) != size:
            raise self._fault(name, f"has not {count:,} values")
        numbers.frombytes(raw)
        if sys.byteorder == "big":
            numbers.byteswap()
        return numbers

    def _full(self, name: str, values: list[T | None]) -> list[T]:
        full = [value for value in values if value is not None]
        if len(full) != len(values):
            raise self._fault(name, "has a row without a value")
        return full

    def _fault(self, name: str, wrong: str) -> ValueError:
        return ValueError(f"the column {name} of {self._what} {wrong}")
