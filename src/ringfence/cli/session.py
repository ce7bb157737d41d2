"""`ringfence session`: cells that share variables, typed at a prompt or piped in between `# %%` lines."""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import nullcontext
from typing import Annotated

import typer

from ringfence.cli import options
from ringfence.cli.cells import piped_cells, typed_cells
from ringfence.cli.exit_codes import exit_code
from ringfence.cli.groups import spread
from ringfence.cli.interrupt import cancelling
from ringfence.cli.summary import outcome_json, remark, show_result
from ringfence.cli.terminal import Screen, emit, say
from ringfence.sandbox import Session, open_session
from ringfence.sandbox.job import Limits
from ringfence.sandbox.outcome import Outcome
from ringfence.sandbox.source import decode_source

EPILOG = (
    "On a terminal a cell is a statement, or a block that a blank line ends; :help lists the rest. "
    "Off a terminal cells come on standard input, separated by lines that start with `# %%`, and each runs as soon as "
    "it is complete. Exit code: that of the last cell that failed, as for `ringfence run`, else 0."
)

Idle = Annotated[float, typer.Option("--idle", metavar="S", help="End the session after so long without a cell.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print one Outcome as JSON per cell and line, and nothing else.")]


def register(app: typer.Typer, name: str, line: str) -> None:
    app.command(name, help=line, epilog=EPILOG)(spread(session))


def session(
    *,
    bounds: options.Bounds,
    idle: Idle = 1800,
    profile: options.ProfileOption = "quant",
    backend: options.Backend = "native",
    runtime: options.Runtime = None,
    allow_weaker: options.AllowWeaker = False,
    seed: options.Seed = None,
    as_json: AsJson = False,
) -> int:
    limits = bounds.limits()
    spec = options.sandbox_spec(backend, profile, allow_weaker, runtime)

    def fresh() -> Session:
        return open_session(spec, limits=limits, idle_seconds=idle, seed=seed)

    if sys.stdin.isatty() and not as_json:
        return _Prompt(fresh, limits).run()
    with fresh() as opened:
        return _pipe(opened, limits, as_json)


def _pipe(opened: Session, limits: Limits, as_json: bool) -> int:
    code = 0
    for number, raw in enumerate(piped_cells(sys.stdin.buffer), start=1):
        if not opened.alive:
            say(f"the session ended, so cell {number} and what follows it were not run: start a new session for them")
            return code or 1
        outcome = _run_cell(opened, decode_source(raw), limits, as_json)
        code = exit_code(outcome) or code
        if outcome.status == "cancelled":
            break
    return code


class _Prompt:
    """The interactive loop. A session that ended is replaced by a fresh one at the next cell."""

    def __init__(self, fresh: Callable[[], Session], limits: Limits) -> None:
        self._fresh, self._limits = fresh, limits
        self._session = fresh()

    def run(self) -> int:
        try:
            for cell in typed_cells():
                if cell == ":reset":
                    self._reopen("a fresh session: all variables are gone")
                elif self._ended(cell):
                    break
        finally:
            self._session.close()
        return 0

    def _ended(self, cell: str) -> bool:
        if not self._session.alive:
            self._reopen("the session had ended; this is a fresh one and all variables are gone")
        outcome = _run_cell(self._session, cell, self._limits, as_json=False)
        if self._session.alive:
            return False
        if outcome.status != "exit":
            say("the session ended with that cell: the next one starts a fresh session")
        return outcome.status == "exit"

    def _reopen(self, notice: str) -> None:
        self._session.close()
        self._session = self._fresh()
        say(notice)


def _run_cell(opened: Session, code: str, limits: Limits, as_json: bool) -> Outcome:
    with cancelling() as interruption:
        screen = Screen(on_broken=interruption.cancel.set)
        with nullcontext() if as_json else screen.progress(limits.wall_seconds):
            outcome = opened.run(code, on_output=None if as_json else screen.guest, cancel=interruption.cancel)
        screen.end()
    if screen.broken:
        raise BrokenPipeError
    if as_json:
        emit(sys.stdout, outcome_json(outcome) + "\n")
        return outcome
    if outcome.result is not None:
        show_result(outcome.result)
    remark(outcome)
    return outcome
