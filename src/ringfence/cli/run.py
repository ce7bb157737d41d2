"""`ringfence run`: one program behind the fence, its output here, its fate as the exit code."""

from __future__ import annotations

import os
import signal
import sys
from contextlib import nullcontext
from pathlib import Path
from typing import Annotated, Literal

import typer

from ringfence.base.errors import InputError
from ringfence.cli import options
from ringfence.cli.dispatch import UsageProblem
from ringfence.cli.exit_codes import exit_code
from ringfence.cli.groups import spread
from ringfence.cli.interrupt import cancelling
from ringfence.cli.request import read_files, read_inputs, read_program
from ringfence.cli.summary import outcome_json, show_result, summarise
from ringfence.cli.terminal import Screen, emit
from ringfence.sandbox import Sandbox, open_sandbox
from ringfence.sandbox.job import Device, Job, Mount
from ringfence.sandbox.outcome import Outcome

PASSES_ARGS = True

EPILOG = (
    "Exit code: the program's own when it exited; 124 timeout or CPU limit; 137 memory limit; 128+n signal n; "
    "130 cancelled; 122 output, 121 disk, 120 process limit; 125 our failure; 126 refused; "
    "64 to 68 and 78 a bad request; 2 a wrong command line."
)

_PROGRAM, _OUTPUT = "The program", "Output"

Words = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="FILE|- -- ARGS",
        help="The program, or - for standard input. What follows -- is its sys.argv, or with --exec the command.",
        show_default=False,
    ),
]
Code = Annotated[
    str | None, typer.Option("--code", "-c", metavar="CODE", help="Run this text.", rich_help_panel=_PROGRAM)
]
Exec = Annotated[
    bool, typer.Option("--exec", help="Run a command of the jail instead of Python text.", rich_help_panel=_PROGRAM)
]
Input = Annotated[
    list[str] | None,
    typer.Option(
        "--input", metavar="NAME=JSON|@file", help="A global variable of the program.", rich_help_panel=_PROGRAM
    ),
]
MountOption = Annotated[
    list[str] | None,
    typer.Option(
        "--mount",
        metavar="HOST:GUEST[:ro|:rw]",
        help="Show a file or directory in the jail, read-only unless :rw.",
        rich_help_panel=_PROGRAM,
    ),
]
File = Annotated[
    list[str] | None,
    typer.Option("--file", metavar="PATH", help="Copy into the working directory.", rich_help_panel=_PROGRAM),
]
Network = Annotated[
    Literal["none"], typer.Option("--network", help="No network: the only choice.", rich_help_panel=options.LIMITS)
]
DeviceOption = Annotated[Device, typer.Option("--device", help="The accelerator to ask for.")]
Artifacts = Annotated[
    Path | None,
    typer.Option(
        "--artifacts",
        metavar="DIR",
        help="Keep the files that the program leaves, in DIR/RUN_ID.",
        rich_help_panel=_OUTPUT,
    ),
]
AsJson = Annotated[
    bool,
    typer.Option(
        "--json", help="Print one Outcome as JSON, and nothing else, on standard output.", rich_help_panel=_OUTPUT
    ),
]
LiveOutput = Annotated[
    bool,
    typer.Option(
        "--stream",
        help="Show output as it comes, also off a terminal; with --json on standard error.",
        rich_help_panel=_OUTPUT,
    ),
]


def register(app: typer.Typer, name: str, line: str) -> None:
    app.command(name, help=line, epilog=EPILOG, no_args_is_help=False)(spread(run))


def run(
    *,
    ctx: typer.Context,
    words: Words = None,
    code: Code = None,
    exec_: Exec = False,
    input_: Input = None,
    mount: MountOption = None,
    file: File = None,
    bounds: options.Bounds,
    network: Network = "none",
    profile: options.ProfileOption = "quant",
    device: DeviceOption = "auto",
    backend: options.Backend = "native",
    runtime: options.Runtime = None,
    allow_weaker: options.AllowWeaker = False,
    seed: options.Seed = None,
    artifacts: Artifacts = None,
    as_json: AsJson = False,
    stream: LiveOutput = False,
) -> int:
    limits = bounds.limits()
    text, argv, name = _program(words or [], code, exec_, ctx.obj)
    job = Job(
        code=text,
        argv=argv,
        inputs=read_inputs(input_ or []),
        files=read_files(file or [], limits.disk_mb),
        mounts=[Mount.parse(word) for word in mount or []],
        limits=limits,
        network=network,
        device=device,
        seed=seed,
        name=name,
        artifacts_dir=_directory(artifacts),
    )
    with open_sandbox(options.sandbox_spec(backend, profile, allow_weaker, runtime)) as sandbox:
        return _run(sandbox, job, as_json=as_json, live=stream or (sys.stdout.isatty() and not as_json))


def _program(
    words: list[str], code: str | None, is_command: bool, after: tuple[str, ...] | None
) -> tuple[str | None, tuple[str, ...], str]:
    """Text (None for a command), argv and name of what to run, from exactly one of FILE, -c and --exec."""
    if len(words) > 1:
        raise UsageProblem(f"{words[1]!r} is one word too many: put the program's own arguments after --")
    if bool(words) + (code is not None) + is_command != 1:
        raise UsageProblem("give one of FILE, - (standard input), -c CODE and --exec -- COMMAND")
    if is_command:
        if not after:
            raise UsageProblem("--exec needs a command after --, such as: ringfence run --exec -- ls -l")
        return None, after, "script.py"
    text, name = (code, "script.py") if code is not None else read_program(words[0])
    return text, after or (), name


def _directory(path: Path | None) -> Path | None:
    if path is not None and os.path.exists(path) and not os.path.isdir(path):
        raise InputError(f"--artifacts {str(path)!r} is not a directory: name one, or a place to make it")
    return path


def _run(sandbox: Sandbox, job: Job, *, as_json: bool, live: bool) -> int:
    with cancelling() as interruption:
        # With --json standard output is for the Outcome alone, so live output of both kinds goes to the other.
        screen = Screen(on_broken=interruption.cancel.set, stdout=sys.stderr if as_json else None)
        with nullcontext() if as_json else screen.progress(job.limits.wall_seconds):
            outcome = sandbox.run(job, on_output=screen.guest if live else None, cancel=interruption.cancel)
        if as_json:
            screen.end()
            emit(sys.stdout, outcome_json(outcome) + "\n")
        else:
            _show(screen, outcome, shown=live)
        if screen.broken:
            raise BrokenPipeError
        if outcome.status == "cancelled" and interruption.signal == signal.SIGTERM:
            return 128 + signal.SIGTERM
        return exit_code(outcome)


def _show(screen: Screen, outcome: Outcome, *, shown: bool) -> None:
    if not shown:
        screen.guest("stdout", outcome.stdout.encode("utf-8", "backslashreplace"))
        screen.guest("stderr", outcome.stderr.encode("utf-8", "backslashreplace"))
    screen.end()
    if screen.broken:
        return
    # Off a terminal, standard output is what the program printed; its result, only if it printed nothing.
    if outcome.result is not None and (sys.stdout.isatty() or not outcome.stdout):
        show_result(outcome.result)
    summarise(outcome)
