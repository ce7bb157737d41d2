"""Parts of a position in English: half, a third of it, 50 % of what I hold, the other half, the last third."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ringfence.agents.rules.reader import Reader, percent
from ringfence.trade.description.model import Condition, EveryBars, OnSchedule

if TYPE_CHECKING:
    from ringfence.agents.rules.orders.collected import Collected

_PARTS = {"HALF": 50, "THIRD": 33.33, "QUARTER": 25}
_SHARE_WORDS = {"half": 50, "third": 100 / 3, "quarter": 25}


def portion_of(r: Reader) -> float | None:
    """half, a third of it, 50 % of the position."""
    with r.trying() as attempt:
        token = r.peek(1 if r.at("NUM") and r.at("THIRD", "QUARTER", ahead=1) else 0)
        size = fraction(r) or _ratio(r) or percent(r)
        if size is None:
            return None
        r.take("OF")
        r.skip("POSITION", "IT", "SHARES", "ITS")
        of_price = r.at("GAIN", "LOSS", "STOP", "TARGET", "TRAIL", "BELOW", "ABOVE", "OR")
        if size >= 100 or (of_price and token.kind not in _PARTS):
            return None
        attempt.keep()
        return size


def _ratio(r: Reader) -> float | None:
    """1/3."""
    with r.trying() as attempt:
        one = r.take("NUM")
        two = r.take("NUM") if one is not None and r.take("SLASH") else None
        if one is None or two is None or not 0 < one.value < two.value:
            return None
        attempt.keep()
        return round(100 * one.value / two.value, 2)


_EACH = ("each", "in each", "to each", "for each", "apiece", "per name", "per stock", "each one", "per asset")
_HALVES = {"HALF": (50.0, 2), "THIRD": (100 / 3, 3), "QUARTER": (25.0, 4)}


def each_part(r: Reader) -> float | None:
    """a third each, 25 % in each, half and half, half in one and half in the other: percent of one part."""
    with r.trying() as attempt:
        token = r.take(*_HALVES)
        size = _HALVES[token.kind][0] if token else _ratio(r) or percent(r)
        if size is None:
            return None
        with r.trying() as of:
            r.take("OF")
            r.skip("ITS", "CURRENT")
            if r.take("EQUITY"):
                of.keep()
        if token is not None and token.kind == "HALF" and (r.take("HALF") or r.take_all("AND", "HALF")):
            attempt.keep()
            return size
        if r.peek().text in _EACH and r.take("EVERY", "PER_TRADE", "EVERY_SYMBOL"):
            attempt.keep()
            return size
        if r.take("IN", "TO", "FOR") and r.peek().text in _EACH and r.take("EVERY", "PER_TRADE", "EVERY_SYMBOL"):
            attempt.keep()
            return size
    return None


_NAMED = {"HALF": 50.0, "THIRD": 33.33, "QUARTER": 25.0}


def fraction(r: Reader) -> float | None:
    """half, a third, two thirds, three quarters: percent of the whole."""
    with r.trying() as attempt:
        number = r.take("NUM")
        token = r.take(*_NAMED)
        if token is None or (number is not None and not 1 <= number.value <= 3):
            return None
        times = number.value if number is not None else 1
        made = round(100 * times / 3, 2) if token.kind == "THIRD" else _NAMED[token.kind] * times
        if made >= 100:
            return None
        attempt.keep()
        return made


def is_rest(r: Reader, said: Collected) -> bool:
    """the other 50 %, the last third: a share that is named must be what the parts before have left."""
    gone = sum(part.portion for part in said.guards.partials) + sum(e.portion for e in said.exits if e.portion < 100)
    words = r.peek(-1).text.split()
    named = next((size for word, size in _SHARE_WORDS.items() if word in words), None)
    with r.trying() as attempt:
        token = r.take(*_PARTS)
        size = _PARTS[token.kind] if token else _ratio(r) or percent(r)
        if size is not None and not r.at("GAIN", "LOSS", "STOP", "TARGET", "TRAIL"):
            named = size
            attempt.keep()
    if named is None or abs(100 - gone - named) < 1:
        return True
    return bool(words) and words[-1] == "half"  # half of it, whatever that is


def whole_at_end(r: Reader, first: int) -> None:
    """the other half after 20 days: what of the first, where its gain has not come by then? The rest is all of it."""
    said = r.tokens[first : r.i]
    if any(word in token.text for token in said for word in _SHARE_WORDS) or any(t.kind == "PERCENT" for t in said):
        raise r.ask(
            "and the first part, where its gain has not come by then?",
            ["sell half at 10 %, and whatever is left after 20 days"],
            first,
        )


def only_once(r: Reader, portion: float | None, when: Sequence[Condition], first: int) -> None:
    """sell 10 % each day: a part of a position is sold once."""
    again = any(token.text in ("each time", "every time") for token in r.tokens[first : r.i])
    if portion is not None and (again or any(isinstance(one, (OnSchedule, EveryBars)) for one in when)):
        raise r.ask("a part is sold once, and not again and again", ["sell half when RSI is above 70"], first)
