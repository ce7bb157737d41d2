"""Both sides of a strategy in English: vice versa for shorts, otherwise short, sell and go short, longs only above …"""

from __future__ import annotations

import re

from ringfence.agents.rules.conditions.conditions import all_of, condition
from ringfence.agents.rules.conditions.mirror import mirrored, symmetric
from ringfence.agents.rules.conditions.subjectless import side_rule
from ringfence.agents.rules.orders.collected import Collected, symbols
from ringfence.agents.rules.orders.entering import prefixed, when_said
from ringfence.agents.rules.orders.opening import names_side
from ringfence.agents.rules.plans.complements import lasts
from ringfence.agents.rules.reader import CLAUSE_ENDS, Reader
from ringfence.trade.description.model import (
    AllOf,
    AnyOf,
    Between,
    Compare,
    Condition,
    Cross,
    Entry,
    Exit,
    Held,
    Not,
    Number,
    Side,
    SomeOf,
)

_SIDES: dict[str, Side] = {"SHORT": "short", "LONG": "long", "BUY": "long"}
_OTHER: dict[Side, Side] = {"short": "long", "long": "short"}
# All of the rules: vice versa for shorts; shorts are the mirror image; short: the reverse of all three.
_ALL_RULES = re.compile(
    r"(?:(?:USE|SAME|SAME_RULES|STRATEGY|IT|IN|POSITION|FOR|ON|TO|BOTH|ALL_IN|TITLE|,) )*"
    r"OPPOSITE (?:(?:IT|STRATEGY|OF|SAME_RULES|SAME|BOTH|TITLE|ALL_IN|IS|TO) )*(?:(?:FOR|ON|TO|IN|USE|WITH) )*"
    r"(?P<a>SHORT|LONG|BUY) (?:(?:IT|POSITION|STRATEGY|TRADE|IS) )*"
    r"|(?:(?:FOR|ON|IN|USE) )*(?P<b>SHORT|LONG|BUY) (?:(?:COLON|DASH|IS|USE|TITLE|STRATEGY|,|IN|BY) )*"
    r"(?:(?:SAME|SAME_RULES|IT|STRATEGY|ON|IN) )*OPPOSITE (?:(?:OF|IT|BOTH|STRATEGY|NUM|TITLE|SAME_RULES|TRUE) )*"
)
# Of the entry alone: go short when the opposite happens.
_ENTRY_ONLY = re.compile(
    r"(?P<a>SHORT|LONG|BUY) (?:IT |SYMBOL )?(?:ON|WHEN|IN|AT|AFTER|UPON) OPPOSITE "
    r"(?:(?:HAPPENS|TRUE|IS|IT|OF|BOTH|NUM) )*"
)


def _stretch(r: Reader, *, commas: bool = False) -> str:
    """The kinds of the tokens up to the end of the statement."""
    kinds: list[str] = []
    while not r.at("END", "STOP_MARK", ahead=len(kinds)) and (commas or not r.at(",", ahead=len(kinds))):
        kinds.append(r.peek(len(kinds)).kind)
    while kinds and kinds[-1] == "AND":
        kinds.pop()
    return "".join(f"{kind} " for kind in kinds)


def mirrors(r: Reader, said: Collected) -> bool:
    """Vice versa for shorts. Short: the reverse of all three. Go short when the opposite happens."""
    first = r.i
    if r.peek().text == "opposite for shorts" and r.at(*CLAUSE_ENDS, ahead=1):
        r.take("OPPOSITE")
        return _turned(r, said, "short", first)
    for commas in (False, True):
        kinds = _stretch(r, commas=commas)
        for pattern in (_ALL_RULES, _ENTRY_ONLY):
            match = _longest(pattern, kinds)
            if match is None:
                continue
            side = _SIDES[next(kind for kind in match.groups() if kind)]
            count = match[0].count(" ")
            numbers = [r.peek(n).value for n in range(count) if r.at("NUM", ahead=n)]
            if any(number != _parts_of(said, _OTHER[side]) for number in numbers):
                return False
            for _ in range(count):
                r.take(r.peek().kind)
            if not r.at(*CLAUSE_ENDS):
                return False
            return _turned(r, said, side, first, entry_only=pattern is _ENTRY_ONLY)
    return False


