"""A batch on the screen. File names and reasons come from strangers: nothing of them may steer the terminal."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.text import Text

from ringfence.cli.console import open_console, print_table
from ringfence.cli.terminal import clean_line, say
from ringfence.verbs.batch import FileResult, Tally
from ringfence.verbs.batch.summary import Best

_QUIET_SECONDS = 30.0  # between two lines off a terminal
_LONGEST = 100
_STYLES = {"traded": "green", "no_trades": "yellow", "needs_data": "yellow"}
_SHORT_ID = 12


@contextmanager
def watching(tally: Tally, total: int, *, lines_on_stdout: bool) -> Iterator[Callable[[FileResult], None]]:
    """To be told of each result after it was counted: a bar on a terminal of its own, else now and then a line."""
    dumb = os.environ.get("TERM", "dumb") == "dumb"
    if sys.stderr.isatty() and not dumb and not (lines_on_stdout and sys.stdout.isatty()):
        with _bar(tally, total) as seen:
            yield seen
        return
    started = said = time.monotonic()

    def tell(result: FileResult) -> None:
        nonlocal said
        if time.monotonic() - said >= _QUIET_SECONDS:
            said = time.monotonic()
            say(f"{tally.files:,} of {total:,}: {summary_line(tally, said - started)}")

    yield tell


@contextmanager
def _bar(tally: Tally, total: int) -> Iterator[Callable[[FileResult], None]]:
    columns = (
        BarColumn(30),
        MofNCompleteColumn(),
        TextColumn("{task.fields[rate]}"),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
        TextColumn("{task.fields[counts]}", markup=False),
    )
    console, started = open_console(stderr=True), time.monotonic()
    with Progress(*columns, console=console, transient=True, redirect_stdout=False, redirect_stderr=False) as bar:
        task = bar.add_task("", total=total, rate="", counts="")

        def tell(result: FileResult) -> None:
            fresh = tally.files - tally.resumed
            rate = f"{fresh / max(1e-9, time.monotonic() - started):.1f}/s"
            bar.update(task, completed=tally.files, rate=rate, counts=_counts(tally))

        yield tell


def summary_line(tally: Tally, seconds: float) -> str:
    """All of it in one sentence."""
    fresh = tally.files - tally.resumed
    told = f", {tally.resumed:,} of them done before" if tally.resumed else ""
    return f"{tally.files:,} files in {seconds:.1f} s{told}, {fresh / max(1e-9, seconds):.1f} per second: " + (
        _counts(tally) or "none yet"
    )


def _counts(tally: Tally) -> str:
    return ", ".join(f"{count:,} {verdict}" for verdict, count in tally.verdicts.most_common())


def show_summary(tally: Tally, seconds: float) -> None:
    console = open_console()
    rows: list[tuple[Text | str, ...]] = []
    for verdict, count in tally.verdicts.most_common():
        share = f"{count / tally.files:.1%}"
        reasons = [] if verdict == "traded" else tally.reasons(verdict)
        first, *others = [f"{times:,} × {_brief(reason)}" for reason, times in reasons] or [""]
        rows.append((Text(verdict, _STYLES.get(verdict, "red")), f"{count:,}", share, first))
        rows += [("", "", "", other) for other in others]
    if rows:
        print_table(("verdict", "files", "share", "commonest reasons"), rows)
    for name in ("return", "Sharpe"):
        best = tally.best(name)
        if best:
            console.print()
            print_table((f"best by {name}", "return", "Sharpe", "trades", "provenance", "run"), map(_row, best))
    if tally.unranked:
        left_out = ", ".join(f"{count:,} {word}" for word, count in tally.unranked.most_common())
        console.print()
        console.print(Text(f"traded, and left out of the ranking: {left_out}; --json-lines names them", "yellow"))
    console.print()
    console.print(Text(summary_line(tally, seconds)))


def _row(entry: Best) -> tuple[str, ...]:
    return (
        _brief(entry.file),
        "–" if entry.total_return is None else f"{entry.total_return * 100:,.2f} %",
        "–" if entry.sharpe is None else f"{entry.sharpe:.2f}",
        "–" if entry.trades is None else f"{entry.trades:,}",
        entry.provenance,
        (entry.run_id or "")[:_SHORT_ID],
    )


def _brief(text: str) -> str:
    line = clean_line(text)
    return line if len(line) <= _LONGEST else f"{line[: _LONGEST - 1]}…"
