"""How a bar meets orders and guards: at which price, how many, and in which order. Steps of `Book.step`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ringfence.trade.intents import LEAST_QUANTITY
from ringfence.trade.lots import Lot

if TYPE_CHECKING:
    from ringfence.trade.book import Book, Market, Pending

FULL = 1 - 2**-52  # all that can be spent, less a hair for rounding
_DUST = LEAST_QUANTITY  # less than this is what rounding has left


def pass_guards(book: Book, market: Market) -> None:
    """Stops and targets that the open has already passed are filled at the open: nobody got a better price."""
    price = market.open
    for lot in list(market.holding):
        _pass_guard(book, lot, price)


def _pass_guard(book: Book, lot: Lot, price: float) -> bool:
    """Close a lot whose stop or target lies behind `price`, at that price; whether it was."""
    sl, tp = lot.sl, lot._tp
    long = lot.quantity > 0
    if sl is not None and (price <= sl if long else price >= sl):
        book.take(lot, abs(lot.quantity), worse(book, price, -1 if long else 1), _stop_reason(lot))
    elif tp is not None and (price >= tp if long else price <= tp):
        book.take(lot, abs(lot.quantity), price, "target")
    else:
        return False
    return True


def open_orders(book: Book, due: list[Pending]) -> None:
    """Orders that the open fills. Those that reduce come first, so that what they free can be spent."""
    if len(due) > 1:
        due.sort(key=lambda order: (not _reduces(book, order), order.id))
    for order in due:
        if _open_order(book, order):
            order.market.orders.remove(order)
        elif order.intent.tif in ("ioc", "fok"):
            order.market.orders.remove(order)
            book.end(order, "cancelled", "it could not be filled at once")


def _reduces(book: Book, order: Pending) -> bool:
    intent = order.intent
    if intent.action == "close":
        return True
    holding = order.market.holding
    if intent.target is not None:
        wanted = target_quantity(book, order)
        held = holding.size
        return abs(wanted) < abs(held) or wanted * held < 0
    return bool(holding) and (holding[0].quantity > 0) != (intent.sign > 0)


def _open_order(book: Book, order: Pending) -> bool:
    """Fill it if the open does; True when it is done with, one way or another."""
    intent, price = order.intent, order.market.open
    if intent.action == "close":
        _close(book, order, price)
        return True
    if intent.kind == "market":
        if intent.target is None or _aim(book, order):
            _enter(book, order, worse(book, price, order.intent.sign), "market")
        return True
    sign, stop = intent.sign, _stop_price(order)
    if intent.kind == "limit" or order.triggered:
        assert intent.limit is not None
        if price <= intent.limit if sign > 0 else price >= intent.limit:
            _enter(book, order, price, "limit")
            return True
        return False
    assert stop is not None
    if price < stop if sign > 0 else price > stop:
        return False
    if intent.kind == "stop_limit":
        order.triggered = True
        return _open_order(book, order)
    _enter(book, order, worse(book, price, sign), "trailing_stop" if intent.kind == "trailing_stop" else "stop")
    return True


def _enter(book: Book, order: Pending, price: float, reason: str) -> None:
    """Fill at the open; a stop or target that this open lies beyond already is met by it too."""
    lot = execute(book, order, price, reason)
    if lot is not None and (lot._sl is not None or lot._tp is not None):
        _pass_guard(book, lot, order.market.open)


def _aim(book: Book, order: Pending) -> bool:
    """Work out, with the market at its open, what it takes to hold the wanted weight; False when it is held."""
    wanted = target_quantity(book, order) - order.market.holding.size
    if abs(wanted) <= (0 if book.whole else _DUST):
        book.end(order, "cancelled", "the target is held already")
        return False
    order.quantity = abs(wanted)
    sign = 1 if wanted > 0 else -1
    if sign != order.intent.sign:  # the price has moved past it since
        order.intent = order.intent._replace(sign=sign)
    return True


def meet_bar(book: Book, market: Market) -> None:
    """What happens between the open and the close. The order of events in a bar is unknown: the worse one is taken."""
    low, high = market.low, market.high
    for held in list(market.holding):
        meet_guards(book, held, low, high)
    for held in market.holding:
        if held._trail is not None:
            held.best = max(held.best, high) if held.quantity > 0 else min(held.best, low)
    if not market.orders:
        return
    for order in sorted(market.orders, key=lambda o: o.intent.kind == "limit"):
        at_limit = order.triggered or order.intent.kind == "limit"
        lot = _meet_order(book, order, low, high)
        if order.status != "open":
            market.orders.remove(order)
        if lot is not None and lot in market.holding:
            _guard_new_lot(book, lot, order, at_limit=at_limit)
    for order in list(market.orders):
        if order.intent.tif == "day" and market.day_over:
            market.orders.remove(order)
            book.end(order, "expired", "the day ended before its price was met")


def meet_guards(book: Book, lot: Lot, low: float, high: float, *, target: bool = True) -> None:
    sl, tp = lot.sl, lot._tp
    long = lot.quantity > 0
    stopped = sl is not None and (low <= sl if long else high >= sl)
    met = target and tp is not None and (high >= tp if long else low <= tp)
    if stopped and met:
        book.both_in_one_bar += 1
        stopped = book.rules.both_in_one_bar == "stop_first"
    if stopped:
        assert sl is not None
        book.take(lot, abs(lot.quantity), worse(book, sl, -1 if long else 1), _stop_reason(lot))
    elif met:
        assert tp is not None
        book.take(lot, abs(lot.quantity), tp, "target")


def _meet_order(book: Book, order: Pending, low: float, high: float) -> Lot | None:
    intent, sign = order.intent, order.intent.sign
    stop = _stop_price(order)
    if stop is not None and not order.triggered:
        if high < stop if sign > 0 else low > stop:
            return None
        if intent.kind != "stop_limit":
            reason = "trailing_stop" if intent.kind == "trailing_stop" else "stop"
            return execute(book, order, worse(book, stop, sign), reason)
        order.triggered = True
        assert intent.limit is not None
        # At the moment its stop is reached the price is the stop; a limit short of that waits for the next bar.
        return (
            execute(book, order, stop, "limit")
            if (stop <= intent.limit if sign > 0 else stop >= intent.limit)
            else None
        )
    limit = intent.limit
    assert limit is not None
    if low <= limit if sign > 0 else high >= limit:
        return execute(book, order, limit, "limit")
    return None


def _guard_new_lot(book: Book, lot: Lot, order: Pending, *, at_limit: bool) -> None:
    """Guards of what was opened within this very bar.

    Behind a limit, the price had to pass the entry before it could reach the stop: a stop in range was hit; of the
    target nobody knows. Behind a stop it is the other way round for the target, and the stop is taken as hit.
    The same holds for what a trailing stop hangs from: behind a limit, only the close is known to have come later.
    """
    market = lot.market
    entry = order.intent.limit if at_limit else _stop_price(order)
    assert entry is not None
    if _pass_guard(book, lot, entry):
        return
    meet_guards(book, lot, market.low, market.high, target=not at_limit)
    if lot._trail is not None:
        low, high = (market.close, market.close) if at_limit else (market.low, market.high)
        lot.best = max(lot.best, high) if lot.quantity > 0 else min(lot.best, low)


def execute(book: Book, order: Pending, price: float, reason: str) -> Lot | None:
    """Fill at `price`: first against opposite lots, oldest first, then as a lot of its own, if it can be paid for."""
    market, quantity, sign = order.market, order.quantity, order.intent.sign
    last, market.shown = market.shown, price  # what is held is worth, at this moment, what it would fetch
    done = price * 0
    if market.holding:
        opposite = [lot for lot in market.holding if (lot.quantity > 0) != (sign > 0)]
        done = _reduce(book, order, opposite, quantity, price, reason)
    rest = None if quantity is None else quantity - done
    lot = None
    if rest is None or rest > (0 if book.whole or not done else _DUST):
        lot = _open_lot(book, order, sign, rest, price, reason)
        if lot is not None:
            done += abs(lot.quantity)
    if done:  # if only in part, `reason` says what became of the rest
        order.status, order.filled, order.price = "filled", done, price
        if order.intent.quantity is None:
            order.quantity = done
    market.shown = last
    return lot


def _open_lot(book: Book, order: Pending, sign: int, rest: float | None, price: float, reason: str) -> Lot | None:
    if sign < 0 and not book.rules.shorting:
        book.reject(order, "short selling is not allowed: sell what is held, or allow it with --shorting")
        return None
    room = book.spendable()
    if rest is None:
        share = order.intent.fraction
        assert share is not None
        rest = affordable(book, room * book.money(share if share < FULL else FULL), price)
    elif order.intent.target is not None:
        rest = min(rest, affordable(book, room, price))
    elif rest > affordable(book, room, price):
        cost = rest * price * book.margin + book.fee(rest, price)
        if cost > room:
            book.reject(order, f"{rest:,.10g} at {price:,.10g} need {cost:,.2f}, and {room:,.2f} can be spent")
            return None
    if rest <= (0 if book.whole else _DUST):
        one = price * book.margin + book.fee(1 if book.whole else price * 0, price)
        book.reject(order, f"{room:,.2f} can be spent, and one share costs {one:,.2f}: see --cash and --fractional")
        return None
    return book.give(order, rest * sign, price, reason)


def _reduce(
    book: Book, order: Pending, lots: Sequence[Lot], quantity: float | None, price: float, reason: str
) -> float:
    """Close opposite lots, up to `quantity`, or all of them; returns how many."""
    done: float = price * 0
    for lot in lots:
        size = abs(lot.quantity)
        part = size if quantity is None else min(size, quantity - done)
        if part <= (0 if book.whole or not done else _DUST):
            break
        if not book.whole and size - part <= _DUST:
            part = size  # what is left of adding and taking away fractions is no position
        book.take(lot, part, price, reason if not order.intent.reason else order.intent.reason, order.id)
        done += part
    return done


def _close(book: Book, order: Pending, open_price: float) -> None:
    holding, portion = order.market.holding, order.intent.portion or 1.0
    lots = [lot for lot in holding if order.lot is None or lot is order.lot]
    if not lots:
        book.end(order, "cancelled", "there is nothing left to close")
        return
    price = worse(book, open_price, -1 if lots[0].quantity > 0 else 1)
    quantity = None  # all of it
    if portion != 1:
        total = sum(abs(lot.quantity) for lot in lots)
        quantity = total * book.money(portion)
        if book.whole:
            quantity = max(_whole(quantity), total * 0 + 1)  # a part of a share cannot be sold: at least one is
    done = _reduce(book, order, lots, quantity, price, "close")
    order.status, order.filled, order.price, order.quantity = "filled", done, price, done


def target_quantity(book: Book, order: Pending) -> float:
    """How many units the wanted weight is at this price; negative for a short one."""
    weight, market = order.intent.target, order.market
    assert weight is not None
    equity, price = book.equity(), market.last
    units = abs(book.money(weight)) * equity / price
    if book.whole:
        units = _whole(units)
    return units if weight > 0 else -units


def _whole(units: float) -> float:
    """Rounded down, but for what rounding has taken away: 100 × 0.29 is 28.999999999999996, and means 29."""
    down = units // 1
    return down + 1 if units - down > 1 - _DUST else down


def affordable(book: Book, room: float, price: float) -> float:
    """How many can be paid for with `room`, fees included."""
    unit = price * book.margin + price * book.percent + book.per_share
    most = room // unit if book.whole else room / unit
    if book.minimum and most * unit - most * price * book.margin < book.minimum:
        left = room - book.minimum
        most = max(left // (price * book.margin) if book.whole else left / (price * book.margin), left * 0)
    return most


def worse(book: Book, price: float, sign: int) -> float:
    """The price after slippage and half the spread."""
    return price * (1 + sign * book.against) if book.against else price


def move_trails(market: Market) -> None:
    """Best prices that trailing stop orders have seen, this bar included: they count from the next bar on."""
    low, high = market.low, market.high
    for order in market.orders:
        if order.intent.kind == "trailing_stop":
            order.best = max(order.best, high) if order.intent.sign < 0 else min(order.best, low)


def _stop_price(order: Pending) -> float | None:
    trail = order.intent.trail
    if order.intent.kind != "trailing_stop" or trail is None:
        return order.intent.stop
    if order.best != order.best:  # given before there was any price
        order.best = order.market.open
    return order.best * (1 - trail if order.intent.sign < 0 else 1 + trail)


def _stop_reason(lot: Lot) -> str:
    return "stop" if lot._trail is None or lot.sl == lot._sl else "trailing_stop"
