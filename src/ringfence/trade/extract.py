"""The program in a model's reply: out of its Markdown fences, without the prose, and never half of one.

In this order:
1. A text that parses is the program, unchanged but for a byte order mark and the ends of its lines.
2. Thoughts (`<think>...</think>`) before the reply are left out.
3. Of the fenced Python blocks the program is the one with the strategy class. When a later block defines the same
   class again, the later one is meant. Earlier blocks are put before it if they define names that it uses and does
   not define; a later block is put behind it if that is where the class is run. Everything else is left out.
4. Without fences, prose before the first line of code and after the last one is left out.

A reply that was cut off is refused. It was cut when it ends inside a fence, or has no fences, and its text breaks off
in the middle of a statement. It was also cut when it ends inside a fence and the text, although it parses, ends
where no program does; `endings.unfinished` says where that is. What is left out is noted; nothing is repaired.
"""

from __future__ import annotations

import ast
import builtins
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from ringfence.base.errors import DraftError
from ringfence.trade import syntax
from ringfence.trade.endings import broken, cut_off, runs, unfinished
from ringfence.trade.fences import PYTHON, Block, after_thoughts, mend_blocks, read_blocks

_CODE = re.compile(
    r"import[ \t]+[A-Za-z_][\w.]*[ \t]*(?:$|[,;#]|as[ \t])|from[ \t]+[A-Za-z_.][\w.]*[ \t]+import\b"
    r"|class[ \t]+\w+[ \t]*[(:]|def[ \t]+\w+[ \t]*\(|[@!%][A-Za-z_]|\"\"\"|'''|#!"
)
_LIST_ITEM = re.compile(r"[-*•>|][ \t]|\d+[.)][ \t]|\*\*|[-=*_]{3,}[ \t]*$|</?\w+>")
_CLASS = re.compile(r"^[ \t]*class[ \t]+(\w+)[ \t]*\(?([^\n]*)", re.MULTILINE)
_BUILTINS = frozenset(dir(builtins))
_MOST_BLOCKS = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Extracted:
    """`origin` holds, for each piece of the text, its first line here and in the reply; both count from 1."""

    text: str
    origin: tuple[tuple[int, int], ...]
    notes: tuple[str, ...]

    def given_line(self, line: int) -> int:
        """The line of the reply that became this line of the text."""
        return given_line(self.origin, line)


def given_line(origin: Sequence[tuple[int, int]], line: int) -> int:
    here, there = max((piece for piece in origin if piece[0] <= line), default=(1, 1))
    return there + line - here


def extract(raw: str) -> Extracted:
    """The program, which parses; or a DraftError that says what is the matter with the reply."""
    text, notes = _clean(raw)
    error = syntax.problem(text)
    if error is None:
        return Extracted(text=text, origin=((1, 1),), notes=tuple(notes))
    lines = text.split("\n")
    start = after_thoughts(lines)
    if start:
        notes.append(f"the thoughts before the reply (lines 1 to {start}) were left out")
    fenced = read_blocks(lines, start)
    if len(fenced) > _MOST_BLOCKS:
        raise DraftError(f"the text has {len(fenced):,} blocks of code, over {_MOST_BLOCKS}: give the program alone")
    blocks = [_without_prose(b, notes) for b in mend_blocks(fenced, lines) if _is_python(b)]
    before = _unopened(lines, start, blocks)
    if before is not None:
        return _assemble([before], notes)
    if blocks:
        return _assemble(_choose(blocks, notes), notes)
    return _unfenced(lines, start, notes)


def _clean(raw: str) -> tuple[str, list[str]]:
    if len(raw) > syntax.MOST_CHARACTERS:
        most = f"{syntax.MOST_CHARACTERS:,}"
        raise DraftError(f"the text has {len(raw):,} characters, over {most}: give the program alone")
    text = raw.lstrip("\ufeff")
    notes = [] if text == raw else ["a byte order mark was dropped"]
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
        notes.append("line ends were changed to line feeds")
    return text, notes


def _is_python(block: Block) -> bool:
    """A block that names no language counts when it holds statements, or begins like code."""
    if block.language:
        return block.language in PYTHON
    try:
        statements = syntax.parse(block.text).body
    except SyntaxError:
        return any(_CODE.match(line) for line in block.lines)
    return any(not isinstance(statement, ast.Expr) for statement in statements)


def _without_prose(block: Block, notes: list[str]) -> Block:
    """An unclosed block ends where sentences begin: the closing fence was forgotten, not cut off."""
    error = None if block.closed else syntax.problem(block.text)
    program = error and _before_prose(block.text, error)
    if not program:
        return block
    lines = tuple(program.split("\n")[:-1])
    notes.append(f"the prose after the program (from line {block.start + len(lines) + 1} on) was left out")
    return replace(block, lines=lines, closed=True)


def _unopened(lines: Sequence[str], start: int, blocks: Sequence[Block]) -> Block | None:
    """The program of a reply whose first fence closes it, because the opening one was not part of the reply."""
    end = next((n for n in range(start, len(lines)) if lines[n].lstrip(" \t").startswith(("```", "~~~"))), None)
    if end is None or lines[end].strip("`~ \t") or any(_classes(block) for block in blocks):
        return None
    block = Block(start=start, lines=tuple(lines[start:end]), language="", closed=True)
    return block if _classes(block) and syntax.problem(block.text) is None else None


def _classes(block: Block) -> set[str]:
    """The strategy classes that it defines, by a look at the text where it does not parse."""
    try:
        tree = syntax.parse(block.text)
    except SyntaxError:
        return {name for name, bases in _CLASS.findall(block.text) if "Strategy" in bases}
    return {n.name for n in syntax.walk(tree) if isinstance(n, ast.ClassDef) and syntax.strategy_like(n)}


