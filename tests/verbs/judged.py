"""Backtest a text through the verb and hand back its Run, for tests that judge strategies from outside."""

from __future__ import annotations

from functools import cache
from typing import cast

from ringfence.markets import load_bars
from ringfence.sandbox import OnOutput, Sandbox
from ringfence.sandbox.job import PRESETS, Cancel, Job, Limits, Mount
from ringfence.sandbox.outcome import Outcome
from ringfence.trade.bars import Bars
from ringfence.trade.draft import read_draft
from ringfence.trade.run import FillRules, Json, Run
from ringfence.verbs.backtest import Request, backtest

STRATEGY_SANDBOX = "native:profile=strategy,park=0"
HEAD = "import numpy as np\nfrom ringfence import Strategy\n\n"


@cache
def sample(*symbols: str, start: str | None = None, end: str | None = None) -> Bars:
    return load_bars([f"sample:{','.join(symbols)}"], start=start, end=end)


def judge(
    sandbox: Sandbox,
    text: str,
    bars: Bars | None = None,
    *,
    lookahead: bool = True,
    parameters: dict[str, Json] | None = None,
    rules: FillRules | None = None,
    seed: int = 0,
    limits: Limits = PRESETS["backtest"],
    mounts: tuple[Mount, ...] = (),
) -> Run:
    request = Request(
        draft=read_draft(text, name="judged"),
        bars=bars or sample("GOOG"),
        parameters=parameters or {},
        rules=rules or FillRules(),
        seed=seed,
        limits=limits,
        mounts=mounts,
        lookahead=lookahead,
    )
    return backtest(request, sandbox=sandbox).run


def on_each_bar(*lines: str, init: str = "pass") -> str:
    """The text of a strategy with these lines in `next`."""
    body = "\n".join(f"        {line}" for line in lines)
    first = init.replace("\n", "\n        ")
    return f"{HEAD}class Judged(Strategy):\n    def init(self):\n        {first}\n\n    def next(self):\n{body}\n"


def total_return(run: Run) -> float:
    assert run.metrics is not None
    return run.metrics.total_return


def leaving(sandbox: Sandbox, cancel: Cancel, *, during: int) -> Sandbox:
    """A sandbox whose caller goes away during that one of its runs."""

    class Leaving:
        runs = 0

        def run(self, job: Job, *, on_output: OnOutput | None = None, cancel: Cancel | None = None) -> Outcome:
            self.runs += 1
            if self.runs == during:
                leave.set()
            return sandbox.run(job, on_output=on_output, cancel=cancel)

    leave = cancel
    return cast("Sandbox", Leaving())
