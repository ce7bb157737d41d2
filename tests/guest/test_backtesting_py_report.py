"""The host's reader of reports: whatever a script forges, it is a ScriptReport or a ValueError."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from ringfence.trade.packed import Kind, pack_table
from ringfence.trade.scripts import read_script_report

TRADE: dict[str, tuple[Kind, list[object]]] = {
    "id": ("whole", [1]),
    "symbol": ("text", [""]),
    "side": ("text", ["long"]),
    "qty": ("real", [2.0]),
    "entry_time": ("whole", [10]),
    "entry_price": ("real", [1.5]),
    "exit_time": ("whole", [20]),
    "exit_price": ("real", [None]),
    "fees": ("real", [0.1]),
    "pnl": ("real", [1.9]),
    "pnl_pct": ("real", [0.6]),
    "bars_held": ("whole", [3]),
    "entry_reason": ("text", [""]),
}


def equity(times: list[int], values: list[float | None]) -> dict[str, object]:
    return pack_table(len(times), {"time": ("whole", times), "value": ("real", values)})


RUN = {
    "kind": "run",
    "class_name": "Sma",
    "parameters": {"n": 1, "levels": [1, 2.5]},
    "settings": {"cash": 10_000, "commission": [5, 0.1]},
    "bars": {"rows": 2, "first": "2020-01-01T00:00:00", "last": None, "columns": ["Close"], "dated": True},
    "statistics": {"# Trades": 1, "Sharpe Ratio": None, "Duration": "2 days 00:00:00"},
    "trades": pack_table(1, TRADE),
    "open_trades": 0,
    "equity": equity([10, 20], [1.0, None]),
    "cancelled_orders": 0,
    "warnings": [{"text": "few", "count": 2}],
}
REPORT: dict[str, Any] = {
    "runs": [RUN],
    "dropped": 0,
    "backtests": 1,
    "classes": ["Sma"],
    "warnings": [],
    "plots": ["plot.html"],
    "healed": [{"kind": "alias", "what": "x", "count": 1}],
    "needs": [{"kind": "file", "name": "a.csv"}],
    "notes": [],
    "libraries": {"backtesting": "0.6.6"},
}


def test_a_good_report_is_read() -> None:
    report = read_script_report(REPORT)
    assert report.headline is not None and report.headline.trades[0].pnl == 1.9
    assert report.headline.parameters["levels"] == (1, 2.5)
    assert report.headline.equity is not None and len(report.headline.equity) == 2


def _set(*path: object, to: object) -> Callable[[Any], None]:
    def change(report: Any) -> None:
        for part in path[:-1]:
            report = report[part]
        report[path[-1]] = to

    return change


def _trade(name: str, kind: Kind, value: object) -> Callable[[Any], None]:
    return _set("runs", 0, "trades", to=pack_table(1, TRADE | {name: (kind, [value])}))


@pytest.mark.parametrize(
    "change",
    [
        _set("runs", to={}),
        _set("runs", to=[RUN] * 51),
        _set("runs", 0, "kind", to="walk"),
        _set("runs", 0, "kind", to=["run"]),
        _set("runs", 0, "trades", to=[]),
        _set("runs", 0, "trades", "rows", to=2),
        _set("runs", 0, "trades", "rows", to=200_001),
        _set("runs", 0, "trades", "columns", "qty", to=None),
        _trade("qty", "real", math.inf),
        _trade("qty", "real", None),
        _trade("qty", "whole", 1),
        _trade("pnl", "real", math.nan),
        _trade("entry_time", "real", 1.5),
        _trade("entry_time", "whole", None),
        _trade("side", "text", "up"),
        _trade("symbol", "text", "x" * 100_000),
        lambda report: report.update(runs=[RUN | {"trades": {"rows": 5_000, "columns": {}}}] * 50),
        _set("runs", 0, "equity", to=equity([20, 10], [1.0, 2.0])),
        _set("runs", 0, "equity", to=equity([10], [1.0, 2.0])),
        _set("runs", 0, "equity", to=equity([10, 20], [1.0, math.inf])),
        _set("runs", 0, "equity", to=equity([10, 20], [1.0, 1e301])),
        _set("runs", 0, "equity", to=equity(list(range(5_002)), [1.0] * 5_002)),
        _set("runs", 0, "statistics", "nested", to={"a": 1}),
        _set("runs", 0, "statistics", to={str(i): 1 for i in range(10_000)}),
        _set("runs", 0, "parameters", "n", to=[[1]]),
        _set("runs", 0, "cancelled_orders", to=-1),
        _set("healed", 0, "kind", to="magic"),
        _set("needs", to="file"),
        _set("classes", to=[None]),
        _set("libraries", to=[]),
        lambda report: report.pop("runs"),
        lambda report: report["runs"][0].pop("equity"),
    ],
)
def test_an_odd_report_is_a_value_error(change: Callable[[Any], None]) -> None:
    report = copy.deepcopy(REPORT)
    change(report)
    with pytest.raises(ValueError):
        read_script_report(report)


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from([*REPORT, *RUN]), inner, max_size=6),
    max_leaves=20,
)


@settings(max_examples=200, deadline=None)
@given(_JSON, st.sampled_from(sorted(REPORT)), st.sampled_from(sorted(RUN)), st.booleans())
def test_no_json_crashes_the_reader(value: Any, key: str, inner: str, deep: bool) -> None:
    report = {**REPORT, "runs": [{**RUN, inner: value}]} if deep else {**REPORT, key: value}
    for candidate in (report, value):
        try:
            read_script_report(candidate)
        except ValueError:
            continue
