"""What a program says, read from its tree and not run: its numbers and where they stand, its calls, names and texts.

A parameter has the value that the run gave it. Ranges of parameters, docstrings and comments are no part of it.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING

from ringfence.trade import syntax
from ringfence.trade.draft import Draft
from ringfence.trade.parameters import NotLiteral, literal

if TYPE_CHECKING:
    from ringfence.trade.run import Json

_DEEPEST = 25
_LARGEST = 1e308
_MOST_LOOKED_AT = 200  # parts of one call or expression, with what its names stand for
_GUARDS = {
    "stop": ("sl", "sl_price", "stop_loss", "stoploss", "stop", "stop_price"),
    "target": ("tp", "tp_price", "take_profit", "takeprofit", "target"),
    "trail": ("trail", "trail_percent", "trailing", "trailing_stop"),
}
_CROSSES = {"crossover": "above", "cross_above": "above", "crosses_above": "above", "crossed_above": "above",
            "crossunder": "below", "cross_below": "below", "crosses_below": "below", "crossed_below": "below",
            "crossed": "", "cross": ""}  # fmt: skip
_WAYS: Mapping[type[ast.cmpop], str] = {ast.Lt: "below", ast.LtE: "below", ast.Gt: "above", ast.GtE: "above"}
_TURNED = {"above": "below", "below": "above", "": ""}


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """`name` is lower case; of `self.I(rsi, ...)` it is the function that is handed in."""

    name: str
    numbers: tuple[float, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """Something that mentions `names` is above or below `value`."""

    names: frozenset[str]
    way: str
    value: float


@dataclass(slots=True)
class Written:
    numbers: set[float] = field(default_factory=set)
    texts: set[str] = field(default_factory=set)
    names: set[str] = field(default_factory=set)
    calls: list[Call] = field(default_factory=list)
    comparisons: list[Comparison] = field(default_factory=list)
    guards: dict[str, set[float]] = field(default_factory=dict)
    series: dict[str, str] = field(default_factory=dict)  # names and the call that made them
    asks_for_symbols: bool = False  # trades what its data has, by data.symbols


def read_program(draft: Draft, given: Mapping[str, Json]) -> Written:
    """`given` are the values that parameters had, where they were not their own."""
    tree = syntax.parse(draft.text)
    parameters = {p.name: given.get(p.name, p.default) for p in draft.parameters}
    return _Reader(tree, parameters).read()


class _Reader:
    def __init__(self, tree: ast.Module, parameters: Mapping[str, Json]) -> None:
        self.parameters = {n: float(v) for n, v in parameters.items() if isinstance(v, (int, float)) and _is_number(v)}
        self.texts = {value for value in parameters.values() if isinstance(value, str)}
        left_out = set(_docstrings(tree)) | set(_declared(tree, parameters))
        self.nodes = list(_walk(tree, left_out))
        self.assigned: dict[str, list[ast.expr]] = {}
        self._values: dict[int, float | None] = {}
        self._parts: dict[int, list[ast.expr]] = {}
        self.made = Written()

    def read(self) -> Written:
        made = self.made
        for node in self.nodes:
            if isinstance(node, ast.Assign):
                for target in node.targets:
                    self._assign(target, node.value)
            elif isinstance(node, ast.AnnAssign) and node.value is not None:
                self._assign(node.target, node.value)
        self._values.clear()  # of names that had not been given all their values yet
        made.numbers |= set(self.parameters.values())
        made.texts |= self.texts
        for node in self.nodes:
            self._look(node)
        for name, value in self.parameters.items():
            for role, words in _GUARDS.items():
                if not set(words).isdisjoint({name.lower(), *name.lower().split("_")}):
                    made.guards.setdefault(role, set()).add(value)
        return made

    def _look(self, node: ast.AST) -> None:
        made = self.made
        if isinstance(node, ast.Constant):
            if isinstance(node.value, str):
                made.texts.add(node.value)
            elif _is_number(node.value):
                made.numbers.add(float(node.value))  # type: ignore[arg-type]  # just asked
        elif isinstance(node, (ast.BinOp, ast.UnaryOp)):
            value = self._value(node)
            if value is not None:
                made.numbers.add(value)
        elif isinstance(node, ast.Name):
            made.names.add(node.id.lower())
        elif isinstance(node, ast.Attribute):
            made.names.add(node.attr.lower())
            made.asks_for_symbols = made.asks_for_symbols or node.attr == "symbols"
        elif isinstance(node, ast.Call):
            self._call(node)
        elif isinstance(node, ast.Compare):
            self._compare(node)

    def _assign(self, target: ast.expr, value: ast.expr) -> None:
        if isinstance(target, ast.Tuple):
            for part in target.elts:
                if isinstance(value, ast.Call):
                    self._assign(part, value)
            return
        while isinstance(target, ast.Subscript):
            target = target.value
        name = syntax.last_name(target).lower()
        if not name:
            return
        self.assigned.setdefault(name, []).append(value)
        if isinstance(value, ast.Call):
            self.made.series[name] = _called(value)
        for role, words in _GUARDS.items():  # such as lot.trail = 0.03
            if isinstance(target, ast.Attribute) and name in words:
                self.made.guards.setdefault(role, set()).update(self._numbers(value))

    def _call(self, node: ast.Call) -> None:
        name = _called(node)
        given = (*node.args, *(k.value for k in node.keywords))
        numbers = self._numbers(*given)
        self.made.calls.append(Call(name=name, numbers=tuple(numbers)))
        self.made.names.add(name)
        for keyword in node.keywords:
            for role, words in _GUARDS.items():
                if keyword.arg is not None and keyword.arg.lower() in words:
                    self.made.guards.setdefault(role, set()).update(self._numbers(keyword.value))
        if name in _CROSSES and len(node.args) == 2:
            self._compared(node.args[0], _CROSSES[name], node.args[1])

    def _compare(self, node: ast.Compare) -> None:
        left = node.left
        for operator, right in zip(node.ops, node.comparators):
            if type(operator) in _WAYS:
                self._compared(left, _WAYS[type(operator)], right)
            left = right

    def _compared(self, left: ast.expr, way: str, right: ast.expr) -> None:
        for one, other, direction in ((left, right, way), (right, left, _TURNED[way])):
            value = self._value(other)
            if value is not None:
                self.made.comparisons.append(Comparison(names=frozenset(_names(one)), way=direction, value=value))

    def _value(self, node: ast.expr, depth: int = 0) -> float | None:
        """What an expression is, where that is one number."""
        if depth > _DEEPEST:
            return None
        if isinstance(node, (ast.Name, ast.Attribute)):
            return self._named(syntax.last_name(node), depth)
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
            inner = self._value(node.operand, depth + 1)
            return None if inner is None else -inner
        try:
            made = literal(node)
        except NotLiteral:
            return None
        return float(made) if _is_number(made) else None  # type: ignore[arg-type]  # just asked

    def _named(self, name: str, depth: int) -> float | None:
        if name in self.parameters:
            return self.parameters[name]
        values = self.assigned.get(name.lower(), [])
        return self._value(values[0], depth + 1) if len(values) == 1 else None

    def _numbers(self, *nodes: ast.expr) -> Iterator[float]:
        """The numbers that expressions are made of, also behind the names in it; places in a series are none."""
        left = [(node, 0) for node in reversed(nodes[:_MOST_LOOKED_AT])]
        for _ in range(_MOST_LOOKED_AT):
            if not left:
                return
            part, depth = left.pop()
            value = self._value_of(part)
            if value is not None:
                yield value
            named = isinstance(part, (ast.Name, ast.Attribute))
            deeper = depth + (5 if named else 1)
            if deeper <= _DEEPEST:
                left += [(inner, deeper) for inner in (self._behind(part) if named else self._parts_of(part))]

    def _value_of(self, node: ast.expr) -> float | None:
        """The same, found out once: an expression is part of all that it is in."""
        if id(node) not in self._values:
            self._values[id(node)] = self._value(node)
        return self._values[id(node)]

    def _parts_of(self, node: ast.expr) -> list[ast.expr]:
        if id(node) not in self._parts:
            self._parts[id(node)] = _parts(node)[::-1]
        return self._parts[id(node)]

    def _behind(self, node: ast.expr) -> list[ast.expr]:
        """What a name was given, where it is no parameter and no result of a call."""
        name = syntax.last_name(node)
        given = [] if name in self.parameters else self.assigned.get(name.lower(), [])[:4]
        return [made for made in reversed(given) if not isinstance(made, ast.Call)]


def _parts(node: ast.expr) -> list[ast.expr]:
    found = []
    for child in ast.iter_child_nodes(node):
        if isinstance(node, ast.Subscript) and child is node.slice:
            continue
        if isinstance(child, ast.expr):
            found.append(child)
        elif isinstance(child, ast.keyword):
            found.append(child.value)
        if len(found) == _MOST_LOOKED_AT:
            break
    return found


def _is_number(value: object) -> bool:
    """One that a float can hold; NaN is in no range."""
    return isinstance(value, (int, float)) and not isinstance(value, bool) and -_LARGEST <= value <= _LARGEST


def _called(node: ast.Call) -> str:
    name = syntax.last_name(node.func)
    if name == "I" and node.args:
        name = syntax.last_name(node.args[0]) or name
    return name.lower()


def _names(node: ast.expr) -> Iterator[str]:
    for child in islice(syntax.walk(node), _MOST_LOOKED_AT):
        if isinstance(child, ast.Name):
            yield child.id.lower()
        elif isinstance(child, ast.Attribute):
            yield child.attr.lower()
        elif isinstance(child, ast.Constant) and isinstance(child.value, str):
            yield child.value.lower()  # data["rsi"]


def _docstrings(tree: ast.Module) -> Iterator[ast.AST]:
    for node in syntax.walk(tree):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)) and node.body:
            first = node.body[0]
            if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant):
                yield first


def _declared(tree: ast.Module, parameters: Iterable[str]) -> Iterator[ast.AST]:
    """The class attributes that are parameters: their values count, and not the ranges beside them."""
    known = set(parameters)
    for node in syntax.walk(tree):
        if isinstance(node, ast.ClassDef):
            for item in node.body:
                targets = item.targets if isinstance(item, ast.Assign) else [getattr(item, "target", None)]
                if any(isinstance(target, ast.Name) and target.id in known for target in targets):
                    yield item


def _walk(tree: ast.Module, left_out: set[ast.AST]) -> Iterator[ast.AST]:
    waiting: list[ast.AST] = [tree]
    while waiting:
        node = waiting.pop()
        if node not in left_out:
            yield node
            waiting += ast.iter_child_nodes(node)
