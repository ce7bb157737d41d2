"""How the text of a program ends: whole, cut off, or with a slip of the pen somewhere before its end."""

from __future__ import annotations

import ast

from ringfence.base.errors import DraftError
from ringfence.trade import syntax

_SHOWN = 80  # characters of a line in a message


def unfinished(tree: ast.Module, text: str) -> bool:
    """Whether text that parses ends where no program does. Only to be asked where a reply ends inside a fence.

    That is: in an indented comment, which announces code that never came; in a name that was to become a call, or
    in a docstring without its code; before any strategy class, or before the method that decides; and for
    backtesting.py, whose scripts run themselves, before that run.
    """
    line = text.rstrip().rpartition("\n")[2]
    if line.startswith((" ", "\t")) and line.lstrip().startswith("#"):
        return True
    uses_library = any(name.split(".")[0] == "backtesting" for name in syntax.imported(tree).values())
    classes = [n for n in syntax.walk(tree) if isinstance(n, ast.ClassDef) and syntax.strategy_like(n)]
    if not tree.body or not classes:
        return uses_library or "Strategy" in text
    if uses_library and not runs(tree):
        return True
    end = tree.body[-1]
    if isinstance(end, syntax.Scope) and _ends_idly(end):
        return True
    decides = any(syntax.DECIDING & syntax.methods(c).keys() for c in classes)
    return isinstance(end, ast.ClassDef) and not decides


def runs(tree: ast.AST) -> bool:
    """Whether it makes a backtesting.py Backtest and starts it."""
    called = {syntax.last_name(n.func) for n in syntax.walk(tree) if isinstance(n, ast.Call)}
    return bool(called & {"Backtest", "FractionalBacktest", "MultiBacktest"} and called & {"run", "optimize"})


def _ends_idly(node: ast.AST) -> bool:
    while True:
        inner = [
            child
            for child in ast.iter_child_nodes(node)
            if isinstance(child, (ast.stmt, ast.ExceptHandler, ast.match_case))
        ]
        if not inner:
            return isinstance(node, ast.Expr) and isinstance(node.value, (ast.Name, ast.Attribute))
        last = inner[-1]
        if len(inner) == 1 and isinstance(node, syntax.Scope) and isinstance(last, ast.Expr):
            return isinstance(last.value, (ast.Name, ast.Attribute)) or _is_text(last.value)
        node = last


def _is_text(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def cut_off(text: str, start: int) -> DraftError:
    """`start` lines of the reply come before the text."""
    last = syntax.last_line(text)
    words = text.split("\n")[last - 1].strip()[-_SHOWN:]
    return DraftError(
        f"the text breaks off at line {start + last} ({words!r}): ask for the whole program again",
        verdict="truncated",
        line=start + last,
    )


def broken(text: str, error: SyntaxError, start: int) -> DraftError:
    lines = text.split("\n")
    at = min(max(error.lineno or 1, 1), len(lines))
    line = lines[at - 1].strip()
    message = error.msg or "no Python"
    if line.startswith(("!", "%")):
        remedy = "delete it, it is for a notebook and not Python"
    elif "invalid character" in message or "non-printable" in message:
        remedy = "type the plain one of the keyboard"
    else:
        remedy = "correct it"
    return DraftError(f"line {start + at}: {message} ({line[:_SHOWN]!r}): {remedy}", line=start + at)
