"""How one line stands to others: above its rising average, above all of three, inside the cloud, ahead of SPY."""

from __future__ import annotations

from dataclasses import replace

from ringfence.agents.rules.conditions.movements import span
from ringfence.agents.rules.measures.lines import ago, line
from ringfence.agents.rules.measures.operands import line_name, named
from ringfence.agents.rules.measures.scales import scale
from ringfence.agents.rules.reader import UNITS, Question, Reader, period
from ringfence.trade.description.catalogue import PRICES, usual_line
from ringfence.trade.description.lines import map_lines
from ringfence.trade.description.model import (
    AllOf,
    Between,
    Compare,
    Condition,
    Level,
    Line,
    Operand,
    Trend,
    Way,
)

_LEVELS: dict[str, Level] = {"ABOVE": "above", "BELOW": "below", "AT_LEAST": "at_least", "AT_MOST": "at_most"}
_ENDS = (
    "END",
    "STOP_MARK",
    ",",
    "AND",
    "OR",
    "USE",
    ")",
    "THEN",
    "WHEN",
    "LINE",
    "COLON",
    "BUY",
    "SELL",
    "SHORT",
    "EXIT",
)
_SLOPES = ("rising", "falling", "declining", "increasing", "decreasing", "sloping")
_YESTERDAY = ("day before", "yesterday", "previous day", "prior day", "previous bar", "prior bar", "preceding day")
_VERBS = (
    "IS", "CROSS", "ABOVE", "BELOW", "RISES", "FALLS", "AT_LEAST", "AT_MOST", "MOVES", "CLOSES", "TURNS", "REACHES",
    "BETWEEN", "NOT", "MAKES", "RETURNS", "POSITIVE", "NEGATIVE", "OVERSOLD", "OVERBOUGHT", "EQUALS", "TWICE",
)  # fmt: skip


def sloping(r: Reader) -> tuple[Line, Way, int] | None:
    """its rising 200-day average, a falling 50-day SMA (falling for 5 bars): the line, which way, over how long."""
    with r.trying() as attempt:
        r.take("ITS")
        token = r.take("RISES", "FALLS")
        if token is None or not any(word in _SLOPES for word in token.text.split()):
            return None
        made = line(r)
        if made is None or made.name in ("close", "highest", "lowest"):
            return None
        attempt.keep()
        way: Way = "up" if token.kind == "RISES" else "down"
        return made, way, _how_long(r, token.kind)


def _how_long(r: Reader, kind: str) -> int:
    """(rising for 5 bars)"""
    with r.trying() as attempt:
        if r.take("(") and r.take(kind):
            r.take("FOR", "ABOVE", "IN")
            r.skip("AT_LEAST", "PREVIOUS")
            bars = period(r)
            if bars is not None and r.take(")"):
                attempt.keep()
                return bars
    return 1


def slope(r: Reader) -> Condition | None:
    """with a rising 50-day SMA: said without a verb."""
    with r.trying() as attempt:
        found = sloping(r)
        if found is None or r.at(*_VERBS):
            return None
        attempt.keep()
        made, way, bars = found
        r.it = made
        return Trend(line=made, way=way, bars=bars)


def sloped(r: Reader) -> Condition | None:
    """the slope of the 50-day SMA is positive."""
    with r.trying() as attempt:
        if not r.take("SLOPE") or not r.take("OF") or (made := line(r)) is None:
            return None
        r.take("IS")
        zero = r.take("ABOVE", "BELOW")
        way = r.take("POSITIVE", "NEGATIVE", "RISES", "FALLS") if zero is None else r.take("NUM")
        if way is None or (zero is not None and way.value != 0):
            return None
        attempt.keep()
        r.it = made
        up = (zero or way).kind in ("POSITIVE", "RISES", "ABOVE")
        return Trend(line=made, way="up" if up else "down")


def beside_sloping(r: Reader, left: Operand, level: Level) -> Condition | None:
    """is above its rising 200-day average: it is, and that rises."""
    found = sloping(r)
    if found is None:
        return None
    made, way, bars = found
    return AllOf(parts=(Compare(left=left, level=level, right=made), Trend(line=made, way=way, bars=bars)))


def several(r: Reader, left: Operand, side: str) -> tuple[Line, ...] | None:
    """the 10-day, the 50-day and the 200-day moving averages; SMA 20, 50 and 200; its 20-day EMA and 50-day EMA."""
    try:
        return _numbered(r) or _named_once(r) or _spelled(r, left if isinstance(left, Line) else None, side)
    except Question:
        return None  # what is doubtful is asked where it is read alone


def _numbered(r: Reader) -> tuple[Line, ...] | None:
    """the 10, 50 and 200 day SMA."""
    with r.trying() as attempt:
        if r.take("BOTH") and r.at("NUM") and r.at("OF", ahead=1):
            r.take_all("NUM", "OF")  # all three of the 10, 20 and 50-day averages
        r.take("ITS")
        bars: list[float] = []
        while r.at("NUM") and (found := period(r, bare=True)) is not None:
            bars.append(found)
            if not _and(r):
                break
            r.take("ITS")
        name = line_name(r)
        if len(bars) < 3 or name is None or r.at(*_VERBS):
            return None
        attempt.keep()
        return tuple(Line(name=name, values=(one,)) for one in bars)


