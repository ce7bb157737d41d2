"""How a benchmark shows what it measured: a table, and PASS or MISS for each of its targets."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

from ringfence.verbs.bench.report import Target


class Report(Protocol):
    @property
    def targets(self) -> Sequence[Target]: ...

    @property
    def all_met(self) -> bool: ...

    def rows(self) -> Sequence[tuple[str, str, str, str]]: ...

    def to_json(self) -> object: ...


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the report there too")
    parser.add_argument("--strict", action="store_true", help="exit with 1 unless every target was measured and met")


def conclude(report: Report, options: argparse.Namespace) -> int:
    """Show the report, write it where that was asked for, and say how to exit."""
    rows = report.rows()[len(report.targets) :]  # the targets have a table of their own below
    widths = [max(len(row[column]) for row in rows) for column in range(3)]
    for what, value, other, note in rows:
        print(f"{what:<{widths[0]}}  {value:>{widths[1]}}  {other:>{widths[2]}}  {note}".rstrip())
    print()
    for target in report.targets:
        verdict = {True: "PASS", False: "MISS", None: "NOT MEASURED"}[target.met]
        value = "-" if target.value is None else f"{target.value:,.3f}"
        print(f"{verdict:<12}  {target.meaning}: {value} times, target {target.bound} {target.target:,g}")
    if options.json:
        options.json.write_text(json.dumps(report.to_json(), indent=2, allow_nan=False) + "\n")
    return 1 if options.strict and not report.all_met else 0
