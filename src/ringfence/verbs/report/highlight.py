"""Code as coloured lines, made here and not in the reader's browser."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from markupsafe import Markup, escape
from pygments.lexers.python import PythonLexer  # type: ignore[import-untyped]  # pygments publishes no types
from pygments.token import Token  # type: ignore[import-untyped]  # as above

from ringfence.verbs.report.inert import inert

# The first that fits wins; what fits none is shown plain.
_CLASSES = (
    (Token.Comment, "c-comment"),
    (Token.Literal.String.Doc, "c-comment"),
    (Token.Literal.String, "c-string"),
    (Token.Literal.Number, "c-number"),
    (Token.Keyword, "c-keyword"),
    (Token.Operator.Word, "c-keyword"),
    (Token.Name.Function, "c-name"),
    (Token.Name.Class, "c-name"),
    (Token.Name.Decorator, "c-name"),
    (Token.Name.Builtin, "c-builtin"),
)


@dataclass(frozen=True, slots=True)
class Line:
    number: int
    html: Markup
    failing: bool


def highlight(code: str, failing: int | None = None) -> list[Line]:
    """The lines of `code`; `failing` is the one where it raised, counted from 1. Broken code is shown too."""
    shown = inert(code).expandtabs(4)
    lexer = PythonLexer(stripnl=False, ensurenl=False)
    done: list[Markup] = [Markup()]
    for kind, value in lexer.get_tokens(shown):
        _append(done, value, next((name for token, name in _CLASSES if kind in token), ""))
    if len(done) > 1 and not done[-1]:
        done.pop()
    return [Line(number, html, number == failing) for number, html in enumerate(done, 1)]


def _append(lines: list[Markup], value: str, name: str) -> None:
    """A token may span lines; its markup may not."""
    for at, piece in enumerate(_pieces(value)):
        if at:
            lines.append(Markup())
        if piece:
            lines[-1] += Markup('<span class="{}">{}</span>').format(name, piece) if name else escape(piece)


def _pieces(value: str) -> Iterable[str]:
    return value.split("\n")
