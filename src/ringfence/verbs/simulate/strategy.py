"""What else a stored run could have come to: its trades, drawn again."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass

from ringfence.base.errors import DataError
from ringfence.sandbox.job import Json
from ringfence.store import StoredRun
from ringfence.trade.models.resample import LEAST_TRADES
from ringfence.verbs.runs import get_run
from ringfence.verbs.simulate.checks import check_range, check_size
from ringfence.verbs.simulate.data import Source
from ringfence.verbs.simulate.desk import Desk, work_out
from ringfence.verbs.simulate.finding import Finding, Told
from ringfence.verbs.simulate.portfolio import DRAWDOWN
from ringfence.verbs.simulate.schema import COUNT, FRACTION, POSITIVE, in_order, known, read_numbers, read_rows
from ringfence.verbs.simulate.words import level, money, percent, plural

_SHAPE = {
    "lower": POSITIVE, "median": POSITIVE, "upper": POSITIVE, "mean": POSITIVE, "p_up": FRACTION,
    "drawdown_median": DRAWDOWN, "drawdown_lower": DRAWDOWN, "p_ruin": FRACTION, "trades": COUNT,
}  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class StrategyQuestion:
    """`trades` is how many are drawn for each future; None means as many as the run had."""

    run_id: str
    trades: int | None = None
    confidence: float = 0.95
    ruin: float = 0.5
    paths: int = 5_000

    def __post_init__(self) -> None:
        check_range("trades", self.trades, 1, 100_000)
        check_range("confidence", self.confidence, 0.5, 0.999)
        check_range("ruin", self.ruin, 0.01, 1.0)
        check_range("paths", self.paths, 100, 1_000_000)


def ask_strategy(question: StrategyQuestion, desk: Desk, *, database_url: str) -> Finding:
    run = get_run(database_url, question.run_id)
    pnl, cash = closed_trades(run)
    count = question.trades or len(pnl)
    check_size(question.paths, count)

    def read(result: Json) -> Told:
        n = read_numbers(result, _SHAPE)
        in_order(n, "lower", "median", "upper")
        fan = read_rows(result, "fan", rows=5, columns=count + 1)
        n |= {"cash": cash, "drawn": count, "confidence": question.confidence, "ruin": question.ruin}
        return Told(
            lead=_lead(run, question, count, cash, n),
            horizon=plural(count, "trade"),
            assumptions=(
                "trades are independent of each other, and the next ones are like those of the run",
                "each trade gains or loses the share of the money that it did in the run, and none overlap",
                f"the run's own costs are in its trades; its numbers are {run.record.provenance}",
            ),
            observations=len(pnl),
            observed="closed trades",
            numbers=n,
            series={"fan": [list(row) for row in fan]},
        )

    values: dict[str, Json] = {
        "CASH": cash, "TRADES": count, "CONFIDENCE": question.confidence, "RUIN": question.ruin,
        "PATHS": question.paths, "SEED": desk.seed, "PLOT": desk.plot,
    }  # fmt: skip
    files = {"pnl.json": json.dumps(pnl).encode()}
    return work_out(desk, "strategy", values, source=_source(run, desk.today), read=read, files=files)


def closed_trades(run: StoredRun) -> tuple[list[float], float]:
    """The gains of the trades that were closed, in the order of their exits, and the money at the start."""
    given = run.json.get("trades")
    rows = [t for t in given if isinstance(t, Mapping) and t.get("exit_time")] if isinstance(given, list) else []
    rows.sort(key=lambda trade: str(trade["exit_time"]))
    pnl = [float(p) for t in rows if isinstance(p := t.get("pnl"), (int, float))]
    if len(pnl) < LEAST_TRADES:
        raise DataError(
            f"run {run.record.run_id} has {plural(len(pnl), 'closed trade')}, and a simulation needs {LEAST_TRADES}: "
            "choose another one from `ringfence runs list`"
        )
    engine = run.json.get("engine")
    fills = engine.get("fills") if isinstance(engine, Mapping) else None
    cash = fills.get("cash") if isinstance(fills, Mapping) else None
    if not isinstance(cash, (int, float)) or cash <= 0:
        raise DataError(
            f"run {run.record.run_id} does not say with how much money it began, as a script with an engine of its own "
            "does not: choose a run of a native strategy"
        )
    return pnl, float(cash)


def _source(run: StoredRun, today: str) -> Source:
    bars = run.json.get("bars")
    spec = f"run {run.record.run_id} of {run.record.strategy_name}"
    if not isinstance(bars, Mapping):
        return Source(spec=spec, asked_on=today)
    symbols = bars.get("symbols")
    rows = bars.get("rows")
    return Source(
        spec=f"{spec} on {bars.get('source')}",
        asked_on=today,
        symbols=tuple(map(str, symbols)) if isinstance(symbols, list) else (),
        timeframe=str(bars.get("timeframe")),
        first=str(bars.get("start")).removesuffix("T00:00:00Z"),
        last=str(bars.get("end")).removesuffix("T00:00:00Z"),
        bars=rows if isinstance(rows, int) else 0,
        sha256=str(bars.get("sha256")),
        synthetic=bars.get("synthetic") is True,
    )


def _lead(run: StoredRun, question: StrategyQuestion, count: int, cash: float, n: Mapping[str, float | None]) -> str:
    sure = level(question.confidence)
    return (
        f"{plural(count, 'trade')} like those of {run.record.strategy_name} make {money(cash)} into between "
        f"{money(known(n, 'lower'))} and {money(known(n, 'upper'))} in {sure} of {question.paths:,} draws, with a "
        f"median of {money(known(n, 'median'))}, and into more than it was in {percent(known(n, 'p_up'))} of them. "
        f"The deepest fall is {percent(known(n, 'drawdown_median'))} in the median draw, and "
        f"{percent(known(n, 'drawdown_lower'))} or deeper in {level(1 - question.confidence)} of them. "
        f"{percent(question.ruin, 0)} of the money is lost at some point in {percent(known(n, 'p_ruin'))} of them."
    )
