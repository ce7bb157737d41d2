"""What a run was worth. docs/metrics.md has every formula."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ringfence.base.errors import DataError
from ringfence.trade.annual import bars_per_year, span_years
from ringfence.trade.bars import Floats, Ints
from ringfence.trade.curves import MonthReturn, drawdown, monthly_returns
from ringfence.trade.figures import finite, of_falls, of_market, of_returns, of_trades
from ringfence.trade.hints import METRIC_HINTS, Hint
from ringfence.trade.orders import Trade
from ringfence.trade.times import iso

__all__ = ["Metrics", "measure", "drawdown", "monthly_returns", "MonthReturn", "METRIC_HINTS", "Hint"]

_ABSURD = 1e100  # times the money at the start: squares of returns would no longer fit a float


@dataclass(frozen=True, slots=True, kw_only=True)
class Metrics:
    """Fractions are decimals, a drawdown is negative, None stands for what cannot be computed."""

    start: str
    end: str
    bars: int
    years: float
    bars_per_year: float
    initial_equity: float
    final_equity: float
    peak_equity: float
    total_return: float
    cagr: float | None
    volatility: float | None
    sharpe: float | None
    sortino: float | None
    calmar: float | None
    max_drawdown: float
    average_drawdown: float | None
    max_drawdown_days: float | None
    exposure: float
    trades: int
    win_rate: float | None
    profit_factor: float | None
    expectancy: float | None
    sqn: float | None
    kelly: float | None
    best_trade: float | None
    worst_trade: float | None
    average_trade: float | None
    average_bars_held: float | None
    turnover: float
    fees: float
    buy_and_hold: float | None
    alpha: float | None
    beta: float | None
    value_at_risk_95: float | None
    expected_shortfall_95: float | None
    probabilistic_sharpe: float | None
    deflated_sharpe: float | None
    trials: int
    open_trades: int = 0  # of `trades`
    ruined_at: str | None = None  # the first bar that closed with nothing left


def measure(
    *,
    time: Ints,
    equity: Floats,
    trades: Sequence[Trade],
    exposure: Floats | None,
    turnover_value: float,
    fees: float,
    initial_equity: float,
    benchmark: Floats | None,
    timeframe: str,
    calendar: str,
    trials: int = 1,
    trial_sharpe_variance: float | None = None,
    risk_free: float = 0.0,
) -> Metrics:
    """`equity` and `benchmark` are marked at the close of each bar; both began with `initial_equity`.

    `exposure` is anything that is zero on the bars without a position; None derives it from the trades.
    `turnover_value` is the value of all fills, both ways. `risk_free` is a yearly rate, `trial_sharpe_variance` the
    variance of the annualised Sharpe ratios of the `trials` that this run was chosen from.
    """
    _check_numbers(initial_equity, turnover_value, fees, risk_free, trials, trial_sharpe_variance)
    _check_columns(time, initial_equity, equity=equity, exposure=exposure, benchmark=benchmark)
    ahead = 0 if len(equity) and equity[0] == initial_equity else 1  # the first bar may have traded already
    grown = _led_by(initial_equity, equity, ahead)
    ruin = _ruin(grown)
    # What an account does after it was worth nothing is not a return on anything.
    returns = _returns(grown[: None if ruin is None else ruin + 1])
    per_year, years = bars_per_year(time, timeframe=timeframe, calendar=calendar), span_years(time)
    rate = (1 + risk_free) ** (1 / per_year) - 1
    market = None if benchmark is None else _returns(_led_by(initial_equity, benchmark, ahead)[: len(returns) + 1])
    growth = float(grown[-1]) / initial_equity
    cagr = _cagr(growth, years) if ruin is None else -1.0
    fall = of_falls(time, grown)
    return Metrics(
        start=iso(int(time[0])) if len(time) else "",
        end=iso(int(time[-1])) if len(time) else "",
        bars=len(time),
        years=years,
        bars_per_year=per_year,
        initial_equity=float(initial_equity),
        final_equity=float(grown[-1]),
        peak_equity=float(grown.max()),
        total_return=growth - 1,
        cagr=cagr,
        calmar=finite(cagr / -fall["max_drawdown"]) if cagr is not None and fall["max_drawdown"] < 0 else None,
        exposure=_exposure(time, exposure, trades),
        turnover=turnover_value / float(np.maximum(grown, 0).mean()),
        fees=float(fees),
        buy_and_hold=float(benchmark[-1]) / initial_equity - 1 if benchmark is not None and len(benchmark) else None,
        trials=trials,
        ruined_at=None if ruin is None else iso(int(time[ruin - ahead])),
        **of_returns(returns, per_year, rate, trials, trial_sharpe_variance),
        **of_market(returns, market, per_year, rate),
        **fall,
        **of_trades(trades),
    )


def _check_numbers(
    initial_equity: float,
    turnover_value: float,
    fees: float,
    risk_free: float,
    trials: int,
    trial_sharpe_variance: float | None,
) -> None:
    if not 0 < initial_equity < math.inf:
        raise DataError(f"the equity at the start is {initial_equity}: give an amount above zero")
    if not (0 <= turnover_value < math.inf and math.isfinite(fees)):
        raise DataError(f"turnover {turnover_value} and fees {fees} must be amounts of money: look at the fills")
    if not -1 < risk_free < 10:
        raise DataError(f"a risk-free rate of {risk_free} a year makes no sense: write 4 % as 0.04")
    if trials < 1:
        raise DataError(f"{trials} trials: this run is one itself, so give 1 or more")
    if trial_sharpe_variance is not None and not 0 <= trial_sharpe_variance < math.inf:
        raise DataError(f"a variance of {trial_sharpe_variance} between trials: give a number from 0 up, or None")


def _check_columns(time: Ints, initial_equity: float, **columns: Floats | None) -> None:
    """Our own broker made these, so what is wrong here must not turn into a plausible number."""
    for name, column in columns.items():
        if column is None:
            continue
        if column.shape != time.shape:
            raise DataError(f"{name} has {len(column)} values for {len(time)} bars: give one per bar")
        most = math.inf if name == "exposure" else _ABSURD * initial_equity
        if not len(column) or (column.min() > -most and column.max() < most):  # neither is true with NaN in it
            continue
        wrong = ~(np.abs(column) < most)
        if wrong.any():
            bar = int(wrong.argmax())
            raise DataError(
                f"{name} is {column[bar]} on bar {bar} ({iso(int(time[bar]))}): look at the fills before it"
            )


def _led_by(first: float, column: Floats, ahead: int) -> Floats:
    return np.concatenate((np.full(ahead, first), column)) if ahead else column


def _ruin(grown: Floats) -> int | None:
    gone = grown <= 0
    return int(gone.argmax()) if gone.any() else None


def _returns(curve: Floats) -> Floats:
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        returns: Floats = curve[1:] / curve[:-1]
    returns -= 1
    return returns


def _cagr(growth: float, years: float) -> float | None:
    if years <= 0:
        return None
    with np.errstate(over="ignore", divide="ignore"):  # a growth that rounds to 0 is a rate of -1
        return finite(float(np.expm1(np.log(growth) / years)))


def _exposure(time: Ints, exposure: Floats | None, trades: Sequence[Trade]) -> float:
    """The share of the bars at whose close a position was held."""
    if not len(time):
        return 0.0
    if exposure is None:
        opened = np.searchsorted(time, [trade.entry_time for trade in trades])
        ends = [time[-1] + 1 if trade.exit_time is None else trade.exit_time for trade in trades]
        steps = np.bincount(opened, minlength=len(time) + 1) - np.bincount(
            np.searchsorted(time, ends), minlength=len(time) + 1
        )
        exposure = np.cumsum(steps)[:-1].astype(np.float64)
    return int(np.count_nonzero(exposure)) / len(time)
