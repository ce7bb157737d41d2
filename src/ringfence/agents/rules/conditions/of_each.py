"""One thing said of two: both QQQ and XLI are above their average, either one closes below it, both are below 20."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from ringfence.agents.rules.conditions.predicates import predicate
from ringfence.agents.rules.measures.lines import line
from ringfence.agents.rules.measures.operands import pair_of_averages
from ringfence.agents.rules.measures.scales import line_in, scale
from ringfence.agents.rules.reader import Reader
from ringfence.trade.description.lines import map_lines
from ringfence.trade.description.model import AllOf, AnyOf, Between, Compare, Condition, Cross, Held, Line, Trend

_VERBS = ("IS", "ABOVE", "BELOW", "CROSS", "RISES", "FALLS", "MOVES", "CLOSES", "TURNS", "AT_LEAST", "AT_MOST", "BACK")
_AVERAGES = ("AVERAGE", "SMA", "EMA", "WMA", "LINE")
_TURNED = {"ABOVE": "below", "BELOW": "above"}
_AFTER = ("END", "STOP_MARK", ",", "AND", "OR", "USE", "THEN", ")", "WHICHEVER_FIRST", "TOO")


def of_each(r: Reader, word: str) -> Condition | None:
    """What follows "both" or "either", where it is said once of two lines; None where it is not."""
    named = _instruments(r, word) or _lines_named(r, word) or _of_entry(r, word)
    if named is not None:
        return named
    with r.trying() as attempt:
        _two_words(r)
        if not r.at(*_VERBS) or (r.at("IS") and r.peek(1).text in ("closed", "exited", "covered", "sold")):
            return None  # both are closed when …
        attempt.keep()
    two, entry, first = _two_lines(r), r.entry, r.i
    own = _own_average(r, two, word) if two else None
    if own is not None:
        return own
    with r.trying() as attempt:
        r.it, r.entry = two[0] if two else None, None
        part = predicate(r) if two else None
        if not two or not isinstance(part, (Compare, Cross, Between, Trend)) or _left(part) != two[0]:
            raise r.ask(f"{word.lower()} of what?", ["name each of the two lines"], first)
        attempt.keep()
        r.entry = entry
    return _joined([part, _moved(part, two[0], two[1])], word)


def _of_entry(r: Reader, word: str) -> Condition | None:
    """OBV above its average and the price above its own: buy. Both below: sell. The entry's comparisons, turned."""
    parts = r.entry.parts if isinstance(r.entry, AllOf) else ()
    sides = {part.level for part in parts if isinstance(part, Compare) and isinstance(part.right, Line)}
    with r.trying() as attempt:
        _two_words(r)
        r.take("IS", "CLOSES")
        side = r.take("ABOVE", "BELOW")
        if side is None or not r.at(*_AFTER, "COLON") or len(parts) != 2 or sides != {_TURNED[side.kind]}:
            return None
        attempt.keep()
        kept = [part for part in parts if isinstance(part, Compare)]
        return _joined([replace(part, level="above" if side.kind == "ABOVE" else "below") for part in kept], word)


def _two_words(r: Reader) -> None:
    """either one, either of them, both of the two."""
    r.take("OF")
    r.take("NUM") if r.peek().text in ("one", "two") else None
    r.take("PRICE", "STOCKS", "EVERY_SYMBOL") if r.peek().text in ("stocks", "etfs", "assets", "names") else None


def _left(part: Compare | Cross | Between | Trend) -> Line | None:
    return part.line if isinstance(part, Trend) else line_in(part.left)


def _joined(parts: list[Condition], word: str) -> Condition:
    return AllOf(parts=tuple(parts)) if word == "BOTH" else AnyOf(parts=tuple(parts))


def _moved(part: Compare | Cross | Between | Trend, one: Line, two: Line) -> Condition:
    """The same of the second line; where that is another instrument's, of all its lines."""
    if replace(one, symbol="") == replace(two, symbol="") and one.symbol != two.symbol:
        return map_lines(part, _to(one.symbol, two.symbol))
    return replace(part, line=two) if isinstance(part, Trend) else replace(part, left=two)


def _to(old: str, new: str) -> Callable[[Line], Line]:
    return lambda one: replace(one, symbol=new) if one.symbol == old else one


