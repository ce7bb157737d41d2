"""Statements of a strategy of rules: what to do, of what, how much, when, and how it is guarded, in any order."""

from __future__ import annotations

from collections.abc import Callable

from ringfence.agents.rules.conditions.conditions import all_of, condition
from ringfence.agents.rules.dates.calendar import hours, never_on
from ringfence.agents.rules.dates.weekdays import on_their_days
from ringfence.agents.rules.measures.frames import frame
from ringfence.agents.rules.measures.lines import line
from ringfence.agents.rules.measures.settings import BANDS
from ringfence.agents.rules.orders.both_ways import closed
from ringfence.agents.rules.orders.break_even import break_even
from ringfence.agents.rules.orders.breakouts import breakout, broken_out, channel
from ringfence.agents.rules.orders.collected import SEPARATORS, Collected, symbols
from ringfence.agents.rules.orders.crossovers import crossover, golden
from ringfence.agents.rules.orders.entering import entry, hold, prefixed, when_said
from ringfence.agents.rules.orders.exit_rules import limited
from ringfence.agents.rules.orders.guards import guard
from ringfence.agents.rules.orders.headings import heading, usual_settings
from ringfence.agents.rules.orders.lasting import after_bars, listed_bars
from ringfence.agents.rules.orders.leaving import leave, reason_first
from ringfence.agents.rules.orders.opening import names_side
from ringfence.agents.rules.orders.parting import next_part
from ringfence.agents.rules.orders.permitted import add_each, allowed_at, nothing_else, other_exit
from ringfence.agents.rules.orders.remarks import half_day, marks, one_for_each, so_anyway, without_guards
from ringfence.agents.rules.orders.shared_out import saved, sums
from ringfence.agents.rules.orders.sides import in_neither, mirrors, opposed, otherwise_short, remark, sided_filter
from ringfence.agents.rules.orders.size_led import size_led
from ringfence.agents.rules.orders.sizes import no_more_than_all, sizing
from ringfence.agents.rules.orders.stances import always_unless, filter_named, flips, must_be, none_after, unled, versus
from ringfence.agents.rules.orders.wording import (
    failed,
    implied,
    in_cash,
    length,
    named_exits,
    only_then,
    stopped,
    swung,
    turned,
    unhit,
    waited,
)
from ringfence.agents.rules.plans.complements import lasts, no_longer
from ringfence.agents.rules.reader import Reader
from ringfence.trade.description.model import AllOf, Compare, Condition, Cross, Entry, Exit, Guards, Line, Not

_ORDERS = ("DASH", "THEN", "GOLDEN_CROSS", "BUY", "LONG", "SHORT", "ALWAYS_IN")  # SOXL - buy when …, XLE long if …
_SIDES = ("on both sides", "for both sides", "for both directions", "on either side", "for either side", "on each side")


def statements(r: Reader) -> Collected | None:
    """All of them up to the end of the text, or None where one cannot be read."""
    said = Collected()
    while True:
        begin = r.i
        r.skip(*SEPARATORS)
        if any(token.kind == "STOP_MARK" and token.text != ";" for token in r.tokens[begin : r.i]):
            r.lead = None
        if r.at("END"):
            return said
        first, exits, guards = r.i, len(said.exits), said.guards.made()
        entered, named = len(said.entries), len(said.symbols)
        asked = len(said.filters) + len(said.sided)
        _traded_again(r)
        if not statement(r, said) or r.i == first:
            return None
        left = (len(said.exits), said.guards.made()) != (exits, guards)
        if left and (r.at("WHEN", "UNLESS") or limited(r, first)):
            return None  # exit after 5 days if …: a proviso of the exit begins no rule of its own
        if 0 < entered < len(said.entries) and 0 < named < len(said.symbols):
            raise r.ask("one rule for one instrument, and another for another", ["write a strategy for each"], first)
        if len(said.filters) + len(said.sided) > asked and r.peek(1).text == "if" and r.at(",", ahead=4):
            r.take_all("STOP_MARK", "WHEN", "IT", "IS")  # don't trade unless …. If it is, buy …


def _traded_again(r: Reader) -> None:
    """buy AAPL when it is above its average as long as SPY is, and sell when it is below: it is AAPL again."""
    if r.it is None or r.it.symbol in ("", *r.traded):
        return
    for part in r.entry.parts if isinstance(r.entry, AllOf) else ():
        if isinstance(part, (Compare, Cross)) and isinstance(part.left, Line) and part.left.symbol in ("", *r.traded):
            r.it, r.right = part.left, part.right if isinstance(part.right, Line) else None


