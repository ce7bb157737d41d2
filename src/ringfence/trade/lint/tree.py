"""A syntax tree laid out flat, in the order of the text: all that lies below a node is one slice.

Every rule goes over the tree several times and asks what lies below or above a node. Here both cost the same for a tree
of any shape: a program of thousands of classes, or one that is a thousand levels deep, takes no longer for its size.
"""

from __future__ import annotations

import ast
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence

# Python has one object for all `+` of a program, so these have no place in it; and no rule looks for them there.
_SHARED = (ast.expr_context, ast.operator, ast.unaryop, ast.cmpop, ast.boolop)


class Tree:
    def __init__(self, root: ast.AST) -> None:
        self.nodes: list[ast.AST] = []
        self.parents: list[int] = []  # the place of the node that each is in; -1 for the root
        left = [(root, -1)]
        while left:
            node, parent = left.pop()
            at = len(self.nodes)
            self.nodes.append(node)
            self.parents.append(parent)
            below = [(child, at) for child in ast.iter_child_nodes(node) if not isinstance(child, _SHARED)]
            left.extend(reversed(below))
        self._places = {id(node): at for at, node in enumerate(self.nodes)}
        self._ends = list(range(1, len(self.nodes) + 1))
        for at in range(len(self.nodes) - 1, 0, -1):
            parent = self.parents[at]
            self._ends[parent] = max(self._ends[parent], self._ends[at])

    def place(self, node: ast.AST) -> int:
        return self._places[id(node)]

    def slice(self, node: ast.AST) -> tuple[int, int]:
        start = self._places[id(node)]
        return start, self._ends[start]

    def walk(self, *roots: ast.AST) -> Iterator[ast.AST]:
        """Every node from the roots down, in the order of the text and once, although one root may lie in another."""
        if len(roots) == 1:
            start, end = self.slice(roots[0])
            return iter(self.nodes[start:end])
        return (node for _, node in self.walk_each(roots))

    def walk_each(self, roots: Sequence[ast.AST]) -> Iterator[tuple[ast.AST, ast.AST]]:
        """Each node with the root that it was found below: the first of them."""
        seen = bytearray(len(self.nodes))
        for root in roots:
            start, end = self.slice(root)
            for at in range(start, start if seen[start] else end):
                if not seen[at]:
                    seen[at] = 1
                    yield root, self.nodes[at]

    def places(self, wanted: Callable[[ast.AST], bool]) -> list[int]:
        """For `holds`."""
        return [at for at, node in enumerate(self.nodes) if wanted(node)]

    def holds(self, node: ast.AST, places: Sequence[int]) -> bool:
        """Whether one of the places, which are in order, is that of the node or of something in it."""
        start, end = self.slice(node)
        at = bisect_left(places, start)
        return at < len(places) and places[at] < end

    def handed_down(self, gives: Callable[[ast.AST, ast.AST], bool]) -> bytearray:
        """For each place, whether on the way to it there is a step from a parent to a child that `gives` it."""
        has = bytearray(len(self.nodes))
        for at in range(1, len(self.nodes)):
            parent = self.parents[at]
            has[at] = has[parent] or gives(self.nodes[parent], self.nodes[at])
        return has

    def statements(self) -> list[int]:
        """For each place, that of the statement it is in; its own for a statement."""
        found = [0] * len(self.nodes)
        for at in range(1, len(self.nodes)):
            found[at] = at if isinstance(self.nodes[at], ast.stmt) else found[self.parents[at]]
        return found
