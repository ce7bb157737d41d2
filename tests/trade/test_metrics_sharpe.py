"""Luck in a Sharpe ratio: the numbers printed in the papers of Bailey and López de Prado, and our own edges."""

from __future__ import annotations

import math

import numpy as np
import pytest

from ringfence.trade.sharpe import Moments, deflated_sharpe, expected_maximum, moments, probabilistic_sharpe

from tests.trade.measured import measured


def sample(sharpe: float, *, count: int, skew: float = 0.0, kurtosis: float = 3.0) -> Moments:
    return Moments(count=count, mean=sharpe, deviation=1.0, skew=skew, kurtosis=kurtosis)


def test_the_papers_fund_is_less_sure_once_its_skew_is_seen() -> None:
    # "The Sharpe ratio efficient frontier" (2012): 24 months, ratio 0.458 a month; 0.982 as if normal, 0.913 in fact.
    assert probabilistic_sharpe(sample(0.458, count=24)) == pytest.approx(0.982, abs=0.001)
    assert probabilistic_sharpe(sample(0.458, count=24, skew=-2.448, kurtosis=10.164)) == pytest.approx(
        0.913, abs=0.001
    )


def test_the_papers_best_of_a_hundred_trials_is_ninety_percent_sure() -> None:
    # "The deflated Sharpe ratio" (2014): 100 trials, 1,250 days, ratio 2.5 a year of 250 days, variance 1/2 a year.
    found = sample(2.5 / math.sqrt(250), count=1250, skew=-3.0, kurtosis=10.0)
    assert expected_maximum(100, 0.5 / 250) == pytest.approx(0.1132, abs=0.0001)
    assert deflated_sharpe(found, 100, 0.5 / 250) == pytest.approx(0.9004, abs=0.0005)
    # It would have been 95 % sure as the best of 46, or with normal returns as the best of 88.
    assert deflated_sharpe(found, 46, 0.5 / 250) == pytest.approx(0.9505, abs=0.0005)
    normal = sample(2.5 / math.sqrt(250), count=1250)
    assert deflated_sharpe(normal, 88, 0.5 / 250) == pytest.approx(0.9505, abs=0.0005)


def test_the_expected_maximum_is_what_the_best_of_random_trials_shows() -> None:
    best = np.random.default_rng(7).normal(0, 0.3, (20_000, 50)).max(axis=1).mean()
    assert expected_maximum(50, 0.09) == pytest.approx(best, rel=0.02)


def test_one_trial_deflates_nothing() -> None:
    found = sample(0.1, count=500)
    assert expected_maximum(1, 0.5) == 0.0
    assert deflated_sharpe(found, 1, 0.5) == deflated_sharpe(found, 1) == probabilistic_sharpe(found)


def test_more_trials_deflate_more_and_never_run_out_of_numbers() -> None:
    found = sample(0.1, count=500)
    chances = [deflated_sharpe(found, trials) for trials in (1, 2, 10, 1000, 10**6, 10**30)]
    known = [chance for chance in chances if chance is not None]
    assert len(known) == len(chances)
    assert known == sorted(known, reverse=True)


def test_an_unknown_variance_is_the_one_of_the_estimate_without_skill() -> None:
    found = sample(0.1, count=401)
    assert deflated_sharpe(found, 20) == deflated_sharpe(found, 20, 1 / 400)


def test_the_golden_curve() -> None:
    # Ratio 0.39619538641, skew 0.0637808668 and kurtosis 1.6641206046 of four returns: 0.6859588852 deviations.
    m = measured([100.0, 110.0, 99.0, 99.0, 120.0])
    assert m.probabilistic_sharpe == pytest.approx(0.7536304821920143)
    assert m.deflated_sharpe == m.probabilistic_sharpe
    assert m.trials == 1


def test_a_variance_between_trials_is_given_of_annualised_ratios() -> None:
    curve = np.cumprod(1 + np.random.default_rng(2).normal(0.001, 0.01, 500))
    m = measured(curve, trials=30, trial_sharpe_variance=1.46)
    found = moments(np.diff(curve) / curve[:-1])
    assert found is not None
    assert m.trials == 30
    assert m.deflated_sharpe == pytest.approx(deflated_sharpe(found, 30, 1.46 / 365))


def test_too_little_has_no_moments() -> None:
    assert moments(np.array([])) is None
    assert moments(np.array([0.1])) is None
    assert moments(np.array([0.1, 0.1, 0.1])) is None


def test_two_returns_have_a_ratio_whose_error_cannot_be_told_for_some() -> None:
    # Two points a and b: skew 0, kurtosis 1, so nothing but n is left in the error, and it is exact.
    found = moments(np.array([0.01, 0.03]))
    assert found is not None
    assert found.kurtosis == pytest.approx(1.0)
    assert probabilistic_sharpe(found) == pytest.approx(0.5 * (1 + math.erf(found.sharpe / math.sqrt(2))))
    # A skewed pair of values can leave no error at all, and then there is no probability.
    assert probabilistic_sharpe(Moments(count=3, mean=2.0, deviation=1.0, skew=1.0, kurtosis=2.0)) is None
