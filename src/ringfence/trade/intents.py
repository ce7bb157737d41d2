"""What a strategy asked for, bar by bar: the only thing that the host takes over from the guest.

Replayed through a Book on the host's own bars, a log of intents gives every fill, every trade and the equity. It
crosses the fence as packed columns, and reading them assumes nothing about who wrote them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from operator import itemgetter
from typing import Literal, NamedTuple, get_args

from ringfence.trade.orders import OrderType, TimeInForce
from ringfence.trade.packed import Kind, Table, pack_table

Action = Literal["order", "close", "cancel", "amend"]
Json = object

MOST_REASON = 200  # characters
LEAST_QUANTITY = 1e-9  # of a share: smaller than any venue trades


class Intent(NamedTuple):
    """One wish, made on the close of bar `now` of the timeline. Which fields count depends on `action`:

    order   `sign` (+1 buy, -1 sell) and one of `quantity` (units), `fraction` (of what can be spent) and `target`
            (weight of the equity to hold in the end); prices as `kind` needs them; `sl` and `tp` as prices or `sl_pct`
            and `tp_pct` of the fill, and `trail_pct`, guard what the order opens
    close   `portion` of lot `ref`, or of the whole position where there is none
    cancel  order `ref`
    amend   the guards of lot `ref`
    """

    now: int
    action: Action
    market: int = 0
    sign: int = 0
    quantity: float | None = None
    fraction: float | None = None
    target: float | None = None
    kind: OrderType = "market"
    limit: float | None = None
    stop: float | None = None
    trail: float | None = None  # of a trailing stop order, as a fraction
    tif: TimeInForce = "gtc"
    sl: float | None = None
    tp: float | None = None
    sl_pct: float | None = None
    tp_pct: float | None = None
    trail_pct: float | None = None
    portion: float | None = None
    ref: int | None = None
    reason: str = ""


_FIELDS = Intent._fields
_DEFAULTS = tuple(Intent._field_defaults.get(name) for name in _FIELDS)
_AT_MARKET, _UNGUARDED = _DEFAULTS[6:12], _DEFAULTS[12:17]  # from `target` to `tif`; from `sl` to `trail_pct`
_WORDS: dict[str, tuple[str, ...]] = {
    "action": get_args(Action),
    "kind": get_args(OrderType),
    "tif": get_args(TimeInForce),
}
_WHOLE = frozenset({"now", "market", "sign", "ref"})
_OPTIONAL = frozenset(name for name, default in Intent._field_defaults.items() if default is None)
_MOST_TARGET = 1e6  # times the equity
_POSITIVE = ("quantity", "fraction", "limit", "stop", "trail", "sl", "tp", "sl_pct", "tp_pct", "trail_pct")
_positives = itemgetter(*map(_FIELDS.index, _POSITIVE))
_FRACTIONS = ("trail", "trail_pct", "sl_pct")
_fractions = itemgetter(*map(_FIELDS.index, _FRACTIONS))
_PRICES = ("limit", "stop", "trail")
_NEEDS: dict[OrderType, tuple[bool, bool, bool]] = {  # which of these prices
    "market": (False, False, False),
    "limit": (True, False, False),
    "stop": (False, True, False),
    "stop_limit": (True, True, False),
    "trailing_stop": (False, False, True),
}


def write_log(log: Sequence[Intent]) -> dict[str, Json]:
    """A table of the fields that are not all at their defaults."""
    columns: dict[str, tuple[Kind, Sequence[object]]] = {}
    for name, default, given in zip(_FIELDS, _DEFAULTS, zip(*log)):
        values: Sequence[object] = given
        if name == "reason":
            values = [text.encode("utf-8", "replace").decode() if text else "" for text in given]
        if any(value != default for value in values):
            columns[name] = (_kind(name), values)
    return pack_table(len(log), columns)


def _kind(name: str) -> Kind:
    return "whole" if name in _WHOLE else "text" if name in _WORDS or name == "reason" else "real"


def read_log(value: Json, *, bars: int, markets: int, most_rows: int = 1_000_000) -> list[Intent]:
    """The log that the guest claims to have written, or ValueError with what is wrong with it."""
    table = Table(value, "the order log", most_rows=most_rows)
    if table.rows == 0:
        return []
    strangers = table.names - set(_FIELDS)
    if strangers:
        raise ValueError(f"the order log has a column {min(strangers)!r:.80}, which no order has")
    columns = [_column(table, name, default) for name, default in zip(_FIELDS, _DEFAULTS)]
    log = list(map(Intent._make, zip(*columns)))
    last = 0
    for number, intent in enumerate(log):
        if not last <= intent.now < bars:
            raise ValueError(f"row {number} of the order log is of bar {intent.now}, which is out of order")
        if not 0 <= intent.market < markets:
            raise ValueError(f"row {number} of the order log is of instrument {intent.market}, which there is not")
        last = intent.now
    return log


def _column(table: Table, name: str, default: object) -> Sequence[object]:
    if name not in table.names and (default is not None or name in _OPTIONAL):
        return [default] * table.rows
    if name == "reason":
        # What cannot be UTF-8, and what a database refuses in a text, would only be found out when it is stored.
        texts = table.texts(name)
        fit = {text: text[:MOST_REASON].encode("utf-8", "replace").decode().replace("\0", "?") for text in set(texts)}
        return [fit[text] for text in texts]
    if name in _WORDS:
        texts = table.texts(name)
        for word in set(texts).difference(_WORDS[name]):
            raise ValueError(f"row {texts.index(word)} of the order log has {word!r:.80} as its {name}")
        return texts
    if name in _WHOLE:
        return table.whole_or_none(name) if name in _OPTIONAL else table.whole(name)
    return table.real_or_none(name)


def order_fault(intent: Intent) -> str | None:
    """Why this cannot be an order, or None."""
    sign, quantity, fraction, target, kind = intent[3:8]
    if intent[6:12] == _AT_MARKET and sign in (1, -1):
        amount = quantity or fraction or 0
        # Compared with itself first, because a Decimal that is no number raises when it is asked which is larger.
        if amount == amount and LEAST_QUANTITY <= amount < 1e15 and (quantity is None or fraction is None):
            guards = intent[12:17]
            if guards == _UNGUARDED or _are_sound(guards, sign):
                return None  # a market order with nothing wrong, as nine of ten are
    if intent.tif not in _WORDS["tif"]:
        return f"time in force {intent.tif!r} is unknown: use gtc, day, ioc or fok"
    if sign not in (1, -1) or (quantity, fraction, target).count(None) != 2:
        return "an order needs a side and one size"
    for name, value in zip(_POSITIVE, _positives(intent)):
        if value is not None and not (math.isfinite(value) and value > 0):
            return f"{name} {value} is not a positive number"
    if target is not None:
        if not math.isfinite(target):
            return f"target {target} is not a number"
        if abs(target) > _MOST_TARGET:
            return f"a target of {target:g} times the equity is absurd"
        if kind != "market":
            return f"an order for a weight is a market order, not {kind}"
    if quantity is not None and not LEAST_QUANTITY <= quantity <= 1e15:
        return f"a quantity of {quantity:g} is absurd"
    for name, value in zip(_FRACTIONS, _fractions(intent)):
        if value is not None and value >= 1:
            return f"{name} {value} is 100 % or more"
    return _kind_fault(intent)


def _are_sound(guards: tuple[float | None, ...], sign: int) -> bool:
    """Whether the guards of a market order need no closer look: what is wrong with the others is found below."""
    for value in guards:
        if value is not None and not (value == value and 0 < value < math.inf):
            return False
    sl, tp, sl_pct, _, trail_pct = guards
    if sl is not None and tp is not None and sign * (tp - sl) <= 0:
        return False
    return (sl_pct is None or sl_pct < 1) and (trail_pct is None or trail_pct < 1)


def _kind_fault(intent: Intent) -> str | None:
    kind, limit, stop, trail = intent[7:11]
    given = (limit is not None, stop is not None, trail is not None)
    if given != _NEEDS[kind]:
        name, needed = next((n, need) for n, has, need in zip(_PRICES, given, _NEEDS[kind]) if has != need)
        return f"a {kind} order {'needs' if needed else 'takes no'} {name} price"
    sign, sl, tp = intent.sign, intent.sl, intent.tp
    if sl is not None and tp is not None and sign * (tp - sl) <= 0:
        return f"the stop {sl:g} and the target {tp:g} are on the wrong sides of each other"
    entry = limit if limit is not None else stop
    if entry is not None:
        if sl is not None and sign * (entry - sl) <= 0:
            return f"the stop {sl:g} is on the wrong side of the entry at {entry:g}"
        if tp is not None and sign * (tp - entry) <= 0:
            return f"the target {tp:g} is on the wrong side of the entry at {entry:g}"
    return None


def guard_fault(intent: Intent, price: float) -> str | None:
    """Why the stop or target of a market order cannot be, with the market at `price`, or None."""
    if intent.kind != "market" or intent.target is not None or price != price:
        return None
    sign, sl, tp = intent.sign, intent.sl, intent.tp
    if sl is not None and sign * (price - sl) <= 0:
        return f"the stop {sl:g} is on the wrong side of the price, {price:g}"
    if tp is not None and sign * (tp - price) <= 0:
        return f"the target {tp:g} is on the wrong side of the price, {price:g}"
    return None


def amend_fault(sl: float | None, tp: float | None, trail: float | None) -> str | None:
    """Why the guards of a lot cannot be moved there, or None."""
    for name, value in (("sl", sl), ("tp", tp), ("trail", trail)):
        if value is not None and not _positive(value):
            return (
                f"{name} {value} is not a positive number: give a {'fraction' if name == 'trail' else 'price'} or None"
            )
    if trail is not None and trail >= 1:
        return f"trail {trail:g} is 100 % or more: write 0.05 for 5 %"
    return None


def _positive(value: float) -> bool:
    return math.isfinite(value) and value > 0
