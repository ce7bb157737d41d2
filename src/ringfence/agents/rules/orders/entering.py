"""Entries in English: buy GOOG when …, every Monday buy $100 of it, hold it while …, a 20/50 EMA crossover."""

from __future__ import annotations

from ringfence.agents.rules.conditions.arriving import at_edge
from ringfence.agents.rules.conditions.conditions import all_of, condition, meant, opposite
from ringfence.agents.rules.conditions.nominals import moved_so
from ringfence.agents.rules.conditions.subjectless import beside, side_rule
from ringfence.agents.rules.dates.calendar import DAYS, calendar, never_on
from ringfence.agents.rules.dates.schedules import at_hours, is_dated, is_season
from ringfence.agents.rules.dates.weekdays import on_their_days
from ringfence.agents.rules.measures.frames import frame
from ringfence.agents.rules.measures.settings import NAMES
from ringfence.agents.rules.orders.collected import Collected, of_symbols, whichever
from ringfence.agents.rules.orders.guards import guard
from ringfence.agents.rules.orders.lasting import after_bars, lasting
from ringfence.agents.rules.orders.leaving import if_unmet, leave
from ringfence.agents.rules.orders.opening import opening, side_of_verb
from ringfence.agents.rules.orders.permitted import any_that, mark, once_more, within_day
from ringfence.agents.rules.orders.remarks import marks
from ringfence.agents.rules.orders.sizes import sizing
from ringfence.agents.rules.plans.complements import no_longer
from ringfence.agents.rules.reader import Reader, period
from ringfence.trade.description.model import (
    AllOf,
    AnyOf,
    Change,
    Condition,
    Entry,
    EveryBars,
    Exit,
    FixedCash,
    FixedShares,
    InHours,
    Not,
    OnSchedule,
    OnWeekdays,
    PercentOfEquity,
)

# What goes on with a rule after a comma; a mere "if" there begins another.
_PROVISOS = (
    "provided", "provided that", "as long as", "so long as", "only if", "only when", "but only if", "but only when",
    "given that", "assuming", "unless", "only while", "but only while",
)  # fmt: skip
# What else may begin a rule that an order follows: first up close, out; down 3 days in a row: buy.
_HAPPENINGS = (
    "FIRST", "EVERY", "RISES", "FALLS", "INSIDE_DAY", "OUTSIDE_DAY", "GAP", "ABOVE", "BELOW", "CURRENT", "PREVIOUS",
    "BOTH", "EITHER", "IT", "RETURNS",
)  # fmt: skip


def _and_if(r: Reader, found: list[Condition]) -> Condition | None:
    """Buy on Mondays, if it is above its average."""
    if not found or not all(is_dated(part) for part in found) or not r.at(",") or not r.at("WHEN", ahead=1):
        return None
    with r.trying() as attempt:
        r.take(",")
        r.take("WHEN")
        made = condition(r)
        if made is not None and r.at("STOP_MARK", "END", "ON"):
            attempt.keep()
            return made
    return None


def when_said(r: Reader, said: Collected, *, leaving: bool = False, leading: bool = False) -> Condition | None:
    """when …, if …, on Mondays, every month, unless …; several of them are all asked for.

    `leading`: before a verb, where a comma may stand between a date and a condition: every Monday, if …, buy.
    """
    found: list[Condition] = []
    while True:
        with r.trying() as attempt:
            first = r.i
            if not leading and (also := _and_if(r, found)) is not None:
                found.append(also)
                attempt.keep()
                continue
            dated = bool(found) and all(is_dated(part) for part in found)
            if found and r.at(",") and (r.peek(1).text in _PROVISOS or (leading and dated and r.at("WHEN", ahead=1))):
                r.take(",")
            word = r.take("WHEN", "UNLESS", "UNTIL" if leaving else "WHEN")
            if word is None and r.at("ON", "AFTER", "UPON") and not found:
                part = moved_so(r) or calendar(r)
                if part is None and r.take("ON", "AFTER") and not r.at("WHEN", "ON", "AT", "BETWEEN"):
                    if r.at("EVERY") and not (r.at("CLOSE", ahead=1) and r.take("EVERY")):
                        break
                    part = condition(r, leaving=leaving)
            elif word is None:
                r.take(",") if found else None
                part = calendar(r) or never_on(r)
            elif r.take("OPPOSITE"):
                part = opposite(r, r.entry, first)
            elif r.it is None and r.at("ABOVE", "BELOW"):
                part = beside(r) or condition(r, leaving=leaving)  # if above the 150-day average then long
            else:
                part = condition(r, leaving=leaving)
            if part is None:
                break
            if word is not None and word.kind == "UNLESS":
                part = Not(part=part)
            attempt.keep()
            found.append(part)
    return all_of(found) if found else None


