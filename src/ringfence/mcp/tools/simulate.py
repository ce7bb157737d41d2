"""Questions with an answer that can be checked: where a price may be, and what an indicator is."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import Field

from ringfence.mcp.calls import Call
from ringfence.mcp.desk import Desk
from ringfence.mcp.fence import WAITING
from ringfence.mcp.finding_view import (
    IndicatorAnswer,
    MonteCarloAnswer,
    computed,
    computed_text,
    indicator,
    interval,
)
from ringfence.mcp.leavings import Left, keep
from ringfence.mcp.tool import Reply, reading
from ringfence.mcp.tools.limits import MemoryMb, Timeout
from ringfence.mcp.tools.prices import Priced

if TYPE_CHECKING:
    from ringfence.verbs.simulate import DataRequest, Desk as SimulateDesk, Finding

# Those of `ringfence indicator`. Asking the engine for them would load it before the first client is answered.
INDICATORS = (
    "sma", "ema", "wma", "standard_deviation", "bollinger", "rsi", "macd", "stochastic", "cci", "williams_r", "roc",
    "momentum", "highest", "lowest", "donchian", "true_range", "atr", "keltner", "adx", "plus_di", "minus_di",
    "ichimoku", "supertrend", "parabolic_sar", "volume_average", "vwap", "obv", "mfi",
)  # fmt: skip

Seed = Annotated[int, Field(description="Seed of the dice.", ge=0, lt=1 << 64)]
Plot = Annotated[bool, Field(description="Draw a chart.")]


class Question(Priced):
    timeout: Timeout = None
    memory_mb: MemoryMb = None


class MonteCarloArguments(Question):
    horizon: str = Field(default="30d", description="How far ahead: 30 (bars), 30d (days of trading), 6w, 3mo, 1y.")
    confidence: float = Field(default=0.95, description="Of the interval.")
    method: Literal["gbm", "bootstrap"] = Field(default="gbm", description="Normal returns, or blocks of the past.")
    block: int | None = Field(default=None, description="Bars that a bootstrap draws in a row.")
    above: float | None = Field(default=None, description="A price: say how likely it is to end above.")
    below: float | None = Field(default=None, description="The same, to end below.")
    drift: bool = Field(default=True, description="Go on with the drift of the data.")
    paths: int = Field(default=10_000, description="Futures to draw.")
    seed: Seed = 0
    plot: Plot = True


class IndicatorArguments(Question):
    name: str = Field(description="Which indicator.", json_schema_extra={"enum": list(INDICATORS)})
    period: int | None = Field(default=None, description="In bars; Ichimoku's four are made of this one.")
    parameters: dict[str, float] = Field(default_factory=dict, description="Other parameters by name, such as fast.")
    rows: Annotated[int, Field(description="Last values to give.", ge=1, le=1000)] = 10
    plot: Plot = False


def _monte_carlo(desk: Desk, given: MonteCarloArguments, call: Call) -> Reply:
    def ask(data: DataRequest, at: SimulateDesk) -> Finding:
        from ringfence.verbs.simulate import Horizon, PriceQuestion, ask_price

        question = PriceQuestion(
            data=data,
            horizon=Horizon.parse(given.horizon),
            confidence=given.confidence,
            method=given.method,
            block=given.block,
            above=given.above,
            below=given.below,
            drift=given.drift,
            paths=given.paths,
        )
        return ask_price(question, at)

    found, left = _answer(desk, given, call, ask, seed=given.seed, plot=given.plot)
    answer = computed(MonteCarloAnswer, found, left, {"interval": interval(found)})
    return Reply(answer=answer, text=computed_text(found, left), blocks=left.blocks)


def _indicator(desk: Desk, given: IndicatorArguments, call: Call) -> Reply:
    def ask(data: DataRequest, at: SimulateDesk) -> Finding:
        from ringfence.verbs.simulate import IndicatorQuestion, ask_indicator

        question = IndicatorQuestion(
            name=given.name, data=data, period=given.period, parameters=given.parameters, rows=given.rows
        )
        return ask_indicator(question, at)

    found, left = _answer(desk, given, call, ask, seed=0, plot=given.plot)
    answer = computed(IndicatorAnswer, found, left, {"indicator": indicator(found, given.name)})
    return Reply(answer=answer, text=computed_text(found, left), blocks=left.blocks)


def _answer(
    desk: Desk,
    given: Question,
    call: Call,
    ask: Callable[[DataRequest, SimulateDesk], Finding],
    *,
    seed: int,
    plot: bool,
) -> tuple[Finding, Left]:
    from ringfence.mcp.prices import allowed, open_cache  # the engine: half a second, once
    from ringfence.verbs.simulate import DataRequest, Desk as SimulateDesk

    limits = desk.bounds["chat"].limits({"wall_seconds": given.timeout, "memory_mb": given.memory_mb})
    data = DataRequest(
        specs=allowed(desk, given.specs, given.symbols),
        symbols=tuple(given.symbols),
        start=given.start,
        end=given.end,
        timeframe=given.timeframe,
        repair=given.repair,
    )
    with desk.fence.lease() as sandbox, open_cache(desk) as cache:
        call.doing.waits_for("computation", limits.wall_seconds)
        at = SimulateDesk(
            sandbox=sandbox,
            cache=cache,
            now_ns=time.time_ns(),
            environ=desk.environ,
            limits=limits,
            plot=plot,
            seed=seed,
            cancel=call.cancel,
        )
        found = ask(data, at)
    return found, keep(desk, call.client, replace(found.outcome, result=None))


_DRAWS = (
    "Say where a price may be at a horizon, by drawing many futures from its past in the sandbox: lower, median and "
    "upper, the chance of a rise, VaR and CVaR, a fan chart. The answer says its horizon, its assumptions, how many "
    "observations it rests on, where they come from and of which day they are: pass these on with the numbers."
)
_COMPUTES = "Compute an indicator over prices in the sandbox: its last values, its parameters, and what it rests on."

TOOLS = (
    reading(
        "monte_carlo", "Simulate a price", _DRAWS, MonteCarloArguments, MonteCarloAnswer, _monte_carlo,
        first=WAITING, preset="chat", open_world=True,
    ),
    reading(
        "indicator_compute", "Compute an indicator", _COMPUTES, IndicatorArguments, IndicatorAnswer, _indicator,
        first=WAITING, preset="chat", open_world=True,
    ),
)  # fmt: skip
