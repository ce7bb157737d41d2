"""Conditions in English, from "RSI drops below 30" to "not (A or B)". Each function reads what it knows, or nothing."""

from __future__ import annotations

from dataclasses import replace

from ringfence.agents.rules.conditions.before import ran_before, run_of, turned_round
from ringfence.agents.rules.conditions.connectives import connective, orders
from ringfence.agents.rules.conditions.nominals import nominal
from ringfence.agents.rules.conditions.of_each import both_after, of_each, so_many_closes
from ringfence.agents.rules.conditions.predicates import predicate
from ringfence.agents.rules.conditions.recency import latest
from ringfence.agents.rules.dates.calendar import calendar
from ringfence.agents.rules.measures.frames import frame
from ringfence.agents.rules.measures.lines import line
from ringfence.agents.rules.measures.scales import line_in
from ringfence.agents.rules.reader import Reader
from ringfence.trade.description.catalogue import PRICES
from ringfence.trade.description.lines import lines_of, map_lines
from ringfence.trade.description.model import (
    AllOf,
    AnyOf,
    Between,
    Compare,
    Condition,
    Cross,
    EveryBars,
    Held,
    Line,
    Not,
    SomeOf,
    Trend,
)

# What begins another statement: an "and" or a comma before it does not go on with the condition.
ACTIONS = (
    "BUY", "SELL", "SHORT", "EXIT", "COVER", "HOLD", "INVEST", "USE", "STOP", "STOP_SET", "TARGET", "TRAIL",
    "TIME_STOP", "RISK", "REBALANCE", "TRADE", "WHEN", "UNLESS", "UNTIL", "THEN", "OTHERWISE", "DCA", "LONG",
    "ALL_IN", "SIZE", "REST", "ONLY", "ADD_EACH", "ROTATE", "HALF", "THOSE_FOR", "EQUALLY", "LONG_ONLY",
)  # fmt: skip
_ON_EACH = ("each of", "each", "each one", "all of", "every one", "each day", "every day")
_OR_WHEN = ("or when", "or if", "or once", "or whenever")  # another rule, and not another part of the last


def condition(r: Reader, *, leaving: bool = False) -> Condition | None:
    """A whole condition. `leaving`: of an exit, where a percentage without a period is measured from the entry."""
    first = r.i
    whole = _all_listed(r)
    if whole is not None:
        return whole
    wide = r.take("EITHER", "BOTH")
    shared = of_each(r, wide.kind) if wide is not None else both_after(r)
    part = shared or _unary(r)
    if part is None:
        r.i = first
        return None
    parts, words, apart = [part], [], True
    r.take("TOGETHER", "TOO")
    while (word := connective(r, parts[-1])) is not None:
        with r.trying() as attempt:
            comma, told = r.take(",") is not None, r.peek().text
            r.take("ONLY") if r.at("ON", "USE", ahead=1) else None
            r.take("AND", "OR", "USE", "WHEN" if word == "while" else "AND") or (
                r.take("ON") if r.at("VOLUME", ahead=1) else None
            )
            r.take("AFTER" if word == "after" else "THEN") if word in ("then", "next", "after") else None
            r.take("WHEN") if r.at("ONE_POSITION", ahead=1) else None
            if word != "or" and not r.at("OTHERWISE", "BETWEEN", "WHEN", ahead=1) and r.take("ONE_POSITION"):
                r.single = True
                attempt.keep()
                continue
            again = r.take("BOTH", "EITHER")
            r.joined, whose = True, r.peek().text in ("its", "their")
            another = of_each(r, again.kind) if again is not None else None
            another = another or (_unary(r) if not r.at(*ACTIONS) else None)
            r.joined = False
            another = owned(parts[-1], another) if whose and another is not None else another
            another = _either(r, another) if again is not None and again.kind == "EITHER" and word == "and" else another
            if another is None or (leaving and isinstance(another, EveryBars) and r.peek(-1).kind == "HAVE_PASSED"):
                break
            if leaving and r.at("SINCE_ENTRY"):
                break  # 5 % off its high since entry: a trailing stop
            if word == "while" and ("or" in words or (comma and orders(r))):
                break  # buy when …, while above 70, sell
            joined = turned_round(parts[-1], another) if word == "next" else [parts[-1], another]
            joined = ran_before(parts[-1], another) if word == "after" else joined
            if joined is None:
                break  # below 30 for 3 days and then …: how long after?
            attempt.keep()
            apart = apart and (word != "or" or told in _OR_WHEN)
            r.take("TOGETHER", "TOO")
            if word in ("next", "after"):
                parts[-1:] = joined
                continue
            parts.append(another)
            words.append("and" if word in ("while", "then") else word)
    parts = _all_held(r, _on_each(r, parts)) if "or" not in words else parts
    if shared is None and wide is not None and wide.kind == "EITHER" and "or" not in words and not r.at("OR"):
        r.i = first
        return None
    both = wide is not None and wide.kind == "BOTH" and words[:1] == ["and"] and set(words[1:]) == {"or"}
    if (apart or both) and {*words} == {"and", "or"} and len(words) == len(parts) - 1:
        return any_of([all_of(group) for group in _groups(parts, words)])  # when A and B, or when C; both A and B, or C
    return _joined(r, parts, words, first)


