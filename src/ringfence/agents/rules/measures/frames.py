"""The length of the bars a request is written for: 1h candles, on the daily chart, EURUSD H1."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

from ringfence.agents.rules.measures.settings import NAMES, SUFFIXES, TIMEFRAMES
from ringfence.agents.rules.reader import UNITS, Reader, minutes
from ringfence.agents.rules.text.tokens import Token
from ringfence.trade.description.model import Line

_CODES = {"H1": "1h", "H4": "4h", "M1": "1m", "M5": "5m", "M15": "15m", "M30": "30m", "D1": "1d", "W1": "1w"}
FRAME_UNITS = {"1w": "WEEK", "1mo": "MONTH"}
_ENDS = ("END", "STOP_MARK", ",", "COLON", ")", "AND")


def stated(tokens: Sequence[Token]) -> str:
    """The finest bars that are named, where the data is not known; daily ones where none are."""
    r = Reader(tokens=list(tokens))
    found: list[str] = []
    for n, token in enumerate(tokens):
        r.i = n
        before = tokens[n - 1].kind if n else "STOP_MARK"
        if before in ("USE", "ON", "FOR") and (n < 2 or tokens[n - 2].kind in ("STOP_MARK", "COLON", ",")):
            before = "STOP_MARK"  # use weekly bars
        if before in ("CHART", "IS") and "CHART" in (tokens[n - 1].kind, tokens[n - 2].kind if n > 1 else ""):
            before = "STOP_MARK"  # timeframe is 4h
        alone = before in ("SYMBOL", "STOP_MARK", ",", "(", "COLON")
        frame = (
            named_bars(r, bare=alone and token.kind in ("NUM", "HOURLY"))
            if token.kind in ("NUM", "HOURLY", "FRAME")
            else ""
        )
        if not frame and alone and token.text in ("weekly", "monthly"):
            frame = named_bars(r, bare=False)
            frame = frame if r.at(*_ENDS) or (r.at("ON", "FOR", "OF") and r.at("SYMBOL", ahead=1)) else ""
            found += [frame] if frame else []
        elif frame and minutes(frame) < minutes("1d"):
            found.append(frame)
    kinds = [token.kind for token in tokens]
    hourly = any(kind == "HOURLY" and after in NAMES for kind, after in pairwise(kinds))
    if not found and hourly and "HOUR" in kinds:
        return "1h"  # hourly volume is over its 48-hour average
    return min(found, key=minutes, default=_counted_in(kinds))


def _counted_in(kinds: Sequence[str]) -> str:
    """above the 20-week average on weekly bars: those, where every length that is said is counted in them."""
    for word, (frame, unit) in {"WEEKLY": ("1w", "WEEK"), "MONTHLY": ("1mo", "MONTH")}.items():
        named = any(kinds[n : n + 3] in (["ON", word, "BAR"], ["ON", word, "CHART"]) for n in range(len(kinds)))
        counted = {after for kind, after in pairwise(kinds) if kind == "NUM" and after in UNITS}
        if named and counted == {unit} and "DAILY" not in kinds:
            return frame
    return "1d"


def named_bars(r: Reader, *, bare: bool = False) -> str:
    """5-minute bars, the 1h chart, hourly candles, H4; where `bare`, 15m alone."""
    code = r.take("FRAME")
    if code is not None:
        r.take("CHART", "BAR")
        return _CODES[code.text]
    with r.trying() as attempt:
        word = r.take(*TIMEFRAMES)
        if word is not None:
            frame = TIMEFRAMES[word.kind]
        else:
            count, unit = r.take("NUM"), r.take(*SUFFIXES)
            if count is None or unit is None or unit.kind == "MONTH":
                return ""
            sole = count.value == 1 and (r.at("BAR", "CHART") or (bare and r.at(*_ENDS)))
            if unit.kind in ("DAY", "WEEK") and not sole:
                return ""  # (14 days) is no length of a bar
            frame = f"{count.value:g}{SUFFIXES[unit.kind]}"
        r.take("SYMBOL") if r.at("BAR", ahead=1) and bare else None
        prices = r.take("PRICE") if r.peek().text == "prices" else None
        named = prices or r.take("BAR", "CHART") or r.take("CLOSE" if r.at("CHART", ahead=1) else "BAR")
        if named is None and not (bare and r.at(*_ENDS, "USE", "(", "WHEN")):
            return ""
        r.take("CHART", "BAR")
        attempt.keep()
        return frame


def frame(r: Reader, *, bare: bool = False) -> bool:
    """A statement of the bars, which are those of the data or are asked about."""
    first = r.i
    with r.trying() as attempt:
        bracket = r.take("(")
        r.take("ON", "USE", "IN", "FOR", "OF")
        named = r.take("CHART") if r.at("NUM", "IS", "COLON", *TIMEFRAMES, "FRAME", ahead=1) else None
        r.take("IS", "COLON") if named else None  # timeframe: 1 day
        found = named_bars(r, bare=bare or bracket is not None or named is not None)
        if not found or (bracket is not None and not r.take(")")):
            return False
        attempt.keep()
    if minutes(found) != minutes(r.timeframe):
        raise r.ask(
            f"it is written for {found} bars, and the data has {r.timeframe} bars",
            [f"give it data of {found} bars", f"write it for {r.timeframe} bars"],
            first,
        )
    return True


def coarser(r: Reader, frame: str) -> str:
    """Coarser bars than the data's own; finer ones it does not have."""
    if minutes(frame) == minutes(r.timeframe):
        return ""
    if minutes(frame) < minutes(r.timeframe):
        raise r.ask(f"the data has {r.timeframe} bars, and {frame} bars cannot be made of them", ["weekly"], r.i - 1)
    return frame


_BEFORE_LINE = ("AND", "OR", ",", "STOP_MARK", "COLON", "WHEN", "IS", "ABOVE", "BELOW", "CROSS", "THEN", "EVERY")


def on_chart(r: Reader, made: Line) -> Line:
    """on the weekly chart, on 1w bars."""
    with r.trying() as attempt:
        ends = r.i
        if r.take("ON") is None:
            return made
        token = r.take(*TIMEFRAMES)
        frame = TIMEFRAMES[token.kind] if token else ""
        if token is None and r.at("NUM") and r.at(*SUFFIXES, ahead=1):
            count, unit = r.take("NUM"), r.take(*SUFFIXES)
            assert count is not None and unit is not None
            frame = f"{count.value:g}{SUFFIXES[unit.kind]}"
        if made.timeframe not in ("", frame):
            return made
        if frame and (r.take("CHART", "BAR") or token):
            attempt.keep()
            return replace(_in_own_bars(r, made, frame, ends), timeframe=coarser(r, frame))
    return made


def _in_own_bars(r: Reader, made: Line, frame: str, ends: int) -> Line:
    """the 20-week average on weekly bars: of twenty of those. The line's words are before `ends`."""
    unit = FRAME_UNITS.get(frame, "")
    n = ends - 2
    while n >= 0 and r.tokens[n].kind not in _BEFORE_LINE:
        count, after = r.tokens[n], r.tokens[n + 1]
        if count.kind == "NUM" and after.kind == unit and made.values[:1] == (r.bars(count.value, unit, n),):
            return replace(made, values=(int(count.value), *made.values[1:]))
        n -= 1
    return made
