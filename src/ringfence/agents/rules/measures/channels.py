"""Highs and lows of a period, bands, channels and the cloud."""

from __future__ import annotations

from dataclasses import replace

from ringfence.agents.rules.measures.settings import BANDS, COLUMNS, NAMES, SIDES, prefix_period, settings
from ringfence.agents.rules.measures.worded import worded
from ringfence.agents.rules.reader import Reader, period
from ringfence.trade.description.catalogue import KINDS, usual_line
from ringfence.trade.description.model import Line

_MOST = ("max", "maximum", "min", "minimum")


def each_of(r: Reader, given: int | None, side: str) -> Line | None:
    """higher than the previous two lows: than each of them, so than the highest."""
    column = r.peek()
    if given is None or r.peek(-1).kind != "NUM" or column.text not in ("highs", "lows") or not side:
        return None
    r.take("HIGH", "LOW")
    name = "highest" if side == "above" else "lowest"
    source = COLUMNS[column.kind]
    return _made_extreme(name, given, "" if source == KINDS[name].columns[0] else source)


def extreme(r: Reader, given: int | None) -> Line | None:
    """As `_extreme` has it; that this bar does not count may be said, for so it is."""
    made = _extreme(r, given)
    if made is not None and not r.take("EXCLUDING_TODAY"):
        r.take_all("(", "EXCLUDING_TODAY", ")")
    return made


def _extreme(r: Reader, given: int | None) -> Line | None:
    """20-day high, highest close of the last 20 days, 52-week low."""
    with r.trying() as attempt:
        source = "close" if given is not None and r.take("CLOSE", "CLOSES") else ""
        if given is not None and r.at("HIGH", "LOW"):
            token = r.take("HIGH", "LOW")
            assert token is not None
            if r.at("CLOSE") and not r.at("ABOVE", "BELOW", "IS", "CROSS", ahead=1) and r.take("CLOSE"):
                source = "close"  # a 20-day high close
            attempt.keep()
            return _made_extreme("highest" if token.kind == "HIGH" else "lowest", given, source)
        if given is not None and r.peek(-1).text.endswith("s") and r.peek().text in _MOST:
            return None  # 20 days max is a time
        most = r.at("PREVIOUS", ahead=1) and r.peek().text in ("maximum of", "minimum of")
        if most and given is None:  # above the maximum of the last 30 days
            name = "highest" if r.take("AT_MOST", "AT_LEAST", "FOR") and r.peek(-1).text == "maximum of" else "lowest"
            r.take("PREVIOUS")
            bars = period(r)
            if bars is None:
                return None
            attempt.keep()
            return _made_extreme(name, bars, "")
        token = r.take("HIGHEST", "LOWEST") or (r.take("PEAK") if r.peek().text == "highest price" else None)
        if token is None:
            if given is None and r.at("HIGH", "LOW") and r.at("OF", "IN", "ABOVE", ahead=1):
                token = r.take("HIGH", "LOW")
                bars = _over(r)
                if token is not None and bars is not None:
                    attempt.keep()
                    return _made_extreme("highest" if token.kind == "HIGH" else "lowest", bars, "")
            return None
        name = "lowest" if token.kind == "LOWEST" else "highest"
        column = r.take(*COLUMNS)
        source = COLUMNS[column.kind] if column and column.kind != "PRICE" else ""  # its lowest price is a low
        bars = given if given is not None else _over(r)
        if bars is None:
            return None
        attempt.keep()
        return _made_extreme(name, bars, "" if source == KINDS[name].columns[0] else source)


def _over(r: Reader) -> int | None:
    """of the last 20 days, over 20 bars, in 3 months."""
    with r.trying() as attempt:
        if r.at("NUM", ahead=1) and r.take("("):  # highest(20)
            found = period(r, bare=True)
            found = found if r.take(")") else None
            attempt.keep() if found is not None else None
            return found
        if r.take("OF", "IN", "ABOVE", "FOR", "FROM") is None:
            return None
        r.take_all("EVERY", "OF") or (
            r.take("EVERY_SYMBOL") if r.peek().text == "each of" else None
        )  # lower than the low of each of the last 10 days
        r.take("PREVIOUS")
        found = period(r, bare=r.at("NUM") and r.at("END", "STOP_MARK", ",", "AND", "OR", ahead=1))
        if found is not None:
            attempt.keep()
        return found


def _made_extreme(name: str, bars: int, source: str) -> Line:
    return Line(name=name, values=(bars,), source=source, ago=1)


