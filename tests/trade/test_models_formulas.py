"""Options, clouds, relations, sizes and cleansing, against known values and against references written here."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import assume, given, settings, strategies as st

from ringfence.base.errors import DataError
from ringfence.trade.bars import Candles, Floats
from ringfence.trade.indicators import ichimoku
from ringfence.trade.models import (
    Option,
    cleanse,
    fixed_fraction,
    ichimoku_cloud,
    ichimoku_periods,
    kelly_fraction,
    price_option,
    relate,
    simulate_option,
    volatility_target,
)
from ringfence.trade.models.black_scholes import Kind

HULL = {"spot": 42.0, "strike": 40.0, "years": 0.5, "volatility": 0.2, "rate": 0.1}


# Hull, Options, Futures and Other Derivatives: the worked example of the Black-Scholes chapter; and the value of a
# one-year option at the money with 20 % volatility and 5 % interest, which is in every table.
@pytest.mark.parametrize(
    ("kind", "terms", "price"),
    [
        ("call", HULL, 4.759422),
        ("put", HULL, 0.808599),
        ("call", {"spot": 100.0, "strike": 100.0, "years": 1.0, "volatility": 0.2, "rate": 0.05}, 10.450584),
        ("put", {"spot": 100.0, "strike": 100.0, "years": 1.0, "volatility": 0.2, "rate": 0.05}, 5.573526),
        ("call", {"spot": 100.0, "strike": 90.0, "years": 0.0, "volatility": 0.2, "rate": 0.05}, 10.0),
        ("put", {"spot": 100.0, "strike": 90.0, "years": 1.0, "volatility": 0.0, "rate": 0.0}, 0.0),
    ],
)
def test_known_option_prices(kind: Kind, terms: dict[str, float], price: float) -> None:
    assert price_option(kind, **terms).price == pytest.approx(price, abs=1e-5)


terms = st.fixed_dictionaries(
    {
        "spot": st.floats(1.0, 1000.0),
        "strike": st.floats(1.0, 1000.0),
        "years": st.floats(0.01, 5.0),
        "volatility": st.floats(0.02, 1.5),
        "rate": st.floats(-0.05, 0.2),
        "dividend": st.floats(0.0, 0.1),
    }
)


@settings(max_examples=200, deadline=None)
@given(terms=terms)
def test_put_call_parity_and_the_bounds_of_no_arbitrage(terms: dict[str, float]) -> None:
    call, put = price_option("call", **terms), price_option("put", **terms)
    asset = terms["spot"] * math.exp(-terms["dividend"] * terms["years"])
    bond = terms["strike"] * math.exp(-terms["rate"] * terms["years"])
    size = asset + bond
    assert call.price - put.price == pytest.approx(asset - bond, abs=1e-9 * size)
    assert max(asset - bond, 0.0) - 1e-9 * size <= call.price <= asset + 1e-9 * size
    assert call.delta - put.delta == pytest.approx(asset / terms["spot"])
    assert call.gamma == pytest.approx(put.gamma) and call.vega == pytest.approx(put.vega)
    assert call.rho >= 0 >= put.rho


@settings(max_examples=60, deadline=None)
@given(terms=terms, kind=st.sampled_from(["call", "put"]))
def test_greeks_are_the_slopes_of_the_price(terms: dict[str, float], kind: Kind) -> None:
    spread = terms["volatility"] * math.sqrt(terms["years"])
    assume(abs(math.log(terms["spot"] / terms["strike"])) < 3 * spread)  # where a difference can be told from rounding
    made = price_option(kind, **terms)

    def slope(name: str, step: float) -> float:
        up, down = (price_option(kind, **{**terms, name: terms[name] + sign * step}) for sign in (1, -1))
        return (up.price - down.price) / (2 * step)

    scale = terms["spot"]
    assert made.delta == pytest.approx(slope("spot", 1e-4 * scale), abs=1e-4)
    assert made.vega == pytest.approx(slope("volatility", 1e-5), rel=1e-3, abs=1e-4 * scale)
    assert made.rho == pytest.approx(slope("rate", 1e-5), rel=1e-3, abs=1e-4 * scale)
    assert made.theta == pytest.approx(-slope("years", 1e-5), rel=1e-2, abs=1e-3 * scale)
    up, down = (price_option(kind, **{**terms, "spot": scale * (1 + sign * 1e-4)}) for sign in (1, -1))
    assert made.gamma == pytest.approx((up.delta - down.delta) / (2e-4 * scale), rel=1e-2, abs=1e-4 / scale)


@pytest.mark.parametrize("kind", ["call", "put"])
def test_a_simulated_option_agrees_with_the_formula(kind: Kind) -> None:
    asked = {**HULL, "dividend": 0.03}
    exact = price_option(kind, **asked).price
    got, error = simulate_option(kind, paths=200_000, rng=np.random.default_rng(1), **asked)
    assert 0 < error < 0.02 * exact + 0.01
    assert abs(got - exact) < 4 * error


@pytest.mark.parametrize("wrong", [{"spot": 0.0}, {"strike": -1.0}, {"years": -1.0}, {"volatility": -0.1}])
def test_impossible_options_are_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(DataError, match="correct them"):
        price_option("call", **{**HULL, **wrong})


def test_at_expiry_the_greeks_are_those_of_the_payoff() -> None:
    inside = price_option("put", spot=90.0, strike=100.0, years=0.0, volatility=0.2, rate=0.05)
    assert inside == Option(price=10.0, delta=-1.0, gamma=0.0, vega=0.0, theta=5.0, rho=-0.0)


def ranges(count: int = 150, seed: int = 2) -> tuple[Floats, Floats, Floats]:
    rng = np.random.default_rng(seed)
    close = 100 + np.cumsum(rng.normal(0, 1, count))
    return close + rng.random(count), close - rng.random(count), close


@pytest.mark.parametrize(
    ("period", "expected"), [(9, (9, 26, 52, 26)), (14, (14, 40, 80, 40)), (2, (2, 6, 12, 6)), (20, (20, 58, 116, 58))]
)
def test_one_number_makes_four_periods_in_proportion(period: int, expected: tuple[int, ...]) -> None:
    made = ichimoku_periods(period)
    assert (made.conversion, made.base, made.span, made.ahead) == expected


@settings(max_examples=100, deadline=None)
@given(st.integers(2, 1000))
def test_periods_always_grow(period: int) -> None:
    made = ichimoku_periods(period)
    assert made.conversion < made.base < made.span and made.ahead == made.base
    assert abs(made.base / made.conversion - 26 / 9) <= 0.5 / period + 1e-9 or period < 3


def test_a_cloud_by_plain_loops_is_the_same() -> None:
    high, low, close = ranges()
    periods = ichimoku_periods(9)
    made = ichimoku_cloud(high, low, close, periods)

    def middle(at: int, length: int) -> float:
        if at < length - 1:
            return math.nan
        first = at - length + 1
        return float(max(high[first : at + 1]) + min(low[first : at + 1])) / 2

    bars = range(len(close))
    conversion, base, slow = ([middle(t, n) for t in bars] for n in (9, 26, 52))
    np.testing.assert_allclose(made.conversion, conversion)
    np.testing.assert_allclose(made.base, base)
    leading = [math.nan] * 26 + [(a + b) / 2 for a, b in zip(conversion, base)]
    np.testing.assert_allclose(made.span_a, leading)
    np.testing.assert_allclose(made.span_b, [math.nan] * 26 + slow)
    assert made.lagging[:-26].tolist() == close[26:].tolist() and np.isnan(made.lagging[-26:]).all()


def test_a_cloud_over_the_bars_is_the_indicator() -> None:
    """TA-Lib's highest and lowest are behind the indicator."""
    high, low, close = ranges()
    periods = ichimoku_periods(7)
    made = ichimoku_cloud(high, low, close, periods)
    lines = ichimoku(high, low, periods.conversion, periods.base, periods.span, periods.ahead)
    ours = (made.conversion, made.base, made.span_a[: len(close)], made.span_b[: len(close)])
    for line, own in zip(lines, ours):
        np.testing.assert_allclose(own, line)


