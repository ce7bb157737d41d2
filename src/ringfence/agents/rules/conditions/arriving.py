"""Verbs of arriving: touches the lower band, hits a 20-day high, rises to 70, comes back to the average."""

from __future__ import annotations

from dataclasses import replace

from ringfence.agents.rules.measures.lines import line, of_own
from ringfence.agents.rules.measures.operands import operand
from ringfence.agents.rules.measures.settings import BANDS
from ringfence.agents.rules.reader import Reader
from ringfence.trade.description.catalogue import KINDS
from ringfence.trade.description.model import AllOf, Compare, Condition, Cross, Level, Line, Number, Operand


def returning(r: Reader, left: Operand, first: int) -> Condition | None:
    """comes back to the average: up to it or down to it, as the entry was below it or above."""
    r.take("IS")
    if not r.take("RETURNS"):
        return None
    right = operand(r, left)
    if isinstance(right, Number) and isinstance(left, Line) and (level := level_reached(r.entry, left, right.value)):
        return Compare(left=left, level=level, right=right)
    if not isinstance(right, Line):
        return None
    side = side_of(r.entry, right)
    if side is None:
        raise r.ask("back to it from which side?", ["rises above it", "drops below it"], first)
    return Compare(left=left, level="at_most" if side == "above" else "at_least", right=right)


def side_of(entry: Condition | None, line: Line) -> str | None:
    """On which side of `line` the entry found the price, where it says so."""
    parts = entry.parts if isinstance(entry, AllOf) else (entry,)
    for part in parts:
        if not isinstance(part, (Compare, Cross)):
            continue
        right = part.right if isinstance(part.right, Line) else getattr(part.right, "line", None)
        if right is not None and _same(right, line):
            way = part.level if isinstance(part, Compare) else part.direction
            if right.part in ("lower", "upper") and right != line:  # back above the lower band: still below the middle
                edge = "below" if right.part == "lower" else "above"
                return (
                    edge
                    if isinstance(part, Cross) or way in (edge, "at_most" if edge == "below" else "at_least")
                    else None
                )
            return "above" if way in ("above", "at_least") else "below" if way in ("below", "at_most") else None
    found = (_beyond(part, line) or _stretched(part, line) for part in parts)
    return next((side for side in found if side is not None), None)


def _beyond(part: Condition | None, line: Line) -> str | None:
    """A 50-day high lies above every average of fifty days or fewer, a low below it."""
    edge = part.right if isinstance(part, (Compare, Cross)) else None
    averages = ("sma", "ema", "wma", "vwap")
    if not isinstance(edge, Line) or line.name not in averages or not line.values or line.values[0] > edge.values[0]:
        return None
    way = part.level if isinstance(part, Compare) else part.direction if isinstance(part, Cross) else ""
    high = edge.name == "highest" or edge.part == "upper"
    low = edge.name == "lowest" or edge.part == "lower"
    if high and way in ("above", "at_least"):
        return "above"
    return "below" if low and way in ("below", "at_most") else None


def only_beside_lines(entry: Condition | None) -> bool:
    """Whether all that the entry asks is of the price and another line: nothing says that it has fallen or risen."""
    parts = entry.parts if isinstance(entry, AllOf) else (entry,)
    return all(isinstance(part, (Compare, Cross)) and isinstance(part.right, Line) for part in parts)


def _stretched(part: Condition | None, line: Line) -> str | None:
    """RSI drops below 30: then the price lies below its average."""
    if not isinstance(part, (Compare, Cross)) or not isinstance(part.left, Line) or not isinstance(part.right, Number):
        return None
    average = line.name in ("sma", "ema", "wma") or line.part == "middle"
    limits = KINDS[part.left.name].oversold
    way = part.level if isinstance(part, Compare) else part.direction
    if not average or limits is None or part.left.symbol or part.left.timeframe:
        return None
    if way in ("below", "at_most") and part.right.value <= limits[0]:
        return "below"
    return "above" if way in ("above", "at_least") and part.right.value >= limits[1] else None


def level_reached(entry: Condition | None, line: Line, value: float) -> Level | None:
    """RSI reaches 50, where the entry had it below 30: from there, up to it. Nothing where the entry does not tell."""
    parts = entry.parts if isinstance(entry, AllOf) else (entry,)
    for part in parts:
        if isinstance(part, (Compare, Cross)) and isinstance(part.right, Number) and isinstance(part.left, Line):
            same = replace(part.left, ago=0, symbol=line.symbol) == line
            if same and part.right.value != value:
                return "at_least" if part.right.value < value else "at_most"
    return None


def _same(one: Line, other: Line) -> bool:
    """The lower band and the middle one are of the same channel."""
    if one.name == other.name in ("bollinger", "keltner", "donchian") and other.part == "middle":
        return True
    middle = {"bollinger": "sma", "keltner": "ema"}.get(one.name)
    return one == other or (middle == other.name and one.values[0] == other.values[0])


