"""Runs of real programs, made in this process: the evaluators are given what a backtest would give them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from ringfence.agents.rules.compiler import Understood, compile_request
from ringfence.evaluators.case import Case
from ringfence.testing.evaluator import look
from ringfence.trade import results
from ringfence.trade.bars import Bars, Candles
from ringfence.trade.description import Description
from ringfence.trade.description.code import to_code
from ringfence.trade.draft import Draft, read_draft
from ringfence.trade.engine import Engine
from ringfence.trade.metrics import measure
from ringfence.trade.run import BarsRef, Curve, DraftRef, EngineRef, FillRules, Json, Lookahead, OutcomeRef, Run
from ringfence.trade.times import DAY, iso, parse_moment

SYMBOLS = ("GOOG", "AAPL", "MSFT")
_START = parse_moment("2018-01-01")


def make_bars(symbols: tuple[str, ...] = ("GOOG",), *, rows: int = 600, seed: int = 1) -> Bars:
    """Weekdays of a wandering price, each instrument by itself."""
    days = [k for k in range(rows * 2) if (k % 7) < 5][:rows]  # 2018 began on a Monday
    time = _START + np.array(days, dtype=np.int64) * DAY
    made = {}
    for n, symbol in enumerate(symbols):
        rng = np.random.default_rng(seed * 100 + n)
        close = 100 * np.exp(np.cumsum(rng.normal(0.0003, 0.02, rows)))
        opened = close * np.exp(rng.normal(0, 0.006, rows))
        high = np.maximum(opened, close) * (1 + np.abs(rng.normal(0, 0.006, rows)))
        low = np.minimum(opened, close) * (1 - np.abs(rng.normal(0, 0.006, rows)))
        made[symbol] = Candles(time, opened, high, low, close, rng.uniform(1e5, 1e6, rows))
    return Bars(candles=made, timeframe="1d", source="synthetic:test", calendar="XNYS", timezone="America/New_York")


def describe(words: str, symbols: tuple[str, ...] = SYMBOLS) -> Description:
    found = compile_request(words, symbols=symbols, timeframe="1d")
    assert isinstance(found, Understood), found
    return found.description


def play(
    text: str, bars: Bars, *, parameters: Mapping[str, Json] | None = None, rules: FillRules | None = None
) -> tuple[Draft, Run]:
    """As `ringfence backtest` would, but for the fence."""
    draft, rules = read_draft(text, name="dip"), rules or FillRules()
    scope: dict[str, object] = {"__name__": "program"}
    exec(compile(draft.text, "program.py", "exec"), scope)
    kind = scope[str(draft.class_name)]
    engine = Engine(bars, kind(), dict(parameters or {}), rules)  # type: ignore[operator]
    engine.play()
    return draft, _run(draft, bars, engine, dict(parameters or {}), rules)


def _run(draft: Draft, bars: Bars, engine: Engine, given: Mapping[str, Json], rules: FillRules) -> Run:
    timeline: list[int] = bars.timeline().tolist()
    book = engine.book
    curves = results.curves(book, bars)
    trades = results.trades(book, timeline)
    return Run(
        draft=DraftRef(
            name=draft.name,
            sha256=draft.sha256,
            dialect=draft.dialect,
            class_name=draft.class_name,
            parameters={**{p.name: p.default for p in draft.parameters}, **given},
        ),
        bars=BarsRef(
            sha256=bars.sha256,
            symbols=bars.symbols,
            timeframe=bars.timeframe,
            start=iso(bars.start),
            end=iso(bars.end),
            rows=bars.rows,
            source=bars.source,
            synthetic=bars.synthetic,
            adjusted=bars.adjusted,
            notes=(),
        ),
        engine=EngineRef(version="1", rules=rules, fed="history", libraries={}),
        seed=0,
        verdict="traded" if book.fills else "no_trades",
        reason="",
        metrics=measure(
            time=curves.time,
            equity=curves.equity,
            trades=trades,
            exposure=curves.invested,
            turnover_value=sum(abs(fill.quantity) * fill.price for fill in book.fills),
            fees=sum(fill.fee for fill in book.fills),
            initial_equity=rules.cash,
            benchmark=curves.benchmark,
            timeframe=bars.timeframe,
            calendar=bars.calendar,
        ),
        trades=trades,
        fills=results.fill_rows(book, timeline),
        orders=results.order_rows(book, timeline),
        equity=Curve(curves.time, curves.equity),
        indicators={},
        benchmark=Curve(curves.time, curves.benchmark),
        statistics=None,
        warnings=(),
        healed=(),
        guidance=() if book.fills else ("the closest the RSI came to 5 was 12.3",),
        provenance="verified",
        lookahead=Lookahead(status="clean", reason="3 cuts, no difference", cuts=3),
        outcome=OutcomeRef(status="ok", reason="", failing=None, stdout="", stderr="", backend="native"),
    )


def case_of(
    words: str,
    bars: Bars | None = None,
    *,
    text: str | None = None,
    parameters: Mapping[str, Json] | None = None,
    rules: FillRules | None = None,
    described: bool = True,
) -> Case:
    """The words, read by the offline author; `text` is another program that is said to do the same."""
    bars = bars or make_bars()
    description = describe(words)
    draft, run = play(text or to_code(description), bars, parameters=parameters, rules=rules)
    return look(Case(idea=words, draft=draft, description=description if described else None, run=run, bars=bars))


def with_run(case: Case, **changes: object) -> Case:
    assert case.run is not None
    return replace(case, run=replace(case.run, **changes))  # type: ignore[arg-type]  # fields of Run
