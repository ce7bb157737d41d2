"""Where the cells of a session come from: a pipe, or a person at a prompt."""

from __future__ import annotations

import codeop
import sys
from collections.abc import Iterator
from typing import BinaryIO

from ringfence.cli.history import history
from ringfence.sandbox.source import MAX_SOURCE_BYTES

SEPARATOR = b"# %%"
_HELP = """A cell is a statement, or a block that a blank line ends; its value is shown. Ctrl-C stops a running cell.
  :reset  start afresh, with no variables
  :help   this text
  :quit   leave (so do Ctrl-D and exit())"""


def piped_cells(file: BinaryIO) -> Iterator[bytes]:
    """The cells of `file`, each as soon as its separator has come; blank ones are left out.

    A cell past the size limit is cut just over it, for the check on its text to refuse.
    """
    cell: list[bytes] = []
    size = 0
    while line := file.readline(MAX_SOURCE_BYTES + 1):
        if line.startswith(SEPARATOR):
            if b"".join(cell).strip():
                yield b"".join(cell)
            cell, size = [], 0
        elif size <= MAX_SOURCE_BYTES:
            cell.append(line)
            size += len(line)
    if b"".join(cell).strip():
        yield b"".join(cell)


def typed_cells() -> Iterator[str]:
    """The cells that a person types, and `:reset`; ends with `:quit` or the end of input."""
    with history("session"):
        print("A ringfence session: variables stay, nothing gets out. :help for help.", file=sys.stderr)
        while (cell := _type_cell()) is not None:
            match cell.strip():
                case "":
                    continue
                case ":help":
                    print(_HELP, file=sys.stderr)
                case ":quit" | "exit()" | "quit()" | "exit" | "quit":
                    return
                case word if word.startswith(":") and word != ":reset":
                    print(f"{word.split()[0]} is no command: :help lists them", file=sys.stderr)
                case word:
                    yield word if word == ":reset" else cell


def _type_cell() -> str | None:
    """Lines until they are a whole statement; None at the end of input."""
    lines: list[str] = []
    while True:
        try:
            lines.append(input("... " if lines else ">>> "))
        except EOFError:
            print(file=sys.stderr)
            return None
        except KeyboardInterrupt:
            print("\n(dropped; :quit leaves)", file=sys.stderr)
            lines = []
            continue
        cell = "\n".join(lines)
        if lines[0].startswith(":") or is_complete(cell):
            return cell


def is_complete(cell: str) -> bool:
    """Whether no further line is needed. What can never be completed counts as complete: the guest says why."""
    try:
        return codeop.compile_command(cell, symbol="single") is not None
    except (SyntaxError, OverflowError, ValueError, MemoryError, RecursionError):
        return True
