"""Hand the words of the command line to typer, and turn whatever comes back into an exit code.

Every error of ours is one sentence on standard error. Nothing here knows a command: they come from
the table in `ringfence.cli`.
"""

from __future__ import annotations

import errno
import os
import sys
import traceback
from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from importlib import import_module
from typing import TYPE_CHECKING, Annotated

import typer
from typer.core import TyperCommand, TyperGroup

from ringfence.base.errors import RingfenceError
from ringfence.cli import ABOUT, COMMANDS, INTERRUPTED, OPTIONS, OUR_FAILURE, READER_GONE, version_text
from ringfence.cli.terminal import say

if TYPE_CHECKING:
    from typer._click.core import Context, Parameter

CONTEXT = {"help_option_names": ["-h", "--help"]}


def _flags_without_a_type(params: list[Parameter]) -> list[Parameter]:
    """A flag takes no value, so its help names none."""
    for param in params:
        if getattr(param, "is_flag", False):
            param.metavar = ""
    return params


class _Command(TyperCommand):
    def get_params(self, ctx: Context) -> list[Parameter]:
        return _flags_without_a_type(super().get_params(ctx))


class _Group(TyperGroup):
    def get_params(self, ctx: Context) -> list[Parameter]:
        return _flags_without_a_type(super().get_params(ctx))


class UsageProblem(typer.TyperException):
    """The command line itself is wrong."""

    exit_code = 2


def make_app(commands: Iterable[tuple[str, str, str]]) -> typer.Typer:
    app = typer.Typer(
        name="ringfence",
        help=ABOUT,
        add_completion=False,
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        context_settings=CONTEXT,
    )
    app.callback()(_top)
    for name, module, line in commands:
        import_module(module).register(app, name, line)
    _dress(app)
    return app


def _dress(app: typer.Typer) -> None:
    app.info.cls = _Group
    for command in app.registered_commands:
        command.cls = _Command
    for group in app.registered_groups:
        group.cls = _Group
        if group.typer_instance is not None:
            _dress(group.typer_instance)


def _print_version(wanted: bool) -> None:
    if wanted:
        print(version_text())
        raise typer.Exit


def _top(
    version: Annotated[
        bool, typer.Option("--version", help=dict(OPTIONS)["--version"], callback=_print_version, is_eager=True)
    ] = False,
) -> None:
    pass


def dispatch(words: Sequence[str]) -> int:
    """Run the command that `words` name, and say in one sentence what was wrong with them, if anything."""
    _open_closed_streams()
    try:
        code = _call(words)
        sys.stdout.flush()
    except (
        BrokenPipeError,
        SystemExit,
    ):  # typer itself turns a broken pipe into an exit, and nothing else of ours does
        _forget_stdout()
        return READER_GONE
    except typer.TyperException as e:
        say(_usage_sentence(e, words))
        return e.exit_code
    except RingfenceError as e:
        say(str(e))
        return e.exit_code
    except (KeyboardInterrupt, typer.Abort):
        say("interrupted")
        return INTERRUPTED
    except Exception as e:  # noqa: BLE001  a bug of ours must not end in 1, which means that the guest raised
        if isinstance(e, OSError) and e.errno == errno.ENOSPC:
            _forget_stdout()
            say("standard output cannot be written, its disk is full: make room, or write it elsewhere")
            return OUR_FAILURE
        traceback.print_exc()
        say("this is a fault in ringfence itself: please report it with the lines above")
        return OUR_FAILURE
    return code


def _open_closed_streams() -> None:
    """A standard stream that was closed before we came (`>&-`) reads as empty, and takes what is written."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode))  # noqa: SIM115  # for as long as we live


def _call(words: Sequence[str]) -> int:
    named = [command for command in COMMANDS if command[0] == words[0]]
    ours, theirs = _split(words) if named and _passes_args(named[0][1]) else (list(words), None)
    # Only the named command is imported; with a wrong name all are, to say which one was meant.
    app = make_app(named or COMMANDS)
    code = app(args=ours, prog_name="ringfence", standalone_mode=False, obj=theirs)
    return code if isinstance(code, int) else 0


def _passes_args(module: str) -> bool:
    """Whether what follows `--` is for the command's guest (it gets it as `ctx.obj`) and not for the command."""
    return getattr(import_module(module), "PASSES_ARGS", False)


def _split(words: Sequence[str]) -> tuple[list[str], tuple[str, ...] | None]:
    """The words before the first `--`, and those after it (None without one)."""
    if "--" not in words:
        return list(words), None
    at = list(words).index("--")
    return list(words[:at]), tuple(words[at + 1 :])


def _usage_sentence(e: typer.TyperException, words: Sequence[str]) -> str:
    near = get_close_matches(getattr(e, "option_name", ""), getattr(e, "possibilities", None) or (), n=1)
    if near:
        return f"{_lower(e.message)}; did you mean {near[0]}?"
    command = next((f" {name}" for name, *_ in COMMANDS if words[0] == name), "")
    told = _lower(e.format_message().replace(": Value error, ", ": ").rstrip("."))
    return told if told.endswith("?") else f"{told}; see `ringfence{command} --help`"


def _lower(sentence: str) -> str:
    return sentence[:1].lower() + sentence[1:]


def _forget_stdout() -> None:
    """Point standard output away, so that the interpreter's last flush does not complain again."""
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, sys.stdout.fileno())
    os.close(null)
