"""Positions that are sold in parts, stops that come to the entry price: fills worked out by hand from a few closes.

Each bar opens at the close before it, so that a rule that holds on a close is filled at that close.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pytest

from ringfence import open_sandbox
from ringfence.sandbox import Sandbox
from ringfence.trade.bars import Bars, Candles
from ringfence.trade.times import DAY

from tests.agents.compiled import tried
from tests.trade.prices import MONDAY, make_bars
from tests.verbs.judged import STRATEGY_SANDBOX

Fill = tuple[int, str, float, float]  # its bar, what was done, how many, at which price


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    with open_sandbox(STRATEGY_SANDBOX) as opened:
        yield opened


def closing_at(closes: Sequence[float]) -> Bars:
    close = np.array(closes, dtype=float)
    opened = np.concatenate([close[:1], close[:-1]])
    time = MONDAY + np.arange(len(close), dtype=np.int64) * DAY
    high, low = np.maximum(opened, close), np.minimum(opened, close)
    return make_bars(ABC=Candles(time, opened, high, low, close, np.full(len(close), 1000.0)))


def fills(sandbox: Sandbox, said: str, closes: Sequence[float]) -> list[Fill]:
    bars = closing_at(closes)
    times = bars.candles["ABC"].time.tolist()
    run = tried(sandbox, f"Trade ABC. {said}", bars)
    return [(times.index(fill.time), fill.side, fill.qty, round(fill.price, 4)) for fill in run.fills]


# Closes of a fall to 89, on which 90 are bought at the next open, a rise and a fall.
WAVE = [100, 96, 89, 92, 101, 105, 111, 108, 104, 96, 94, 91, 93]
BUY = "Buy 90 shares when the close crosses below 90."
THIRDS = f"{BUY} Sell a third when the close is above 100, another third when it is above 110"


def test_each_part_is_sold_once_by_its_own_rule_and_the_rest_by_another(sandbox: Sandbox) -> None:
    said = f"{THIRDS}, the rest when it is below 95"
    assert fills(sandbox, said, WAVE) == [
        (3, "buy", 90, 89),
        (5, "sell", 29, 101),  # 33.33 % of 90, in whole shares
        (7, "sell", 29, 111),
        (11, "sell", 32, 94),
    ]


def test_parts_that_fall_due_on_one_bar_are_sold_together(sandbox: Sandbox) -> None:
    said = f"{THIRDS}, the rest when it is below 95"
    assert fills(sandbox, said, [100, 96, 89, 92, 115, 104, 96, 94, 91]) == [
        (3, "buy", 90, 89),
        (5, "sell", 59, 115),
        (8, "sell", 31, 94),
    ]


def test_the_rest_waits_until_a_part_has_been_sold(sandbox: Sandbox) -> None:
    """The close is below 95 on the bar of the entry too."""
    said = f"{BUY} Sell half when the close is above 100 and the rest when the close is below 95"
    assert fills(sandbox, said, [100, 96, 89, 92, 94, 99, 101, 105, 94, 93]) == [
        (3, "buy", 90, 89),
        (7, "sell", 45, 101),
        (9, "sell", 45, 94),
    ]


def test_two_halves_are_sold_in_whichever_order_their_rules_come(sandbox: Sandbox) -> None:
    said = (
        "Buy 5 shares when the close crosses below 90. Sell half when the close is above 110, half when it is below 80"
    )
    assert fills(sandbox, said, [100, 96, 89, 79, 92, 111, 112]) == [
        (3, "buy", 5, 89),
        (4, "sell", 2, 79),
        (6, "sell", 3, 111),  # none is left over
    ]


def test_the_target_of_the_rest_counts_when_a_part_has_been_sold(sandbox: Sandbox) -> None:
    """20 % above 89 is 106.8: passed on the way up, and met again after half was sold at 104."""
    said = f"{BUY} Sell half when the close crosses below 105, the rest at +20%"
    assert fills(sandbox, said, [100, 96, 89, 100, 108, 106, 104, 105, 110, 111]) == [
        (3, "buy", 90, 89),
        (7, "sell", 45, 104),
        (8, "sell", 45, 106.8),
    ]


def test_a_part_at_a_gain_and_one_by_a_rule_are_parts_of_what_was_bought(sandbox: Sandbox) -> None:
    """10 % above 89 is 97.9. Whichever comes first, neither takes the other's shares."""
    said = f"{BUY} Sell 40% at 10%, another 40% when the close is below 88, and the rest when the close is below 80"
    up = fills(sandbox, said, [100, 96, 89, 92, 99, 87, 86, 79, 78])
    assert up == [
        (3, "buy", 36, 89),
        (3, "buy", 54, 89),
        (4, "sell", 36, 97.9),
        (6, "sell", 36, 87),
        (8, "sell", 18, 79),
    ]
    down = fills(sandbox, said, [100, 96, 89, 87, 86, 99, 85, 79, 78])
    assert down == [
        (3, "buy", 36, 89), (3, "buy", 54, 89), (4, "sell", 36, 87), (5, "sell", 36, 97.9), (8, "sell", 18, 79)
    ]  # fmt: skip


