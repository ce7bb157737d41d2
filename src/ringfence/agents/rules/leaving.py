"""Exits in English: sell when …, sell half at 5 %, get out after 10 days, exit at 10 % profit or 5 % loss."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from ringfence.agents.rules.arriving import side_of
from ringfence.agents.rules.both_ways import both_sides, following, leave_both
from ringfence.agents.rules.calendar import calendar
from ringfence.agents.rules.conditions import any_of, condition, opposite
from ringfence.agents.rules.guards import after_bars, distance, from_entry, guard
from ringfence.agents.rules.lines import line
from ringfence.agents.rules.operands import operand
from ringfence.agents.rules.parts import is_rest, portion_of
from ringfence.agents.rules.reader import UNITS, Reader
from ringfence.agents.rules.scales import scale
from ringfence.agents.rules.settings import NAMES
from ringfence.agents.rules.tokens import Token
from ringfence.trade.description.catalogue import KINDS, PRICES
from ringfence.trade.description.model import (
    AllOf,
    Compare,
    Condition,
    Cross,
    Distance,
    Exit,
    FixedShares,
    Line,
    Not,
    Number,
    Partial,
    Side,
)

if TYPE_CHECKING:
    from ringfence.agents.rules.collected import Collected

_VERBS = ("SELL", "EXIT", "COVER", "TARGET", "REST", "HALF", "THIRD", "QUARTER", "ANOTHER", "CLOSE")
_CLOSED = ("POSITION", "IT", "AT", "WHEN", "AFTER", "EITHER", "BOTH")
_AT_LINE = ("TARGET", "EXIT", "SELL", "REST", "COVER", "TRAIL")
_EVENTS = ("BULLISH", "BEARISH", "GOLDEN_CROSS", "DEATH_CROSS")
_SHARES = ("HALF", "THIRD", "QUARTER", "REST", "ANOTHER")


def leave(r: Reader, said: Collected, before: Condition | None, *, verb: bool = True) -> bool:
    first = r.i
    if verb and r.peek().text in ("take", "taking") and r.at("HALF", "THIRD", "QUARTER", ahead=1):
        r.take("INVEST")  # take half off
    if verb and _unmet(r, said, first):
        return True
    both = verb and r.take("BOTH_CASES") is not None
    r.skip(",") if both else None
    trailed = verb and r.at("TRAIL") and r.at("AT", "BY", "ON", "USE", ahead=1)
    token = r.take(*_VERBS, "TRAIL" if trailed else "SELL") if verb else None
    if verb and token is None and r.at("NUM") and r.at("SLASH", ahead=1) and said.guards.partials:
        token = r.peek(-1)  # … and 1/3 at 10 %
    if verb and (token is None or (token.kind == "CLOSE" and not r.at(*_CLOSED))):
        return False
    if token is not None and token.kind in _SHARES:
        r.i -= 1
    r.take("ANOTHER")
    side, bare = _side_left(r, said, token)
    said.left.add(side)
    portion = portion_of(r)
    rest = portion is None and r.take("REST") is not None
    if rest and not is_rest(r, said):
        raise r.ask("that is not what is left", ["say: the rest"], first)
    both = both_sides(r, said, token) or both
    r.skip("IT", "POSITION", "NEXT_OPEN")
    if r.at("NUM") and isinstance(said.sizing, FixedShares) and r.peek().value == said.sizing.count:
        r.take("NUM")  # sell all 200
        r.skip("SHARES", "POSITION")
    if r.take_all("OF", "POSITION") or r.take_all("OF", "IT"):
        pass
    if r.at("SYMBOL") and not _whose(r, said):
        return False
    if before is not None:
        said.bare += [before] if bare else []
        return _add(said, before, side, portion)
    if both:
        return portion is None and leave_both(r, said)
    line = token is not None and token.kind in _AT_LINE
    found, read = _reasons(r, said, lambda: _measured(r, said, portion, first, rest=rest, side=side), side, line=line)
    if found and bare:
        said.bare.append(any_of(found))
    if found:
        said.exits.append(
            Exit(
                side=side,
                when=any_of(found),
                portion=portion or 100,
                rest=rest and all(e.portion >= 100 for e in said.exits),
            )
        )
    if not read and said.guards.time_stop_bars and portion is None and token is not None:
        return r.at("END", "STOP_MARK", ",")  # hold it for 10 days, then sell
    return read


def _side_left(r: Reader, said: Collected, token: Token | None) -> tuple[Side, bool]:
    """Which side ends, and whether that was left unsaid."""
    if token is None or token.kind != "EXIT":
        return "short" if token is not None and token.kind == "COVER" else "long", False
    if (named := r.take("SHORT", "LONG")) is not None:
        return "short" if named.kind == "SHORT" else "long", False
    side = following(said)
    return side, side == "long" and "long" not in token.text


def _reasons(
    r: Reader, said: Collected, measured: Callable[[], bool], side: Side, *, line: bool
) -> tuple[list[Condition], bool]:
    """When to leave, one reason or another: the conditions among them, and whether there was any."""
    found: list[Condition] = []
    read = False
    while True:
        with r.trying() as attempt:
            if read:
                listed = r.take(",") is not None and r.at("NUM") and r.peek().text[0] in "+-"
                if not r.take("OR") and not listed:
                    break
            r.take("EITHER")
            if read:
                r.take("WHEN") if r.peek().text in ("if", "when") else None
            if measured():
                pass
            elif r.take("STOP_HIT") or r.take_all("WHEN", "STOP_HIT"):
                said.stop_hit = True
            else:
                part = _rule(r, bare=True)
                if part is None and line:
                    part = _at_line(r, side)
                if part is None:
                    break
                found.append(part)
            attempt.keep()
            read = True
    return found, read


def _whose(r: Reader, said: Collected) -> bool:
    """sell GOOG: what is traded, or what is meant to be."""
    token = r.take("SYMBOL")
    if token is None or (said.symbols and token.text not in said.symbols):
        return False
    if not said.symbols:
        said.symbols.append(token.text)
    r.skip("POSITION", "SHARES")
    return True


def _add(said: Collected, when: Condition, side: Side, portion: float | None) -> bool:
    said.exits.append(Exit(side=side, when=when, portion=portion or 100))
    return True


def _unmet(r: Reader, said: Collected, first: int) -> bool:
    """if neither is hit in 20 days just close it."""
    with r.trying() as attempt:
        if not (r.at("WHEN") and r.at("NEITHER_HIT", ahead=1)):
            return False
        bars = after_bars(r)
        r.skip(",", "THEN")
        if bars is None or not r.take("EXIT", "SELL", "CLOSE", "COVER"):
            return False
        r.skip("IT", "POSITION", "TRADE", "NEXT_OPEN")
        attempt.keep()
        said.stop_hit = True
        return said.guards.set(r, "time_stop_bars", bars, first)


def _rule(r: Reader, *, bare: bool) -> Condition | None:
    """when …, on …, and after "or" also without one."""
    first = r.i
    with r.trying() as attempt:
        dated = r.at("AT", "BY") and r.at("TIME", "FIRST", "LAST", ahead=1)
        word = r.take("WHEN", "AT") if not dated else None
        if word is None and r.at("ON", "AT", "BY", "EVERY", "AFTER", "BEFORE", "MONTH_END", "MONTHLY", "WEEKLY"):
            part = calendar(r)
            if part is not None:
                attempt.keep()
                return part
            word = r.take("ON", "AFTER")
            if word is not None and r.at("WHEN", "ON", "AT", "EVERY", "BETWEEN"):
                return None
        if r.take("COLON", "IS"):
            word = word or r.peek(-1)
        if r.take("OPPOSITE"):
            attempt.keep()
            return opposite(r, r.entry, first)
        if r.entry is not None and _otherwise(r):
            attempt.keep()
            return Not(part=r.entry)
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
        return part


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


def _at_line(r: Reader, side: Side) -> Condition | None:
    """take profit at the upper band: when the bar reaches it."""
    with r.trying() as attempt:
        if not r.take("AT", "ON"):
            return None
        made = line(r)
        if made is None or made.name in (*PRICES, "highest", "lowest") or KINDS[made.name].scale:
            return None
        attempt.keep()
        came = side_of(r.entry, made)
        up = made.part == "upper" if made.part in ("upper", "lower") else came == "below" if came else side == "long"
        column = Line(name="high" if up else "low")
        return Compare(left=column, level="at_least" if up else "at_most", right=made)


def _measured(r: Reader, said: Collected, portion: float | None, first: int, *, rest: bool, side: Side) -> bool:
    """Exits by the entry's price: at 5 %, for a 10 % profit, when it is down 5 %, after 10 days, by a trailing stop."""
    with r.trying() as attempt:
        bars = after_bars(r)
        if bars is not None and portion is None:
            attempt.keep()
            return said.guards.set(r, "time_stop_bars", bars, first)
    with r.trying() as attempt:
        r.skip("USE", "AT", "ON", "BY", "COLON")
        if rest and r.at("TRAIL", "NUM", "STOP", "TARGET") and _guard_of_rest(r, said):
            attempt.keep()
            return True
        if portion is None and not r.at("TARGET") and guard(r, said.guards):
            attempt.keep()
            return True
    with r.trying() as attempt:
        far, gain = _gain(r, side)
        if far is None:
            return False
        attempt.keep()
        if not gain and portion is not None:
            return False
        if not gain:
            return said.guards.set(r, "stop", far, first)
        if portion is not None:
            said.guards.partials.append(Partial(portion=portion, at=far))
            return True
        return said.guards.set(r, "target", far, first)


