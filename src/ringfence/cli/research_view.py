"""One research on the screen: what was read, the program, the numbers, and what speaks for and against them."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from operator import itemgetter

from rich.text import Text

from ringfence.cli.console import open_console, print_table
from ringfence.cli.runs_view import show_run
from ringfence.cli.terminal import clean, clean_line, emit, say
from ringfence.trade.run import Json
from ringfence.verbs.research import Progress, ResearchResult

_STYLES = {"passed": "green", "ran": "green", "failed": "red", "warning": "yellow", "error": "red", "not_new": "yellow"}
_SHOWN = ("total_return", "sharpe", "max_drawdown", "trades", "win_rate")
_LONGEST = 100


@contextmanager
def watching(research_id: str, *, quiet: bool) -> Iterator[Callable[[Progress], None]]:
    """Say under which id it is done, and on a terminal what it is doing."""
    if not quiet:
        say(f"research {research_id}: if it is interrupted, --resume {research_id} goes on with it")
    if quiet or not sys.stderr.isatty() or os.environ.get("TERM", "dumb") == "dumb":
        yield lambda progress: None
        return
    with open_console(stderr=True).status("reading the idea") as status:
        yield lambda progress: status.update(Text(brief(progress.message)))


def show_result(result: ResearchResult) -> None:
    console = open_console()
    if result.status in ("not_understood", "cancelled"):
        emit(sys.stdout, _safe(result.reason) + "\n")
        return
    if result.found.reading:
        emit(sys.stdout, _safe(result.found.reading) + "\n\n")
    if result.code:
        emit(sys.stdout, _safe(result.code.rstrip()) + "\n\n")
    if len(result.found.versions) > 1:
        _show_versions(result)
    if result.stored is not None:
        show_run(result.stored)
    _show_parts(result)
    _show_evaluation(result)
    for warning in result.notices:
        console.print(Text.assemble(("notice: ", "yellow"), clean_line(warning)))
    console.print()
    console.print(_ending(result))


def _show_versions(result: ResearchResult) -> None:
    rows = []
    for v in result.found.versions:
        best = "best" if result.best is not None and v.number == result.best.number else ""
        score = "–" if v.score is None else f"{v.score:.3g}"
        rows.append(
            (str(v.number), v.change or v.role, Text(v.status, _STYLES.get(v.status, "")), score, best, brief(v.reason))
        )
    print_table(("version", "what", "came to", f"{result.objective} on validation", "", "why"), rows)
    open_console().print()


def _show_parts(result: ResearchResult) -> None:
    best, final = result.best, result.final
    if best is None or final is None:
        return
    parts: list[tuple[str, Json]] = [("training", dict(best.trial.train)), ("validation", dict(best.trial.validation))]
    parts.append(("hold-out, seen once", final.get("holdout")))
    others = [
        (f"{row.get('data')} ({row.get('verdict')})", row.get("metrics")) for row in _rows(final.get("data_sets"))
    ]
    shown = [(clean_line(name), *_figures(figures)) for name, figures in [*filter(itemgetter(1), parts), *others]]
    if shown:
        open_console().print()
        print_table(("part of the data", "return", "Sharpe", "drawdown", "trades", "wins"), shown)


def _show_evaluation(result: ResearchResult) -> None:
    rows = []
    for row in _rows(result.evaluation.get("results")):
        said = [*_texts(row.get("errors")), *_texts(row.get("warnings"))]
        status, score = str(row.get("status")), row.get("score")
        shown = f"{score:.2f}" if isinstance(score, (int, float)) and status != "skipped" else "–"
        first, *others = [clean_line(words) for words in said] or [""]
        rows.append((str(row.get("name")), Text(status, _STYLES.get(status, "")), shown, first))
        rows += [("", Text(), "", words) for words in others]
    if rows:
        open_console().print()
        print_table(("evaluator", "verdict", "score", "why"), rows)
        open_console().print(Text(clean_line(str(result.evaluation.get("summary", "")))))


def _ending(result: ResearchResult) -> Text:
    words = {"passed": "passed every gate", "ran": "it ran, and a gate is shut", "failed": "no strategy passed"}
    cost = f", {result.spent.tokens:,} tokens, {result.spent.money}" if result.spent.tokens else ""
    told = f"{words[result.status]}: {clean_line(result.reason)} ({result.seconds:.1f} s{cost})"
    return Text(told, _STYLES.get(result.status, ""))


def _figures(value: Json) -> tuple[str, ...]:
    row = value if isinstance(value, Mapping) else {}
    found = [row.get(name) for name in _SHOWN]
    numbers = [v if isinstance(v, (int, float)) else None for v in found]
    kinds = ("%", "", "%", "n", "%")
    return tuple("–" if v is None else _number(v, kind) for v, kind in zip(numbers, kinds))


def _number(value: float, kind: str) -> str:
    return f"{value:.2%}" if kind == "%" else f"{value:,.0f}" if kind == "n" else f"{value:.2f}"


def brief(text: str) -> str:
    line = clean_line(text)
    return line if len(line) <= _LONGEST else f"{line[: _LONGEST - 1]}…"


def _rows(value: Json) -> list[Mapping[str, Json]]:
    rows = value if isinstance(value, Sequence) and not isinstance(value, str) else ()
    return [row for row in rows if isinstance(row, Mapping)]


def _texts(value: Json) -> list[str]:
    return [str(v) for v in value] if isinstance(value, Sequence) and not isinstance(value, str) else []


def _safe(text: str) -> str:
    return clean(text) if sys.stdout.isatty() else text
