"""`ringfence runs`: what has been run."""

from __future__ import annotations

import json
import os
import sys
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from ringfence.base.errors import InputError, SettingsError
from ringfence.cli.dispatch import UsageProblem
from ringfence.cli.options import AsJson
from ringfence.cli.terminal import emit, say

if TYPE_CHECKING:
    from ringfence.store import RunFilter
    from ringfence.verbs.runs import Listing

Sort = Literal[
    "created_at",
    "strategy_name",
    "total_return",
    "sharpe_ratio",
    "max_drawdown",
    "win_rate",
    "num_trades",
    "execution_time",
]
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_RISING = ("strategy_name", "execution_time")  # everything else is listed from the latest or the best down

Strategy = Annotated[str | None, typer.Option("--strategy", metavar="NAME", help="Only runs of this strategy.")]
Verdict = Annotated[str | None, typer.Option("--verdict", metavar="WORD", help="Only these, such as traded.")]
Symbol = Annotated[str | None, typer.Option("--symbol", metavar="NAME", help="Only runs on this instrument.")]
Since = Annotated[str | None, typer.Option("--since", metavar="DATE", help="Only runs first made since then (UTC).")]
Limit = Annotated[int, typer.Option("--limit", metavar="N", help="At most so many.")]
SortBy = Annotated[Sort, typer.Option("--sort", help="What to order by: the latest, best or fastest first.")]
RunId = Annotated[str, typer.Argument(metavar="RUN_ID", help="A run's id, or enough of its beginning.")]
Out = Annotated[Path | None, typer.Option("--out", metavar="FILE", help="Write here, not to standard output.")]
Form = Annotated[
    Literal["json-lines", "csv", "parquet"],
    typer.Option("--format", help="json-lines has all of each run; csv and parquet have one flat row each."),
]


def register(app: typer.Typer, name: str, line: str) -> None:
    group = typer.Typer(no_args_is_help=True)
    group.command("list", help="List runs, the newest first.")(list_)
    group.command("show", help="Show one run: its metrics, its warnings, its first trades.")(show)
    group.command("compare", help="Show two runs side by side, and what differs between them.")(compare)
    group.command("export", help="Write runs for other programs.")(export)
    app.add_typer(group, name=name, help=line)


def list_(
    strategy: Strategy = None,
    verdict: Verdict = None,
    symbol: Symbol = None,
    since: Since = None,
    limit: Limit = 50,
    sort: SortBy = "created_at",
    as_json: AsJson = False,
) -> int:
    from ringfence.verbs.runs import list_runs

    if limit < 1:
        raise SettingsError(f"--limit {limit} is out of range: give 1 or more")
    found = _filter(strategy, verdict, symbol, since)
    wanted = replace(found, order_by=sort, descending=sort not in _RISING, limit=limit)
    listing = list_runs(_database(), wanted)
    if as_json:
        emit(sys.stdout, json.dumps(listing.to_json(), allow_nan=False) + "\n")
        return 0
    if listing.runs:
        from ringfence.cli.runs_view import show_listing

        show_listing(listing.runs)
    _remark(listing)
    return 0


def show(run_id: RunId, as_json: AsJson = False) -> int:
    from ringfence.verbs.runs import get_run

    run = get_run(_database(), run_id)
    if as_json:
        emit(sys.stdout, run.text + "\n")
    else:
        from ringfence.cli.runs_view import show_run

        show_run(run)
    return 0


def compare(
    first: Annotated[str, typer.Argument(metavar="A", help="A run's id, or enough of its beginning.")],
    second: Annotated[str, typer.Argument(metavar="B", help="Another's.")],
    as_json: AsJson = False,
) -> int:
    from ringfence.verbs.runs import compare_runs

    comparison = compare_runs(_database(), first, second)
    if as_json:
        emit(sys.stdout, json.dumps(comparison.to_json(), allow_nan=False) + "\n")
    else:
        from ringfence.cli.runs_view import show_comparison

        show_comparison(comparison)
    return 0


def export(
    out: Out = None,
    form: Form = "json-lines",
    strategy: Strategy = None,
    verdict: Verdict = None,
    symbol: Symbol = None,
    since: Since = None,
) -> int:
    from ringfence.verbs.export import export_runs
    from ringfence.verbs.runs import NO_RUNS

    wanted = replace(_filter(strategy, verdict, symbol, since), descending=False)  # as they were made
    if out is None:
        if form == "parquet":
            raise UsageProblem("parquet is not for reading on a terminal: name a file with --out")
        count = export_runs(_database(), wanted, form=form, out=sys.stdout.buffer)
        sys.stdout.buffer.flush()
    else:
        part = out.with_name(f".{out.name}.{os.getpid()}.part")
        try:
            with open(part, "wb") as file:
                count = export_runs(_database(), wanted, form=form, out=file)
            os.replace(part, out)  # whoever reads it has all of it or the one before
        except OSError as e:
            raise InputError(f"{str(out)!r} cannot be written ({e.strerror}): name another file") from e
        finally:
            with suppress(OSError):  # nothing was made
                os.unlink(part)
    if count == 0:
        say("no run was exported: none matches" if any((strategy, verdict, symbol, since)) else NO_RUNS)
    elif out is not None:
        say(f"{count} {'run' if count == 1 else 'runs'} exported to {out}")
    return 0


def _database() -> str:
    from ringfence.base.config import Settings

    return Settings.from_env(os.environ).database_url(os.environ)


def _filter(strategy: str | None, verdict: str | None, symbol: str | None, since: str | None) -> RunFilter:
    from ringfence.store import RunFilter
    from ringfence.trade.times import parse_moment

    return RunFilter(
        strategy=strategy,
        verdict=verdict,
        symbol=symbol,
        since=None if since is None else _EPOCH + timedelta(microseconds=parse_moment(since) // 1000),
    )


def _remark(listing: Listing) -> None:
    from ringfence.verbs.runs import NO_RUNS

    if not listing.stored:
        say(NO_RUNS)
    elif not listing.matching:
        say(f"none of {listing.stored} runs matches: leave out an option")
    elif len(listing.runs) < listing.matching:
        say(f"{len(listing.runs)} of {listing.matching} runs are shown: --limit shows more")
