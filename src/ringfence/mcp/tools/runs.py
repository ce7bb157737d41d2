"""What has been run and stored."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import Field

from ringfence.mcp.answers import RunAnswer, RunRowAnswer, RunsAnswer
from ringfence.mcp.calls import Caller
from ringfence.mcp.desk import Desk
from ringfence.mcp.run_view import Part, run_answer, run_text
from ringfence.mcp.text import one_line, untrusted
from ringfence.mcp.tool import Arguments, Reply, Tool
from ringfence.sandbox.job import Cancel

if TYPE_CHECKING:
    from ringfence.store import StoredRun
    from ringfence.verbs.runs import Listing

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_RISING = ("strategy_name", "execution_time")  # everything else is listed from the latest or the best down

Sort = Literal[
    "created_at",
    "strategy_name",
    "total_return",
    "sharpe_ratio",
    "max_drawdown",
    "win_rate",
    "num_trades",
    "execution_time",
]


class ListArguments(Arguments):
    strategy: str | None = Field(default=None, description="Only runs of this strategy.")
    verdict: str | None = Field(default=None, description="Only these, such as traded.")
    symbol: str | None = Field(default=None, description="Only runs on this instrument.")
    since: str | None = Field(default=None, description="Only runs first made since this date (UTC).")
    sort: Sort = Field(default="created_at", description="The latest, best or fastest first.")
    limit: Annotated[int, Field(description="At most so many.", ge=1, le=200)] = 20


class GetArguments(Arguments):
    run_id: str = Field(description="A stored run's id, or enough of its beginning.", min_length=1)
    parts: list[Part] = Field(default_factory=list, description="Long parts to include.")
    most: Annotated[int, Field(description="At most so many entries of each part.", ge=1, le=5000)] = 100


async def _list(desk: Desk, given: ListArguments, caller: Caller) -> Reply:
    def work(_: Cancel) -> Listing:
        from ringfence.store import RunFilter
        from ringfence.trade.times import parse_moment
        from ringfence.verbs.runs import list_runs

        since = None if given.since is None else _EPOCH + timedelta(microseconds=parse_moment(given.since) // 1000)
        wanted = RunFilter(
            strategy=given.strategy,
            verdict=given.verdict,
            symbol=given.symbol,
            since=since,
            order_by=given.sort,
            descending=given.sort not in _RISING,
            limit=given.limit,
        )
        return list_runs(desk.database, wanted)

    listing = await desk.calls.run(caller, work, seconds=None, doing="the store is read")
    answer = RunsAnswer(
        runs=[RunRowAnswer.model_validate(record.to_json()) for record in listing.runs],
        matching=listing.matching,
        stored=listing.stored,
    )
    rows = "\n".join(
        f"{run.run_id} {one_line(run.strategy_name)} v{run.version}: {run.verdict}, return {run.total_return}, "
        f"Sharpe {run.sharpe_ratio}, {run.num_trades} trades, {run.provenance}, look-ahead {run.lookahead}"
        for run in answer.runs
    )
    head = f"{len(answer.runs)} of {answer.matching} matching runs; {answer.stored} are stored."
    if not answer.stored:
        head = "There are no runs yet: backtest_run makes one."
    elif not rows:
        head = f"None of {answer.stored} runs matches: leave out an argument."
    return Reply(answer=answer, text=f"{head}\n{untrusted({'runs': rows})}".rstrip())


async def _get(desk: Desk, given: GetArguments, caller: Caller) -> Reply:
    def work(_: Cancel) -> StoredRun:
        from ringfence.verbs.runs import get_run

        return get_run(desk.database, given.run_id)

    stored = await desk.calls.run(caller, work, seconds=None, doing="the store is read")
    answer = run_answer(stored.json, stored.draft.text, given.parts, given.most)
    return Reply(answer=answer, text=run_text(answer))


TOOLS = (
    Tool(
        name="runs_list",
        title="List stored backtests",
        description="List the backtests that are stored, with their figures. Fractions are decimals.",
        arguments=ListArguments,
        answer=RunsAnswer,
        call=_list,
        read_only=True,
        idempotent=True,
    ),
    Tool(
        name="runs_get",
        title="Show a stored backtest",
        description="Show one stored backtest: verdict, metrics, warnings, and the parts that are asked for.",
        arguments=GetArguments,
        answer=RunAnswer,
        call=_get,
        read_only=True,
        idempotent=True,
    ),
)
