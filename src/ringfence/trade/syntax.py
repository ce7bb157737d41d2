"""Program text as a syntax tree. Nothing here, or in what uses it, executes a line of it.

A tree can be thousands of levels deep, so it is walked with a list of what is left to see and never by recursion.
"""

from __future__ import annotations

import ast
import threading
import warnings
from collections.abc import Iterator

MOST_CHARACTERS = 1 << 20

# The compiler says that the input ended too early, instead of what it made of the end.
_ALLOW_INCOMPLETE, _NO_DEDENT_AT_END = 0x4000, 0x200

_MOST_PARTS = 16  # of a dotted name
_JOINING = ("and", "or", "in", "is", "not", "if", "else", "for", "from", "import", "as", "async")

_lock = threading.Lock()  # the warning filters belong to the whole process

Function = ast.FunctionDef | ast.AsyncFunctionDef
Scope = Function | ast.ClassDef


def parse(text: str) -> ast.Module:
    """The tree, or a SyntaxError: the one thing that this raises, whatever the text is."""
    return _compile(text, 0)


def check(text: str) -> None:
    """Raise SyntaxError for what only the compiler notices, such as `return` outside of a function."""
    _compile(text, 0, whole=True)


def problem(text: str) -> SyntaxError | None:
    """What keeps the text from being a program; None when nothing does."""
    try:
        parse(text)
    except SyntaxError as e:
        return e
    return None


def breaks_off(text: str, error: SyntaxError) -> bool:
    """Whether more text could have made a program of it, as with a reply that was cut off.

    The compiler knows when it wanted more lines. When it wanted more of the last line it points at the end of that.
    """
    try:
        _compile(text + "\n", _ALLOW_INCOMPLETE | _NO_DEDENT_AT_END)
    except SyntaxError as e:
        if e.msg == "incomplete input":
            return True
    last = last_line(text)
    if (error.lineno or 0) != last:
        return (error.lineno or 0) > last
    message = error.msg or ""
    if message.startswith(("unterminated", "f-string: expecting")):
        return True
    rest = text.split("\n")[last - 1][max(error.offset or 1, 1) - 1 :].strip()
    if message.endswith(" literal"):
        return len(rest) <= 1  # a number that stops at its `_`, `x` or `e`
    if message.startswith("expected 'else'"):
        return True
    # Either the line should have gone on, or its last word should have: `a an` was to become `a and b`.
    return rest in ("", ".", "!") or (rest.isalpha() and any(word.startswith(rest) for word in _JOINING))


def last_line(text: str) -> int:
    """The number of the last line that is not blank, from 1."""
    return text.rstrip().count("\n") + 1


def _compile(text: str, flags: int, *, whole: bool = False) -> ast.Module:
    """The tree. With `whole` the code is made from it too, and forgotten."""
    at = text.find("\0")
    if at >= 0:
        raise _error("a NUL character", text, at)
    # A warning about an odd escape is no matter of ours, and where warnings are errors it would stop the parser.
    with _lock, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            tree = compile(text, "<draft>", "exec", flags | ast.PyCF_ONLY_AST, dont_inherit=True)
            if whole:
                compile(text, "<draft>", "exec", flags, dont_inherit=True)
        except UnicodeEncodeError as e:
            raise _error("half of a character", text, e.start) from e
        except (ValueError, OverflowError) as e:
            raise _error(str(e), text, 0) from e
        except (MemoryError, RecursionError) as e:
            raise _error("nested too deeply", text, 0) from e
    assert isinstance(tree, ast.Module)
    return tree


def _error(message: str, text: str, at: int) -> SyntaxError:
    error = SyntaxError(message)
    error.lineno, error.offset = text.count("\n", 0, at) + 1, 1
    return error


def walk(*roots: ast.AST) -> Iterator[ast.AST]:
    """Every node from the roots down, in the order of the text."""
    left = list(reversed(roots))
    while left:
        node = left.pop()
        yield node
        left.extend(reversed(list(ast.iter_child_nodes(node))))


def dotted(node: ast.AST) -> str:
    """`a.b.c` as written; empty for anything that is not names joined by dots, and for more of them than anybody
    would write."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute) and len(parts) < _MOST_PARTS:
        parts.append(node.attr)
        node = node.value
    if not isinstance(node, ast.Name):
        return ""
    return ".".join([node.id, *reversed(parts)])


def last_name(node: ast.AST) -> str:
    """`c` of `a.b.c` and of `f().c`; empty where there is none."""
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""


def imported(tree: ast.AST) -> dict[str, str]:
    """Each name that an import binds, and the dotted name of what it stands for."""
    found: dict[str, str] = {}
    for node in walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                name = alias.asname or alias.name.partition(".")[0]
                found[name] = alias.name if alias.asname else name
        elif isinstance(node, ast.ImportFrom) and not node.level:
            for alias in node.names:
                found[alias.asname or alias.name] = f"{node.module}.{alias.name}"
    return found


def resolve(node: ast.AST, imports: dict[str, str]) -> str:
    """The dotted name with its first part replaced by what was imported under it."""
    name = dotted(node)
    first, dot, rest = name.partition(".")
    return imports.get(first, first) + dot + rest


def methods(node: ast.ClassDef) -> dict[str, Function]:
    return {item.name: item for item in node.body if isinstance(item, Function)}


def strategy_like(node: ast.ClassDef) -> bool:
    """Whether it is meant to be a strategy: by the name of a base, or by a method that decides."""
    return any(last_name(base).endswith("Strategy") for base in node.bases) or bool(DECIDING & methods(node).keys())


DECIDING = frozenset({"next", "arrays", "generate_signals", "on_bar"})