def _instruments(r: Reader, word: str) -> Condition | None:
    """both SPY and XLI are above their 200-day averages."""
    with r.trying() as attempt:
        one = r.take("SYMBOL")
        two = r.take("SYMBOL") if one is not None and r.take("AND" if word == "BOTH" else "OR") else None
        if one is None or two is None or not r.at(*_VERBS):
            return None
        names = [r.whose(token.text) for token in (one, two)]
        first, second = (Line(name="close", symbol=name) for name in names)
        if names[0] == names[1]:
            return None
        r.it = first
        part = predicate(r)
        if part is None or {one.symbol for one in _lines(part)} != {first.symbol}:
            return None
        attempt.keep()
        return _joined([part, map_lines(part, _to(first.symbol, second.symbol))], word)


def both_after(r: Reader) -> Condition | None:
    """its MFI and its RSI are both below 30."""
    for n in range(14):
        if r.at("IS", ahead=n) and r.peek(n).text.endswith(" both"):
            return _instruments(r, "BOTH") or _lines_named(r, "BOTH")
        if r.at("END", "STOP_MARK", "WHEN", "BUY", "SELL", "ABOVE", "BELOW", ahead=n):
            break
    return None


def _lines_named(r: Reader, word: str) -> Condition | None:
    """both %K and %D are below 20."""
    with r.trying() as attempt:
        pair = pair_of_averages(r)
        one = pair[0] if pair else line(r)
        two = pair[1] if pair else None
        if one is not None and two is None and r.take("AND" if word == "BOTH" else "OR"):
            two = line(r, one)
        if one is None or two is None or not r.at(*_VERBS) or scale(one) != scale(two):
            return None
        r.it = one
        entry, r.entry = r.entry, None
        part = predicate(r)
        r.entry = entry
        if not isinstance(part, (Compare, Cross, Between, Trend)) or _left(part) != one:
            return None
        attempt.keep()
        return _joined([part, _moved(part, one, two)], word)


def _lines(part: Condition) -> list[Line]:
    from ringfence.trade.description.lines import lines_of

    return list(lines_of(part))


def _two_lines(r: Reader) -> tuple[Line, Line] | None:
    """What the parts of the last entry were about, where there were two; else the two sides of the last comparison."""
    parts = r.entry.parts if isinstance(r.entry, AllOf) else ()
    lefts = [part.left for part in parts if isinstance(part, (Compare, Cross, Between)) and isinstance(part.left, Line)]
    if len(parts) == 2 and len(lefts) == 2 and lefts[0] != lefts[1] and r.it in lefts:
        return lefts[0], lefts[1]
    closes = list(dict.fromkeys(left for left in lefts if left.name == "close" and not left.ago))
    if len(closes) == 2:
        return closes[0], closes[1]
    if r.it is not None and r.right is not None and r.right.name == "roc" and r.it.name == "close":
        return (r.it, replace(r.it, symbol=r.right.symbol)) if r.it.symbol != r.right.symbol else None
    if r.it is None or r.right is None or r.it == r.right or scale(r.it) != scale(r.right):
        return None
    return r.it, r.right


def _own_average(r: Reader, two: tuple[Line, Line], word: str) -> Condition | None:
    """either one closes below its average: each below the one that the entry held it against."""
    parts = r.entry.parts if isinstance(r.entry, AllOf) else ()
    held = {
        part.left: part.right
        for part in parts
        if isinstance(part, (Compare, Cross)) and part.left in two and isinstance(part.right, Line)
    }
    with r.trying() as attempt:
        moved = False
        while token := r.take("IS", "CLOSES", "CROSS", "MOVES", "RISES", "FALLS", "BACK"):
            moved = moved or token.kind not in ("IS", "CLOSES", "BACK")
        side = r.take("ABOVE", "BELOW")
        r.take("ITS")
        if side is None or not r.take(*_AVERAGES) or not r.at(*_AFTER) or len(held) < 2:
            return None
        attempt.keep()
        up = side.kind == "ABOVE"
        made: list[Condition] = [
            Cross(left=one, direction="above" if up else "below", right=held[one])
            if moved
            else Compare(left=one, level="above" if up else "below", right=held[one])
            for one in two
        ]
        return _joined(made, word)


def so_many_closes(r: Reader) -> Condition | None:
    """3 consecutive closes above the average, the third straight close below it."""
    with r.trying() as attempt:
        number = r.take("NUM")
        if number is None or not r.take("CONSECUTIVE") or not r.at("CLOSE", "CLOSES") or number.value < 1:
            return None
        if not r.at("ABOVE", "BELOW", ahead=1):
            return None
        r.take("CLOSE", "CLOSES")
        r.it = Line(name="close")
        part = predicate(r)
        if not isinstance(part, Compare) or part.left != Line(name="close"):
            return None
        attempt.keep()
        return Held(condition=part, bars=int(number.value))
