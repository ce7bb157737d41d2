"""Rules by which a position is left, in English: when …, at RSI 40, at the upper band, otherwise."""

from __future__ import annotations

from dataclasses import replace

from ringfence.agents.rules.conditions.arriving import only_beside_lines, side_of
from ringfence.agents.rules.conditions.conditions import all_of, condition, opposite
from ringfence.agents.rules.conditions.nominals import moved_so
from ringfence.agents.rules.dates.calendar import DAYS, calendar
from ringfence.agents.rules.measures.lines import line
from ringfence.agents.rules.measures.operands import operand
from ringfence.agents.rules.measures.scales import scale
from ringfence.agents.rules.measures.settings import NAMES
from ringfence.agents.rules.plans.complements import no_longer
from ringfence.agents.rules.reader import UNITS, Reader
from ringfence.trade.description.catalogue import KINDS, PRICES
from ringfence.trade.description.model import AllOf, AnyOf, Beyond, Compare, Condition, Cross, Line, Not, Number, Side


def rule(r: Reader, *, bare: bool) -> Condition | None:
    """when …, on …, and after "or" also without one."""
    first = r.i
    with r.trying() as attempt:
        dated = r.at("AT", "BY") and r.at("TIME", "FIRST", "LAST", ahead=1)
        word = r.take("WHEN", "AT", "UNTIL") if not dated else None
        if word is None and r.at("ON", "AT", "BY", "EVERY", "AFTER", "BEFORE", "MONTH_END", "MONTHLY", "WEEKLY"):
            part = moved_so(r) or calendar(r)
            if part is not None:
                attempt.keep()
                return _provided(r, part)
            word = r.take("ON", "AFTER")
            if word is not None and r.at("WHEN", "ON", "AT", "EVERY", "BETWEEN"):
                return None
        if r.take("COLON", "IS"):
            word = word or r.peek(-1)
            r.take("USE")
        if r.at("OPPOSITE") and r.at("BAND", ahead=1) and (far := _far_edge(r)) is not None:
            attempt.keep()
            return far
        if r.take("OPPOSITE"):
            attempt.keep()
            return opposite(r, r.entry, first)
        if r.entry is not None and _otherwise(r):
            attempt.keep()
            return no_longer(r.entry)
        if word is None and not bare and not r.at("ABOVE", "BELOW", "IT"):
            return None
        if (
            word is not None
            and word.kind == "AT"
            and not r.at(*NAMES, "BULLISH", "BEARISH", "GOLDEN_CROSS", "DEATH_CROSS")
        ):
            part = condition(r) if r.at("NEW") or r.at(*UNITS, ahead=1) else _at_number(r)
            if part is not None:
                attempt.keep()
            return part
        part = condition(r, leaving=True) or _beside(r, word is None)
        if part is None and word is not None and word.kind in ("AT", "ON", "WHEN"):
            part = _at_reading(r)
        if part is not None:
            attempt.keep()
            _from_a_high(r, part, first)
        return part


def _provided(r: Reader, part: Condition) -> Condition:
    """on Friday if RSI is above 70: both."""
    with r.trying() as attempt:
        word = r.take("WHEN", "UNLESS")
        more = condition(r, leaving=True) if word is not None else None
        if word is None or more is None:
            return part
        attempt.keep()
        return all_of([part, Not(part=more) if word.kind == "UNLESS" else more])


def _from_a_high(r: Reader, part: Condition, first: int) -> None:
    """falls 10 % from its high: of the trade, or of some days?"""
    parts = part.parts if isinstance(part, (AllOf, AnyOf)) else (part,)
    for one in parts:
        right = one.right if isinstance(one, (Compare, Cross)) else None
        if isinstance(right, Beyond) and right.line in (Line(name="high"), Line(name="low")):
            raise r.ask("from which high?", ["falls 10 % from its high since entry", "from its 20-day high"], first)


def _beside(r: Reader, bare: bool) -> Condition | None:
    """sell below the 20-day average: the close, and a line."""
    token = r.take("ABOVE", "BELOW") if bare else None
    if token is None:
        return None
    right = operand(r, Line(name="close"), token.kind.lower())
    if not isinstance(right, Line) or scale(right) != "price":
        return None
    return Compare(left=Line(name="close"), level="above" if token.kind == "ABOVE" else "below", right=right)


