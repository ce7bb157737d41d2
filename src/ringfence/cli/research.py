"""`ringfence research`: from an idea in words to a strategy that ran, or to many of them."""

from __future__ import annotations

import json
import os
import secrets
import sys
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ringfence.base.errors import AgentError, DataError, InputError, SettingsError
from ringfence.cli import INTERRUPTED, options, trading
from ringfence.cli.dispatch import UsageProblem
from ringfence.cli.interrupt import cancelling
from ringfence.cli.research_desk import Desk, open_desk
from ringfence.cli.research_wish import ResearchWish
from ringfence.cli.terminal import emit, say

if TYPE_CHECKING:
    from ringfence.base.config import Settings
    from ringfence.store import Store
    from ringfence.trade.run import Json
    from ringfence.verbs.research import ResearchResult

EPILOG = (
    "Exit code: 0 a strategy was produced and ran (with --ideas: at least one); 1 none was; 2 not "
    "understood, and the answer says which words and what would be; 64 to 78 a bad request; 125 our failure; "
    "130 interrupted: go on with --resume."
)
_author = partial(typer.Option, rich_help_panel="Author")
_bound = partial(typer.Option, rich_help_panel="Bounds")
_MOST_JOBS = 64

Text = Annotated[str | None, typer.Argument(metavar="TEXT", help="The idea, in words.", show_default=False)]
Ideas = Annotated[
    str | None,
    typer.Option("--ideas", metavar="SRC", help="Many ideas: a file with one to a line, a folder, a URL, a PDF."),
]
Watch = Annotated[bool, typer.Option("--watch", help="With --ideas: go on looking for new ones.")]
Jobs = Annotated[int, typer.Option("--jobs", "-j", metavar="N", help="With --ideas: how many at the same time.")]
Resume = Annotated[str | None, typer.Option("--resume", metavar="ID", help="Go on with what was begun under this id.")]
Also = Annotated[
    list[str] | None,
    typer.Option(
        "--also", metavar="SPEC", help="Further data, for what ran on the first; may be repeated.",
        rich_help_panel=trading.DATA,
    ),
]  # fmt: skip
AuthorName = Annotated[
    str | None,
    _author(
        "--author", metavar="NAME",
        help="rules, llm, command:TOOL or scripted:FILE. (default rules; a model, if set, for what it cannot read)",
    ),
]  # fmt: skip
Model = Annotated[str | None, _author("--model", metavar="NAME", help="Which model. (default RINGFENCE_MODEL)")]
Iterations = Annotated[int | None, _bound("--iterations", metavar="N", help="Most rounds. (default 5)")]
Objective = Annotated[str | None, _bound("--objective", metavar="NAME", help="What is best. (default sharpe)")]
Target = Annotated[float | None, _bound("--target", metavar="N", help="Stop when the objective gets there.")]
MinTrades = Annotated[int | None, _bound("--min-trades", metavar="N", help="Fewer do not count. (default 1)")]
MaxCost = Annotated[float | None, _bound("--max-cost", metavar="USD", help="Most to spend on models.")]
MaxTokens = Annotated[int | None, _bound("--max-tokens", metavar="N", help="Most tokens of an idea.")]
MaxMinutes = Annotated[float | None, _bound("--max-minutes", metavar="N", help="Longest time of an idea.")]
AsJson = Annotated[
    bool,
    typer.Option(
        "--json", help="Print JSON, and nothing else; with --ideas a line for each.", rich_help_panel=trading.OUTPUT
    ),
]


def register(app: typer.Typer, name: str, line: str) -> None:
    app.command(name, help=line, epilog=EPILOG)(research)


