"""The parameters of a strategy, read from its text: class attributes whose values are plain numbers, words or flags.

A value counts when it is an int, float, bool, str or None written out, with a sign or with arithmetic of such numbers,
or the default of `param(default, low, high, step=..., choices=[...])`. What a program would have to be run for is no
parameter; a note says so.
"""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ringfence.base.errors import DraftError
from ringfence.trade.syntax import resolve

if TYPE_CHECKING:
    from ringfence.trade.run import Json

Number = int | float
Scalar = None | bool | int | float | str

_LARGEST = 1 << 63
_DEEPEST = 20  # levels of arithmetic
_ARITHMETIC: Mapping[type[ast.operator], Callable[[Number, Number], Number]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: operator.pow,
}
_PARAM_NAMES = ("param", "ringfence.param", "ringfence.trade.strategy.param")
_PARAM_FIELDS = ("default", "low", "high")


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameter:
    """A class attribute that may be set from outside; `low`, `high`, `step` and `choices` say where to search."""

    name: str
    default: Json
    low: Number | None = None
    high: Number | None = None
    step: Number | None = None
    choices: tuple[Json, ...] | None = None
    line: int  # in the Draft's text

    def objection(self, value: Json) -> str | None:
        """What the range has against `value`; it may be used all the same."""
        if self.choices is not None and value not in self.choices:
            return f"{self.name}={value!r} is none of its choices ({', '.join(map(repr, self.choices))})"
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            if self.low is not None and value < self.low:
                return f"{self.name}={value:g} is below its range, which begins at {self.low:g}"
            if self.high is not None and value > self.high:
                return f"{self.name}={value:g} is above its range, which ends at {self.high:g}"
        return None


class NotLiteral(ValueError):
    """The value is only known when the program runs."""


def read_parameters(
    lineage: Sequence[ast.ClassDef], imports: dict[str, str]
) -> tuple[tuple[Parameter, ...], tuple[str, ...]]:
    """Those of a class and its bases in the same file, the furthest base first; and notes on what is none."""
    found: dict[str, Parameter] = {}
    notes: dict[str, str] = {}
    for node in lineage:
        for name, value, line in _assignments(node):
            try:
                parameter, remarks = _parameter(name, value, line, imports)
            except NotLiteral:
                found.pop(name, None)
                notes[name] = f"line {line}: {name} is not written out as a number or text, so it is no parameter"
                continue
            found[name] = parameter
            notes.pop(name, None)
            if remarks:
                notes[name] = f"line {line}: {remarks}"
        for item in node.body:  # a method or property of the same name takes the attribute's place
            if isinstance(item, (ast.FunctionDef, ast.AsyncFunctionDef)):
                found.pop(item.name, None)
    return tuple(found.values()), tuple(notes.values())


def _assignments(node: ast.ClassDef) -> Iterator[tuple[str, ast.expr, int]]:
    """Each public name that the class body gives a value, also by `a = b = 1` and `a, b = 1, 2`."""
    for item in node.body:
        targets: list[ast.expr] = []
        value: ast.expr | None = None
        if isinstance(item, ast.Assign):
            targets, value = item.targets, item.value
        elif isinstance(item, ast.AnnAssign):
            targets, value = [item.target], item.value
        if value is None:
            continue
        for target in targets:
            if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple) and len(target.elts) == len(value.elts):
                pairs = list(zip(target.elts, value.elts))
            else:
                pairs = [(target, value)]
            for place, part in pairs:
                if isinstance(place, ast.Name) and not place.id.startswith("_"):
                    yield place.id, part, part.lineno


def _parameter(name: str, value: ast.expr, line: int, imports: dict[str, str]) -> tuple[Parameter, str]:
    if not (isinstance(value, ast.Call) and resolve(value.func, imports) in _PARAM_NAMES):
        return Parameter(name=name, default=literal(value), line=line), ""
    given: dict[str, ast.expr] = dict(zip(_PARAM_FIELDS, value.args))
    given.update({keyword.arg: keyword.value for keyword in value.keywords if keyword.arg})
    if "default" not in given:
        raise NotLiteral
    default = literal(given["default"])
    remarks: list[str] = []
    low, high, step = (_bound(field, given.get(field), remarks) for field in ("low", "high", "step"))
    choices = _choices(given.get("choices"), remarks)
    if low is not None and high is not None and low > high:
        remarks.append(f"its range runs from {low:g} down to {high:g}")
    parameter = Parameter(name=name, default=default, low=low, high=high, step=step, choices=choices, line=line)
    objection = parameter.objection(default)
    if objection and not remarks:
        remarks.append(objection)
    return parameter, f"{name}: {'; '.join(remarks)}" if remarks else ""


