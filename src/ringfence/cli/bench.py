"""`ringfence bench`: measurements, each against what it is meant to beat, on this machine."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from ringfence.base.errors import SettingsError
from ringfence.cli.options import AsJson
from ringfence.cli.terminal import clean_line, emit

if TYPE_CHECKING:
    from ringfence.verbs.bench import BenchReport
    from ringfence.verbs.bench.backtest import BacktestBench

_SANDBOX_HELP = "Latency and throughput of the sandbox, against `docker run` and plain python."
_BACKTEST_HELP = "CPU time of backtests, against backtesting.py, nautilus_trader and vectorbt on the same bars."
_ROUNDS, _BACKTEST_ROUNDS = 20, 5
_PEERS = ".cache/bench-peers/*/bin/python"  # where scripts/bench-peers puts them

Rounds = Annotated[int, typer.Option("--rounds", metavar="N", help="How often each thing is measured.")]
BackendOption = Annotated[Literal["native", "docker"], typer.Option("--backend", help="Which fence to measure.")]
Quick = Annotated[bool, typer.Option("--quick", help="Two short rounds: a first look, not a claim.")]
Peers = Annotated[
    list[Path] | None,
    typer.Option(
        "--peers",
        metavar="PYTHON",
        help="An interpreter that has nautilus_trader or vectorbt. (default those of scripts/bench-peers)",
    ),
]
OneRound = Annotated[bool, typer.Option("--quick", help="One round of few bars: a first look, not a claim.")]


def register(app: typer.Typer, name: str, line: str) -> None:
    group = typer.Typer()
    group.command("sandbox", help=_SANDBOX_HELP)(sandbox)
    group.command("backtest", help=_BACKTEST_HELP)(backtest)
    app.add_typer(group, name=name, help=line)


def sandbox(
    rounds: Rounds = _ROUNDS, backend: BackendOption = "native", quick: Quick = False, as_json: AsJson = False
) -> int:
    _check_rounds(rounds)
    if backend == "docker":
        from ringfence.verbs.bench.containers import bench_containers

        report = bench_containers(rounds=rounds, quick=quick, on_progress=_progress)
    else:
        from ringfence.verbs.bench import bench_sandbox

        report = bench_sandbox(rounds=rounds, quick=quick, on_progress=_progress)
    _show(report, ("what", "median", "p99", "note"), as_json)
    return 0


def backtest(
    rounds: Rounds = _BACKTEST_ROUNDS, peers: Peers = None, quick: OneRound = False, as_json: AsJson = False
) -> int:
    from ringfence.verbs.bench.backtest import bench_backtest

    _check_rounds(rounds)
    for python in peers or ():
        if not os.access(python, os.X_OK) or python.is_dir():
            raise SettingsError(
                f"--peers {clean_line(str(python))} is no interpreter: make some with scripts/bench-peers"
            )
    found = peers or sorted(Path().glob(_PEERS))
    report = bench_backtest(
        rounds=rounds, quick=quick, peers=[Path(os.path.abspath(python)) for python in found], on_progress=_progress
    )
    _show(report, ("what", "least", "median", "note"), as_json)
    return 0


def _check_rounds(rounds: int) -> None:
    if not 1 <= rounds <= 100_000:
        raise SettingsError(f"--rounds {rounds} is out of range: give a number from 1 to 100000")


def _progress(step: str) -> None:
    if sys.stderr.isatty():
        emit(sys.stderr, f"{clean_line(step)}\n")


def _show(report: BenchReport | BacktestBench, headings: Sequence[str], as_json: bool) -> None:
    if as_json:
        emit(sys.stdout, json.dumps(report.to_json(), allow_nan=False) + "\n")
        return
    from ringfence.cli.console import print_table

    print_table(headings, report.rows())
