"""Orders that the library refuses with an exception: a broker would have refused the order and gone on."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Mapping
from typing import Any

from ringfence.guest.healing.ledger import Ledger

_KEYWORDS: Mapping[str, str] = {
    **dict.fromkeys(("quantity", "qty", "units", "shares", "amount"), "size"),
    **dict.fromkeys(("stop_loss", "stoploss", "sl_price"), "sl"),
    **dict.fromkeys(("take_profit", "takeprofit", "tp_price"), "tp"),
    "limit_price": "limit",
    "stop_price": "stop",
    **dict.fromkeys(("comment", "reason", "label", "name"), "tag"),
}
_PRICES = ("limit", "stop", "sl", "tp")


def install(ledger: Ledger, library: Any) -> None:
    strategy = library.backtesting.Strategy
    strategy.buy = _placing(ledger, strategy.buy, 1)
    strategy.sell = _placing(ledger, strategy.sell, -1)


def _placing(ledger: Ledger, original: Callable[..., Any], sign: int) -> Callable[..., Any]:
    word = "buy" if sign > 0 else "sell"

    @functools.wraps(original)
    def place(strategy: Any, *args: Any, **kwargs: Any) -> Any:
        if len(args) == 1 and "size" not in kwargs:
            ledger.note("alias", f"The size of {word}() was given by position.")
            kwargs["size"], args = args[0], ()
        for name in [name for name in kwargs if name in _KEYWORDS and _KEYWORDS[name] not in kwargs]:
            ledger.note("alias", f"{word}({name}=…) was read as {word}({_KEYWORDS[name]}=…).")
            kwargs[_KEYWORDS[name]] = kwargs.pop(name)
        if "size" in kwargs:
            size = _whole(ledger, word, kwargs["size"])
            if size is None:
                return None
            kwargs["size"] = size
        if not _is_on_its_side(strategy, sign, {name: kwargs.get(name) for name in _PRICES}):
            ledger.note(
                "semantic",
                f"A {word} order was not placed, because its stop or target was on the wrong side of its price.",
            )
            return None
        return original(strategy, *args, **kwargs)

    return place


def _whole(ledger: Ledger, word: str, asked: Any) -> Any:
    """The size if the library takes it, else rounded down; None if nothing is left of it."""
    size = float(asked) if asked is not None else math.nan
    if 0 < size < 1 or (math.isfinite(size) and round(size) == size >= 1):
        return asked
    if not math.isfinite(size) or size <= 0:
        ledger.note("semantic", f"A {word} order was not placed, because its size was no positive number.")
        return None
    ledger.note("semantic", f"The size of a {word} order was rounded down to whole units.")
    return math.floor(size)


def _is_on_its_side(strategy: Any, sign: int, prices: Mapping[str, Any]) -> bool:
    """The library's own condition: stop below and target above the price of a buy, and the other way round."""
    limit, stop, sl, tp = (float(prices[name]) if prices[name] is not None else 0.0 for name in _PRICES)
    price = limit or stop or strategy._broker._adjusted_price(sign)
    below, above = (sl, tp) if sign > 0 else (tp, sl)
    return bool((below or -math.inf) < price < (above or math.inf))
