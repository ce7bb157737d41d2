"""What is said of a strategy that never traded: which line, how often it held, how near it came."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from ringfence import open_sandbox
from ringfence.sandbox import Sandbox
from ringfence.trade.times import iso

from tests.verbs.judged import STRATEGY_SANDBOX, judge, on_each_bar, sample


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    with open_sandbox(STRATEGY_SANDBOX) as opened:
        yield opened


def guidance(sandbox: Sandbox, *lines: str, init: str = "pass") -> tuple[str, ...]:
    run = judge(sandbox, on_each_bar(*lines, init=init), lookahead=False)
    assert (run.verdict, run.provenance) == ("no_trades", "verified")
    return run.guidance


def test_a_condition_that_never_held_is_told_with_its_line_and_its_nearest_moment(sandbox: Sandbox) -> None:
    (said,) = guidance(sandbox, "if self.data.close[-1] > 5_000: self.buy()")
    candles = sample("GOOG").candles["GOOG"]
    best = int(np.argmax(candles.close))
    top = float(candles.close[best])
    assert said == (
        f"line 9: `self.data.close[-1] > 5_000` held 0 of the 2,147 times it was asked; "
        f"nearest on {iso(int(candles.time[best]))}: {top:.6g} against 5000, {5000 - top:.4g} away"
    )


def test_conditions_are_counted_one_by_one_the_rarest_first(sandbox: Sandbox) -> None:
    said = guidance(sandbox, "if self.data.close[-1] > 300 and self.data.close[-1] < 100: self.buy()")
    closes = sample("GOOG").candles["GOOG"].close[1:]
    above = int((closes > 300).sum())
    lowest = float(closes[closes > 300].min())
    assert len(said) == 2
    assert f"`self.data.close[-1] < 100` held 0 of the {above:,} times it was asked" in said[0]
    assert f"{lowest:.6g} against 100" in said[0]
    assert said[1] == f"line 9: `self.data.close[-1] > 300` held {above:,} of the 2,147 times it was asked"


def test_a_chain_is_as_near_as_its_worst_link(sandbox: Sandbox) -> None:
    (said,) = guidance(sandbox, "if 1_000 < self.data.close[-1] < 2_000: self.buy()")
    top = float(sample("GOOG").candles["GOOG"].close.max())
    assert "`1_000 < self.data.close[-1] < 2_000` held 0 of the 2,147" in said
    assert f"1000 against {top:.6g}, {1000 - top:.4g} away" in said


def test_lines_that_never_crossed_are_as_near_as_they_came(sandbox: Sandbox) -> None:
    said = guidance(
        sandbox,
        "from ringfence.trade.indicators import crossover",
        "if crossover(self.data.close, self.high): self.buy()",
        init="self.high = self.I(lambda h: h + 1, self.data.high)",
    )
    candles = sample("GOOG").candles["GOOG"]
    away = candles.high + 1 - candles.close
    near = int(np.argmin(away[1:])) + 1
    assert "`crossover(self.data.close, self.high)` held 0 of the" in said[0]
    assert f"nearest on {iso(int(candles.time[near]))}" in said[0] and f"{away[near]:.4g} away" in said[0]


def test_what_a_condition_does_is_done_once(sandbox: Sandbox) -> None:
    (said,) = guidance(
        sandbox,
        "if self.count() > 5_000: self.buy()\n\n    def count(self):\n        self.n += 1\n        return self.n",
        init="self.n = 0",
    )
    assert "2147 against 5000" in said


def test_an_indicator_without_a_value_is_named(sandbox: Sandbox) -> None:
    (said,) = guidance(
        sandbox,
        "self.buy()",
        init="self.x = self.I(lambda c: np.full(len(c), np.nan), self.data.close, name='empty')",
    )
    assert said.startswith("next() was never called: empty has no value on any of the 2,148 bars")


def test_orders_that_never_met_their_price_are_counted(sandbox: Sandbox) -> None:
    (said,) = guidance(sandbox, "if len(self.data) in (50, 60, 70): self.buy(size=1, limit=0.5)")
    assert said == "3 × never met its price: move the limit or the stop nearer"


def test_orders_of_the_last_bar_are_counted(sandbox: Sandbox) -> None:
    assert guidance(sandbox, "if len(self.data) == 2148: self.buy(size=1)") == (
        "1 × ordered on the last bar, which no other follows",
    )


def test_orders_that_expired_are_counted(sandbox: Sandbox) -> None:
    said = guidance(sandbox, "if len(self.data) in (50, 60): self.buy(size=1, limit=0.5, tif='day')")
    assert said == ("2 × not filled: the day ended before its price was met",)


def test_nothing_asked_is_said_too(sandbox: Sandbox) -> None:
    (said,) = guidance(sandbox, "pass")
    assert said.startswith("no condition was asked")
