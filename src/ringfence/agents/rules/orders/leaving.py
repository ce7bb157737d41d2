"""Exits in English: sell when …, sell half at 5 %, get out after 10 days, exit at 10 % profit or 5 % loss."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from ringfence.agents.rules.conditions.conditions import any_of, condition
from ringfence.agents.rules.orders.both_ways import both_sides, by_other_entry, following, leave_both, whichever
from ringfence.agents.rules.orders.exit_rules import at_line, rule
from ringfence.agents.rules.orders.gains import reached
from ringfence.agents.rules.orders.guards import guard
from ringfence.agents.rules.orders.lasting import after_bars, listed_bars
from ringfence.agents.rules.orders.parts import is_rest, only_once, portion_of, whole_at_end
from ringfence.agents.rules.reader import Reader
from ringfence.trade.description.model import (
    Condition,
    Exit,
    FixedShares,
    InHours,
    Partial,
    Side,
    Trail,
)

if TYPE_CHECKING:
    from ringfence.agents.rules.orders.collected import Collected
    from ringfence.agents.rules.text.tokens import Token

_VERBS = ("SELL", "EXIT", "COVER", "TARGET", "REST", "HALF", "THIRD", "QUARTER", "ANOTHER", "CLOSE", "GIVE_UP")
_AFTER_CLOSE = (
    "POSITION", "IT", "AT", "WHEN", "AFTER", "HALF", "THIRD", "QUARTER", "REST", "USE", "ON", "EITHER", "BOTH"
)  # fmt: skip
_AT_LINE = ("TARGET", "EXIT", "SELL", "REST", "COVER", "TRAIL", "HALF", "THIRD", "QUARTER", "CLOSE")
_ENDS = ("END", "STOP_MARK", ",", "OR", "AND", "USE", "WHICHEVER_FIRST", ")", "THEN")
_SHARES = ("HALF", "THIRD", "QUARTER", "REST", "ANOTHER")


def _ordered(r: Reader, said: Collected, before: Condition | None) -> Token | None:
    """The verb, or the part that stands in its place: sell, take half off, keep the rest until, close half."""
    if r.peek().text in ("take", "taking") and r.at("HALF", "THIRD", "QUARTER", ahead=1):
        r.take("INVEST")
    if r.at("HOLD", "INVEST") and r.at("REST", ahead=1):
        r.take("HOLD", "INVEST")
    if r.at("FIRST", "STRATEGY") and r.at("HALF", "THIRD", "QUARTER", ahead=1):
        r.take("FIRST", "STRATEGY")
    trailed = r.at("TRAIL") and r.at("AT", "BY", "ON", "USE", ahead=1)
    token = r.take(*_VERBS, "TRAIL" if trailed else "SELL")
    if token is None and r.at("NUM") and r.at("SLASH", ahead=1) and said.guards.partials:
        return r.peek(-1)  # … and 1/3 at 10 %
    if token is not None and token.kind == "CLOSE" and before is None and not r.at(*_AFTER_CLOSE):
        return None
    return token


def _part(r: Reader, said: Collected, first: int) -> tuple[float | None, bool]:
    """How much of it, in percent, and whether it is the rest: half comes off, the other half goes."""
    portion = portion_of(r)
    rest = portion is None and r.take("REST") is not None
    if rest and not is_rest(r, said):
        raise r.ask("that is not what is left", ["say: the rest"], first)
    if portion is not None or rest:
        r.skip("OFF", "EXIT", "MOVES", "IS", "SELL")
        if r.peek().text == "run with" and r.at("UNTIL", ahead=1):
            r.take("USE")
    return portion, rest


def leave(r: Reader, said: Collected, before: Condition | None, *, verb: bool = True) -> bool:
    first = r.i
    if verb and _unmet(r, said, first):
        return True
    both = verb and r.take("BOTH_CASES") is not None
    r.skip(",") if both else None
    token = _ordered(r, said, before) if verb else None
    if verb and token is None:
        return False
    if token is not None and token.kind in _SHARES:
        r.i -= 1
    r.take("ANOTHER")
    side, bare = _side_left(r, said, token)
    said.left.add(side)
    portion, rest = _part(r, said, first)
    both = both_sides(r, said, token) or both
    r.skip("IT", "POSITION", "NEXT_OPEN", "ALL_IN")
    if r.at("SHARES") and r.at("WHEN", "AT", "ON", "AFTER", "IN", ahead=1):
        r.take("SHARES")  # dump the shares when …
    if r.at("NUM") and isinstance(said.sizing, FixedShares) and r.peek().value == said.sizing.count:
        r.take("NUM")  # sell all 200
        r.skip("SHARES", "POSITION")
    if r.take_all("OF", "POSITION") or r.take_all("OF", "IT"):
        pass
    if verb and r.at("SYMBOL") and not _whose(r, said):
        return False
    if before is not None:
        said.bare += [before] if bare else []
        only_once(r, portion, [before], first)
        said.exits.append(Exit(side=side, when=before, portion=portion or 100, rest=rest))
        return True
    if both:
        return portion is None and leave_both(r, said)
    if bare and portion is None and whichever(r, said):
        return True
    line = token is not None and token.kind in _AT_LINE
    sides = {entry.side for entry in said.entries}
    own: Side = "short" if bare and sides == {"short"} else side
    unsaid = bare and len(sides) != 1
    found, read = reasons(
        r,
        said,
        lambda listed: _measured(r, said, portion, first, rest=rest, side=own, listed=listed, unsaid=unsaid),
        side,
        line=line,
    )
    only_once(r, portion, found, first)
    if found and bare:
        said.bare.append(any_of(found))
    if found:
        said.exits.append(Exit(side=side, when=any_of(found), portion=portion or 100, rest=rest))
    if not read and said.guards.time_stop_bars and portion is None and token is not None:
        return r.at("END", "STOP_MARK", ",")  # hold it for 10 days, then sell
    return read


def _side_left(r: Reader, said: Collected, token: Token | None) -> tuple[Side, bool]:
    """Which side ends, and whether that was left unsaid."""
    if token is not None and token.kind != "EXIT":
        short = token.kind in _SHARES and {entry.side for entry in said.entries} == {"short"}  # the rest when …
        return "short" if short or token.kind == "COVER" else "long", False
    if token is not None and (named := r.take("SHORT", "LONG")) is not None:
        return "short" if named.kind == "SHORT" else "long", False
    side = following(said)
    return side, side == "long" and (token is None or "long" not in token.text)


def reasons(
    r: Reader, said: Collected, measured: Callable[[bool], bool], side: Side, *, line: bool, rules: bool = True
) -> tuple[list[Condition], bool]:
    """When to leave, one reason or another: the conditions among them, and whether there was any."""
    found: list[Condition] = []
    read = False
    while True:
        with r.trying() as attempt:
            comma = read and r.take(",") is not None
            joined = read and r.take("OR") is not None
            if read and r.at("OTHERWISE") and r.at("AFTER", "AT", ahead=1):
                joined = r.take("OTHERWISE") is not None  # else after 20 days
            if read and not joined and not comma:
                break
            listed = comma and not joined
            r.take(",") if joined else None
            if joined and r.peek().text.startswith("failing") and r.take("OTHERWISE"):
                r.take(",")
            r.take("ON", "AT", "BY") if not read and r.at("WHICHEVER_FIRST", ahead=1) else None
            r.take("WHICHEVER_FIRST") if not read else None
            r.take("COLON") if r.peek(-1).kind == "WHICHEVER_FIRST" else None
            r.take("EITHER") or (r.take("AT") if r.at("EITHER", ahead=1) and r.take_all("AT", "EITHER") else None)
            if read and not r.at("HAVE_PASSED", "DATA_PASSED", ahead=3):
                r.take("WHEN") if r.peek().text in ("if", "when") and not _hit_later(r) else None
            if listed and not _goes_on_listing(r):
                break
            if measured(read):
                pass
            elif r.take("STOP_HIT") or r.take_all("WHEN", "STOP_HIT"):
                said.stop_hit = True
            elif not rules:
                break
            else:
                part = by_other_entry(r, said, side) or _clock(r, read)
                part = part or (rule(r, bare=True) if not listed else None)
                if part is None and line and not listed:
                    part = at_line(r, side)
                if part is None:
                    break
                found.append(part)
            attempt.keep()
            read = True
    r.take("WHICHEVER_FIRST") if read else None
    return found, read


def _goes_on_listing(r: Reader) -> bool:
    """RSI above 70, at a 5 % loss, or after 20 days: a comma goes on where an "or" follows, or it is +5 %, -5 %."""
    if r.at("NUM") and r.peek().text[0] in "+-":
        return True
    for n in range(12):
        if r.at("OR", ahead=n):
            return True
        if r.peek(n).text == "entry":
            continue
        if r.at("END", "STOP_MARK", "BUY", "SELL", "EXIT", "SHORT", "LONG", "COVER", "USE", "REST", ahead=n):
            return False
        if r.at("WHICHEVER_FIRST", ahead=n):
            return True
    return False


def _clock(r: Reader, read: bool) -> Condition | None:
    """…, or 15:55."""
    time = r.take("TIME") if read and r.at("END", "STOP_MARK", ",", "AND", ahead=1) else None
    if time is None:
        return None
    r.told_times.add(time.text)
    return InHours(start=time.text)


def _whose(r: Reader, said: Collected) -> bool:
    """sell GOOG: what is traded, or what is meant to be."""
    token = r.take("SYMBOL")
    if token is None or (said.symbols and token.text not in said.symbols):
        return False
    if not said.symbols:
        said.symbols.append(token.text)
    r.skip("POSITION", "SHARES")
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
        said.unmet = True
        return said.guards.set(r, "time_stop_bars", bars, first)


def _hit_later(r: Reader) -> bool:
    """when a 5 % stop is hit: a guard, and no rule."""
    ahead = [r.peek(n).kind for n in range(1, 9)]
    return any(kind in ("STOP", "TRAIL", "TARGET") for kind in ahead[:5]) and any(
        kind in ("REACHES", "STOP_HIT", "HAPPENS") for kind in ahead
    )


def reason_first(r: Reader, said: Collected) -> bool:
    """If it falls 5 %, sell. After 10 days get out. At +10 % sell half. Down 5 %: out."""
    first = r.i
    sides = {entry.side for entry in said.entries}
    side: Side = "short" if sides == {"short"} else "long"
    told = said.copy()
    told.guards, told.exits = type(told.guards)(), []
    found, read = reasons(
        r,
        told,
        lambda listed: _measured(r, told, None, first, rest=False, side=side, listed=True),
        side,
        line=False,
        rules=False,
    )
    if not read or found or told.exits or (len(sides) == 2 and told.guards.target is None and not _time_only(told)):
        return False
    r.skip(",", "THEN", "COLON", "DASH", "AND")
    token = r.take("SELL", "EXIT", "COVER", "CLOSE", "GIVE_UP", "TARGET", "STOP_SET") or (
        r.peek() if r.at(*_SHARES) else None
    )
    if token is None:
        return False
    portion, rest = _part(r, said, first)
    r.skip("IT", "POSITION", "NEXT_OPEN", "TRADE")
    if not r.at(*_ENDS):
        return False
    said.stop_hit, said.unmet = told.stop_hit, told.unmet
    said.left.add(side)
    if rest and told.guards.trail is not None:
        told.guards.trail = replace(told.guards.trail, rest=True)
    said.guards.target_rest = said.guards.target_rest or (rest and told.guards.target is not None)
    if portion is None:
        for name in ("stop", "target", "trail", "time_stop_bars"):
            value = getattr(told.guards, name)
            if value:
                said.guards.set(r, name, value, first)
        return True
    far = told.guards.target
    if far is None or told.guards != type(told.guards)(target=far):
        return False
    said.guards.partials.append(Partial(portion=portion, at=far))
    return True


def _time_only(told: Collected) -> bool:
    return told.guards.stop is None and told.guards.trail is None


def if_unmet(r: Reader, said: Collected, first: int) -> None:
    """after 10 days if it never gets there, 10 days later unless the 3 % stop is hit earlier."""
    with r.trying() as attempt:
        if r.peek().text in ("if not", "if it not", "when it not") and r.take("OTHERWISE"):
            r.skip("HAPPENS", "MOVED_BY")
            if r.at(*_ENDS):
                said.unmet = True
                attempt.keep()
                return
    with r.trying() as attempt:
        asked = r.take("WHEN") is not None
        named = r.take("NOT_YET", "NEITHER_HIT") is not None
        if not named:
            r.take("IT")
            named = r.take("IS", "NOT") is not None
            r.take("NOT")
        if asked and named:
            said.unmet = said.unmet or not r.peek(-1).text.startswith("still")
            r.skip("MOVED_BY", "TRADE", "IN", "POSITION")
            if r.at(*_ENDS):
                attempt.keep()
                return
    with r.trying() as attempt:
        if not r.take("UNLESS"):
            return
        if r.take("STOP_HIT"):
            said.stop_hit = True
        elif guard(r, said.guards):
            r.skip("IS", "MOVES")
            r.take("REACHES", "STOP_HIT", "HAPPENS")
        else:
            part = condition(r, leaving=True)
            if part is None or not r.at("FIRST", "AGO", "BEFORE", "SOONER"):
                return
            said.exits.append(Exit(side="long", when=part))
        r.take("FIRST", "AGO", "BEFORE", "SOONER")
        if r.at(*_ENDS):
            attempt.keep()


def _measured(
    r: Reader,
    said: Collected,
    portion: float | None,
    first: int,
    *,
    rest: bool,
    side: Side,
    listed: bool = False,
    unsaid: bool = False,
) -> bool:
    """Exits by the entry's price: at 5 %, for a 10 % profit, when it is down 5 %, after 10 days, by a trailing stop."""
    with r.trying() as attempt:
        bars = after_bars(r) or (listed_bars(r) if listed else None)
        if bars is not None and portion is None:
            if rest:
                whole_at_end(r, first)
            attempt.keep()
            if_unmet(r, said, first)
            return said.guards.set(r, "time_stop_bars", bars, first)
    with r.trying() as attempt:
        r.take("WHEN") if r.at("STOP", "TRAIL", "TARGET", "NUM", "ATR", ahead=1) and _hit_later(r) else None
        r.skip("USE", "AT", "ON", "BY", "COLON", "IS", "ONLY", "THROUGH")
        if rest and r.at("TRAIL", "NUM", "STOP", "TARGET") and _guard_of_rest(r, said):
            attempt.keep()
            return True
        if portion is None and not r.at("TARGET") and guard(r, said.guards):
            r.skip("IS", "MOVES") if r.at("REACHES", ahead=1) else None
            r.take("REACHES")  # or a 5 % stop is hit
            attempt.keep()
            return True
    with r.trying() as attempt:
        found = reached(r, side)
        if found is None or (found.way != "gain" and portion is not None):
            return False
        attempt.keep()
        said.priced = said.priced or (found.priced and unsaid)
        if found.way == "trail":
            return said.guards.set(r, "trail", Trail(distance=found.far, rest=rest, best=found.best), first)
        if found.way == "loss":
            return said.guards.set(r, "stop", found.far, first)
        if portion is not None:
            said.guards.partials.append(Partial(portion=portion, at=found.far))
            return True
        said.guards.target_rest = said.guards.target_rest or rest
        return said.guards.set(r, "target", found.far, first)


def _guard_of_rest(r: Reader, said: Collected) -> bool:
    """the rest with a 3 % trailing stop: it begins when the first part has been sold."""
    from ringfence.agents.rules.orders.guards import Guarding

    first = r.i
    found = Guarding()
    if not guard(r, found):
        return False
    if found.trail is not None:
        return said.guards.set(r, "trail", replace(found.trail, rest=True), first)
    name = "target" if found.target else "stop"
    said.guards.target_rest = said.guards.target_rest or name == "target"
    return said.guards.set(r, name, getattr(found, name), first)
