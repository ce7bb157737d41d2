"""The work of `backtest_run`: from its arguments to a stored Run. Imports the engine, so it is imported when needed."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from ringfence.base.errors import DraftError, RefusedError
from ringfence.markets import load_bars
from ringfence.markets.cache import Cache
from ringfence.markets.spec import parse_spec
from ringfence.mcp.calls import CallerGone
from ringfence.sandbox.job import Cancel, Limits
from ringfence.store import RunUsage, StoredRun, open_store
from ringfence.trade.bars import Bars
from ringfence.trade.draft import Draft, parse_parameter, range_warnings, read_draft
from ringfence.trade.run import Costs, FillRules, Json
from ringfence.verbs.backtest import Finished, Request, backtest

if TYPE_CHECKING:
    from ringfence.mcp.desk import Desk
    from ringfence.mcp.tools.backtest import BacktestArguments

_ON_THE_HOST = ("csv", "parquet")


@dataclass(frozen=True, slots=True, kw_only=True)
class Stored:
    finished: Finished
    run: StoredRun
    remarks: tuple[str, ...]  # on parameters outside of their range


def run_and_store(desk: Desk, given: BacktestArguments, limits: Limits, cancel: Cancel) -> Stored:
    draft = _read_draft(given)
    parameters = _parameters(given, draft)
    bars, bars_file = _load(desk, given)
    request = Request(
        draft=draft,
        bars=bars,
        bars_file=bars_file,
        parameters=parameters,
        rules=_rules(given),
        seed=given.seed,
        limits=limits,
        lookahead=given.lookahead,
        streamed=given.streamed,
        heal=given.heal,
        secret=desk.secret(),
        cancel=cancel,
    )
    with desk.fence.lease() as sandbox:
        finished = backtest(request, sandbox=sandbox)
    if finished.run.verdict == "cancelled":
        raise CallerGone  # half a backtest must not take the place of a whole one in the store
    run = _store(desk.database, finished, draft)
    return Stored(finished=finished, run=run, remarks=range_warnings(draft, parameters))


def _read_draft(given: BacktestArguments) -> Draft:
    try:
        return read_draft(given.code, name=given.name, class_name=given.class_name)
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


def _load(desk: Desk, given: BacktestArguments) -> tuple[Bars, Path] | tuple[None, None]:
    if not given.specs:
        return None, None
    cache = Cache(desk.home / "bars")
    bars = load_bars(
        [_checked(spec, desk.settings.mcp_data_dir) for spec in given.specs],
        symbols=given.symbols,
        start=given.start,
        end=given.end,
        timeframe=given.timeframe,
        cache=cache,
        environ=desk.environ,
        now_ns=time.time_ns(),
    )
    return bars, cache.materialise(bars)


def _checked(text: str, folder: Path | None) -> str:
    """A caller names no file of the host but those in the folder that the server was given for it."""
    spec = parse_spec(text)
    if spec.source not in _ON_THE_HOST:
        return text
    if folder is None:
        raise RefusedError(
            f"{text!r} is a file of the host, and this server shows none: name another source, "
            "or set RINGFENCE_MCP_DATA_DIR to the folder that callers may read"
        )
    place = (folder / spec.options["path"]).resolve()
    if not place.is_relative_to(folder.resolve()):
        raise RefusedError(f"{text!r} is outside of the server's data folder: name a file inside it")
    return replace(spec, options={**spec.options, "path": str(place)}).text


def _store(url: str, finished: Finished, draft: Draft) -> StoredRun:
    used = finished.outcome.usage
    usage = RunUsage(wall_ms=used.wall_ms, cpu_ms=used.cpu_ms, peak_memory_bytes=used.peak_memory_bytes)
    with open_store(url) as store:
        record = store.save_run(finished.run, draft_text=draft.text, usage=usage, now=datetime.now(UTC))
        return store.get_run(record.run_id)
