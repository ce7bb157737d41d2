"""Conditions said with a noun: a 4 % drop over two days, three lower closes, an inside day, above-average volume."""

from __future__ import annotations

from dataclasses import replace

from ringfence.agents.rules.conditions.movements import span
from ringfence.agents.rules.measures.lines import line
from ringfence.agents.rules.measures.scales import scale
from ringfence.agents.rules.measures.settings import COLUMNS, NAMES
from ringfence.agents.rules.reader import Attempt, Reader, percent, period
from ringfence.trade.description.catalogue import usual_line
from ringfence.trade.description.lines import map_lines
from ringfence.trade.description.model import (
    AllOf,
    Beyond,
    Change,
    Compare,
    Condition,
    Held,
    Level,
    Line,
    Scaled,
    Trend,
    Way,
)

_CLOSE, _OPEN = Line(name="close"), Line(name="open")
_CANDLES = ("candle", "candles", "bar", "bars")
# What a run of closes may be called, before the noun or as one word with it.
_RUNS = (
    "higher", "lower", "up", "down", "green", "red", "positive", "negative", "winning", "losing", "rising", "falling",
    "declining", "advancing", "increasing", "decreasing", "gaining",
)  # fmt: skip
_ONE_DAY = ("up day", "down day", "green day", "red day", "up close", "down close", "positive day", "negative day")
_WAYS: dict[str, Way] = {"RISES": "up", "FALLS": "down", "GAIN": "up", "LOSS": "down"}


def shape(r: Reader) -> Condition | None:
    """green candle, the bar closes up: the close above the open."""
    with r.trying() as attempt:
        when = r.take("CURRENT", "PREVIOUS")
        bar = r.take("BAR") if r.peek().text in ("candle", "bar", "candlestick") else None
        bar = bar or when
        r.take("ON", "IS")
        if bar is not None and (mood := r.take("BULLISH", "BEARISH")):
            attempt.keep()
            back = 1 if when is not None and when.kind == "PREVIOUS" else 0
            return map_lines(_body(r, up=mood.kind == "BULLISH"), lambda line: replace(line, ago=back))
        token = r.take("RISES", "FALLS")
        if bar is not None or token is None or token.text not in ("green candle", "red candle"):
            return None
        attempt.keep()
        return _body(r, up=token.kind == "RISES")


def _body(r: Reader, *, up: bool) -> Compare:
    r.it = r.it or _CLOSE
    return Compare(left=_CLOSE, level="above" if up else "below", right=_OPEN)


def ranged(r: Reader) -> Condition | None:
    """an inside day, an outside bar: of the high and low before."""
    with r.trying() as attempt:
        r.take("ON", "AFTER", "AT")
        r.take("IS", "MAKES")
        token = r.take("INSIDE_DAY", "OUTSIDE_DAY")
        if token is None:
            return None
        r.take("HAPPENS")
        levels: tuple[Level, Level] = ("below", "above") if token.kind == "INSIDE_DAY" else ("above", "below")
        parts: list[Condition] = [
            Compare(left=Line(name=name), level=level, right=Line(name=name, ago=1))
            for name, level in zip(("high", "low"), levels, strict=True)
        ]
        closed = r.take("RISES", "FALLS") if r.peek().text in ("closes up", "closes down") else None
        if closed is not None:  # an outside bar that closes up
            parts.append(_body(r, up=closed.kind == "RISES"))
        attempt.keep()
        r.it = _CLOSE
        return AllOf(parts=tuple(parts))


