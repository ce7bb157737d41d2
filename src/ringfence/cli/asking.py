"""What `simulate`, `indicator` and `chat` share: where prices come from, what to keep, and how an answer is shown."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from ringfence.base.errors import InputError, SettingsError
from ringfence.cli import options
from ringfence.cli.interrupt import cancelling
from ringfence.cli.terminal import Screen, clean, emit, say
from ringfence.cli.trading import OUTPUT, Prices, open_cache

if TYPE_CHECKING:
    from ringfence.base.config import Settings
    from ringfence.sandbox.job import Limits
    from ringfence.sandbox.outcome import Artifact, Outcome
    from ringfence.verbs.simulate import DataRequest, Desk, Finding

SIMULATION = "Simulation"
_PNG = b"\x89PNG\r\n\x1a\n"

Artifacts = Annotated[
    Path | None,
    typer.Option(
        "--artifacts", metavar="DIR", help="Keep the files that were made, in DIR/RUN_ID.", rich_help_panel=OUTPUT
    ),
]
Plot = Annotated[
    Path | None, typer.Option("--plot", metavar="FILE", help="Write the picture, PNG.", rich_help_panel=OUTPUT)
]
Code = Annotated[bool, typer.Option("--code", help="Show the program that was run, too.", rich_help_panel=OUTPUT)]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON, and nothing else.", rich_help_panel=OUTPUT)]
Confidence = Annotated[
    float, typer.Option("--confidence", metavar="F", help="Of the interval.", rich_help_panel=SIMULATION)
]
Method = Annotated[
    Literal["gbm", "bootstrap"],
    typer.Option("--method", help="Normal returns, or blocks of the past.", rich_help_panel=SIMULATION),
]
Block = Annotated[
    int | None,
    typer.Option(
        "--block", metavar="N", help="Bars that a bootstrap draws in a row. (default the cube root)",
        rich_help_panel=SIMULATION,
    ),
]  # fmt: skip
Ruin = Annotated[
    float, typer.Option("--ruin", metavar="F", help="The loss that counts as ruin.", rich_help_panel=SIMULATION)
]
Paths = Annotated[int, typer.Option("--paths", metavar="N", help="Futures to draw.", rich_help_panel=SIMULATION)]
Seed = Annotated[int, typer.Option("--seed", metavar="N", help="Seed of the dice.", rich_help_panel=SIMULATION)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """How the answer is to be come by and shown."""

    seed: Seed = 0
    backend: options.Backend = "native"
    allow_weaker: options.AllowWeaker = False
    artifacts: Artifacts = None
    plot: Plot = None
    code: Code = False
    as_json: AsJson = False


def data_request(prices: Prices) -> DataRequest | None:
    from ringfence.verbs.simulate import DataRequest

    if not prices.data:
        return None
    return DataRequest(
        specs=tuple(prices.data), symbols=prices.names, start=prices.start, end=prices.end, timeframe=prices.timeframe,
        repair=prices.repair,
    )  # fmt: skip


def needed(prices: Prices) -> DataRequest:
    request = data_request(prices)
    if request is None:
        raise InputError("no data was named: give for example --data sample:GOOG")
    return request


@contextmanager
def open_desk(wish: Wish, *, settings: Settings, screen: Screen | None = None) -> Iterator[Desk]:
    """A desk on a sandbox of its own. With a `screen`, what the program prints is shown as it comes."""
    import time

    from ringfence.sandbox import open_sandbox
    from ringfence.verbs.simulate import Desk

    check_plot(wish.plot)
    with (
        cancelling() as interruption,
        open_sandbox(options.sandbox_spec(wish.backend, "quant", wish.allow_weaker)) as sandbox,
    ):
        yield Desk(
            sandbox=sandbox,
            cache=open_cache(settings),
            now_ns=time.time_ns(),
            environ=os.environ,
            artifacts_dir=wish.artifacts,
            plot=wish.plot is not None or wish.artifacts is not None,
            seed=wish.seed,
            on_output=None if screen is None else screen.guest,
            cancel=interruption.cancel,
        )


def answer(wish: Wish, ask: Callable[[Desk, Settings], Finding]) -> int:
    """Ask one question at a desk of its own, show what was found, and return the exit code."""
    from ringfence.base.config import Settings
    from ringfence.sandbox.job import PRESETS

    check_seed(wish.seed)
    settings = Settings.from_env(os.environ)
    screen = Screen(stdout=sys.stderr)
    waiting = nullcontext() if wish.as_json else screen.progress(PRESETS["chat"].wall_seconds)
    with open_desk(wish, settings=settings) as desk, waiting:
        found = ask(desk, settings)
    if wish.plot is not None:
        save_plot(found.outcome, wish.plot)
    tell_files(found.outcome, wish)
    if wish.as_json:
        emit(sys.stdout, json.dumps(found.to_json(), allow_nan=False) + "\n")
    else:
        if wish.code:
            show_code(found.code, found.outcome.limits)
        emit(sys.stdout, _safe(found.text) + "\n")
    return exit_of(found.status == "ok", found.outcome)


def exit_of(answered: bool, outcome: Outcome | None) -> int:
    from ringfence.cli.exit_codes import exit_code

    if answered:
        return 0
    return (exit_code(outcome) or 1) if outcome is not None else 1


def show_code(code: str, limits: Limits) -> None:
    from ringfence.verbs.simulate.words import limits_line

    emit(sys.stdout, f"{_safe(code.rstrip())}\n\nLimits: {limits_line(limits)}.\n\n")


def check_seed(seed: int) -> None:
    if not 0 <= seed < 1 << 64:
        raise SettingsError(f"--seed {seed} is out of range: give a whole number from 0 to 2**64 - 1")


def check_plot(plot: Path | None) -> None:
    """Before the work, and not after it."""
    if plot is not None and (os.path.isdir(plot) or not os.path.isdir(plot.parent)):
        raise InputError(f"--plot {str(plot)!r} cannot be written: name a file in a directory that exists")


def save_plot(outcome: Outcome, plot: Path) -> None:
    named = (_bytes(artifact) for artifact in outcome.artifacts if artifact.mime == "image/png")
    picture = next((data for data in named if data.startswith(_PNG)), None)  # a name ends as its program likes
    if picture is None:
        say("there is no picture of this: --plot was left out")
        return
    try:
        plot.write_bytes(picture)
    except OSError as e:
        raise InputError(f"--plot {str(plot)!r} cannot be written: {e.strerror}; choose another place") from e


def tell_files(outcome: Outcome, wish: Wish) -> None:
    """Where the files are that were made; those that nobody asked to keep are gone with the sandbox."""
    from ringfence.cli.summary import refused

    for line in refused(outcome):
        say(line)
    if wish.as_json:
        return
    for artifact in outcome.artifacts:
        if artifact.path is not None:
            say(f"artifact {artifact.name}: {artifact.path}")
    lost = [a.name for a in outcome.artifacts if a.path is None and not (wish.plot and a.mime == "image/png")]
    if lost:
        say(f"made and not kept: {', '.join(lost)}; --artifacts DIR keeps files")


def _bytes(artifact: Artifact) -> bytes:
    return artifact.data if artifact.data is not None else Path(artifact.path or "").read_bytes()


def _safe(text: str) -> str:
    return clean(text) if sys.stdout.isatty() else text
