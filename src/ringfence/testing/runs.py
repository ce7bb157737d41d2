"""Runs made by hand, for tests of whatever takes one: no strategy was executed for them."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TypeVar

import numpy as np

from ringfence.trade.metrics import Metrics
from ringfence.trade.orders import Trade
from ringfence.trade.run import (
    BarsRef,
    Curve,
    DraftRef,
    EngineRef,
    FillRow,
    FillRules,
    Json,
    Lookahead,
    OrderRow,
    OutcomeRef,
    Run,
)
from ringfence.trade.times import DAY, parse_moment

TEXT = "class Dip(Strategy):\n    low = 35\n\n    def next(self):\n        self.buy()\n"
_Value = TypeVar("_Value")
_START = parse_moment("2020-01-01")


def make_draft(text: str = TEXT, *, name: str = "dip", parameters: Mapping[str, Json] | None = None) -> DraftRef:
    return DraftRef(
        name=name,
        sha256=hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest(),
        dialect="native",
        class_name="Dip",
        parameters={"low": 35} if parameters is None else parameters,
    )


def make_curve(points: int, *, start: float = 100_000.0, step: float = 12.345678901234567) -> Curve:
    """One point a day."""
    days = np.arange(points, dtype=np.int64)
    return Curve(_START + days * DAY, start + step * np.sin(days) + days * step / 7)


def make_metrics(**changes: object) -> Metrics:
    """Those of one year that made a tenth."""
    made = Metrics(
        start="2020-01-01T00:00:00Z",
        end="2020-12-31T00:00:00Z",
        bars=252,
        years=1.0,
        bars_per_year=252.0,
        initial_equity=100_000.0,
        final_equity=110_000.0,
        peak_equity=112_000.0,
        total_return=0.1,
        cagr=0.1,
        volatility=0.15,
        sharpe=0.7000000000000001,
        sortino=1.1,
        calmar=1.25,
        max_drawdown=-0.08,
        average_drawdown=-0.03,
        max_drawdown_days=31.0,
        exposure=0.4,
        trades=1,
        win_rate=1.0,
        profit_factor=None,
        expectancy=0.1,
        sqn=None,
        kelly=None,
        best_trade=0.1,
        worst_trade=0.1,
        average_trade=0.1,
        average_bars_held=20.0,
        turnover=2.0,
        fees=210.0,
        buy_and_hold=0.16,
        alpha=0.01,
        beta=0.4,
        value_at_risk_95=-0.012,
        expected_shortfall_95=-0.02,
        probabilistic_sharpe=0.75,
        deflated_sharpe=None,
        trials=1,
    )
    return _changed(made, changes)


def make_trade(**changes: object) -> Trade:
    made = Trade(
        id=1,
        symbol="GOOG",
        side="long",
        qty=100.0,
        entry_time=_START + DAY,
        entry_price=1000.1,
        exit_time=_START + 21 * DAY,
        exit_price=1100.3,
        fees=210.0,
        pnl=9810.0,
        pnl_pct=0.0981,
        bars_held=20,
        entry_reason="market",
        exit_reason="target",
        is_partial=False,
    )
    return _changed(made, changes)


def make_run(**changes: object) -> Run:
    """A verified Run of one trade; `changes` are fields of Run."""
    entry = {"symbol": "GOOG", "side": "buy", "qty": 100.0}
    order = {"id": 1, "time": _START, "order_type": "market", "limit_price": None, "stop_price": None}
    fill = {"order_id": 1, "time": _START + DAY, "price": 1000.1, "fee": 100.0, "reason": "market"}
    made = Run(
        draft=make_draft(),
        bars=BarsRef(
            sha256="b" * 64,
            symbols=("GOOG",),
            timeframe="1d",
            start="2020-01-01T00:00:00Z",
            end="2020-12-31T00:00:00Z",
            rows=252,
            source="sample:GOOG",
            synthetic=False,
            adjusted="splits",
            notes=(),
        ),
        engine=EngineRef(version="1", rules=FillRules(), fed="history", libraries={"numpy": "2.2.0"}),
        seed=0,
        verdict="traded",
        reason="",
        metrics=make_metrics(),
        trades=(make_trade(),),
        fills=(_make(FillRow, {**entry, **fill}),),
        orders=(_make(OrderRow, {**entry, **order, "status": "filled", "reason": ""}),),
        equity=make_curve(252),
        indicators={"rsi": make_curve(252, start=50.0, step=0.1)},
        benchmark=make_curve(252, step=20.0),
        statistics=None,
        warnings=("1 order was cancelled for margin",),
        healed=(),
        guidance=(),
        provenance="verified",
        lookahead=Lookahead(status="clean", reason="3 cuts, no difference", cuts=3),
        outcome=OutcomeRef(status="ok", reason="", failing=None, stdout="", stderr="", backend="native"),
    )
    return _changed(made, changes)


def _changed(made: _Value, changes: Mapping[str, object]) -> _Value:
    change: Callable[..., _Value] = replace  # checked by the dataclass when it is called
    return change(made, **changes)


def _make(kind: Callable[..., _Value], values: Mapping[str, object]) -> _Value:
    return kind(**values)