def at_edge(r: Reader) -> Condition | None:
    """buy the lower band, short at the upper one: when the bar reaches it."""
    sided = r.at("UPPER", "LOWER", "TOP") or r.peek().text == "lower" or (r.at(*BANDS) and r.peek(-1).kind == "AT")
    with r.trying() as attempt:
        made = line(r) if sided else None
        over = r.at(*_OVER) or (r.at("ON", "OF", "FOR", "IN") and r.at("SYMBOL", ahead=1))
        if made is None or made.part not in ("upper", "lower") or not over:
            return None
        attempt.keep()
        up = made.part == "upper"
        r.it, r.right = Line(name="close"), made
        return Compare(left=Line(name="high" if up else "low"), level="at_least" if up else "at_most", right=made)


_OVER = ("END", "STOP_MARK", ",", "AND", "USE", "WHEN", ")", "SELL", "EXIT", "COVER")


def rising_to(r: Reader, left: Operand, first: int) -> Condition | None:
    """spikes to 3 times its average, falls to 20."""
    start = r.i
    token = r.take("RISES", "FALLS", "MOVES")
    if token is None or not r.take("TO"):
        return None
    r.take("AT_LEAST")
    right = operand(r, left)
    if isinstance(right, Line) and _of_the_close(r, right, first, start):
        right = replace(right, source="close")
    if isinstance(right, Line) and right.name in ("highest", "lowest") and isinstance(left, Line):
        side: Level = "above" if right.name == "highest" else "below"
        return Compare(left=left, level=side, right=right)  # breaks out to a new 50-day high
    if token.kind == "MOVES":
        return None
    if right is None or r.take("OR_LESS" if token.kind == "RISES" else "OR_MORE"):
        return None
    r.take("OR_LESS", "OR_MORE")  # falls to 35 or lower: which it says anyway
    return Compare(left=left, level="at_least" if token.kind == "RISES" else "at_most", right=right)


def reaching(r: Reader, left: Operand, first: int) -> Condition | None:
    """touches the lower band, hits a 20-day high, reaches 70: up to it or down to it, as its side tells."""
    start = r.i
    verb = r.take("REACHES", "MAKES") or (r.take("USE") if r.at("NEW", ahead=1) else None)
    makes = (
        verb is None
        and (r.take("IS", "CLOSES") or r.take("MOVES"))
        and (r.take("AT") or r.at("NEW", "NUM", "HIGHEST", "LOWEST"))
    )
    if verb is None and not makes and not r.at("NEW"):
        return None
    right = operand(r, left)
    if right is None or not isinstance(left, Line):
        return None
    if isinstance(right, Line):
        if right.name in ("highest", "lowest"):
            closing = _of_closes({token.kind for token in r.tokens[start : r.i]}) and not right.source
            if closing or _of_the_close(r, right, first, start):
                right = replace(right, source="close")
            right = of_own(right, left) if not (right.of or right.source) else right
            side: Level = "above" if right.name == "highest" else "below"
            return Compare(left=left, level=side, right=right)
        if right.part in ("upper", "lower") and left.name in ("close", "high", "low") and verb:
            up = right.part == "upper"
            touched = replace(left, name="high" if up else "low")
            return Compare(left=touched, level="at_least" if up else "at_most", right=right)
        came = side_of(r.entry, right) if verb and left.name in ("close", "high", "low") else None
        if came is not None:  # touches the middle band, from where the entry found it
            touched = replace(left, name="high" if came == "below" else "low")
            return Compare(left=touched, level="at_least" if came == "below" else "at_most", right=right)
    if verb is not None and isinstance(right, Number) and (way := r.take("OR_LESS", "OR_MORE")):
        return Compare(
            left=left, level="at_least" if way.kind == "OR_MORE" else "at_most", right=right
        )  # hits 40 or lower
    limits = KINDS[left.name].oversold if left.name in KINDS else None
    if verb is not None and isinstance(right, Number) and (level := level_reached(r.entry, left, right.value)):
        return Compare(left=left, level=level, right=right)
    if verb is not None and isinstance(right, Number) and limits and right.value != sum(limits) / 2:
        high = right.value > sum(limits) / 2
        return Compare(left=left, level="at_least" if high else "at_most", right=right)
    if verb is None:
        return None
    words = verb.text.split()[0]
    if words in ("rises", "rise", "climbs", "falls", "fall", "drops", "drop", "dips"):
        return Compare(left=left, level="at_least" if words.startswith(("rise", "climb")) else "at_most", right=right)
    raise r.ask(f"{verb.text} from which side?", ["rises above", "drops below"], first)


def _of_the_close(r: Reader, right: Line, first: int, verb: int) -> bool:
    """the close falls to a 7-day low, it makes a 50-day low on a closing basis: among closes."""
    if right.name not in ("highest", "lowest") or right.source or right.of:
        return False
    return r.at("CLOSING_BASIS") or any("clos" in token.text for token in r.tokens[first:verb])


def _of_closes(said: set[str]) -> bool:
    """closes at its highest in 100 days: of its closes."""
    return {"CLOSES", "ITS"} <= said and bool(said & {"HIGHEST", "LOWEST"}) and not said & {"HIGH", "LOW"}
