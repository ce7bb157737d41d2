"""The signals dialect: a strategy that says what it wants done, and leaves the orders to its base class.

On every bar `on_bar` and then `generate_signals` are called with the current bars, and the signals become orders. It
is a Strategy like any other and runs on the same engine: `self.I`, `self.position` and `self.buy` are there too.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from types import MappingProxyType
from typing import Literal, NoReturn, get_args

from ringfence.base.errors import OrderError
from ringfence.trade.bars import COLUMNS, Floats
from ringfence.trade.book import Market, Pending
from ringfence.trade.fills import FULL
from ringfence.trade.intents import MOST_REASON, Intent
from ringfence.trade.orders import Position
from ringfence.trade.series import Data, Series
from ringfence.trade.strategy import Strategy

Action = Literal["buy", "sell", "hold", "rebalance"]

_LARGEST_TARGET = 10.0  # a profit target above 1000 % is a price in disguise


@dataclass(frozen=True, slots=True)
class Signal:
    """What is wanted of one instrument.

    buy        `quantity` units; without one, what `calculate_position_size` says, or else buys back what is short
    sell       `quantity` units, but no more than are held; without one, all of them. Only `short=True` sells short
    rebalance  what it takes to have `weight` of the equity in it, negative for short
    hold       nothing

    `sl`, `tp` and `trail` are fractions of the price at which a position is opened, `sl_price` and `tp_price` prices.
    """

    symbol: str
    action: Action
    quantity: float | None = None
    reason: str = ""
    weight: float | None = field(default=None, kw_only=True)
    sl: float | None = field(default=None, kw_only=True)
    tp: float | None = field(default=None, kw_only=True)
    sl_price: float | None = field(default=None, kw_only=True)
    tp_price: float | None = field(default=None, kw_only=True)
    trail: float | None = field(default=None, kw_only=True)
    short: bool = field(default=False, kw_only=True)

    def __post_init__(self) -> None:
        if self.action not in _ACTIONS:
            hint = _hint(str(self.action).lower(), _ACTIONS)
            raise OrderError(f"there is no action {self.action!r}: {hint}")
        if (self.weight is None) is (self.action == "rebalance"):
            raise OrderError(
                'rebalance, and nothing else, has a weight: write Signal(symbol, "rebalance", weight=0.25) for a '
                "quarter of the equity"
            )
        if self.sl is not None and self.sl >= 1:
            raise OrderError(f"sl={self.sl:g} is no fraction of the price: write sl=0.05, or sl_price={self.sl:g}")
        if self.tp is not None and self.tp > _LARGEST_TARGET:
            raise OrderError(f"tp={self.tp:g} is no fraction of the price: write tp=0.10, or tp_price={self.tp:g}")


_ACTIONS: tuple[str, ...] = get_args(Action)


@dataclass(frozen=True, slots=True, kw_only=True)
class Portfolio:
    """What the account holds, at the last prices."""

    cash: float
    equity: float
    positions: Mapping[str, Position]


class Bar:
    """The latest bar of one instrument. One object per instrument, which shows another bar each time.

    `fresh` is false while the instrument has no bar of this moment, and this is still its last one.
    """

    __slots__ = ("_count", "_data", "_time", "fresh", "symbol")

    def __init__(self, data: Data) -> None:
        self.symbol, self._data = data.symbol, data
        self.fresh = True
        self._count = 0
        self._time: datetime | None = None

    @property
    def open(self) -> float:
        return self._data.open._seen[-1]

    @property
    def high(self) -> float:
        return self._data.high._seen[-1]

    @property
    def low(self) -> float:
        return self._data.low._seen[-1]

    @property
    def close(self) -> float:
        return self._data.close._seen[-1]

    @property
    def volume(self) -> float:
        return self._data.volume._seen[-1]

    @property
    def time(self) -> datetime:
        """When this bar began, by the exchange's clock."""
        return self._data.now if self._time is None else self._time

    def __getitem__(self, column: str) -> float:
        """`bar["close"]`, or `bar["Close"]`."""
        return self._series(column)[-1]

    def history(self, column: str, n: int) -> Floats:
        """The last `n` values of a column, this bar's the last one; fewer where there are not as many yet."""
        return self._series(column)[-n:]

    def _series(self, column: str) -> Series:
        name = column.lower()
        if name not in COLUMNS:
            raise KeyError(f"a bar has no {column!r}: {_hint(name, COLUMNS)}")
        series: Series = getattr(self._data, name)
        return series

    def look(self, now: datetime) -> bool:
        """Note whether a bar has come since the last look; false while there was none at all."""
        count = len(self._data.close._seen)
        self.fresh = count != self._count
        if self.fresh:
            self._count, self._time = count, now
        return count > 0

    def __repr__(self) -> str:
        values = ", ".join(f"{name}={self[name]:g}" for name in COLUMNS)
        return f"<{self.symbol} {self.time:%Y-%m-%d %H:%M} {values}{'' if self.fresh else ', not fresh'}>"


class _Current(dict[str, Bar]):
    def __missing__(self, symbol: object) -> NoReturn:
        raise KeyError(f"there is no bar of {symbol!r}: {_hint(str(symbol), tuple(self))}")


