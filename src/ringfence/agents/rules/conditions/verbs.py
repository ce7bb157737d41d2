"""Verbs of comparison. "is above" is a level, "rises above" a cross: it was on the other side the bar before."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

from ringfence.agents.rules.conditions.arriving import side_of
from ringfence.agents.rules.conditions.moods import mood
from ringfence.agents.rules.conditions.relations import beside_sloping, in_cloud, several
from ringfence.agents.rules.measures.apart import atrs, away, deviations, ranges
from ringfence.agents.rules.measures.channels import edge
from ringfence.agents.rules.measures.lines import line
from ringfence.agents.rules.measures.operands import both_averages, named, operand
from ringfence.agents.rules.measures.settings import BANDS
from ringfence.agents.rules.reader import Reader, percent
from ringfence.trade.description.catalogue import KINDS
from ringfence.trade.description.model import (
    AllOf,
    Apart,
    Between,
    Beyond,
    Compare,
    Condition,
    Cross,
    Direction,
    Level,
    Line,
    Not,
    Number,
    Operand,
    Scaled,
)

_LEVELS: dict[str, Level] = {"ABOVE": "above", "BELOW": "below", "AT_LEAST": "at_least", "AT_MOST": "at_most"}
_UPWARDS = ("upward", "upwards", "downward", "downwards", "upside", "downside", "up", "down")


def level(r: Reader, left: Operand, first: int) -> Condition | None:
    """is above, closes below, > 30, is between 30 and 70, is oversold, is positive, is twice its average."""
    r.take("IS") if r.at("CLOSES", ahead=1) else None  # still closes above its open
    verb = r.take("IS", "CLOSES") or (r.take("CLOSE") if r.at(*_LEVELS, ahead=1) else None)  # if price close over it
    negated = r.take("NOT") is not None
    r.skip("IS", "BACK")
    made = (
        _near(r, left)
        or in_cloud(r, left)
        or _between(r, left)
        or _deviating(r, left)
        or mood(r, left, first)
        or _compared(r, left, first, spoken=verb is not None)
    )
    return Not(part=made) if negated and made is not None else made


def _compared(r: Reader, left: Operand, first: int, *, spoken: bool) -> Condition | None:
    far = _beyond(r, left, spoken=spoken or r.peek(-1).kind in ("CLOSE", "CLOSES", "PRICE"))
    if far is not None:
        return far
    token = r.take(*_LEVELS) if not _at_once(r) else None
    if token is None:
        if not spoken and not r.at("TWICE", "TRIPLE"):
            return None
        r.take("AT")
        right = operand(r, left)
        if isinstance(right, Scaled):
            return Compare(left=left, level="at_least", right=right)
        return _or_more(r, left, right) if right is not None else None
    r.take("OF") if not r.at("SYMBOL", ahead=1) else None
    made = _LEVELS[token.kind]
    side = "above" if made in ("above", "at_least") else "below"
    slope = beside_sloping(r, left, made)
    if slope is not None:
        return slope
    lines = several(r, left, side) or both_averages(r)
    if lines is not None:
        return AllOf(parts=tuple(Compare(left=left, level=made, right=one) for one in lines))
    right = operand(r, left, side) or _same_right(r, left, side)
    if right is None:
        return None
    far_off = _by(r, made, right)
    if far_off is not None:
        return replace(far_off, left=left)
    first_part = Compare(left=left, level=made, right=right)
    chain = r.peek().text[:1] in ("<", ">", "=") or (r.at(token.kind) and not r.at("NUM", "MONEY", ahead=2))
    if isinstance(right, Line) and r.at("ABOVE", "BELOW", "AT_LEAST", "AT_MOST") and chain:
        rest = _compared(r, right, first, spoken=False)  # ema 8 > ema 21 > ema 55
        if rest is None:
            return None
        return AllOf(parts=(first_part, *(rest.parts if isinstance(rest, AllOf) else (rest,))))
    return first_part


def _by(r: Reader, made: Level, right: Operand) -> Compare | None:
    """exceeds the average by 3 %, by more than 3 %, by 2 ATR."""
    with r.trying() as attempt:
        if not r.take("BY") or not isinstance(right, Line) or made not in ("above", "below"):
            return None
        hard = r.take("ABOVE", "AT_LEAST")
        up = made == "above"
        size = percent(r)
        times = atrs(r) if size is None else None
        far: Line | Apart | Beyond | None = away(named(right), up, *times) if times is not None else None
        if size is not None:
            far = Beyond(line=named(right), percent=size if up else -size)
        if far is None:
            return None
        attempt.keep()
        strict = hard is not None and hard.kind == "ABOVE"
        level: Level = made if strict else "at_least" if up else "at_most"
        return Compare(left=right, level=level, right=far)


def _same_right(r: Reader, left: Operand, side: str) -> Operand | None:
    """sell when it is below: what it was compared with before."""
    ended = r.at(
        "END", "STOP_MARK", ",", "AND", "OR", "THEN", "USE", "EXIT", "SELL", "COVER", ")", "FROM", "EITHER_WAY",
        "BUY", "SHORT", "LONG",
    )  # fmt: skip
    ended = ended or (r.at("FOR") and r.at("NUM", ahead=1))
    if ended and left == r.it and r.right is not None:
        return edge(r, r.right, side)
    parts = r.entry.parts if isinstance(r.entry, AllOf) else (r.entry,)
    same = [part.right for part in parts if isinstance(part, Cross) and part.left == left]
    return same[0] if ended and len(same) == 1 else None  # the line that the entry's cross was of


def _or_more(r: Reader, left: Operand, right: Operand) -> Condition | None:
    """is 70 or higher."""
    if r.take("OR_MORE"):
        return Compare(left=left, level="at_least", right=right)
    if r.take("OR_LESS"):
        return Compare(left=left, level="at_most", right=right)
    return None


def _deviating(r: Reader, left: Operand) -> Condition | None:
    """is more than 2 standard deviations below its 20-day mean."""
    with r.trying() as attempt:
        word = r.take("ABOVE", "AT_LEAST")
        found = deviations(r) or ranges(r)
        if found is None:
            return None
        attempt.keep()
        hard = word is None or word.kind == "ABOVE"
        levels: tuple[Level, Level] = ("above", "below") if hard else ("at_least", "at_most")
        return Compare(left=left, level=levels[0] if found[0] == "ABOVE" else levels[1], right=found[1])


def _beyond(r: Reader, left: Operand, *, spoken: bool) -> Condition | None:
    """is 2 % above the average; more than 2 %: strictly; also "is down 5 % from its 20-day high"."""
    with r.trying() as attempt:
        if r.at("ABOVE") and r.peek().text == "above":
            return None  # above 2 % below it is a level, more than 2 % below it a distance
        word = r.take("ABOVE", "AT_LEAST")
        plain = r.peek().text in ("below", "under", "<", "<=")
        less = r.take("BELOW", "AT_MOST") if word is None and not plain else None
        size = percent(r)
        more = r.take("OR_MORE") if size is not None else None
        side = r.take("ABOVE", "BELOW") if size is not None else None
        if size is None or side is None or not (spoken or word or more or less):
            return None
        right = operand(r, left, side.kind.lower())
        if not isinstance(right, Line):
            return None
        right = named(right)
        attempt.keep()
        up = side.kind == "ABOVE"
        hard = (word is not None and word.kind == "ABOVE") or (less is not None and less.kind == "BELOW")
        higher = up == (less is None)  # no more than 5 % below its high: above that level
        made: Level = ("above" if hard else "at_least") if higher else ("below" if hard else "at_most")
        return Compare(left=left, level=made, right=Beyond(line=right, percent=size if up else -size))


def _near(r: Reader, left: Operand) -> Condition | None:
    """is within 2 % of its 52-week low: no more than that above it; of a high, below it; of another line, either."""
    with r.trying() as attempt:
        if not r.take("BETWEEN"):
            return None
        size = percent(r)
        right = line(r) if size is not None and r.take("OF", "FROM") else None
        if size is None or right is None:
            return None
        attempt.keep()
        under, over = Beyond(line=right, percent=-size), Beyond(line=right, percent=size)
        if right.name == "lowest":
            return Compare(left=left, level="at_most", right=over)
        if right.name == "highest":
            return Compare(left=left, level="at_least", right=under)
        return Between(left=left, low=under, high=over)


def _between(r: Reader, left: Operand) -> Condition | None:
    with r.trying() as attempt:
        r.take("IN")
        if not r.take("BETWEEN"):
            return None
        pair = both_averages(r) or _edges(r)
        if pair is not None:
            attempt.keep()
            return Between(left=left, low=pair[0], high=pair[1])
        low = operand(r, left)
        if low is None or not r.take("AND", "TO"):
            return None
        high = operand(r, left)
        if high is None or any(isinstance(end, Line) and end.name not in KINDS for end in (low, high)):
            return None
        attempt.keep()
        return Between(left=left, low=low, high=high)


def _edges(r: Reader) -> tuple[Line, Line] | None:
    """inside the cloud, within the Bollinger bands: between its two edges."""
    with r.trying() as attempt:
        if not r.at("CLOUD", *BANDS) and not r.at(*BANDS, ahead=2):
            return None
        high = line(r, side="above")
        named = high is not None and high.part in ("upper", "top") and r.peek(-1).kind not in ("UPPER", "TOP")
        if high is None or not named or (r.at("AND", "TO") and r.at("LOWER", "BELOW", "MIDDLE", ahead=1)):
            return None
        attempt.keep()
        return replace(high, part="lower" if high.part == "upper" else "bottom"), high


def crossing(r: Reader, left: Operand, first: int) -> Condition | None:
    """crosses above, drops below, breaks through, climbs past, crosses 30 from below."""
    way: Literal["", "above", "below", "either"] = ""
    moved = crossed = through = False
    r.skip("IS")
    while (
        token := r.take("CROSS", "MOVES", "RISES", "FALLS", "RECLAIMS", "LOSES_LINE", "THROUGH", "BACK", "TURNS")
        or (r.take("LOSS") if r.peek().text == "loses" and not moved else None)
        or (r.take("REACHES", "RETURNS", "TO") if _goes_to(r, moved=moved) else None)
        or (r.take("ABOVE") if _at_once(r) else None)
    ) is not None:
        moved = True
        crossed = (
            crossed or token.kind == "CROSS" or token.text.startswith(("break", "broke", "pierc", "breach", "penetr"))
        )
        through = through or token.kind in ("THROUGH", "RECLAIMS", "LOSES_LINE", "LOSS", "ABOVE")
        if token.kind in ("RISES", "RECLAIMS", "ABOVE"):
            way = "above"
        elif token.kind in ("FALLS", "LOSES_LINE", "LOSS"):
            way = "below"
        if token.kind in ("RISES", "FALLS") and token.text.split()[1:] in (["up"], ["down"]):
            crossed = crossed or token.text.startswith(("cross", "break"))
    if not moved:
        return None
    turned = _from_to(r, left)
    if turned is not None:
        return turned
    edge = r.peek().text == "lower" and (r.at("BAND", *BANDS, ahead=1) or r.at("NUM", "(", ahead=1))
    side = (r.take("ABOVE", "BELOW", "THROUGH") if not edge else None) or (
        r.take("PREVIOUS") if r.peek().text == "past" else None
    )
    r.take("THROUGH")
    if side is not None and side.kind in ("ABOVE", "BELOW"):
        wanted: Direction = "above" if side.kind == "ABOVE" else "below"
        if way and way != wanted:
            return None  # "crosses down above 80" is two things
        way = wanted
    elif not (crossed or through or side):
        return None
    right = operand(r, left, way)
    if right is None and isinstance(left, Line) and crossed and left.name in ("macd", "stochastic"):
        right = replace(left, part="signal" if left.name == "macd" else "d")
        if left.name == "stochastic":
            left = replace(left, part="k")
    if right is None and (way or r.at("FROM")):
        right = _same_right(r, left, way)  # exit when it crosses under
    if right is None:
        return None
    late = _late_way(r)
    if late not in ("", "either", way) and way:
        return None
    beyond = any(token.text == "beyond" for token in r.tokens[first : r.i])
    way = late or way or _way_of(right) or (_outwards(left, right) if beyond else "")
    way = way or ("either" if r.either else _way_back(r, left, right))
    if not way:
        raise r.ask(
            "which way does it cross?", ["crosses above", "crosses below", "crosses in either direction"], first
        )
    return _crosses(left, way, right)


_ONCE = ("the moment", "moment", "as soon as", "right when", "immediately when", "first time", "the first time")


def _at_once(r: Reader) -> bool:
    """the moment RSI exceeds 70: then it does so, and did not before."""
    if not r.at("ABOVE") or not r.peek().text.startswith(("exceed", "surpass")):
        return False
    word = next((t for t in reversed(r.tokens[: r.i]) if t.kind in ("WHEN", "STOP_MARK")), None)
    return word is not None and word.text in _ONCE


def _goes_to(r: Reader, *, moved: bool) -> bool:
    """pulls back to below, climbs to above, returns to over: the side counts, not the arriving."""
    words = r.peek().text.split()
    return r.at("ABOVE", "BELOW", ahead=1) and words[-1:] == ["to"] and (moved or not r.at("TO"))


def _from_to(r: Reader, left: Operand) -> Condition | None:
    """moves from below -100 to above -100."""
    with r.trying() as attempt:
        if not r.take("FROM") or not (below := r.take("ABOVE", "BELOW")):
            return None
        one = operand(r, left)
        if one is None or not r.take("TO") or not (above := r.take("ABOVE", "BELOW")):
            return None
        other = operand(r, left)
        if one != other or below.kind == above.kind:
            return None
        attempt.keep()
        return Cross(left=left, direction="above" if above.kind == "ABOVE" else "below", right=one)


def _way_of(right: Operand) -> Literal["", "above", "below"]:
    """breaks its 20-day high: the line says which way."""
    if not isinstance(right, Line):
        return ""
    if right.name in ("highest", "high") or right.part in ("upper", "top"):
        return "above"
    return "below" if right.name in ("lowest", "low") or right.part in ("lower", "bottom") else ""


def _outwards(left: Operand, right: Operand) -> Literal["", "above", "below"]:
    """goes beyond 70: away from the middle of its scale."""
    limits = KINDS[left.name].oversold if isinstance(left, Line) else None
    if limits is None or not isinstance(right, Number) or right.value == sum(limits) / 2:
        return ""
    return "above" if right.value > sum(limits) / 2 else "below"


def _way_back(r: Reader, left: Operand, right: Operand) -> Literal["", "above", "below"]:
    """exit when price crosses the middle band: down through it, where the entry was above the band."""
    if not isinstance(right, Line) or not isinstance(left, Line) or left.name not in ("close", "high", "low"):
        return ""
    side = side_of(r.entry, right)
    return "" if side is None else "below" if side == "above" else "above"


def _late_way(r: Reader) -> Literal["", "above", "below", "either"]:
    """from below, to the upside, upwards, in either direction."""
    if r.take("EITHER_WAY"):
        return "either"
    with r.trying() as attempt:
        if r.take("FROM") and (token := r.take("ABOVE", "BELOW")) and not r.at("NUM"):
            attempt.keep()
            return "above" if token.kind == "BELOW" else "below"
    token = r.peek()
    if token.kind in ("RISES", "FALLS") and token.text.split()[-1] in _UPWARDS:
        r.take("RISES", "FALLS")
        return "above" if token.kind == "RISES" else "below"
    return ""


def _crosses(left: Operand, way: Direction, right: Operand) -> Condition:
    return Cross(left=left, direction=way, right=right)


def broken(r: Reader, left: Operand, first: int) -> Condition | None:
    """the 20-day high is broken."""
    r.take("IS")
    if not r.take("BROKEN") or not isinstance(left, Line):
        return None
    r.take("CLOSING_BASIS")
    way = _way_of(left)
    return Cross(left=Line(name="close", symbol=left.symbol), direction=way, right=left) if way else None
