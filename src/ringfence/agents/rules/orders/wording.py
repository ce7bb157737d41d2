"""Orders of words: a time limit for what was not hit, a period that is said afterwards."""

from __future__ import annotations

from dataclasses import replace

from ringfence.agents.rules.conditions.subjectless import swings
from ringfence.agents.rules.dates.schedules import is_dated
from ringfence.agents.rules.orders.collected import Collected, symbols
from ringfence.agents.rules.orders.entering import when_said
from ringfence.agents.rules.orders.leaving import leave
from ringfence.agents.rules.plans.complements import lasts, no_longer
from ringfence.agents.rules.reader import CLAUSE_ENDS, UNITS, Reader, period
from ringfence.trade.description.catalogue import KINDS, usual_line
from ringfence.trade.description.lines import lines_of, map_lines
from ringfence.trade.description.model import (
    AllOf,
    Compare,
    Condition,
    Cross,
    Description,
    Entry,
    Exit,
    Line,
    Side,
)

# Words of being out, and no order to go.
_OUT = ("in cash", "be in cash", "stay in cash", "sit in cash", "sits in cash", "flat", "be flat", "stay flat", "out")
_NOTHING_CAME = (
    "nothing happens",
    "nothing has happened",
    "neither happens",
    "neither happened",
    "neither has happened",
)


def unhit(r: Reader, said: Collected) -> bool:
    """If neither is hit in 20 days close it. If it is still open after 20 days, sell. Close it … if neither is hit."""
    first = r.i
    unless = r.take("OTHERWISE") if r.peek().text in ("if not", "if it is not") else None  # if that has not happened
    if unless is None and not r.take("WHEN") and not (r.i and r.peek(-1).text in ("and if", "and when")):
        return False
    bars = _within(r)
    r.skip("IT", "POSITION", "IS", "TRADE", "TARGET", "STOP")
    still = r.peek(-1).text.endswith("still")
    named = r.take("NEITHER_HIT", "NOT_YET", "NOT") or (r.take("OPEN", "IN") if still else None)
    if unless is not None:
        r.skip("HAPPENS", "MOVED_BY")
        named = replace(unless, kind="NOT_YET")
    if named is None:
        return False
    if named.kind in ("NOT_YET", "NOT") or named.text in _NOTHING_CAME:
        said.unmet = True
    else:
        said.stop_hit = said.stop_hit or not (named.text.startswith("still") or named.kind in ("OPEN", "IN"))
    if said.guards.time_stop_bars and r.at(*CLAUSE_ENDS):
        return named.kind != "NOT"
    r.take("TRADE", "POSITION", "IT") if named.kind == "IN" else None
    r.skip("REACHES", "TARGET", "STOP", "HAPPENS")
    bars = bars or _within(r)
    r.skip(",", "THEN")
    if bars is None or not r.take("EXIT", "SELL", "COVER", "CLOSE", "GIVE_UP"):
        return False
    r.skip("IT", "POSITION", "NEXT_OPEN", "TRADE")
    return r.at(*CLAUSE_ENDS) and said.guards.set(r, "time_stop_bars", bars, first)


def _within(r: Reader) -> int | None:
    """after 20 days, within 25 bars."""
    with r.trying() as attempt:
        r.skip("IN", "AFTER", "FOR", "BY", "PREVIOUS", "BETWEEN")
        bars = period(r)
        if bars is not None:
            attempt.keep()
            return bars
    return None


def waited(r: Reader, said: Collected) -> bool:
    """Don't sell until RSI is above 70. Wait until RSI is above 70, then sell."""
    verb = r.take_all("NOT", "SELL") or r.take_all("NOT", "EXIT")
    if verb:
        return r.take("UNTIL", "BEFORE") is not None and leave(r, said, None, verb=False)
    if not r.peek().text.startswith("wait") or not said.entries:
        return False
    led = len(r.peek().text.split()) > 1  # wait until, wait for
    r.take(r.peek().kind)
    if not (r.take("UNTIL", "FOR", "WHEN") or led) or not leave(r, said, None, verb=False):
        return False
    r.skip(",", "THEN", "AND", "TO", "BEFORE")
    if not r.take("SELL", "EXIT", "COVER"):
        return False
    r.skip("IT", "POSITION")
    return r.at(*CLAUSE_ENDS)


