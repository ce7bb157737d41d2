"""What was so a short time ago in English: at some point in the last 5 days, within the last 3 bars."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from ringfence.agents.rules.reader import Reader, period
from ringfence.trade.description.lines import map_lines
from ringfence.trade.description.model import AnyOf, Between, Compare, Condition, Cross, Line

_MOST = 20  # each bar is a rule of its own


def recent(r: Reader, made: Condition) -> Condition:
    """RSI was below 30 at some point in the last 5 days: on one of them, today among them.

    A cross is on one day, so that "in the last 5 days" is clear of it; of a level that may be each of them.
    """
    if not isinstance(made, (Compare, Between, Cross)):
        return made
    first = r.i
    with r.trying() as attempt:
        told = r.take("RECENT") is not None
        if not told:
            within = r.peek().text == "within" or (isinstance(made, Cross) and r.at("IN", "DURING"))
            if not within or not r.take("BETWEEN", "IN", "DURING") or not r.take("PREVIOUS"):
                return made
        bars = period(r)
        if bars is None:
            return made
        if bars > _MOST:
            raise r.ask(f"of at most {_MOST} bars", [f"within the last {_MOST} bars"], first)
        attempt.keep()
        days = tuple(map_lines(made, partial(_earlier, bars=back)) for back in range(bars))
        return AnyOf(parts=days) if bars > 1 else made


def _earlier(line: Line, *, bars: int) -> Line:
    return replace(line, ago=line.ago + bars)


def latest(made: Condition) -> Condition:
    """Of a rule that was so on one of the last bars, the one of this bar."""
    found = made.parts if isinstance(made, AnyOf) else ()
    for back, part in enumerate(found):
        if part != map_lines(found[0], partial(_earlier, bars=back)):
            return made
    return found[0] if found else made