def test_a_cloud_that_does_not_fit_is_refused() -> None:
    high, low, close = ranges(50)
    with pytest.raises(DataError, match="too few"):
        ichimoku_cloud(high, low, close, ichimoku_periods(9))
    with pytest.raises(DataError, match="from 2 to 1000"):
        ichimoku_periods(1)


def test_correlation_and_beta_agree_with_scipy() -> None:
    from scipy import stats

    rng = np.random.default_rng(5)
    market = rng.normal(0, 0.01, 300)
    stock = 0.0002 + 1.4 * market + rng.normal(0, 0.008, 300)
    made = relate(stock, market, 0.95)
    line = stats.linregress(market, stock)
    both = stats.pearsonr(stock, market)
    bounds = both.confidence_interval(0.95)
    assert (made.beta, made.alpha, made.beta_error) == pytest.approx((line.slope, line.intercept, line.stderr))
    assert (made.correlation, made.r_squared) == pytest.approx((both.statistic, line.rvalue**2))
    assert (made.correlation_lower, made.correlation_upper) == pytest.approx((bounds.low, bounds.high))
    assert made.observations == 300


@settings(max_examples=50, deadline=None)
@given(seed=st.integers(0, 10_000), scale=st.floats(0.1, 10.0))
def test_correlation_has_no_unit_and_beta_has(seed: int, scale: float) -> None:
    rng = np.random.default_rng(seed)
    x, y = rng.normal(size=40), rng.normal(size=40)
    made, scaled = relate(y, x), relate(y * scale, x)
    assert -1 <= made.correlation_lower <= made.correlation <= made.correlation_upper <= 1
    assert scaled.correlation == pytest.approx(made.correlation)
    assert scaled.beta == pytest.approx(made.beta * scale)
    assert relate(x, y).correlation == pytest.approx(made.correlation)


