"""What is asked of each instrument of a rotation: under its 200-day average, its return is positive."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from ringfence.agents.rules.conditions.conditions import condition
from ringfence.agents.rules.measures.lines import line
from ringfence.agents.rules.measures.scales import scale
from ringfence.agents.rules.plans.choosing import Turning
from ringfence.agents.rules.reader import Reader
from ringfence.agents.rules.text.tokens import Token
from ringfence.trade.description.model import Compare, Condition, Level, Line, Not, Number

ENDS = ("END", "STOP_MARK", ",", "AND", "WHEN", "OTHERWISE", "REBALANCE", "INSTEAD", "INSTEAD_WORD")


def whole(r: Reader, t: Turning) -> Condition | None:
    """What reads to the end of its clause: above 0 for 5 bars in a row is more than positive."""
    readers: tuple[Callable[[], Condition | None], ...] = (
        lambda: positive(r, t),
        lambda: beside_line(r),
        lambda: condition(r),
    )
    for read in readers:
        with r.trying() as attempt:
            made = read()
            if made is not None and r.at(*ENDS, ")"):
                attempt.keep()
                return made
    return None


def of_each(r: Reader, t: Turning) -> Condition | None:
    """under its 200-day average, has a negative return: of each of them."""
    r.it = Line(name="close")
    return positive(r, t) or beside_line(r) or condition(r)


def beside_line(r: Reader) -> Condition | None:
    """under its 200 SMA: of each of them the close."""
    with r.trying() as attempt:
        token = r.take("ABOVE", "BELOW")
        right = line(r, Line(name="close"), token.kind.lower()) if token is not None else None
        if token is None or right is None or scale(right) != "price":
            return None
        attempt.keep()
        return Compare(left=Line(name="close"), level="above" if token.kind == "ABOVE" else "below", right=right)


def positive(r: Reader, t: Turning) -> Condition | None:
    """if its momentum is positive, that have a negative 6-month return: that which it is ranked by."""
    with r.trying() as attempt:
        r.skip("ITS", "IS")
        mood = r.take("POSITIVE", "NEGATIVE")
        with r.trying() as same:
            measured = line(r) if r.at("NUM") and t.rank is not None else None
            if measured is not None and measured == t.rank:
                same.keep()
            else:
                measured = None
        named = measured is not None or r.take("ROC", "MOMENTUM", "IT") is not None
        no = False
        if mood is None and named:
            r.take("IS")
            no, mood = r.take("NOT") is not None, r.take("POSITIVE", "NEGATIVE")
            if mood is None and r.at("ABOVE", "BELOW") and r.at("NUM", ahead=1) and r.peek(1).value == 0:
                mood = replace(r.peek(), kind="POSITIVE" if r.at("ABOVE") else "NEGATIVE")  # its return is above zero
                r.take("ABOVE", "BELOW")
                r.take("NUM")
                r.take("PERCENT")
        if t.rank is None or mood is None or not (named or r.at(*ENDS)):
            return None
        attempt.keep()
        t.by_rank = True
        return Not(part=sign(t.rank, mood)) if no else sign(t.rank, mood)


def sign(rank: Line, word: Token) -> Condition:
    level: Level = "above" if word.kind == "POSITIVE" else "below"
    return Compare(left=rank, level=level, right=Number(value=0))