class BaseStrategy(Strategy):
    """Write `generate_signals`, and `initialize` for the indicators; the rest has defaults."""

    _bars: tuple[Bar, ...]
    _current: _Current
    _shown: Mapping[str, Bar]
    _lines: tuple[tuple[str, Series], ...]

    def initialize(self) -> None:
        """Declare indicators: `self.rsi = self.I(rsi, self.data.close, 14)`."""

    def on_bar(self, current_data: Mapping[str, Bar]) -> None:
        """Called before `generate_signals`, for what is no signal."""

    def generate_signals(self, current_data: Mapping[str, Bar]) -> list[Signal]:
        """Decide. `current_data` has the latest bar of every instrument that had one."""
        return []

    def calculate_position_size(self, symbol: str, signal: Signal) -> float | None:
        """How many units a signal without a quantity opens; 0 for none, None for all that can be spent.

        Where only whole units are traded, the part behind the point is dropped.
        """
        return None

    def execute_signals(self, signals: Sequence[Signal]) -> None:
        """Order what the signals ask for; it is filled from the next bar on."""
        for signal in signals:
            if not isinstance(signal, Signal):
                raise OrderError(f'{signal!r:.80} is no signal: return a list such as [Signal("AAPL", "buy")]')
            market = self._market(signal.symbol)
            if signal.weight is not None:
                self.order_target_percent(signal.symbol, signal.weight, reason=signal.reason)
            elif signal.action == "buy":
                if signal.quantity is None and market.holding.is_short:
                    self._book.close(market, reason=signal.reason)
                else:
                    self._open(market, signal, 1)
            elif signal.action == "sell":
                if signal.short:
                    self._open(market, signal, -1)
                else:
                    self._reduce(market, signal)

    def get_current_indicators(self) -> dict[str, float]:
        """The value of each indicator on this bar, by the attribute it is in: `rsi`, `macd.0`, `averages.AAPL`."""
        return {name: line[-1] for name, line in self._lines if len(line)}

    def get_portfolio_summary(self) -> Portfolio:
        positions = {
            market.symbol: Position(
                symbol=market.symbol,
                quantity=market.holding.size,
                average_price=market.holding.entry_price or 0.0,
                market_price=market.last,
            )
            for market in self._book.markets
            if market.holding
        }
        return Portfolio(cash=self.cash, equity=self.equity, positions=MappingProxyType(positions))

    # What the engine calls.

    def init(self) -> None:
        self.initialize()
        self._bars = tuple(Bar(self.data[symbol]) for symbol in self.data.symbols)
        self._current = _Current({bar.symbol: bar for bar in self._bars} if len(self._bars) == 1 else {})
        self._shown = MappingProxyType(self._current)
        self._lines = tuple(_lines(vars(self)))

    def next(self) -> None:
        if len(self._bars) > 1:  # a single one has a bar of every moment
            self._look()
        self.on_bar(self._shown)
        signals = self.generate_signals(self._shown)
        if signals:
            self.execute_signals(signals)
        elif signals is None:
            raise OrderError("generate_signals gave None: return a list of signals, [] when there are none")

    def _look(self) -> None:
        now, current = self.data.now, self._current
        for bar in self._bars:
            if bar.look(now) and bar.symbol not in current:
                current[bar.symbol] = bar

    # What signals become.

    def _open(self, market: Market, signal: Signal, sign: Literal[1, -1]) -> Pending | None:
        quantity, fraction = signal.quantity, None
        if quantity is None:
            quantity = self.calculate_position_size(signal.symbol, signal)
            if quantity is None:
                fraction = FULL
            elif quantity == 0:
                return None
            elif self._book.whole and quantity >= 1:
                quantity //= 1
        return self._book.submit(
            Intent(
                self._book.now,
                "order",
                market.index,
                sign,
                None if quantity is None else float(quantity),
                fraction,
                sl=_number(signal.sl_price),
                tp=_number(signal.tp_price),
                sl_pct=_number(signal.sl),
                tp_pct=_number(signal.tp),
                trail_pct=_number(signal.trail),
                reason=signal.reason[:MOST_REASON],
            )
        )

    def _reduce(self, market: Market, signal: Signal) -> Pending | None:
        """Sell what is held, and never more. A plain order could: a stop may have sold it at the same open."""
        wanted, held = signal.quantity, _left(market, whole=self._book.whole)
        if wanted is None:
            return self._book.close(market, reason=signal.reason) if held > 0 else None
        if not wanted > 0 or (self._book.whole and wanted % 1):
            return self._open(market, signal, -1)  # to be rejected, with the reason why
        if held <= 0:
            return self._book.close(market, reason=signal.reason) if not market.holding else None
        return self._book.close(market, min(wanted / held, 1.0), reason=signal.reason)


def _left(market: Market, *, whole: bool) -> float:
    """What is held long, less what is on its way out already."""
    left = float(market.holding.size)
    for order in market.orders:
        if order.intent.action == "close" and order.lot is None:
            part = left * float(order.intent.portion or 1.0)
            left -= (part + 1e-9) // 1 if whole else part  # rounded as it will be when it is filled
    return left


def _lines(attributes: Mapping[str, object]) -> Iterator[tuple[str, Series]]:
    """Every series among these, and among what the collections among them hold."""
    for name, value in attributes.items():
        if isinstance(value, Series):
            yield name, value
        elif isinstance(value, (Mapping, tuple, list)):
            inner = value if isinstance(value, Mapping) else {str(i): item for i, item in enumerate(value)}
            yield from ((f"{name}.{key}", line) for key, line in _lines(inner))


def _number(value: float | None) -> float | None:
    return None if value is None else float(value)


def _hint(name: str, known: Sequence[str]) -> str:
    near = difflib.get_close_matches(name, known, 1)
    return f"did you mean {near[0]!r}?" if near else f"there are {', '.join(known)}"