def _groups(parts: list[Condition], words: list[str]) -> list[list[Condition]]:
    made = [parts[:1]]
    for word, part in zip(words, parts[1:], strict=True):
        made = [*made, [part]] if word == "or" else [*made[:-1], [*made[-1], part]]
    return made


def _either(r: Reader, part: Condition | None) -> Condition | None:
    """A and either B or C: what "or" joins is one thing."""
    parts = [part] if part is not None else []
    while parts:
        with r.trying() as attempt:
            r.take(",")
            r.joined = r.take("OR") is not None
            another = _unary(r) if r.joined else None
            r.joined = False
            if another is None:
                break
            attempt.keep()
            parts.append(another)
    return any_of(parts) if parts else None


def _all_held(r: Reader, parts: list[Condition]) -> list[Condition]:
    """A and B, three days running: after a comma it is said of all of them."""
    with r.trying() as attempt:
        if len(parts) < 2 or not r.take(","):
            return parts
        r.take("BOTH")
        bars = run_of(r)
        if bars is None or not _in_a_row(r):
            return parts
        made = [_lasting(part, bars) for part in parts]
        kept = [part for part in made if part is not None]
        if len(kept) < len(parts):
            return parts
        attempt.keep()
        return kept


def _on_each(r: Reader, parts: list[Condition]) -> list[Condition]:
    """it has closed higher for three days, volume rising on each of them: as long as what was said before."""
    last, runs = parts[-1], [part.bars for part in parts[:-1] if isinstance(part, (Trend, Held)) and part.bars > 1]
    with r.trying() as attempt:
        if not isinstance(last, Trend) or last.bars != 1 or len(runs) != 1:
            return parts
        each = r.peek().text in ("each day", "every day") and r.take("DAILY") is not None
        if not each and not r.take("ON"):
            return parts
        if not each and (r.peek().text not in _ON_EACH or not r.take(r.peek().kind)):
            return parts
        r.take("NUM") if r.peek().value == runs[0] else None
        r.take("DAY", "BAR")
        r.take("TOO")
        if not r.at("END", "STOP_MARK", ",", "AND", "THEN", "BUY", "SHORT"):
            return parts
        attempt.keep()
        return [*parts[:-1], replace(last, bars=runs[0])]


def _in_a_row(r: Reader) -> bool:
    return any(token.kind == "CONSECUTIVE" for token in r.tokens[r.i - 2 : r.i])


def _lasting(part: Condition, bars: int) -> Condition | None:
    if isinstance(part, Trend) and part.bars == 1:
        return replace(part, bars=bars)
    return Held(condition=part, bars=bars) if isinstance(part, (Compare, Between)) else None


