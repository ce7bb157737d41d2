"""What the page's script draws and sorts, as compact JSON: one time axis, and columns along it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from ringfence.trade.bars import Candles, Floats
from ringfence.trade.run import Curve, Json
from ringfence.trade.times import DAY, SECOND, parse_moment, timeframe_ns
from ringfence.verbs.report import curves
from ringfence.verbs.report.inert import inert
from ringfence.verbs.report.reading import Table, number, rows, table, text, whole

_DIGITS = 7  # more than a screen can show


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Charts:
    """The curves of a run on their axis, and the notes to put beside them."""

    axis: curves.Axis
    candles: Mapping[str, Candles]
    equity: Curve | None
    benchmark: Curve | None
    exposure: Curve | None
    indicators: Mapping[str, Curve] = field(default_factory=dict)
    zone: str
    daily: bool  # a bar is a day or longer: a date says it all

    @property
    def notes(self) -> tuple[str, ...]:
        if not self.axis.thinned:
            return ()
        drawn, every = f"{len(self.axis.time):,}", f"{self.axis.moments:,}"
        told = f"{every} bars are drawn as {drawn} candles, each the open, high, low and close of {self.axis.step} bars"
        return (f"{told}. The metrics and the trades are those of all bars.",)


def make_charts(document: Table, candles: Mapping[str, Candles], zone: str) -> Charts:
    equity = curves.read_curve(document.get("equity"))
    benchmark = curves.read_curve(document.get("benchmark"))
    found = {name: curves.read_curve(points) for name, points in table(document.get("indicators")).items()}
    indicators = {name: curve for name, curve in found.items() if curve is not None}
    drawn = [c.time for c in candles.values()]
    # The curves of a run lie on its bars; they make the axis only where the bars are not there.
    lines = [curve.time for curve in (equity, benchmark, *indicators.values()) if curve is not None]
    timeframe = text(table(document.get("bars")).get("timeframe"))
    columns = drawn or lines
    dates = all(not (column % DAY).any() for column in columns)
    return Charts(
        axis=curves.make_axis(columns, curves.most_points(len(candles))),
        candles=candles,
        equity=equity,
        benchmark=benchmark,
        exposure=curves.exposure(document.get("fills"), candles, equity) if equity is not None else None,
        indicators=indicators,
        zone="UTC" if dates else zone,  # a date is the same everywhere
        daily=timeframe_ns(timeframe) >= DAY if timeframe else dates,
    )


def page_data(charts: Charts, document: Table) -> str:
    """JSON that may stand inside a script element: nothing in it can end the element or start a comment."""
    data = {
        "axis": (charts.axis.time // SECOND).tolist(),
        "zone": charts.zone,
        "daily": charts.daily,
        "curves": _lines(charts),
        "symbols": [
            {"name": inert(name), **{k: _column(v) for k, v in curves.on_axis(charts.axis, candles).items()}}
            for name, candles in charts.candles.items()
        ],
        "indicators": [_indicator(charts, name, curve) for name, curve in charts.indicators.items()],
        "trades": _trades(charts, document),
    }
    told = json.dumps(data, separators=(",", ":"), allow_nan=False)
    return told.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _lines(charts: Charts) -> dict[str, list[float | None]]:
    axis, told = charts.axis, {}
    if charts.equity is not None:
        told["equity"] = _column(curves.last_values(axis, charts.equity))
        told["drawdown"] = _column(curves.lowest_values(axis, curves.fall(charts.equity)))
    if charts.benchmark is not None:
        told["benchmark"] = _column(curves.last_values(axis, charts.benchmark))
        told["benchmark_drawdown"] = _column(curves.lowest_values(axis, curves.fall(charts.benchmark)))
    if charts.exposure is not None:
        told["exposure"] = _column(curves.last_values(axis, charts.exposure))
    return told


def _column(values: Floats) -> list[float | None]:
    finite = np.isfinite(values).tolist()
    return [float(f"{v:.{_DIGITS}g}") if ok else None for v, ok in zip(values.tolist(), finite, strict=True)]


def _indicator(charts: Charts, name: str, curve: Curve) -> dict[str, Json]:
    """An indicator that names an instrument is drawn with that one only."""
    words = name.replace("(", " ").replace(")", " ").replace(",", " ").replace("[", " ").split()
    mine = next((symbol for symbol in charts.candles if symbol in words), None)
    against = charts.candles.get(mine) if mine else next(iter(charts.candles.values()), None)
    on_prices = against is not None and curves.lies_on_prices(curve.value, against, curve.time)
    return {
        "name": inert(name),
        "symbol": inert(mine) if mine else None,
        "on_prices": on_prices,
        "values": _column(curves.last_values(charts.axis, curve)),
    }


def _trades(charts: Charts, document: Table) -> list[dict[str, Json]]:
    return [_trade(charts.axis, row) for row in rows(document.get("trades"))]


def _trade(axis: curves.Axis, row: Table) -> dict[str, Json]:
    entry, exit_ = (_moment(row.get(name)) for name in ("entry_time", "exit_time"))
    kept: dict[str, Json] = {
        name: number(row.get(name)) for name in ("qty", "entry_price", "exit_price", "fees", "pnl", "pnl_pct")
    }
    words: dict[str, Json] = {
        name: inert(text(row.get(name))) for name in ("symbol", "side", "entry_reason", "exit_reason")
    }
    return {
        "id": whole(row.get("id")),
        "bars_held": whole(row.get("bars_held")),
        "is_partial": row.get("is_partial") is True,
        "entry_time": None if entry is None else entry // SECOND,
        "exit_time": None if exit_ is None else exit_ // SECOND,
        "entry_at": _place(axis, entry),
        "exit_at": _place(axis, exit_),
        **kept,
        **words,
    }


def _moment(value: Json) -> int | None:
    return parse_moment(value) if isinstance(value, str) else None


def _place(axis: curves.Axis, moment: int | None) -> int | None:
    """Its point on the axis; None where there is no axis to place it on."""
    if moment is None or not len(axis.time):
        return None
    return int(axis.place(np.array([moment], np.int64))[0])
