"""Did a strategy know the future? Take the future away, or change it, and see whether its decisions stay the same."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from ringfence.trade.bars import PRICES, Bars, Candles, Floats
from ringfence.trade.intents import Intent
from ringfence.trade.run import Evidence

Test = Literal["truncated", "perturbed"]

_PUSHED = 5  # bars of another future that all go one way
_NEAR = 1e-9  # prices that differ by less are the same price, computed in another order


@dataclass(frozen=True, slots=True)
class Cut:
    """The last bar of the timeline that stays as it was, and what is done to those after it."""

    bar: int
    test: Literal["truncated", "perturbed"]
    up: bool = True  # where a perturbed future goes


def choose_cuts(log: Sequence[Intent], bars: Bars, secret: str = "") -> list[Cut]:
    """Where to cut. Mostly right behind a decision: one that needed the next bar cannot be taken again there.

    Who knows the future trades where it pays, so the decisions that paid most are looked at, besides some picked
    blindly. The first is looked at for what was filled in backwards. A rule that only leaves out what would have
    lost decides alike when there is no future, and not when that future is turned against it, hence both ways.
    As many cuts again lie where nothing was decided, so that being cut tells a strategy nothing; and all hang from
    a `secret`, so that it cannot work them out.
    """
    rng = random.Random(f"{secret} {bars.sha256}")
    last = len(bars.timeline()) - 2  # at least one bar of future must be there to be taken away
    if last < 1:
        return []
    decided = sorted({intent.now for intent in log if intent.now <= last})
    anywhere = [rng.randint(last // 2, last) for _ in range(2)]
    cuts = {Cut(anywhere[0], "truncated"), Cut(anywhere[1], "perturbed", up=rng.random() < 0.5)}
    if not decided:
        cuts |= {Cut(rng.randint(1, last), "truncated") for _ in range(2)}
        cuts |= {Cut(rng.randint(1, last), "perturbed", up=up) for up in (True, False)}
    else:
        best = _paid_most(log, bars, last)
        cuts |= {Cut(bar, "truncated") for bar in (decided[0], *best[:1], rng.choice(decided))}
        cuts |= {Cut((best[1:2] or decided)[0], "perturbed", up=up) for up in (True, False)}
        cuts.add(Cut(rng.choice(decided), "perturbed", up=rng.random() < 0.5))
    quiet = sorted(set(range(1, last + 1)) - set(decided))
    if quiet:
        cuts |= {replace(cut, bar=rng.choice(quiet)) for cut in sorted(cuts, key=_order)}
    begun = max(int(candles.time[0]) for _, candles in bars)
    # Cut before one of the instruments begins, the history would not have it at all, and no strategy could be asked.
    kept = {
        c if c.test == "perturbed" or bars.timeline()[c.bar] >= begun else replace(c, test="perturbed") for c in cuts
    }
    return sorted(kept, key=_order)


def _order(cut: Cut) -> tuple[int, str, bool]:
    return cut.bar, cut.test, cut.up


def _paid_most(log: Sequence[Intent], bars: Bars, last: int) -> list[int]:
    """Bars whose orders were followed by the largest moves in their favour, the best first."""
    timeline, columns = bars.timeline(), list(bars.candles.values())
    gains: dict[int, float] = {}
    for intent in log:
        if intent.now > last:
            break
        candles = columns[intent.market]
        row = int(np.searchsorted(candles.time, timeline[intent.now], side="right"))
        if row >= len(candles) or row < 1:
            continue
        gain = float(candles.close[row] / candles.close[row - 1]) - 1
        gain = gain * intent.sign if intent.sign in (1, -1) else abs(gain)  # of a closing it is not known which way
        gains[intent.now] = max(gain, gains.get(intent.now, gain))
    return sorted(gains, key=lambda bar: (-gains[bar], bar))


def without_future(bars: Bars, cut: Cut, secret: str = "") -> Bars:
    """The bars as they might have been, as far as anybody knew on the bar of the cut."""
    moment = int(bars.timeline()[cut.bar])
    if cut.test == "truncated":
        return bars.until(moment)
    changed = {s: _perturb(candles, moment, f"{secret} {bars.sha256} {s} {cut.bar}", up=cut.up) for s, candles in bars}
    return replace(bars, candles=changed)


def _perturb(candles: Candles, moment: int, seed: str, *, up: bool) -> Candles:
    """Another future, made of moves that this market has made: at first a few large ones, all up or all down.

    It is to look like any other stretch of these prices, down to their decimals, or a strategy could see where it
    begins and behave.
    """
    rng = np.random.default_rng(list(seed.encode()))
    first = int(np.searchsorted(candles.time, moment, side="right"))
    count = len(candles) - first
    if not count or len(candles) < 3:
        return candles
    known = slice(1, first) if first > 20 else slice(1, len(candles))
    before = candles.close[known.start - 1 : known.stop - 1]
    moves = {name: getattr(candles, name)[known] / before for name in PRICES}
    ranked = np.argsort(moves["close"])
    most = max(1, len(ranked) // 10)
    picked = rng.integers(0, len(ranked), count)
    large = ranked[-most:] if up else ranked[:most]
    picked[:_PUSHED] = rng.choice(large, min(_PUSHED, count))
    last = float(candles.close[first - 1]) if first else float(candles.open[0])
    # Within bounds that no real price leaves, however long the walk is.
    close = np.clip(last * np.cumprod(moves["close"][picked]), last * 1e-4, last * 1e4)
    begin = np.concatenate([[last], close[:-1]])
    decimals = _decimals(candles.close)
    made = {name: np.round(begin * moves[name][picked], decimals) for name in ("open", "high", "low")}
    made["close"] = np.round(close, decimals)
    least = 10.0**-decimals
    columns = {}
    for name in PRICES:
        columns[name] = getattr(candles, name).copy()
        columns[name][first:] = np.maximum(made[name], least)
    # Rounding may have put a close a hair outside its bar.
    columns["high"] = np.maximum.reduce([columns["high"], columns["open"], columns["close"]])
    columns["low"] = np.minimum.reduce([columns["low"], columns["open"], columns["close"]])
    volume = candles.volume.copy()
    volume[first:] = candles.volume[known][picked]
    return Candles(candles.time, columns["open"], columns["high"], columns["low"], columns["close"], volume)


def _decimals(prices: Floats) -> int:
    """How many decimals these prices are printed with; 8 where there is no end to them."""
    return next((d for d in range(8) if np.allclose(prices, np.round(prices, d), rtol=0, atol=1e-9)), 8)


def compare(
    full: Sequence[Intent], other: Sequence[Intent], cut: Cut, timeline: Sequence[int], symbols: Sequence[str]
) -> Evidence | None:
    """The first decision up to the cut that is not the same in both, or None."""
    mine = [intent for intent in full if intent.now <= cut.bar]
    theirs = [intent for intent in other if intent.now <= cut.bar]
    for number in range(max(len(mine), len(theirs))):
        a = mine[number] if number < len(mine) else None
        b = theirs[number] if number < len(theirs) else None
        if a is not None and b is not None and _same(a, b):
            continue
        now = min(intent.now for intent in (a, b) if intent is not None)
        return Evidence(
            time=timeline[now],
            test=cut.test,
            cut=timeline[cut.bar],
            with_future=describe(a if a is not None and a.now == now else None, symbols),
            without_future=describe(b if b is not None and b.now == now else None, symbols),
        )
    return None


def _same(a: Intent, b: Intent) -> bool:
    if a == b:
        return True
    for x, y in zip(a, b):
        if isinstance(x, float) and isinstance(y, float):
            if not (math.isclose(x, y, rel_tol=_NEAR) or (math.isnan(x) and math.isnan(y))):
                return False
        elif x != y:
            return False
    return True


def describe(intent: Intent | None, symbols: Sequence[str]) -> str:
    """An intent in words."""
    if intent is None:
        return "nothing"
    symbol = symbols[intent.market]
    if intent.action != "order":
        return f"{intent.action} {symbol}" + (f" lot {intent.ref}" if intent.ref is not None else "")
    sizes = ((intent.quantity, ""), (intent.fraction, "of the cash"), (intent.target, "as target"))
    size = next((f"{value:g} {unit}".strip() for value, unit in sizes if value is not None), "of no size")
    prices = [
        f"{name} {value:g}" for name in ("limit", "stop", "sl", "tp") if (value := getattr(intent, name)) is not None
    ]
    return " ".join([f"{'buy' if intent.sign > 0 else 'sell'} {symbol} {size} at {intent.kind}", *prices])
