"""Backtest a strategy, and store the Run."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Literal

from pydantic import Field, JsonValue

from ringfence.mcp.answers import BacktestAnswer, outcome_values
from ringfence.mcp.calls import Call
from ringfence.mcp.desk import Desk
from ringfence.mcp.leavings import keep
from ringfence.mcp.run_view import run_answer, run_text
from ringfence.mcp.text import describe
from ringfence.mcp.tool import Arguments, Reply, Text, Tool
from ringfence.mcp.tools.limits import MemoryMb, Timeout
from ringfence.mcp.tools.prices import (
    WHERE_FROM,
    Cash,
    End,
    Fees,
    Fractional,
    Repair,
    SlippageBps,
    Specs,
    Start,
    Symbols,
    Timeframe,
    as_specs,
)

_TRADES_SHOWN = 10


class BacktestArguments(Arguments):
    code: Annotated[str, Text()] = Field(
        description="The text of a strategy: a class of Strategy with init and next, or a script."
    )
    data: str | Specs | None = Field(
        default=None,
        description=f"{WHERE_FROM} Without it a script must bring its own.",
    )
    parameters: dict[str, JsonValue] = Field(default_factory=dict, description="Parameters of the strategy by name.")
    name: str = Field(default="strategy", description="What the strategy is stored as.", min_length=1, max_length=100)
    class_name: str | None = Field(default=None, description="Which class, where the text has several.")
    symbols: Symbols
    start: Start = None
    end: End = None
    timeframe: Timeframe = None
    repair: Repair = False
    cash: Cash = 100_000.0
    fees: Fees = 0.001
    slippage_bps: SlippageBps = 2.0
    spread_bps: float = Field(default=0.0, description="Between bid and ask.")
    margin: float = Field(default=1.0, description="Share of a position that must be covered.")
    fractional: Fractional = False
    shorting: bool = Field(default=True, description="Whether to sell short.")
    both_in_one_bar: Literal["stop_first", "target_first"] = "stop_first"
    close_at_end: bool = Field(default=False, description="Sell what is held on the last bar.")
    lookahead: bool = Field(default=True, description="Run again without the future and compare.")
    streamed: bool = Field(default=False, description="Hand in bars one by one: the future is never inside.")
    heal: bool = Field(default=True, description="Mend a failing script where it is known how.")
    seed: int = Field(default=0, description="Seed of its random numbers.", ge=0)
    timeout: Timeout = None
    memory_mb: MemoryMb = None

    @property
    def specs(self) -> tuple[str, ...]:
        return as_specs(self.data)


def _backtest(desk: Desk, given: BacktestArguments, call: Call) -> Reply:
    from ringfence.mcp.backtests import run_and_store  # the engine and the store: half a second, once

    limits = desk.bounds["backtest"].limits({"wall_seconds": given.timeout, "memory_mb": given.memory_mb})
    done = run_and_store(desk, given, limits, call)
    outcome = replace(done.finished.outcome, result=None)  # the order log; what came of it is the Run
    left = keep(desk, call.client, outcome)
    run = run_answer(done.run.json, done.run.draft.text, ["trades"], _TRADES_SHOWN)
    run = run.model_copy(update={"warnings": [*run.warnings, *done.remarks]})
    values: dict[str, JsonValue] = outcome_values(left) | {"run": run.model_dump(mode="json")}
    text = f"{run_text(run, details=False)}\n{describe(left)}"
    return Reply(answer=BacktestAnswer.model_validate(values), text=text, blocks=left.blocks)


TOOLS = (
    Tool(
        name="backtest_run",
        title="Backtest a strategy",
        description="Run a strategy against history in the sandbox. The host replays its orders and computes the "
        "metrics, and runs it again without the future to find look-ahead. The Run is stored: runs_get shows all of "
        "it. A strategy that fails or does not trade is a normal answer: see run.verdict and run.reason.",
        arguments=BacktestArguments,
        answer=BacktestAnswer,
        work=_backtest,
        first="the prices are loaded",
        preset="backtest",
        idempotent=True,
        open_world=True,  # the host fetches prices where the data says so; the strategy has no network
    ),
)