def _bound(field: str, node: ast.expr | None, remarks: list[str]) -> Number | None:
    try:
        value = None if node is None else literal(node)
    except NotLiteral:
        value = ""
    if value is None or (isinstance(value, (int, float)) and not isinstance(value, bool)):
        return value
    remarks.append(f"its {field} is not written out as a number, so it was left out")
    return None


def _choices(node: ast.expr | None, remarks: list[str]) -> tuple[Json, ...] | None:
    if node is None or (isinstance(node, ast.Constant) and node.value is None):
        return None
    try:
        if isinstance(node, (ast.List, ast.Tuple)):
            return tuple(literal(item) for item in node.elts)
    except NotLiteral:
        pass  # told below, like anything else that is no list of values
    remarks.append("its choices are not written out as a list of values, so they were left out")
    return None


def literal(node: ast.expr, depth: int = 0) -> Scalar:
    """The value of a constant or of arithmetic of numbers; NotLiteral for anything else, also for what is too large."""
    if isinstance(node, ast.Constant) and (node.value is None or isinstance(node.value, (bool, int, float, str))):
        return _bounded(node.value)
    if depth < _DEEPEST and isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.USub, ast.UAdd)):
        number = _number(node.operand, depth)
        return -number if isinstance(node.op, ast.USub) else number
    if depth < _DEEPEST and isinstance(node, ast.BinOp) and type(node.op) in _ARITHMETIC:
        left, right = _number(node.left, depth), _number(node.right, depth)
        if isinstance(node.op, ast.Pow) and abs(right) > 64:  # both are below 2 ** 63: no more than 4,032 bits
            raise NotLiteral
        try:
            value = _ARITHMETIC[type(node.op)](left, right)
        except (ZeroDivisionError, OverflowError) as e:
            raise NotLiteral from e
        return _bounded(value)
    raise NotLiteral


def _number(node: ast.expr, depth: int) -> Number:
    value = literal(node, depth + 1)
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise NotLiteral
    return value


def _bounded(value: object) -> Scalar:
    """`value` if it can be carried as JSON: text that can be encoded, and a number that is one."""
    if isinstance(value, float) and math.isfinite(value):
        return value
    if value is None or isinstance(value, bool) or (isinstance(value, int) and abs(value) < _LARGEST):
        return value
    if isinstance(value, str) and not any("\ud800" <= c <= "\udfff" for c in value):
        return value
    raise NotLiteral


def parse_value(parameter: Parameter, text: str) -> Scalar:
    """`text` as the kind of value that the default is. A whole number stays an int where the default is one."""
    default = parameter.default
    if isinstance(default, bool):
        return _flag(parameter.name, text)
    if isinstance(default, str):
        return text
    number = _parse_number(text)
    if isinstance(default, (int, float)):
        if number is None:
            raise DraftError(f"{parameter.name}={text} is no number: give one, such as {parameter.name}={default}")
        return float(number) if isinstance(default, float) else number
    words: Mapping[str, Scalar] = {"none": None, "null": None, "true": True, "false": False}
    return words.get(text.lower(), text) if number is None else number


def _flag(name: str, text: str) -> bool:
    try:
        return {"true": True, "false": False, "1": True, "0": False, "yes": True, "no": False}[text.lower()]
    except KeyError:
        raise DraftError(f"{name}={text} is neither true nor false: write {name}=true or {name}=false") from None


def _parse_number(text: str) -> Number | None:
    try:
        number = float(text)
    except ValueError:
        return None
    if not math.isfinite(number) or abs(number) >= _LARGEST:
        return None
    try:
        return int(text)
    except ValueError:
        return number