def band(r: Reader, given: int | None, side: str) -> Line | None:
    first = r.i
    with r.trying() as attempt:
        where = r.take(*SIDES)
        if where is not None and given is None and r.at("NUM") and r.peek().text == "one":
            r.take("NUM")  # the lower one
            attempt.keep()
            return _last_band(r, where.kind, first)
        r.take("BAND")
        r.take("OF")
        both = _both_settings(r) if given is None else None
        given = given if given is not None or both else prefix_period(r)
        token = r.take(*BANDS)
        if token is None and where is not None and (same := _same_channel(r)) is not None:
            attempt.keep()
            return replace(same, part=SIDES[where.kind])
        if token is None:
            channel = r.right is not None and r.right.name in BANDS.values()
            named = (
                r.peek(-1).kind == "BAND"
                or (channel and r.at("LINE"))
                or (where is not None and where.kind == "MIDDLE" and r.right is not None)
            )
            if where is None or given is not None or not named:
                return None
            r.take("LINE")
            attempt.keep()
            return _last_band(r, where.kind, first)
        made = usual_line(BANDS[token.kind])
        if given is not None:
            made = replace(made, values=(given, *made.values[1:]))
        if both is not None:
            made = replace(made, values=(*both, *made.values[2:]))
        made = channel_settings(r, made)
        later = r.take(*SIDES) if where is None and not r.at("NUM", *NAMES, ahead=1) else None
        if where is None and later is None and made.name == "donchian":
            later = r.take("HIGH", "LOW")
        where = where or later
        r.take("BAND")
        r.take("LINE") if r.at("(", ahead=1) else None
        made = channel_settings(r, made)
        over = r.at("END", "STOP_MARK", ",", "AND", "OR", "THEN", "USE", ahead=1)
        if given is None and made.name == "donchian" and where is not None and r.at("NUM") and over:
            made = replace(made, values=(r.peek().value,))  # the upper Donchian 55
            r.take("NUM")
        if given is not None and made.values[0] != given:
            raise r.ask(f"two periods for the {KINDS[made.name].english}", ["say one of them"], first)
        part = (
            _EDGES.get(where.kind) or SIDES[where.kind] if where else {"above": "upper", "below": "lower"}.get(side, "")
        )
        if not part:
            raise r.ask(
                f"which {token.text}?", [f"the {s} {KINDS[made.name].english}" for s in KINDS[made.name].parts], first
            )
        attempt.keep()
        told = given is not None or any(one.kind == "NUM" for one in r.tokens[first : r.i])
        made = replace(_known(r, made, told=told), part=part, ago=1 if made.name == "donchian" else 0)
        r.inferred |= {made} if where is None else set()
        return made


def _known(r: Reader, made: Line, *, told: bool) -> Line:
    """The upper Keltner channel (20, 1.5) …, the lower Keltner channel: settings that were said count again."""
    if told and made.values != usual_line(made.name).values:
        r.known[made.name] = made.values
    if told or made.name not in r.known:
        return made
    r.notices.append(f"{KINDS[made.name].english} without a period is the one named before")
    return replace(made, values=r.known[made.name])


def _same_channel(r: Reader) -> Line | None:
    """the lower 20-day channel, after the upper Donchian channel of 55 days: its edges may have their own periods."""
    with r.trying() as attempt:
        bars = period(r) if r.at("NUM") else None
        named = {token.kind for token in r.tokens[: r.i] if token.kind in BANDS}
        if bars is None or not r.take("BAND") or named != {"DONCHIAN"}:
            return None
        attempt.keep()
        return replace(usual_line("donchian"), values=(bars,), ago=1)


_EDGES = {"HIGH": "upper", "LOW": "lower"}


def _last_band(r: Reader, where: str, first: int) -> Line:
    """ "the upper band": of the channel that was named before."""
    last = next((one for one in (r.right, r.it) if one and one.name in BANDS.values()), None)
    width = next((one for one in (r.right, r.it) if one and "band_width" in (one.name, one.of and one.of.name)), None)
    if last is None and width is not None:
        last = replace(usual_line("bollinger"), values=(width.of or width).values, symbol=width.symbol)
    named = {token.kind for token in r.tokens[: r.i] if token.kind in BANDS}
    if last is None and len(named) == 1:
        last = usual_line(BANDS[named.pop()])  # the title has it
    if last is None and r.at("(") and r.at("NUM", ahead=1) and r.at(",", "SLASH", ahead=2) and r.at("NUM", ahead=3):
        r.notices.append("the band is read as a Bollinger band")
        return channel_settings(r, replace(usual_line("bollinger"), part=SIDES[where]))
    if last is None:
        raise r.ask("which band?", ["the lower Bollinger band", "the lower Keltner channel"], first)
    made = replace(last, part=SIDES[where], ago=1 if last.name == "donchian" else 0)
    again = channel_settings(r, made) if r.at("(") else made
    numbers = sum(token.kind == "NUM" for token in r.tokens[first : r.i])
    if again.values != made.values and numbers < 2:
        raise r.ask(f"two periods for the {KINDS[made.name].english}", ["say all of its settings with its name"], first)
    return again


