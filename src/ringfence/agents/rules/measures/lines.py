"""Lines in English: the 14-day RSI, EMA(20), the lower Bollinger band, yesterday's high, SPY's 200-day average."""

from __future__ import annotations

from dataclasses import replace

from ringfence.agents.rules.measures.channels import band, cloud, each_of, extreme
from ringfence.agents.rules.measures.frames import FRAME_UNITS, coarser, on_chart
from ringfence.agents.rules.measures.own_settings import PARTS, first_setting, own_setting, place
from ringfence.agents.rules.measures.recalled import recalled
from ringfence.agents.rules.measures.scales import plain, scale
from ringfence.agents.rules.measures.settings import (
    AVERAGES,
    COLUMNS,
    NAMES,
    PART_WORDS,
    PARTED,
    SIMPLE,
    SUFFIXES,
    TIMEFRAMES,
    prefix_period,
    settings,
)
from ringfence.agents.rules.reader import UNITS, Reader, minutes, period
from ringfence.agents.rules.text.tokens import Token
from ringfence.trade.description.catalogue import KINDS, PRICES, SOURCED, usual_line
from ringfence.trade.description.echo import BEFORE_THIS_BAR
from ringfence.trade.description.lines import lines_of
from ringfence.trade.description.model import Line

_DIRECTIONAL = ("adx", "plus_di", "minus_di")  # of one period, unless each has its own
_WINDOWS = ("previous", "prior", "last", "past", "preceding", "most recent")


# After "RSI on SPY" these go on with the rule; anything else leaves SPY to be what is traded.
_AFTER_OWNER = ("IS", "ABOVE", "BELOW", "CROSS", "RISES", "FALLS", "MOVES", "AT_LEAST", "AT_MOST", "CLOSES", "REACHES")


def line(r: Reader, against: Line | None = None, side: str = "") -> Line | None:
    """A line, or None with nothing read. `against` is what it will be compared with, `side` where that lies."""
    with r.trying() as attempt:
        its = r.take("ITS") is not None
        its = (r.peek().text == "own" and r.at("NUM", ahead=1) and r.take("HOLD") is not None) or its
        current = r.take("CURRENT") is not None
        symbol = _owner(r)
        earlier = r.take("PREVIOUS")
        before = earlier is not None and not (r.at("NUM") and earlier.text in _WINDOWS)
        frame = _adjective(r)
        frame = frame or _of_a_day(r)
        coarse = "" if frame or symbol else _own_bars(r, against)
        made = _coarser(r, coarse, against, side) if coarse else _named(r, against, side)
        if made is None:
            if symbol:
                attempt.keep()
                return _finish(r, Line(name="close", symbol=_other(r, symbol)), against, before=before)
            return None
        if earlier is not None and not before and made.name not in ("highest", "lowest", "donchian"):
            return None  # the previous 20-day high is the 20-day high; the previous 20-day average is another line
        if symbol:  # beside another instrument's line it must be named
            made = replace(made, symbol=symbol if against is not None and against.symbol else _other(r, symbol))
        elif its and against is not None:
            made = replace(made, symbol=against.symbol)
        if frame or coarse:
            made = replace(made, timeframe=frame or coarse)
        if its and against is not None and made.name in SOURCED and not (made.source or made.of):
            made = of_own(made, against)
        if current and made.ago:
            made = replace(made, ago=0)
        if before and earlier is not None and _of_day(r, made, earlier.text):
            made, before = replace(made, timeframe="1d"), False
        made = _finish(r, made, against, before=before)
        attempt.keep()
        return made


_DAYS_BEFORE = ("yesterday", "yesterdays", "day before", "previous day", "prior day", "preceding day", "prior days",
                "previous days")  # fmt: skip


def _of_day(r: Reader, made: Line, word: str) -> bool:
    """Yesterday's high on bars of minutes: of the last day that is over, which is what coarser bars show."""
    return word in _DAYS_BEFORE and made.name in PRICES and minutes(r.timeframe) < minutes("1d") and not made.timeframe


def _of_a_day(r: Reader) -> str:
    """the daily close on bars of minutes: of the last day that is over."""
    daily = r.peek().text in ("daily close", "day close", "end of day price", "eod price", "eod close")
    return "1d" if daily and minutes(r.timeframe) < minutes("1d") else ""