def _at_number(r: Reader) -> Condition | None:
    """buy when RSI is below 30, sell at 60: of an oscillator, up to it or down to it by its half of the scale."""
    limits = KINDS[r.it.name].oversold if r.it is not None else None
    if r.it is None or limits is None or r.at("PERCENT", "TIMES", "ATR", *UNITS, ahead=1):
        return None
    number = r.take("NUM")
    if number is None:
        return None
    return _up_or_down(r, r.it, number.value)


def _up_or_down(r: Reader, left: Line, value: float) -> Condition:
    """Away from where the entry was; where that names no number of the line, by its half of the scale."""
    parts = r.entry.parts if isinstance(r.entry, AllOf) else (r.entry,)
    said = [
        part.right.value
        for part in parts
        if isinstance(part, (Compare, Cross)) and part.left == left and isinstance(part.right, Number)
    ]
    limits = KINDS[left.name].oversold or (0, 100)
    edge = said[0] if len(said) == 1 and said[0] != value else sum(limits) / 2
    return Compare(left=left, level="at_least" if value > edge else "at_most", right=Number(value=value))


def _at_reading(r: Reader) -> Condition | None:
    """cover at RSI 40: when it has come there."""
    with r.trying() as attempt:
        made = line(r)
        r.skip("OF", "EQUALS", "AT")
        number = r.take("NUM") if made is not None and KINDS[made.name].oversold is not None else None
        if made is None or number is None or r.at("PERCENT", "TIMES", "ATR", *UNITS, "OR_MORE", "OR_LESS"):
            return None
        attempt.keep()
        return _up_or_down(r, made, number.value)


def _otherwise(r: Reader) -> bool:
    """sell otherwise, sell when it is not."""
    with r.trying() as attempt:
        said = r.take("OTHERWISE", "NO_LONGER") or (r.take("IT") and r.take("IS") and r.take("NOT"))
        if said and r.at("END", "STOP_MARK", ",", "AND", "USE", "OR"):
            attempt.keep()
            return True
    return False


def _far_edge(r: Reader) -> Condition | None:
    """at the opposite band: of the channel at whose other edge it came in."""
    parts = r.entry.parts if isinstance(r.entry, AllOf) else (r.entry,)
    rights = [part.right for part in parts if isinstance(part, (Compare, Cross)) and isinstance(part.right, Line)]
    edges = [one for one in rights if one.part in ("upper", "lower")]
    if len(edges) != 1 or not r.take_all("OPPOSITE", "BAND"):
        return None
    up = edges[0].part == "lower"
    far = replace(edges[0], part="upper" if up else "lower")
    return Compare(left=Line(name="high" if up else "low"), level="at_least" if up else "at_most", right=far)


def at_line(r: Reader, side: Side) -> Condition | None:
    """take profit at the upper band: when the bar reaches it."""
    with r.trying() as attempt:
        if not r.take("AT", "ON"):
            return None
        made = line(r)
        if made is None or made.name in (*PRICES, "highest", "lowest") or KINDS[made.name].scale:
            return None
        attempt.keep()
        came = side_of(r.entry, made)
        unsaid = r.entry is None or only_beside_lines(r.entry)
        if came is None and made.part not in ("upper", "lower") and unsaid:
            raise r.ask(
                "is it reached from above or from below?",
                ["when the close is below the 20-bar EMA", "when the close is above the 20-bar EMA"],
                r.i - 1,
            )
        up = made.part == "upper" if made.part in ("upper", "lower") else came == "below" if came else side == "long"
        column = Line(name="high" if up else "low")
        return Compare(left=column, level="at_least" if up else "at_most", right=made)


def limited(r: Reader, first: int) -> bool:
    """take profit at 10 %, but not on Fridays; sell when it falls 10 % each day: said of the exit, and not of entries.

    Where the sentence has an entry before it, the days are those of the entry.
    """
    at = 0
    while r.at(",", "AND", ahead=at):
        at += 1
    if not at and r.peek().text in ("each day", "every day"):
        return True
    begin = max((n for n in range(first) if r.tokens[n].kind == "STOP_MARK"), default=-1)
    alone = not any(token.kind in ("BUY", "SHORT", "LONG", "TRADE") for token in r.tokens[begin + 1 : r.i])
    return alone and r.at("NOT", "ONLY", ahead=at) and r.at("ON", *DAYS, ahead=at + 1)