def stopped(r: Reader, said: Collected) -> bool:
    """Exit is the stop or a close below the 10-day low: the stop that is named elsewhere."""
    if not r.take("EXIT", "SELL", "COVER"):
        return False
    r.skip("IT", "POSITION")
    r.take("IS", "AT", "ON", "BY", "COLON")
    if not r.take("STOP", "TARGET", "TRAIL") or r.at("NUM", "AT", "OF", "IS", "BELOW", "ABOVE", "COLON"):
        return False
    said.stop_hit = True
    said.left.add("long")
    return r.at(*CLAUSE_ENDS) or (r.take("OR") is not None and leave(r, said, None, verb=False))


def only_then(r: Reader, said: Collected) -> bool:
    """RSI(2) < 10 buy, RSI(2) > 70 sell, only if close > 200 SMA: asked of the entries, where it is about the trend."""
    if not said.entries or not said.exits or not r.at("WHEN") or not r.peek().text.endswith(("only if", "only when")):
        return False
    first = r.i
    apart = r.peek(-1).kind == "STOP_MARK"  # a sentence of its own
    made = when_said(r, said)
    if made is None:
        return False
    if not apart and not (isinstance(made, Compare) and isinstance(made.left, Line) and isinstance(made.right, Line)):
        raise r.ask("only then buy, or only then sell?", ["only buy when …", "sell when … and …"], first)
    said.filters.append(made)
    return True


def swung(r: Reader, said: Collected) -> bool:
    """… sell above 70: of the oscillator that was named."""
    verb = r.take("SELL", "EXIT", "COVER")
    if verb is None:
        return False
    r.skip("IT", "POSITION", "AT")
    made = swings(r)
    if made is None:
        return False
    side: Side = "short" if verb.kind == "COVER" else "long"
    said.left.add(side)
    said.exits.append(Exit(side=side, when=made))
    return True


def turned(r: Reader, said: Collected) -> bool:
    """Exit on the opposite signal, where it goes both long and short: each side by its own."""
    if {entry.side for entry in said.entries} != {"long", "short"} or len(said.entries) != 2:
        return False
    if not r.take("EXIT", "SELL", "COVER"):
        return False
    r.skip("IT", "POSITION", "EVERY", "BOTH", "EITHER", "TRADE")
    r.take("NUM") if r.peek().text == "one" else None
    r.take("ON", "WHEN", "AT", "AFTER")
    if not r.take("OPPOSITE"):
        return False
    by_side = {entry.side: _cross(entry.when) for entry in said.entries}
    one, two = by_side["long"], by_side["short"]
    signal = "cross" not in r.peek(-1).text
    if not signal and (one is None or two is None):
        return False
    r.take("HAPPENS") or (r.take("MOVES") if r.peek().text in ("comes", "shows", "arrives") else None)
    if signal:  # the opposite signal is the other side's entry
        ends = {entry.side: entry.when for entry in said.entries}
        leaves: dict[Side, Condition] = {"long": ends["short"], "short": ends["long"]}
    else:
        assert one is not None and two is not None
        leaves = {"long": _turn(one), "short": _turn(two)}
    for side, when in leaves.items():
        said.left.add(side)
        said.exits.append(Exit(side=side, when=when))
    with r.trying() as attempt:
        if r.take("OR") and leave(r, said, None, verb=False):
            attempt.keep()
    return True


def _cross(when: Condition) -> Cross | None:
    parts = when.parts if isinstance(when, AllOf) else (when,)
    found = [part for part in parts if isinstance(part, Cross) and part.direction != "either"]
    return found[0] if len(found) == 1 else None


