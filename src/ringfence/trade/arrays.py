"""Strategies that know all their signals at once: whole arrays of entries and exits, walked through by compiled code.

The walk has the Book's rules for this one kind of strategy: one instrument, one position at a time, market orders for
all that can be spent, a stop and a target in percent. The log it leaves is replayed through the Book like any other,
and a test holds the two to the last digit.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ringfence.base.errors import OrderError
from ringfence.trade.bars import COLUMNS, Bars, Candles, Floats, Ints
from ringfence.trade.engine import Columns, Indicator, check_parameter, indicator_label, split_indicator
from ringfence.trade.fills import FULL
from ringfence.trade.intents import Intent
from ringfence.trade.run import FillRules
from ringfence.trade.strategy import Strategy

_WORTH_COMPILING = 50_000  # bars: below that, loading the compiler takes longer than walking without it


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Arrays:
    """Decisions on the close of each bar. An entry while a position is held, or an exit without one, means nothing."""

    entries: ArrayLike  # true: buy
    exits: ArrayLike  # true: sell what was bought
    short_entries: ArrayLike | None = None
    short_exits: ArrayLike | None = None
    sl: float = 0.0  # fraction of the entry price; 0: none
    tp: float = 0.0
    size: float = FULL  # share of what can be spent


@dataclass(frozen=True, slots=True, eq=False)
class Walk:
    """What came of it. `decided` are the bars and kinds of all orders: +1 and -1 open, 0 closes."""

    decided: Ints
    kinds: Ints
    filled: Ints  # the bar of each fill
    quantity: Floats  # negative for a sale
    price: Floats
    fee: Floats
    cash: float
    held: float
    both_in_one_bar: int

    def log(self, arrays: Arrays) -> list[Intent]:
        sl, tp = arrays.sl or None, arrays.tp or None
        made = []
        for bar, kind in zip(self.decided.tolist(), self.kinds.tolist()):
            if kind == 0:
                made.append(Intent(bar, "close", portion=1.0))
            else:
                made.append(Intent(bar, "order", 0, kind, fraction=arrays.size, sl_pct=sl, tp_pct=tp))
        return made

    def equity(self, close: Floats, cash: float) -> Floats:
        """What the account was worth at the close of each bar."""
        flows = np.bincount(self.filled, -self.quantity * self.price - self.fee, len(close))
        held = np.bincount(self.filled, self.quantity, len(close))
        worth: Floats = cash + np.cumsum(flows) + np.cumsum(held) * close
        return worth


def walk(candles: Candles, arrays: Arrays, rules: FillRules, start: int) -> Walk:
    """Walk through all bars from `start` on."""
    if rules.margin != 1:
        raise OrderError("a strategy of arrays trades without margin: set --margin 1, or write next()")
    count = len(candles)
    signals = [_mask(column, count) for column in (arrays.entries, arrays.exits)]
    shorts = [_mask(column, count) for column in (arrays.short_entries, arrays.short_exits)]
    if not 0 < arrays.size < 1 or not 0 <= arrays.sl < 1 or not arrays.tp >= 0:
        raise OrderError("size is a share below 1, sl a fraction below 1 and tp a fraction: correct them")
    if not rules.shorting and shorts[0].any():
        raise OrderError("short selling is not allowed: leave out short_entries, or allow it with --shorting")
    costs = rules.costs
    step: Callable[..., Any] = _compiled() if count >= _WORTH_COMPILING else _walk
    most = 4 + 2 * int(signals[0].sum() + shorts[0].sum()) + int(signals[1].sum() + shorts[1].sum())
    room = (np.empty(most, np.int64), np.empty(most, np.int64), np.empty(most, np.int64), np.empty((3, most)))
    ended = step(
        candles.open, candles.high, candles.low, candles.close, *signals, *shorts, start, rules.cash, costs.percent,
        costs.per_share, costs.minimum, (costs.slippage_bps + costs.spread_bps / 2) / 10_000, not rules.fractional,
        arrays.sl, arrays.tp, arrays.size, rules.both_in_one_bar == "stop_first", *room,
    )  # fmt: skip
    orders, fills, cash, held, both = ended
    decided, kinds, filled, numbers = room
    quantity, price, fee = numbers[:, :fills]
    return Walk(decided[:orders], kinds[:orders], filled[:fills], quantity, price, fee, cash, held, both)


class ArrayEngine:
    """One run of a strategy with `arrays()`. Its data and indicators are whole columns, as it decides for all bars at
    once: nothing but the look-ahead check keeps it from using what came later."""

    def __init__(self, bars: Bars, strategy: Strategy, parameters: Mapping[str, object], rules: FillRules) -> None:
        if len(bars.symbols) != 1:
            raise OrderError("a strategy of arrays trades one instrument: write next() for several")
        self.bars, self.strategy, self.rules = bars, strategy, rules
        self.candles = bars.candles[bars.symbols[0]]
        self.indicators: list[Indicator] = []
        self.start = self._ready = 0
        self.log: list[Intent] = []
        self.walked: Walk | None = None
        for name, value in parameters.items():
            check_parameter(strategy, name)
            setattr(strategy, name, value)
        columns = {name: getattr(self.candles, name) for name in COLUMNS}
        strategy.data = Columns({**columns, "time": self.candles.time})  # type: ignore[assignment]
        strategy.I = self._indicator

    def _indicator(
        self, func: Callable[..., object], *args: object, name: str | None = None, **options: object
    ) -> Floats | tuple[Floats, ...]:
        label = name or indicator_label(func, args)
        parts = split_indicator(func(*args, **options), len(self.candles), label)
        for i, part in enumerate(parts):
            valid = np.flatnonzero(~np.isnan(part))
            self._ready = max(self._ready, int(valid[0]) if len(valid) else len(part))
            line = label if len(parts) == 1 else f"{label}.{i}"
            self.indicators.append(Indicator(line, 0, part, self.candles.time))
        return parts[0] if len(parts) == 1 else parts

    def play(self, *, to_the_end: bool = True) -> None:
        opening = 0
        if self.bars.tradable_from is not None:
            opening = int(np.searchsorted(self.candles.time, self.bars.tradable_from))
        self.strategy.init()
        arrays = self.strategy.arrays()  # type: ignore[attr-defined]  # what makes it one of these
        if not isinstance(arrays, Arrays):
            raise OrderError(f"arrays() returned {type(arrays).__name__}: return Arrays(entries=…, exits=…)")
        self.start = min(max(self._ready + 1, opening), len(self.candles))
        self.walked = walk(self.candles, arrays, self.rules, self.start)
        self.log = self.walked.log(arrays)


def _mask(column: ArrayLike | None, count: int) -> NDArray[np.bool_]:
    if column is None:
        return np.zeros(count, dtype=np.bool_)
    array = np.asarray(column)
    if array.shape != (count,):
        raise OrderError(f"a signal has {array.shape} values for {count} bars: give one for each")
    return np.ascontiguousarray(np.nan_to_num(array.astype(np.float64)) != 0)


@cache
def _compiled() -> Callable[..., Any]:
    try:
        from numba import njit
    except ImportError:
        return _walk  # the same walk, slower
    compiled: Callable[..., Any] = njit(nogil=True)(_walk)
    return compiled


def _walk(  # type: ignore[no-untyped-def]  # numba reads the types off its arguments
    open_, high, low, close, entries, exits, short_entries, short_exits, start, cash, percent, per_share, minimum,
    against, whole, sl_pct, tp_pct, size, stop_first, decided, kinds, filled, numbers,
):  # fmt: skip
    """One pass. `held` is signed; `wish` is what was ordered on the last close: 2 nothing, +1, -1 open, 0 close."""
    held = sl = tp = 0.0
    wish = 2
    orders = fills = both = 0
    for i in range(start, len(open_)):
        price, reason = 0.0, 0
        if held != 0.0:
            up = held > 0
            if sl_pct > 0 and (open_[i] <= sl if up else open_[i] >= sl):
                price, reason = open_[i] * (1 - against if up else 1 + against), 1
            elif tp_pct > 0 and (open_[i] >= tp if up else open_[i] <= tp):
                price, reason = open_[i], 1
            elif wish == 0:
                price, reason = open_[i] * (1 - against if up else 1 + against), 1
        elif wish == 1 or wish == -1:
            price = open_[i] * (1 + wish * against)
            unit = price + price * percent + per_share
            quantity = cash * size / unit
            if whole:
                quantity = cash * size // unit
            if minimum > 0 and quantity * unit - quantity * price < minimum:
                left = cash * size - minimum
                quantity = left // price if whole else left / price
            if quantity > 0:
                fee = max(quantity * price * percent + quantity * per_share, minimum)
                held = wish * quantity
                sl, tp = price * (1 - wish * sl_pct), price * (1 + wish * tp_pct)
                cash -= held * price + fee
                filled[fills] = i
                numbers[0, fills], numbers[1, fills], numbers[2, fills] = held, price, fee
                fills += 1
        wish = 2
        if held != 0.0 and reason == 0:
            up = held > 0
            stopped = sl_pct > 0 and (low[i] <= sl if up else high[i] >= sl)
            met = tp_pct > 0 and (high[i] >= tp if up else low[i] <= tp)
            if stopped and met:
                both += 1
                stopped = stop_first
            if stopped:
                price, reason = sl * (1 - against if up else 1 + against), 1
            elif met:
                price, reason = tp, 1
        if reason == 1:
            quantity = abs(held)
            fee = max(quantity * price * percent + quantity * per_share, minimum)
            cash += held * price - fee
            filled[fills] = i
            numbers[0, fills], numbers[1, fills], numbers[2, fills] = -held, price, fee
            fills += 1
            held = 0.0
        if held < 0 and cash + held * close[i] <= 0:  # the short sale has eaten the account
            fee = max(-held * close[i] * percent - held * per_share, minimum)
            cash += held * close[i] - fee
            filled[fills] = i
            numbers[0, fills], numbers[1, fills], numbers[2, fills] = -held, close[i], fee
            fills += 1
            held = 0.0
            break
        if held == 0.0:
            if entries[i]:
                wish = 1
            elif short_entries[i]:
                wish = -1
        elif (held > 0 and exits[i]) or (held < 0 and short_exits[i]):
            wish = 0
        if wish != 2:
            decided[orders], kinds[orders] = i, wish
            orders += 1
    return orders, fills, cash, held, both
