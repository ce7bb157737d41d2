"""The README's claims about speed: the whole benchmark, and PASS or MISS for each of its targets.

    .venv/bin/python -m bench.sandbox                  # against plain python, and docker where an engine answers
    sudo .venv/bin/python -m bench.sandbox --engine    # with a private Docker engine for the time of the run

Everything is measured in turn in one run on one machine, which should have nothing else to do.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path

from bench.claims import add_options, conclude
from ringfence.verbs.bench import bench_sandbox

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


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=50, help="how often each peer is measured (default 50)")
    parser.add_argument("--quick", action="store_true", help="half a minute: a first look, not a claim")
    parser.add_argument(
        "--engine", action="store_true", help="start a private Docker engine (root), stop it afterwards"
    )
    add_options(parser)
    options = parser.parse_args(argv)
    with private_engine() if options.engine else nullcontext():
        report = bench_sandbox(
            rounds=options.rounds, quick=options.quick, on_progress=lambda step: print(step, file=sys.stderr)
        )
    return conclude(report, options)


if __name__ == "__main__":
    sys.exit(main())
