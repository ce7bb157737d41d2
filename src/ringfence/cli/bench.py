"""`ringfence bench`: measurements, each against what it is meant to beat, on this machine."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Annotated

import typer

from ringfence.base.errors import SettingsError
from ringfence.cli.options import AsJson
from ringfence.cli.terminal import clean_line, emit

if TYPE_CHECKING:
    from ringfence.verbs.bench import BenchReport

_SANDBOX_HELP = "Latency and throughput of the sandbox, against `docker run` and plain python."
_ROUNDS = 20

Rounds = Annotated[int, typer.Option("--rounds", metavar="N", help="How often each thing is measured.")]
Quick = Annotated[bool, typer.Option("--quick", help="Two short rounds: a first look, not a claim.")]


def register(app: typer.Typer, name: str, line: str) -> None:
    group = typer.Typer()
    group.callback()(_group)  # with it `sandbox` stays a word to type although it is the only one
    group.command("sandbox", help=_SANDBOX_HELP)(sandbox)
    app.add_typer(group, name=name, help=line)


def _group() -> None:
    pass


def sandbox(rounds: Rounds = _ROUNDS, quick: Quick = False, as_json: AsJson = False) -> int:
    from ringfence.verbs.bench import bench_sandbox

    if not 1 <= rounds <= 100_000:
        raise SettingsError(f"--rounds {rounds} is out of range: give a number from 1 to 100000")
    report = bench_sandbox(rounds=rounds, quick=quick, on_progress=_progress)
    if as_json:
        emit(sys.stdout, json.dumps(report.to_json(), allow_nan=False) + "\n")
    else:
        _show(report)
    return 0


def _progress(step: str) -> None:
    if sys.stderr.isatty():
        emit(sys.stderr, f"{clean_line(step)}\n")


def _show(report: BenchReport) -> None:
    from ringfence.cli.console import print_table

    print_table(("what", "median", "p99", "note"), report.rows())