def closes_running(r: Reader) -> Condition | None:
    """two consecutive closes below the lower band, three closes in a row above its average."""
    with r.trying() as attempt:
        number = r.take("NUM")
        row = r.take("CONSECUTIVE") if number is not None else None
        if number is None or not r.take("CLOSES", "CLOSE"):
            return None
        row = row or r.take("CONSECUTIVE")
        side = r.take("ABOVE", "BELOW")
        right = line(r, _CLOSE, side.kind.lower()) if side is not None else None
        right = r.right if right is None and side is not None and r.right is not None and r.take("IT") else right
        row = row or r.take("CONSECUTIVE")  # two closes below it in a row
        if side is None or right is None or scale(right) != "price" or not 1 < number.value == int(number.value):
            return None
        if row is None:
            return None
        attempt.keep()
        r.it, r.right = _CLOSE, right
        made = Compare(left=_CLOSE, level="above" if side.kind == "ABOVE" else "below", right=right)
        return Held(condition=made, bars=int(number.value))


def nominal(r: Reader) -> Condition | None:
    """a 4 % drop over two days, a fall of 5 % or more in 20 days, a daily drop of 2 %, a 10 % one-day jump."""
    with r.trying() as attempt:
        r.take("EVERY", "FIRST", "ANY")
        bars = _long(r)
        size, hard = _sized(r)
        bars = bars or (_long(r) if size is not None else None)
        way = r.take(*_WAYS)
        if way is None or way.text.startswith(("in ", "profit", "winning", "losing")):
            return None
        up = _WAYS[way.kind] == "up"
        if size is not None and r.at("FROM", "BELOW", "ABOVE"):
            r.take("FROM", "BELOW", "ABOVE")
            return _from_line(r, attempt, size, up=up, hard=hard)
        over = span(r) if bars is None else None
        if size is None:
            r.take("OF", "IS", "BY")
            size, hard = _sized(r)
        over = span(r) if bars is None and over is None else over
        over = over or (1 if way.text in _ONE_DAY else None)
        if size is None or (bars or over) is None:
            return None
        attempt.keep()
        r.it = _CLOSE
        return Change(line=_CLOSE, way="up" if up else "down", percent=size, bars=bars or over or 1, strict=hard)


def moved_so(r: Reader) -> Condition | None:
    """on a daily drop of 2 %, after every fall of 5 % in 20 days: a move, and no day of the calendar."""
    with r.trying() as attempt:
        r.take("ON", "AFTER")
        made = nominal(r)
        if made is not None:
            attempt.keep()
        return made


def _long(r: Reader) -> int | None:
    """daily, one-day, 3-day, single-session: how long the move before or after it took."""
    first = r.i
    with r.trying() as attempt:
        r.take("SINGLE")
        named = r.at(*NAMES, ahead=1) and not r.at(*_WAYS, "ROC", ahead=1)  # the daily RSI on bars of an hour
        if not named and (token := r.take("DAILY", "WEEKLY", "MONTHLY")):
            attempt.keep()
            unit = {"DAILY": "DAY", "WEEKLY": "WEEK", "MONTHLY": "MONTH"}[token.kind]
            return r.bars(1, unit, first)
        found = period(r) if r.at("NUM") else None
        if found is None and r.peek(-1).kind == "SINGLE" and (unit_token := r.take("DAY", "BAR")):
            attempt.keep()
            return r.bars(1, unit_token.kind, first)
        if found is not None and r.at(*_WAYS, "NUM", "ABOVE", "AT_LEAST"):
            attempt.keep()
            return found
    return None


def _sized(r: Reader) -> tuple[float | None, bool]:
    """more than 5 %, 5 % or more: how much, and whether it must be more than that."""
    with r.trying() as attempt:
        word = r.take("ABOVE", "AT_LEAST")
        size = percent(r)
        if size is None:
            return None, False
        more = r.take("OR_MORE")
        attempt.keep()
        return size, word is not None and word.kind == "ABOVE" and more is None


def _from_line(r: Reader, attempt: Attempt, size: float, *, up: bool, hard: bool) -> Condition | None:
    """a 10 % drop from its 50-day high."""
    made = line(r)
    if made is None:
        return None
    attempt.keep()
    levels: tuple[Level, Level] = ("above", "below") if hard else ("at_least", "at_most")
    r.it, r.right = _CLOSE, made
    return Compare(left=r.it, level=levels[not up], right=Beyond(line=made, percent=size if up else -size))


