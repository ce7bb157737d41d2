"""How near did it come? For a strategy that never traded: what each condition in `next` was worth on every bar.

The text is rewritten so that every comparison and every cross in the strategy's methods also tells how far it was from
being true. Only used for a second run whose orders nobody looks at.
"""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, cast

NAME = "ringfence_near"
# What the comparison is, and which way it is missed: left minus right, times this.
_OPERATORS: dict[str, tuple[Callable[[Any, Any], object], int]] = {
    "Lt": (operator.lt, 1),
    "LtE": (operator.le, 1),
    "Gt": (operator.gt, -1),
    "GtE": (operator.ge, -1),
}
_CROSSES = ("crossover", "crossunder")
_MOST_ROWS = 20


@dataclass(slots=True)
class _Row:
    text: str
    seen: int = 0
    true: int = 0
    nearest: float = math.inf  # how much was missing at the best moment
    bar: int = -1
    left: float = math.nan
    right: float = math.nan


class Notes:
    """What was noted, by line and column of the comparison."""

    def __init__(self) -> None:
        self.clock: Callable[[], int] = lambda: -1
        self._rows: dict[tuple[int, int], _Row] = {}

    def near(self, place: tuple[int, int], text: str, sides: tuple[object, ...], test: object) -> object:
        """Note one comparison, or a chain of them, and give back what it came to.

        `test` is the cross that was called, or the operators between the `sides`.
        """
        if isinstance(test, tuple):
            held, signs = _chain(sides, test)
        else:
            held, signs = cast(Callable[..., object], test)(*sides), (0,)
        row = self._rows.setdefault(place, _Row(text))
        row.seen += 1
        if held:
            row.true += 1
            return held
        try:
            values = [float(side) for side in sides]  # type: ignore[arg-type]  # what is no number raises
        except (TypeError, ValueError):
            return held
        # A chain is as far from true as the link that misses most.
        # Lines that may cross are as far from it as from each other, whichever is above.
        misses = [((a - b) * sign if sign else abs(a - b), a, b) for a, b, sign in zip(values, values[1:], signs)]
        if all(math.isfinite(miss) for miss, _, _ in misses):
            missing, a, b = max(misses)
            if missing < row.nearest:
                row.nearest, row.bar, row.left, row.right = missing, self.clock(), a, b
        return held

    def rows(self) -> list[dict[str, object]]:
        return [
            {
                "line": line, "text": row.text, "seen": row.seen, "true": row.true, "bar": row.bar,
                "left": row.left, "right": row.right,
            }
            for (line, _), row in sorted(self._rows.items())
        ][:_MOST_ROWS]  # fmt: skip


def _chain(sides: Sequence[object], words: Sequence[str]) -> tuple[object, tuple[int, ...]]:
    """`a < b <= c` as Python has it: the first link that does not hold, or the last."""
    held: object = True
    for a, b, word in zip(sides, sides[1:], words):
        held = _OPERATORS[word][0](a, b)
        if not held:
            break
    return held, tuple(_OPERATORS[word][1] for word in words)


def with_notes(code: str, class_name: str) -> ast.Module:
    """The program with every comparison in the class's methods, but for `init`, told to `NAME`."""
    tree = ast.parse(code)
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef) and node.name == class_name:
            for method in node.body:
                if isinstance(method, ast.FunctionDef) and method.name != "init":
                    _Noting(code).visit(method)
    return ast.fix_missing_locations(tree)


class _Noting(ast.NodeTransformer):
    def __init__(self, code: str) -> None:
        self._code = code

    def visit_Compare(self, node: ast.Compare) -> ast.AST:
        text = ast.get_source_segment(self._code, node) or "a condition"
        self.generic_visit(node)
        words = [type(op).__name__ for op in node.ops]
        if not all(word in _OPERATORS for word in words):
            return node
        test = ast.Tuple([ast.Constant(word) for word in words], ast.Load())
        return self._noted(node, text, [node.left, *node.comparators], test)

    def visit_Call(self, node: ast.Call) -> ast.AST:
        text = ast.get_source_segment(self._code, node) or "a cross"
        self.generic_visit(node)
        name = node.func.id if isinstance(node.func, ast.Name) else getattr(node.func, "attr", "")
        plain = not node.keywords and not any(isinstance(arg, ast.Starred) for arg in node.args)
        if name not in _CROSSES or len(node.args) != 2 or not plain:
            return node
        return self._noted(node, text, node.args, node.func)

    def _noted(self, node: ast.expr, text: str, sides: list[ast.expr], test: ast.expr) -> ast.AST:
        """`near(place, text, (left, right), test)`: each side is read once, as it may have effects."""
        place = ast.Tuple([ast.Constant(node.lineno), ast.Constant(node.col_offset)], ast.Load())
        arguments = [place, ast.Constant(" ".join(text.split())[:200]), ast.Tuple(sides, ast.Load()), test]
        return ast.copy_location(ast.Call(ast.Name(NAME, ast.Load()), arguments, []), node)
