"""Independent libraries on the same returns: empyrical, quantstats, scipy and backtesting.py's own sums.

Where a convention differs it is aligned here and named in docs/metrics.md; what remains must agree to rounding.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import empyrical
import numpy as np
import pandas as pd
import pytest
import quantstats.stats as quantstats
import scipy.stats
from backtesting._stats import compute_stats

from ringfence.trade.bars import Floats, Ints
from ringfence.trade.metrics import Metrics
from ringfence.trade.orders import Trade
from ringfence.trade.sharpe import moments
from ringfence.trade.times import DAY, SECOND

from tests.trade.measured import START, days, measured, real_closes, trade

TIGHT = 1e-9


@dataclass(frozen=True)
class Case:
    time: Ints
    equity: Floats
    benchmark: Floats
    timeframe: str
    calendar: str
    per_year: int

    def measured(self, risk_free: float = 0.0) -> Metrics:
        m = measured(
            self.equity,
            time=self.time,
            benchmark=self.benchmark * (self.equity[0] / self.benchmark[0]),
            timeframe=self.timeframe,
            calendar=self.calendar,
            risk_free=risk_free,
        )
        assert m.bars_per_year == self.per_year
        return m

    @property
    def returns(self) -> pd.Series[float]:
        return pd.Series(self.equity, index=pd.to_datetime(self.time)).pct_change().dropna()

    @property
    def market(self) -> pd.Series[float]:
        return pd.Series(self.benchmark, index=pd.to_datetime(self.time)).pct_change().dropna()


def real(name: str, against: str) -> Case:
    closes = real_closes()
    (time, equity), (other_time, other) = closes[name], closes[against]
    _, mine, theirs = np.intersect1d(time, other_time, return_indices=True)
    return Case(time[mine], equity[mine], other[theirs], "1d", "XNYS", 252)


def random(seed: int, count: int, step: int, timeframe: str, per_year: int, *, tails: int = 4) -> Case:
    rng = np.random.default_rng(seed)
    market = rng.standard_t(tails, count) * 0.01
    mixed = 0.5 * market + rng.standard_t(tails, count) * 0.008 + 0.0004
    equity, benchmark = (np.cumprod(1 + np.clip(r, -0.5, 0.5)).astype(np.float64) for r in (mixed, market))
    return Case(days(count, step), equity, benchmark, timeframe, "24/7", per_year)


CASES: dict[str, Callable[[], Case]] = {
    "AAPL against IBM": lambda: real("AAPL", "IBM"),
    "IBM against MSFT": lambda: real("IBM", "MSFT"),
    "MSFT against AAPL": lambda: real("MSFT", "AAPL"),
    "daily coin": lambda: random(1, 1500, DAY, "1d", 365),
    "quarter hours": lambda: random(2, 20_000, 900 * SECOND, "15m", 35_040),
    "hours with fat tails": lambda: random(3, 9_000, 3600 * SECOND, "1h", 8_760, tails=3),
    "short": lambda: random(4, 25, DAY, "1d", 365),
    "weeks": lambda: random(5, 500, 7 * DAY, "1w", 52),
}


@pytest.fixture(params=CASES, ids=str)
def case(request: pytest.FixtureRequest) -> Case:
    return CASES[request.param]()


@pytest.mark.parametrize("risk_free", [0.0, 0.03])
def test_sharpe_and_sortino(case: Case, risk_free: float) -> None:
    m, per_bar = case.measured(risk_free), (1 + risk_free) ** (1 / case.per_year) - 1
    for theirs in (
        empyrical.sharpe_ratio(case.returns, per_bar, annualization=case.per_year),
        quantstats.sharpe(case.returns, rf=risk_free, periods=case.per_year),
    ):
        assert m.sharpe == pytest.approx(theirs, rel=TIGHT)
    for theirs in (
        empyrical.sortino_ratio(case.returns, per_bar, annualization=case.per_year),
        quantstats.sortino(case.returns, rf=risk_free, periods=case.per_year),
    ):
        assert m.sortino == pytest.approx(theirs, rel=TIGHT)


def test_volatility(case: Case) -> None:
    m = case.measured()
    assert m.volatility == pytest.approx(empyrical.annual_volatility(case.returns, annualization=case.per_year))
    assert m.volatility == pytest.approx(quantstats.volatility(case.returns, periods=case.per_year))


def test_total_return_and_drawdown(case: Case) -> None:
    m = case.measured()
    assert m.total_return == pytest.approx(empyrical.cum_returns_final(case.returns))
    assert m.total_return == pytest.approx(quantstats.comp(case.returns))
    assert m.buy_and_hold == pytest.approx(empyrical.cum_returns_final(case.market))
    assert m.max_drawdown == pytest.approx(empyrical.max_drawdown(case.returns))
    assert m.max_drawdown == pytest.approx(quantstats.max_drawdown(case.returns))


def test_yearly_growth_with_the_years_counted_as_ours(case: Case) -> None:
    # Both libraries take the number of returns over bars a year for the years; the calendar has ours.
    m = case.measured()
    as_ours = len(case.returns) / m.years
    assert m.cagr == pytest.approx(empyrical.cagr(case.returns, annualization=as_ours), rel=1e-8)
    assert m.calmar == pytest.approx(empyrical.calmar_ratio(case.returns, annualization=as_ours), rel=1e-8)
    theirs = quantstats.cagr(case.returns, periods=as_ours)  # type: ignore[arg-type]  # it only divides by it
    assert m.cagr == pytest.approx(theirs, rel=1e-8)


def test_the_tail(case: Case) -> None:
    m = case.measured()
    assert m.value_at_risk_95 == pytest.approx(empyrical.value_at_risk(case.returns), rel=TIGHT)
    assert m.expected_shortfall_95 == pytest.approx(empyrical.conditional_value_at_risk(case.returns), rel=TIGHT)
    theirs = quantstats.conditional_value_at_risk(case.returns, method="historical")
    assert m.expected_shortfall_95 == pytest.approx(theirs, rel=TIGHT)


@pytest.mark.parametrize("risk_free", [0.0, 0.03])
def test_alpha_and_beta(case: Case, risk_free: float) -> None:
    m, per_bar = case.measured(risk_free), (1 + risk_free) ** (1 / case.per_year) - 1
    line = scipy.stats.linregress(case.market - per_bar, case.returns - per_bar)
    assert m.beta == pytest.approx(line.slope, rel=1e-7)
    assert m.alpha == pytest.approx(line.intercept * case.per_year, rel=1e-7)
    assert m.beta == pytest.approx(empyrical.beta(case.returns, case.market, per_bar))
    # empyrical compounds the height where we multiply it.
    compounded = empyrical.alpha(case.returns, case.market, per_bar, annualization=case.per_year)
    assert m.alpha is not None
    assert (1 + m.alpha / case.per_year) ** case.per_year - 1 == pytest.approx(compounded, rel=1e-6)
    if not risk_free:
        theirs = quantstats.greeks(case.returns, case.market, case.per_year)  # type: ignore[no-untyped-call]  # theirs
        assert (m.alpha, m.beta) == pytest.approx((theirs["alpha"], theirs["beta"]), rel=1e-7)


def test_moments(case: Case) -> None:
    found = moments(np.asarray(case.returns, dtype=np.float64))
    assert found is not None
    assert found.skew == pytest.approx(scipy.stats.skew(case.returns), rel=1e-8)
    assert found.kurtosis == pytest.approx(scipy.stats.kurtosis(case.returns, fisher=False), rel=1e-8)


def test_probabilistic_sharpe(case: Case) -> None:
    m, n = case.measured(), len(case.returns)
    ratio = case.returns.mean() / case.returns.std()
    skew, kurtosis = scipy.stats.skew(case.returns), scipy.stats.kurtosis(case.returns, fisher=False)
    z = ratio * math.sqrt(n - 1) / math.sqrt(1 - skew * ratio + (kurtosis - 1) / 4 * ratio**2)
    assert m.probabilistic_sharpe == pytest.approx(scipy.stats.norm.cdf(z), rel=TIGHT)
    # quantstats corrects the skew and the kurtosis for the size of the sample; that fades as 1/n.
    theirs = quantstats.probabilistic_sharpe_ratio(case.returns)
    assert m.probabilistic_sharpe == pytest.approx(theirs, abs=1 / n)


def test_backtesting_py_agrees_on_growth_and_falls() -> None:
    for case in (real("AAPL", "IBM"), real("IBM", "MSFT"), random(1, 1500, DAY, "1d", 365)):
        stats = compared(case, [])
        m = case.measured()
        assert m.cagr == pytest.approx(stats["CAGR [%]"] / 100)
        assert m.max_drawdown == pytest.approx(stats["Max. Drawdown [%]"] / 100)
        assert m.average_drawdown == pytest.approx(stats["Avg. Drawdown [%]"] / 100)
        assert m.max_drawdown_days == stats["Max. Drawdown Duration"] / pd.Timedelta(days=1)
        assert m.peak_equity == stats["Equity Peak [$]"]


def test_backtesting_py_agrees_on_trades_of_equal_size() -> None:
    rng = np.random.default_rng(11)
    case = random(1, 300, DAY, "1d", 365)
    made = []
    for number in range(60):
        share, held = float(rng.normal(0.002, 0.03)), int(rng.integers(1, 4))
        made.append(trade(1000 * share, share, bars_held=held, entry=5 * number, exit_=5 * number + held))
    stats, m = compared(case, made), measured(case.equity, trades=made)
    assert m.trades == stats["# Trades"]
    assert m.win_rate == pytest.approx(stats["Win Rate [%]"] / 100)
    assert m.profit_factor == pytest.approx(stats["Profit Factor"])
    assert m.expectancy == pytest.approx(1000 * stats["Expectancy [%]"] / 100)
    assert m.average_trade == pytest.approx(stats["Expectancy [%]"] / 100)
    assert m.best_trade == pytest.approx(stats["Best Trade [%]"] / 100)
    assert m.worst_trade == pytest.approx(stats["Worst Trade [%]"] / 100)
    assert m.sqn == pytest.approx(stats["SQN"])
    assert m.kelly == pytest.approx(stats["Kelly Criterion"])
    # It counts the bar of the exit as in the market too.
    assert m.exposure + 60 / 300 == pytest.approx(stats["Exposure Time [%]"] / 100)


def compared(case: Case, trades: list[Trade]) -> pd.Series[Any]:
    """The statistics that backtesting.py computes of the same curve and trades."""
    index = pd.to_datetime(case.time)
    rows = [
        {
            "EntryBar": (t.entry_time - START) // DAY,
            "ExitBar": ((t.exit_time or 0) - START) // DAY,
            "PnL": t.pnl,
            "ReturnPct": t.pnl_pct,
            "Duration": pd.Timedelta(days=t.bars_held),
        }
        for t in trades
    ]
    table = pd.DataFrame(rows, columns=["EntryBar", "ExitBar", "PnL", "ReturnPct", "Duration"])
    prices = pd.DataFrame({"Close": case.benchmark}, index=index)
    stats: pd.Series[Any] = compute_stats(table, case.equity, prices, None)
    return stats