def test_what_never_moves_has_no_relation() -> None:
    moving, still = np.arange(30.0), np.zeros(30)
    with pytest.raises(DataError, match="the second"):
        relate(moving, still)
    with pytest.raises(DataError, match="the first"):
        relate(still, moving)
    whole = relate(2 * moving, moving)
    assert (whole.correlation, whole.correlation_lower, whole.beta) == pytest.approx((1.0, 1.0, 2.0))


def test_sizes_by_hand() -> None:
    assert fixed_fraction(100_000, 0.01, 100, 95) == 200.0
    assert fixed_fraction(100_000, 0.01, 95, 100) == 200.0  # a short
    assert kelly_fraction(0.6, 1.0) == pytest.approx(0.2)
    assert kelly_fraction(0.5, 2.0) == pytest.approx(0.25)
    assert kelly_fraction(0.4, 1.0) < 0
    assert volatility_target(0.1, 0.4) == pytest.approx(0.25)
    assert volatility_target(0.4, 0.1) == 1.0
    assert volatility_target(0.4, 0.1, 2.0) == 2.0


@pytest.mark.parametrize(
    "ask",
    [
        lambda: fixed_fraction(1.0, 0.1, 5.0, 5.0),
        lambda: kelly_fraction(1.1, 1.0),
        lambda: kelly_fraction(0.5, 0.0),
        lambda: volatility_target(0.1, 0.0),
    ],
)
def test_sizes_that_cannot_be_are_refused(ask: Callable[[], float]) -> None:
    with pytest.raises(DataError, match=r"correct them|move one|choose another"):
        ask()


@settings(max_examples=50, deadline=None)
@given(win_rate=st.floats(0.05, 0.95), payoff=st.floats(0.2, 5.0))
def test_kelly_grows_fastest(win_rate: float, payoff: float) -> None:
    best = kelly_fraction(win_rate, payoff)
    assume(0.01 < best < 0.95)

    def growth(share: float) -> float:
        return win_rate * math.log1p(share * payoff) + (1 - win_rate) * math.log1p(-share)

    assert growth(best) >= max(growth(best * 0.9), growth(best * 1.04))


def bars(close: Floats, volume: Floats | None = None) -> Candles:
    time = np.arange(len(close), dtype=np.int64)
    return Candles(time, close, close + 0.1, close - 0.1, close, np.ones(len(close)) if volume is None else volume)


def quiet(count: int = 120) -> Floats:
    return 100 + np.cumsum(np.random.default_rng(8).normal(0, 0.3, count))


def test_a_bad_tick_is_replaced_and_logged() -> None:
    close = quiet()
    close[60] *= 3
    made = cleanse(bars(close))
    assert {(c.row, c.action) for c in made.changes} == {(60, "replaced")}
    assert {c.column for c in made.changes} == {"open", "high", "low", "close"}
    (tick,) = [c for c in made.changes if c.column == "close"]
    assert tick.before == close[60] and tick.after == made.candles.close[60] == (close[59] + close[61]) / 2
    untouched = np.arange(len(close)) != 60
    assert (made.candles.close[untouched] == close[untouched]).all()


def test_a_move_that_stays_is_only_flagged() -> None:
    close = quiet()
    close[60:] *= 0.5  # a split, or news
    made = cleanse(bars(close))
    assert [(c.row, c.column, c.action) for c in made.changes] == [(60, "close", "flagged")]
    assert (made.candles.close == close).all()


def test_standing_still_and_missing_volume_are_flagged() -> None:
    close = quiet()
    close[30:37] = close[30]
    volume = np.ones(len(close))
    volume[80] = 0.0
    flat = bars(close, volume)
    high, low = flat.high.copy(), flat.low.copy()
    high[30:37] = low[30:37] = close[30]
    made = cleanse(Candles(flat.time, close, high, low, close, volume))
    assert [(c.row, c.column) for c in made.changes] == [(30, "close"), (80, "volume")]
    assert all(c.action == "flagged" and c.before == c.after for c in made.changes)


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 10_000))
def test_ordinary_noise_is_left_as_it_is(seed: int) -> None:
    close = 100 * np.exp(np.cumsum(np.random.default_rng(seed).normal(0, 0.01, 250)))
    made = cleanse(bars(close, np.zeros(250)))
    assert made.changes == ()
    assert (made.candles.close == close).all()
