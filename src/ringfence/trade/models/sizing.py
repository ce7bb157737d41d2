"""How much to buy: a fixed share of the money at risk, Kelly's share, or a share that aims at a volatility."""

from __future__ import annotations

from ringfence.base.errors import DataError


def fixed_fraction(equity: float, risk: float, entry: float, stop: float) -> float:
    """Units such that a fall (for a short: a rise) from `entry` to `stop` costs the fraction `risk` of `equity`."""
    distance = abs(entry - stop)
    if distance == 0.0:
        raise DataError("the stop is at the entry, so no size would ever lose the risk: move one of them")
    return equity * risk / distance


def kelly_fraction(win_rate: float, payoff: float) -> float:
    """The share of the money to risk for the fastest growth; below zero there is no edge, and nothing to bet.

    `payoff` is the average win in units of the average loss.
    """
    if not 0.0 <= win_rate <= 1.0 or payoff <= 0.0:
        raise DataError("Kelly needs a win rate from 0 to 1 and a payoff above zero: correct them")
    return win_rate - (1.0 - win_rate) / payoff


def volatility_target(target: float, volatility: float, most: float = 1.0) -> float:
    """The share of the money to invest so that the yearly volatility is `target`, at most `most`."""
    if volatility <= 0.0:
        raise DataError("the price never moved, so no size reaches a volatility: choose another instrument")
    return min(target / volatility, most)
