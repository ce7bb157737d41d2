"""A stop that is moved to the entry price in English: after 5 % move the stop to break-even, at 1R stop to entry."""

from __future__ import annotations

from ringfence.agents.rules.orders.collected import Collected
from ringfence.agents.rules.orders.distances import distance
from ringfence.agents.rules.orders.gains import reached
from ringfence.agents.rules.reader import Reader
from ringfence.trade.description.model import BreakEven, Side

_OVER = ("END", "STOP_MARK", ",", "AND", "THEN", "WHICHEVER_FIRST", ")", "DASH", "OR", "USE")
_PARTS = ("HALF", "THIRD", "QUARTER", "PARTLY", "PART")


def break_even(r: Reader, said: Collected) -> bool:
    """Once it is up 8 %, move the stop to break-even; stop to entry at 1R; …, sell half and move the stop to entry."""
    first = r.i
    if not r.at("STOP_TO_ENTRY"):
        led = r.at("WHEN", "AFTER", "AT", "ON")
        found = _trigger(r, said) if led else None
        r.skip(",", "THEN", "COLON", "DASH")
        if found is None or not r.take("STOP_TO_ENTRY"):
            return False
    else:
        r.take("STOP_TO_ENTRY")
        _of_rest(r)
        later = r.at("WHEN", "AFTER", "AT", "ON", "FOR")
        found = _trigger(r, said) if later else _with_the_part(said)
        if found is None:
            return False
    _of_rest(r)
    if not r.at(*_OVER) or r.peek().text in ("plus", "minus", "+"):
        return False  # break-even plus 1 % is another level
    trails = r.at("AND", ",", "THEN") and (r.at("TRAIL", ahead=1) or r.at("TRAIL", ahead=2))
    if trails and not (r.at("REST", ahead=2) or r.at("REST", ahead=3)):
        raise r.ask(
            "does it trail from the beginning, or from there?",
            ["say the trailing stop in a sentence of its own"],
            first,
        )
    return said.guards.set(r, "break_even", found, first)


def _of_rest(r: Reader) -> None:
    """… on the rest, for the remaining half: there is a single stop."""
    with r.trying() as attempt:
        if r.take("ON", "FOR", "OF") and r.take("REST", "POSITION", "IT", "TRADE"):
            attempt.keep()


def _trigger(r: Reader, said: Collected) -> BreakEven | None:
    """A gain, or that a part has been sold."""
    with r.trying() as attempt:
        r.take("WHEN", "AFTER", "ON", "AT")
        r.take("FIRST")
        if r.take(*_PARTS):
            r.skip("IS", "THEN", "OF", "POSITION", "IT", "TARGET", "MOVES")
            if r.take("SELL", "EXIT", "OFF", "CLOSES", "COVER", "REACHES", "STOP_HIT") or r.peek(-1).kind == "TARGET":
                r.skip("OFF")
                attempt.keep()
                return BreakEven()
    sides = {entry.side for entry in said.entries}
    side: Side = "short" if sides == {"short"} else "long"
    with r.trying() as attempt:
        found = reached(r, side)
        if found is not None and found.way == "gain" and not (found.priced and len(sides) == 2):
            attempt.keep()
            return BreakEven(after=found.far)
    with r.trying() as attempt:
        far = distance(r, price=False) if r.take("AFTER") else None
        if far is not None and (r.at("STOP_TO_ENTRY") or r.at(*_OVER)):
            attempt.keep()
            return BreakEven(after=far)
    return None


def _with_the_part(said: Collected) -> BreakEven | None:
    """sell half at 1R and move the stop to break-even: with that part, where there is only one."""
    parts = [*said.guards.partials, *(rule for rule in said.exits if rule.portion < 100)]
    return BreakEven() if len(parts) == 1 else None
