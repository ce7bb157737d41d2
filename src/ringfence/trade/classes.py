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
_DEEPEST = 50  # bases upon bases


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
    candidates, others = [], []
    for node in by_name.values():
        lineage = tuple(_lineage(node, by_name))
        known = _dialect(lineage, by_name, imports, uses_library)
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
        if id(node) in seen or depth > _DEEPEST:
            return
        seen.add(id(node))
        for base in reversed(node.bases):
            known = by_name.get(dotted(base))
            if known is not None:
                visit(known, depth + 1)
        found.append(node)

    visit(node, 0)
    return found


def _dialect(
    lineage: tuple[ast.ClassDef, ...], by_name: dict[str, ast.ClassDef], imports: dict[str, str], uses_library: bool
) -> tuple[Dialect, bool] | None:
    """The dialect, and whether it is a guess; None for what is no strategy."""
    own = {name for node in lineage for name in methods(node)}
    guess: Dialect | None = None
    for node in lineage:
        for base in node.bases:
            name = dotted(base)
            if not name or by_name.get(name, node) is not node:
                continue
            origin = origin_of(name, imports)
            last = origin.rpartition(".")[2]
            if _first(origin) == "ringfence" and last in ("Strategy", "BaseStrategy"):
                return ("native" if last == "Strategy" else "signals"), False
            if _first(origin) == "backtesting" and last.endswith("Strategy"):
                return "backtesting.py", False
            if last.endswith("Strategy"):
                known = origin != name or name.split(".")[0] in imports
                guess = guess or _guess(node, last, own, uses_library, known)
    return None if guess is None else (guess, True)


def _guess(node: ast.ClassDef, base: str, own: set[str], uses_library: bool, from_elsewhere: bool) -> Dialect | None:
    if uses_library and not from_elsewhere:
        return "backtesting.py"
    if "generate_signals" in own:
        return "signals"
    if from_elsewhere:
        return None
    if base == "BaseStrategy":
        return "signals"
    if base != "Strategy":
        return None
    spelled = {n.attr for n in walk(node) if isinstance(n, ast.Attribute) and last_name(n.value) == "data"}
    return "backtesting.py" if spelled & _PRICES else "native"


def origin_of(name: str, imports: dict[str, str]) -> str:
    """Where a dotted name comes from; `from x import *` may bring any name that nothing else does."""
    first, dot, rest = name.partition(".")
    if first in imports:
        return imports[first] + dot + rest
    star = imports.get("*")
    return star.removesuffix("*") + name if star else name


def _first(name: str) -> str:
    return name.partition(".")[0]