def _unless_so(r: Reader) -> Condition | None:
    """If not above the 150-day average then short."""
    if r.peek().text != "if not" or not r.at("ABOVE", "BELOW", *NAMES, ahead=1):
        return None
    r.take("OTHERWISE")
    made = side_rule(r) if r.at("ABOVE", "BELOW") else condition(r)
    return None if made is None else Not(part=made)


def prefixed(r: Reader, said: Collected) -> bool:
    """When RSI is below 30, buy. Every Monday buy $100 of GOOG."""
    only = r.at("ONLY") or "only" in r.peek().text.split()
    denied = r.at("NOT")  # no trades before 10:00, exit by 15:50
    goes_on = r.i > 1 and r.peek(-1).text == "and" and r.peek(-2).kind not in (",", "STOP_MARK", "COLON")
    when = _unless_so(r) or any_that(r, said) or when_said(r, said, leading=True)
    bare = when is None
    r.take("IS") if bare and r.at(*NAMES, "IT", ahead=1) else None  # is RSI below 30? Buy
    asked = r.i > 0 and (r.peek(-1).kind == "IS" or r.peek(-1).text in ("and if", "and when"))
    happens = bare and not asked and r.at(*_HAPPENINGS) and not _goes_on(r)
    if bare and (
        r.at("GOLDEN_CROSS", "DEATH_CROSS", *NAMES, "NUM", "SYMBOL", "BULLISH", "BEARISH", *_HAPPENINGS)
        or _goes_on(r)
        or (asked and r.at("IT"))
    ):
        bare_side = r.it is None and r.at("ABOVE", "BELOW") and r.peek().text not in ("higher", "lower")
        when = beside(r) if bare_side else condition(r)
        happens = happens and not bare_side  # above the 100-day EMA long
    unmarked = happens and not asked and not r.at(",", "COLON", "THEN", "STOP_MARK")
    if bare and goes_on and r.at(",") and r.at("WHEN", ahead=2):
        return False  # buy if … and ADX is over 25, short if …: of the rule before
    if when is None or (bare and not _ordered(r)) or unmarked:
        return False
    r.take("STOP_MARK") if bare and (r.peek().text == "?" or _order_apart(r)) else None
    r.skip(",", "THEN", "COLON", "DASH", "TO")
    if entry(r, said, when):
        r.lead = when if isinstance(when, (InHours, OnWeekdays)) else r.lead
        return True
    if denied or (only and isinstance(when, (InHours, OnWeekdays))):
        return False  # only from 9:45 to 15:30, close everything at 15:50: of the entries
    return leave(r, said, when) or _held(r, said, when)


def _held(r: Reader, said: Collected, when: Condition) -> bool:
    """When …, I want to own it: in when it is so, and out when it is not, where no exit is named."""
    first = r.i
    if not r.take("HOLD") or after_bars(r, held=True) is not None:
        return False
    _object(r, said, first)
    until = r.take("UNTIL") is not None  # when CCI goes above 100, hold it until it drops under 0
    if not until and not r.at("END", "STOP_MARK", ",", "AND", "USE"):
        return False
    said.entries.append(Entry(side="long", when=when))
    said.held += [when] if when not in said.held and not until else []
    r.entry = when
    return not until or (leave(r, said, None, verb=False) and _then_out(r))


