"""When a position may be opened, and whose exit is meant, where a clause leaves its verb out.

New positions only between 8:00 and 16:00. Only take signals on Tuesdays. Exit longs at the 10-day low and shorts at
the 10-day high.
"""

from __future__ import annotations

from itertools import pairwise

from ringfence.agents.rules.conditions.conditions import condition
from ringfence.agents.rules.dates.calendar import calendar
from ringfence.agents.rules.dates.day_end import only_dated
from ringfence.agents.rules.orders.collected import Collected, whichever
from ringfence.agents.rules.orders.exit_rules import at_line, rule
from ringfence.agents.rules.orders.opening import names_side
from ringfence.agents.rules.plans.complements import lasts
from ringfence.agents.rules.reader import CLAUSE_ENDS, Reader
from ringfence.agents.rules.text.tokens import Token
from ringfence.trade.description.model import Condition, Exit, InHours, Side

_NOUNS = ("entries", "trades", "positions", "signals", "new positions", "buy signals", "orders", "setups")
_OPENING = ("IS", "MAY", "ALLOWED", "OPENED", "INVEST", "BUY", "HAPPENS", "TRADE", "POSITION")

# Words of being in a position, and of how long it lasts.
_STATES = ("long", "short", "be", "is", "being", "stay", "remain", "keep", "hold", "staying", "stays")
WHILE = ("while", "as long as", "so long as", "whilst", "during periods when", "in periods when", "during times when")


def allowed_at(r: Reader, said: Collected) -> bool:
    """Entries only from 9:45 to 15:00; trades may be opened from Monday to Thursday only: asked of every entry."""
    only = r.take("ONLY") is not None
    r.take("INVEST") if r.peek().text in ("take", "taking", "accept", "open") else None
    r.take("BUY") if r.peek().text in ("open", "enter") else None
    r.skip("NEW", "TRADE")
    noun = r.peek()
    if noun.text not in _NOUNS or not r.take(noun.kind):
        return False
    while not only and r.at(*_OPENING):
        r.take(*_OPENING)
    only = only or r.at("ONLY", "DURING")
    r.take("ONLY") if not r.at("TIME", "DURING", ahead=1) else None
    r.skip("IS", "ALLOWED", "OPENED", "INVEST")
    allowed = r.peek(-1).kind in ("ALLOWED", "OPENED", "INVEST")
    made = calendar(r)
    only = only or r.take("ONLY") is not None
    if made is None or not (only or allowed) or not only_dated(made) or not r.at(*CLAUSE_ENDS):
        return False
    said.filters.append(made)
    return True


def other_exit(r: Reader, said: Collected) -> bool:
    """… and shorts at the 10-day high, after "exit longs at the 10-day low"."""
    named = r.take("SHORT", "LONG") or (r.take("BUY") if r.peek().text in ("longs on", "long on") else None)
    ended = _just_left(r)
    if named is None or ended is None or not (named.kind == "BUY" or r.at("AT", "WHEN", "ON", "AFTER")):
        return False
    side: Side = "short" if named.kind == "SHORT" else "long"
    plural = any(word in ("longs", "shorts", "positions", "trades") for word in named.text.split())
    if side == ended or not (plural or any(one.side == side for one in said.entries)):
        return False
    made = rule(r, bare=named.kind == "BUY") or at_line(r, side)
    if made is None or not r.at(*CLAUSE_ENDS):
        return False
    said.exits.append(Exit(side=side, when=made))
    said.left.add(side)
    return True


def _just_left(r: Reader) -> Side | None:
    """The side that the exit before, in the same sentence, has named."""
    n = r.i - 2
    if n < 0 or r.tokens[n].kind not in ("AND", ","):
        return None
    while n >= 0 and r.tokens[n].kind != "STOP_MARK":
        token, words = r.tokens[n], r.tokens[n].text.split()
        if token.kind in ("BUY", "SELL", "SHORT", "LONG"):
            leaving = n > 0 and r.tokens[n - 1].kind == "EXIT"
            return ("short" if token.kind == "SHORT" else "long") if leaving and token.kind != "BUY" else None
        if token.kind in ("EXIT", "COVER"):
            plural = [word for word in words if word.rstrip("s") in ("long", "short")]
            return ("short" if plural[-1].startswith("short") else "long") if plural else None
        n -= 1
    return None


def _is_state(r: Reader, verb: Token, first: int) -> bool:
    """long as long as …, short only while …, long unless …: in while it is so, out while it is not, and no order."""
    words = verb.text.split()
    if words[-1] not in ("long", "longs", "short") or words[0] not in _STATES:
        return False
    begin = first
    while begin > 0 and r.tokens[begin - 1].kind != "STOP_MARK":
        begin -= 1
    if any(token.kind in ("ON", "AFTER", "AT") for token in r.tokens[first : r.i]):
        return False  # short it on a close below … as long as …: an order
    told = [token for token in r.tokens[begin : r.i] if token.kind in ("WHEN", "UNLESS")]
    return bool(told) and all(token.kind == "UNLESS" or token.text.endswith(WHILE) for token in told)


def mark(r: Reader, said: Collected, verb: Token, first: int) -> None:
    """What the words of the last entry say besides: only at these hours, only while it is so."""
    made = said.entries[-1]
    words = r.tokens[first : r.i]
    if only_dated(made.when) and (verb.text.endswith("entries") or any("only" in one.text.split() for one in words)):
        said.dated.append((made, names_side(verb)))
    elif isinstance(made.when, InHours) and not any(token.kind == "TIME_IS" for token in words):
        said.by_clock.append(made)
    if _is_state(r, verb, first) and lasts(made.when):
        said.held.append(made.when)


def within_day(r: Reader) -> bool:
    """short QQQ intraday: where a time is named at which it is out."""
    timed = any(a.kind in ("AT", "BY") and b.kind == "TIME" for a, b in pairwise(r.tokens[r.i :]))
    return timed and r.take("INTRADAY") is not None


def any_that(r: Reader, said: Collected) -> Condition | None:
    """Any of AAPL and MSFT that closes below its lower band gets bought: each of them, by its own."""
    with r.trying() as attempt:
        if not r.at("EITHER") or not r.at("SYMBOL", ahead=1) or not whichever(r, said):
            return None
        made = condition(r)
        if made is not None and r.at("THEN", ",", "BUY", "SHORT"):
            attempt.keep()
            return made
    return None


def once_more(r: Reader, said: Collected) -> bool:
    """buy another $1,000 of it: although it holds some."""
    said.adds = r.take("ANOTHER") is not None or said.adds
    return r.peek(-1).kind == "ANOTHER"


def add_each(r: Reader, said: Collected) -> bool:
    """Add to the position each time."""
    if not r.take("ADD_EACH"):
        return False
    said.adds = True
    return True


def nothing_else(r: Reader, said: Collected) -> bool:
    """Be long when …, otherwise nothing: out then, where nothing else ends it. Buy …; otherwise do nothing: no rule."""
    if not r.take("NOTHING"):
        return False
    ends = ("SELL", "EXIT", "COVER", "STOP", "TARGET", "TRAIL", "TIME_STOP", "UNTIL", "AFTER")
    ended = any(token.kind in ends for token in r.tokens) or r.entry in said.held
    if r.entry is not None and lasts(r.entry) and not ended:
        said.held.append(r.entry)
    return True
