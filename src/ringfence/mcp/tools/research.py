"""From an idea in words to a strategy that ran."""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import Field

from ringfence.mcp.calls import Call
from ringfence.mcp.desk import Desk
from ringfence.mcp.leavings import link
from ringfence.mcp.research_view import ResearchAnswer, research_answer, research_text
from ringfence.mcp.text import one_line
from ringfence.mcp.tool import Reply, Text, Tool
from ringfence.mcp.tools.limits import MemoryMb, Timeout
from ringfence.mcp.tools.prices import Cash, Fees, Fractional, Priced, SlippageBps

if TYPE_CHECKING:
    from ringfence.verbs.research import Progress

_EXAMPLE = "Buy AAPL when RSI drops below 35, sell when it rises above 65"


class ResearchArguments(Priced):
    """A caller names neither a model nor a command: those are the server's, with its keys."""

    idea: Annotated[str, Text()] = Field(description=f"The idea in words, such as: {_EXAMPLE}.", max_length=20_000)
    also: list[str] = Field(default_factory=list, description="Further data, for what did well.", max_length=5)
    author: Literal["rules", "llm"] | None = Field(
        default=None,
        description="rules reads plain English offline; llm is the server's model. Without it: rules, and the model, "
        "if the server has one, for what it cannot read.",
    )
    cash: Cash = 100_000.0
    fees: Fees = 0.001
    slippage_bps: SlippageBps = 2.0
    fractional: Fractional = False
    iterations: Annotated[int, Field(description="Most rounds of a model.", ge=1, le=20)] = 5
    objective: str = Field(default="sharpe", description="What is best, such as sharpe, sortino or total_return.")
    target: float | None = Field(default=None, description="Stop when the objective gets there.")
    min_trades: int = Field(default=1, description="With fewer a strategy does not count.")
    max_cost: float | None = Field(default=None, description="Most to spend on models, in USD.")
    max_tokens: int | None = Field(default=None, description="Most tokens of models.")
    max_minutes: Annotated[float, Field(description="No round begins after this.", gt=0, le=60)] = 20.0
    seed: int = Field(default=0, description="Seed of the strategy's random numbers.", ge=0)
    report: bool = Field(default=False, description="Leave a tear sheet, report.html.")
    timeout: Timeout = None
    memory_mb: MemoryMb = None


def _research(desk: Desk, given: ResearchArguments, call: Call) -> Reply:
    from ringfence.mcp.researches import research_and_store  # the engine and the store: half a second, once

    limits = desk.bounds["backtest"].limits({"wall_seconds": given.timeout, "memory_mb": given.memory_mb})
    research_id = secrets.token_hex(5)
    named = f"research {research_id}"
    call.doing.becomes(f"{named}: the prices are loaded")

    def told(progress: Progress) -> None:
        call.doing.becomes(f"{named}: {one_line(progress.message)}")

    done = research_and_store(desk, given, research_id, limits, call, told)
    uri = done.kept[0].uri if done.kept else None
    answer = research_answer(done.document, advice=done.advice, uri=uri)
    return Reply(answer=answer, text=research_text(answer), blocks=tuple(map(link, done.kept)))


TOOLS = (
    Tool(
        name="research_run",
        title="Turn an idea into a strategy",
        description="From an idea in plain English to a strategy that was run in the sandbox, judged and stored: its "
        "code, how the words were read, its figures on all of the data and on a sealed part of it, and what "
        "evaluators say. A request that is not understood is a normal answer: `reason` says which words, and what "
        "would be. Long lists are cut; `document` names the whole.",
        arguments=ResearchArguments,
        answer=ResearchAnswer,
        work=_research,
        first="the prices are loaded",
        preset="backtest",
        open_world=True,  # the host fetches prices and asks the model, where there is one; the strategy has no network
    ),
)
