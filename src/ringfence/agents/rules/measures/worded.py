"""Settings in words: RSI with a period of 14, Supertrend (period 10, multiplier 3), Bollinger bands of 20 days and 2.5
standard deviations, MACD with settings 12/26/9."""

from __future__ import annotations

from dataclasses import replace

from ringfence.agents.rules.reader import UNITS, Reader
from ringfence.trade.description.catalogue import KINDS
from ringfence.trade.description.model import Line

_PERIOD_WORDS = ("period", "periods", "length", "lookback", "look back", "window", "lookback period", "lookback window")
_NAMES = {"MULTIPLIER": "multiple", "STDEV": "deviations", "STEP": "acceleration"}
# After these it is another thing: with a 2 ATR stop, with 20 % of the equity.
_OTHER = ("STOP", "TRAIL", "TARGET", "PERCENT", "GAIN", "LOSS", "RISK", "SIZE", "AGO", "CONSECUTIVE", "HIGH", "LOW")

Said = dict[str, float]


def worded(r: Reader, made: Line) -> Line | None:
    """The line with what the words after its name set, or None with nothing read."""
    names = [setting.name for setting in KINDS[made.name].settings]
    if not names or not r.at("(", "USE", "OF", ","):
        return None
    with r.trying() as attempt:
        opener = r.take("(", "USE", "OF", ",")
        assert opener is not None
        plain = opener.text in ("with", "using", "having", "of", "(", ",")
        r.take("SETTINGS") if opener.kind in ("USE", "(") else None
        told = r.peek(-1).kind == "SETTINGS"
        listed = _listed(r, len(names)) if opener.kind == "USE" or told else None
        if listed is not None and plain and (opener.kind != "(" or r.take(")")):
            attempt.keep()
            r.take("SETTINGS")
            return replace(made, values=(*listed, *made.values[len(listed) :]))
        said = _items(r, names, made.name)
        enough = len(said) > 1 if opener.kind == "," else bool(said)
        if not plain or not enough or (opener.kind == "(" and not r.take(")")) or r.at(*_OTHER):
            return None
        if opener.kind == "OF" and r.peek(-1).kind in UNITS and len(said) == 1 and made.name not in ("rsi",):
            return None  # the average of 20 days is read elsewhere
        attempt.keep()
        return replace(made, values=tuple(said.get(n, v) for n, v in zip(names, made.values, strict=True)))


def _listed(r: Reader, most: int) -> list[float] | None:
    """12/26/9, of an indicator that has so many."""
    if most < 2 or not (r.at("NUM") and r.at("SLASH", ",", ahead=1) and r.at("NUM", ahead=2)):
        return None
    with r.trying() as attempt:
        found: list[float] = []
        while (number := r.take("NUM")) is not None:
            found.append(number.value)
            r.take("SLASH", ",") if r.at("NUM", ahead=1) else None
        if len(found) > most or r.at(*_OTHER, *UNITS):
            return None
        attempt.keep()
        return found


def _items(r: Reader, names: list[str], line: str) -> Said:
    """Each with its name; nothing where one of them is no setting of this line, or is said twice."""
    said: Said = {}
    while True:
        with r.trying() as attempt:
            if said:
                r.take(",")
                r.take("AND", "USE")
                if r.peek(-1).kind not in (",", "AND", "USE"):
                    break
            found = _item(r, line)
            if not found or any(name not in names or name in said for name in found):
                break
            attempt.keep()
            said |= found
    return said


def _item(r: Reader, line: str) -> Said:
    """period 10, a multiplier of 3, 20 days, 20-day EMA, 1.5 ATR, 2 x 10-day ATR, 0.02 step."""
    true_range = "atr_period" if line == "keltner" else "period"
    named = _name(r, line)
    if named:
        r.take("OF", "IS", "EQUALS", "COLON", "AT")
        number = r.take("NUM")
        r.take("BAR", "DAY") if named in ("period", "atr_period") else None
        return {} if number is None else {named: number.value}
    number = r.take("NUM")
    if number is None:
        return {}
    if r.take("TIMES"):
        if r.at("NUM") and r.at("BAR", "DAY", ahead=1) and r.at("ATR", ahead=2):
            inner = r.take("NUM")
            r.take("BAR", "DAY")
            r.take("ATR")
            return {"multiple": number.value, true_range: inner.value} if inner is not None else {}
        r.take("ATR")
        return {"multiple": number.value}
    if r.take("BAR", "DAY"):
        if r.take("ATR"):
            return {true_range: number.value}
        r.take("EMA", "SMA", "AVERAGE", "LOOKBACK") or (r.take("BAR") if r.peek().text in _PERIOD_WORDS else None)
        return {"period": number.value}
    if token := r.take("EMA", "SMA", "ATR"):
        return {"multiple" if token.kind == "ATR" else "period": number.value}
    after = _name(r, line)
    return {after: number.value} if after else {}


def _name(r: Reader, line: str) -> str:
    """period, length, multiplier, step, max: what a number beside it sets."""
    token = r.peek()
    if token.kind in ("BAR", "LOOKBACK") and token.text in _PERIOD_WORDS:
        return "period" if r.take("BAR", "LOOKBACK") else ""
    if token.kind == "ATR" and r.at("NUM", "BAR", ahead=1) and line in ("keltner", "supertrend"):
        r.take("ATR")
        r.take("BAR") if r.peek().text in _PERIOD_WORDS else None
        return "atr_period" if line == "keltner" else "period"
    if token.kind in ("EMA", "SMA") and r.at("NUM", ahead=1) and line in ("keltner", "bollinger"):
        return "period" if r.take("EMA", "SMA") else ""
    if token.kind == "HIGHEST" and token.text in ("max", "maximum"):
        return "maximum" if r.take("HIGHEST") else ""
    return _NAMES[token.kind] if r.take(*_NAMES) else ""


def named_once(r: Reader, kind: str) -> Line | None:
    """Below that EMA: the one average of its kind that was named before, where it was of nothing but the price."""
    found: set[tuple[str, float]] = set()
    for n, token in enumerate(r.tokens[: r.i - 1]):
        if token.kind not in ("SMA", "EMA", "WMA", "AVERAGE") or kind not in ("AVERAGE", token.kind):
            continue
        near = [r.tokens[k] if 0 <= k < len(r.tokens) else token for k in range(n - 2, n + 4)]
        days = near[1].kind in ("DAY", "BAR")
        number = near[0] if days else near[1]
        if number.kind != "NUM" and not days:
            number = near[4] if near[3].kind == "(" else near[3]
        name = "sma" if token.kind == "AVERAGE" else token.kind.lower()
        plain = number.kind == "NUM" and not {near[1].kind, near[3].kind} & {"VOLUME", "OF"}
        found.add((name, number.value if plain else 0))
    if len(found) != 1 or any(not bars for _, bars in found):
        return None
    name, bars = found.pop()
    return Line(name=name, values=(bars,))
