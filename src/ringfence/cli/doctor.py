"""`ringfence doctor`: what this machine can enforce, what is missing and how to fix it."""

from __future__ import annotations

import json
import os
import sys
from typing import TYPE_CHECKING

import typer

from ringfence.cli.options import AsJson
from ringfence.cli.terminal import emit

if TYPE_CHECKING:
    from ringfence.sandbox.doctor import Report


def register(app: typer.Typer, name: str, line: str) -> None:
    epilog = "Exit code: 0 when programs can be run here within their limits, else 1."
    app.command(name, help=line, epilog=epilog)(doctor)


def doctor(as_json: AsJson = False) -> int:
    from ringfence.base.config import Settings
    from ringfence.sandbox.doctor import examine

    report = examine(Settings.from_env(os.environ))
    if as_json:
        emit(sys.stdout, _to_json(report) + "\n")
    else:
        _show(report)
    return 0 if report.usable else 1


def _to_json(report: Report) -> str:
    checks = [{"name": check.name, "ok": check.ok, "how": check.how, "remedy": check.remedy} for check in report.checks]
    document = {"usable": report.usable, "checks": checks, "isolation": dict(report.isolation)}
    return json.dumps(document, allow_nan=False)


def _show(report: Report) -> None:
    from rich.text import Text

    from ringfence.cli.console import open_console, print_table

    yes, no = Text("yes", "green"), Text("no", "bold red")
    rows = [(check.name, yes if check.ok else no, check.how, check.remedy or "") for check in report.checks]
    print_table(("what", "enforced", "how", "what to do"), rows)
    if report.usable:
        verdict = Text("\nPrograms can be run here.", "green")
    else:
        verdict = Text("\nPrograms cannot be run here: follow the right-hand column.", "bold red")
    open_console().print(verdict)
