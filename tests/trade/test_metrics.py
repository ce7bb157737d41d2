"""Metrics by hand: small curves whose numbers are worked out in the comments, and the edges of each."""

from __future__ import annotations

import math
from dataclasses import fields

import numpy as np
import pytest

from ringfence.base.errors import DataError
from ringfence.trade.metrics import METRIC_HINTS, Metrics
from ringfence.trade.times import DAY

from tests.conftest import ROOT
from tests.trade.measured import days, measured, trade

# Returns 1/10, -1/10, 0 and 7/33; their mean is 7/132.
CURVE = [100.0, 110.0, 99.0, 99.0, 120.0]
MARKET = [100.0, 105.0, 100.0, 101.0, 106.0]


def test_growth() -> None:
    m = measured(CURVE)
    assert (m.start, m.end, m.bars) == ("2020-01-01T00:00:00Z", "2020-01-05T00:00:00Z", 5)
    assert m.years == pytest.approx(4 / 365.25)
    assert m.bars_per_year == 365
    assert (m.initial_equity, m.final_equity, m.peak_equity) == (100.0, 120.0, 120.0)
    assert m.total_return == pytest.approx(0.2)
    assert m.cagr == pytest.approx(1.2 ** (365.25 / 4) - 1)


def test_two_years_that_grow_by_21_percent_grow_by_10_a_year() -> None:
    m = measured([100.0, 90.0, 121.0], time=np.array([0, 365 * DAY, int(730.5 * DAY)]))
    assert m.cagr == pytest.approx(0.1)
    assert m.calmar == pytest.approx(0.1 / 0.1)


def test_risk() -> None:
    m = measured(CURVE)
    # Squares of the distances from the mean add up to 0.0537465565, over 3 that is 0.0179155188.
    assert m.volatility == pytest.approx(0.13384886560822895 * math.sqrt(365))
    assert m.sharpe == pytest.approx(7.569302229256455)
    # One loss of a tenth in four: the root of 0.01/4 is 0.05.
    assert m.sortino == pytest.approx(7 / 132 / 0.05 * math.sqrt(365))


def test_the_tail() -> None:
    m = measured(CURVE)
    # The 5 % place among four is 0.15 of the way from the lowest to the next: -0.1 + 0.15 × 0.1.
    assert m.value_at_risk_95 == pytest.approx(-0.085)
    assert m.expected_shortfall_95 == pytest.approx(-0.1)


def test_a_hundred_and_one_returns_have_six_in_the_tail() -> None:
    steps = np.arange(1, 102) / 10_000
    m = measured(np.cumprod(np.concatenate(([1.0], 1 + steps))))
    assert m.value_at_risk_95 == pytest.approx(0.0006)
    assert m.expected_shortfall_95 == pytest.approx(0.00035)


def test_a_risk_free_rate_is_taken_off_every_bar() -> None:
    rate = 1.05 ** (1 / 365) - 1
    m = measured(CURVE, risk_free=0.05)
    assert m.sharpe == pytest.approx((7 / 132 - rate) / 0.13384886560822895 * math.sqrt(365))
    downside = math.sqrt(((0.1 + rate) ** 2 + rate**2) / 4)
    assert m.sortino == pytest.approx((7 / 132 - rate) / downside * math.sqrt(365))
    assert m.volatility == pytest.approx(0.13384886560822895 * math.sqrt(365))


def test_drawdowns() -> None:
    # Highs on days 0, 1, 4 and 7; under water on 2-3 (to -10 %), and from 8 to the end (to -50 %).
    m = measured([100.0, 110.0, 99.0, 104.5, 110.0, 111.0, 111.0, 120.0, 60.0, 90.0, 84.0, 90.0])
    assert m.max_drawdown == pytest.approx(-0.5)
    assert m.average_drawdown == pytest.approx((-0.1 - 0.5) / 2)
    assert m.max_drawdown_days == 4.0  # from the high on day 7 to the last bar, on day 11


