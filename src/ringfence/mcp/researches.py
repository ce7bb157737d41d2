"""The work of `research_run`: from its arguments to a strategy that ran.

What is asked for is recorded as the command line records it, so `ringfence research --resume ID` can go on with it when
the server was ended. Imports the engine, so it is imported when needed.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from ringfence.base.errors import AgentError, InputError, RefusedError
from ringfence.mcp.answers import whole
from ringfence.mcp.calls import Call, CallerGone
from ringfence.mcp.leavings import make_file
from ringfence.mcp.prices import allowed, load, open_cache
from ringfence.sandbox.job import Limits
from ringfence.sandbox.outcome import Artifact
from ringfence.store import open_store
from ringfence.trade.run import Costs, FillRules, Json
from ringfence.verbs.research import (
    Aim,
    Budget,
    Grounds,
    Means,
    Progress,
    ResearchRequest,
    ResearchResult,
    begin,
    open_grounds,
    research,
)
from ringfence.verbs.research.authors import Authors

if TYPE_CHECKING:
    from ringfence.mcp.clients import Client
    from ringfence.mcp.desk import Desk
    from ringfence.mcp.shelf import Kept
    from ringfence.mcp.tools.research import ResearchArguments

_READABLE = "say it in the words that would be understood"


@dataclass(frozen=True, slots=True, kw_only=True)
class Researched:
    document: dict[str, Json]
    advice: str | None
    kept: tuple[Kept, ...]


def research_and_store(
    desk: Desk,
    given: ResearchArguments,
    research_id: str,
    limits: Limits,
    call: Call,
    on_progress: Callable[[Progress], None],
) -> Researched:
    aim = Aim(objective=given.objective, target=given.target, min_trades=given.min_trades)
    budget = Budget(iterations=given.iterations, minutes=given.max_minutes, usd=given.max_cost, tokens=given.max_tokens)
    _check_spending(desk, budget)
    costs = replace(Costs(), percent=given.fees, slippage_bps=given.slippage_bps)
    rules = FillRules(cash=given.cash, costs=costs, fractional=given.fractional)
    authors = Authors(given.author, max_usd=given.max_cost, environ=desk.environ)
    with ExitStack() as stack:
        first, *others = _grounds(desk, given, stack)
        store = stack.enter_context(open_store(desk.database))
        spec = _spec(desk, given, limits, (first, *others))
        begin(store, research_id, spec, now=_now())
        request = ResearchRequest(
            idea=given.idea, grounds=first, also=tuple(others), aim=aim, budget=budget, rules=rules, seed=given.seed,
            limits=limits, secret=desk.secret(),
        )  # fmt: skip
        sandbox = stack.enter_context(desk.fence.lease())
        means = Means(
            author=authors.pick(given.idea, first.facts()), sandbox=sandbox, store=store, now=_now,
            judges=authors.judges, cancel=call.cancel, on_progress=on_progress,
        )  # fmt: skip
        result = _research(request, means, research_id)
        return _told(desk, given, call.client, result, first)


def _research(request: ResearchRequest, means: Means, research_id: str) -> ResearchResult:
    try:
        result = research(request, means, research_id=research_id)
    except AgentError as e:
        remedy = f"what was done is kept, `ringfence research --resume {research_id}` goes on with it"
        raise type(e)(f"{e}; {remedy}") from e
    if result.status == "cancelled":
        raise CallerGone
    return result


def _check_spending(desk: Desk, budget: Budget) -> None:
    """A caller may spend less than the server allows to one run, and never more."""
    bounds = {"max_cost": (budget.usd, desk.settings.model_run_usd)}
    bounds["max_tokens"] = (budget.tokens, desk.settings.model_run_tokens)
    for name, (asked, most) in bounds.items():
        if asked is not None and most is not None and asked > most:
            raise RefusedError(f"{name}={asked:g} is over this server's maximum of {most:g}: ask for {most:g} or less")


def _grounds(desk: Desk, given: ResearchArguments, stack: ExitStack) -> list[Grounds]:
    if not given.idea.strip():
        raise InputError("the idea is empty: write for example 'Buy when RSI drops below 30, sell above 70'")
    sets = [(given.specs, given.symbols), *(((spec,), ()) for spec in given.also)]
    allowed(desk, (*given.specs, *given.also), given.symbols)  # all of them together, before any is made
    cache = stack.enter_context(open_cache(desk))
    bars = [
        load(
            desk, cache, specs, symbols=symbols, start=given.start, end=given.end, timeframe=given.timeframe,
            repair=given.repair,
        )
        for specs, symbols in sets
    ]  # fmt: skip
    return [stack.enter_context(open_grounds(each)) for each in bars]


def _spec(desk: Desk, given: ResearchArguments, limits: Limits, grounds: tuple[Grounds, ...]) -> dict[str, Json]:
    """In the words of the command line."""
    same = (
        "idea", "start", "end", "timeframe", "repair", "cash", "fees", "slippage_bps", "fractional", "author",
        "iterations", "objective", "target", "min_trades", "max_cost", "max_tokens", "max_minutes", "seed",
    )  # fmt: skip
    return {
        **{name: getattr(given, name) for name in same},
        "ideas": None,
        "data": list(allowed(desk, given.specs, given.symbols)),
        "also": list(allowed(desk, given.also)),
        "symbols": ",".join(given.symbols) or None,
        "model": None,
        "timeout": limits.wall_seconds,
        "memory": f"{limits.memory_mb}m",
        "bars_sha256": [each.splits.whole.sha256 for each in grounds],
    }


def _told(desk: Desk, given: ResearchArguments, client: Client, result: ResearchResult, grounds: Grounds) -> Researched:
    document = result.to_json()
    left = [_file("research.json", "application/json", json.dumps(document, allow_nan=False))]
    if given.report and result.stored is not None:
        from ringfence.verbs.report import tear_sheet

        bars = grounds.splits.whole
        html = tear_sheet(
            result.stored.json, code=result.stored.draft.text, candles=bars.candles, timezone=bars.timezone
        )
        left.append(_file("report.html", "text/html", html))
    return Researched(
        document=json.loads(whole(json.dumps(document, ensure_ascii=False))),
        advice=_advice(desk, result),
        kept=desk.shelf.put(client, result.research_id, left),
    )


def _advice(desk: Desk, result: ResearchResult) -> str | None:
    if result.status != "not_understood":
        return None
    if result.author != "rules":
        return "Say which rules to buy and to sell by, with their numbers."
    if desk.settings.model:
        return f"A model may understand it: call again with author='llm', or {_READABLE}."
    return f"Call again: {_READABLE}. No model is configured on this server, where RINGFENCE_MODEL would name one."


def _file(name: str, mime: str, text: str) -> Artifact:
    return make_file(name, mime, text.encode("utf-8", "replace"))


def _now() -> datetime:
    return datetime.now(UTC)
