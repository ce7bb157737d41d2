"""Exits of both sides at once in English: exit both at the middle band, in either case get out after 20 bars."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ringfence.agents.rules.arriving import side_of
from ringfence.agents.rules.guards import after_bars
from ringfence.agents.rules.lines import line
from ringfence.agents.rules.reader import Reader
from ringfence.agents.rules.scales import scale
from ringfence.agents.rules.tokens import Token
from ringfence.trade.description.model import Compare, Condition, Cross, Exit, Line

if TYPE_CHECKING:
    from ringfence.agents.rules.collected import Collected


def both_sides(r: Reader, said: Collected, token: Token | None) -> bool:
    """exit both at the middle band, close either when …: whichever position there is."""
    if token is None or token.kind != "EXIT" or len({entry.side for entry in said.entries}) < 2:
        return False
    with r.trying() as attempt:
        if r.take("BOTH", "EITHER", "BOTH_CASES") and r.at("AT", "WHEN", "ON", "POSITION"):
            attempt.keep()
            return True
    return False


def leave_both(r: Reader, said: Collected) -> bool:
    """At a line, when the price is back at it: up to it from below, down to it from above; or by time and guards."""
    first = r.i
    read = False
    while True:
        with r.trying() as attempt:
            if read and not r.take("OR"):
                break
            bars = after_bars(r)
            if bars is not None:
                said.guards.set(r, "time_stop_bars", bars, first)
            elif not _both_at_line(r, said):
                break
            attempt.keep()
            read = True
    return read


def _both_at_line(r: Reader, said: Collected) -> bool:
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
    for side, when in entries.items():
        came = side_of(when, made)
        if came is None:
            return False
        up = came == "below"
        if crossed:
            part: Condition = Cross(left=Line(name="close"), direction="above" if up else "below", right=made)
        else:
            part = Compare(left=Line(name="high" if up else "low"), level="at_least" if up else "at_most", right=made)
        said.exits.append(Exit(side=side, when=part))
        said.left.add(side)
    return True
