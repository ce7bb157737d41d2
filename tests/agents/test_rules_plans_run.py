"""Trades of plans that hold or save, worked out by hand on prices that hardly move."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import pytest

from ringfence import open_sandbox
from ringfence.agents.rules.compiler import Understood, compile_request
from ringfence.evaluators.correctness import rederive
from ringfence.sandbox import Sandbox
from ringfence.trade.bars import Bars, Candles
from ringfence.trade.run import Run
from ringfence.trade.times import DAY

from tests.agents.compiled import tried
from tests.trade.prices import MONDAY, make_bars
from tests.verbs.judged import STRATEGY_SANDBOX, sample

OPEN = 9.9  # so that $100 buys ten shares, and no rounding nine


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    with open_sandbox(STRATEGY_SANDBOX) as opened:
        yield opened


def quiet(days: int, closes: Mapping[int, float] | Sequence[float], opening: float = OPEN) -> Candles:
    """Every day opens at one price and closes at 10, but for the days that are named."""
    close = np.full(days, 10.0)
    for day, price in closes.items() if isinstance(closes, Mapping) else enumerate(closes):
        close[day] = price
    open_ = np.full(days, opening)
    time = MONDAY + np.arange(days, dtype=np.int64) * DAY
    return Candles(time, open_, np.maximum(open_, close), np.minimum(open_, close), close, np.full(days, 1e6))


def bought(run: Run, symbol: str) -> list[tuple[int, float]]:
    """The day, counted from the first Monday, and how many."""
    fills = [fill for fill in run.fills if fill.symbol == symbol]
    return [((fill.time - MONDAY) // DAY, fill.qty if fill.side == "buy" else -fill.qty) for fill in fills]


TUESDAYS = (8, 15, 22, 29, 36)  # the first Monday is the first bar, which begins no week
LOW_MONDAYS: Bars = make_bars(AAPL=quiet(40, {14: 9.0, 28: 9.0}), MSFT=quiet(40, {}))


@pytest.mark.parametrize(
    ("said", "usual", "other"),
    [
        ("$100 into AAPL every Monday, 200 instead when it is below its 3-day average", 10, 20),
        ("$100 into AAPL every Monday plus an extra $50 if it closes below its 3-day average", 10, 15),
        ("Buy 4 shares of AAPL every Monday, double it when the close is under 9.5", 4, 8),
    ],
)
def test_a_sum_depends_on_the_condition_of_its_day(sandbox: Sandbox, said: str, usual: int, other: int) -> None:
    run = tried(sandbox, said, LOW_MONDAYS)
    assert bought(run, "AAPL") == list(zip(TUESDAYS, (usual, other, usual, other, usual)))


def test_a_sum_is_split_by_ticker(sandbox: Sandbox) -> None:
    run = tried(sandbox, "Every Monday invest $500: 70% in AAPL and 30% in MSFT", LOW_MONDAYS)
    assert bought(run, "AAPL") == [(day, 35) for day in TUESDAYS]
    assert bought(run, "MSFT") == [(day, 15) for day in TUESDAYS]
    run = tried(sandbox, "$300 to AAPL and $100 to MSFT every Monday", LOW_MONDAYS)
    assert bought(run, "AAPL") == [(day, 30) for day in TUESDAYS]
    assert bought(run, "MSFT") == [(day, 10) for day in TUESDAYS]


def test_a_split_sum_is_doubled_for_all(sandbox: Sandbox) -> None:
    said = "Every Monday split $500 70/30 between AAPL and MSFT, double it when AAPL is below its 3-day average"
    run = tried(sandbox, said, LOW_MONDAYS)
    assert bought(run, "AAPL") == [(8, 35), (15, 70), (22, 35), (29, 70), (36, 35)]
    assert bought(run, "MSFT") == [(8, 15), (15, 30), (22, 15), (29, 30), (36, 15)]


def test_a_level_volatility_is_put_right_on_schedule_and_left_when_the_rule_fails(sandbox: Sandbox) -> None:
    """Closes of 10 and 10.1 by turns move by about 1 % a day: some 16 % a year, so 10 % is some 60 % of the equity."""
    days = 60
    closes = [10.0 if n % 2 else 10.1 for n in range(days)]
    closes[40:] = [9.0] * 20  # below 9.5: out
    returns = np.diff(closes[:22]) / np.array(closes[:21])
    bars = make_bars(AAPL=quiet(days, closes, 10.0))
    said = "Hold AAPL at 10% volatility over 20 days, resized every Monday, flat while it is under 9.5"
    run = tried(sandbox, said, bars)
    made = bought(run, "AAPL")
    share = 10 / (np.std(returns[:20], ddof=1) * 252**0.5 * 100)
    assert made[0][1] == pytest.approx(share * 100_000 / 10, abs=2)
    assert made[-1][0] == 41 and sum(qty for _, qty in made) == 0
    assert all((day - 1) % 7 == 0 for day, _ in made[1:-1])


def test_one_of_two_baskets_is_held_by_a_rule_on_its_day(sandbox: Sandbox) -> None:
    """The rule fails on one Monday: 70 % and 30 % become 30 % and 70 %, and come back a week later."""
    bars = make_bars(AAPL=quiet(40, {14: 9.0, 24: 9.0}, 10.0), MSFT=quiet(40, {}, 10.0))
    said = "Every Monday hold 70% AAPL and 30% MSFT if AAPL is above 9.5, otherwise 30% AAPL and 70% MSFT"
    run = tried(sandbox, said, bars)
    assert bought(run, "AAPL")[0][1] == 7000
    assert [one for one in bought(run, "AAPL") if one[0] > 7] == [(15, pytest.approx(-4000, abs=400)), (22, 4000)]
    assert sum(qty for _, qty in bought(run, "AAPL")) == 7000
    assert sum(qty for _, qty in bought(run, "MSFT")) == 3000


def test_a_choice_of_baskets_is_derived_again(sandbox: Sandbox) -> None:
    said = (
        "If AAPL is above its 100-day average hold 60% AAPL and 40% MSFT, otherwise hold 50% IBM and 50% MSFT. "
        "Rebalance monthly."
    )
    bars = sample("AAPL", "MSFT", "IBM")
    description = compile_request(said)
    assert isinstance(description, Understood)
    found = rederive(description.description, tried(sandbox, said, bars), bars)
    assert found.counts["rebalances"] > 50
    assert not found.errors


def test_a_level_volatility_is_derived_again(sandbox: Sandbox) -> None:
    said = "Hold GOOG at 10% volatility over 20 days, resized every Monday, only while it is above its 100-day average"
    bars = sample("GOOG")
    description = compile_request(said)
    assert isinstance(description, Understood)
    found = rederive(description.description, tried(sandbox, said, bars), bars)
    assert found.counts["rebalances"] > 100
    assert not found.errors
