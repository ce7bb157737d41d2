"""Highs and lows of a period, bands, channels and the cloud."""

from __future__ import annotations

from dataclasses import replace

from ringfence.agents.rules.reader import Reader, period
from ringfence.agents.rules.settings import BANDS, COLUMNS, NAMES, SIDES, prefix_period, settings
from ringfence.trade.description.catalogue import KINDS, usual_line
from ringfence.trade.description.model import Line


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
            attempt.keep()
            return _made_extreme("highest" if token.kind == "HIGH" else "lowest", given, source)
        token = r.take("HIGHEST", "LOWEST")
        if token is None:
            if given is None and r.at("HIGH", "LOW") and r.at("OF", "IN", "ABOVE", ahead=1):
                token = r.take("HIGH", "LOW")
                bars = _over(r)
                if token is not None and bars is not None:
                    attempt.keep()
                    return _made_extreme("highest" if token.kind == "HIGH" else "lowest", bars, "")
            return None
        name = "highest" if token.kind == "HIGHEST" else "lowest"
        column = r.take(*COLUMNS)
        source = COLUMNS[column.kind] if column else ""
        bars = given if given is not None else _over(r)
        if bars is None:
            return None
        attempt.keep()
        return _made_extreme(name, bars, "" if source == KINDS[name].columns[0] else source)


def _over(r: Reader) -> int | None:
    """of the last 20 days, over 20 bars, in 3 months."""
    with r.trying() as attempt:
        if r.take("OF", "IN", "ABOVE", "FOR", "FROM") is None:
            return None
        r.take("PREVIOUS")
        found = period(r)
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
        given = given if given is not None else prefix_period(r)
        token = r.take(*BANDS)
        if token is None:
            named = r.peek(-1).kind == "BAND" or (where is not None and where.kind == "MIDDLE" and r.right is not None)
            if where is None or given is not None or not named:
                return None
            r.take("LINE")
            attempt.keep()
            return _last_band(r, where.kind, first)
        made = usual_line(BANDS[token.kind])
        if given is not None:
            made = replace(made, values=(given, *made.values[1:]))
        made = settings(r, made)
        later = r.take(*SIDES) if where is None and not r.at("NUM", *NAMES, ahead=1) else None
        where = where or later
        r.take("BAND")
        made = settings(r, made)
        if given is not None and made.values[0] != given:
            raise r.ask(f"two periods for the {KINDS[made.name].english}", ["say one of them"], first)
        part = SIDES[where.kind] if where else {"above": "upper", "below": "lower"}.get(side, "")
        if not part:
            raise r.ask(
                f"which {token.text}?", [f"the {s} {KINDS[made.name].english}" for s in KINDS[made.name].parts], first
            )
        attempt.keep()
        return replace(made, part=part, ago=1 if made.name == "donchian" else 0)


def _last_band(r: Reader, where: str, first: int) -> Line:
    """ "the upper band": of the channel that was named before."""
    last = next((one for one in (r.right, r.it) if one and one.name in BANDS.values()), None)
    if last is None:
        raise r.ask("which band?", ["the lower Bollinger band", "the lower Keltner channel"], first)
    made = replace(last, part=SIDES[where])
    return settings(r, made) if r.at("(") else made


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
        return settings(r, usual_line("cloud", part))