def opposed(r: Reader, said: Collected) -> bool:
    """In the opposite case, %K crosses below %D, take a short: the rule follows in full."""
    if not (said.entries and r.at("OPPOSITE") and r.peek().text.startswith("in ") and r.at(",", ahead=1)):
        return False
    r.take_all("OPPOSITE", ",")
    count = len(said.entries)
    return prefixed(r, said) and len(said.entries) == count + 1 and said.entries[-1].side != said.entries[-2].side


def _longest(pattern: re.Pattern[str], kinds: str) -> re.Match[str] | None:
    """A match of the whole, or up to an "and" after which something else is said."""
    if (whole := pattern.fullmatch(kinds)) is not None:
        return whole
    at = kinds.find("AND ")
    return pattern.fullmatch(kinds[:at]) if at > 0 else None


def _parts_of(said: Collected, side: Side) -> int:
    when = next((one.when for one in said.entries if one.side == side), None)
    return len(when.parts) if isinstance(when, AllOf) else 1


def _turned(r: Reader, said: Collected, side: Side, first: int, *, entry_only: bool = False) -> bool:
    other = _OTHER[side]
    entries = [one for one in said.entries if one.side == other]
    exits = [one for one in said.exits if one.side == other]
    if not entries or any(one.side == side for one in said.entries) or any(e.portion < 100 or e.rest for e in exits):
        return False
    if entry_only and exits:
        raise r.ask(f"and when should it leave the {side} position?", ["say both rules in full"], first)
    for one in entries:
        when = _round(r, one.when, side, first)
        if entry_only and _numbers(when) != _numbers(one.when):
            raise r.ask("the opposite of what?", ["say the rule in full"], first)
        said.entries.append(Entry(side=side, when=when))
        r.entry = when
    for leave in exits:
        said.exits.append(Exit(side=side, when=_round(r, leave.when, side, first)))
        said.left.add(side)
    said.bare.clear()
    said.mirrored = (*said.mirrored, *(one for one in said.entries if one.side == side))
    return True


def _round(r: Reader, when: Condition, side: Side, first: int) -> Condition:
    made = mirrored(when)
    if made is None:
        raise r.ask(f"what is the opposite for a {side} position?", ["say its rules in full"], first)
    return made


def _numbers(when: object) -> list[float]:
    if isinstance(when, Number):
        return [when.value]
    if isinstance(when, (AllOf, AnyOf, SomeOf)):
        return [value for part in when.parts for value in _numbers(part)]
    if isinstance(when, (Compare, Cross)):
        return _numbers(when.right)
    if isinstance(when, Between):
        return [*_numbers(when.low), *_numbers(when.high)]
    if isinstance(when, Not):
        return _numbers(when.part)
    return _numbers(when.condition) if isinstance(when, Held) else []


def otherwise_short(r: Reader, said: Collected) -> bool:
    """Long if the 20 EMA is above the 50 EMA, otherwise short."""
    before = r.take("OTHERWISE") is not None
    if not said.entries:
        return False
    r.skip(",") if before else None
    r.take("IS", "HOLD")
    sides = {one.side for one in said.entries}
    verb = r.take("SHORT", "LONG", "BUY")
    if verb is None or len(said.entries) != 1 or sides != {_OTHER[_SIDES[verb.kind]]} or said.exits:
        return False
    r.skip("IT", "POSITION")
    if r.at("SYMBOL") and not (r.peek().text in said.symbols and r.take("SYMBOL")):
        return False
    if not before and not r.take("OTHERWISE"):
        return False  # short otherwise
    when = said.entries[0].when
    if not r.at(*CLAUSE_ENDS) or not lasts(when):
        return False
    said.entries.append(Entry(side=_SIDES[verb.kind], when=Not(part=when)))
    r.entry = said.entries[-1].when
    return True