def _ordered(r: Reader) -> bool:
    """RSI < 30: buy. RSI < 30 buy. RSI below 30, go long. RSI below 30? Buy."""
    mark = r.at(",") or (r.at("STOP_MARK") and (r.peek().text == "?" or _order_apart(r)))
    at = 1 if mark else 0
    at += 1 if mark and r.at("THEN", ahead=at) else 0
    return r.at("COLON", "THEN") or r.at("BUY", "SHORT", "LONG", "SELL", "EXIT", "COVER", ahead=at)


def _order_apart(r: Reader) -> bool:
    """Momentum turns positive; go long with 15 % of capital: an order that says no time of its own."""
    if r.peek().text not in (";", ".") or not r.at("BUY", "SHORT", "LONG", ahead=1):
        ended = r.at("END", "STOP_MARK", ahead=2)
        return r.peek().text == ";" and ended and r.at("SELL", "EXIT", "COVER", ahead=1)
    ahead = 2
    while not r.at("END", "STOP_MARK", ",", ahead=ahead):
        if r.at("WHEN", "ON", "EVERY", "UNLESS", "AFTER", "ABOVE", "BELOW", "AT", "IN", "CROSS", *NAMES, ahead=ahead):
            return False
        ahead += 1
    return True


def _goes_on(r: Reader) -> bool:
    """… flips to red -> sell: of the line that was named before."""
    return r.it is not None and r.at("TURNS", "MOVES", "RISES", "FALLS", "CROSS", "ABOVE", "BELOW", "BETWEEN")


def _object(r: Reader, said: Collected, first: int) -> bool:
    """What may stand between the verb and its condition, in any order: how much, of what, how guarded."""
    read = False
    while True:
        with r.trying() as attempt:
            if read:
                r.skip("AND", "BY")
            # "buy when it drops 5 %" must not end up as a size: a bare percentage is one after a verb that spends.
            spends = r.peek(-1).kind == "INVEST" and not r.peek(-1).text.startswith(("take", "taking"))
            made = sizing(r, spoken=r.take("USE") is not None or spends)
            if made is not None:
                said.size(r, made, first)
            elif (
                lasting(r, said, first)
                or of_symbols(r, said)
                or frame(r, bare=r.i > 0 and r.peek(-1).kind == "SYMBOL" and r.at("NUM"))
                or _alone(r, said)
                or whichever(r, said)
                or (read and _set_off(r, said, first))
                or (r.at("TRADE", "IS", "ABOVE", "BELOW", ahead=1) and r.take("EITHER"))  # any of them trading above …
                or r.take("IT", "POSITION", "LONG", "STOCKS", "SHARES", "NEXT_OPEN", "EQUALLY", "PER_TRADE")
                or (
                    r.peek(-1).kind != "COLON" and not r.at("MOVES", "ABOVE", "BELOW", ahead=1) and r.take("PRICE")
                )  # short: price below …, RSI above …
                or (not r.at("SYMBOL", "COLON", ahead=1) and r.take("TRADE"))
                or (r.peek().text == "each" and r.at("WHEN", ahead=1) and r.take("EVERY"))  # buy each when …
                or (r.at("MONEY", "NUM", ahead=1) and once_more(r, said))
                or within_day(r)
                or (r.at("STOP", "TARGET", "TRAIL", "NUM", "ATR", "TIME_STOP") and guard(r, said.guards))
            ):
                pass
            else:
                break
            attempt.keep()
            read = True
    return read


