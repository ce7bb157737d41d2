"""The README's claims about backtests: the whole benchmark, and PASS or MISS for each of its targets.

    scripts/bench-peers                       # once: nautilus_trader and vectorbt, in interpreters of their own
    .venv/bin/python -m bench.backtest

Everything is measured in turn in one run on one machine, which should have nothing else to do.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from bench.claims import add_options, conclude
from ringfence.verbs.bench.backtest import bench_backtest

PEERS = Path(__file__).resolve().parent.parent / ".cache" / "bench-peers"


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=10, help="how often each side is measured (default 10)")
    parser.add_argument("--quick", action="store_true", help="one round of few bars: a first look, not a claim")
    parser.add_argument(
        "--peers", type=Path, action="append", metavar="PYTHON", help="an interpreter that has peers; may be repeated"
    )
    add_options(parser)
    options = parser.parse_args(argv)
    report = bench_backtest(
        rounds=options.rounds,
        quick=options.quick,
        peers=options.peers or sorted(PEERS.glob("*/bin/python")),
        on_progress=lambda step: print(step, file=sys.stderr),
    )
    return conclude(report, options)


if __name__ == "__main__":
    sys.exit(main())
