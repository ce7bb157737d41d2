"""From words to a description: which kind of strategy it is, its statements, and whether they make a whole."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from ringfence.agents.rules.assembly import assemble
from ringfence.agents.rules.dates.daynames import NOTICE, on_named_days
from ringfence.agents.rules.kinds import kinds_of_plan
from ringfence.agents.rules.measures.frames import stated
from ringfence.agents.rules.measures.operands import all_named
from ringfence.agents.rules.measures.own_settings import one_indicator
from ringfence.agents.rules.objections import points_apart
from ringfence.agents.rules.orders.size_led import without_whole
from ringfence.agents.rules.orders.statements import statements
from ringfence.agents.rules.plans.complements import idle, one_day
from ringfence.agents.rules.reader import Question, Reader
from ringfence.agents.rules.refusals import cannot
from ringfence.agents.rules.talk.asides import without_talk
from ringfence.agents.rules.talk.facts import owned, set_apart
from ringfence.agents.rules.talk.unused import unused_line
from ringfence.agents.rules.text.placing import placed
from ringfence.agents.rules.text.tokens import Token, read_tokens
from ringfence.trade.description.echo import echo
from ringfence.trade.description.lines import lines_of
from ringfence.trade.description.model import (
    Description,
)

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