def statement(r: Reader, said: Collected) -> bool:
    readers: tuple[Callable[[Reader, Collected], bool], ...] = (
        sums, other_exit, allowed_at, implied, half_day, next_part, break_even,
        sided_filter, filter_named, in_neither, none_after, always_unless, flips, remark, _remark, usual_settings,
        channel, _context, versus, unhit, waited, reason_first, heading, mirrors, opposed, otherwise_short, _universe,
        length, crossover, prefixed, _bought, entry, size_led, saved, add_each, _tool, turned, stopped, swung, failed,
        in_cash, closed, _exit, hold, only_then, _filter, _otherwise, golden, breakout, broken_out,
        lambda r, _: frame(r, bare=True), _contrast, unled, must_be,
    )  # fmt: skip
    before = said.copy()
    for read in readers:
        with r.trying() as attempt:
            if read(r, said):
                attempt.keep()
                return True
        said.become(before.copy())
    return False


def _remark(r: Reader, said: Collected) -> bool:
    """Long only. Never sell. One position at a time. What is so anyway, or must not be contradicted."""
    if r.take("LONG_ONLY") or r.take_all("NOT", "SHORT"):
        said.long_only = True
    elif r.take_all("MOMENTUM", "COLON"):
        pass
    elif r.at("NOT") and r.at("SELL", "EXIT", "COVER", ahead=1) and r.at("UNTIL", "BEFORE", "WHEN", ahead=2):
        return False  # don't sell until …
    elif r.take_all("NOT", "SELL") or r.take_all("HOLD", "FOREVER") or r.take_all("NOT", "EXIT"):
        said.kept = True
    elif r.at("HOLD") and r.at("END", "STOP_MARK", ahead=1) and said.entries and not said.exits and r.take("HOLD"):
        said.kept = True  # … every quarter, and keep them
    elif r.take("ALWAYS_IN"):
        said.always_in = True
    elif r.take("NO_LEVERAGE") or so_anyway(r, said) or no_more_than_all(r) or one_for_each(r, said):
        pass
    elif r.take("ONE_POSITION"):
        r.single = True
        said.remarks |= marks(r.peek(-1).text)
    elif r.at("NEXT_OPEN", "DEFAULTS") and r.at("END", "STOP_MARK", ",", "AND", ahead=1):
        r.take("NEXT_OPEN", "DEFAULTS")  # as it is anyway
    elif r.take("NO_OTHER_EXIT") or r.take_all("IS", "NO_OTHER_EXIT") or without_guards(r, said):
        pass
    elif (r.peek().text not in _SIDES and r.take("INDEPENDENTLY", "SAME_RULES")) or _either_way(r, said):
        pass  # each instrument has a position of its own anyway
    elif r.take("STOP_HIT"):
        said.stop_hit = True
    elif r.take("NO_OVERNIGHT"):
        said.within_day = True
    else:
        return r.at("(") and _bracketed(r, said)
    return True


def _either_way(r: Reader, said: Collected) -> bool:
    """In both directions: so it must be."""
    return bool(
        r.at("END", "STOP_MARK", ",", "COLON", ahead=1)
        and (r.at("EITHER_WAY") or r.peek().text in _SIDES)
        and (len({one.side for one in said.entries}) == 2 or _announced(said))
        and r.take("EITHER_WAY", "INDEPENDENTLY", "BOTH_CASES")
    )


def _announced(said: Collected) -> bool:
    """EURUSD, both directions. … What must then be so."""
    said.two_sided = said.two_sided or not said.entries
    return not said.entries


def _bracketed(r: Reader, said: Collected) -> bool:
    """(long only), (5 % stop): a statement in brackets."""
    r.take("(")
    return statement(r, said) and r.take(")") is not None


_NAMED_GUARDS = {"STOP": "stop", "TARGET": "target", "TRAIL": "trail", "TIME_STOP": "time_stop_bars"}


def _context(r: Reader, said: Collected) -> bool:
    """Use the 20-day Donchian channel: what "the upper channel" will mean. QQQ with a stop: which must follow."""
    if r.at("USE") and r.at("STOP", "TARGET", "TRAIL", "TIME_STOP", ahead=1) and r.at("COLON", ahead=2):
        r.take("USE")
        named = r.take("STOP", "TARGET", "TRAIL", "TIME_STOP")
        said.promised.add(_NAMED_GUARDS[named.kind] if named is not None else "")
        return not said.entries
    with r.trying() as attempt:
        r.take("USE")
        made = line(r, side="above")
        if made is not None and made.name in BANDS.values() and r.at("COLON", "STOP_MARK", ","):
            attempt.keep()
            r.right = made
            return True
    return False