def _own_bars(r: Reader, against: Line | None) -> str:
    """the weekly close is above its 30-week average: of thirty of the same bars."""
    frame = against.timeframe if against is not None else ""
    unit = FRAME_UNITS.get(frame, "")
    return frame if unit and r.at("NUM") and r.at(unit, ahead=1) and not r.at("AGO", "BEFORE", ahead=2) else ""


def _coarser(r: Reader, frame: str, against: Line | None, side: str) -> Line | None:
    own, r.timeframe = r.timeframe, frame
    try:
        return _named(r, against, side)
    finally:
        r.timeframe = own


def of_own(made: Line, against: Line) -> Line:
    """RSI and its average: of a line that is neither a price nor volume, the average is one of that line."""
    if against.name == "volume" and made.name in ("highest", "lowest"):
        return replace(made, source="volume", symbol=against.symbol, timeframe=made.timeframe or against.timeframe)
    if scale(against) in ("price", "volume") or against.of is not None or made.name == "rsi":
        return made
    return replace(made, of=plain(against), symbol=against.symbol, timeframe=made.timeframe or against.timeframe)


def _owner(r: Reader) -> str:
    """A ticker before a line is whose line it is; "of" may follow it in the other order."""
    if r.at("SYMBOL") and not r.at("AND", ",", "OR", "COLON", "SYMBOL", ahead=1):
        token = r.take("SYMBOL")
        assert token is not None
        return token.text
    return ""


def _other(r: Reader, symbol: str) -> str:
    """Whose line it is, where that is not what is traded."""
    return r.whose(symbol)


def _adjective(r: Reader) -> str:
    """weekly, 4-hour: before a line, the bars it is computed of."""
    token = r.take(*TIMEFRAMES)
    if token is not None:
        return coarser(r, TIMEFRAMES[token.kind])
    lasts = r.at("ROC", "HIGH", "LOW", "MOMENTUM", ahead=2)  # the 24-hour change is one over 24 hours
    lasts = lasts or (r.at(*AVERAGES, "AVERAGE", ahead=2) and not r.at("NUM", "(", ahead=3))
    if r.at("NUM") and r.at("MINUTE", "HOUR", ahead=1) and r.at(*NAMES, "NUM", ahead=2) and not lasts:
        count, unit = r.take("NUM"), r.take("MINUTE", "HOUR")
        assert count is not None and unit is not None
        return coarser(r, f"{count.value:g}{SUFFIXES[unit.kind]}")
    return ""


def _named(r: Reader, against: Line | None, side: str) -> Line | None:
    """A period before the name must be one of its settings: the 77 signal line is nothing."""
    start = r.i
    r.take("NEW")
    given = prefix_period(r)
    r.take("NEW")
    made = _by_name(r, given, against, side)
    if made is None or (given is not None and given not in (*made.values[:1], *made.values[place(made) :][:1])):
        r.i = start
        return None
    return made


def _by_name(r: Reader, given: int | None, against: Line | None, side: str) -> Line | None:
    made = each_of(r, given, side) or extreme(r, given) or band(r, given, side) or _average(r, given, against)
    if made is not None:
        return made
    token = r.take(*SIMPLE)
    if token is not None:
        return _simple(r, token.kind, given, token.text)
    token = r.take(*PARTED)
    if token is not None:
        return _parted(r, token.kind, given, against)
    if r.take("SIGNAL_LINE"):
        whose = next((one for one in (against, r.it, r.right) if one and one.name in ("macd", "stochastic")), None)
        part = "d" if whose and whose.name == "stochastic" else "signal"
        return own_setting(r, replace(whose or usual_line("macd"), part=part, ago=0), given, whose)
    edge = cloud(r, side)
    if edge is not None:
        return edge
    token = r.take(*COLUMNS) if given is None else None
    if token is not None and token.kind in ("HIGH", "LOW"):
        _that_high(r, token)
    return Line(name=COLUMNS[token.kind]) if token is not None else None


def _that_high(r: Reader, token: Token) -> None:
    """10 % below its 60-day high …, until it is back at that high: of then, of now, or of the bar? It is asked."""
    before = r.peek(-2) if r.i > 1 else token
    again = before.kind in ("RETURNS", "REACHES", "TO") or token.start - before.end == len(" that ")
    if again and any(one.name in ("highest", "lowest") for one in lines_of(r.entry)):
        raise r.ask(f"which {token.text} is that?", [f"the 20-day {token.text}", f"yesterday's {token.text}"], r.i - 1)


