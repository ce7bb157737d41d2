"""A Draft as the rules see it: which functions see all of history at once, and which see one bar after the other."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from functools import cached_property

from ringfence.trade import syntax
from ringfence.trade.classes import survey
from ringfence.trade.draft import Draft
from ringfence.trade.lint.tree import Tree
from ringfence.trade.syntax import Function

SETUP = ("init", "initialize", "__init__", "on_start")
STEP = ("next", "generate_signals", "on_bar", "calculate_position_size")
Body = Function | ast.Lambda
_MOST_LOOKED_AT = 64  # parts of an expression, before its look says nothing

# Calls that give back a series of the same length when they are given one.
_SAME_LENGTH = frozenset(
    [
        "Series",
        "DataFrame",
        "asarray",
        "array",
        "copy",
        "astype",
        "dropna",
        "fillna",
        "ffill",
        "to_numpy",
        "to_list",
        "abs",
        "log",
        "log1p",
        "exp",
        "sqrt",
        "diff",
        "pct_change",
        "shift",
        "round",
        "clip",
        "tolist",
        "reset_index",
    ]
)


class Program:
    """Everything is computed when first asked for; nothing of the program is run."""

    def __init__(self, draft: Draft) -> None:
        self.draft = draft
        self.module = syntax.parse(draft.text)
        self.tree = Tree(self.module)
        self.survey = survey(self.module)
        self.imports = self.survey.imports
        self.lineages = {id(candidate.node): candidate.lineage for candidate in self.survey.candidates}
        self._lines = draft.text.split("\n")
        self._series: dict[int, frozenset[str]] = {}

    @cached_property
    def lineage(self) -> tuple[ast.ClassDef, ...]:
        """The strategy class and its bases in the file; all strategy classes where the script chooses itself."""
        wanted = [c for c in self.survey.candidates if self.draft.class_name in (None, c.name)]
        return tuple({id(node): node for candidate in wanted for node in candidate.lineage}.values())

    @cached_property
    def leaves(self) -> tuple[ast.ClassDef, ...]:
        """The strategy class, or all that no other one derives from where the script chooses itself."""
        wanted = self.draft.class_name
        return tuple(leaf.node for leaf in self.survey.leaves() if wanted is None or leaf.name == wanted)

    @cached_property
    def methods(self) -> Mapping[str, Function]:
        return {name: item for node in self.lineage for name, item in syntax.methods(node).items()}

    @cached_property
    def statements(self) -> list[int]:
        return self.tree.statements()

    def statement(self, node: ast.AST) -> ast.AST:
        """The innermost statement that the node is in."""
        return self.tree.nodes[self.statements[self.tree.place(node)]]

    @cached_property
    def functions(self) -> Mapping[str, Function]:
        return {node.name: node for node in self.module.body if isinstance(node, Function)}

    @cached_property
    def step(self) -> tuple[Function, ...]:
        """What runs on every bar: the deciding methods, and the methods that they call."""
        return self._with_called(STEP)

    @cached_property
    def setup(self) -> tuple[Function, ...]:
        """What runs once, before the first bar, and is not called on a bar as well."""
        later = {id(function) for function in self.step}
        return tuple(function for function in self._with_called(SETUP) if id(function) not in later)

    def _with_called(self, names: tuple[str, ...]) -> tuple[Function, ...]:
        found: dict[str, Function] = {}
        left = [name for name in names if name in self.methods]
        while left:
            name = left.pop()
            if name in found:
                continue
            found[name] = self.methods[name]
            for call in self.calls(found[name]):
                called = syntax.dotted(call.func)
                if called.startswith("self.") and called[5:] in self.methods:
                    left.append(called[5:])
        return tuple(found.values())

    @cached_property
    def indicators(self) -> tuple[Body, ...]:
        """Functions that are given whole columns: what is handed to `self.I`."""
        found: dict[int, Body] = {}
        for call in (c for node in self.lineage for c in self.calls(node)):
            if syntax.dotted(call.func) != "self.I" or not call.args:
                continue
            given = call.args[0]
            name = syntax.dotted(given)
            function: Body | None = given if isinstance(given, ast.Lambda) else self.functions.get(name)
            if function is None and name.startswith("self."):
                function = self.methods.get(name[5:])
            function = function or self._local_functions.get(name)
            if function is not None:
                found[id(function)] = function
        return tuple(found.values())

    @cached_property
    def _local_functions(self) -> Mapping[str, Function]:
        found: dict[str, Function] = {}
        for node in self.tree.walk(*self.setup):
            if isinstance(node, Function):
                found.setdefault(node.name, node)
        return found

    @cached_property
    def _indicator_ids(self) -> frozenset[int]:
        return frozenset(map(id, self.indicators))

    @cached_property
    def whole(self) -> tuple[Body, ...]:
        """Where a series is all of history, the future of every bar with it."""
        return tuple({id(function): function for function in (*self.setup, *self.indicators)}.values())

    def walk(self, *roots: ast.AST) -> Iterator[ast.AST]:
        """Every node from the roots down, once."""
        return self.tree.walk(*roots)

    def calls(self, *roots: ast.AST) -> Iterator[ast.Call]:
        if roots == (self.module,):
            return iter(self._all_calls)
        return (node for node in self.walk(*roots) if isinstance(node, ast.Call))

    @cached_property
    def _all_calls(self) -> list[ast.Call]:
        return [node for node in self.tree.nodes if isinstance(node, ast.Call)]

    def name_of(self, node: ast.AST) -> str:
        """The dotted name, with `np` and `pd` spelled as what they were imported as."""
        return syntax.resolve(node, self.imports)

    def column(self, node: ast.AST) -> int:
        """From 1, in characters: the parser counts bytes."""
        offset: int = getattr(node, "col_offset", 0)
        line = self._lines[node.lineno - 1] if hasattr(node, "lineno") else ""
        return offset + 1 if line.isascii() else len(line.encode()[:offset].decode(errors="ignore")) + 1

    def series_names(self, function: Body) -> frozenset[str]:
        """The names in it that hold whole series: the arguments of an indicator, and what is made of the data."""
        if id(function) not in self._series:
            self._series[id(function)] = frozenset(self._find_series(function))
        return self._series[id(function)]

    def _find_series(self, function: Body) -> set[str]:
        names: set[str] = set()
        if id(function) in self._indicator_ids:
            names |= {arg.arg for arg in (*function.args.posonlyargs, *function.args.args)} - {"self"}
            # An argument with a default, such as `n=14`, is a setting.
            names -= {arg.arg for arg in function.args.args[len(function.args.args) - len(function.args.defaults) :]}
        if isinstance(function, ast.Lambda):
            return names
        for node in self.walk(function):
            if isinstance(node, ast.Assign) and is_series(node.value, names):
                names |= {target.id for target in node.targets if isinstance(target, ast.Name)}
        return names


def is_series(node: ast.AST, names: frozenset[str] | set[str]) -> bool:
    """Whether an expression is a whole column, by its look: `self.data.Close`, `pd.Series(x)`, `df["Close"] * 2`."""
    left = [node]
    for _ in range(_MOST_LOOKED_AT):
        if not left:
            break
        node = left.pop()
        if isinstance(node, ast.Name):
            if node.id in names:
                return True
        elif isinstance(node, ast.Attribute):
            if syntax.dotted(node).startswith("self.data"):
                return True
            left.append(node.value)
        elif isinstance(node, ast.Subscript):
            # A text picks a column; a number picks one value, and a slice a part.
            if isinstance(node.slice, ast.Constant) and isinstance(node.slice.value, str):
                left.append(node.value)
        elif isinstance(node, ast.Call):
            if syntax.last_name(node.func) in _SAME_LENGTH:
                left.extend(node.args[:1])
                left.extend([node.func.value] if isinstance(node.func, ast.Attribute) else [])
        elif isinstance(node, ast.BinOp):
            left.extend([node.left, node.right])
        elif isinstance(node, ast.UnaryOp):
            left.append(node.operand)
    return False


def is_negative(node: ast.AST | None) -> bool:
    """Whether it is written with a minus sign: `-1`, `-n`."""
    return isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub)


def keyword(call: ast.Call, name: str) -> ast.expr | None:
    return next((k.value for k in call.keywords if k.arg == name), None)


def argument(call: ast.Call, position: int, name: str) -> ast.expr | None:
    return call.args[position] if len(call.args) > position else keyword(call, name)
