"""What was so before the bar of a rule: above 30 having been below it for 3 bars, above it after 5 closes below it."""

from __future__ import annotations

from dataclasses import replace

from ringfence.agents.rules.measures.operands import operand
from ringfence.agents.rules.reader import Reader, period
from ringfence.trade.description.lines import map_lines
from ringfence.trade.description.model import AllOf, Compare, Condition, Cross, Held, Number, Trend

YESTERDAY = ("day before", "yesterday", "previous day", "prior day", "previous bar", "prior bar", "preceding day")
_OVER = ("END", "STOP_MARK", ",", "AND", "OR", "USE", "SELL", "EXIT", "BUY", ")", "THEN", "IN", "FOR", "WHEN", "UNLESS")


def run_of(r: Reader) -> int | None:
    """for 3 bars in a row, for the last 5 days, on 3 consecutive bars."""
    with r.trying() as attempt:
        spoken = r.take("FOR", "ON") is not None
        r.skip("AT_LEAST", "PREVIOUS")
        if r.at("NUM") and r.at("CONSECUTIVE", ahead=1):
            number = r.take("NUM")
            r.take("CONSECUTIVE")
            unit = r.take("BAR", "DAY", "WEEK", "CLOSE", "CLOSES", "HOUR")
            bars = int(number.value) if number and unit else None
        else:
            bars = period(r) if r.at("NUM") else None
        running = r.take("CONSECUTIVE") is not None
        if bars is not None and (spoken or running):
            attempt.keep()
            return bars
    return None


def after_being(r: Reader, made: Cross | Compare) -> Condition:
    """rises above -80 after being below it, turns positive after being negative the day before: as a cross says."""
    with r.trying() as attempt:
        first = r.i
        after = r.take("AFTER") is not None
        having = r.peek().text == "having" and r.take("USE") is not None
        if not after and not having:
            return made
        up = (made.direction if isinstance(made, Cross) else made.level) == "above"
        bars = _counted(r) if after else None
        r.skip("IS", "CLOSES", "FALLS" if up else "RISES", "MOVES")
        zero = made.right == Number(value=0) and r.take("POSITIVE", "NEGATIVE")
        side = r.take("ABOVE", "BELOW") if not zero else None
        if side is None and not zero:
            return made
        over = zero.kind == "POSITIVE" if zero else side is not None and side.kind == "ABOVE"
        same = zero or r.take("IT") is not None or r.at(*_OVER, "PREVIOUS") or operand(r, made.left) == made.right
        bars = bars or run_of(r)
        if isinstance(made, Compare) and (bars is None or made.level not in ("above", "below") or not same):
            return made
        if not same or (isinstance(made, Cross) and made.direction == "either") or over == up:
            raise r.ask("how long before may that have been?", ["crosses above 30", "is below 20 for 3 days"], first)
        r.take("PREVIOUS") if r.peek().text in YESTERDAY else None
        r.take("FIRST", "BEFORE")
        attempt.keep()
        if bars is None:
            return made
        was = Compare(left=made.left, level="below" if up else "above", right=made.right)
        return AllOf(parts=(made, a_bar_ago(Held(condition=was, bars=bars))))


def _counted(r: Reader) -> int | None:
    """after at least 5 days below it, after 5 straight closes below it."""
    with r.trying() as attempt:
        r.skip("AT_LEAST", "PREVIOUS")
        closes = r.at("CONSECUTIVE", "CLOSES", "CLOSE", ahead=1)
        number = r.take("NUM") if closes else None
        row = r.take("CONSECUTIVE") is not None
        r.take("CLOSES", "CLOSE", "DAY", "BAR") if closes else None
        bars = period(r) if not closes else int(number.value) if number is not None else None
        row = row or r.take("CONSECUTIVE") is not None
        if bars is not None and (row or r.at("IS", "CLOSES", "ABOVE", "BELOW")):
            attempt.keep()
            return bars
    return None


def a_bar_ago(made: Held) -> Held:
    """The same, up to the bar before."""
    return map_lines(made, lambda line: replace(line, ago=line.ago + 1))


def ran_before(now: Condition, was: Condition) -> list[Condition] | None:
    """closes up after four straight down closes: up to the bar before."""
    if not isinstance(now, Trend) or not isinstance(was, Trend) or now.way == was.way:
        return None
    if now.line not in (was.line, replace(was.line, symbol=now.line.symbol)):
        return None
    return [replace(was, line=replace(now.line, ago=now.line.ago + now.bars)), now]


def turned_round(before: Condition, now: Condition) -> list[Condition] | None:
    """below it for 5 bars and then above it: it cannot be both on one bar, so that the first is of those before.

    It falls under 20 and then crosses back over 20: what crosses over it was under it. Nothing where they are of
    different lines, as it is not said how long the one may come after the other.
    """
    was = before.condition if isinstance(before, Held) else before
    if not isinstance(was, (Compare, Cross)) or not isinstance(now, (Compare, Cross)):
        return None
    ways = {one.direction if isinstance(one, Cross) else one.level for one in (was, now)}
    if ways != {"above", "below"} or (was.left, was.right) != (now.left, now.right):
        return None
    if isinstance(before, Held):
        return [a_bar_ago(before), now]
    above = "above" in (getattr(now, "direction", ""), getattr(now, "level", ""))
    return [Cross(left=now.left, direction="above" if above else "below", right=now.right)]