def gap(r: Reader) -> Condition | None:
    """it gaps up by 2 %, a gap down of more than 1 % from yesterday's close, gaps up above yesterday's high."""
    with r.trying() as attempt:
        whose = r.take("IT", "PRICE", "OPEN", "SYMBOL")
        r.take("ON", "AFTER", "IS") if whose is None else None
        r.take("USE", "MAKES") if r.at("GAP", ahead=1) else None
        size, hard = _sized(r)
        opens = whose is not None and whose.text == "opens" and r.at("RISES", "FALLS")
        symbol = r.whose(whose.text) if whose is not None and whose.kind == "SYMBOL" else ""
        if not opens and r.take("GAP") is None:
            return None
        way = r.take("RISES", "FALLS", "ABOVE", "BELOW")
        if way is None:
            return None
        up = way.kind in ("RISES", "ABOVE")
        r.skip("BY", "OF")
        beyond = line(r) if way.kind in ("ABOVE", "BELOW") and size is None else None
        if beyond in (Line(name="high", ago=1), Line(name="low", ago=1)):
            attempt.keep()
            r.it = replace(_CLOSE, symbol=symbol)
            return _of(Compare(left=_OPEN, level="above" if up else "below", right=beyond), symbol)
        if size is None:
            size, hard = _sized(r)
        before = _gapped_over(r, up=up, sized=size is not None)
        if before is None or (opens and size is None):
            return None
        r.take_all("AT", "OPEN")
        before = _gapped_over(r, up=up, sized=True) or before
        right = before if size is None else Beyond(line=before, percent=size if up else -size)
        levels: tuple[Level, Level] = ("above", "below") if hard or size is None else ("at_least", "at_most")
        attempt.keep()
        r.it = replace(_CLOSE, symbol=symbol)
        return _of(Compare(left=_OPEN, level=levels[not up], right=right), symbol)


def _of(made: Condition, symbol: str) -> Condition:
    """The same of an instrument that is named beside it."""
    return map_lines(made, lambda one: replace(one, symbol=symbol)) if symbol else made


def _gapped_over(r: Reader, *, up: bool, sized: bool) -> Line | None:
    """over yesterday's close, compared to the previous close, above yesterday's high; the last close if not said."""
    last = replace(_CLOSE, ago=1)
    with r.trying() as attempt:
        if r.peek().text.startswith("compare") and r.take("RANKED"):
            r.take("TO", "USE")
        elif not r.take("FROM", "AGAINST", "ABOVE" if up else "BELOW"):
            return last
        made = line(r)
        beyond = Line(name="high" if up else "low", ago=1)
        if made is not None and made in (last, beyond):
            attempt.keep()
            return made
    return None


def streak(r: Reader) -> Condition | None:
    """3 down days in a row, three consecutive lower closes, 3 straight green candles, four falling closes."""
    with r.trying() as attempt:
        r.take("AFTER", "ON")
        whose = r.take("IT", "PRICE", "SYMBOL") if r.at("IS", "NUM", "MAKES", "USE", ahead=1) else None
        symbol = r.whose(whose.text) if whose is not None and whose.kind == "SYMBOL" else ""
        r.skip("IS", "MAKES")
        r.take("USE") if r.peek().text == "having" else None
        r.take("AT_LEAST") if r.at("NUM", ahead=1) and r.at("CONSECUTIVE", "RISES", "FALLS", ahead=2) else None
        number = r.take("NUM")
        if number is None or number.value < 1:
            return None
        said = r.take("CONSECUTIVE")
        way = r.take("RISES", "FALLS")
        if way is None or way.text.split()[0] not in _RUNS:
            return None
        noun = r.take("DAY", "BAR", "CLOSE", "CLOSES", "HIGH", "LOW")
        r.take("IS") if r.at("CONSECUTIVE", ahead=1) else None
        said = r.take("CONSECUTIVE") or said
        r.take("HAPPENS")
        bare = len(way.text.split()) == 1 and (noun is None or not noun.text.endswith("s"))
        if (said is None and bare) or r.at("PERCENT"):
            return None
        attempt.keep()
        made = _run(r, way.text, noun.text if noun else "", int(number.value), up=way.kind == "RISES")
        r.it = replace(_CLOSE, symbol=symbol)
        return _of(made, symbol)


