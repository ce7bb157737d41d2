"""The simulations against closed forms and hand-made cases."""

from __future__ import annotations

import math
from itertools import pairwise
from statistics import NormalDist

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from ringfence.base.errors import DataError
from ringfence.trade.bars import Candles, Floats
from ringfence.trade.models import (
    common_closes,
    estimate,
    log_returns,
    price_interval,
    simulate_portfolio,
    simulate_trades,
    trade_returns,
)
from ringfence.trade.models.paths import Method, block_steps, default_block, normal_steps, tail, worst_drawdown

PATHS = 40_000


def walk(
    seed: int = 1, count: int = 500, drift: float = 0.0005, volatility: float = 0.02, spot: float = 100.0
) -> Floats:
    steps = np.random.default_rng(seed).normal(drift, volatility, count)
    made: Floats = spot * np.exp(np.concatenate([[0.0], np.cumsum(steps)]))
    return made


def quantile_error(spot: float, mean: float, spread: float, level: float, paths: int) -> float:
    """The standard error of a simulated quantile of a log-normal: sqrt(p (1 - p) / n) by the density there."""
    z = NormalDist().inv_cdf(level)
    price = spot * math.exp(mean + spread * z)
    density = NormalDist().pdf(z) / (price * spread)
    return math.sqrt(level * (1 - level) / paths) / density


def test_an_estimate_is_the_mean_and_the_deviation_of_log_returns() -> None:
    close = np.array([100.0, 110.0, 99.0] * 10)
    made = estimate(close)
    logs = [math.log(b / a) for a, b in pairwise(close.tolist())]
    mean = sum(logs) / len(logs)
    assert made.observations == 29
    assert made.drift == pytest.approx(mean)
    assert made.volatility == pytest.approx(math.sqrt(sum((x - mean) ** 2 for x in logs) / 28))
    assert made.drift_error == pytest.approx(made.volatility / math.sqrt(29))


@pytest.mark.parametrize("close", [[100.0], [100.0, 0.0], [100.0, math.nan], [1.0, -1.0]])
def test_what_has_no_returns_is_refused(close: list[float]) -> None:
    with pytest.raises(DataError, match="returns need"):
        log_returns(np.array(close))
    with pytest.raises(DataError, match="too few"):
        estimate(walk(count=10))


@pytest.mark.parametrize("confidence", [0.5, 0.8, 0.95, 0.99])
@pytest.mark.parametrize("horizon", [1, 30])
def test_a_brownian_interval_agrees_with_its_closed_form(horizon: int, confidence: float) -> None:
    close = walk()
    measured = estimate(close)
    rng = np.random.default_rng(7)
    made = price_interval(close, horizon=horizon, confidence=confidence, method="gbm", paths=PATHS, rng=rng)
    mean, spread = measured.drift * horizon, measured.volatility * math.sqrt(horizon)
    spot = close[-1]
    for level, got in ((0.5 - confidence / 2, made.lower), (0.5, made.median), (0.5 + confidence / 2, made.upper)):
        exact = spot * math.exp(mean + spread * NormalDist().inv_cdf(level))
        assert abs(got - exact) < 4 * quantile_error(spot, mean, spread, level, PATHS)
    p_up = NormalDist().cdf(mean / spread)
    assert abs(made.p_up - p_up) < 4 * math.sqrt(p_up * (1 - p_up) / PATHS)
    assert made.mean == pytest.approx(spot * math.exp(mean + spread**2 / 2), rel=4 * spread / math.sqrt(PATHS))
    assert made.closed_lower == pytest.approx(
        spot * math.exp(mean + spread * NormalDist().inv_cdf(0.5 - confidence / 2))
    )
    assert made.closed_upper == pytest.approx(
        spot * math.exp(mean + spread * NormalDist().inv_cdf(0.5 + confidence / 2))
    )


def test_value_at_risk_and_shortfall_agree_with_the_closed_form() -> None:
    close = walk(volatility=0.01)
    measured, horizon = estimate(close), 10
    rng = np.random.default_rng(3)
    made = price_interval(close, horizon=horizon, confidence=0.95, method="gbm", paths=PATHS, rng=rng)
    mean, spread = measured.drift * horizon, measured.volatility * math.sqrt(horizon)
    z = NormalDist().inv_cdf(0.05)
    assert made.value_at_risk == pytest.approx(1 - math.exp(mean + spread * z), abs=0.002)
    worst = math.exp(mean + spread**2 / 2) * NormalDist().cdf(z - spread) / 0.05
    assert made.expected_shortfall == pytest.approx(1 - worst, abs=0.002)


def test_the_chance_of_a_level_is_that_of_the_closed_form() -> None:
    close, horizon = walk(), 20
    measured = estimate(close)
    level = float(close[-1]) * 1.05
    rng = np.random.default_rng(5)
    made = price_interval(close, horizon=horizon, confidence=0.9, method="gbm", paths=PATHS, rng=rng, above=level)
    away = (math.log(1.05) - measured.drift * horizon) / (measured.volatility * math.sqrt(horizon))
    assert made.p_above == pytest.approx(1 - NormalDist().cdf(away), abs=0.01)
    assert made.p_above is not None and made.p_above < made.p_up


