"""Rules without a subject, which are about the close: long above the 50-day average, below it with RSI over 75."""

from __future__ import annotations

from ringfence.agents.rules.conditions.conditions import all_of, condition
from ringfence.agents.rules.measures.operands import named, operand
from ringfence.agents.rules.measures.scales import fitting
from ringfence.agents.rules.reader import Reader
from ringfence.trade.description.catalogue import KINDS
from ringfence.trade.description.model import AnyOf, Compare, Condition, Level, Line, Number

_LEVELS: dict[str, Level] = {"ABOVE": "above", "BELOW": "below"}


def side_rule(r: Reader) -> Condition | None:
    """long above the 50-day average, short below it: the close, and a line."""
    with r.trying() as attempt:
        swing = swings(r)
        if swing is not None:
            attempt.keep()
            return swing
        token = r.take("ABOVE", "BELOW")
        if token is None or token.text == "lower":
            return None  # the lower band is not below it
        close = Line(name="close")
        right = operand(r, close, token.kind.lower())
        if not isinstance(right, Line):
            return None
        right = named(right)  # below the 200-day
        made = fitting(r, Compare(left=close, level=_LEVELS[token.kind], right=right), r.i, pronoun=True)
        attempt.keep()
        r.it, r.right = close, right
        return made


def swings(r: Reader) -> Condition | None:
    """RSI 14: buy below 30, sell above 70: of the oscillator that was named."""
    if r.it is None or KINDS[r.it.name].oversold is None or not r.at("NUM", ahead=1):
        return None
    if not r.at("ABOVE", "BELOW") or not r.at("END", "STOP_MARK", ",", "AND", "USE", "SELL", "EXIT", "COVER", ahead=2):
        return None
    token, number = r.take("ABOVE", "BELOW"), r.take("NUM")
    assert token is not None and number is not None
    return Compare(left=r.it, level=_LEVELS[token.kind], right=Number(value=number.value))


def beside(r: Reader) -> Condition | None:
    """above VWAP with RSI over 60, below the 100-day average and RSI above 75: of the close, and more beside it."""
    first = side_rule(r)
    if first is None or not (r.at("AND", "USE", "WHEN") or (r.at(",") and r.at("AND", ahead=1))):
        return first
    with r.trying() as attempt:
        r.take(",")
        word = r.take("AND", "USE", "WHEN")
        more = condition(r) if word is not None and word.text in ("and", "with", "while", "whilst", "but") else None
        if more is None:
            return first
        if isinstance(more, AnyOf):
            return None  # and with or can be read in two ways
        attempt.keep()
        return all_of([first, more])