def in_neither(r: Reader, said: Collected) -> bool:
    """Long when …, short when …, otherwise flat; no position in between: each side ends where its rule does."""
    by_side = {one.side: one.when for one in said.entries}
    if len(said.entries) != 2 or len(by_side) != 2 or said.exits:
        return False
    before = r.take("OTHERWISE") is not None
    r.skip(",") if before else None
    r.take("IS", "IN", "HOLD")
    if not (
        r.take("EXIT", "NOTHING", "NO_POSITION")
        or (r.peek().text in ("cash", "no position") and r.take("EQUITY", "ONE_POSITION"))
    ):
        return False
    if not before and r.peek(-1).kind != "EXIT" and r.at("WHEN", "BETWEEN") and r.peek().text != "in between":
        return _flat_when(r, said)
    r.skip("IT", "POSITION")
    after = r.take("OTHERWISE") is not None or (r.peek().text == "in between" and r.take("BETWEEN") is not None)
    if not (before or after) or not r.at(*CLAUSE_ENDS) or not all(lasts(when) for when in by_side.values()):
        return False
    for side, when in by_side.items():
        said.exits.append(Exit(side=side, when=Not(part=when)))
        said.left.add(side)
    return True


def _flat_when(r: Reader, said: Collected) -> bool:
    """No position inside the cloud, flat when ADX is below 20: the same for both sides."""
    r.take("WHEN")
    made = condition(r)
    if made is None or not symmetric(made) or not r.at(*CLAUSE_ENDS):
        return False
    for side in _OTHER:
        said.exits.append(Exit(side=side, when=made))
        said.left.add(side)
    return True


def sided_filter(r: Reader, said: Collected) -> bool:
    """Longs only above the 100-day average. Only take shorts if …  No longs below the 200-day average."""
    never = r.take("NOT") is not None
    only = r.take("ONLY") is not None or (r.i > 0 and r.peek(-1).text == "and only")
    r.take("INVEST") if r.peek().text in ("take", "taking") else None
    verb = r.take("LONG_ONLY") or r.take("LONG", "SHORT", "BUY", "SHORT_ONLY")
    if verb is None or (verb.kind == "BUY" and not names_side(verb)):
        return False
    r.skip("LONG", "IS", "TRADE", "POSITION") if verb.kind in ("BUY", "LONG") else r.skip("IS", "TRADE", "POSITION")
    said_only = verb.kind.endswith("_ONLY") or r.take("ONLY") is not None or only
    if r.at("WHEN") and "only" in r.peek().text.split():
        said_only = True
    if never == said_only:
        return False  # one of them, and not both
    side: Side = "short" if verb.kind.startswith("SHORT") else "long"
    r.take("SYMBOL") if r.at("SYMBOL") and r.peek().text in said.symbols else None
    made = side_rule(r) if r.at("ABOVE", "BELOW") else when_said(r, said)
    if made is None or not r.at(*CLAUSE_ENDS):
        return False
    denied = made.part if isinstance(made, Not) else Not(part=made)  # no longs unless …
    said.sided.append(Entry(side=side, when=denied if never else made))
    r.entry = made if r.entry is None and not never else r.entry  # long only when …. Otherwise in cash
    return True


def filtered(said: Collected) -> list[Entry] | str:
    """The entries, each with what must hold on its side and on both."""
    entries = _without_headlines(said)
    if isinstance(entries, str):
        return entries
    sided, filters = list(said.sided), list(said.filters)
    for dated, of_side in said.dated:  # entries only from 9:45 to 15:00: of those that are named beside it
        others = [one for one in entries if one != dated and (one.side == dated.side or not of_side)]
        if others:
            entries.remove(dated)
            sided += [dated] if of_side else []
            filters += [] if of_side else [dated.when]
    if len(entries) > 1 and any(one in entries for one in said.by_clock):
        return 'it enters by the clock alone, and by another rule: say "entries only between 10:00 and 15:00"'
    for rule in sided:
        if not any(one.side == rule.side for one in entries):
            return f"it says when {rule.side} positions are allowed, and not when to enter one: add that"
    made = []
    for one in entries:
        asked = [rule.when for rule in sided if rule.side == one.side]
        made.append(Entry(side=one.side, when=all_of([one.when, *asked, *filters])))
    return made