def _run(r: Reader, words: str, noun: str, bars: int, *, up: bool) -> Condition:
    """Green candles are closes above their opens; higher highs are highs, and days are closes."""
    r.it = _CLOSE
    last = noun or words.split()[-1]
    if words.startswith(("green", "red")) and last in _CANDLES:
        return Held(condition=Compare(left=_CLOSE, level="above" if up else "below", right=_OPEN), bars=bars)
    column = "high" if last.startswith("high") and last != "higher" else "low" if last in ("low", "lows") else "close"
    return Trend(line=Line(name=column), way="up" if up else "down", bars=bars)


def first_day(r: Reader) -> Condition | None:
    """the first up close, any red day."""
    with r.trying() as attempt:
        r.take("ON", "AFTER", "AT")
        said = r.take("FIRST", "EVERY", "NEXT")
        token = r.take("RISES", "FALLS")
        if token is None or not token.text.endswith((" close", " day", " bar")):
            return None
        if said is None and not r.at("END", "STOP_MARK", ",", "AND", "OR", "USE", "THEN"):
            return None
        attempt.keep()
        r.it = _CLOSE
        return Trend(line=_CLOSE, way="up" if token.kind == "RISES" else "down", bars=1)


def extremes(r: Reader) -> Condition | None:
    """a lower high, a higher low: this bar's beside the one before."""
    with r.trying() as attempt:
        r.take("ON", "AFTER")
        token = r.take("ABOVE", "BELOW")
        if token is None or token.text not in ("higher", "lower"):
            return None
        column = r.take("HIGH", "LOW", "OPEN")
        if column is None or not r.at("END", "STOP_MARK", ",", "AND", "OR", "USE", "THEN", ")", "CONSECUTIVE"):
            return None
        attempt.keep()
        r.it = _CLOSE
        return Trend(line=Line(name=COLUMNS[column.kind]), way="up" if token.kind == "ABOVE" else "down", bars=1)


def busy(r: Reader) -> Condition | None:
    """above-average volume, at least twice the average volume: of the volume, which is not named before."""
    with r.trying() as attempt:
        r.take("ON", "USE") if not r.at("VOLUME", ahead=1) else None
        if (token := r.take("ABOVE", "BELOW")) and r.take("AVERAGE"):
            bars = period(r) if r.at("NUM") else None
            if not r.take("VOLUME"):
                return None
            attempt.keep()
            usual = usual_line("volume_average")
            right = usual if bars is None else replace(usual, values=(bars,))
            return _volume("above" if token.kind == "ABOVE" else "below", right)
    with r.trying() as attempt:
        r.take("ON", "USE") if not r.at("VOLUME", ahead=1) else None
        word = r.take("ABOVE", "AT_LEAST")
        times = _times(r)
        r.take("OF")
        made = line(r) if times is not None else None
        if made is None or times is None or made.name != "volume_average" or made.ago or made.symbol:
            return None
        attempt.keep()
        hard = word is not None and word.kind == "ABOVE"
        return _volume("above" if hard else "at_least", Scaled(line=made, times=times))


def _volume(level: Level, right: Line | Scaled) -> Compare:
    return Compare(left=Line(name="volume"), level=level, right=right)


def _times(r: Reader) -> float | None:
    token = r.take("TWICE", "TRIPLE")
    if token is not None:
        return 2 if token.kind == "TWICE" else 3
    number = r.take("NUM")
    return number.value if number is not None and r.take("TIMES") else None


NOMINALS = (shape, ranged, closes_running, nominal, gap, streak, first_day, extremes, busy)