def _simple(r: Reader, kind: str, given: int | None, text: str) -> Line:
    made = usual_line(SIMPLE[kind])
    if given is not None and made.values:
        return _said(r, replace(made, values=(given, *made.values[1:])), explicit=True)
    first = r.i
    if kind == "VWAP" and minutes(r.timeframe) < minutes("1d") and not r.at("(", "NUM", "OF", "IN", "ABOVE"):
        r.notices.append("VWAP is that of the session, as is customary within a day")
        if r.i > 1 and r.peek(-2).kind in ("WEEKLY", "MONTHLY"):
            raise r.ask("VWAP is that of a day, and of no longer time", ["VWAP"], r.i - 1)
        return usual_line("session_vwap")
    if made.values:
        made = settings(r, made)
        made = _said(r, made, explicit=r.i > first)
    if kind == "ROC" and r.i == first and text not in ("roc", "rate of change"):
        raise r.ask(
            f"over how many bars is the {text}?", ["20-bar return", "63-bar return", "126-bar return"], first - 1
        )
    return made


def _said(r: Reader, made: Line, *, explicit: bool = False) -> Line:
    """Settings that were given count for every later mention without any: "the 3-day RSI … when RSI is …"."""
    usual = usual_line(made.name).values
    if made.name == "macd" and made.values[0] >= made.values[1]:
        raise r.ask("the first average of the MACD is the faster one", ["MACD(12, 26, 9)"], r.i - 1)
    bare = not explicit and r.peek(-1).kind not in (")", "NUM", *UNITS)
    other = next((r.known[name] for name in _DIRECTIONAL if name in r.known and name != made.name), None)
    if bare and made.name in _DIRECTIONAL and made.name not in r.known and other is not None:
        raise r.ask(f"over how many bars is the {KINDS[made.name].english}?", ["+DI(10), -DI(10), ADX(10)"], r.i - 1)
    whole = len(made.values) == 1  # %K(14) and %D(5) are of one indicator
    if whole and not bare and r.known.setdefault(f"first {made.name}", made.values) != made.values:
        r.known[f"other {made.name}"] = made.values
    if bare and f"other {made.name}" in r.known:
        raise r.ask(f"which {KINDS[made.name].english}: two were named", ["say its period"], r.i - 1)
    if made.values != usual:
        r.known[made.name] = made.values
    elif made.name in r.known and bare:
        r.notices.append(f"{KINDS[made.name].english} without a period is the one named before")
        return replace(made, values=r.known[made.name])
    return made


def _parted(r: Reader, kind: str, given: int | None, against: Line | None) -> Line:
    first, text = r.i, r.peek(-1).text
    name, part = PARTED[kind]
    made = usual_line(name, part)
    if kind in PARTS:
        made = own_setting(r, made, given, against)
        return _said(r, made, explicit=True)
    if given is not None and made.values:
        made = replace(made, values=(given, *made.values[1:]))
    words = PART_WORDS.get(name, {})
    made = settings(r, made)
    if given is not None and made.values and made.values[0] != given:
        raise r.ask(f"two periods for the {KINDS[name].english}", ["say one of them"], first)
    first_setting(r, kind, name, text)
    told = r.i > first or given is not None
    made = _said(r, made, explicit=given is not None) if made.values else made
    token = r.take(*words) if words else None
    if token is not None:
        made = replace(made, part=words[token.kind])
        made = own_setting(r, made, None, made) if told and r.at("(") else settings(r, made)
    return made


def _average(r: Reader, given: int | None, against: Line | None) -> Line | None:
    first = r.i
    with r.trying() as attempt:
        volume = r.take("VOLUME") is not None
        if given is None and r.at("AVERAGE") and r.at("OF", ahead=1) and r.at("NUM", ahead=2):
            given = _behind(r)  # the average of 9 exponential
        token = r.take(*AVERAGES, "AVERAGE")
        if token is None:
            return None
        plain = token.kind == "AVERAGE"
        if plain and r.at(*AVERAGES):
            return None
        volume = volume or r.take("VOLUME") is not None
        of_volume = volume or (plain and against is not None and against.name in ("volume", "volume_average"))
        name = "volume_average" if of_volume and token.kind in ("AVERAGE", "SMA") else AVERAGES.get(token.kind, "sma")
        source = "volume" if of_volume and name != "volume_average" else ""
        if plain and r.at("OF") and r.at("VOLUME", ahead=1):
            r.take_all("OF", "VOLUME")
            name = "volume_average"
        made = Line(name=name, values=(given or 0,), source=source)
        if given is None:
            made = settings(r, made)
        if 0 in made.values:
            meant = recalled(r, token.kind, name, against)
            if meant is None:
                choices = [f"the {bars}-bar {token.text}" for bars in (20, 50, 200)]
                raise r.ask(f"which {token.text}?", choices, first)
            made = meant
        attempt.keep()
        return made