def _turn(cross: Cross) -> Cross:
    return replace(cross, direction="below" if cross.direction == "above" else "above")


def failed(r: Reader, said: Collected) -> bool:
    """Any of those fails => flat."""
    r.take("WHEN") if r.at("NO_LONGER", ahead=1) else None
    if r.entry is None or not r.take("NO_LONGER"):
        return False
    r.skip(",", "THEN", "COLON", "DASH")
    return leave(r, said, no_longer(r.entry))


def named_exits(r: Reader, said: Collected) -> bool:
    """… sell when RSI is above 70, in cash otherwise: as its exits have it, which it only says again."""
    if not said.exits or said.held or r.entry is None:
        return False
    own = set(lines_of(r.entry))
    again = any(own & set(lines_of(one.when)) for one in said.exits)
    if lasts(r.entry) and not is_dated(r.entry) and not again:
        raise r.ask(
            "otherwise in cash: also where the rule for the entry no longer holds?",
            ["sell when it no longer holds", "leave it out, where the exits are all"],
            r.i - 1,
        )
    return True


def _no_more_than_out(r: Reader, said: Collected) -> bool:
    """In cash the rest of the time, flat otherwise."""
    with r.trying() as attempt:
        r.take("IS")
        out = r.take("EQUITY") if r.peek().text == "cash" else r.take("EXIT") if r.peek().text in _OUT else None
        r.take("FOR", "DURING", "IN")
        if out is not None and r.take("OTHERWISE") and r.at(*CLAUSE_ENDS) and named_exits(r, said):
            attempt.keep()
            return True
    return False


def in_cash(r: Reader, said: Collected) -> bool:
    """Long above the 200-day average, cash below it."""
    if said.entries and _no_more_than_out(r, said):
        return True
    if not said.entries or r.peek().text != "cash" or not r.at("ABOVE", "BELOW", "WHEN", "OTHERWISE", ahead=1):
        return False
    r.take("EQUITY")
    return leave(r, said, None, verb=False)


def length(r: Reader, said: Collected) -> bool:
    """Period 14. Length: 20 bars. Said after the rules, of the one line that they use."""
    word = r.take("BAR", "LOOKBACK")
    if word is None or word.text.split()[0] not in ("period", "length", "lookback", "look", "periods", "window"):
        return False
    r.skip("IS", "COLON", "OF", "EQUALS", "FOR")
    number = r.take("NUM")
    if number is None or number.value != int(number.value) or number.value < 1:
        return False
    r.take(*UNITS)
    if not r.at(*CLAUSE_ENDS):
        return False
    said.length = int(number.value)
    return True


def with_length(made: Description, bars: int) -> Description | str:
    """The lines of `made` with the period that was said apart from them, where one was."""
    if not bars:
        return made
    asked = {line.name for line in lines_of(made) if len(KINDS[line.name].settings) == 1 and line.values}
    if len(asked) != 1:
        return f"a period of {bars} for which line? Say it beside its name"
    name = asked.pop()
    usual = usual_line(name).values
    if any(line.name == name and line.values not in (usual, (bars,)) for line in lines_of(made)):
        return f"a period of {bars}, and another beside its name: leave one of them out"
    return map_lines(made, lambda line: replace(line, values=(bars,)) if line.name == name else line)


def implied(r: Reader, said: Collected) -> bool:
    """XBI when RSI crosses above 50, sell when …: where it says when to sell and never to buy, that is the entry."""
    kinds = {token.kind for token in r.tokens}
    if r.i or not r.at("SYMBOL") or not r.at("WHEN", ahead=1) or "SELL" not in kinds:
        return False
    if kinds & {"BUY", "LONG", "SHORT", "HOLD", "INVEST", "DCA", "OTHERWISE", "ROTATE", "COVER"}:
        return False
    symbols(r, said)
    when = when_said(r, said)
    if when is None or not r.at("STOP_MARK", ",", "AND"):
        return False
    said.entries.append(Entry(side="long", when=when))
    r.entry = when
    return True
