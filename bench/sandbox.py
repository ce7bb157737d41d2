"""The README's claims about speed: the whole benchmark, and PASS or MISS for each of its targets.

    .venv/bin/python bench/sandbox.py                  # against plain python, and docker where an engine answers
    sudo .venv/bin/python bench/sandbox.py --engine    # with a private Docker engine for the time of the run

Everything is measured in turn in one run on one machine, which should have nothing else to do.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path

from ringfence.verbs.bench import BenchReport, bench_sandbox

ENGINE = Path(__file__).resolve().parent.parent / "scripts" / "docker-engine"


@contextmanager
def private_engine() -> Iterator[None]:
    """An engine of our own while we measure; one that ran before is used, and left running."""
    ran_before = subprocess.run([ENGINE, "status"], stdout=subprocess.DEVNULL, check=False).returncode == 0
    line = subprocess.run([ENGINE, "start"], stdout=subprocess.PIPE, text=True, check=True).stdout
    os.environ["DOCKER_HOST"] = line.strip().partition("DOCKER_HOST=")[2]
    try:
        yield
    finally:
        if not ran_before:
            subprocess.run([ENGINE, "stop"], check=True)


def show(report: BenchReport) -> None:
    rows = report.rows()[len(report.targets) :]  # the targets have a table of their own below
    widths = [max(len(row[column]) for row in rows) for column in range(3)]
    for what, median, p99, note in rows:
        print(f"{what:<{widths[0]}}  {median:>{widths[1]}}  {p99:>{widths[2]}}  {note}".rstrip())
    print()
    for target in report.targets:
        verdict = {True: "PASS", False: "MISS", None: "NOT MEASURED"}[target.met]
        value = "-" if target.value is None else f"{target.value:,.3f}"
        print(f"{verdict:<12}  {target.meaning}: {value} times, target {target.bound} {target.target:,g}")


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=50, help="how often each peer is measured (default 50)")
    parser.add_argument("--quick", action="store_true", help="half a minute: a first look, not a claim")
    parser.add_argument(
        "--engine", action="store_true", help="start a private Docker engine (root), stop it afterwards"
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the report there too")
    parser.add_argument("--strict", action="store_true", help="exit with 1 unless every target was measured and met")
    options = parser.parse_args(argv)
    with private_engine() if options.engine else nullcontext():
        report = bench_sandbox(
            rounds=options.rounds, quick=options.quick, on_progress=lambda step: print(step, file=sys.stderr)
        )
    show(report)
    if options.json:
        options.json.write_text(json.dumps(report.to_json(), indent=2, allow_nan=False) + "\n")
    return 1 if options.strict and not report.all_met else 0


if __name__ == "__main__":
    sys.exit(main())
