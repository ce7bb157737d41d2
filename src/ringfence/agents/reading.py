"""What a text of a model is worth to a role: a whole program, an answer of a fixed shape, or nothing of the kind.

A program that does not parse is handed on as it is, because the error is what the next brief needs. One that was cut
off is never handed on.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ringfence.agents.brief import Role, StopReason
from ringfence.agents.shapes import SHAPES, WRITING, ShapeError, read_shape
from ringfence.base.errors import DraftError
from ringfence.trade import syntax
from ringfence.trade.extract import extract
from ringfence.trade.fences import PYTHON, after_thoughts, read_blocks

if TYPE_CHECKING:
    from ringfence.trade.run import Json

_CODE = re.compile(r"^[ \t]*(?:class|def|import|from)[ \t]+\w+[^\n]*(?:[:(]|import)|^import[ \t]+\w+", re.MULTILINE)
_STATEMENTS = (ast.Import, ast.ImportFrom, ast.ClassDef, ast.FunctionDef, ast.Assign)


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """A text, read. `stop_reason` may be graver than the one the model gave, and `notices` say why."""

    code: str | None = None
    parsed: Mapping[str, Json] | None = None
    stop_reason: StopReason = "end"
    notices: tuple[str, ...] = ()


def read_answer(role: Role, text: str, stop_reason: StopReason = "end") -> Answer:
    if stop_reason != "end":
        return Answer(stop_reason=stop_reason)
    if role in WRITING:
        return _program(text)
    if role in SHAPES:
        try:
            return Answer(parsed=read_shape(role, text))
        except ShapeError as e:
            return Answer(stop_reason="refused", notices=(f"no {role} answer of the fixed shape came: {e}",))
    return Answer()


def _program(text: str) -> Answer:
    try:
        found = extract(text)
    except DraftError as e:
        if e.verdict == "truncated":
            return Answer(stop_reason="length", notices=(str(e),))
        code = _broken_block(text)
        if code is None:
            return Answer(stop_reason="refused", notices=(f"the reply holds no program: {e}",))
        return Answer(code=code, notices=(str(e),))
    if not _is_program(found.text):
        return Answer(stop_reason="refused", notices=("the reply holds no program, only words",))
    # That a program came in a fence is as it should be; what was left out is worth a word.
    return Answer(code=found.text, notices=tuple(note for note in found.notes if "out of the fence" not in note))


def _is_program(text: str) -> bool:
    """Words such as `No` and `sorry` parse as Python, too."""
    return any(isinstance(node, _STATEMENTS) for node in syntax.parse(text).body)


def _broken_block(text: str) -> str | None:
    """The program in a reply that does not parse: the longest Python block, or all of a text that begins like code."""
    lines = text.replace("\r\n", "\n").split("\n")
    try:
        start = after_thoughts(lines)
    except DraftError:
        return None
    fenced = read_blocks(lines, start)
    blocks = [b.text for b in fenced if b.language in PYTHON or (not b.language and _CODE.search(b.text))]
    if blocks:
        return max(blocks, key=len)
    rest = "\n".join(lines[start:]).strip()
    return f"{rest}\n" if _CODE.match(rest) else None
