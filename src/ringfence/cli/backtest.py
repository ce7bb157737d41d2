"""`ringfence backtest`: a strategy file against history, its numbers here and in the store."""

from __future__ import annotations

import json
import os
import sys
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from ringfence.base.errors import DraftError, InputError
from ringfence.cli import INTERRUPTED, options, trading
from ringfence.cli.groups import spread
from ringfence.cli.interrupt import cancelling
from ringfence.cli.request import read_program
from ringfence.cli.terminal import Screen, emit, say

if TYPE_CHECKING:
    from ringfence.sandbox import Sandbox
    from ringfence.sandbox.job import Limits
    from ringfence.store import StoredRun
    from ringfence.trade.bars import Bars
    from ringfence.trade.draft import Draft
    from ringfence.trade.run import Json
    from ringfence.verbs.backtest import Finished, Request

EPILOG = (
    "Exit code: 0 it traded and nothing speaks against the numbers; 1 it failed, did not trade, does not agree with "
    "its replay, or seems to know the future; 64 to 78 a bad request; 125 our failure; 130 cancelled."
)

_output = partial(typer.Option, rich_help_panel=trading.OUTPUT)

File = Annotated[
    str, typer.Argument(metavar="FILE|-", help="The strategy, or - for standard input.", show_default=False)
]
Param = Annotated[
    list[str] | None, typer.Option("--param", metavar="NAME=VALUE", help="Set a parameter of the strategy.")
]
ClassName = Annotated[
    str | None, typer.Option("--class", metavar="NAME", help="Which class, where the file has several.")
]
Streamed = Annotated[
    bool,
    typer.Option(
        "--streamed", help="Hand in bars one by one: the future is never inside.", rich_help_panel=trading.TRUTH
    ),
]
Png = Annotated[Path | None, _output("--png", metavar="FILE", help="Write a picture of it.")]
Artifacts = Annotated[
    Path | None, _output("--artifacts", metavar="DIR", help="Keep the files that a script leaves, in DIR/RUN_ID.")
]
AsJson = Annotated[bool, _output("--json", help="Print the Run as JSON, and nothing else.")]


def register(app: typer.Typer, name: str, line: str) -> None:
    app.command(name, help=line, epilog=EPILOG)(spread(backtest))


def backtest(
    *,
    file: File,
    prices: trading.Prices,
    mount: trading.MountOption = None,
    param: Param = None,
    class_name: ClassName = None,
    account: trading.Account,
    lookahead: trading.LookaheadOption = True,
    streamed: Streamed = False,
    heal: trading.Heal = True,
    seed: trading.Seed = 0,
    timeout: trading.Timeout = 300.0,
    memory: trading.Memory = "2g",
    backend: options.Backend = "native",
    allow_weaker: options.AllowWeaker = False,
    report: trading.Report = None,
    png: Png = None,
    artifacts: Artifacts = None,
    as_json: AsJson = False,
) -> int:
    from ringfence.base.config import Settings
    from ringfence.sandbox import open_sandbox
    from ringfence.sandbox.job import Mount
    from ringfence.trade.draft import parse_parameter
    from ringfence.verbs.backtest import Request

    rules = account.rules()
    settings = Settings.from_env(os.environ)
    limits, mounts = trading.make_limits(timeout, memory), tuple(Mount.parse(word) for word in mount or [])
    text, name = read_program(file)
    with open_sandbox(trading.trading_sandbox(backend, text, allow_weaker)) as sandbox:
        draft = _read_draft(Given(file, text, name), class_name, sandbox, limits)
        parameters = dict(parse_parameter(word, draft) for word in param or [])
        cache = trading.open_cache(settings)
        bars, bars_file = trading.load(cache, prices)
        request = Request(
            draft=draft, bars=bars, bars_file=bars_file, parameters=parameters, rules=rules, seed=seed,
            limits=limits, mounts=mounts, lookahead=lookahead, streamed=streamed, heal=heal,
            artifacts_dir=artifacts, secret=trading.read_secret(settings),
        )  # fmt: skip
        finished = _run(request, sandbox, quiet=as_json)
    if finished.cut_short:
        say("cancelled: nothing was stored")
        return INTERRUPTED
    finished = _warned(finished, draft, parameters)
    stored = _store(settings.database_url(os.environ), finished, draft)
    _write_reports(stored, draft, bars, report, png)
    if artifacts is not None:
        _tell_files(finished)
    return _show(finished, stored, as_json)