def _without_headlines(said: Collected) -> list[Entry] | str:
    """Short GM at month end: on the last day of the month, if …, short it. What the rule says again is no rule."""
    entries = list(dict.fromkeys(said.entries))
    for one in said.headlines:
        again = [other for other in entries if other.side == one.side and other != one]
        if not again:
            continue
        if not all(set(_all(one.when)) <= set(_all(other.when)) for other in again):
            return "it says before a colon when to enter, and after it otherwise: say it once"
        entries.remove(one)
    return entries


def _all(when: Condition) -> tuple[Condition, ...]:
    return when.parts if isinstance(when, AllOf) else (when,)


def remark(r: Reader, said: Collected) -> bool:
    """Short only. No longs. Long and short. Never flat: what must not be contradicted."""
    if r.take("SHORT_ONLY") or _no_longs(r):
        said.short_only = True
        r.take("SYMBOL") if r.at("SYMBOL") and r.peek().text in said.symbols else None
        return True
    if _one_side(r, said):
        return True
    if r.at(*CLAUSE_ENDS, ahead=1) and r.take("TWO_SIDED"):
        said.two_sided = True
        return True
    if (r.at("LONG") or r.peek().text in ("take long trades", "take longs", "take long positions")) and r.at(
        "ONLY", ahead=1
    ):
        r.take("LONG", "BUY")
        r.take("ONLY")
        said.long_only = True
        if r.take("IN", "ON", "FOR") and not symbols(r, said):
            return False
        return r.at(*CLAUSE_ENDS, "COLON")
    if r.take_all("NOT", "EXIT") and r.at(*CLAUSE_ENDS) and len({one.side for one in said.entries}) == 2:
        said.always_in = True  # never flat
        return r.peek(-1).text in ("flat", "out", "in cash", "out of market", "be flat", "go flat")
    return False


def _one_side(r: Reader, said: Collected) -> bool:
    """For the short side of TSLA only: … Short selling NFLX: …"""
    with r.trying() as attempt:
        r.take("FOR", "ON")
        named = r.peek().text in ("short side", "short selling", "long side")
        verb = r.take("SHORT", "LONG") if named else None
        r.take("OF", "IN", "ON")
        if (
            verb is None
            or not symbols(r, said)
            or not (r.take("ONLY") or r.at("COLON"))
            or not r.at("COLON", *CLAUSE_ENDS)
        ):
            return False
        attempt.keep()
        said.short_only, said.long_only = verb.kind == "SHORT", verb.kind == "LONG"
        return True


def _no_longs(r: Reader) -> bool:
    """No longs. Never go long. No long trades."""
    buys = r.at("LONG", ahead=1) or (r.at("BUY", ahead=1) and "long" in r.peek(1).text.split())
    traded = 3 if r.at("IS", "TRADE", "POSITION", ahead=2) else 2
    if not (r.at("NOT") and buys and r.at(*CLAUSE_ENDS, ahead=traded)):
        return False
    for _ in range(traded):
        r.take(r.peek().kind)
    return True


def contradicted(said: Collected, entries: list[Entry]) -> str:
    """What was said of the sides, and is not so."""
    sides = {one.side for one in entries}
    if said.short_only and sides != {"short"}:
        return "it says short only, and when to buy: leave one of them out"
    if said.two_sided and sides != {"long", "short"}:
        return 'it says long and short, and gives the rules of one side: add "sell short when …"'
    extra = [one for one in said.entries if said.mirrored and one.side == said.mirrored[0].side]
    if said.mirrored and set(extra) != set(said.mirrored):
        return f"it says that the {said.mirrored[0].side} side is the mirror image, and gives another rule for it"
    return ""
