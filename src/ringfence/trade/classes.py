"""Which classes of a program are strategies, and in which dialect, by what they derive from.

| base | dialect |
|---|---|
| `Strategy` of ringfence | native |
| `BaseStrategy` of ringfence | signals |
| any `...Strategy` of backtesting | backtesting.py |
| one that is imported from nowhere, in a file that imports backtesting | backtesting.py |
| `BaseStrategy` from elsewhere or nowhere, or any with a method `generate_signals` | signals |
| `Strategy` from nowhere, with prices spelled `data.Close` | backtesting.py |
| `Strategy` from nowhere | native |
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ringfence.trade.syntax import Scope, dotted, imported, last_name, methods, walk

if TYPE_CHECKING:
    from ringfence.trade.run import Dialect

_PRICES = frozenset({"Open", "High", "Low", "Close", "Volume"})
# More than anybody would write. A program of thousands of classes that share thousands of bases is read as quickly.
_DEEPEST, _MOST_BASES, _LONGEST_LINEAGE = 50, 50, 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A strategy class; `lineage` is its bases in the same file, the furthest first, and itself."""

    node: ast.ClassDef
    dialect: Dialect
    lineage: tuple[ast.ClassDef, ...]
    guessed: bool  # its base is imported from nowhere, or from a place we do not know

    @property
    def name(self) -> str:
        return self.node.name


@dataclass(frozen=True, slots=True, kw_only=True)
class Survey:
    candidates: tuple[Candidate, ...]
    others: tuple[ast.ClassDef, ...]
    imports: dict[str, str]
    uses_library: bool  # backtesting is imported

    def leaves(self) -> tuple[Candidate, ...]:
        """Those that no other one derives from."""
        bases = {id(base) for candidate in self.candidates for base in candidate.lineage[:-1]}
        return tuple(candidate for candidate in self.candidates if id(candidate.node) not in bases)


def survey(tree: ast.Module) -> Survey:
    imports = imported(tree)
    uses_library = any(_first(name) == "backtesting" for name in imports.values())
    # A class in a function exists only while that runs: a script can use it, an engine that wants the class cannot.
    nodes = [n for n in walk(tree) if isinstance(n, ast.ClassDef)] if uses_library else list(_reachable(tree))
    by_name = {node.name: node for node in nodes}  # the last of a name is the one that counts
    judge = _Judge(by_name, imports, uses_library)
    candidates, others = [], []
    for node in by_name.values():
        lineage = tuple(_lineage(node, by_name))
        known = judge.dialect(lineage)
        if known is None:
            others.append(node)
        else:
            candidates.append(Candidate(node=node, dialect=known[0], lineage=lineage, guessed=known[1]))
    return Survey(candidates=tuple(candidates), others=tuple(others), imports=imports, uses_library=uses_library)


def _reachable(tree: ast.Module) -> Iterator[ast.ClassDef]:
    left: list[ast.AST] = list(reversed(tree.body))
    while left:
        node = left.pop()
        if isinstance(node, ast.ClassDef):
            yield node
        elif not isinstance(node, Scope):
            left.extend(reversed(list(ast.iter_child_nodes(node))))


def _lineage(node: ast.ClassDef, by_name: dict[str, ast.ClassDef]) -> list[ast.ClassDef]:
    found: list[ast.ClassDef] = []
    seen: set[int] = set()

    def visit(node: ast.ClassDef, depth: int) -> None:
        if id(node) in seen or depth > _DEEPEST or len(seen) >= _LONGEST_LINEAGE:
            return
        seen.add(id(node))
        for base in reversed(node.bases[:_MOST_BASES]):
            known = by_name.get(dotted(base))
            if known is not None:
                visit(known, depth + 1)
        found.append(node)

    visit(node, 0)
    return found


class _Judge:
    """Says which dialect a class is of. A base of many classes is looked through once."""

    def __init__(self, by_name: dict[str, ast.ClassDef], imports: dict[str, str], uses_library: bool) -> None:
        self._by_name, self._imports, self._uses_library = by_name, imports, uses_library
        self._signals: dict[int, bool] = {}
        self._foreign_prices: dict[int, bool] = {}
        self._outer: dict[int, tuple[str, ...]] = {}

    def dialect(self, lineage: tuple[ast.ClassDef, ...]) -> tuple[Dialect, bool] | None:
        """The dialect, and whether it is a guess; None for what is no strategy."""
        guess: Dialect | None = None
        for node in lineage:
            for name in self._outer_bases(node):
                origin = origin_of(name, self._imports)
                last = origin.rpartition(".")[2]
                if _first(origin) == "ringfence" and last in ("Strategy", "BaseStrategy"):
                    return ("native" if last == "Strategy" else "signals"), False
                if _first(origin) == "backtesting" and last.endswith("Strategy"):
                    return "backtesting.py", False
                if guess is None and last.endswith("Strategy"):
                    known = origin != name or name.split(".")[0] in self._imports
                    guess = self._guess(node, last, lineage, known)
        return None if guess is None else (guess, True)

    def _outer_bases(self, node: ast.ClassDef) -> tuple[str, ...]:
        """The names of its bases that are no other classes of the file."""
        if id(node) not in self._outer:
            names = (dotted(base) for base in node.bases[:_MOST_BASES])
            outer = tuple(name for name in names if name and self._by_name.get(name, node) is node)
            self._outer[id(node)] = outer
        return self._outer[id(node)]

    def _guess(
        self, node: ast.ClassDef, base: str, lineage: tuple[ast.ClassDef, ...], from_elsewhere: bool
    ) -> Dialect | None:
        if self._uses_library and not from_elsewhere:
            return "backtesting.py"
        if any(self._has_signals(one) for one in lineage):
            return "signals"
        if from_elsewhere:
            return None
        if base == "BaseStrategy":
            return "signals"
        if base != "Strategy":
            return None
        return "backtesting.py" if self._has_foreign_prices(node) else "native"

    def _has_signals(self, node: ast.ClassDef) -> bool:
        if id(node) not in self._signals:
            self._signals[id(node)] = "generate_signals" in methods(node)
        return self._signals[id(node)]

    def _has_foreign_prices(self, node: ast.ClassDef) -> bool:
        if id(node) not in self._foreign_prices:
            spelled = {n.attr for n in walk(node) if isinstance(n, ast.Attribute) and last_name(n.value) == "data"}
            self._foreign_prices[id(node)] = bool(spelled & _PRICES)
        return self._foreign_prices[id(node)]


def origin_of(name: str, imports: dict[str, str]) -> str:
    """Where a dotted name comes from; `from x import *` may bring any name that nothing else does."""
    first, dot, rest = name.partition(".")
    if first in imports:
        return imports[first] + dot + rest
    star = imports.get("*")
    return star.removesuffix("*") + name if star else name


def _first(name: str) -> str:
    return name.partition(".")[0]
