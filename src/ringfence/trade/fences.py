"""Fenced code blocks in a reply, and the thoughts before it. One pass over the lines, whatever they hold."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import islice

from ringfence.base.errors import DraftError
from ringfence.trade.syntax import problem

PYTHON = frozenset({"python", "python3", "py", "py3", "ipython", "ipython3"})
_FENCE = re.compile(r"([ \t]*+)(`{3,}+|~{3,}+)[ \t]*+([^`]*+)")
_THINK_OPEN = re.compile(r"[ \t]*<(think|thinking|thought|reasoning)>", re.IGNORECASE)
_THINK_CLOSE = re.compile(r"</(?:think|thinking|thought|reasoning)>", re.IGNORECASE)
_MOST_MENDED, _MOST_JOINS = 4, 8  # so that the time stays in proportion to the text


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """What one fence holds. `start` is the first of its lines in the reply, counted from 0."""

    start: int
    lines: tuple[str, ...]
    language: str  # lower case, empty where none is named
    closed: bool

    @property
    def text(self) -> str:
        return "\n".join(self.lines) + "\n"

    @property
    def end(self) -> int:
        return self.start + len(self.lines)


def after_thoughts(lines: Sequence[str]) -> int:
    """Where the reply goes on after a leading <think> block; the opening tag may have been left out."""
    first = next((n for n, line in enumerate(lines) if line.strip()), len(lines))
    opened = first < len(lines) and _THINK_OPEN.match(lines[first]) is not None
    for n, line in enumerate(lines):
        if not opened and (_FENCE.fullmatch(line) or _THINK_OPEN.match(line)):
            return 0
        tag = _THINK_CLOSE.search(line)
        if tag and not line[tag.end() :].strip() and (opened or not set("\"'") & set(line[: tag.start()])):
            return n + 1
        if opened and tag:
            return n  # something follows the tag on its own line; it is prose, and is told from code later
    if opened:
        raise DraftError(
            f"the reply ends inside its thoughts, at line {len(lines)}: ask for the whole program again",
            verdict="truncated",
            line=len(lines),
        )
    return 0


def read_blocks(lines: Sequence[str], start: int) -> list[Block]:
    """The fenced blocks from line `start` on. The last one is not closed when the reply ends inside it."""
    blocks: list[Block] = []
    opened: tuple[int, str, str, str] | None = None  # first line, indent, marks, language

    def finish(end: int, closed: bool) -> None:
        assert opened is not None
        first, indent, _, language = opened
        held = tuple(_outdent(line, indent) for line in lines[first:end])
        if any(line.strip() for line in held):
            blocks.append(Block(start=first, lines=held, language=language, closed=closed))

    for n in range(start, len(lines)):
        fence = _FENCE.fullmatch(lines[n])
        if fence is None:
            continue
        indent, marks, info = fence.groups()
        language = _language(info)
        if opened is None:
            opened = (n + 1, indent, marks, language)
        elif marks.startswith(opened[2]) and not language:
            finish(n, True)
            opened = None
        elif language in PYTHON:  # the first was never closed, or it is a fence around a whole reply
            finish(n, True)
            opened = (n + 1, indent, marks, language)
    if opened is not None:
        end = _half_a_fence(lines, opened[0])
        finish(end, end < len(lines))
    return blocks


def mend_blocks(blocks: Sequence[Block], lines: Sequence[str]) -> list[Block]:
    """Blocks that were torn by fences inside a docstring, made whole again."""
    mended = list(blocks)
    for _ in range(_MOST_MENDED):
        at = next((n for n, block in enumerate(mended) if _is_torn(block)), None)
        whole = None if at is None else _join(mended[at], lines)
        if at is None or whole is None:
            break
        mended[at:] = [whole, *read_blocks(lines, whole.end + 1)]
    return mended


def _is_torn(block: Block) -> bool:
    if not block.closed or block.language not in ("", *PYTHON):
        return False
    error = problem(block.text)
    return error is not None and "triple-quoted" in (error.msg or "")


def _join(torn: Block, lines: Sequence[str]) -> Block | None:
    """The block up to one of the next fences, the first with which it is a program."""
    marks = (n for n in range(torn.end + 1, len(lines)) if _FENCE.fullmatch(lines[n]))
    for end in islice(marks, _MOST_JOINS):
        whole = replace(torn, lines=tuple(lines[torn.start : end]))
        if problem(whole.text) is None:
            return whole
    return None


def _language(info: str) -> str:
    """The first word after the marks, such as `python` of `{.python title="a.py"}`."""
    word = re.match(r"[\s{.]*([\w+#-]*)", info)
    return word[1].lower() if word else ""


def _outdent(line: str, indent: str) -> str:
    """A block in a list is indented with its fence."""
    return line[len(indent) :] if indent and line.startswith(indent) else line


def _half_a_fence(lines: Sequence[str], first: int) -> int:
    """Where the block ends if the reply stopped within the marks that close it, else the end of the reply."""
    last = len(lines)
    while last > first and not lines[last - 1].strip():
        last -= 1
    return last - 1 if last > first and lines[last - 1].strip() in ("`", "``", "~", "~~") else len(lines)
