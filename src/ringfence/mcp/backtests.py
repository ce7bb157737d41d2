"""The work of `backtest_run`: from its arguments to a stored Run. Imports the engine, so it is imported when needed."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from ringfence.base.errors import DraftError
from ringfence.markets.cache import Cache
from ringfence.mcp.calls import Call, CallerGone, Doing
from ringfence.mcp.fence import WAITING
from ringfence.mcp.prices import load, open_cache
from ringfence.sandbox.job import Limits
from ringfence.sandbox.texts import read_draft
from ringfence.store import RunUsage, StoredRun, open_store
from ringfence.trade.bars import Bars
from ringfence.trade.draft import Draft, parse_parameter, range_warnings
from ringfence.trade.run import Costs, FillRules, Json
from ringfence.verbs.backtest import Finished, Request, backtest

if TYPE_CHECKING:
    from ringfence.mcp.desk import Desk
    from ringfence.mcp.tools.backtest import BacktestArguments


@dataclass(frozen=True, slots=True, kw_only=True)
class Stored:
    finished: Finished
    run: StoredRun
    remarks: tuple[str, ...]  # on parameters outside of their range


def run_and_store(desk: Desk, given: BacktestArguments, limits: Limits, call: Call) -> Stored:
    draft = _read_draft(desk, given, limits, call.doing)
    parameters = _parameters(given, draft)
    with open_cache(desk) as cache:
        bars = _load(desk, given, cache)
        request = Request(
            draft=draft,
            bars=bars,
            bars_file=None if bars is None else cache.materialise(bars),
            parameters=parameters,
            rules=_rules(given),
            seed=given.seed,
            limits=limits,
            lookahead=given.lookahead,
            streamed=given.streamed,
            heal=given.heal,
            secret=desk.secret(),
            cancel=call.cancel,
        )
        call.doing.becomes(WAITING)
        with desk.fence.lease() as sandbox:
            # It runs once, and again without the future: each time it may have to wait for a place.
            call.doing.becomes("waiting for the backtest", f"; each of its runs has {limits.wall_seconds:g} s")
            finished = backtest(request, sandbox=sandbox)
    if finished.cut_short:
        raise CallerGone  # half a backtest, or half a check of one, must not take the place of a whole one in the store
    run = _store(desk.database, finished, draft)
    return Stored(finished=finished, run=run, remarks=range_warnings(draft, parameters))


def _read_draft(desk: Desk, given: BacktestArguments, limits: Limits, doing: Doing) -> Draft:
    doing.becomes(WAITING)
    try:
        with desk.fence.lease() as sandbox:
            return read_draft(given.code, name=given.name, class_name=given.class_name, sandbox=sandbox, limits=limits)
    except DraftError as e:
        place = f"line {e.line}: " if e.line else ""
        raise DraftError(f"{place}{e}", verdict=e.verdict, line=e.line) from e


def _parameters(given: BacktestArguments, draft: Draft) -> dict[str, Json]:
    words = {name: value if isinstance(value, str) else json.dumps(value) for name, value in given.parameters.items()}
    return dict(parse_parameter(f"{name}={word}", draft) for name, word in words.items())


def _rules(given: BacktestArguments) -> FillRules:
    return FillRules(
        cash=given.cash,
        margin=given.margin,
        shorting=given.shorting,
        fractional=given.fractional,
        both_in_one_bar=given.both_in_one_bar,
        close_at_end=given.close_at_end,
        costs=Costs(percent=given.fees, slippage_bps=given.slippage_bps, spread_bps=given.spread_bps),
    )


def _load(desk: Desk, given: BacktestArguments, cache: Cache) -> Bars | None:
    if not given.specs:
        return None
    return load(
        desk, cache, given.specs, symbols=given.symbols, start=given.start, end=given.end, timeframe=given.timeframe,
        repair=given.repair,
    )  # fmt: skip


def _store(url: str, finished: Finished, draft: Draft) -> StoredRun:
    used = finished.outcome.usage
    usage = RunUsage(wall_ms=used.wall_ms, cpu_ms=used.cpu_ms, peak_memory_bytes=used.peak_memory_bytes)
    with open_store(url) as store:
        record = store.save_run(finished.run, draft_text=draft.text, usage=usage, now=datetime.now(UTC))
        return store.get_run(record.run_id)
