"""Rules on what is slow: work that is done again on every bar."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ringfence.trade import syntax
from ringfence.trade.lint.program import Program, is_series
from ringfence.trade.lint.rule import Rule, Spot

_FRAMES = frozenset({"pandas.Series", "pandas.DataFrame", "pandas.concat", "pandas.merge"})
_WINDOWS = frozenset({"rolling", "ewm", "expanding", "resample", "groupby"})
_INDICATOR_LIBRARIES = frozenset({"talib", "pandas_ta", "pandas_ta_classic", "ta"})


def pandas_on_every_bar(program: Program) -> Iterator[Spot]:
    for node in program.walk(*program.step):
        if isinstance(node, ast.Call):
            if program.name_of(node.func) in _FRAMES:
                yield node, f"{syntax.dotted(node.func)}() on every bar costs more than a millisecond each time"
            elif isinstance(node.func, ast.Attribute) and node.func.attr in _WINDOWS and _has_arrays(program):
                yield node, f".{node.func.attr}() on every bar works through all of the past again"
        elif isinstance(node, ast.Attribute) and syntax.dotted(node) == "self.data.df":
            yield node, "self.data.df makes a new table on every bar"


def _has_arrays(program: Program) -> bool:
    """The signals dialect is handed tables, and pandas is how it works."""
    return program.draft.dialect != "signals"


def declared_on_every_bar(program: Program) -> Iterator[Spot]:
    for call in program.calls(*program.step):
        if syntax.dotted(call.func) == "self.I":
            yield call, "self.I() on every bar keeps a whole new array each time, until memory ends"


def indicator_on_every_bar(program: Program) -> Iterator[Spot]:
    for function in program.step:
        names = program.series_names(function)
        for call in program.calls(function):
            library = program.name_of(call.func).partition(".")[0] in _INDICATOR_LIBRARIES
            if library and any(is_series(argument, names) for argument in call.args):
                yield call, f"{syntax.dotted(call.func)}() on every bar computes all of the past again"


def printed_on_every_bar(program: Program) -> Iterator[Spot]:
    # Under a condition it may come a few times only.
    rare = program.tree.handed_down(lambda parent, _: isinstance(parent, (ast.If, ast.IfExp, ast.ExceptHandler)))
    for call in program.calls(*program.step):
        if syntax.dotted(call.func) == "print" and not rare[program.tree.place(call)]:
            yield call, "print() on every bar fills the output, which has a limit"


def history_on_every_bar(program: Program) -> Iterator[Spot]:
    for node in program.walk(*program.step):
        if isinstance(node, (ast.For, ast.comprehension)) and _is_whole_range(node.iter):
            yield node.iter, "a loop over all bars on every bar takes four times as long for twice the data"


def _is_whole_range(node: ast.expr) -> bool:
    if is_series(node, frozenset()):
        return True
    if not isinstance(node, ast.Call) or syntax.dotted(node.func) != "range":
        return False
    lengths = [a for a in node.args if isinstance(a, ast.Call) and syntax.dotted(a.func) == "len" and a.args]
    return any(syntax.dotted(length.args[0]).startswith("self.data") for length in lengths)


def searched(program: Program) -> Iterator[Spot]:
    if program.draft.dialect != "backtesting.py":
        return
    for call in program.calls(program.module):
        if isinstance(call.func, ast.Attribute) and call.func.attr == "optimize" and call.keywords:
            yield call, "optimize() runs the strategy once for every combination"


RULES = (
    Rule("RF301", "warning", pandas_on_every_bar, "compute it once in `init` with self.I, or index the arrays"),
    Rule("RF302", "warning", declared_on_every_bar, "move it to `init`"),
    Rule("RF303", "warning", indicator_on_every_bar, "move it to `init`: `self.x = self.I(...)`"),
    Rule("RF304", "info", printed_on_every_bar, "leave it out: orders and fills are in the result"),
    Rule("RF305", "warning", history_on_every_bar, "keep a running value, or look at a fixed window"),
    Rule("RF306", "info", searched, "give it more time with --timeout, or search fewer values"),
)
