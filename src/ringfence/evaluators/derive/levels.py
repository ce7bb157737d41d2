"""Where the stop, the trailing stop and the targets of a position lie on each bar that it is held."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ringfence.evaluators.derive.conditions import Flags
from ringfence.evaluators.derive.lines import Grid
from ringfence.evaluators.derive.market import Episode, Market
from ringfence.trade.bars import Floats
from ringfence.trade.description import model as m

_HAIR = 1e-9


@dataclass(frozen=True, slots=True, eq=False)
class Stops:
    """Over the bars from the entry to the exit, both included. `far` is the level that surely holds, `near` the one of
    the stricter reading; they differ only where a trailing stop begins after a partial exit, because the best price may
    be counted from then on or from the entry. NaN where there is no stop."""

    far: Floats
    near: Floats

    def hit(self, market: Market, episode: Episode) -> tuple[Flags, Flags]:
        """Where the stop was surely reached, and where it may have been."""
        bars = slice(episode.entered, episode.entered + len(self.far))
        worst = market.low[bars] if episode.side == "long" else market.high[bars]
        with np.errstate(invalid="ignore"):
            must = episode.sign * (worst / self.far - 1) < -_HAIR
            may = episode.sign * (worst / self.near - 1) <= market.rounding
        return must, may


def stops(grid: Grid, market: Market, episode: Episode, guards: m.Guards) -> Stops:
    """The stop as it stands on each bar; what a bar does to a trailing stop counts from the next one on."""
    length = min(episode.left, len(market) - 1) - episode.entered + 1
    far = near = np.full(length, np.nan)
    if guards.stop is not None:
        far = near = np.full(length, stop_price(grid, market, episode, guards))
    if guards.break_even is not None:
        surely, maybe = _secured(grid, market, episode, guards, length)
        far, near = _tighter(far, surely, episode.sign), _tighter(near, maybe, episode.sign)
    trail = guards.trail
    if trail is None:
        return Stops(far, near)
    begins = 0
    if trail.rest:
        begins = min(episode.exits) - episode.entered + 1  # what is left after the first part was sold
        if begins >= length:
            return Stops(far, near)
    late, early = _trailed(grid, market, episode, guards, begins, length)
    late[:begins] = early[:begins] = np.nan
    return Stops(_tighter(far, late, episode.sign), _tighter(near, early, episode.sign))


def _secured(grid: Grid, market: Market, episode: Episode, guards: m.Guards, length: int) -> tuple[Floats, Floats]:
    """The entry price from the bar on after the one whose best price reached the gain, or that sold a part."""
    assert guards.break_even is not None
    made = np.full(length, np.nan), np.full(length, np.nan)
    after = guards.break_even.after
    if after is None:
        begins = [min(episode.exits) - episode.entered + 1] * 2
    else:
        bars = slice(episode.entered, episode.entered + length)
        best = (market.high if episode.side == "long" else market.low)[bars]
        with np.errstate(invalid="ignore"):
            gain = episode.sign * (best / target_price(grid, market, episode, after, guards) - 1)
            reached = [np.flatnonzero(gain > _HAIR), np.flatnonzero(gain >= -market.rounding)]
        begins = [int(found[0]) + 1 if len(found) else length for found in reached]
    for level, first in zip(made, begins):
        level[first:] = episode.price
    return made


def _trailed(
    grid: Grid, market: Market, episode: Episode, guards: m.Guards, begins: int, length: int
) -> tuple[Floats, Floats]:
    """The trailing level counted from the bar on which it begins, and from the entry."""
    trail = guards.trail
    assert trail is not None
    sign, bars = episode.sign, slice(episode.entered, episode.entered + length)
    best = sign * (market.high if episode.side == "long" else market.low)[bars]
    best = np.where(np.isnan(best), -np.inf, best)
    if trail.distance.kind == "percent" and trail.best != "close":
        made = []
        for first in (max(begins - 1, 0), 0):  # told at the close of the bar on which a part was sold, of that bar too
            seen = np.where(np.arange(length) >= first, best, -np.inf)
            reached = np.maximum.accumulate(np.concatenate(([sign * episode.price], seen[:-1])))
            made.append(sign * reached * (1 - sign * trail.distance.value / 100))
        return made[0], made[1]
    ago = np.arange(episode.entered - 1, episode.entered + length - 1)
    close = grid.value(m.Line(name="close"), market.symbol)[ago]
    if trail.distance.kind == "percent":
        level = sign * close * (1 - sign * trail.distance.value / 100)
        level[0] = sign * episode.price * (1 - sign * trail.distance.value / 100)
    else:
        far = reach(grid, market.symbol, trail.distance, guards)[ago]
        price = close
        if trail.best == "price":  # of the decision there is only its close
            price = np.concatenate((close[:1], (market.high if episode.side == "long" else market.low)[ago[1:]]))
        level = sign * (price - sign * far)
    # At the entry itself the level of the decision guards it, unless a stop of its own does.
    first = max(begins, 0 if guards.stop is None else 1)
    level = np.where((np.arange(length) >= first) & ~np.isnan(level), level, -np.inf)
    made_level = sign * np.maximum.accumulate(level)
    made_level[np.isinf(made_level)] = np.nan
    return made_level, made_level.copy()


def _tighter(a: Floats, b: Floats, sign: int) -> Floats:
    """The stop that is hit first; NaN is none."""
    return sign * np.fmax(sign * a, sign * b)


def reach(grid: Grid, symbol: str, far: m.Distance, guards: m.Guards) -> Floats:
    """A distance in price, from the close of each moment."""
    close = grid.value(m.Line(name="close"), symbol)
    if far.kind == "percent":
        return close * (far.value / 100)
    if far.kind == "atr":
        return grid.value(m.Line(name="atr", values=(float(far.period),)), symbol) * far.value
    if far.kind == "price":
        return np.absolute(close - far.value)
    if guards.stop is None or guards.stop.kind == "risk":
        return np.full(len(grid), np.nan)
    return reach(grid, symbol, guards.stop, guards) * far.value


def stop_price(grid: Grid, market: Market, episode: Episode, guards: m.Guards) -> float:
    assert guards.stop is not None
    return _price(grid, market, episode, guards.stop, guards, -episode.sign)


def target_price(grid: Grid, market: Market, episode: Episode, far: m.Distance, guards: m.Guards) -> float:
    return _price(grid, market, episode, far, guards, episode.sign)


def _price(grid: Grid, market: Market, episode: Episode, far: m.Distance, guards: m.Guards, way: int) -> float:
    """Percent are of the fill's price, all else is from the close of the decision."""
    if far.kind == "price":
        return far.value
    if far.kind == "percent":
        return episode.price * (1 + way * far.value / 100)
    if far.kind == "risk" and guards.stop is not None and guards.stop.kind == "percent":
        return episode.price * (1 + way * far.value * guards.stop.value / 100)
    at = max(episode.decided, 0)
    close = float(grid.value(m.Line(name="close"), market.symbol)[at])
    return close + way * float(reach(grid, market.symbol, far, guards)[at])
