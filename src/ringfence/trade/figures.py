"""The figures that make up Metrics, by what they are computed from: returns, falls, a benchmark, trades."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TypedDict

import numpy as np

from ringfence.trade.bars import Floats, Ints
from ringfence.trade.curves import drawdown, falls
from ringfence.trade.orders import Trade
from ringfence.trade.sharpe import FLAT, Moments, deflated_sharpe, moments, probabilistic_sharpe
from ringfence.trade.times import DAY

_TAIL = 0.05


class ReturnFigures(TypedDict):
    volatility: float | None
    sharpe: float | None
    sortino: float | None
    value_at_risk_95: float | None
    expected_shortfall_95: float | None
    probabilistic_sharpe: float | None
    deflated_sharpe: float | None


class FallFigures(TypedDict):
    max_drawdown: float
    average_drawdown: float | None
    max_drawdown_days: float | None


class MarketFigures(TypedDict):
    alpha: float | None
    beta: float | None


class TradeFigures(TypedDict):
    trades: int
    open_trades: int
    win_rate: float | None
    profit_factor: float | None
    expectancy: float | None
    sqn: float | None
    kelly: float | None
    best_trade: float | None
    worst_trade: float | None
    average_trade: float | None
    average_bars_held: float | None


def finite(value: float | None) -> float | None:
    """None in place of what no JSON can carry."""
    return float(value) if value is not None and math.isfinite(value) else None


@np.errstate(over="ignore", invalid="ignore")  # a return out of all bounds ends as None, not as a warning
def of_returns(
    returns: Floats, per_year: float, risk_free: float, trials: int, trial_sharpe_variance: float | None
) -> ReturnFigures:
    """`risk_free` is per bar, `trial_sharpe_variance` is of annualised ratios."""
    excess = returns - risk_free
    root = math.sqrt(per_year)
    sample = moments(excess)
    deviation = _deviation(returns, sample)
    at_risk, shortfall = _tail(returns)
    variance = None if trial_sharpe_variance is None else trial_sharpe_variance / per_year
    return ReturnFigures(
        volatility=None if deviation is None else finite(deviation * root),
        sharpe=finite(sample.sharpe * root) if sample else None,
        sortino=_sortino(excess, root),
        value_at_risk_95=at_risk,
        expected_shortfall_95=shortfall,
        probabilistic_sharpe=finite(probabilistic_sharpe(sample)) if sample else None,
        deflated_sharpe=finite(deflated_sharpe(sample, trials, variance)) if sample else None,
    )


def _deviation(returns: Floats, sample: Moments | None) -> float | None:
    if sample:
        return sample.deviation
    return float(returns.std(ddof=1)) if len(returns) > 1 else None


def _sortino(excess: Floats, root: float) -> float | None:
    if len(excess) < 2:
        return None
    losses = np.minimum(excess, 0.0)
    losses *= losses  # no np.dot: it wakes a thread per core for a sum that takes microseconds
    downside = math.sqrt(float(losses.sum()) / len(excess))
    return finite(float(excess.mean()) / downside * root) if downside > FLAT else None


def _tail(returns: Floats) -> tuple[float | None, float | None]:
    """The 5 % quantile, interpolated, and the mean of the returns up to it."""
    if len(returns) < 2:
        return None, None
    place = (len(returns) - 1) * _TAIL
    below = int(place)
    losses = returns[returns < 0]  # half the work, where there are enough of them
    ordered = np.partition(losses if len(losses) > below + 1 else returns, (below, below + 1))
    low, high = float(ordered[below]), float(ordered[below + 1])
    return finite(low + (high - low) * (place - below)), finite(float(ordered[: below + 1].mean()))


def of_falls(time: Ints, grown: Floats) -> FallFigures:
    """`grown` ends with the equity on each of `time`; a value before those is the money at the start."""
    if not len(time):
        return FallFigures(max_drawdown=0.0, average_drawdown=None, max_drawdown_days=None)
    found = falls(drawdown(grown))
    if not len(found):
        return FallFigures(max_drawdown=0.0, average_drawdown=None, max_drawdown_days=0.0)
    ahead = len(grown) - len(time)
    since = time[np.maximum(found.peak - ahead, 0)]
    return FallFigures(
        max_drawdown=float(found.depth.min()),
        average_drawdown=float(found.depth.mean()),
        max_drawdown_days=int((time[found.end - ahead] - since).max()) / DAY,
    )


@np.errstate(over="ignore", invalid="ignore")
def of_market(returns: Floats, market: Floats | None, per_year: float, risk_free: float) -> MarketFigures:
    """The line of least squares through pairs of excess returns: its slope, and its annualised height at zero."""
    if market is None or len(returns) < 2 or not np.isfinite(market).all():
        return MarketFigures(alpha=None, beta=None)
    market_mean, mean = float(market.mean()), float(returns.mean())
    apart = market - market_mean
    square = float((apart * apart).sum())
    if not FLAT < math.sqrt(square / (len(market) - 1)) < math.inf:
        return MarketFigures(alpha=None, beta=None)
    apart *= returns - mean
    beta = float(apart.sum()) / square
    alpha = ((mean - risk_free) - beta * (market_mean - risk_free)) * per_year
    return MarketFigures(alpha=finite(alpha), beta=finite(beta))


def of_trades(trades: Sequence[Trade]) -> TradeFigures:
    closed = [trade for trade in trades if trade.exit_time is not None]
    count = len(closed)
    pnl = np.fromiter((trade.pnl for trade in closed), np.float64, count)
    share = np.fromiter((trade.pnl_pct for trade in closed), np.float64, count)
    held = sum(trade.bars_held for trade in closed)
    won, lost = pnl > 0, pnl < 0
    losses = -float(pnl[lost].sum())
    deviation = float(pnl.std(ddof=1)) if count > 1 else 0.0
    # Equal profits differ in their last digit where prices do, and that is no spread.
    spread = deviation > 1e-12 * float(np.abs(pnl).max(initial=0.0))
    return TradeFigures(
        trades=len(trades),
        open_trades=len(trades) - count,
        win_rate=float(won.mean()) if count else None,
        profit_factor=finite(float(pnl[won].sum()) / losses) if losses > 0 else None,
        expectancy=finite(float(pnl.mean())) if count else None,
        sqn=finite(math.sqrt(count) * float(pnl.mean()) / deviation) if spread else None,
        kelly=_kelly(share[won], share[lost], count),
        best_trade=finite(float(share.max())) if count else None,
        worst_trade=finite(float(share.min())) if count else None,
        average_trade=finite(float(share.mean())) if count else None,
        average_bars_held=held / count if count else None,
    )


def _kelly(wins: Floats, losses: Floats, count: int) -> float | None:
    if not len(wins) or not len(losses):
        return None
    rate = len(wins) / count
    win, loss = float(wins.mean()), -float(losses.mean())
    return finite(rate - (1 - rate) * loss / win) if win > 0 else None