def _universe(r: Reader, said: Collected) -> bool:
    """Trade AAPL and MSFT. For GOOG: …  $TSLA, …  Trade these five with 20 % of capital each: …  SPY only."""
    first = r.i
    if r.at("INVEST") and r.at("IN", "ON", "OF", ahead=1) and r.at("SYMBOL", ahead=2) and r.at("COLON", ahead=3):
        r.take("INVEST")  # I'd like to invest in NFLX: …
    if r.peek().text == "take" and r.at("SYMBOL", ahead=1) and r.at("STOP_MARK", "COLON", ahead=2):
        r.take("INVEST")  # take AAPL. …
    verb = r.take("TRADE", "FOR", "ON", "USE", "IN") or (
        r.take("PRICE", "STOCKS", "TARGET") if r.at("COLON", "IS", ahead=1) and r.at("SYMBOL", ahead=2) else None
    )
    r.take("IS") if r.at("SYMBOL", ahead=1) else None
    if verb is None:
        if not symbols(r, said):
            return False
        only = frame(r, bare=True) or r.take("ONLY") is not None
        return only or r.take("COLON") is not None or r.at("STOP_MARK", "END", ",", *_ORDERS) or _goes_on(r, said)
    count = r.take("NUM") if verb.kind == "TRADE" else None
    r.take("ONLY") if r.at("SYMBOL", ahead=1) else None
    r.skip("STOCKS", "INDEPENDENTLY")
    r.take("USE")
    made = sizing(r)
    if made is not None:
        said.size(r, made, first)
        r.skip("EVERY", "PER_TRADE")
    r.take("COLON")
    if not symbols(r, said) or r.at("IS", "CROSS", "RISES", "FALLS", "ABOVE", "BELOW"):
        return False
    r.skip("ONLY", "INDEPENDENTLY")
    frame(r, bare=True)
    if count is not None and count.value != len(said.symbols):
        raise r.ask(f"it says {count.text}, and names {len(said.symbols)}", ["name each of them"], first)
    return True


def _goes_on(r: Reader, said: Collected) -> bool:
    """TSLA supertrend 10,3. … PLTR: breakout above …"""
    with r.trying() as attempt:
        if r.peek().text in ("breakout", "breakouts") or heading(r, said):
            attempt.keep() if r.peek(-1).kind != "SYMBOL" else None
            return True
    return False


def _exit(r: Reader, said: Collected) -> bool:
    if r.at("IS") and r.at("EXIT", ahead=1):
        r.take("IS")  # and being in cash otherwise
    r.take("ONLY") if r.at("SELL", "EXIT", "COVER", ahead=1) else None  # only sell when …
    return leave(r, said, None)


def _contrast(r: Reader, said: Collected) -> bool:
    """… instead of the death cross: a rule that is named as one that does not count."""
    if not r.take("INSTEAD"):
        return False
    made = condition(r)
    ruled = [*(one.when for one in said.entries), *(one.when for one in said.exits)]
    return made is not None and made not in ruled


def _otherwise(r: Reader, said: Collected) -> bool:
    """else be in cash; otherwise do nothing."""
    if not r.take("OTHERWISE"):
        return False
    r.take(",")
    if nothing_else(r, said):
        return True
    if r.at("HOLD") and (said.exits or said.guards.made() != Guards()):
        r.take("HOLD")  # sell when …, otherwise hold
        r.skip("IT", "POSITION")
        return r.at("END", "STOP_MARK", ",")
    guarded = said.guards.made() != Guards() and r.peek(-2).kind == ","
    if r.at("EXIT", "SELL", "COVER") and (r.at("AFTER", "IN", ahead=1) or (guarded and r.at("WHEN", "ON", ahead=1))):
        return leave(r, said, None)  # otherwise out after 10 days; stop 5 %, otherwise out when …
    if r.take_all("NOT", "BUY"):  # otherwise no buying this month
        r.skip("IN", "CURRENT", "MONTH", "WEEK", "DAY", "QUARTER")
        return r.at("END", "STOP_MARK", ",")
    if said.filters and not said.entries and r.at("BUY", "SHORT", "LONG", "WHEN"):
        return entry(r, said) or prefixed(r, said)  # do not trade if … Otherwise buy …
    if r.at("WHEN") and r.entry is not None:
        return _else_if(r, said, r.entry)
    r.take("IS", "IN", "HOLD")
    out = r.take("EXIT", "SELL", "EQUITY", "NO_POSITION") or (
        r.take("ONE_POSITION") if r.peek().text == "no position" else None
    )
    if r.entry is None or out is None:
        return False
    r.skip("IT", "POSITION", "OTHERWISE")
    sides = {one.side for one in said.entries} or {"long"}
    if named_exits(r, said) or (said.exits and not lasts(r.entry)):
        return True  # after a cross, until the exit that was named
    if len(sides) == 1:
        said.exits.append(Exit(side="long", when=no_longer(r.entry)))
        return True
    for side in ("long", "short"):  # each by its own
        said.exits += [Exit(side=side, when=no_longer(one.when)) for one in said.entries if one.side == side]
    return sum(one.side == "long" for one in said.entries) == len(said.entries) - 1 == 1


