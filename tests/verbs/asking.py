"""A desk on a real fence, for tests that ask quantitative questions."""

from __future__ import annotations

from pathlib import Path

from ringfence.markets.cache import Cache
from ringfence.sandbox import Sandbox
from ringfence.verbs.simulate import DataRequest, Desk

NOON = 1_700_000_000_000_000_000  # 2023-11-14


def desk(sandbox: Sandbox, home: Path, *, plot: bool = False, seed: int = 0, artifacts: Path | None = None) -> Desk:
    return Desk(sandbox=sandbox, cache=Cache(home / "bars"), now_ns=NOON, plot=plot, seed=seed, artifacts_dir=artifacts)


def samples(*names: str, start: str | None = None) -> DataRequest:
    return DataRequest(specs=(f"sample:{','.join(names)}",), start=start)
