"""Exits of both sides at once in English: exit both at the middle band, in either case get out after 20 bars."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from ringfence.agents.rules.conditions.arriving import level_reached, side_of
from ringfence.agents.rules.conditions.conditions import condition
from ringfence.agents.rules.conditions.mirror import symmetric
from ringfence.agents.rules.dates.calendar import calendar
from ringfence.agents.rules.measures.lines import line
from ringfence.agents.rules.measures.scales import scale
from ringfence.agents.rules.orders.lasting import after_bars
from ringfence.agents.rules.reader import Reader
from ringfence.agents.rules.text.tokens import Token
from ringfence.trade.description.model import Compare, Condition, Cross, Exit, Line, Number, Side

if TYPE_CHECKING:
    from ringfence.agents.rules.orders.collected import Collected


_WHATEVER = ("whatever", "anything", "everything", "any", "all", "both", "either", "each", "every")
_NEXT = ("AT", "WHEN", "ON", "AFTER", "BY", "NEXT_DAY", "OPPOSITE", "NUM", "USE", "FOR", "BEFORE")


def goes_both_ways(said: Collected) -> bool:
    return {entry.side for entry in said.entries} == {"long", "short"}


def both_sides(r: Reader, said: Collected, token: Token | None) -> bool:
    """exit both at the middle band, close either when …, flatten everything at 15:45: whichever position there is."""
    if token is None or token.kind not in ("EXIT", "CLOSE") or not goes_both_ways(said):
        return False
    if any(word in _WHATEVER for word in token.text.split()) or {"cover", "sell"} <= set(token.text.split()):
        return True
    with r.trying() as attempt:
        named = r.take("PER_TRADE") or (r.take("BOTH", "EITHER", "BOTH_CASES", "EVERY") and _of_them(r))
        if named and r.at(*_NEXT):
            attempt.keep()
            return True
    return False


def _of_them(r: Reader) -> bool:
    """one, position, of them, side: what may follow either and both."""
    r.take("OF")
    r.take("NUM") if r.peek().text in ("one", "two") else None
    r.skip("POSITION", "TRADE", "SIDE", "LONG", "AND", "SHORT", "LEG")
    return True


def closed(r: Reader, said: Collected) -> bool:
    """Either position is closed when …  Both are exited at the middle band. Each side exits when …"""
    if not goes_both_ways(said):
        return False
    r.take_all("IN", "EITHER") or r.take("ALL_IN" if r.peek().text == "everything" else "PER_TRADE")
    if r.i and r.peek(-1).kind not in ("ALL_IN", "PER_TRADE"):
        if not r.take("BOTH", "EITHER", "EVERY", "BOTH_CASES"):
            return False
        _of_them(r)
    r.skip("IS")
    verb = r.take("CLOSES", "EXIT", "SELL")
    if verb is None or (verb.kind == "CLOSES" and verb.text not in ("closed", "close", "closes", "closing")):
        return False
    return leave_both(r, said)


def following(said: Collected) -> Side:
    """Whose exit one that names no side is: of the last entry, where the other side has its own already."""
    last = said.entries[-1].side if said.entries else "long"
    ended = {one.side for one in said.exits}
    return last if goes_both_ways(said) and ended and last not in ended else "long"


def whichever(r: Reader, said: Collected) -> bool:
    """close a position when …, of a strategy that goes both ways: the same as of both."""
    if not goes_both_ways(said):
        return False
    exits = len(said.exits)
    with r.trying() as attempt:
        if leave_both(r, said) and r.at("END", "STOP_MARK", ",", "AND", "USE", ")"):
            attempt.keep()
            return True
    del said.exits[exits:]
    return False


def leave_both(r: Reader, said: Collected) -> bool:
    """At a line, when the price is back at it: up to it from below, down to it from above; by time and guards; or by a
    rule that says the same of both sides."""
    first = r.i
    read = False
    while True:
        with r.trying() as attempt:
            if read and not r.take("OR"):
                break
            bars = after_bars(r)
            if bars is not None:
                said.guards.set(r, "time_stop_bars", bars, first)
            elif not (_on_opposite(r, said) or _both_at_line(r, said) or _at_number(r, said) or _by_rule(r, said)):
                break
            attempt.keep()
            read = True
    return read


def _on_opposite(r: Reader, said: Collected) -> bool:
    """on the opposite signal: each side on the entry of the other."""
    at = 1 if r.at("ON", "WHEN", "AT", "AFTER") else 0
    if not r.at("OPPOSITE", ahead=at) or "signal" not in r.peek(at).text or len(said.entries) != 2:
        return False
    r.take("ON", "WHEN", "AT", "AFTER")
    r.take("OPPOSITE")
    long, short = sorted(said.entries, key=lambda one: one.side)
    for one, other in ((long, short), (short, long)):
        said.exits.append(Exit(side=one.side, when=other.when))
        said.left.add(one.side)
    return True


def _by_rule(r: Reader, said: Collected) -> bool:
    """when ADX is below 20, when RSI crosses 50, at 15:45: the same for both."""
    with r.trying() as attempt:
        made = calendar(r)
        if made is None:
            r.take("WHEN", "ON", "AFTER", "UPON")
            r.either = True
            try:
                made = condition(r, leaving=True)
            finally:
                r.either = False
        against = _against(r, made)
        if made is None or (against is None and not symmetric(made)):
            return False
        attempt.keep()
        sides: tuple[Side, Side] = ("long", "short")
        for side, when in zip(sides, against or (made, made)):
            said.exits.append(Exit(side=side, when=when))
            said.left.add(side)
        return True


def _against(r: Reader, made: Condition | None) -> tuple[Condition, Condition] | None:
    """when they cross against it, the other way: downwards for a long position, upwards for a short one."""
    if not isinstance(made, Cross) or made.direction != "either":
        return None
    with r.trying() as attempt:
        if r.take("OPPOSITE") or (r.take("AGAINST") and (r.take("IT", "POSITION", "TRADE") or True)):
            attempt.keep()
            return replace(made, direction="below"), replace(made, direction="above")
    return None


def by_other_entry(r: Reader, said: Collected, side: Side) -> Condition | None:
    """cover on the next buy signal: on the entry of the other side."""
    other = [entry.when for entry in said.entries if entry.side != side]
    if len(other) != 1:
        return None
    with r.trying() as attempt:
        if not r.take("ON", "AT", "WHEN", "WITH", "AFTER"):
            return None
        r.take("NEXT", "NEW", "FIRST", "EVERY")
        kinds = ("BUY",) if side == "short" else ("SHORT",)
        if not r.at(*kinds) or not r.peek().text.endswith(("signal", "signals", "entry")):
            return None
        r.take(*kinds)
        attempt.keep()
        return other[0]


def _both_at_line(r: Reader, said: Collected) -> bool:
    with r.trying() as attempt:
        if _at_line(r, said):
            attempt.keep()
            return True
    return False


def _at_number(r: Reader, said: Collected) -> bool:
    """when RSI reaches 50: up to it for the side that came from below, down to it for the other."""
    entries = {entry.side: entry.when for entry in said.entries}
    with r.trying() as attempt:
        made = line(r) if r.take("WHEN", "ON") else None
        number = r.take("NUM") if made is not None and r.take("REACHES", "RETURNS") else None
        if made is None or number is None or not r.at("END", "STOP_MARK", ",", "OR", "AND", "USE", ")"):
            return False
        levels = {side: level_reached(when, made, number.value) for side, when in entries.items()}
        if set(levels.values()) != {"at_least", "at_most"}:
            return False
        attempt.keep()
    for side, level in levels.items():
        assert level is not None
        said.exits.append(Exit(side=side, when=Compare(left=made, level=level, right=Number(value=number.value))))
        said.left.add(side)
    return True


def _at_line(r: Reader, said: Collected) -> bool:
    entries = {entry.side: entry.when for entry in said.entries}
    if set(entries) != {"long", "short"}:
        return False
    crossed = False
    if r.take("WHEN"):
        r.take("IT", "CLOSE", "PRICE")
        verb = r.take("CROSS", "REACHES", "RETURNS")
        if verb is None:
            return False
        crossed = verb.kind == "CROSS"
    elif not r.take("AT", "ON"):
        return False
    made = line(r)
    if made is None or scale(made) != "price":
        return False
    found = {side: side_of(when, made) for side, when in entries.items()}
    if None in found.values() or r.at("OPPOSITE", "AGAINST"):
        return False
    for side, came in found.items():
        up = came == "below"
        if crossed:
            part: Condition = Cross(left=Line(name="close"), direction="above" if up else "below", right=made)
        else:
            part = Compare(left=Line(name="high" if up else "low"), level="at_least" if up else "at_most", right=made)
        said.exits.append(Exit(side=side, when=part))
        said.left.add(side)
    return True