def _warned(finished: Finished, draft: Draft, parameters: dict[str, Json]) -> Finished:
    """With a value outside of its range among the warnings, so that the stored Run says it too."""
    from ringfence.trade.draft import range_warnings

    run = finished.run
    return replace(finished, run=replace(run, warnings=(*range_warnings(draft, parameters), *run.warnings)))


class Given(NamedTuple):
    """What was given to be backtested: where it is, what it says, and what it is called."""

    file: str
    text: str
    name: str


def _read_draft(given: Given, class_name: str | None, sandbox: Sandbox, limits: Limits) -> Draft:
    from ringfence.sandbox.texts import read_draft

    name = Path(given.name).stem
    try:
        return read_draft(given.text, name=name, class_name=class_name, sandbox=sandbox, limits=limits)
    except DraftError as e:
        place = f"{given.file}, line {e.line}" if e.line else given.file
        raise DraftError(f"{place}: {e}", verdict=e.verdict, line=e.line) from e


def _run(request: Request, sandbox: Sandbox, *, quiet: bool) -> Finished:
    from contextlib import nullcontext

    from ringfence.verbs.backtest import backtest as run_backtest

    with cancelling() as interruption:
        screen = Screen(on_broken=interruption.cancel.set)
        with nullcontext() if quiet else screen.progress(request.limits.wall_seconds):
            return run_backtest(replace(request, cancel=interruption.cancel), sandbox=sandbox)


def _store(url: str, finished: Finished, draft: Draft) -> StoredRun:
    from ringfence.store import RunUsage, open_store

    used = finished.outcome.usage
    usage = RunUsage(wall_ms=used.wall_ms, cpu_ms=used.cpu_ms, peak_memory_bytes=used.peak_memory_bytes)
    with open_store(url) as store:
        record = store.save_run(finished.run, draft_text=draft.text, usage=usage, now=datetime.now(UTC))
        return store.get_run(record.run_id)


def _write_reports(stored: StoredRun, draft: Draft, bars: Bars | None, report: Path | None, png: Path | None) -> None:
    if report is None and png is None:
        return
    from ringfence.verbs.report import summary_png, tear_sheet

    candles = bars.candles if bars else None
    zone = bars.timezone if bars else "UTC"
    try:
        if report is not None:
            without = "" if bars else "The price chart is left out: the script brought its own data."
            html = tear_sheet(stored.json, code=draft.text, candles=candles, timezone=zone, without_candles=without)
            report.write_text(html, encoding="utf-8")
        if png is not None:
            png.write_bytes(summary_png(stored.json, candles=candles))
    except OSError as e:
        raise InputError(f"{e.filename!r} cannot be written: {e.strerror}; choose another place") from e


def _tell_files(finished: Finished) -> None:
    """The Run does not know where they are: it is the same for the same strategy and data, and their place is not."""
    from ringfence.cli.summary import placed, refused

    for line in (*refused(finished.outcome), *placed(finished.outcome)):
        say(line)


def _show(finished: Finished, stored: StoredRun, as_json: bool) -> int:
    if as_json:
        emit(sys.stdout, json.dumps(finished.run.to_json(), allow_nan=False) + "\n")
    else:
        from ringfence.cli.runs_view import show_run

        show_run(stored)
    return _exit_code(finished)


def _exit_code(finished: Finished) -> int:
    run = finished.run
    sound = run.provenance != "mismatch" and run.lookahead.status != "suspect"
    return 0 if run.verdict == "traded" and sound else 1