def _else_if(r: Reader, said: Collected, entry: Condition) -> bool:
    """If … then buy, else if … then sell: where the first does not hold."""
    made = when_said(r, said)
    r.skip(",", "THEN", "COLON")
    return made is not None and leave(r, said, all_of([made, Not(part=entry)]))


def _tool(r: Reader, said: Collected) -> bool:
    """Use a 5 % stop. Risk 1 % per trade. With 20 % of the equity."""
    first = r.i
    made = sizing(r, spoken=True, whole=True)
    if made is not None:
        with r.trying() as attempt:
            if r.take("IN", "OF", "ON", "FOR") and symbols(r, said):
                attempt.keep()
        r.skip("PER_TRADE")
        return said.size(r, made, first)
    _given_to(r)
    r.skip("USE", "INVEST", "ALSO", "ON")
    r.take("PER_TRADE") or (r.take("BOTH", "EVERY") if len({one.side for one in said.entries}) == 2 else None)
    r.take("MOVES") if r.peek().text in ("gets", "get") else None  # each trade gets a 2 % stop
    r.take("USE")
    r.take("EQUITY") if r.at("EQUALLY", ahead=1) else None  # split the money equally
    if r.take("EQUALLY"):
        return True
    r.take("EITHER")
    return guard(r, said.guards) and _or_guard(r, said)


def _or_guard(r: Reader, said: Collected) -> bool:
    """… or a 10 % target, or 10 days: whichever it is, it ends the trade."""
    while r.at("OR") or (r.at(",") and r.at("OR", ahead=1)):
        first = r.i
        with r.trying() as attempt:
            r.take(",")
            r.take("OR")
            bars = after_bars(r) or listed_bars(r)
            if not (said.guards.set(r, "time_stop_bars", bars, first) if bars else guard(r, said.guards)):
                break
            attempt.keep()
    return True


def _given_to(r: Reader) -> None:
    """Give it a 5 % stop. Each trade gets a 5 % stop. Both have a 4 % stop. Keep a 10 % stop."""
    with r.trying() as attempt:
        r.skip("PER_TRADE", "IT", "BOTH", "POSITION", "EVERY_SYMBOL", "TRADE", "BOTH_CASES")
        r.skip("USE", "MOVES", "HOLD", "IS", "ITS")
        if any(r.at("STOP", "TARGET", "TRAIL", ahead=n) for n in range(5)) and r.at(
            "NUM", "STOP", "TARGET", "TRAIL", "ATR"
        ):
            attempt.keep()


def _bought(r: Reader, said: Collected) -> bool:
    """I buy 100 shares each time: how much, and not when."""
    made = sizing(r, whole=True) if r.at("BUY", "ALL_TIME") else None
    return made is not None and said.size(r, made, r.i)


def _not_when(r: Reader, said: Collected) -> Condition | None:
    """Don't buy if volume is low."""
    with r.trying() as attempt:
        if (
            r.take("NOT")
            and r.take("BUY", "TRADE")
            and (r.at("WHEN", "UNLESS") or symbols(r, said))
            and r.at("WHEN", "UNLESS")
        ):
            allowed = r.at("UNLESS") and r.take("UNLESS") is not None  # don't trade unless …
            made = condition(r) if allowed else when_said(r, said)
            if made is not None:
                attempt.keep()
                return made if allowed else Not(part=made)
    return None


def _filter(r: Reader, said: Collected) -> bool:
    """Only trade when ADX is above 25. No trades on Fridays. Only between 10:00 and 15:30."""
    with r.trying() as attempt:
        timed = hours(r)
        if timed is not None and r.take("ONLY"):  # between 10:00 and 15:00 only
            attempt.keep()
            said.filters.append(timed)
            return True
    made = never_on(r) or _not_when(r, said)
    if made is None:
        only = r.take("ONLY")
        verb = r.take("TRADE", "BUY", "LONG", "SHORT")
        r.take("BUY") if r.peek().text == "entries" else None  # only trade entries from 8:00 to 16:00
        only = r.take("ONLY") or only
        if only is None and verb is None:
            return False
        plain = verb is None or verb.kind == "TRADE" or verb.text in ("entries", "entry", "new entries")
        if verb is not None and verb.kind != "TRADE" and not only:
            return False
        sides = {"SHORT": "long", "BUY": "short", "LONG": "short"}
        other = sides.get(verb.kind) if verb is not None and not plain and names_side(verb) else None
        if any(one.side == other for one in said.entries):
            return False  # only short if …: of one side
        if only is not None and verb is not None and r.at("SYMBOL") and not symbols(r, said):
            return False
        made = when_said(r, said)
        if made is None:
            return False
        if only is not None and verb is not None and not plain:
            made = on_their_days(r, [made], r.i - 1)
            said.ordered.append(Entry(side="short" if verb.kind == "SHORT" else "long", when=made))
    said.filters.append(made)
    return True
