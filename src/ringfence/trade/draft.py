"""A Draft: a program text with its hash, its dialect, its strategy class and its parameters.

Everything is read from the text; no line of it is executed here.
"""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import TYPE_CHECKING

from ringfence.base.errors import DraftError
from ringfence.trade import syntax
from ringfence.trade.classes import Candidate, Survey, origin_of, survey
from ringfence.trade.endings import broken
from ringfence.trade.extract import Extracted, extract, given_line
from ringfence.trade.parameters import Parameter, parse_value, read_parameters

if TYPE_CHECKING:
    from ringfence.trade.run import Dialect, Json


class SeveralClasses(DraftError):
    """More than one class could be meant, and nothing says which."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """`text` is what is run. Its lines count from 1; `given_line` says which line of the file or reply each was.

    `class_name` is None for a backtesting.py script with several classes that chooses among them as it runs.
    """

    name: str
    text: str
    sha256: str
    dialect: Dialect
    class_name: str | None
    classes: tuple[str, ...]  # every strategy class in the text
    parameters: tuple[Parameter, ...]
    notes: tuple[str, ...]  # what was done to get at the text, and what was found on the way
    origin: tuple[tuple[int, int], ...] = ((1, 1),)

    def given_line(self, line: int) -> int:
        return given_line(self.origin, line)

    def find(self, name: str) -> Parameter:
        """The parameter called `name`, or a DraftError that says which one was probably meant."""
        known = {parameter.name: parameter for parameter in self.parameters}
        if name in known:
            return known[name]
        near = get_close_matches(name, known, n=1)
        if near:
            raise DraftError(f"{self.name} has no parameter {name!r}; did you mean {near[0]!r}?")
        names = ", ".join(known) or "none"
        raise DraftError(f"{self.name} has no parameter {name!r}: use one of its own ({names})")


def read_draft(raw: str, *, name: str, class_name: str | None = None) -> Draft:
    """The Draft in `raw`, a file or a model's reply; DraftError says why there is none.

    `class_name` chooses among several strategy classes.
    """
    found = extract(raw)
    tree = _tree(found)
    seen = survey(tree)
    try:
        chosen = _choose(seen, tree, class_name)
    except DraftError as e:
        e.line = e.line and found.given_line(e.line)
        raise
    parameters, remarks = read_parameters(chosen.lineage, seen.imports) if chosen else ((), ())
    guess = [_guessed(chosen)] if chosen and chosen.guessed else []
    return Draft(
        name=name,
        text=found.text,
        sha256=hashlib.sha256(found.text.encode()).hexdigest(),
        dialect=chosen.dialect if chosen else "backtesting.py",
        class_name=chosen.name if chosen else None,
        classes=tuple(candidate.name for candidate in seen.candidates),
        parameters=parameters,
        notes=(*found.notes, *guess, *remarks),
        origin=found.origin,
    )


def parse_parameter(word: str, draft: Draft) -> tuple[str, Json]:
    """`NAME=VALUE` as the name of one of the draft's parameters and a value of the kind that its default is."""
    name, equals, text = word.partition("=")
    name = name.strip()
    if not equals or not name:
        raise DraftError(f"parameter {word!r} is not NAME=VALUE: write for example period=20")
    return name, parse_value(draft.find(name), text.strip())


def range_warnings(draft: Draft, values: Mapping[str, Json]) -> tuple[str, ...]:
    """One sentence for each value outside of the range that its `param` gives. It is used all the same."""
    objections = (draft.find(name).objection(value) for name, value in values.items())
    return tuple(objection for objection in objections if objection)


def _tree(found: Extracted) -> ast.Module:
    try:
        tree = syntax.parse(found.text)
        syntax.check(found.text)
    except SyntaxError as e:
        start = found.given_line(e.lineno or 1) - (e.lineno or 1)
        raise broken(found.text, e, start) from e
    return tree


def _choose(seen: Survey, tree: ast.Module, class_name: str | None) -> Candidate | None:
    if not seen.candidates:
        raise _no_strategy(seen)
    by_name = {candidate.name: candidate for candidate in seen.candidates}
    if class_name is not None:
        if class_name in by_name:
            return by_name[class_name]
        near = get_close_matches(class_name, by_name, n=1)
        what = f"did you mean {near[0]!r}?" if near else f"name one of {', '.join(by_name)}"
        raise DraftError(f"there is no strategy class {class_name!r}; {what}")
    leaves = seen.leaves() or seen.candidates
    if len(leaves) == 1:
        return leaves[0]
    if all(leaf.dialect == "backtesting.py" for leaf in leaves):
        run = [by_name[name] for name in _classes_run(tree) if name in by_name]
        return run[0] if len(run) == 1 else None
    names = [leaf.name for leaf in leaves]
    raise SeveralClasses(
        f"{' and '.join([', '.join(names[:-1]), names[-1]])} are all strategies: choose one with --class {names[0]}",
        line=leaves[1].node.lineno,
    )


def _classes_run(tree: ast.Module) -> list[str]:
    """The names that the script hands to `Backtest(data, Name, ...)`, each once."""
    names = []
    for node in syntax.walk(tree):
        if isinstance(node, ast.Call) and syntax.last_name(node.func).endswith("Backtest"):
            given = [*node.args[1:2], *(k.value for k in node.keywords if k.arg == "strategy")]
            names += [syntax.last_name(argument) for argument in given]
    return list(dict.fromkeys(names))


def _no_strategy(seen: Survey) -> DraftError:
    for node in seen.others:
        meant = _foreign_base(node, seen)
        if meant:
            return DraftError(
                f"class {node.name} derives from {meant}, which is not one of ours: derive it from Strategy"
                " (`from ringfence import Strategy`)",
                verdict="not_a_strategy",
                line=node.lineno,
            )
        if syntax.DECIDING & syntax.methods(node).keys():
            return DraftError(
                f"class {node.name} looks like a strategy and derives from none: write `class {node.name}(Strategy):`",
                verdict="not_a_strategy",
                line=node.lineno,
            )
    return DraftError(
        "no class is a strategy: write one that derives from Strategy and has a method `next`", verdict="not_a_strategy"
    )


def _foreign_base(node: ast.ClassDef, seen: Survey) -> str:
    names: Sequence[str] = [syntax.dotted(base) for base in node.bases]
    return next((origin_of(name, seen.imports) for name in names if name.endswith("Strategy")), "")


def _guessed(chosen: Candidate) -> str:
    return f"the base of {chosen.name} is not imported from a place we know: taken for the {chosen.dialect} dialect"
