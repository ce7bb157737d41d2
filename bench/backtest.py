"""The README's claims about backtests: the whole benchmark, and PASS or MISS for each of its targets.

    scripts/bench-peers                       # once: nautilus_trader and vectorbt, in interpreters of their own
    .venv/bin/python bench/backtest.py

Everything is measured in turn in one run on one machine, which should have nothing else to do.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path

from ringfence.verbs.bench.backtest import BacktestBench, bench_backtest

PEERS = Path(__file__).resolve().parent.parent / ".cache" / "bench-peers"


def show(report: BacktestBench) -> None:
    rows = report.rows()[len(report.targets) :]  # the targets have a table of their own below
    widths = [max(len(row[column]) for row in rows) for column in range(3)]
    for what, least, median, note in rows:
        print(f"{what:<{widths[0]}}  {least:>{widths[1]}}  {median:>{widths[2]}}  {note}".rstrip())
    print()
    for target in report.targets:
        verdict = {True: "PASS", False: "MISS", None: "NOT MEASURED"}[target.met]
        value = "-" if target.value is None else f"{target.value:,.3f}"
        print(f"{verdict:<12}  {target.meaning}: {value} times, target {target.bound} {target.target:,g}")


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=10, help="how often each side is measured (default 10)")
    parser.add_argument("--quick", action="store_true", help="one round of few bars: a first look, not a claim")
    parser.add_argument(
        "--peers", type=Path, action="append", metavar="PYTHON", help="an interpreter that has peers; may be repeated"
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the report there too")
    parser.add_argument("--strict", action="store_true", help="exit with 1 unless every target was measured and met")
    options = parser.parse_args(argv)
    report = bench_backtest(
        rounds=options.rounds,
        quick=options.quick,
        peers=options.peers or sorted(PEERS.glob("*/bin/python")),
        on_progress=lambda step: print(step, file=sys.stderr),
    )
    show(report)
    if options.json:
        options.json.write_text(json.dumps(report.to_json(), indent=2, allow_nan=False) + "\n")
    return 1 if options.strict and not report.all_met else 0


if __name__ == "__main__":
    sys.exit(main())
