"""Verbs of movement over time: is rising for 3 bars, drops 5 % in 3 days, has fallen 10 % from its high."""

from __future__ import annotations

from dataclasses import replace

from ringfence.agents.rules.measures.lines import ago
from ringfence.agents.rules.measures.operands import operand
from ringfence.agents.rules.reader import UNITS, Reader, percent, period
from ringfence.trade.description.model import (
    AllOf,
    Beyond,
    Change,
    Compare,
    Condition,
    Cross,
    Level,
    Line,
    Number,
    Operand,
    Trend,
    Way,
)

_TURNING = ("turns", "turn", "turning", "turned", "flips", "flip", "curls", "hooks")
_STARTING = ("starts", "started", "begins", "begin", "has", "begun")
_OVER = ("END", "STOP_MARK", ",", "AND", "OR", ")", "THEN", "BUY", "SELL", "SHORT", "EXIT", "COVER", "USE", "COLON")
_IN_A_DAY = ("close", "closes", "closed", "closing", "finish", "finishes", "finished", "ends", "end", "ended")


def trend(r: Reader, left: Operand, first: int) -> Condition | None:
    """is rising, has fallen for 3 days, rises 3 bars in a row."""
    r.skip("IS")
    token = r.take("RISES", "FALLS")
    if token is None or not isinstance(left, Line) or (r.at("NUM") and r.at("PERCENT", "BPS", ahead=1)):
        return None
    if left.name == "supertrend" and token.text in ("up", "down") and r.at(*_OVER, "WHEN"):
        level: Level = "above" if token.kind == "RISES" else "below"
        return Compare(left=replace(left, part="direction"), level=level, right=Number(value=0))
    net = _since_then(r, left, token.text, up=token.kind == "RISES")
    if net is not None:
        return net
    bars = 1
    with r.trying() as attempt:
        r.take("FOR", "IN", "ABOVE", "ON")
        r.skip("AT_LEAST", "PREVIOUS")
        if r.at("NUM") and r.at("CONSECUTIVE", ahead=1):
            number = r.take("NUM")
            r.take("CONSECUTIVE")
            found = int(number.value) if number and r.take(*UNITS) else None
        else:
            found = period(r)
        if found is not None:
            r.take("CONSECUTIVE")
            bars = found
            attempt.keep()
    return Trend(line=left, way="up" if token.kind == "RISES" else "down", bars=bars)


_NET = (
    "up",
    "down",
    "higher",
    "lower",
    "risen",
    "fallen",
    "gained",
    "lost",
    "dropped",
    "declined",
    "gone up",
    "gone down",
)


def _since_then(r: Reader, left: Line, word: str, *, up: bool) -> Condition | None:
    """is up over the last month, is down on the week: beside where it was then, whatever came between."""
    if word not in _NET or r.at("FOR"):
        return None
    with r.trying() as attempt:
        bars = span(r)
        if bars is None or r.at("CONSECUTIVE"):
            return None
        attempt.keep()
        return Compare(left=left, level="above" if up else "below", right=replace(left, ago=left.ago + bars))


def change(r: Reader, left: Operand, first: int) -> Condition | None:
    """drops 5 % in 3 days, is up more than 10 % over a month, falls 10 % from its 52-week high."""
    r.skip("IS")
    token = r.take("RISES", "FALLS", "LOSS", "GAIN")
    if token is None or not isinstance(left, Line):
        return None
    r.skip("BY")
    word = r.take("ABOVE", "AT_LEAST")
    less = r.take("BELOW", "AT_MOST") if word is None else None
    size = percent(r)
    if size is None:
        return None
    if less is not None:
        return _slight(r, left, size, up=token.kind in ("RISES", "GAIN"), hard=less.kind == "BELOW")
    more = r.take("OR_MORE")
    up = token.kind in ("RISES", "GAIN")
    hard = word is not None and word.kind == "ABOVE" and more is None
    with r.trying() as attempt:
        if r.take("FROM", "BELOW", "ABOVE", "OF"):
            right = operand(r, left)
            if right == left:
                return None  # 6 % from my price is no rule about the price now
            if isinstance(right, Line) and right.name != "?":
                attempt.keep()
                levels: tuple[Level, Level] = ("above", "below") if hard else ("at_least", "at_most")
                return Compare(left=left, level=levels[0] if up else levels[1],
                               right=Beyond(line=right, percent=size if up else -size))  # fmt: skip
    bars = span(r)
    if bars is None and token.text.split()[0] in _IN_A_DAY:
        bars = 1  # it closes up 3 %
    if bars is None:
        return None
    return Change(line=left, way="up" if up else "down", percent=size, bars=bars, strict=hard)