_NO_PERIOD = ("ATR", "TIMES", "STOP", "TARGET", "TRAIL", "SHARES", "DOLLARS")  # … EMA 100, 2 ATR stop


def _named_once(r: Reader) -> tuple[Line, ...] | None:
    """SMA 20, 50 and 200; EMA(20) and EMA(50)."""
    with r.trying() as attempt:
        r.take("BOTH", "ITS")
        name = line_name(r)
        first = r.take("NUM") if name is not None else None
        bars = [] if first is None else [first.value]
        while bars:
            with r.trying() as more:
                if not _and(r) or r.at(*UNITS, "PERCENT", *_NO_PERIOD, ahead=1):
                    break
                if (number := r.take("NUM")) is None:
                    break
                more.keep()
                bars.append(number.value)
        joined = r.peek(-2).kind == "AND"  # 20, 50 and 200: after a mere comma another thing may begin
        if name is None or len(bars) < 2 or not joined or not r.at(*_ENDS):
            return None
        attempt.keep()
        return tuple(Line(name=name, values=(one,)) for one in bars)


def _spelled(r: Reader, left: Line | None, side: str) -> tuple[Line, ...] | None:
    """its 20-day EMA, its 50-day SMA and its 200-day SMA: none of them with a verb of its own."""
    with r.trying() as attempt:
        wide = r.take("BOTH")
        made: list[Line] = []
        while (one := line(r, left, side)) is not None:
            made.append(named(one))
            if not r.at("AND", ",") or not _and(r):
                break
        plain = all(one.name not in ("close", "?") for one in made)
        if len(made) < 2 or not plain or r.at(*_VERBS, "(") or len({scale(one) for one in made}) > 1:
            return None
        if wide is None and r.peek(-1).kind in ("AND", ","):
            return None
        attempt.keep()
        return tuple(made)


def _and(r: Reader) -> bool:
    """A comma, an and, or both."""
    comma = r.take(",", "SLASH") is not None
    return r.take("AND") is not None or comma


def in_cloud(r: Reader, left: Operand) -> Condition | None:
    """is inside the cloud, closes back inside or under it: between its edges, or no higher than its top."""
    with r.trying() as attempt:
        token = r.take("BETWEEN", "IN")
        if token is None or token.text not in ("inside", "within", "in", "into"):
            return None
        other = r.take("OR_LESS", "OR_MORE") or (r.take("ABOVE", "BELOW") if r.take("OR") else None)
        if r.peek(-1).kind == "OR" or not r.take("CLOUD"):
            return None
        attempt.keep()
        top, bottom = usual_line("cloud", "top"), usual_line("cloud", "bottom")
        if values := r.known.get("cloud") or r.known.get("ichimoku"):
            top, bottom = replace(top, values=values), replace(bottom, values=values)
        if other is None:
            return Between(left=left, low=bottom, high=top)
        under = other.kind in ("BELOW", "OR_LESS")
        return Compare(left=left, level="at_most" if under else "at_least", right=top if under else bottom)


def dated(r: Reader, made: Condition) -> Condition:
    """RSI was below 30 yesterday, closed below its average two days ago: as it stood then; today says nothing new."""
    if not isinstance(made, (Compare, Between)) or not isinstance(made.left, Line):
        return made
    ends = (made.right,) if isinstance(made, Compare) else (made.low, made.high)
    if any(isinstance(end, Line) and (end.name in PRICES or end.ago) for end in ends):
        return made  # above the high yesterday: of which of the two?
    with r.trying() as attempt:
        r.take("ON")
        if r.peek().text in ("today", "current bar", "current day") and r.take("CURRENT"):
            attempt.keep() if r.peek(-2).kind != "ON" else None
            return made
        before = r.take("PREVIOUS")
        bars = 1 if before is not None and before.text in _YESTERDAY else ago(r, made.left) if before is None else None
        if bars is None or (r.at("NUM") and r.at(*UNITS, ahead=1)):
            return made
        attempt.keep()
        return map_lines(made, lambda line: replace(line, ago=line.ago + bars))


def outdone(r: Reader, left: Operand, first: int) -> Condition | None:
    """has outperformed SPY over the last 21 days, gained more than SPY in a month: by what each made."""
    r.skip("IS")
    if not isinstance(left, Line) or left.name != "close":
        return None
    token = r.take("RISES", "GAIN") if r.at("ABOVE", "BELOW", ahead=1) else None
    side = r.take("ABOVE", "BELOW")
    spoken = token is not None or (side is not None and side.text.startswith(("outperf", "underperf", "beat")))
    other = r.take("SYMBOL") if spoken else None
    bars = span(r) if other is not None else None
    if side is None or other is None or bars is None:
        return None
    mine = Line(name="roc", values=(bars,), symbol=left.symbol)
    symbol = other.text if left.symbol else r.whose(other.text)
    if symbol == left.symbol:
        return None
    return Compare(left=mine, level=_LEVELS[side.kind], right=replace(mine, symbol=symbol))