def entry(r: Reader, said: Collected, before: Condition | None = None) -> bool:
    first = r.i
    verb = opening(r, said, first)
    if verb is None:
        return False
    r.take("COLON", "WHEN") if r.at("COLON") else None
    side = side_of_verb(verb, said)
    if verb.kind == "BUY" and r.take("SHORT"):
        side = "short"
    sized, named, guarded = said.sizing, r.i, said.guards.made()
    titled = verb.text.endswith(("entries", "entry", "signal", "trades"))  # long entries happen on …
    r.take("HAPPENS") if titled else None
    _object(r, said, first)
    priced = r.at("MONEY", ahead=1) or (r.at("NUM", ahead=1) and r.at("DOLLARS", ahead=2))
    if r.at(",", "COLON") and said.sizing is None and priced:
        r.take(",", "COLON")  # DCA into VTI, $100 every week
        _object(r, said, first)
    if r.it is not None and r.it.symbol and any(token.kind == "SYMBOL" for token in r.tokens[named : r.i]):
        r.it = r.right = None  # trade only when SPY …. Buy NVDA when it …: what is bought
    if before is not None and sized is said.sizing and r.at("DAILY"):
        frame(r, bare=True)  # RSI < 30 -> buy BNB daily
    when = when_said(r, said)
    hung = guarded != said.guards.made() and r.at("ABOVE", "BELOW")  # with a stop below the low is no rule of the entry
    apart = first > 0 and r.peek(first - 1 - r.i).kind in ("COLON", ",")  # above its 200-day average, buy RSI < 10
    if when is None and (before is None or (apart and r.at(*NAMES))) and not hung:
        when = _bare_rule(r)
        when = meant(r, when) if when is not None else None
    _object(r, said, first)
    r.take(",") if (before or when) and r.peek(1).text in _PROVISOS else None  # every week put …, provided …
    after = r.at("AFTER") and when is not None and not is_dated(when)
    late = when_said(r, said)
    if after and late is not None and not is_dated(late):
        raise r.ask("how long before may that have been?", ["it closes up after 3 down days"], r.i - 1)
    r.take("ONLY") if r.at("STOP_MARK", "END", ",", ahead=1) and r.peek(-1).kind in ("TIME", *DAYS) else None
    parts = [part for part in (before, when, late) if part is not None]
    if not parts:
        if verb.kind == "INVEST" or not r.at("END", "STOP_MARK", ",", "AND", "USE"):
            return verb.kind == "INVEST" and said.sizing is not None  # it may say when, in words that were not read
        raise r.ask(
            f"when should it {'sell short' if side == 'short' else 'buy'}?",
            ["buy when RSI drops below 30", "buy every Monday", "buy and hold GOOG"],
            first,
        )
    made = at_hours(r, on_their_days(r, parts, first))
    timed = any(isinstance(part, (InHours, OnWeekdays, OnSchedule)) for part in getattr(made, "parts", (made,)))
    if before is None and r.lead is not None and not timed:
        made = all_of([r.lead, made])  # after 10:30 I buy if …, and I short if …
    if isinstance(made, OnWeekdays) and sized is not said.sizing:  # $100 on Mondays: once, whatever the bars are
        each = tuple(OnSchedule(every="week", on=day) for day in made.days)
        made = each[0] if len(each) == 1 else AnyOf(parts=each)
    said.entries.append(Entry(side=side, when=made))
    mark(r, said, verb, first)
    said.adds = said.adds or _contributes(verb.kind, made, said) or _gathers(verb.text, said)
    if verb.text in (side, f"be {side}", f"stay {side}") and is_season(made):
        said.held.append(made)  # long in every month but September: and out in September
    said.headlines += said.entries[-1:] if r.at("COLON") else []
    r.entry = made
    return True


def _bare_rule(r: Reader) -> Condition | None:
    """buy RSI < 30, long above the average, short at the upper band: without a when."""
    r.skip("COLON", "IS", "AT", "HAPPENS")
    if (touched := at_edge(r)) is not None:
        return touched
    if r.at("RISES", "FALLS"):
        return _moved(r)
    if r.at("ABOVE", "BELOW"):
        return beside(r)
    return None if r.at("IT", "NOT") else condition(r)


