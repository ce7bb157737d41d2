"""From words to a description: which kind of strategy it is, its statements, and whether they make a whole."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from ringfence.agents.rules.conditions.mirror import symmetric
from ringfence.agents.rules.dates.day_end import out_by
from ringfence.agents.rules.dates.daynames import NOTICE, on_named_days
from ringfence.agents.rules.dates.weekdays import on_their_days
from ringfence.agents.rules.kinds import kinds_of_plan
from ringfence.agents.rules.measures.frames import stated
from ringfence.agents.rules.measures.operands import all_named
from ringfence.agents.rules.measures.own_settings import one_indicator
from ringfence.agents.rules.objections import guards_unfit, points_apart, sides_unfit, size_unfit
from ringfence.agents.rules.orders.collected import Collected
from ringfence.agents.rules.orders.parting import of_the_rest
from ringfence.agents.rules.orders.remarks import not_so
from ringfence.agents.rules.orders.sides import contradicted, filtered
from ringfence.agents.rules.orders.size_led import without_whole
from ringfence.agents.rules.orders.stances import announced_flips
from ringfence.agents.rules.orders.statements import statements
from ringfence.agents.rules.orders.varied import goes_on, with_cases
from ringfence.agents.rules.orders.wording import with_length
from ringfence.agents.rules.plans.complements import ended_by, idle, lasts, no_longer, one_day
from ringfence.agents.rules.reader import Question, Reader
from ringfence.agents.rules.refusals import cannot
from ringfence.agents.rules.talk.asides import without_talk
from ringfence.agents.rules.talk.facts import owned, set_apart
from ringfence.agents.rules.talk.unused import unused_line
from ringfence.agents.rules.text.placing import placed
from ringfence.agents.rules.text.tokens import Token, read_tokens
from ringfence.trade.description.catalogue import usual_line
from ringfence.trade.description.echo import echo, line as say_line
from ringfence.trade.description.lines import lines_of, map_lines
from ringfence.trade.description.model import (
    AllIn,
    AllOf,
    AnyOf,
    Condition,
    Description,
    Entry,
    EveryBars,
    Exit,
    FixedCash,
    FixedShares,
    Guards,
    InHours,
    Line,
    MonthDays,
    Not,
    OnSchedule,
    OnWeekdays,
    PercentOfEquity,
    RiskCash,
    RiskPerTrade,
    Signals,
    Sizing,
    in_money,
)

_SPANS = tuple(f"in {span} {word}" for span in ("months", "weeks") for word in ("when", "where", "in which"))
MOST_CHARACTERS = 4_000
MOST_NESTED = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class Understood:
    description: Description
    notices: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Misread:
    """What could not be read, and what is asked. `unread` is a part of the text, `place` where it begins."""

    reason: str
    understood: str = ""
    unread: str = ""
    place: int = 0
    choices: tuple[str, ...] = ()
    tokens: tuple[Token, ...] = ()
    left: tuple[str, ...] = ()  # talk that was left aside before it


def compile_request(text: str, *, symbols: Sequence[str] = (), timeframe: str = "") -> Understood | Misread:
    """The description of what `text` asks for; every word of it counts. No `timeframe`: the bars that it names.

    First as it stands; then without what is said of the run; then without talk that gives no rule. Both are told.
    """
    if len(text) > MOST_CHARACTERS:
        return Misread(reason=f"the request has {len(text):,} characters: say it in {MOST_CHARACTERS:,}")
    found = _attempt(text, read_tokens(text, symbols), timeframe)
    if (isinstance(found, Understood) and not owned(text)) or (isinstance(found, Misread) and not found.tokens):
        return found
    plain, notices = set_apart(text)
    tokens = read_tokens(plain, symbols)
    if plain != text:
        found = _attempt(text, tokens, timeframe, notices)
    for talk in without_talk(tokens, text) if isinstance(found, Misread) else ():
        left = [f'left aside, as it gives no rule: "{said}"' for said in talk.left]
        found = _attempt(text, list(talk.tokens), timeframe, (*notices, *left), talk.about)
        if isinstance(found, Understood):
            break
        found = replace(found, left=talk.left)
    return found


def _attempt(
    text: str,
    tokens: list[Token],
    timeframe: str,
    notices: Sequence[str] = (),
    about: Collection[str] = (),
) -> Understood | Misread:
    """As the words stand; where that fails, with what is traded put before them."""
    found = _in_order(text, tokens, timeframe, notices, about)
    moved = placed(tokens) if isinstance(found, Misread) and found.tokens else None
    again = _in_order(text, moved, timeframe, notices, about) if moved else found
    return again if isinstance(again, Understood) else found


def _in_order(
    text: str,
    tokens: list[Token],
    timeframe: str,
    notices: Sequence[str] = (),
    about: Collection[str] = (),
) -> Understood | Misread:
    if sum(token.kind in ("(", "NOT") for token in tokens) > MOST_NESTED:
        return Misread(reason=f"more than {MOST_NESTED} brackets and negations: say it with fewer")
    if not tokens:
        return Misread(reason="there is nothing to read: say what to buy, and when")
    named = timeframe or stated(tokens)
    dated = on_named_days(tokens) if named == "1d" else None
    reader = Reader(tokens=dated or tokens, timeframe=named, notices=[NOTICE] if dated else [])
    if named != (timeframe or "1d"):
        reader.notices.append(f"it is written for {named} bars: give it such data")
    try:
        made = _read(reader)
    except Question as question:
        start, end = question.span
        return Misread(
            reason=question.ask,
            understood=text[:start].strip(),
            unread=text[start:end],
            place=start,
            choices=question.choices,
            tokens=tuple(tokens),
        )
    except RecursionError:
        return Misread(reason="the request is nested too deeply: use fewer brackets")
    if isinstance(made, Description):
        made = one_indicator(all_named(made), reader.own)
    if isinstance(made, Description) and (unused := unused_line(made, about)):
        made = f"it speaks of {unused}, and no rule uses that: say what it is to do"
    if isinstance(made, Description) and idle(made) and echo(made) != text.strip():
        made = "it holds a line against itself or zero, or has it rise and fall on one bar: say what is meant"
    if isinstance(made, Description) and points_apart(made) and echo(made) != text.strip():
        made = "two returns cannot be compared by how many points they differ: say which of them is higher"
    if isinstance(made, Description) and one_day(made) and echo(made) != text.strip():
        made = "it would be in on that day alone, and out on the next: say for example, checked at month end"
    if isinstance(made, str):
        return Misread(reason=made, understood=text.strip(), tokens=tuple(tokens))
    if made is None:
        return _unread(text, reader)
    silent = _keltner(made, tokens)
    return Understood(description=made, notices=tuple(dict.fromkeys((*notices, *reader.notices, *silent))))


def _keltner(made: Description, tokens: Sequence[Token]) -> tuple[str, ...]:
    """Its third number is rarely said, and what is customary differs."""
    bars = {int(line.values[2]) for line in lines_of(made) if line.name == "keltner"}
    places = [n for n, token in enumerate(tokens) if token.kind == "KELTNER"]
    said = {one.value for n in places for one in tokens[max(0, n - 3) : n + 12] if one.kind == "NUM"}
    return tuple(f"the Keltner channel is read with an ATR of {n} bars" for n in sorted(bars - said))


def _unread(text: str, reader: Reader) -> Misread:
    """From the first token that no statement could take to the end of its sentence; unknown words come first."""
    tokens = reader.tokens
    unknown = next((n for n, token in enumerate(tokens) if token.kind == "UNKNOWN"), None)
    first = min(reader.furthest, len(tokens) - 1) if unknown is None else unknown
    while tokens[first].kind == "," and text[tokens[first].start] != "," and first + 1 < len(tokens):
        first += 1  # it stands where a fact was
    last = first
    while unknown is None and last + 1 < len(tokens) and tokens[last + 1].kind != "STOP_MARK":
        last += 1
    start, end = tokens[first].start, tokens[last].end
    return Misread(
        reason="these words were not understood",
        understood=text[:start].strip(),
        unread=text[start:end],
        place=start,
        tokens=tuple(tokens[first : last + 1]),
    )


def _read(reader: Reader) -> Description | str | None:
    if (question := cannot(reader.tokens)) is not None:
        raise question
    if any(token.kind == "UNKNOWN" for token in reader.tokens):
        return None
    for n, read in enumerate(kinds_of_plan(reader.tokens)):
        tokens = reader.tokens if read is None else without_whole(reader.tokens)
        trial = Reader(tokens=tokens, timeframe=reader.timeframe, notices=list(reader.notices))
        try:
            made = _signals(trial) if read is None else read(trial)
        except Question:
            if n == 0:
                raise
            continue  # the likeliest says what it could not read
        reader.furthest = reader.furthest if n else _place(reader.tokens, trial)
        if made is not None:
            reader.notices, reader.own = trial.notices, trial.own
            return made
    return None


def _place(tokens: Sequence[Token], trial: Reader) -> int:
    """How far `trial` came, among all the tokens."""
    left = len(trial.tokens) - trial.furthest
    return len(tokens) if left <= 0 else tokens.index(trial.tokens[trial.furthest])


def _signals(reader: Reader) -> Description | str | None:
    said = statements(reader)
    return None if said is None else assemble(reader, said)


def assemble(r: Reader, said: Collected) -> Description | str:
    """One description of all that was said, or what is missing for it to be a strategy."""
    if not said.entries and all(not isinstance(one.when, Not) for one in said.sided):
        if not said.exits and all(lasts(one.when) for one in said.sided):
            said.held += [one.when for one in said.sided]  # long only when …: and else not
        if said.exits or said.held:
            said.entries, said.sided = said.sided, []  # buy only on Mondays, sell on Fridays
    if not said.entries and said.ordered and [one.when for one in said.ordered] == said.filters:
        said.entries, said.filters = said.ordered, []
    if not said.entries and not announced_flips(r, said):
        if said.exits:
            return (
                'it says when to sell, and not when to buy: add "buy when …", '
                'or write "sell short when …" where that is meant'
            )
        return 'it does not say when to buy: add for example "buy when RSI drops below 30"'
    symbols = tuple(said.symbols)
    entries = filtered(said)
    if isinstance(entries, str):
        return entries
    entries = [replace(one, when=on_their_days(r, [one.when], 0)) for one in entries]
    said.exits = [replace(one, when=on_their_days(r, [one.when], 0)) for one in said.exits]
    if wrong := contradicted(said, entries):
        return wrong
    exits = _sided(entries, list(dict.fromkeys(said.exits)))
    for late in dict.fromkeys(e.when.start for e in exits if isinstance(e.when, InHours)):
        r.notices.append(
            f"out at {late} is decided on the first bar from {late} on and filled at the next bar's open: "
            "where that bar is the day's last, name the time of the bar before it"
        )
    if said.filters and exits:
        r.notices.append("what must hold to trade is asked of the entries, not of the exits")
    if not _both_end(entries, exits, said.bare):
        return "it goes long and short: say when to exit longs, and when to exit shorts"
    timed = out_by(entries, exits, r.told_times, within_day=said.within_day)
    if isinstance(timed, str):
        return timed
    entries, exits = timed
    sides = {one.when: one.side for one in said.entries}
    held = [part for part in said.held if not any(ended_by(part, one.when, said.symbols) for one in exits)]
    exits = [*exits, *(Exit(side=sides.get(part, "long"), when=no_longer(part)) for part in held)]
    if wrong := sides_unfit(said, entries, exits):
        return wrong
    guards, sizing = of_the_rest(r, said.guards.made(), exits), said.sizing or AllIn()
    if wrong := guards_unfit(said, guards, exits):
        return wrong
    counted = isinstance(sizing, (RiskPerTrade, RiskCash)) or (
        guards.target is not None and guards.target.kind == "risk"
    )
    if counted and guards.stop is None and guards.trail is not None and not guards.trail.rest:
        guards = replace(guards, stop=guards.trail.distance)  # where the trailing stop begins
        r.notices.append("the risk is measured to where the trailing stop begins")
    if wrong := size_unfit(said, guards, sizing, exits, {token.kind for token in r.tokens}):
        return wrong
    adds = said.adds or _bought_again(sizing, entries, exits, guards)
    adds = adds or (said.kept and (in_money(sizing) or isinstance(sizing, FixedShares)) and _each_time(r))
    sizing = with_cases(said, sizing)
    adds = adds or goes_on(sizing, entries, exits, guards)
    if isinstance(sizing, FixedCash) and len(symbols) > 1 and not any(t.text == "each" for t in r.tokens):
        r.notices.append("the sum is spent on each of them: to divide it, say for example split $500 equally between …")
    plan = Signals(entries=tuple(entries), exits=tuple(exits), guards=guards, sizing=sizing, adds=adds)
    told = not_so(said, plan, 0 if said.every and not symbols else len(symbols) or 1)
    if told:
        return told
    if r.single and adds:
        return "it adds to the position, and says that there is one at a time: leave one of them out"
    made = Description(plan=plan, symbols=symbols, every=said.every and not symbols)
    lengthened = with_length(_own_lines(made), said.length)
    if isinstance(lengthened, str):
        return lengthened
    made = lengthened
    unused = next((one for one in said.about if not _uses(made, one) and not _counts(made, one)), None)
    if unused is not None:
        return f"it is about {say_line(unused)}, and no rule uses that: say what it is to do"
    if not made.symbols and not made.every and len({line.symbol for line in lines_of(made) if line.symbol}) > 1:
        return "several instruments are named, and not which of them is traded: say for example Trade AAPL"
    ends = exits or guards != Guards()
    if not ends and not adds and any(token.kind == "WHEN" and token.text in _SPANS for token in r.tokens):
        return 'it is for some months or weeks, and does not say when to sell: add "sell when …"'
    if not ends and not adds and len({e.side for e in entries}) == 1:
        r.notices.append("no exit was given: what it buys it keeps to the end")
    return made


def _each_time(r: Reader) -> bool:
    """Put $1,000 in it each time RSI crosses below 30, and never sell: more each time."""
    said = [("ON", "EVERY"), ("AFTER", "EVERY")]  # on every dip of 2 %
    timed = any(token.text in ("each time", "every time", "on every") for token in r.tokens)
    return timed or any((a.kind, b.kind) in said for a, b in pairwise(r.tokens))


def _uses(made: Description, about: Line) -> bool:
    if about.name == "atr" and isinstance(made.plan, Signals) and about.values[0] in _stop_periods(made.plan.guards):
        return True
    names = ("ichimoku", "cloud") if about.name in ("ichimoku", "cloud") else (about.name,)
    usual = about.values == usual_line(about.name).values
    same = {line for line in lines_of(made) if line.name == about.name}
    counted = about.name in ("sma", "ema", "wma") and list(about.values) == [len(same)]  # a 3 EMA system
    return counted or any(line.name in names and (usual or line.values == about.values) for line in lines_of(made))


def _stop_periods(guards: Guards) -> set[float]:
    """Of the ATR that a stop, a target or a trailing stop is measured by."""
    far = (guards.stop, guards.target, guards.trail.distance if guards.trail else None)
    return {one.period for one in far if one is not None and one.kind == "atr"}


def _counts(made: Description, about: Line) -> bool:
    """A 3 EMA system, of three averages: how many there are, and not a period."""
    averages = {line.values for line in lines_of(made) if line.name == about.name}
    return about.name in ("sma", "ema", "wma") and about.values == (len(averages),)


def _sided(entries: list[Entry], exits: list[Exit]) -> list[Exit]:
    """A bare exit ends what there is: where only short sales are made, those."""
    sides = {entry.side for entry in entries}
    return [replace(e, side="short") if sides == {"short"} else e for e in exits]


def _both_end(entries: list[Entry], exits: list[Exit], bare: Sequence[Condition]) -> bool:
    """Exit at 15:45, when ADX is below 20: of a strategy that goes both ways, whichever position there is."""
    if {e.side for e in entries} != {"long", "short"}:
        return True
    covered = any(e.side == "short" for e in exits)
    for when in bare:
        dated = isinstance(when, (InHours, OnWeekdays, OnSchedule))
        if not covered and not symmetric(when):
            return False
        if not covered or dated:
            exits.append(Exit(side="short", when=when))
    return True


def _bought_again(sizing: Sizing, entries: Sequence[Entry], exits: Sequence[Exit], guards: Guards) -> bool:
    """$500 every Monday, 5 % of the equity every Monday: each time, where it is not out of it by then."""
    if not any(_scheduled(entry.when) for entry in entries):
        return False
    if in_money(sizing) or isinstance(sizing, FixedShares):
        return True
    plain = all(not isinstance(entry.when, AllOf) for entry in entries)  # by nothing but the calendar
    dated = any(not _scheduled(one.when) for one in exits) and all(
        not isinstance(one.when, (OnWeekdays, InHours, OnSchedule, EveryBars, MonthDays)) for one in exits
    )
    never = not exits and guards == Guards()
    lasting = never or (plain and dated and not guards.time_stop_bars)
    return isinstance(sizing, PercentOfEquity) and lasting


def _scheduled(when: Condition) -> bool:
    parts = when.parts if isinstance(when, AllOf) else (when,)
    return any(
        isinstance(part, (OnSchedule, EveryBars))
        or (isinstance(part, MonthDays) and part.first == part.last)
        or (isinstance(part, AnyOf) and all(_scheduled(one) for one in part.parts))
        for part in parts
    )


def _own_lines(made: Description) -> Description:
    """Lines of what is traded need no name; a single instrument that only the rules name is what is traded."""
    named = {line.symbol for line in lines_of(made) if line.symbol}
    if not made.symbols and not made.every and len(named) == 1:
        made = replace(made, symbols=tuple(named))
    if len(made.symbols) == 1:
        own = made.symbols[0]
        made = map_lines(made, lambda line: replace(line, symbol="") if line.symbol == own else line)
    return made
