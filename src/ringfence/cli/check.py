"""`ringfence check`: what can be seen in a program's text, without running it."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Annotated

import typer

from ringfence.cli import options
from ringfence.cli.terminal import clean_line, emit

if TYPE_CHECKING:
    from ringfence.trade.checked import Checked
    from ringfence.trade.draft import Draft

File = Annotated[str, typer.Argument(metavar="FILE|-", help="The program or a model's reply, or - for standard input.")]
ClassName = Annotated[
    str | None,
    typer.Option("--class", metavar="NAME", help="The strategy class, where the program has several."),
]

_STYLES = {"error": "bold red", "warning": "yellow", "info": "dim"}


def register(app: typer.Typer, name: str, line: str) -> None:
    epilog = (
        "Exit code: 0 without errors (there may be warnings), 1 with one, 64 to 68 when FILE cannot be read, "
        "125 or 126 without a fence."
    )
    app.command(name, help=line, epilog=epilog)(check)


def check(
    file: File,
    class_name: ClassName = None,
    backend: options.Backend = "native",
    allow_weaker: options.AllowWeaker = False,
    as_json: options.AsJson = False,
) -> int:
    from ringfence.cli.request import read_program
    from ringfence.cli.trading import reading_sandbox
    from ringfence.sandbox import open_sandbox
    from ringfence.verbs.check import check

    text, name = read_program(file)
    with open_sandbox(reading_sandbox(backend, allow_weaker)) as sandbox:
        checked = check(text, name, class_name, sandbox=sandbox)
    if as_json:
        emit(sys.stdout, json.dumps(checked.to_json(file), allow_nan=False) + "\n")
    else:
        _show(checked, name)
    return 0 if checked.ok else 1


def _show(checked: Checked, name: str) -> None:
    from rich.text import Text

    from ringfence.cli.console import open_console

    console = open_console()
    if checked.draft is not None:
        console.print(Text(clean_line(_describe(checked.draft)), "bold"))
        for note in checked.draft.notes:
            console.print(Text(clean_line(f"note: {note}")))
    for finding in checked.findings:
        place = Text(clean_line(f"{name}:{finding.line}:{finding.column}: "))
        what = Text(f"{finding.severity} {finding.code} ", _STYLES[finding.severity])
        console.print(place + what + Text(clean_line(finding.message)), soft_wrap=True)
        console.print(Text(clean_line(f"    {finding.hint}"), "dim"), soft_wrap=True)
    console.print(_count(checked))


def _describe(draft: Draft) -> str:
    what = f"class {draft.class_name}" if draft.class_name else f"classes {', '.join(draft.classes)}"
    values = ", ".join(f"{parameter.name}={parameter.default!r}" for parameter in draft.parameters)
    return f"{draft.dialect} strategy, {what}" + (f", parameters {values}" if values else "")


def _count(checked: Checked) -> str:
    counts = []
    for severity, several in (("error", "errors"), ("warning", "warnings"), ("info", "remarks")):
        number = sum(finding.severity == severity for finding in checked.findings)
        one = severity if severity != "info" else "remark"
        counts.append(f"{number} {one if number == 1 else several}")
    return ", ".join(counts)