def test_the_fan_opens_from_the_last_price() -> None:
    close = walk()
    rng = np.random.default_rng(1)
    made = price_interval(close, horizon=25, confidence=0.9, method="bootstrap", paths=2_000, rng=rng)
    assert made.fan.shape == (5, 26)
    assert (made.fan[:, 0] == close[-1]).all()
    assert (np.diff(made.fan, axis=0) >= 0).all()
    assert (made.fan[4] - made.fan[0])[[1, 5, 25]].tolist() == sorted((made.fan[4] - made.fan[0])[[1, 5, 25]])
    assert (made.lower, made.median, made.upper) == (made.fan[0, -1], made.fan[2, -1], made.fan[4, -1])
    assert made.closed_lower is None


def test_a_bootstrap_of_normal_returns_agrees_with_the_normal_model() -> None:
    close = walk(count=5_000)
    asked = {"horizon": 20, "confidence": 0.9, "paths": PATHS}
    drawn = price_interval(close, method="bootstrap", rng=np.random.default_rng(1), block=1, **asked)  # type: ignore[arg-type]
    normal = price_interval(close, method="gbm", rng=np.random.default_rng(2), **asked)  # type: ignore[arg-type]
    assert drawn.lower == pytest.approx(normal.lower, rel=0.01)
    assert drawn.upper == pytest.approx(normal.upper, rel=0.01)


def test_a_bootstrap_keeps_what_a_brownian_motion_loses() -> None:
    """Runs of the same sign: drawn in blocks they widen the interval, drawn one by one they do not."""
    signs = np.repeat(np.where(np.random.default_rng(9).random(200) < 0.5, -1.0, 1.0), 10)
    close = 100 * np.exp(np.concatenate([[0.0], np.cumsum(0.01 * signs)]))
    widths = []
    for block in (1, 20):
        rng = np.random.default_rng(4)
        made = price_interval(close, horizon=20, confidence=0.9, method="bootstrap", paths=10_000, rng=rng, block=block)
        widths.append(math.log(made.upper / made.lower))
    assert widths[1] > 1.7 * widths[0]


def test_blocks_are_pieces_of_the_history_in_order() -> None:
    returns = np.arange(10.0)
    steps = block_steps(np.random.default_rng(0), returns, 4, 10, 300)
    assert steps.shape == (300, 10)
    assert set(np.unique(steps)) == set(range(10))
    inside = np.diff(steps, axis=1)[:, [0, 1, 2, 4, 5, 6, 8]]
    assert set(np.unique(inside)) == {1.0, -9.0}  # the next one, or from the last to the first
    assert default_block(1000) == 10 and default_block(1) == 1
    with pytest.raises(DataError, match="block of 11"):
        block_steps(np.random.default_rng(0), returns, 11, 10, 5)


def test_joint_steps_have_the_means_and_covariances_that_were_asked_for() -> None:
    covariance = np.array([[0.04, 0.018], [0.018, 0.09]])
    steps = normal_steps(np.random.default_rng(0), np.array([0.1, -0.2]), covariance, 1, 200_000)[:, 0, :]
    assert steps.mean(axis=0) == pytest.approx([0.1, -0.2], abs=0.003)
    assert np.cov(steps, rowvar=False) == pytest.approx(covariance, abs=0.002)
    same = normal_steps(np.random.default_rng(0), np.zeros(2), np.full((2, 2), 0.04), 1, 100)[:, 0, :]
    assert same[:, 0] == pytest.approx(same[:, 1])  # half definite, and still drawn


def test_drawdown_and_tail_by_hand() -> None:
    assert worst_drawdown(np.array([[100.0, 120.0, 90.0, 130.0], [1.0, 2.0, 3.0, 4.0]])).tolist() == [-0.25, 0.0]
    risk, shortfall = tail(np.linspace(-0.5, 0.5, 101), 0.9)
    assert (risk, shortfall) == pytest.approx((0.4, 0.45))


def candles(close: Floats, first: int = 0) -> Candles:
    time = np.arange(first, first + len(close), dtype=np.int64)
    return Candles(time, close, close, close, close, np.ones(len(close)))


def test_a_portfolio_of_one_is_its_price() -> None:
    close = walk()
    rng = np.random.default_rng(7)
    one = price_interval(close, horizon=15, confidence=0.9, method="bootstrap", paths=3_000, rng=rng, block=5)
    rng = np.random.default_rng(7)
    held = simulate_portfolio(
        close[:, None], [1.0], cash=float(close[-1]), horizon=15, confidence=0.9, ruin=0.2, method="bootstrap",
        paths=3_000, rng=rng, block=5,
    )  # fmt: skip
    assert (held.lower, held.median, held.upper) == pytest.approx((one.lower, one.median, one.upper))
    assert (held.p_up, held.value_at_risk) == pytest.approx((one.p_up, one.value_at_risk))
    assert -1 < held.drawdown_lower < held.drawdown_median < 0
    assert 0 <= held.p_ruin < 0.5