def test_a_drawdown_ends_on_the_bar_that_is_back_at_the_high() -> None:
    assert measured([100.0, 90.0, 95.0, 100.0, 101.0]).max_drawdown_days == 3.0
    half_days = measured([100.0, 90.0, 95.0, 100.0], time=days(4, DAY // 2), timeframe="12h")
    assert half_days.max_drawdown_days == 1.5


def test_the_market() -> None:
    m = measured(CURVE, benchmark=MARKET)
    assert m.buy_and_hold == pytest.approx(0.06)
    assert m.beta == pytest.approx(2.6696326993046884)
    assert m.alpha == pytest.approx(4.280408123691713)


def test_twice_the_market_has_a_beta_of_two_and_no_alpha() -> None:
    steps = np.array([0.01, -0.02, 0.03, 0.004])
    market, twice = (np.cumprod(np.concatenate(([1.0], 1 + k * steps))) for k in (1, 2))
    m = measured(twice, benchmark=market)
    assert m.beta == pytest.approx(2.0)
    assert m.alpha == pytest.approx(0.0, abs=1e-12)


def test_the_first_bar_counts_when_it_has_traded_already() -> None:
    m = measured([90.0, 99.0], initial_equity=100.0, benchmark=[95.0, 104.5])
    assert m.total_return == pytest.approx(-0.01)
    assert m.max_drawdown == pytest.approx(-0.1)
    assert m.max_drawdown_days == 1.0
    assert m.peak_equity == 100.0
    assert m.sharpe == pytest.approx(0.0, abs=1e-12)  # returns -0.1 and 0.1
    assert m.beta == pytest.approx(0.2 / 0.15)  # against -0.05 and 0.1
    assert m.buy_and_hold == pytest.approx(0.045)


def test_a_high_after_such_a_first_bar_keeps_its_own_day() -> None:
    # The high is on day 1, and day 4 is back at it.
    assert measured([110.0, 120.0, 90.0, 90.0, 120.0], initial_equity=100.0).max_drawdown_days == 3.0


TRADES = [
    trade(30.0, 0.03, bars_held=4),
    trade(-10.0, -0.02, bars_held=1),
    trade(10.0, 0.02, bars_held=3),
    trade(0.0, 0.0, bars_held=2),
]


def test_trades() -> None:
    m = measured(CURVE, trades=TRADES)
    assert (m.trades, m.open_trades) == (4, 0)
    assert m.win_rate == 0.5  # a trade without gain is no win
    assert m.profit_factor == pytest.approx(4.0)
    assert m.expectancy == pytest.approx(7.5)
    # Distances 22.5, -17.5, 2.5, -7.5: squares add up to 875, over 3.
    assert m.sqn == pytest.approx(2 * 7.5 / math.sqrt(875 / 3))
    # Wins of 0.025 on average, losses of 0.02: 0.5 - 0.5 / 1.25.
    assert m.kelly == pytest.approx(0.1)
    assert (m.best_trade, m.worst_trade) == (0.03, -0.02)
    assert m.average_trade == pytest.approx(0.0075)
    assert m.average_bars_held == 2.5


def test_open_trades_are_counted_and_not_judged() -> None:
    m = measured(CURVE, trades=[*TRADES, trade(1e6, 5.0, exit_=None)])
    assert (m.trades, m.open_trades) == (5, 1)
    assert (m.win_rate, m.best_trade, m.average_bars_held) == (0.5, 0.03, 2.5)
    only_open = measured(CURVE, trades=[trade(5.0, 0.05, exit_=None)])
    assert (only_open.trades, only_open.open_trades, only_open.win_rate) == (1, 1, None)


def test_without_trades_there_are_no_trade_figures() -> None:
    m = measured(CURVE)
    assert m.trades == 0
    names = ("win_rate", "profit_factor", "expectancy", "sqn", "kelly", "best_trade", "worst_trade", "average_trade")
    assert [getattr(m, name) for name in (*names, "average_bars_held")] == [None] * 9


def test_wins_alone_have_no_profit_factor_and_no_kelly_fraction() -> None:
    m = measured(CURVE, trades=[trade(1.0, 0.01), trade(3.0, 0.03)])
    assert (m.win_rate, m.profit_factor, m.kelly) == (1.0, None, None)
    assert m.sqn == pytest.approx(math.sqrt(2) * 2 / math.sqrt(2))


def test_losses_alone_have_a_profit_factor_of_zero() -> None:
    m = measured(CURVE, trades=[trade(-1.0, -0.01), trade(-3.0, -0.03)])
    assert (m.win_rate, m.profit_factor, m.kelly) == (0.0, 0.0, None)


def test_equal_trades_have_no_system_quality() -> None:
    assert measured(CURVE, trades=[trade(0.1 + 0.2, 0.01), trade(0.3, 0.01)]).sqn is None
    assert measured(CURVE, trades=[trade(1.0, 0.01)]).sqn is None


def test_exposure_is_the_share_of_bars_that_close_with_a_position() -> None:
    assert measured(CURVE, exposure=[0, 0.2, 1.7, 0, 1]).exposure == 0.6
    assert measured(CURVE, exposure=[0] * 5).exposure == 0.0


def test_exposure_is_derived_from_the_trades_when_it_is_not_given() -> None:
    assert measured(CURVE).exposure == 0.0
    # Held at the close of days 0 and 1, and from day 4 on; the third was in and out within day 2.
    made = [
        trade(1.0, 0.1, entry=0, exit_=2),
        trade(1.0, 0.1, entry=2, exit_=2),
        trade(1.0, 0.1, entry=4, exit_=None),
    ]
    assert measured(CURVE, trades=made).exposure == 0.6
    both = [trade(1.0, 0.1, entry=0, exit_=2), trade(1.0, 0.1, entry=1, exit_=3)]
    assert measured(CURVE, trades=both).exposure == 0.6


def test_turnover_is_what_was_traded_over_the_average_equity() -> None:
    m = measured([100.0, 200.0, 300.0], turnover_value=1000.0, fees=12.5)
    assert (m.turnover, m.fees) == (5.0, 12.5)
    # Money that is owed does not count: the average is (100 + 0 + 200) / 3.
    assert measured([100.0, -50.0, 200.0], turnover_value=1000.0).turnover == 10.0


def test_a_constant_equity_has_no_ratios() -> None:
    m = measured([100.0] * 10, benchmark=[100.0] * 10)
    assert (m.total_return, m.cagr, m.volatility, m.max_drawdown, m.max_drawdown_days) == (0.0, 0.0, 0.0, 0.0, 0.0)
    ratios = (m.sharpe, m.sortino, m.calmar, m.alpha, m.beta, m.probabilistic_sharpe, m.deflated_sharpe)
    assert ratios == (None,) * 7
    assert m.average_drawdown is None


def test_a_constant_growth_has_no_sharpe_ratio_in_spite_of_rounding() -> None:
    curve = 100 * 1.001 ** np.arange(1000)
    assert np.std(np.diff(curve) / curve[:-1]) > 0
    m = measured(curve)
    assert (m.sharpe, m.sortino, m.probabilistic_sharpe) == (None, None, None)
    assert m.total_return > 1


def test_a_growth_at_the_risk_free_rate_has_no_ratios_in_spite_of_rounding() -> None:
    m = measured(100 * 1.05 ** (np.arange(1000) / 365), risk_free=0.05)
    assert (m.sharpe, m.sortino) == (None, None)


def test_a_curve_that_never_falls_has_a_sharpe_ratio_and_no_sortino_ratio() -> None:
    m = measured([100.0, 101.0, 103.0])
    assert m.sharpe is not None
    assert (m.sortino, m.calmar) == (None, None)


def test_no_bars() -> None:
    m = measured([], initial_equity=100.0, benchmark=[], exposure=[])
    assert (m.start, m.end, m.bars, m.years, m.total_return, m.exposure) == ("", "", 0, 0.0, 0.0, 0.0)
    assert (m.final_equity, m.max_drawdown) == (100.0, 0.0)
    assert (m.cagr, m.volatility, m.max_drawdown_days, m.buy_and_hold, m.value_at_risk_95) == (None,) * 5


def test_one_bar() -> None:
    m = measured([110.0], initial_equity=100.0, benchmark=[105.0])
    assert (m.bars, m.years, m.max_drawdown_days) == (1, 0.0, 0.0)
    assert m.total_return == pytest.approx(0.1)
    assert m.buy_and_hold == pytest.approx(0.05)
    assert (m.cagr, m.volatility, m.sharpe, m.beta, m.expected_shortfall_95) == (None,) * 5


def test_two_bars_are_one_return_and_no_spread() -> None:
    m = measured([100.0, 101.0])
    assert (m.volatility, m.sharpe, m.sortino, m.value_at_risk_95) == (None,) * 4
    assert m.cagr == pytest.approx(1.01**365.25 - 1)


def test_a_growth_too_fast_for_a_number_has_no_yearly_rate() -> None:
    assert measured([1.0, 1e9], time=days(2, DAY // 24), timeframe="1h").cagr is None


def test_a_growth_that_rounds_to_nothing_is_a_loss_of_all() -> None:
    assert measured([2.0, 5e-324]).cagr == -1.0


def test_a_market_out_of_all_bounds_has_no_beta() -> None:
    m = measured([1.0, 1.1, 1.0], benchmark=[1.0, 1e-200, 1e50])
    assert (m.alpha, m.beta) == (None, None)


@pytest.mark.parametrize("last", [0.0, -20.0])
def test_ruin_ends_the_account(last: float) -> None:
    m = measured([100.0, 150.0, last, last])
    assert m.ruined_at == "2020-01-03T00:00:00Z"
    assert m.cagr == -1.0
    assert m.total_return == pytest.approx(last / 100 - 1)
    assert m.max_drawdown == pytest.approx(last / 150 - 1)
    # Two returns count: +0.5, and the one that lost it all.
    r = np.array([0.5, last / 150 - 1])
    assert m.sharpe == pytest.approx(r.mean() / r.std(ddof=1) * math.sqrt(365))


def test_money_that_comes_back_after_ruin_does_not_undo_it() -> None:
    m = measured([100.0, 50.0, -1.0, 400.0])
    assert (m.total_return, m.cagr) == (3.0, -1.0)
    assert m.sharpe is not None and m.sharpe < 0


def test_a_run_that_is_not_ruined_says_so() -> None:
    assert measured(CURVE).ruined_at is None


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"equity": [100.0, math.nan]}, "equity is nan on bar 1 .2020-01-02"),
        ({"equity": [100.0, math.inf]}, "equity is inf on bar 1"),
        ({"equity": [100.0, 1e200]}, "equity is 1e.200 on bar 1"),
        ({"benchmark": [1.0]}, "benchmark has 1 values for 2 bars"),
        ({"exposure": [1.0, math.nan]}, "exposure is nan on bar 1"),
        ({"initial_equity": 0.0}, "give an amount above zero"),
        ({"initial_equity": math.nan}, "give an amount above zero"),
        ({"fees": math.nan}, "look at the fills"),
        ({"turnover_value": -1.0}, "look at the fills"),
        ({"risk_free": -1.0}, "0.04"),
        ({"trials": 0}, "1 or more"),
        ({"trial_sharpe_variance": math.nan}, "or None"),
    ],
)
def test_what_cannot_be_measured_is_refused(wrong: dict[str, object], words: str) -> None:
    with pytest.raises(DataError, match=words):
        measured(**{"equity": [100.0, 101.0], **wrong})  # type: ignore[arg-type]  # wrong on purpose


def test_every_metric_has_a_label_a_unit_and_a_sentence() -> None:
    assert list(METRIC_HINTS) == [field.name for field in fields(Metrics)]
    for name, hint in METRIC_HINTS.items():
        assert hint.label and hint.hint.endswith(".") and hint.hint[0].isupper(), name
        assert hint.unit in {"percent", "ratio", "money", "count", "days", "text"}, name
    labels = [hint.label for hint in METRIC_HINTS.values()]
    assert len(set(labels)) == len(labels)


def test_every_metric_is_explained_in_the_documentation() -> None:
    page = (ROOT / "docs" / "metrics.md").read_text(encoding="utf-8")
    missing = [field.name for field in fields(Metrics) if f"`{field.name}`" not in page]
    assert not missing, f"docs/metrics.md does not explain {missing}"
