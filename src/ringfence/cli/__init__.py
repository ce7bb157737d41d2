"""The command line: parse, call, render.

`ringfence --help` and `--version` are answered from the table below, without typer, rich or even
`typing`: each of those costs more than starting the interpreter. A command's module is imported when
that command is called, and hands itself over through its `register(app, name, help)`.
"""

from __future__ import annotations

import sys

# Spelled out because importing it from `typing` would double the time that --help takes.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    import typer

ABOUT = "Run AI-written trading code behind a fence, fast, and tell the truth about what it did."

# name, module, one line of help: the one place where a command is listed.
COMMANDS: tuple[tuple[str, str, str], ...] = (
    ("run", "ringfence.cli.run", "Run a Python program, or a command, behind the fence."),
    ("session", "ringfence.cli.session", "Run cells that share variables: typed at a prompt, or piped in."),
    ("backtest", "ringfence.cli.backtest", "Run a strategy against history, check it, and store the result."),
    ("batch", "ringfence.cli.batch", "Backtest many strategies: a verdict for every file, resumable."),
    ("research", "ringfence.cli.research", "Turn an idea in words into a strategy that ran, or many ideas into many."),
    ("check", "ringfence.cli.check", "Say what is wrong or doubtful in a strategy, without running it."),
    ("chat", "ringfence.cli.chat", "Ask for modelling in words: simulations, options, indicators, sizes."),
    ("indicator", "ringfence.cli.indicator", "Compute an indicator on some prices, behind the fence."),
    ("report", "ringfence.cli.report", "Write a stored run as one HTML page, or as a picture."),
    ("doctor", "ringfence.cli.doctor", "Say what this machine can enforce, what is missing and how to fix it."),
    ("mcp", "ringfence.cli.mcp", "Offer the fence to chat clients and coding agents as tools (MCP)."),
    ("data", "ringfence.cli.data", "Fetch prices, list those that are kept, and show what they are."),
    ("simulate", "ringfence.cli.simulate", "Draw futures of a price, a portfolio or a strategy; price options."),
    ("runs", "ringfence.cli.runs", "List, show, compare and export what has been run."),
    ("image", "ringfence.cli.image", "Build the image that the Docker backend runs programs in."),
    ("bench", "ringfence.cli.bench", "Measure the fence and the engine on this machine."),
)

# The options of `ringfence` itself, with their help.
OPTIONS: tuple[tuple[str, str], ...] = (
    ("--version", "Print the version and exit."),
    ("-h, --help", "Print this help and exit."),
)

OUR_FAILURE = 125
INTERRUPTED = 130
READER_GONE = 141  # 128 + SIGPIPE, what the shell reports for a program whose reader went away


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code; nothing is raised but a second Ctrl-C."""
    words = list(sys.argv[1:] if argv is None else argv)
    if words in (["--help"], ["-h"]):
        print(help_text())
        return 0
    if words == ["--version"]:
        print(version_text())
        return 0
    if not words:
        print(help_text(), file=sys.stderr)
        return 2
    try:
        from ringfence.cli.dispatch import dispatch
    except KeyboardInterrupt:  # imports take a moment, and nobody is told where in them
        return INTERRUPTED
    return dispatch(words)


def build_app() -> typer.Typer:
    """The whole command line as one typer application, every command imported."""
    from ringfence.cli.dispatch import make_app

    return make_app(COMMANDS)


def help_text() -> str:
    width = max(len(name) for name, *_ in (*COMMANDS, *OPTIONS)) + 2
    options = "\n".join(f"  {name:<{width}}{line}" for name, line in OPTIONS)
    commands = "\n".join(f"  {name:<{width}}{line}" for name, _, line in COMMANDS)
    return (
        f"Usage: ringfence [OPTIONS] COMMAND [ARGS]...\n\n{ABOUT}\n\n"
        f"Options:\n{options}\n\nCommands:\n{commands}\n\n"
        "`ringfence COMMAND --help` explains a command."
    )


def version_text() -> str:
    from ringfence import __version__

    return f"ringfence {__version__}"
