"""The program in a model's reply, for who asked the model: whole, broken, cut off, or not there.

A program that does not parse is handed on as it is, because the error is what the next brief needs. One that was cut
off is never handed on. Like `checked`, this is called behind the fence.
"""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass
from typing import Literal

from ringfence.base.errors import DraftError
from ringfence.trade import syntax
from ringfence.trade.extract import extract
from ringfence.trade.fences import PYTHON, after_thoughts, read_blocks

Ending = Literal["end", "length", "refused"]

_CODE = re.compile(r"^[ \t]*+(?:class|def|import|from)[ \t]++\w++[^\n]*(?:[:(]|import)|^import[ \t]+\w", re.MULTILINE)
_STATEMENTS = (ast.Import, ast.ImportFrom, ast.ClassDef, ast.FunctionDef, ast.Assign)


@dataclass(frozen=True, slots=True, kw_only=True)
class ProgramReply:
    """`ending` is `length` where the reply was cut off, and `refused` where it holds no program."""

    code: str | None = None
    ending: Ending = "end"
    notices: tuple[str, ...] = ()


def read_reply(text: str) -> ProgramReply:
    try:
        found = extract(text)
    except DraftError as e:
        if e.verdict == "truncated":
            return ProgramReply(ending="length", notices=(str(e),))
        code = _broken_block(text)
        if code is None:
            return ProgramReply(ending="refused", notices=(f"the reply holds no program: {e}",))
        return ProgramReply(code=code, notices=(str(e),))
    if not _is_program(found.text):
        return ProgramReply(ending="refused", notices=("the reply holds no program, only words",))
    # That a program came in a fence is as it should be; what was left out is worth a word.
    notices = tuple(note for note in found.notes if "out of the fence" not in note)
    return ProgramReply(code=found.text, notices=notices)


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