def test_half_in_cash_halves_what_can_happen() -> None:
    close = walk()[:, None]

    def worth(share: float) -> tuple[float, float]:
        made = simulate_portfolio(
            close, [share], cash=100.0, horizon=10, confidence=0.9, ruin=0.5, method="gbm", paths=2_000,
            rng=np.random.default_rng(1),
        )  # fmt: skip
        return made.lower - 100, made.upper - 100

    assert worth(0.5) == pytest.approx([x / 2 for x in worth(1.0)])


def test_opposite_instruments_cancel_and_move_on_the_same_days() -> None:
    steps = np.random.default_rng(3).normal(0, 0.02, 400)
    up, down = (100 * np.exp(np.concatenate([[0.0], np.cumsum(sign * steps)])) for sign in (1, -1))
    methods: tuple[Method, ...] = ("gbm", "bootstrap")
    for method in methods:
        made = simulate_portfolio(
            np.column_stack([up, down]), [0.5, 0.5], cash=100.0, horizon=1, confidence=0.9, ruin=0.5,
            method=method, paths=2_000, rng=np.random.default_rng(1),
        )  # fmt: skip
        assert made.upper - made.lower < 0.5, method


def test_only_days_that_all_have_are_used() -> None:
    a, b = walk(seed=1), walk(seed=2)
    made = common_closes({"A": candles(a), "B": candles(b[100:], first=100)}, ["B", "A"])
    assert made.shape == (401, 2)
    assert made[:, 1].tolist() == a[100:].tolist()
    with pytest.raises(DataError, match="in common"):
        common_closes({"A": candles(a), "B": candles(b, first=10_000)}, ["A", "B"])


def test_trades_are_fractions_of_what_there_was() -> None:
    assert trade_returns([10.0, -11.0, 9.9], 100.0).tolist() == pytest.approx([0.1, -0.1, 0.1])
    with pytest.raises(DataError, match="lost all"):
        trade_returns([-100.0, 5.0], 100.0)


def test_equal_trades_have_one_outcome() -> None:
    made = simulate_trades(
        np.full(8, 0.01), cash=100.0, count=10, confidence=0.95, ruin=0.5, paths=200, rng=np.random.default_rng(0)
    )
    assert made.lower == made.upper == pytest.approx(100 * 1.01**10)
    assert (made.p_up, made.p_ruin, made.drawdown_lower, made.trades) == (1.0, 0.0, 0.0, 8)


def test_a_game_of_coins_is_ruined_as_often_as_it_should_be() -> None:
    """Half of the money on each toss: one loss takes half of it, and two take three quarters."""
    tosses = np.array([-0.5, 0.5] * 5)
    made = simulate_trades(
        tosses, cash=1.0, count=1, confidence=0.9, ruin=0.5, paths=20_000, rng=np.random.default_rng(2)
    )
    assert made.p_ruin == pytest.approx(0.5, abs=0.015)
    twice = simulate_trades(
        tosses, cash=1.0, count=2, confidence=0.9, ruin=0.75, paths=20_000, rng=np.random.default_rng(2)
    )
    assert twice.p_ruin == pytest.approx(0.25, abs=0.015)
    assert twice.mean == pytest.approx(1.0, abs=0.02)


def test_a_short_that_loses_more_than_all_ends_at_nothing() -> None:
    made = simulate_trades(
        np.array([-1.5] * 5), cash=100.0, count=3, confidence=0.9, ruin=1.0, paths=100, rng=np.random.default_rng(0)
    )
    assert (made.upper, made.drawdown_median, made.p_ruin) == (0.0, -1.0, 1.0)
    with pytest.raises(DataError, match="too few"):
        simulate_trades(
            np.array([0.1]), cash=1.0, count=1, confidence=0.9, ruin=0.5, paths=9, rng=np.random.default_rng(0)
        )


@settings(max_examples=25, deadline=None)
@given(
    seed=st.integers(0, 2**32), horizon=st.integers(1, 20), confidence=st.floats(0.5, 0.99),
    scale=st.floats(0.01, 1000.0), method=st.sampled_from(["gbm", "bootstrap"]),
)  # fmt: skip
def test_intervals_are_in_order_and_do_not_depend_on_the_unit_of_money(
    seed: int, horizon: int, confidence: float, scale: float, method: Method
) -> None:
    close = walk(seed=seed % 1000, count=60)
    made, scaled = (
        price_interval(
            c,
            horizon=horizon,
            confidence=confidence,
            method=method,
            paths=300,
            rng=np.random.default_rng(seed),
        )
        for c in (close, close * scale)
    )
    assert 0 < made.lower <= made.median <= made.upper
    assert 0 <= made.p_up <= 1
    assert made.value_at_risk <= made.expected_shortfall + 1e-12 < 1
    assert (scaled.lower, scaled.upper) == pytest.approx((made.lower * scale, made.upper * scale))
