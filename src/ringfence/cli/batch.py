"""`ringfence batch`: a verdict for every file, as lines of JSON or as a bar that ends in a table."""

from __future__ import annotations

import json
import os
import signal
import sys
import time
import traceback
from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING, Annotated

import typer

from ringfence.base.errors import RingfenceError, SettingsError
from ringfence.cli import INTERRUPTED, OUR_FAILURE, options, trading
from ringfence.cli.groups import spread
from ringfence.cli.interrupt import Interruption, cancelling
from ringfence.cli.terminal import emit, say

if TYPE_CHECKING:
    from ringfence.base.config import Settings
    from ringfence.verbs.batch import Conditions, Tally, Work

EPILOG = (
    "Exit code: 0 every file has its verdict, whatever it is; 1 there was no file; 64 to 78 a bad request; "
    "125 our failure on at least one file; 130 interrupted: go on with --resume."
)

_MOST_JOBS = 512
_OUTPUT = "Output"

Words = Annotated[
    list[str],
    typer.Argument(
        metavar="DIR|FILE...",
        help="Strategies; a directory is searched for *.py, *.md and *.txt.",
        show_default=False,
    ),
]
Jobs = Annotated[
    int | None, typer.Option("--jobs", "-j", metavar="N", help="Files at the same time. (default: one per core)")
]
Resume = Annotated[
    bool, typer.Option("--resume", help="Go on with the last batch of the same kind: what is done is not run again.")
]
JsonLines = Annotated[
    bool,
    typer.Option(
        "--json-lines",
        help="Print a line of JSON for each file as it is finished, and nothing else.",
        rich_help_panel=_OUTPUT,
    ),
]


def register(app: typer.Typer, name: str, line: str) -> None:
    app.command(name, help=line, epilog=EPILOG)(spread(batch))


def batch(
    *,
    words: Words,
    prices: trading.Prices,
    mount: trading.MountOption = None,
    account: trading.Account,
    lookahead: trading.LookaheadOption = True,
    heal: trading.Heal = True,
    seed: trading.Seed = 0,
    timeout: trading.Timeout = 60.0,
    memory: trading.Memory = "1g",
    jobs: Jobs = None,
    resume: Resume = False,
    backend: options.Backend = "native",
    allow_weaker: options.AllowWeaker = False,
    json_lines: JsonLines = False,
) -> int:
    from ringfence.base.config import Settings
    from ringfence.sandbox.job import Mount
    from ringfence.verbs.batch import Conditions

    total = _count_files(words)
    if not total:
        say(f"there is no strategy in {', '.join(words[:3])}: give files, or a directory with *.py, *.md or *.txt")
        return 1
    rules = account.rules()
    settings = Settings.from_env(os.environ)
    bars, bars_file = trading.load(trading.open_cache(settings), prices)
    conditions = Conditions(
        bars=bars,
        bars_file=bars_file,
        rules=rules,
        seed=seed,
        limits=trading.make_limits(timeout, memory),
        mounts=tuple(Mount.parse(word) for word in mount or []),
        lookahead=lookahead,
        heal=heal,
        secret=trading.read_secret(settings),
    )
    jobs = _count_jobs(jobs)
    spec = _sandbox(backend, conditions, jobs, allow_weaker)
    with cancelling() as interruption, _open_work(conditions, spec, settings, words, resume, interruption) as work:
        return _run(words, total, work, jobs, json_lines, interruption)


def _count_files(words: list[str]) -> int:
    """How many there are; 0 where none exists, although each word that names none would have its line."""
    from ringfence.verbs.batch import find_files

    total, exists = 0, False
    for path in find_files(words):
        total += 1
        exists = exists or os.path.lexists(path)
    return total if exists else 0


def _count_jobs(jobs: int | None) -> int:
    if jobs is None:
        return len(os.sched_getaffinity(0))
    if not 1 <= jobs <= _MOST_JOBS:
        raise SettingsError(f"--jobs {jobs} is out of range: give a number from 1 to {_MOST_JOBS}")
    return jobs


def _sandbox(backend: str, conditions: Conditions, jobs: int, allow_weaker: bool) -> str:
    """What to open: one zygote for all. A child with mounts cannot be parked, because each shape is its own."""
    if ":" in backend or backend not in ("native", "docker"):
        return options.sandbox_spec(backend, "quant", allow_weaker)
    parked = 0 if conditions.mounts or conditions.bars_file else jobs
    return f"{backend}:profile=quant,park={parked}{',allow_weaker=yes' if allow_weaker else ''}"


@contextmanager
def _open_work(
    conditions: Conditions, spec: str, settings: Settings, words: list[str], resume: bool, interruption: Interruption
) -> Iterator[Work]:
    from datetime import UTC, datetime

    from ringfence import __version__
    from ringfence.sandbox import open_sandbox
    from ringfence.store import open_store
    from ringfence.verbs.batch import Work, places

    # How many children are parked changes no result, so a batch may be resumed with another number of jobs.
    asked = conditions.spec(places=places(words), sandbox=_without_park(spec), version=__version__)
    with open_store(settings.database_url(os.environ)) as store:
        begun = store.begin_batch(asked, resume=resume, now=datetime.now(UTC))
        if resume and not begun.resumed:
            say("no batch with these files and options has been begun: this is a new one")
        done = store.done_files(begun) if begun.resumed else {}
        with open_sandbox(spec) as sandbox:
            yield Work(
                conditions=conditions,
                sandbox=sandbox,
                store=store,
                batch=begun,
                done=done,
                cancel=interruption.cancel,
                now=lambda: datetime.now(UTC),
            )


def _without_park(spec: str) -> str:
    name, _, rest = spec.partition(":")
    return f"{name}:{','.join(part for part in rest.split(',') if not part.startswith('park='))}"


def _run(words: list[str], total: int, work: Work, jobs: int, json_lines: bool, interruption: Interruption) -> int:
    from ringfence.cli.batch_view import show_summary, summary_line, watching
    from ringfence.verbs.batch import Tally, find_files, run_batch

    tally, started = Tally(), time.monotonic()
    results = run_batch(find_files(words), work, jobs=jobs, on_fault=_complain)
    # Closed here whatever happens, so that no thread uses the sandbox or the store when they are closed.
    with watching(tally, total, lines_on_stdout=json_lines) as seen, closing(results):
        for result in results:
            tally.add(result)
            if json_lines:
                emit(sys.stdout, json.dumps(result.to_json(), allow_nan=False) + "\n")
            seen(result)
    seconds = time.monotonic() - started
    if json_lines:
        say(summary_line(tally, seconds))
    else:
        show_summary(tally, seconds)
    return _exit_code(tally, total, interruption)


def _complain(file: str, error: BaseException) -> None:
    """Say that we failed. An error that is not in our tree is a bug, and its traceback is what can be reported."""
    if not isinstance(error, RingfenceError):
        emit(sys.stderr, "".join(traceback.format_exception(error)))
    say(f"{file}: our own failure, the strategy is not judged: {error}")


def _exit_code(tally: Tally, total: int, interruption: Interruption) -> int:
    if interruption.signal is not None and tally.files < total:
        say(f"stopped with {tally.files:,} of {total:,} files done: the same command with --resume does the others")
        return INTERRUPTED if interruption.signal == signal.SIGINT else 128 + interruption.signal
    if tally.our_failures:
        count = f"{tally.our_failures:,} file{'' if tally.our_failures == 1 else 's'}"
        say(f"ringfence itself failed on {count}: look above for why; --resume runs them again")
        return OUR_FAILURE
    return 0