def _joined(r: Reader, parts: list[Condition], words: list[str], first: int) -> Condition:
    if len(parts) == 1:
        return parts[0]
    said = set(words) - {","}
    if said == {"and", "or"}:
        raise r.ask(
            "and with or can be read in two ways: put brackets around what belongs together",
            _bracketed(r, parts, words),
            first,
        )
    return any_of(parts) if said == {"or"} else all_of(parts)


def _bracketed(r: Reader, parts: list[Condition], words: list[str]) -> list[str]:
    from ringfence.trade.description.echo import condition as say

    told = [say(part) for part in parts]
    if len(told) != 3:
        return ["(A and B) or C", "A and (B or C)"]
    one, two = (word if word != "," else "and" for word in words)
    return [f"({told[0]} {one} {told[1]}) {two} {told[2]}", f"{told[0]} {one} ({told[1]} {two} {told[2]})"]


def owned(before: Condition, part: Condition) -> Condition:
    """SPY is above its average and its return is positive: that of SPY too, whatever is traded."""
    named = [line.symbol for line in lines_of(before)]
    if len(named) < 2 or len(set(named)) != 1 or any(line.symbol for line in lines_of(part)):
        return part
    return map_lines(part, lambda line: replace(line, symbol=named[0]))


def all_of(parts: list[Condition]) -> Condition:
    flat = [one for part in parts for one in (part.parts if isinstance(part, AllOf) else (part,))]
    return flat[0] if len(flat) == 1 else AllOf(parts=tuple(flat))


def any_of(parts: list[Condition]) -> Condition:
    flat = [one for part in parts for one in (part.parts if isinstance(part, AnyOf) else (part,))]
    return flat[0] if len(flat) == 1 else AnyOf(parts=tuple(flat))


def simple_parts(made: Condition) -> tuple[Condition, ...]:
    """What it is made of with and, or and not."""
    if isinstance(made, Not):
        return simple_parts(made.part)
    return tuple(one for part in made.parts for one in simple_parts(part)) if hasattr(made, "parts") else (made,)


def _unary(r: Reader) -> Condition | None:
    with r.trying() as attempt:
        if r.at("WHEN") and r.peek().text in ("if", "when"):
            r.take("WHEN")  # and if, or when
        if r.take("NOT"):
            part = _unary(r)
            if part is not None:
                attempt.keep()
                return Not(part=part)
            return None
        if r.take("("):
            inner = condition(r)
            if inner is not None and r.take(")"):
                attempt.keep()
                return inner
            return None
        part = some(r) or fewer(r) or so_many_closes(r) or nominal(r) or calendar(r) or predicate(r)
        if part is not None:
            attempt.keep()
            part = meant(r, _held(r, part))
            if r.at("ON"):
                frame(r)  # on the daily chart
            return part
    return None


def meant(r: Reader, part: Condition) -> Condition:
    """at the lower band, meaning a close below it: what is said of the same line in plainer words takes its place."""
    with r.trying() as attempt:
        r.take(",")
        made = _unary(r) if r.take("MEANING") else None
        if made is not None and _named(made) & _named(part):
            attempt.keep()
            return made
    return part


def _named(part: Condition) -> set[Line]:
    return {one for one in lines_of(part) if one.name not in PRICES}


def some(r: Reader) -> Condition | None:
    """at least two of these three are true: A, B, C."""
    first = r.i
    with r.trying() as attempt:
        r.take("AT_LEAST") or (r.take("EVERY") if r.at("NUM", ahead=1) else None)
        number = r.take("NUM")
        if number is None:
            return None
        r.take("OR_MORE")
        if not r.take("OF"):
            return None
        total = r.take("NUM")
        r.skip("STRATEGY", "TITLE")
        r.take("IS")
        if not r.take("TRUE", "HOLD", "COLON") or (r.peek(-1).kind != "COLON" and not r.take("COLON", ",")):
            return None
        parts = _listed(r)
        if total is not None and len(parts) != total.value:
            raise r.ask(f"it says {total.text}, and names {len(parts)}", ["name each of them, with commas"], first)
        if not 1 <= number.value <= len(parts):
            return None
        attempt.keep()
        return SomeOf(count=int(number.value), parts=tuple(parts))


