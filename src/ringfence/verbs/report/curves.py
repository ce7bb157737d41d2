"""Everything that is drawn over time, on one shared axis.

All charts of a page share one list of moments, so that they can be moved together by counting points. An axis with
more points than a screen can show is cut into stretches of equally many: a candle then is the stretch's first open,
highest high, lowest low, last close and summed volume; a curve is its last value, a drawdown its deepest.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ringfence.trade import metrics
from ringfence.trade.bars import Candles, Floats, Ints
from ringfence.trade.run import Curve, Json
from ringfence.trade.times import parse_moment
from ringfence.verbs.report.reading import number, rows, text

MOST_POINTS = 20_000
MOST_CANDLES = 200_000  # of all instruments together: a page of many must still open


@dataclass(frozen=True, slots=True, eq=False)
class Axis:
    """The moments that are drawn, and how many there were."""

    time: Ints  # where each stretch begins
    moments: int
    step: int  # moments in a stretch

    @property
    def thinned(self) -> bool:
        return self.step > 1

    def place(self, moments: Ints) -> Ints:
        """Which stretch each moment falls into."""
        return np.clip(np.searchsorted(self.time, moments, side="right") - 1, 0, max(len(self.time) - 1, 0))


def make_axis(columns: Sequence[Ints], most: int = MOST_POINTS) -> Axis:
    found = [column for column in columns if len(column)]
    every = np.unique(np.concatenate(found)) if found else np.empty(0, np.int64)
    step = max(1, -(-len(every) // most))
    return Axis(every[::step], len(every), step)


def most_points(instruments: int) -> int:
    return max(500, min(MOST_POINTS, MOST_CANDLES // max(1, instruments)))


def read_curve(value: Json) -> Curve | None:
    """The points that have a value."""
    points = [(text(row.get("time")), number(row.get("value"))) for row in rows(value)]
    kept = [(parse_moment(time), at) for time, at in points if at is not None]
    if not kept:
        return None
    times, values = zip(*kept, strict=True)
    return Curve(np.array(times, np.int64), np.array(values, np.float64))


def last_values(axis: Axis, curve: Curve) -> Floats:
    """The curve on the axis; NaN where it has no point."""
    told = np.full(len(axis.time), np.nan)
    told[axis.place(curve.time)] = curve.value  # of several in one stretch the last one written stays
    return told


def lowest_values(axis: Axis, curve: Curve) -> Floats:
    told = np.full(len(axis.time), np.inf)
    np.minimum.at(told, axis.place(curve.time), curve.value)
    return np.where(np.isinf(told), np.nan, told)


def fall(equity: Curve) -> Curve:
    """How far below its highest value so far, as a negative fraction."""
    return Curve(equity.time, metrics.drawdown(equity.value))


def on_axis(axis: Axis, candles: Candles) -> Mapping[str, Floats]:
    """Open, high, low, close and volume per stretch; NaN where the instrument has no bar."""
    if not len(candles):
        return {}
    place = axis.place(candles.time)
    begins = np.flatnonzero(np.diff(place, prepend=-1))
    ends = np.append(begins[1:], len(place)) - 1
    told = {
        "open": candles.open[begins],
        "high": np.maximum.reduceat(candles.high, begins),
        "low": np.minimum.reduceat(candles.low, begins),
        "close": candles.close[ends],
        "volume": np.add.reduceat(candles.volume, begins),
    }
    spread = {}
    for name, values in told.items():
        spread[name] = np.full(len(axis.time), np.nan)
        spread[name][place[begins]] = values
    return spread


def exposure(fills: Json, candles: Mapping[str, Candles], equity: Curve) -> Curve | None:
    """The value of what was held, short positions negative, as a fraction of the equity at the same moments."""
    held = np.zeros(len(equity))
    seen = False
    for symbol, bars in candles.items():
        mine = [row for row in rows(fills) if row.get("symbol") == symbol]
        if not mine or not len(bars):
            continue
        seen = True
        signed = [(number(r.get("qty")) or 0.0) * (1 if r.get("side") == "buy" else -1) for r in mine]
        when = np.array([parse_moment(text(r.get("time"))) for r in mine], np.int64)
        order = np.argsort(when, kind="stable")
        total = np.append(0.0, np.cumsum(np.array(signed)[order]))
        quantity = total[np.searchsorted(when[order], equity.time, side="right")]
        at = np.searchsorted(bars.time, equity.time, side="right") - 1
        held += np.where(at >= 0, quantity * bars.close[np.maximum(at, 0)], 0.0)
    if not seen:
        return None
    with np.errstate(divide="ignore", invalid="ignore"):
        share = np.where(equity.value > 0, held / equity.value, np.nan)
    return Curve(equity.time, share)


def lies_on_prices(values: Floats, candles: Candles, times: Ints) -> bool:
    """Whether an indicator is a price (a moving average, a band) and belongs on the candles."""
    at = np.searchsorted(candles.time, times, side="right") - 1
    usable = (at >= 0) & np.isfinite(values)
    if not usable.any():
        return False
    ratio = values[usable] / candles.close[at[usable]]
    # A band may leave the prices for a while; an oscillator is nowhere near them most of the time.
    return bool(np.median(np.abs(ratio - 1.0)) < 0.35)