def _guard_of_rest(r: Reader, said: Collected) -> bool:
    """the rest with a 3 % trailing stop: it begins when the first part has been sold."""
    from ringfence.agents.rules.guards import Guarding
    from ringfence.trade.description.model import Trail

    first = r.i
    found = Guarding()
    if not guard(r, found):
        return False
    if found.trail is not None:
        return said.guards.set(r, "trail", Trail(distance=found.trail.distance, rest=True), first)
    name = "target" if found.target else "stop"
    return said.guards.set(r, name, getattr(found, name), first)


def _gain(r: Reader, side: Side) -> tuple[Distance | None, bool]:
    """A distance from the entry, and whether it is a gain."""
    word = r.take("WHEN", "AT", "FOR", "ON", "BY", "USE", "AFTER")
    r.skip("IT", "PRICE", "POSITION", "IS", "MOVES", "TRADE", "CLOSE")
    named = r.take("GAIN", "LOSS", "RISES", "FALLS")
    r.skip("REACHES", "OF", "IS", "BY", "AT", "ABOVE", "AT_LEAST") if named else r.skip("REACHES", "AT_LEAST")
    sign = r.peek().text[:1] if r.at("NUM") else ""
    far = distance(r, price=False)
    if far is None:
        return None, False
    more = r.take("OR_MORE")
    after = r.take("GAIN", "LOSS", "ABOVE", "BELOW", "RISES", "FALLS", "FROM", "TARGET", "STOP", "MOVES")
    if after is not None and after.kind in ("ABOVE", "BELOW", "FROM"):
        r.take("ITS")
        if not r.take("ENTRY_PRICE", "BUY"):
            return None, False
        r.take("PRICE")
    elif after is not None:
        from_entry(r)
    if r.at("IN", "ABOVE") and r.at("NUM", "PREVIOUS", ahead=1):
        return None, False  # a change over a period, which is a condition
    signed = sign in ("+", "-")
    if named is None and after is None and not signed and (word is None or word.kind not in ("AT", "FOR")):
        return None, False
    del more
    words = {token.kind for token in (named, after) if token is not None}
    if signed and not words:
        return far, sign == "+"
    if side == "short":  # a price that falls is what it waits for
        turned = {"RISES": "FALLS", "FALLS": "RISES", "ABOVE": "BELOW", "BELOW": "ABOVE"}
        words = {turned.get(word, word) for word in words}
    return far, not words & {"LOSS", "FALLS", "BELOW", "STOP"}