def _both_settings(r: Reader) -> tuple[float, float] | None:
    """the upper 20/2 Bollinger band, the lower (20, 2) band."""
    with r.trying() as attempt:
        bracket = r.take("(")
        one = r.take("NUM")
        two = r.take("NUM") if one is not None and r.take("SLASH", ",") else None
        if one is None or two is None or (bracket and not r.take(")")) or not r.at("BOLLINGER", "KELTNER"):
            return None
        attempt.keep()
        return one.value, two.value


# What a number in brackets is, where a word says it: (EMA 20, ATR 20, multiplier 1.5).
_SETTING_NAMES = {
    "EMA": "period", "SMA": "period", "BAR": "period", "ATR": "atr_period", "MULTIPLIER": "multiple",
    "TIMES": "multiple", "STDEV": "deviations",
}  # fmt: skip


def channel_settings(r: Reader, made: Line) -> Line:
    """(20, 2) in the catalogue's order; or with the name of each before or after it, in any order."""
    kind = KINDS[made.name]
    names = [setting.name for setting in kind.settings]
    said = worded(r, made)
    if said is not None:
        return said
    with r.trying() as attempt:
        found: dict[str, float] = {}
        if r.at("NUM") and r.at("UPPER", "MIDDLE", "LOWER", "BELOW", "TOP", "BAND", ahead=1):
            number = r.take("NUM")  # Donchian 20 upper band
            assert number is not None
            attempt.keep()
            return replace(made, values=(number.value, *made.values[1:]))
        if not r.take("("):
            attempt.keep()
            return settings(r, made)
        named = 0
        while not r.at(")", "END"):
            before = r.take(*_SETTING_NAMES)
            r.take("BAR") if before is not None and r.at("BAR") else None
            number = r.take("NUM")
            if number is None:
                return made
            after = _unit_of(r)
            name = _SETTING_NAMES[before.kind] if before is not None else after
            named += bool(name)
            name = name or next((one for one in names if one not in found), "")
            if name not in names or name in found:
                return made
            found[name] = number.value
            r.take("AND") if r.take(",", "SLASH", "AND") else None
        if not r.take(")") or not found or not _ordered(names, found, named):
            return made
        attempt.keep()
        return replace(made, values=tuple(found.get(n, v) for n, v in zip(names, made.values)))


def _unit_of(r: Reader) -> str:
    """20 days, 20-period EMA, 2 standard deviations, 1.5 x ATR: what the number before is."""
    if r.take("STDEV"):
        return "deviations"
    if r.take("MULTIPLIER"):
        return "multiple"
    if r.take("TIMES"):
        r.take("ATR") if not r.at("NUM", ahead=1) else None
        return "multiple"
    if r.at("ATR"):
        r.take("ATR") if not r.at("NUM", ahead=1) else None  # 2 ATR 10: twice the ATR of ten bars
        return "multiple"
    if r.take("DAY", "BAR"):
        r.take("EMA", "SMA", "AVERAGE")
        return "period"
    return "period" if r.take("EMA", "SMA") else ""


def _ordered(names: list[str], found: dict[str, float], named: int) -> bool:
    """Numbers without a name stand in the catalogue's order: the first of them are given, and none is left out."""
    return named == len(found) or named > 0 or list(found) == names[: len(found)]


def cloud(r: Reader, side: str) -> Line | None:
    with r.trying() as attempt:
        where = r.take("UPPER", "LOWER", "TOP", "MIDDLE")
        r.take("OF")
        if r.take("CLOUD") is None:
            return None
        attempt.keep()
        part = "top" if where and where.kind in ("UPPER", "TOP") else "bottom" if where else ""
        part = part or {"above": "top", "below": "bottom"}.get(side, "")
        if not part:
            raise r.ask("which edge of the cloud?", ["the top of the cloud", "the bottom of the cloud"], r.i - 1)
        made = settings(r, usual_line("cloud", part))
        r.inferred |= {made} if where is None else set()
        return made


_FACING = {"above": {"bottom": "top", "lower": "upper"}, "below": {"top": "bottom", "upper": "lower"}}


def edge(r: Reader, line: Line, side: str) -> Line:
    """above the cloud …, below it: the edge that is met from there, where none was named."""
    if replace(line, symbol="") not in r.inferred or side not in _FACING:
        return line
    made = replace(line, part=_FACING[side].get(line.part, line.part))
    r.inferred.add(replace(made, symbol=""))
    return made