def _slight(r: Reader, left: Line, size: float, *, up: bool, hard: bool) -> Condition | None:
    """is up less than 2 % over 10 days: by the rate of change, which may be below zero too, and that is told."""
    bars = span(r)
    if bars is None or left.name != "close" or left.ago:
        return None
    rate = Line(name="roc", values=(bars,), symbol=left.symbol, timeframe=left.timeframe)
    ends: tuple[Level, Level] = ("below", "above") if hard else ("at_most", "at_least")
    way, other = ("up", "down") if up else ("down", "up")
    r.notices.append(f"{way} less than {size:g} % is also so where it is {other}")
    return Compare(left=rate, level=ends[not up], right=Number(value=size if up else -size))


def since(r: Reader, left: Operand, first: int) -> Condition | None:
    """closes 5 % or more lower than seven days before, is at least 10 % above where it was a month ago."""
    r.take("IS", "CLOSES")
    word = r.take("ABOVE", "AT_LEAST")
    size = percent(r)
    more = r.take("OR_MORE") is not None
    side = r.take("ABOVE", "BELOW", "RISES", "FALLS") if size is not None else None
    if size is None or side is None or not isinstance(left, Line):
        return None
    r.take("FROM", "ON")
    r.take("WHEN") if r.peek().text == "where" else None
    r.take_all("IT", "IS") or r.take_all("ITS", "LINE") or r.take("ITS")
    r.take("CLOSE", "PRICE") if left.name == "close" else None
    bars = ago(r, left, "BEFORE")
    if bars is None:
        return None
    up = side.kind in ("ABOVE", "RISES")
    hard = word is not None and word.kind == "ABOVE" and not more
    return Change(line=left, way="up" if up else "down", percent=size, bars=bars, strict=hard)


def changed_sign(r: Reader, left: Operand, first: int) -> Condition | None:
    """turns from negative to positive, goes from bearish to bullish."""
    if not r.take("TURNS", "MOVES", "RISES", "FALLS", "CROSS") or not r.take("FROM") or not isinstance(left, Line):
        return None
    before = r.take("NEGATIVE", "POSITIVE")
    after = r.take("NEGATIVE", "POSITIVE") if before is not None and r.take("TO", "IN") else None
    if before is None or after is None or before.kind == after.kind:
        return None
    return Cross(left=left, direction="above" if after.kind == "POSITIVE" else "below", right=Number(value=0))


def turned(r: Reader, left: Operand, first: int) -> Condition | None:
    """turns up, turns down after 3 rising days: now the one way, and on the bars before the other."""
    if not r.take("TURNS", "MOVES") or not isinstance(left, Line):
        return None
    starts = r.peek(-1).text.split()[0] in _STARTING
    if not starts and r.peek(-1).text.split()[0] not in _TURNING:
        return None
    r.take("BACK")
    way = r.take("RISES", "FALLS")
    if way is None or not (starts or way.text in ("up", "down", "upward", "upwards", "downward", "downwards")):
        return None
    bars = 1
    with r.trying() as attempt:
        if r.take("AFTER", "FROM"):
            r.skip("IS", "AT_LEAST")
            found = _stretch(r, "FALLS" if way.kind == "RISES" else "RISES")
            if found is None:
                return None
            bars = found
            attempt.keep()
    if not r.at(*_OVER):
        return None
    here: Way = "up" if way.kind == "RISES" else "down"
    there: Way = "down" if way.kind == "RISES" else "up"
    before = Trend(line=replace(left, ago=left.ago + 1), way=there, bars=bars)
    return AllOf(parts=(Trend(line=left, way=here), before))


def _stretch(r: Reader, kind: str) -> int | None:
    """3 falling days, falling for 3 days, 3 days of falling."""
    number = r.take("NUM")
    r.take("CONSECUTIVE")
    unit = r.take(*UNITS) if number is not None else None
    r.take("OF", "IN")
    if not r.take(kind):
        return None
    if number is None:
        r.take("FOR")
        r.take("AT_LEAST")
        return period(r)
    unit = unit or r.take(*UNITS)
    r.take("CONSECUTIVE")
    named = r.peek(-1).text.endswith(("days", "bars", "closes", "candles"))
    return r.bars(number.value, unit.kind, r.i - 1) if unit is not None else int(number.value) if named else None


def span(r: Reader) -> int | None:
    """in 3 days, over the last month, within 5 bars, on the day, in one bar."""
    if r.peek().text == "today" and r.take("CURRENT"):
        return 1
    with r.trying() as attempt:
        if r.take("IN", "ABOVE", "BETWEEN", "FOR", "ON", "AFTER", "FROM") is None:
            return None
        if r.over and r.take("SAME") and (r.peek(-1).text == "same days" or r.take("TIMES", "BAR", "DAY")):
            attempt.keep()
            return r.over  # over the same time
        r.skip("PREVIOUS", "ANY", "EVERY")
        r.take("SINGLE")
        found = period(r)
        if found is not None:
            r.take("AGO")
            r.over = found
            attempt.keep()
        return found