def test_a_short_position_is_covered_in_parts(sandbox: Sandbox) -> None:
    said = (
        "Sell short 90 shares when the close crosses above 110. "
        "Cover half when the close is below 100, the rest when it is below 90"
    )
    assert fills(sandbox, said, [100, 105, 111, 108, 99, 95, 89, 85]) == [
        (3, "sell", 90, 111),
        (5, "buy", 45, 99),
        (7, "buy", 45, 89),
    ]


def test_the_next_position_has_its_parts_again(sandbox: Sandbox) -> None:
    said = f"{THIRDS}. Stop loss 5 %"
    closes = [100, 96, 89, 92, 101, 95, 84, 92, 89, 101, 105, 111, 112]
    assert fills(sandbox, said, closes) == [
        (3, "buy", 90, 89),
        (5, "sell", 29, 101),
        (6, "sell", 61, 84.55),
        (7, "buy", 90, 84),  # on the bar of the stop the close has crossed again
        (10, "sell", 29, 101),
        (12, "sell", 29, 111),
    ]


def test_the_stop_moves_to_the_entry_price_after_a_gain_and_not_before(sandbox: Sandbox) -> None:
    """8 % above 89 is 96.12. Before it has been there, 88 does not stop it; afterwards 89 does."""
    said = f"{BUY} Stop loss 10 %. After the trade is up 8%, move the stop to breakeven"
    assert fills(sandbox, said, [100, 96, 89, 88, 95, 88, 97, 94, 88]) == [(3, "buy", 90, 89), (8, "sell", 90, 89)]
    assert fills(sandbox, said, [100, 96, 89, 88, 95, 88, 96, 94, 88]) == [(3, "buy", 90, 89)]


def test_the_gain_may_be_measured_by_the_risk(sandbox: Sandbox) -> None:
    """1R is 10 % of 89: at 97.9."""
    said = f"{BUY} Stop loss 10 %. Once it is 1R in profit bring the stop up to the entry price"
    assert fills(sandbox, said, [100, 96, 89, 95, 97.5, 88, 98, 94, 88]) == [
        (3, "buy", 90, 89),
        (8, "sell", 90, 89),
    ]


def test_the_gain_may_be_measured_in_ranges_of_the_decision(sandbox: Sandbox) -> None:
    """Each bar has a range of 4 up to the decision at 89, so that 2 ATR above it are 97; later ranges count nothing."""
    falling = [125 - 4 * n for n in range(10)]
    said = "Buy 90 shares when the close crosses below 90. When up 2 ATR(3), stop to entry"
    assert falling[-1] == 89
    assert fills(sandbox, said, [*falling, 96, 88, 95, 87]) == [(10, "buy", 90, 89)]
    assert fills(sandbox, said, [*falling, 97.5, 91, 95, 87]) == [(10, "buy", 90, 89), (13, "sell", 90, 89)]


def test_the_stop_of_a_short_position_comes_down(sandbox: Sandbox) -> None:
    sold = "Sell short 90 shares when the close crosses above 110. Stop loss 10 %"
    said = f"{sold}. After the trade is up 5%, move the stop to entry"
    assert fills(sandbox, said, [100, 105, 111, 114, 105, 108, 112]) == [(3, "sell", 90, 111), (6, "buy", 90, 111)]


def test_the_stop_may_move_when_a_part_is_sold(sandbox: Sandbox) -> None:
    said = f"{BUY} Stop loss 10 %. Sell half when the close is above 100 and move the stop to breakeven"
    assert fills(sandbox, said, [100, 96, 89, 85, 99, 88, 101, 95, 88]) == [
        (3, "buy", 90, 89),
        (7, "sell", 45, 101),
        (8, "sell", 45, 89),
    ]
