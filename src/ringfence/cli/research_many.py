"""Many ideas on the screen: a table that fills, or a line of JSON for each."""

from __future__ import annotations

import json
import os
import sys
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from datetime import UTC, datetime

from rich.live import Live
from rich.table import Table
from rich.text import Text

from ringfence.base.errors import InputError, RingfenceError
from ringfence.cli import INTERRUPTED, OUR_FAILURE
from ringfence.cli.console import open_console, print_table
from ringfence.cli.research_desk import Desk
from ringfence.cli.research_view import brief
from ringfence.cli.research_wish import ResearchWish
from ringfence.cli.terminal import emit, say
from ringfence.trade.run import Json
from ringfence.verbs.research.ideas import Idea, read_ideas
from ringfence.verbs.research.many import IdeaLine, Many
from ringfence.verbs.research.replies import Spent

_HEADINGS = ("verdict", "return", "Sharpe", "trades", "hold-out", "other data", "where", "idea", "why")
_SHOWN = 20  # lines of the live table
_PAUSE_SECONDS = 2.0  # between looks at the source


def run_ideas(desk: Desk, wish: ResearchWish, session_id: str, *, jobs: int, watch: bool, as_json: bool) -> int:
    assert wish.ideas is not None
    cancel = desk.interruption.cancel
    ideas = read_ideas(wish.ideas)
    say(f"research {session_id}: if it is interrupted, --resume {session_id} goes on with it")
    tally = _Tally()
    with _screen(tally, quiet=as_json) as draw:
        many = Many(
            session_id=session_id,
            store=desk.store,
            research=desk.research,
            now=lambda: datetime.now(UTC),
            is_cancelled=lambda: desk.interruption.signal is not None,
            on_start=lambda idea: draw(idea, None),
        )
        while True:
            with closing(many.run(ideas, jobs=jobs, on_fault=_complain)) as lines:
                for line in lines:
                    tally.add(line)
                    if as_json:
                        emit(sys.stdout, json.dumps(line.to_json(), allow_nan=False) + "\n")
                    draw(None, line)
            if not watch or cancel.is_set(_PAUSE_SECONDS):
                break
            ideas = _read_again(wish.ideas)
    if not as_json:
        print_table(_HEADINGS, [_row(line) for line in tally.lines])
    say(tally.sentence())
    return _exit_code(tally, len(ideas), session_id, desk)


def _read_again(source: str) -> list[Idea]:
    try:
        return read_ideas(source)
    except InputError as e:
        say(str(e))  # it was there before, and may be again
        return []


class _Tally:
    def __init__(self) -> None:
        self.lines: list[IdeaLine] = []
        self.counts: Counter[str] = Counter()
        self.usd = 0.0
        self.unpriced = False

    def add(self, line: IdeaLine) -> None:
        self.lines.append(line)
        self.counts[line.verdict] += 1
        self.usd += line.usd or 0.0
        self.unpriced |= line.unpriced

    def sentence(self) -> str:
        told = ", ".join(f"{count:,} {verdict}" for verdict, count in self.counts.most_common())
        before = sum(line.resumed for line in self.lines)
        again = f", {before:,} of them done before" if before else ""
        cost = f", {self._money()}" if self.usd or self.unpriced else ""
        return f"{_counted(len(self.lines))}{again}{cost}: {told or 'none'}"

    def _money(self) -> str:
        return Spent(usd=self.usd, unpriced=int(self.unpriced)).money


@contextmanager
def _screen(tally: _Tally, *, quiet: bool) -> Iterator[Callable[[Idea | None, IdeaLine | None], None]]:
    """A table that lives on a terminal; elsewhere nothing, as the whole table comes at the end."""
    if quiet or not sys.stderr.isatty() or os.environ.get("TERM", "dumb") == "dumb":
        yield lambda idea, line: None
        return
    under_way: dict[str, Idea] = {}
    with Live(console=open_console(stderr=True), transient=True, refresh_per_second=4) as live:

        def draw(idea: Idea | None, line: IdeaLine | None) -> None:
            if idea is not None:
                under_way[idea.key] = idea
            if line is not None:
                under_way.pop(line.key, None)
            table = Table(box=None, pad_edge=False, title=tally.sentence())
            for heading in _HEADINGS:
                table.add_column(heading, no_wrap=True)
            for done in tally.lines[-_SHOWN:]:
                table.add_row(*_row(done))
            for waiting in under_way.values():
                blank = ("",) * 5
                table.add_row(Text("working", "cyan"), *blank, brief(waiting.place), brief(waiting.text)[:40], "")
            live.update(table)

        yield draw


def _row(line: IdeaLine) -> tuple[Text | str, ...]:
    style = {"passed": "green", "ran": "green", "failed": "red", "error": "bold red"}.get(line.verdict, "yellow")
    others = [row for row in line.data_sets if isinstance(row, dict)]
    elsewhere = ", ".join(f"{row.get('data')} {_percent(_get(row.get('metrics'), 'total_return'))}" for row in others)
    trades = line.metrics.get("trades")
    return (
        Text(line.verdict, style),
        _percent(line.metrics.get("total_return")),
        _ratio(line.metrics.get("sharpe")),
        f"{trades:,.0f}" if isinstance(trades, (int, float)) else "–",
        _percent(line.holdout.get("total_return")),
        brief(elsewhere) or "–",
        brief(os.path.relpath(line.place) if line.place.startswith("/") else line.place),
        brief(line.idea)[:60],
        brief(_why(line)),
    )


def _why(line: IdeaLine) -> str:
    """In one line; of what was not understood, which words."""
    first, *more = line.reason.split("\n")
    unread = next((words for words in more if words.startswith("Not read:")), None)
    return unread if line.verdict == "not_understood" and unread is not None else first


def _counted(ideas: int) -> str:
    return "1 idea" if ideas == 1 else f"{ideas:,} ideas"


def _get(value: Json, name: str) -> Json:
    return value.get(name) if isinstance(value, dict) else None


def _percent(value: Json) -> str:
    return f"{value:.2%}" if isinstance(value, (int, float)) else "–"


def _ratio(value: Json) -> str:
    return f"{value:.2f}" if isinstance(value, (int, float)) else "–"


def _complain(idea: Idea, error: BaseException) -> None:
    if not isinstance(error, RingfenceError):
        emit(sys.stderr, "".join(traceback.format_exception(error)))
    say(f"{idea.place}: not judged: {error}")


def _exit_code(tally: _Tally, total: int, session_id: str, desk: Desk) -> int:
    number = desk.interruption.signal
    if number is not None:
        done = len(tally.lines)
        if done < total:
            say(f"stopped with {done:,} of {_counted(total)} done: --resume {session_id} does the others")
        else:
            say(f"stopped with {_counted(done)} done: --resume {session_id} looks for new ones")
        return INTERRUPTED if number == 2 else 128 + number
    if tally.counts["error"]:
        count = "1 of the ideas was" if tally.counts["error"] == 1 else f"{tally.counts['error']:,} of the ideas were"
        say(f"{count} not judged: look above for why; --resume {session_id} does it again")
        return OUR_FAILURE
    return 0 if tally.counts["passed"] + tally.counts["ran"] else 1
