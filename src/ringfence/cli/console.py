"""The rich consoles we print tables and summaries with; importing this costs 100 ms, so only renderers do, and late."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

_WIDE = 300  # a pipe has no width to fit into, and a folded remedy cannot be searched for


def open_console(*, stderr: bool = False) -> Console:
    """A console without colour or bold where that is not wanted or not understood."""
    terminal = (sys.stderr if stderr else sys.stdout).isatty()
    plain = not terminal or bool(os.environ.get("NO_COLOR"))
    return Console(
        stderr=stderr,
        highlight=False,
        color_system=None if plain else "auto",
        width=None if terminal else _WIDE,
    )


def print_table(headings: Sequence[str], rows: Iterable[Sequence[Text | str]]) -> None:
    """A table on standard output; all columns but the last two keep their lines whole."""
    table = Table(box=None, pad_edge=False)
    for number, heading in enumerate(headings):
        whole = number < len(headings) - 2
        table.add_column(heading, style="bold" if number == 0 else "", no_wrap=whole, overflow="fold")
    for row in rows:
        table.add_row(*(Text(cell) if isinstance(cell, str) else cell for cell in row))
    open_console().print(table)
