"""Lines held against one another: the ATR in percent of the price, one channel inside another."""

from __future__ import annotations

from dataclasses import replace

from ringfence.agents.rules.measures.lines import line
from ringfence.agents.rules.measures.settings import BANDS, settings
from ringfence.agents.rules.reader import Reader
from ringfence.trade.description.catalogue import usual_line
from ringfence.trade.description.model import AllOf, Compare, Condition, Cross, Level, Line, Scaled

_LEVELS: dict[str, Level] = {"ABOVE": "above", "BELOW": "below", "AT_LEAST": "at_least", "AT_MOST": "at_most"}


def share_of_price(r: Reader) -> Condition | None:
    """ATR(14) as a percentage of price is below 1.5 %, ATR / close < 0.015: so many times the close."""
    with r.trying() as attempt:
        made = line(r) if r.at("ATR") or r.at("ATR", ahead=1) or r.at("ATR", ahead=2) else None
        if made is None or made.name != "atr":
            return None
        divided = r.take_all("SLASH", "PRICE") or r.take_all("SLASH", "CLOSE")
        word = None if divided else r.take("AS_SHARE")
        if not divided and word is None:
            return None
        divided = divided or (word is not None and word.text.startswith("divided"))
        r.skip("IS")
        moved = r.take("CROSS", "MOVES", "RISES", "FALLS") is not None
        way = r.take(*_LEVELS)
        number = r.take("NUM") if way is not None else None
        if way is None or number is None or (moved and way.kind not in ("ABOVE", "BELOW")):
            return None
        hundredths = r.take("PERCENT") is not None or not divided
        times = number.value / 100 if hundredths else number.value
        attempt.keep()
        r.it = made
        right = Scaled(line=Line(name="close", symbol=made.symbol, timeframe=made.timeframe), times=_tidy(times))
        if moved:
            return Cross(left=made, direction="above" if way.kind == "ABOVE" else "below", right=right)
        return Compare(left=made, level=_LEVELS[way.kind], right=right)


def _tidy(value: float) -> float:
    return float(f"{value:.10g}")


def squeeze(r: Reader) -> Condition | None:
    """the Bollinger bands are inside the Keltner channel: both of the one within the two of the other."""
    with r.trying() as attempt:
        within = _channel(r)
        if within is None:
            return None
        r.skip("IS", "MOVES")
        if not r.peek().text.endswith(("inside", "within")) or not r.take("BETWEEN"):
            return None
        around = _channel(r)
        if around is None or around.name == within.name:
            return None
        back = 0
        if r.at("ON", "AT") and r.at("PREVIOUS", ahead=1):
            r.take("ON", "AT")
            r.take("PREVIOUS")
            r.take("DAY", "BAR")
            back = 1
        attempt.keep()
        r.it, r.right = Line(name="close"), replace(within, part="upper")
        ends = tuple(
            Compare(left=replace(within, part=part, ago=back), level=level, right=replace(around, part=part, ago=back))
            for part, level in _ENDS
        )
        return AllOf(parts=ends)


_ENDS: tuple[tuple[str, Level], tuple[str, Level]] = (("upper", "below"), ("lower", "above"))


def _channel(r: Reader) -> Line | None:
    """Both bands of it, with settings."""
    r.skip("BOTH", "ITS")
    token = r.take("BOLLINGER", "KELTNER")
    if token is None:
        return None
    made = settings(r, usual_line(BANDS[token.kind]))
    r.take("BAND")
    return settings(r, made)
