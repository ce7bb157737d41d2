"""An average or an ATR without a period: the one that was named before, of the line it is held against."""

from __future__ import annotations

from dataclasses import replace

from ringfence.agents.rules.measures.scales import plain, scale
from ringfence.agents.rules.measures.settings import AVERAGES
from ringfence.agents.rules.measures.worded import named_once
from ringfence.agents.rules.reader import Reader
from ringfence.trade.description.catalogue import usual_line
from ringfence.trade.description.lines import lines_of
from ringfence.trade.description.model import Line


def recalled(r: Reader, kind: str, name: str, against: Line | None) -> Line | None:
    """Back at the average; OBV falls below that average; the mean that a band is of. None where it is not clear."""
    near = [one for one in (r.right, r.it) if one is not None]
    if name == "volume_average":
        named = [one for one in (*near, *lines_of(r.entry)) if one.name == name]
        return replace(named[0], ago=0) if len(set(named)) == 1 else None if named else usual_line(name)
    for lines in (near, list(dict.fromkeys(lines_of(r.entry)))):
        found = [one for one in lines if kind in ("AVERAGE", one.name.upper()) and _of_the_same(r, one, against)]
        if found and (lines is near or len(found) == 1):
            return found[0]
    band = next((one for one in near if one.name == "bollinger"), None)
    if band is not None and kind in ("AVERAGE", "SMA"):
        return replace(band, name="sma", values=band.values[:1], part="", ago=0)
    band = next((one for one in near if one.name == "keltner"), None)
    if band is not None and kind in ("AVERAGE", "EMA"):
        return replace(band, part="middle", ago=0)
    known = any(one.name in AVERAGES.values() for one in (*near, *lines_of(r.entry)))  # of another line, or instrument
    priced = against is None or scale(against) == "price"
    return named_once(r, kind) if priced and not known else None


def _of_the_same(r: Reader, one: Line, against: Line | None) -> bool:
    """RSI above its 10-day average and the close above its 50-day one: sell when RSI is below its average."""
    if one.name not in AVERAGES.values() or against is None:
        return one.name in AVERAGES.values()
    owners = {"" if line.symbol in r.traded else line.symbol for line in (one, against)}
    if len(owners) > 1:
        return False  # of another instrument
    if scale(against) == "price":
        return scale(one) == "price"
    return one.of == plain(against) or (scale(against) == "volume" == scale(one))


def atr_bars(r: Reader, said: int | None) -> int:
    """The bars that were said, here or where the ATR was named before: the 20-day ATR is …, stop 3 ATR."""
    if said is not None:
        r.known["atr"] = (said,)
    elif "other atr" in r.known:
        raise r.ask("which ATR: two were named", ["2 times the 14-day ATR"], r.i - 1)
    elif "atr" in r.known:
        r.notices.append("ATR without a period is the one named before")
    return int(r.known.get("atr", (14,))[0])