def research(
    text: Text = None,
    ideas: Ideas = None,
    watch: Watch = False,
    jobs: Jobs = 1,
    resume: Resume = None,
    data: trading.Data = None,
    also: Also = None,
    symbols: trading.Symbols = None,
    start: trading.Start = None,
    end: trading.End = None,
    timeframe: trading.Timeframe = None,
    repair: trading.Repair = False,
    cash: trading.Cash = 100_000.0,
    fees: trading.Fees = 0.001,
    slippage_bps: trading.Slippage = 2.0,
    fractional: trading.Fractional = False,
    author: AuthorName = None,
    model: Model = None,
    iterations: Iterations = None,
    objective: Objective = None,
    target: Target = None,
    min_trades: MinTrades = None,
    max_cost: MaxCost = None,
    max_tokens: MaxTokens = None,
    max_minutes: MaxMinutes = None,
    seed: trading.Seed = 0,
    timeout: trading.Timeout = 60.0,
    memory: trading.Memory = "1g",
    backend: options.Backend = "native",
    allow_weaker: options.AllowWeaker = False,
    report: trading.Report = None,
    as_json: AsJson = False,
) -> int:
    from ringfence.base.config import Settings
    from ringfence.store import open_store

    _check_usage(text, ideas, resume, data, watch=watch, jobs=jobs, report=report)
    wish = ResearchWish(
        idea=text, ideas=None if ideas is None else _whole_path(ideas), data=tuple(data or ()), also=tuple(also or ()),
        symbols=symbols, start=start, end=end, timeframe=timeframe, repair=repair, cash=cash, fees=fees,
        slippage_bps=slippage_bps, fractional=fractional, author=author, model=model,
        iterations=5 if iterations is None else iterations, objective=objective or "sharpe", target=target,
        min_trades=1 if min_trades is None else min_trades, max_cost=max_cost,
        max_tokens=max_tokens, max_minutes=max_minutes, seed=seed, timeout=timeout, memory=memory,
    )  # fmt: skip
    raised = {"iterations": iterations, "max_cost": max_cost, "max_tokens": max_tokens, "max_minutes": max_minutes}
    settings = Settings.from_env(os.environ)
    with ExitStack() as stack:
        interruption = stack.enter_context(cancelling())
        store = stack.enter_context(open_store(settings.database_url(os.environ)))
        wish, kept = _recall(store, wish, resume, raised)
        research_id = resume or secrets.token_hex(5)
        stack.enter_context(_alone(settings, research_id))
        desk = stack.enter_context(open_desk(wish, settings, store, backend, allow_weaker, interruption))
        _keep(store, research_id, wish, kept, desk)
        return _do(desk, wish, research_id, jobs=jobs, watch=watch, report=report, as_json=as_json)


def _do(
    desk: Desk, wish: ResearchWish, research_id: str, *, jobs: int, watch: bool, report: Path | None, as_json: bool
) -> int:
    try:
        if wish.ideas is not None:
            from ringfence.cli.research_many import run_ideas

            return run_ideas(desk, wish, research_id, jobs=jobs, watch=watch, as_json=as_json)
        return _run_one(desk, wish, research_id, report, as_json)
    except AgentError as e:
        if as_json:
            told = {"status": "error", "reason": str(e), "job_id": research_id}
            emit(sys.stdout, json.dumps(told) + "\n")
        raise type(e)(f"{e}; what was done is kept: go on with --resume {research_id}") from e


def _check_usage(
    text: str | None, ideas: str | None, resume: str | None, data: list[str] | None, *, watch: bool, jobs: int,
    report: Path | None,
) -> None:  # fmt: skip
    if sum(given is not None for given in (text, ideas, resume)) != 1:
        raise UsageProblem("give an idea in words, or --ideas SRC, or --resume ID, and one of them only")
    if text is not None and not text.strip():
        raise UsageProblem("the idea is empty: write for example 'Buy when RSI drops below 30, sell above 70'")
    if resume is None and not data:
        raise UsageProblem("it needs prices to try the idea on: add for example --data sample:GOOG")
    if resume is not None and data:
        raise UsageProblem("--resume goes on with the data it began with: leave --data out")
    if watch and text is not None:
        raise UsageProblem("--watch looks for new ideas: give --ideas SRC with it")
    if report is not None and ideas is not None:
        raise UsageProblem("--report is for one idea: `ringfence report RUN_ID` writes the sheet of any line")
    if not 1 <= jobs <= _MOST_JOBS:
        raise SettingsError(f"--jobs {jobs} is out of range: give a number from 1 to {_MOST_JOBS}")