def _contributes(verb: str, when: Condition, said: Collected) -> bool:
    """put 5 % of the equity in NVDA every week: more each time, as a fixed sum would be."""
    parts = when.parts if isinstance(when, AllOf) else (when,)
    dated = any(isinstance(part, (OnSchedule, EveryBars)) for part in parts)
    return verb in ("INVEST", "DCA") and isinstance(said.sizing, PercentOfEquity) and dated


def _gathers(verb: str, said: Collected) -> bool:
    """accumulate 10 shares whenever …: more each time."""
    return verb.startswith("accumulat") and isinstance(said.sizing, (FixedCash, FixedShares))


def _set_off(r: Reader, said: Collected, first: int) -> bool:
    """buy KO, $5,000 a time, whenever …; buy KO (100 shares) when …: a size between commas or in brackets."""
    with r.trying() as attempt:
        mark = r.take(",", "(") if said.sizing is None else None
        made = sizing(r) if mark is not None else None
        if made is None or mark is None or (not r.take(")") and mark.kind == "("):
            return False
        r.take(",")
        if not r.at("WHEN", "ON", "EVERY", "AFTER"):
            return False
        attempt.keep()
        return said.size(r, made, first)


def _alone(r: Reader, said: Collected) -> bool:
    """buy if I have none."""
    with r.trying() as attempt:
        r.take("WHEN")
        if r.take("ONE_POSITION"):
            r.single = True
            said.remarks |= marks(r.peek(-1).text)
            attempt.keep()
            return True
    return False


def _moved(r: Reader) -> Condition | None:
    """buy a stock that gained 15 % in 3 months."""
    with r.trying() as attempt:
        made = condition(r)
        if isinstance(made, Change):
            attempt.keep()
            return made
    return None


def _then_out(r: Reader) -> bool:
    """hold it until RSI is above 70, then sell: as it is anyway."""
    with r.trying() as attempt:
        r.take(",")
        if r.take("THEN", "AND") and r.take("SELL", "EXIT", "COVER") and r.at("END", "STOP_MARK"):
            attempt.keep()
    return True


def hold(r: Reader, said: Collected) -> bool:
    """hold for 10 days, hold until RSI is above 70."""
    first = r.i
    r.take("ONLY")
    if r.take_all("NOT", "HOLD"):  # never hold it longer than 30 days
        r.skip("IT", "POSITION", "FOR")
        bars = period(r) if r.take("ABOVE") else None
        return bars is not None and said.guards.set(r, "time_stop_bars", bars, first)
    sold = any(entry.side == "short" for entry in said.entries)
    staying = sold and r.at("SHORT") and r.peek().text.startswith(("hold", "stay", "remain", "keep", "held"))
    if not r.take("HOLD") and not (staying and r.at("UNTIL", "FOR", ahead=1) and r.take("SHORT")):
        return False
    r.skip("IT", "POSITION", "EVERY_SYMBOL")
    r.take("EITHER", "EVERY", "BOTH") if r.at("FOR", "UNTIL", ahead=1) else None  # hold either for 3 days
    bars = after_bars(r, held=True)
    if bars is not None:
        if_unmet(r, said, first)
        if r.at("OR") and r.at("UNTIL", "WHEN", ahead=1):
            r.take("OR")
            r.take("UNTIL")  # for 10 days or until RSI is above 70
            return leave(r, said, None, verb=False) and said.guards.set(r, "time_stop_bars", bars, first)
        return said.guards.set(r, "time_stop_bars", bars, first)
    if r.take("UNTIL"):
        return leave(r, said, None, verb=False) and _then_out(r)
    _object(r, said, first)
    when = when_said(r, said)
    if when is None:
        return False
    if said.entries and not said.held and all(one.side == "long" for one in said.entries):
        said.exits.append(Exit(side="long", when=no_longer(when)))  # bought when …, and held while …
        return True
    said.entries.append(Entry(side="long", when=when))  # own it while …: in when it is so, out when it is not
    said.held.append(when)
    r.entry = when
    return True
