"""Entries without a verb: a golden cross on AMZN, a 20/50 EMA crossover on TSLA."""

from __future__ import annotations

from dataclasses import replace

from ringfence.agents.rules.conditions.crosses import GOLDEN, told_averages, two_averages
from ringfence.agents.rules.measures.frames import frame
from ringfence.agents.rules.measures.lines import line
from ringfence.agents.rules.measures.operands import pair_of_averages
from ringfence.agents.rules.measures.settings import NAMES
from ringfence.agents.rules.orders.collected import Collected, symbols
from ringfence.agents.rules.reader import Reader
from ringfence.trade.description.model import Cross, Direction, Entry, Exit, Line

_WAYS: tuple[Direction, Direction] = ("above", "below")


def golden(r: Reader, said: Collected) -> bool:
    """Golden cross on AMZN (50/200 SMA): an entry without a verb."""
    if not r.at("GOLDEN_CROSS"):
        return False
    r.take("GOLDEN_CROSS")
    if r.at("SYMBOL", "EVERY_SYMBOL", ahead=1) and r.take("ON", "FOR", "IN") and not symbols(r, said):
        return False
    fast, slow = r.golden or GOLDEN
    if r.take("OF", "("):
        bracket = r.peek(-1).kind == "("
        found = pair_of_averages(r)
        if found is None or (bracket and not r.take(")")):
            return False
        fast, slow = r.golden = found
    with r.trying() as attempt:
        r.take(",")
        r.take("ON", "USE") if r.at("NUM", ahead=1) else None
        if (told := told_averages(r)) is not None:
            attempt.keep()
            fast, slow = r.golden = told
    r.take("IN") if r.at("STOP_MARK", ",", "AND", "END", ahead=1) else None  # golden cross in, death cross out
    if not r.at("STOP_MARK", ",", "AND", "END", "USE", "COLON"):
        return False
    r.it, r.right = fast, slow
    r.entry = Cross(left=fast, direction="above", right=slow)
    said.entries.append(Entry(side="long", when=r.entry))
    return True


def crossover(r: Reader, said: Collected) -> bool:
    """a 20/50 EMA crossover on TSLA: in when the first crosses above the second, out when it crosses below."""
    r.take("REACHES") if r.peek().text in ("test", "testing") else None
    r.skip("PLEASE", "USE", "TRADE", "STRATEGY", "ON")
    found = pair_of_averages(r) or two_averages(r) or _own_cross(r)
    if found is None or not r.take("CROSS"):
        return False
    r.skip("STRATEGY", "TITLE", "INDEPENDENTLY")
    if r.take("ON", "FOR", "IN", "OF") and not symbols(r, said):
        return False
    frame(r, bare=True)
    if not r.at("END", "STOP_MARK", ",", "AND", "USE", "LONG_ONLY") or (r.at("AND", ",") and r.at(*NAMES, ahead=1)):
        return False
    up, down = (Cross(left=found[0], direction=way, right=found[1]) for way in _WAYS)
    said.entries.append(Entry(side="long", when=up))
    if both_ways(r):
        said.entries.append(Entry(side="short", when=down))
    else:
        said.exits.append(Exit(side="long", when=down))
    r.entry = up
    return True


def both_ways(r: Reader) -> bool:
    """…, long and short: …, in both directions: short where it would sell."""
    with r.trying() as attempt:
        r.skip(",", "USE", "AND")
        bracket = r.take("(") is not None
        named = r.take("TWO_SIDED") or (r.take("LONG") and r.take("AND", "SLASH") and r.take("SHORT"))
        said = named or r.take("EITHER_WAY", "BOTH_CASES")
        if said and (not bracket or r.take(")")) and r.at("END", "STOP_MARK", ",", "AND", "USE"):
            attempt.keep()
            return True
    return False


def _own_cross(r: Reader) -> tuple[Line, Line] | None:
    """MACD crossover: of its signal."""
    with r.trying() as attempt:
        made = line(r) if r.at("MACD", "STOCHASTIC") else None
        if made is None or not r.at("CROSS"):
            return None
        attempt.keep()
        other = "signal" if made.name == "macd" else "d"
        return made, replace(made, part=other)