def _whole_path(source: str) -> str:
    """So that it can be resumed from another directory."""
    return source if source.startswith(("http://", "https://")) else os.path.abspath(source)


def _recall(
    store: Store, wish: ResearchWish, resume: str | None, raised: Mapping[str, object]
) -> tuple[ResearchWish, Mapping[str, Json] | None]:
    """What is to be done; where it was begun, as that was asked for, with those bounds that were given anew."""
    from ringfence.verbs.research import recall_spec

    if resume is None:
        wish.check()
        return wish, None
    kept = recall_spec(store, resume)
    wish = ResearchWish.from_json(kept, raised)
    wish.check()
    return wish, kept


def _keep(store: Store, research_id: str, wish: ResearchWish, kept: Mapping[str, Json] | None, desk: Desk) -> None:
    """Record what was asked for and on which data; of what goes on, the data must be the same."""
    from datetime import UTC, datetime

    from ringfence.verbs.research import begin

    hashes: list[Json] = [grounds.splits.whole.sha256 for grounds in (desk.grounds, *desk.also)]
    if kept is None:
        begin(store, research_id, {**wish.to_json(), "bars_sha256": hashes}, now=datetime.now(UTC))
    elif kept.get("bars_sha256") != hashes:
        raise DataError(
            f"the data of research {research_id} has changed since it began: begin it anew, with --end DATE"
        )


@contextmanager
def _alone(settings: Settings, research_id: str) -> Iterator[None]:
    """Two that go on with the same research would write over each other."""
    import fcntl

    if "/" in research_id or research_id.startswith("."):
        raise InputError(f"{research_id!r} is no id of a research: it is printed when one begins")
    place = settings.home_dir(os.environ) / "research"
    try:
        place.mkdir(parents=True, exist_ok=True)
        lock = os.open(place / f"{research_id}.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as e:
        raise InputError(f"{str(place)!r} cannot be written ({e.strerror}): see RINGFENCE_HOME") from e
    try:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as e:
            raise InputError(f"research {research_id} is being done by another process: wait for it, or end it") from e
        yield
    finally:
        os.close(lock)


def _run_one(desk: Desk, wish: ResearchWish, research_id: str, report: Path | None, as_json: bool) -> int:
    from ringfence.cli.research_view import show_result, watching

    assert wish.idea is not None
    with watching(research_id, quiet=as_json) as told:
        result = desk.research(wish.idea, research_id, told)
    if report is not None and result.stored is not None:
        _write_report(result, desk, report)
    if as_json:
        emit(sys.stdout, json.dumps(result.to_json(), allow_nan=False) + "\n")
    else:
        show_result(result)
    if result.status == "not_understood":
        _advise(result, wish)
    if result.status == "cancelled":
        return INTERRUPTED if desk.interruption.signal is None else 128 + desk.interruption.signal
    return {"passed": 0, "ran": 0, "failed": 1, "not_understood": 2}[result.status]


def _advise(result: ResearchResult, wish: ResearchWish) -> None:
    """What to do when the offline author could not read it."""
    from ringfence.agents.llm.config import UNCONFIGURED
    from ringfence.base.config import Settings

    if result.author != "rules":
        return
    if wish.model or Settings.from_env(os.environ).model:
        say("a model may understand it: try --author llm")
    else:
        say(UNCONFIGURED)


def _write_report(result: ResearchResult, desk: Desk, report: Path) -> None:
    from ringfence.verbs.report import tear_sheet

    assert result.stored is not None
    bars = desk.grounds.splits.whole
    html = tear_sheet(result.stored.json, code=result.stored.draft.text, candles=bars.candles, timezone=bars.timezone)
    try:
        report.write_text(html, encoding="utf-8")
    except OSError as e:
        raise InputError(f"{str(report)!r} cannot be written: {e.strerror}; choose another place") from e
