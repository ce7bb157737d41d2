"""Verbs of movement over time: is rising for 3 bars, drops 5 % in 3 days, has fallen 10 % from its high."""

from __future__ import annotations

from ringfence.agents.rules.operands import operand
from ringfence.agents.rules.reader import UNITS, Reader, percent, period
from ringfence.trade.description.model import Beyond, Change, Compare, Condition, Level, Line, Operand, Trend

_IN_A_DAY = ("close", "closes", "closed", "closing", "finish", "finishes", "finished", "ends", "end", "ended")


def trend(r: Reader, left: Operand, first: int) -> Condition | None:
    """is rising, has fallen for 3 days, rises 3 bars in a row."""
    r.skip("IS")
    token = r.take("RISES", "FALLS")
    if token is None or not isinstance(left, Line) or (r.at("NUM") and r.at("PERCENT", "BPS", ahead=1)):
        return None
    bars = 1
    with r.trying() as attempt:
        r.take("FOR", "IN", "ABOVE", "ON")
        r.skip("AT_LEAST", "PREVIOUS")
        if r.at("NUM") and r.at("CONSECUTIVE", ahead=1):
            number = r.take("NUM")
            r.take("CONSECUTIVE")
            found = int(number.value) if number and r.take(*UNITS) else None
        else:
            found = period(r)
        if found is not None:
            r.take("CONSECUTIVE")
            bars = found
            attempt.keep()
    return Trend(line=left, way="up" if token.kind == "RISES" else "down", bars=bars)


def change(r: Reader, left: Operand, first: int) -> Condition | None:
    """drops 5 % in 3 days, is up more than 10 % over a month, falls 10 % from its 52-week high."""
    r.skip("IS")
    token = r.take("RISES", "FALLS", "LOSS", "GAIN")
    if token is None or not isinstance(left, Line):
        return None
    r.skip("BY")
    word = r.take("ABOVE", "AT_LEAST")
    size = percent(r)
    if size is None:
        return None
    more = r.take("OR_MORE")
    up = token.kind in ("RISES", "GAIN")
    hard = word is not None and word.kind == "ABOVE" and more is None
    with r.trying() as attempt:
        if r.take("FROM", "BELOW", "ABOVE", "OF"):
            right = operand(r, left)
            if isinstance(right, Line) and right.name != "?":
                attempt.keep()
                levels: tuple[Level, Level] = ("above", "below") if hard else ("at_least", "at_most")
                return Compare(left=left, level=levels[0] if up else levels[1],
                               right=Beyond(line=right, percent=size if up else -size))  # fmt: skip
    bars = span(r)
    if bars is None and token.text.split()[0] in _IN_A_DAY:
        bars = 1  # it closes up 3 %
    if bars is None:
        return None
    return Change(line=left, way="up" if up else "down", percent=size, bars=bars, strict=hard)


def span(r: Reader) -> int | None:
    """in 3 days, over the last month, within 5 bars, on the day, in one bar."""
    if r.peek().text == "today" and r.take("CURRENT"):
        return 1
    with r.trying() as attempt:
        if r.take("IN", "ABOVE", "BETWEEN", "FOR", "ON", "AFTER", "FROM") is None:
            return None
        r.skip("PREVIOUS", "ANY", "EVERY")
        r.take("SINGLE")
        found = period(r)
        if found is not None:
            r.take("AGO")
            attempt.keep()
        return found
