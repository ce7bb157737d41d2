"""Backtest a strategy: one Draft on one Bars behind the fence, replayed and measured on the host."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

from ringfence.sandbox import Sandbox
from ringfence.trade.arrow import write_bars
from ringfence.verbs.backtest.native import run_native
from ringfence.verbs.backtest.request import Finished, Request
from ringfence.verbs.backtest.scripts import run_script

__all__ = ["Finished", "Request", "backtest"]


def backtest(request: Request, *, sandbox: Sandbox) -> Finished:
    """Run it and say what it was worth. What the strategy did wrong is in the Run; what we could not do is raised."""
    if request.bars is not None and request.bars_file is None:
        with TemporaryDirectory(prefix="ringfence-bars-") as folder:
            file = Path(folder) / "bars.arrow"
            write_bars(request.bars, file)
            return backtest(replace(request, bars_file=file), sandbox=sandbox)
    run = run_script if request.draft.dialect == "backtesting.py" else run_native
    finished = run(request, sandbox)
    return replace(finished, cut_short=request.cancel is not None and request.cancel.is_set())
