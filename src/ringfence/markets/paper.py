"""Paper trading: the Broker protocol on prices as they come, with money to the last decimal place.

The Book is the one that backtests run on, so an order is filled here as it would have been there. Two things differ.
Numbers are Decimals. And prices come from outside, when they come: an order is met only by a bar that began at or after
the moment it was given, because the open of an earlier one was gone by then. Whoever decides in the middle of a bar
and wants to be filled at once shows ticks, which are bars of one price.

With a journal every order and every price is on the disk before the call returns. A new PaperBroker on the same file
does it all again and stands where the old one stood, whatever ended it; an order that is sent once more under its
client_id is then the order it was.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from decimal import Context, Decimal, DivisionByZero, InvalidOperation, Overflow, localcontext
from pathlib import Path
from types import TracebackType
from typing import cast

import numpy as np

from ringfence.base.errors import DataError, OrderError
from ringfence.markets.journal import Event, Journal
from ringfence.trade.bars import Candles
from ringfence.trade.book import Book, Market, Pending
from ringfence.trade.intents import MOST_REASON, Intent, amend_fault
from ringfence.trade.lots import Lot
from ringfence.trade.orders import Account, Bracket, Fill, Money, Order, OrderType, Position, Side, TimeInForce
from ringfence.trade.run import FillRules
from ringfence.trade.simulated import SimulatedBroker, as_fill
from ringfence.trade.times import iso

Prices = tuple[Decimal, Decimal, Decimal, Decimal]  # open, high, low, close

_NUMBERS = frozenset(  # fields of an Intent
    {"quantity", "fraction", "target", "limit", "stop", "trail", "sl", "tp", "sl_pct", "tp_pct", "trail_pct", "portion"}
)
_LEAST, _MOST = Decimal("1e-15"), Decimal("1e15")  # of a price
_FORMAT = 1  # of the journal


@contextmanager
def _same_arithmetic() -> Iterator[None]:
    """Whatever the caller has set: a journal must give the same cents wherever it is read."""
    with localcontext(Context(prec=28, traps=[InvalidOperation, DivisionByZero, Overflow])):
        yield


class PaperBook(Book):
    """A Book in Decimals. `record` is told of every wish before it is done, and says at which moment it was made."""

    def __init__(self, symbols: Sequence[str], rules: FillRules, record: Callable[[Intent], int]) -> None:
        nothing = cast(float, Decimal("NaN"))
        with _same_arithmetic():
            super().__init__([Market(k, s, nothing) for k, s in enumerate(symbols)], rules, decimal_number)
        self.record = record
        self.given: dict[int, int] = {}  # when each order was given, by its id

    def submit(self, intent: Intent) -> Pending:
        if self.now < 0:
            raise OrderError("there is no price yet: show one before the first order")
        intent = _decimals(intent)
        moment = self.record(intent)
        with _same_arithmetic():
            order = super().submit(intent)
        self.given[order.id] = moment
        return order

    def close(self, market: Market, portion: float = 1.0, *, lot: Lot | None = None, reason: str = "") -> Pending:
        portion = decimal_number(str(portion))
        if math.isnan(portion):
            raise OrderError("a portion that is no number cannot be closed: give one between 0 and 1")
        ref = None if lot is None else lot.id
        moment = self.record(Intent(self.now, "close", market.index, portion=portion, ref=ref, reason=reason))
        with _same_arithmetic():
            order = super().close(market, portion, lot=lot, reason=reason[:MOST_REASON])
        self.given[order.id] = moment
        return order

    def cancel(self, order: Pending) -> None:
        self.record(Intent(self.now, "cancel", order.market.index, ref=order.id))
        with _same_arithmetic():
            super().cancel(order)

    def amend(self, lot: Lot, sl: float | None, tp: float | None, trail: float | None) -> None:
        fault = amend_fault(sl, tp, trail)
        if fault is not None:
            raise OrderError(fault)
        wish = _decimals(Intent(self.now, "amend", lot.market.index, sl=sl, tp=tp, trail_pct=trail, ref=lot.id))
        self.record(wish)
        with _same_arithmetic():
            super().amend(lot, wish.sl, wish.tp, wish.trail_pct)

    def meet(self, time: int, active: Sequence[Market]) -> None:
        """One step, in which only orders take part that were given by `time`."""
        late = {m.index: [o for o in m.orders if self.given[o.id] > time] for m in active}
        for market in active:
            market.orders = [o for o in market.orders if self.given[o.id] <= time]
        with _same_arithmetic():
            self.step(self.now + 1, active)
        for market in active:
            for order in late[market.index]:
                if self.ruined is None:
                    market.orders.append(order)
                else:
                    self.end(order, "cancelled", "the account is worth nothing")

    def end_day(self) -> None:
        for market in self.markets:
            for order in [o for o in market.orders if o.intent.tif == "day"]:
                market.orders.remove(order)
                self.end(order, "expired", "the day ended before its price was met")


class PaperBroker(SimulatedBroker):
    """`clock` says what time it is, in nanoseconds UTC; `history` is how many bars of each instrument are kept."""

    book: PaperBook

    def __init__(
        self,
        symbols: Sequence[str],
        rules: FillRules,
        *,
        clock: Callable[[], int],
        journal: Path | None = None,
        history: int = 1000,
    ) -> None:
        super().__init__(PaperBook(symbols, rules, self._record))
        self._submitted = self.book.given
        self._clock = clock
        self._journal: Journal | None = None
        self._naming: str | None = None  # the client_id of the order that is being given
        self._fill_times: list[int] = []
        self._history = {s: deque[tuple[int, Prices, Decimal]](maxlen=history) for s in symbols}
        if journal is not None:
            opened = Journal(journal)
            try:
                self._rebuild(opened, journal)
            except DataError:
                opened.close()
                raise
            self._journal = opened

    def now(self) -> int:
        return self._clock()

    # Prices come in.

    def show_bar(
        self,
        symbol: str,
        time: int,
        open: Money,  # noqa: A002  # the names of a bar's prices
        high: Money,
        low: Money,
        close: Money,
        *,
        volume: Money = 0,
        day_over: bool = True,
    ) -> Sequence[Fill]:
        """A bar that is over, stamped with its beginning; what it filled. `day_over` ends orders of the day."""
        return self.show_bars(time, {symbol: (open, high, low, close, volume)}, day_over=day_over)

    def show_price(self, symbol: str, time: int, price: Money) -> Sequence[Fill]:
        """A tick. The day of a tick never ends by itself: see `end_day`."""
        return self._show(time, {symbol: (price, price, price, price, 0)}, day_over=False, tick=True)

    def show_bars(self, time: int, bars: Mapping[str, Sequence[Money]], *, day_over: bool = True) -> Sequence[Fill]:
        """Bars of several instruments that began at one moment: open, high, low, close and, if known, volume.

        Shown together, what is sold of one can be spent on another. A bar that was shown before does nothing.
        """
        return self._show(time, bars, day_over=day_over, tick=False)

    def end_day(self) -> None:
        """Orders of the day are over."""
        self._write({"event": "day"})
        self.book.end_day()

    def _show(self, time: int, bars: Mapping[str, Sequence[Money]], *, day_over: bool, tick: bool) -> Sequence[Fill]:
        fresh: dict[str, tuple[Prices, Decimal]] = {}
        for symbol, row in bars.items():
            self.book.find(symbol)
            prices, volume = _checked(symbol, time, row)
            if not self._seen_before(symbol, time, prices, tick=tick):
                fresh[symbol] = (prices, volume)
        if not fresh:
            return []
        rows = {symbol: [str(p) for p in (*prices, volume)] for symbol, (prices, volume) in fresh.items()}
        self._write({"event": "bars", "time": time, "bars": rows, "day_over": day_over})
        return self._meet(time, fresh, day_over=day_over)

    def _seen_before(self, symbol: str, time: int, prices: Prices, *, tick: bool) -> bool:
        if not self._history[symbol]:
            return False
        last, shown, _ = self._history[symbol][-1]
        if time == last and prices == shown:
            return True  # whoever was not told that it was taken shows it again
        if time < last or (time == last and not tick):
            raise DataError(
                f"a bar of {symbol} at {iso(time)} comes after one at {iso(last)}: show bars once, and in their order"
            )
        return False

    def _meet(self, time: int, fresh: Mapping[str, tuple[Prices, Decimal]], *, day_over: bool) -> Sequence[Fill]:
        active = [market for market in self.book.markets if market.symbol in fresh]
        for market in active:
            prices, volume = fresh[market.symbol]
            market.show(cast("tuple[float, float, float, float]", prices), day_over=day_over)
            self._history[market.symbol].append((time, prices, volume))
        before = len(self.book.fills)
        self.book.meet(time, active)
        self._fill_times += [time] * (len(self.book.fills) - before)
        return [as_fill(self.book, fill, time) for fill in self.book.fills[before:]]

    # What callers ask for.

    def submit_order(
        self,
        symbol: str,
        quantity: Money,
        side: Side,
        order_type: OrderType = "market",
        time_in_force: TimeInForce = "gtc",
        *,
        limit_price: Money | None = None,
        stop_price: Money | None = None,
        trail_percent: Money | None = None,
        bracket: Bracket | None = None,
        client_id: str | None = None,
    ) -> Order:
        self._naming = client_id
        try:
            with _same_arithmetic():
                return super().submit_order(
                    symbol, quantity, side, order_type, time_in_force, limit_price=limit_price, stop_price=stop_price,
                    trail_percent=trail_percent, bracket=bracket, client_id=client_id,
                )  # fmt: skip
        finally:
            self._naming = None

    def get_account(self) -> Account:
        with _same_arithmetic():
            return super().get_account()

    def get_position(self, symbol: str) -> Position | None:
        with _same_arithmetic():
            return super().get_position(symbol)

    def get_all_positions(self) -> Sequence[Position]:
        with _same_arithmetic():
            return super().get_all_positions()

    def get_fills(self) -> Sequence[Fill]:
        return [as_fill(self.book, fill, time) for fill, time in zip(self.book.fills, self._fill_times)]

    def get_bars(self, symbol: str, count: int) -> Candles:
        """The last `count` of those that are kept, as floats: they are for indicators."""
        self.book.find(symbol)
        rows = list(self._history[symbol])[-count:] if count > 0 else []
        table = np.array([[float(p) for p in (*prices, volume)] for _, prices, volume in rows]).reshape(-1, 5)
        return Candles(np.array([time for time, _, _ in rows], dtype=np.int64), *table.T)

    def _has_price(self, market: Market) -> bool:
        return not math.isnan(market.last)

    # The journal.

    def close(self) -> None:
        """Let go of the journal; another process may take it up."""
        if self._journal is not None:
            self._journal.close()
            self._journal = None

    def __enter__(self) -> PaperBroker:
        return self

    def __exit__(self, kind: type[BaseException] | None, e: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def _write(self, event: Event) -> None:
        if self._journal is not None:
            self._journal.append(event)

    def _record(self, intent: Intent) -> int:
        moment = self._clock()
        if self._journal is not None:
            values: tuple[object, ...] = intent
            row = [str(value) if isinstance(value, Decimal) else value for value in values]
            self._write({"event": "intent", "at": moment, "client_id": self._naming, "intent": row})
        return moment

    def _rebuild(self, journal: Journal, path: Path) -> None:
        head = {
            "event": "paper",
            "format": _FORMAT,
            "symbols": [market.symbol for market in self.book.markets],
            "rules": asdict(self.book.rules),
        }
        events = journal.read()
        if not events:
            journal.append(head)
            return
        if events[0] != head:
            raise DataError(f"the journal {path} is of other symbols or rules: start with the same, or with a new file")
        for number, event in enumerate(events[1:], 2):
            try:
                self._redo(event)
            except (KeyError, TypeError, ValueError, ArithmeticError, IndexError) as e:
                what = f"line {number} of the journal {path} makes no sense"
                raise DataError(f"{what}: restore the file from a copy") from e
        self.book.record = self._record

    def _redo(self, event: Event) -> None:
        if event["event"] == "day":
            self.book.end_day()
        elif event["event"] == "bars":
            rows = cast("dict[str, list[str]]", event["bars"])
            time = cast(int, event["time"])
            fresh = {symbol: _checked(symbol, time, row) for symbol, row in rows.items()}
            self._meet(time, fresh, day_over=bool(event["day_over"]))
        elif event["event"] == "intent":
            moment = cast(int, event["at"])
            self.book.record = lambda intent: moment
            order = self._wish(Intent(*cast("list[object]", event["intent"])))  # type: ignore[arg-type]  # checked by use
            name = event["client_id"]
            if order is not None and isinstance(name, str):
                self._client_ids[name] = order.id
                self._names[order.id] = name
        else:
            raise ValueError(event["event"])

    def _wish(self, intent: Intent) -> Pending | None:
        intent, book = _decimals(intent), self.book
        if intent.action == "order":
            return book.submit(intent)
        if intent.action == "close":
            lot = None if intent.ref is None else book.lots[intent.ref]
            return book.close(book.markets[intent.market], cast(float, intent.portion), lot=lot, reason=intent.reason)
        ref = cast(int, intent.ref)
        if intent.action == "cancel":
            book.cancel(book.orders[ref])
        else:
            book.amend(book.lots[ref], intent.sl, intent.tp, intent.trail_pct)
        return None


def decimal_number(text: str) -> float:
    """A Decimal, which the Book takes for the kind of number it counts in."""
    made = Decimal(text)
    return cast(float, Decimal("NaN") if made.is_snan() else made)  # one that raises wherever it is looked at


def _decimals(intent: Intent) -> Intent:
    values: dict[str, object] = intent._asdict()
    for name in _NUMBERS:
        if values[name] is not None:
            values[name] = decimal_number(str(values[name]))
    make: Callable[..., Intent] = Intent
    return make(**values)


def _checked(symbol: str, time: int, row: Sequence[Money | str]) -> tuple[Prices, Decimal]:
    """The prices of a bar that a market could have printed, and its volume."""
    try:
        numbers = [Decimal(str(value)) for value in row]
    except (ArithmeticError, ValueError):
        raise DataError(f"{symbol} at {iso(time)}: {list(row)!r:.100} are no prices: correct the data") from None
    if len(numbers) not in (4, 5):
        raise DataError(f"{symbol} at {iso(time)}: a bar is open, high, low, close and maybe volume")
    prices, volume = numbers[:4], numbers[4] if len(numbers) == 5 else Decimal(0)
    if not all(p.is_finite() and _LEAST < p < _MOST for p in prices) or not volume.is_finite() or volume < 0:
        raise DataError(f"{symbol} at {iso(time)}: a price or volume is missing, negative or absurd: correct the data")
    first, high, low, last = prices
    if not (low <= first <= high and low <= last <= high):
        raise DataError(f"{symbol} at {iso(time)}: open or close lies outside low and high: correct the data")
    return (first, high, low, last), volume
