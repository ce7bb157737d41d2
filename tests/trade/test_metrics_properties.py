"""What holds for every run, however odd."""

from __future__ import annotations

import math
from dataclasses import fields

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from ringfence.trade.metrics import Metrics, drawdown, monthly_returns
from ringfence.trade.orders import Trade

from tests.trade.measured import days, measured, trade

UNHURRIED = settings(deadline=None)  # a busy machine is no bug
MONEY = st.floats(-1e9, 1e9, allow_nan=False)
CENTS = st.integers(1, 10**9).map(lambda cents: cents / 100)
CURVES = st.lists(CENTS, min_size=1, max_size=60)
SHARES = st.integers(-10_000, 50_000).map(lambda n: n / 10_000)
TRADES = st.lists(
    st.builds(
        lambda share, entry, held: trade(1000 * share, share, bars_held=held, entry=entry, exit_=entry + held),
        SHARES,
        st.integers(0, 50),
        st.integers(0, 10),
    )
    | st.builds(lambda share, entry: trade(1000 * share, share, entry=entry, exit_=None), SHARES, st.integers(0, 50)),
    max_size=30,
)
TIMEFRAMES = st.sampled_from(["1m", "15m", "1h", "1d", "1w", "1mo"])
CALENDARS = st.sampled_from(["24/7", "24/5", "XNYS", "XTKS", "nowhere"])


def numbers(m: Metrics) -> dict[str, float]:
    values = {field.name: getattr(m, field.name) for field in fields(m)}
    return {name: value for name, value in values.items() if isinstance(value, (int, float))}


@UNHURRIED
@given(
    equity=st.lists(MONEY | st.floats(-1e-300, 1e-300), max_size=40),
    initial=st.floats(1e-3, 1e9),
    trades=TRADES,
    timeframe=TIMEFRAMES,
    calendar=CALENDARS,
    trials=st.integers(1, 10**9),
    risk_free=st.floats(-0.5, 1),
    with_market=st.booleans(),
)
def test_every_number_is_finite(
    equity: list[float],
    initial: float,
    trades: list[Trade],
    timeframe: str,
    calendar: str,
    trials: int,
    risk_free: float,
    with_market: bool,
) -> None:
    m = measured(
        equity,
        initial_equity=initial,
        trades=trades,
        timeframe=timeframe,
        calendar=calendar,
        trials=trials,
        risk_free=risk_free,
        benchmark=equity[::-1] if with_market else None,
        turnover_value=1e6,
    )
    assert all(math.isfinite(value) for value in numbers(m).values())
    assert m.max_drawdown <= 0
    assert m.peak_equity >= m.initial_equity
    assert 0 <= m.exposure <= 1
    for share in (m.win_rate, m.probabilistic_sharpe, m.deflated_sharpe):
        assert share is None or 0 <= share <= 1
    assert m.average_drawdown is None or m.max_drawdown <= m.average_drawdown < 0
    assert m.volatility is None or m.volatility >= 0
    assert m.cagr is None or m.cagr >= -1
    assert (m.ruined_at is not None) == any(value <= 0 for value in equity)


@UNHURRIED
@given(curve=CURVES, trades=TRADES, scale=st.sampled_from([0.01, 0.5, 3.0, 1e6]))
def test_the_size_of_the_account_changes_no_ratio(curve: list[float], trades: list[Trade], scale: float) -> None:
    one, other = (
        measured(
            np.array(curve) * k, trades=trades, benchmark=np.array(curve[::-1]) * k, turnover_value=5000 * k, trials=7
        )
        for k in (1.0, scale)
    )
    money = {"initial_equity", "final_equity", "peak_equity"}
    for name, value in numbers(one).items():
        expected = value * scale if name in money else value
        # A ratio of two numbers that both vanish is only as good as what is left of them.
        assert numbers(other).get(name) == pytest.approx(expected, rel=1e-6, abs=1e-6), name
    assert {n for n, v in vars_of(one).items() if v is None} == {n for n, v in vars_of(other).items() if v is None}


def vars_of(m: Metrics) -> dict[str, object]:
    return {field.name: getattr(m, field.name) for field in fields(m)}


@UNHURRIED
@given(curve=CURVES, trials=st.integers(1, 10**6), variance=st.none() | st.floats(0, 100))
def test_trials_never_make_it_surer(curve: list[float], trials: int, variance: float | None) -> None:
    m = measured(curve, trials=trials, trial_sharpe_variance=variance)
    assert (m.probabilistic_sharpe is None) == (m.deflated_sharpe is None)
    if m.probabilistic_sharpe is not None and m.deflated_sharpe is not None:
        assert m.deflated_sharpe <= m.probabilistic_sharpe
        assert trials > 1 or m.deflated_sharpe == m.probabilistic_sharpe


@UNHURRIED
@given(curve=CURVES)
def test_ratios_have_the_sign_of_the_mean(curve: list[float]) -> None:
    m = measured(curve)
    values = np.array(curve)
    mean = float((values[1:] / values[:-1] - 1).mean()) if len(curve) > 1 else 0.0
    for ratio in (m.sharpe, m.sortino):
        assert ratio is None or np.sign(ratio) == np.sign(mean)
    if m.probabilistic_sharpe is not None:
        assert (m.probabilistic_sharpe - 0.5) * mean >= 0


@UNHURRIED
@given(curve=CURVES)
def test_the_tail_lies_below_the_rest(curve: list[float]) -> None:
    m = measured(curve)
    if m.value_at_risk_95 is not None and m.expected_shortfall_95 is not None:
        lowest = float((np.array(curve[1:]) / np.array(curve[:-1]) - 1).min())
        assert lowest <= m.expected_shortfall_95 + 1e-12
        assert m.expected_shortfall_95 <= m.value_at_risk_95 + 1e-12


@UNHURRIED
@given(curve=CURVES)
def test_a_curve_against_itself_has_a_beta_of_one(curve: list[float]) -> None:
    m = measured(curve, benchmark=curve)
    assert m.buy_and_hold == m.total_return
    if m.beta is not None and m.alpha is not None:
        assert m.beta == pytest.approx(1.0)


@UNHURRIED
@given(trades=TRADES)
def test_trade_figures_keep_their_order(trades: list[Trade]) -> None:
    m = measured([100.0] * 60, trades=trades)
    assert m.trades == len(trades)
    assert m.open_trades == sum(t.exit_time is None for t in trades)
    if m.best_trade is not None and m.worst_trade is not None and m.average_trade is not None:
        assert m.worst_trade - 1e-12 <= m.average_trade <= m.best_trade + 1e-12
    if m.profit_factor is not None and m.expectancy is not None and abs(m.expectancy) > 1e-9:
        assert (m.profit_factor > 1) == (m.expectancy > 0)
    assert m.kelly is None or (m.win_rate is not None and m.kelly < m.win_rate)


@UNHURRIED
@given(curve=CURVES, step=st.sampled_from([3_600, 86_400, 864_000]))
def test_months_compound_to_the_whole(curve: list[float], step: int) -> None:
    found = monthly_returns(days(len(curve), step * 10**9), np.array(curve), "America/New_York")
    assert math.prod(1 + (m.value or 0) for m in found) == pytest.approx(curve[-1] / curve[0])
    assert [(m.year, m.month) for m in found] == sorted({(m.year, m.month) for m in found})


@UNHURRIED
@given(curve=CURVES)
def test_a_drawdown_is_zero_at_each_new_high_and_nowhere_else(curve: list[float]) -> None:
    values = np.array(curve)
    below = drawdown(values)
    assert ((below == 0) == (values == np.maximum.accumulate(values))).all()
    assert (below > -1).all()