def _behind(r: Reader) -> int | None:
    """of 9 days exponential: the period before the kind of average."""
    with r.trying() as attempt:
        r.take("AVERAGE")
        r.take("OF")
        bars = period(r, bare=True)
        if bars is not None and r.at(*AVERAGES):
            attempt.keep()
            return bars
    return None


def _finish(r: Reader, made: Line, against: Line | None, *, before: bool) -> Line:
    """What may follow a line: of the volume, of SPY, on the weekly chart, 3 bars ago."""
    r.skip("LINE")
    _said_again(r, made)
    if made.name in SOURCED and r.at("OF") and r.at("CLOSE", "VOLUME", "OPEN", "HIGH", "LOW", ahead=1):
        r.take("OF")
        column = r.take("CLOSE", "VOLUME", "OPEN", "HIGH", "LOW")
        assert column is not None
        source = COLUMNS[column.kind]
        if source != KINDS[made.name].columns[0]:
            made = replace(made, source=source)
    elif made.name in SOURCED and not made.of and r.at("OF"):
        made = _of_line(r, made)
    if r.at("SYMBOL", ahead=1) and (r.at("OF", "FOR") or (r.at("ON") and r.at(*_AFTER_OWNER, ahead=2))):
        r.take("OF", "FOR", "ON")
        symbol = r.take("SYMBOL")
        assert symbol is not None
        beside = against is not None and against.symbol != ""
        made = replace(made, symbol=symbol.text if beside else _other(r, symbol.text))
    if r.at("OF") and r.at("PREVIOUS", ahead=1) and not r.at("NUM", ahead=2):
        r.take("OF")
        word = r.take("PREVIOUS")
        unit = r.take("DAY", "BAR")
        day = unit is not None and unit.kind == "DAY"
        before = not _of_day(r, made, "yesterday" if day or word is None else word.text)
        made = made if before else replace(made, timeframe="1d")
    if before and made.name in BEFORE_THIS_BAR:
        before = False  # yesterday's 20-day high is that of the twenty days up to yesterday
    made = on_chart(r, made)
    if made.name == "momentum" and r.at("("):
        _defined(r, made)
    if before:
        made = replace(made, ago=made.ago + 1)
    bars = ago(r, made)
    return made if bars is None else replace(made, ago=made.ago + bars)


def _said_again(r: Reader, made: Line) -> None:
    """the 20-week average (100 days): the same length in bars."""
    with r.trying() as attempt:
        if made.values and r.take("(") and period(r) == made.values[0] and r.take(")"):
            attempt.keep()


def _of_line(r: Reader, made: Line) -> Line:
    """the 10-day average of RSI; what is said of the inner line is so of the whole."""
    with r.trying() as attempt:
        r.take("OF")
        within = line(r)
        if within is None or within.of is not None or within.name in (*PRICES, *BEFORE_THIS_BAR):
            return made
        attempt.keep()
        frame, symbol = made.timeframe or within.timeframe, made.symbol or within.symbol
        return replace(made, of=plain(within), ago=made.ago + within.ago, timeframe=frame, symbol=symbol)


def ago(r: Reader, made: Line, *words: str) -> int | None:
    """3 bars ago, 2 weeks ago: in bars of the line's own."""
    own = r.timeframe
    with r.trying() as attempt:
        r.timeframe = made.timeframe or own
        try:
            bars = period(r) if r.at("NUM", "DAY", "WEEK", "MONTH", "QUARTER", "YEAR") else None
        finally:
            r.timeframe = own
        if bars is not None and r.take("AGO", *words):
            attempt.keep()
            return bars
    return None


def _defined(r: Reader, made: Line) -> None:
    """10-day momentum (close minus close 10 days ago): what it is, said again."""
    with r.trying() as attempt:
        r.take("(")
        said = r.take("CLOSE", "PRICE") and r.take("MINUS") and r.take("CLOSE", "PRICE")
        if said and period(r) == made.values[0] and r.take("AGO") and r.take(")"):
            attempt.keep()
