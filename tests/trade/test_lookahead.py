"""Where the history is cut, what is put in the place of the future, and what counts as another decision."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from ringfence.trade.bars import PRICES, Bars, Candles, find_problems
from ringfence.trade.intents import Intent
from ringfence.trade.lookahead import Cut, choose_cuts, compare, describe, without_future
from ringfence.trade.times import DAY


def walk(rows: int, seed: int, first_day: int = 0) -> Candles:
    close = 100 * np.exp(np.cumsum(np.random.default_rng(seed).normal(0, 0.02, rows)))
    time = (np.arange(rows, dtype=np.int64) + first_day) * DAY
    return Candles(time, close, close * 1.01, close * 0.99, close, np.full(rows, 1e6))


@cache
def bars(rows: int = 500) -> Bars:
    return Bars(candles={"X": walk(rows, 1)}, timeframe="1d", source="made")


def buys(*nows: int) -> list[Intent]:
    return [Intent(now, "order", 0, 1, quantity=1.0) for now in nows]


def test_every_cut_leaves_a_future_to_take_away() -> None:
    for log in ([], buys(0), buys(498), buys(499), buys(*range(499))):
        cuts = choose_cuts(log, bars())
        assert cuts and all(0 <= cut.bar <= 498 for cut in cuts)
        assert {cut.test for cut in cuts} == {"truncated", "perturbed"}


def test_the_same_log_is_cut_in_the_same_places() -> None:
    assert choose_cuts(buys(5, 80, 200), bars()) == choose_cuts(buys(5, 80, 200), bars())


@pytest.mark.parametrize("rows", [300, 400, 500])
def test_the_first_decision_and_the_one_that_paid_most_are_looked_at(rows: int) -> None:
    closes = bars(rows).candles["X"].close
    best = int(np.argmax(closes[1:] / closes[:-1]))
    log = buys(*range(3, rows - 2))
    assert {3, best} <= {cut.bar for cut in choose_cuts(log, bars(rows)) if cut.test == "truncated"}


def test_the_one_that_paid_most_for_a_seller_is_the_deepest_fall() -> None:
    closes = bars().candles["X"].close
    worst = int(np.argmin(closes[1:] / closes[:-1]))
    log = [Intent(now, "order", 0, -1, quantity=1.0) for now in range(3, 498)]
    assert worst in {cut.bar for cut in choose_cuts(log, bars()) if cut.test == "truncated"}


def test_a_future_is_turned_both_ways_behind_one_decision() -> None:
    cuts = [cut for cut in choose_cuts(buys(50, 90, 130), bars()) if cut.test == "perturbed"]
    assert any({c.up for c in cuts if c.bar == bar} == {True, False} for bar in (50, 90, 130))


@pytest.mark.parametrize("rows", [1, 2])
def test_too_short_a_history_is_not_cut(rows: int) -> None:
    assert choose_cuts(buys(0), bars(rows)) == []


def test_no_instrument_is_cut_away_as_a_whole() -> None:
    both = replace(bars(), candles={"X": walk(500, 1), "Y": walk(100, 2, first_day=400)})
    for cut in choose_cuts(buys(*range(0, 499, 3)), both):
        assert without_future(both, cut).symbols == ("X", "Y")


def test_a_truncated_history_ends_on_the_bar_of_the_cut() -> None:
    cut = without_future(bars(), Cut(123, "truncated"))
    assert len(cut.timeline()) == 124
    assert (cut.candles["X"].close == bars().candles["X"].close[:124]).all()


@pytest.mark.parametrize("up", [True, False])
def test_a_perturbed_history_is_the_same_up_to_the_cut_and_a_possible_one_after_it(up: bool) -> None:
    real, other = bars().candles["X"], without_future(bars(), Cut(123, "perturbed", up=up)).candles["X"]
    assert (real.time == other.time).all()
    for name in (*PRICES, "volume"):
        assert (getattr(real, name)[:124] == getattr(other, name)[:124]).all()
    assert (real.close[124:] != other.close[124:]).mean() > 0.9
    assert not find_problems(other)
    # Up to the cut, or after it, nothing tells where it was made.
    assert (other.close[128] > other.close[123]) is np.bool_(up)
    assert set(other.volume.tolist()) <= set(real.volume.tolist())


TIMELINE = list(range(0, 500 * DAY, DAY))


def seen(full: list[Intent], other: list[Intent], bar: int = 100) -> tuple[int, str, str] | None:
    evidence = compare(full, other, Cut(bar, "truncated"), TIMELINE, ["X"])
    return None if evidence is None else (evidence.time // DAY, evidence.with_future, evidence.without_future)


def test_only_what_was_decided_up_to_the_cut_is_compared() -> None:
    assert seen(buys(5, 100), buys(5, 100)) is None
    assert seen(buys(5, 101, 300), buys(5)) is None
    assert seen(buys(5, 100), buys(5)) == (100, "buy X 1 at market", "nothing")
    assert seen(buys(5), buys(5, 40)) == (40, "nothing", "buy X 1 at market")
    assert seen(buys(5, 50), buys(7, 50)) == (5, "buy X 1 at market", "nothing")


def test_another_size_price_side_or_reason_is_another_decision() -> None:
    one = buys(5)
    for change in ({"quantity": 2.0}, {"sign": -1}, {"sl": 5.0}, {"reason": "why"}, {"quantity": float("inf")}):
        assert seen(one, [one[0]._replace(**change)]) is not None


def test_the_last_digit_is_no_other_decision() -> None:
    assert seen(buys(5), [buys(5)[0]._replace(quantity=1.0 + 1e-12)]) is None
    nan = [buys(5)[0]._replace(quantity=float("nan"))]
    assert seen(nan, [nan[0]._replace(quantity=float("nan"))]) is None


def test_every_intent_can_be_put_into_words() -> None:
    assert describe(None, ["X"]) == "nothing"
    assert describe(Intent(1, "close", 0, ref=3), ["X"]) == "close X lot 3"
    assert describe(Intent(1, "order", 0, 1), ["X"]) == "buy X of no size at market"
    assert describe(Intent(1, "order", 0, -1, fraction=0.5, kind="limit", limit=9.5), ["X"]) == (
        "sell X 0.5 of the cash at limit limit 9.5"
    )
    assert describe(Intent(1, "order", 0, 1, target=0.25), ["X"]) == "buy X 0.25 as target at market"
