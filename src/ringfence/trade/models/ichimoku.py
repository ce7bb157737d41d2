"""The Ichimoku cloud, with its four periods made of one number."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ringfence.base.errors import DataError
from ringfence.trade.bars import Floats


@dataclass(frozen=True, slots=True, kw_only=True)
class IchimokuPeriods:
    conversion: int
    base: int
    span: int
    ahead: int


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Cloud:
    """One value per bar, and for the spans `ahead` more: a chart draws them that far to the right.

    `lagging` is the close drawn `ahead` bars to the left. It is for looking at: a rule that reads it knows the future.
    """

    periods: IchimokuPeriods
    conversion: Floats
    base: Floats
    span_a: Floats
    span_b: Floats
    lagging: Floats


def ichimoku_periods(period: int) -> IchimokuPeriods:
    """The classic 9, 26, 52, 26 in proportion: `period` is the conversion line's, and 9 gives the classic ones."""
    if not 2 <= period <= 1000:
        raise DataError(f"an Ichimoku cloud of {period} bars cannot be made: choose a period from 2 to 1000")
    base = max(period + 1, round(period * 26 / 9))
    return IchimokuPeriods(conversion=period, base=base, span=2 * base, ahead=base)


def ichimoku_cloud(high: Floats, low: Floats, close: Floats, periods: IchimokuPeriods) -> Cloud:
    if len(close) < periods.span:
        raise DataError(f"{len(close)} bars are too few for a span of {periods.span}: load more, or lower the period")
    quick, slow, slowest = (_middle(high, low, n) for n in (periods.conversion, periods.base, periods.span))
    later = np.full(periods.ahead, np.nan)
    return Cloud(
        periods=periods,
        conversion=quick,
        base=slow,
        span_a=np.concatenate([later, (quick + slow) / 2]),
        span_b=np.concatenate([later, slowest]),
        lagging=np.concatenate([close[periods.ahead :], later]),
    )


def _middle(high: Floats, low: Floats, period: int) -> Floats:
    """Half way between the highest high and the lowest low of the last `period` bars."""
    made = np.full(len(high), np.nan)
    tops = np.lib.stride_tricks.sliding_window_view(high, period).max(axis=1)
    bottoms = np.lib.stride_tricks.sliding_window_view(low, period).min(axis=1)
    made[period - 1 :] = (tops + bottoms) / 2
    return made