def _all_listed(r: Reader) -> Condition | None:
    """all of these are true: A, B, C; any of the following is true: A, B."""
    with r.trying() as attempt:
        wide = r.take("BOTH", "EITHER")
        r.skip("OF", "NUM", "STRATEGY", "TITLE")
        r.take("IS")
        if wide is None or not r.take("TRUE", "HOLD", "COLON") or (r.peek(-1).kind != "COLON" and not r.take("COLON")):
            return None
        parts = _listed(r)
        if len(parts) < 2:
            return None
        attempt.keep()
        return all_of(parts) if wide.kind == "BOTH" else any_of(parts)


def _listed(r: Reader) -> list[Condition]:
    """A, B and C."""
    parts: list[Condition] = []
    while True:
        with r.trying() as attempt:
            if parts and not (r.take(",") or r.at("AND", "OR")):
                break
            r.take("AND", "OR") if parts else None
            r.joined = bool(parts)
            part = _unary(r) if not r.at(*ACTIONS) else None
            r.joined = False
            if part is None:
                break
            attempt.keep()
            parts.append(part)
    return parts


def fewer(r: Reader) -> Condition | None:
    """fewer than two are true: of those that the entry counts."""
    with r.trying() as attempt:
        word = r.take("BELOW", "AT_LEAST")
        number = r.take("NUM") if word is not None else None
        if word is None or number is None or not isinstance(r.entry, SomeOf):
            return None
        r.take("OF")
        r.skip("STRATEGY", "TITLE")
        r.take("IS")
        if not r.take("TRUE", "HOLD") or not 1 <= number.value <= len(r.entry.parts):
            return None
        attempt.keep()
        made = SomeOf(count=int(number.value), parts=r.entry.parts)
        return Not(part=made) if word.kind == "BELOW" else made


def _held(r: Reader, part: Condition) -> Condition:
    """for 3 bars in a row, for the last 5 days, on 3 consecutive bars."""
    if not isinstance(part, (Compare, Between)):
        return part
    bars = run_of(r)
    return part if bars is None else Held(condition=part, bars=bars)


def _named_cross(r: Reader) -> Line | None:
    """the opposite MACD cross: which of them it is."""
    with r.trying() as attempt:
        made = line(r)
        if made is not None and r.take("CROSS"):
            attempt.keep()
            return made
    return None


def opposite(r: Reader, entry: Condition | None, first: int) -> Condition:
    """What "the opposite" of an entry is, where that is clear."""
    parts = [latest(part) for part in entry.parts] if isinstance(entry, AllOf) else []
    entry = entry if entry is None else latest(entry)
    crosses = [part for part in parts if isinstance(part, Cross)]
    named = _named_cross(r)
    if named is not None:
        whole = [entry] if isinstance(entry, Cross) else []
        crosses = [part for part in crosses or whole if line_in(part.left) == named]
    if len(crosses) == 1 and (named is not None or "cross" in r.peek(-1).text):
        entry = crosses[0]  # of several conditions the one that is a cross
    if isinstance(entry, Cross) and entry.direction != "either":
        return Cross(left=entry.left, direction="below" if entry.direction == "above" else "above", right=entry.right)
    lines = isinstance(entry, Compare) and isinstance(entry.left, Line) and isinstance(entry.right, Line)
    if lines and isinstance(entry, Compare) and entry.level in ("above", "below"):
        # the 10-day average is above the 30-day one, or the other way round
        return replace(entry, level="below" if entry.level == "above" else "above")
    raise r.ask("the opposite of what?", ["say the rule for the exit in full"], first)