def _choose(blocks: Sequence[Block], notes: list[str]) -> list[Block]:
    named = [(block, _classes(block)) for block in blocks]
    holders = [(block, names) for block, names in named if names]
    if not holders:
        return _choose_all(blocks, notes)
    main, names = holders[0]
    for block, others in holders[1:]:
        if names & others:
            main, names = block, others
    tree = _whole(main, notes)
    chosen = [*_needed(main, tree, [b for b, n in named if b.start < main.start and not n & names]), main]
    if not runs(tree) and "backtesting" in main.text:
        chosen += _runners(names, [b for b in blocks if b.start > main.start], notes)
    for block in blocks:
        if block not in chosen:
            notes.append(f"the block at lines {_span(block)} is not part of the program and was left out")
    return chosen


def _choose_all(blocks: Sequence[Block], notes: list[str]) -> list[Block]:
    """No block has a strategy class: they are one script in pieces, or the reply was cut before its class."""
    if len(blocks) == 1 or not blocks[-1].closed:
        _whole(blocks[-1], notes)
    parsing = []
    for block in blocks:
        if syntax.problem(block.text) is None:
            parsing.append(block)
        else:
            notes.append(f"the block at lines {_span(block)} is no Python and was left out")
    if not parsing:
        _whole(blocks[0], notes)
    return parsing


def _needed(main: Block, tree: ast.Module, earlier: Sequence[Block]) -> list[Block]:
    missing = _used(tree) - _defined(tree)
    found: list[Block] = []
    for block in reversed(earlier):
        try:
            piece = syntax.parse(block.text)
        except SyntaxError:
            continue
        if missing & _defined(piece):
            found.insert(0, block)
            missing = (missing | _used(piece)) - _defined(piece)
    return found


def _runners(names: set[str], later: Sequence[Block], notes: list[str]) -> list[Block]:
    """The block that runs the class, if there is one; cut off, it is missed as much as the class would be."""
    for block in later:
        if "Backtest(" in block.text and not names.isdisjoint(re.findall(r"\w+", block.text)):
            _whole(block, notes)
            return [block]
    return []


def _used(tree: ast.AST) -> set[str]:
    loads = {n.id for n in syntax.walk(tree) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)}
    return loads - _BUILTINS


def _defined(tree: ast.AST) -> set[str]:
    names = set(syntax.imported(tree))
    for node in syntax.walk(tree):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.add(node.id)
        elif isinstance(node, syntax.Scope):
            names.add(node.name)
        elif isinstance(node, ast.arg):
            names.add(node.arg)
    return names


def _whole(block: Block, notes: list[str]) -> ast.Module:
    """The block's tree, if it is a program to its end."""
    try:
        tree = syntax.parse(block.text)
    except SyntaxError as e:
        if not block.closed and syntax.breaks_off(block.text, e):
            raise cut_off(block.text, block.start) from e
        raise broken(block.text, e, block.start) from e
    if not block.closed:
        if unfinished(tree, block.text):
            raise cut_off(block.text, block.start)
        notes.append("the fence is not closed; what it holds is a whole program and was taken")
    return tree


def _unfenced(lines: Sequence[str], start: int, notes: list[str]) -> Extracted:
    first = next((n for n in range(start, len(lines)) if _CODE.match(lines[n])), None)
    if first is None:
        raise DraftError(
            "the text holds no program: give Python with a class derived from Strategy", verdict="not_a_strategy"
        )
    if not any(line.strip() and not line.lstrip().startswith("#") for line in lines[start:first]):
        first = start
    text = "\n".join(lines[first:])
    error = syntax.problem(text)
    if error is not None:
        text = _before_prose(text, error) or _refuse(text, error, first)
    if first > start:
        notes.append(f"the prose before the program (lines {start + 1} to {first}) was left out")
    end = first + text.count("\n") + (not text.endswith("\n"))
    if any(line.strip() for line in lines[end:]):
        notes.append(f"the prose after the program (from line {end + 1} on) was left out")
    return Extracted(text=text, origin=((1, first + 1),), notes=tuple(notes))


def _before_prose(text: str, error: SyntaxError) -> str | None:
    """The program before the line that is no Python, if that line is a sentence and not a slip of the pen."""
    lines = text.split("\n")
    at = (error.lineno or 1) - 1
    if not 0 < at < len(lines) or not _is_prose(lines[at]) or any(_CODE.match(line) for line in lines[at:]):
        return None
    program = "\n".join(lines[:at]) + "\n"
    return program if syntax.problem(program) is None else None


def _is_prose(line: str) -> bool:
    if line[:1] in ("", " ", "\t") or _CODE.match(line):
        return False
    if _LIST_ITEM.match(line):
        return True
    words = line.split()
    return len(words) > 1 and words[0].rstrip(",:").isalpha() and words[0][0].isupper() and words[1] not in ("=", "in")


def _refuse(text: str, error: SyntaxError, start: int) -> str:
    raise (cut_off(text, start) if syntax.breaks_off(text, error) else broken(text, error, start)) from error


def _assemble(blocks: Iterable[Block], notes: list[str]) -> Extracted:
    text, origin = "", []
    for block in blocks:
        text += "\n\n" if text else ""
        origin.append((text.count("\n") + 1, block.start + 1))
        text += block.text
        notes.append(f"the program was taken out of the fence at lines {_span(block)}")
    return Extracted(text=text, origin=tuple(origin), notes=tuple(notes))


def _span(block: Block) -> str:
    return f"{block.start + 1} to {block.end}"
