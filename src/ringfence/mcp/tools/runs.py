"""What has been run and stored."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import Annotated, Literal

from pydantic import Field

from ringfence.base.errors import StoreError
from ringfence.mcp.answers import RunAnswer, RunRowAnswer, RunsAnswer
from ringfence.mcp.calls import Call
from ringfence.mcp.desk import Desk
from ringfence.mcp.run_view import Part, number, run_answer, run_text
from ringfence.mcp.text import SERVER, one_line, untrusted
from ringfence.mcp.tool import Arguments, Reply, reading

_OF_A_SANDBOX = re.compile("[0-9a-f]{16}")  # a run's id there; a stored run's is longer
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


def _list(desk: Desk, given: ListArguments, _: Call) -> Reply:
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
    listing = list_runs(desk.database, wanted)
    answer = RunsAnswer(
        runs=[RunRowAnswer.model_validate(record.to_json()) for record in listing.runs],
        matching=listing.matching,
        stored=listing.stored,
    )
    rows = "\n".join(map(_row, answer.runs))
    head = f"{len(answer.runs)} of {answer.matching} matching runs; {answer.stored} are stored."
    if not answer.stored:
        head = "There are no runs yet: backtest_run makes one."
    elif not rows:
        head = f"None of {answer.stored} runs matches: leave out an argument."
    return Reply(answer=answer, text=f"{head}\n{untrusted({'runs': rows}, by=SERVER)}".rstrip())


def _row(run: RunRowAnswer) -> str:
    figures = {"return": run.total_return, "Sharpe": run.sharpe_ratio, "trades": run.num_trades}
    known = [f"{name} {number(value)}" for name, value in figures.items() if value is not None]
    said = (run.verdict, *known, run.provenance, f"look-ahead {run.lookahead}")
    return f"{run.run_id} {one_line(run.strategy_name)} v{run.version}: {', '.join(said)}"


def _get(desk: Desk, given: GetArguments, _: Call) -> Reply:
    from ringfence.verbs.runs import get_run

    try:
        stored = get_run(desk.database, given.run_id)
    except StoreError as e:
        if not _OF_A_SANDBOX.fullmatch(given.run_id):
            raise
        raise StoreError(f"{e}; the stored run of a backtest_run is its answer's run.run_id") from e
    answer = run_answer(stored.json, stored.draft.text, given.parts, given.most)
    return Reply(answer=answer, text=run_text(answer))


_FIRST = "the store is read"
_LISTS = "List the backtests that are stored, with their figures. Fractions are decimals."
_SHOWS = "Show one stored backtest: verdict, metrics, warnings, and the parts that are asked for."

TOOLS = (
    reading("runs_list", "List stored backtests", _LISTS, ListArguments, RunsAnswer, _list, first=_FIRST),
    reading("runs_get", "Show a stored backtest", _SHOWS, GetArguments, RunAnswer, _get, first=_FIRST),
)
