"""How long a trade lasts in English: after 10 days, 3 bars later, two days after entry, max 7 days in the trade."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ringfence.agents.rules.reader import UNITS, Reader, period

if TYPE_CHECKING:
    from ringfence.agents.rules.orders.collected import Collected

ENDS = ("END", "STOP_MARK", ",", ")")
_OVER = (*ENDS, "OR", "AND", "USE", "WHICHEVER_FIRST", "WHEN", "UNLESS", "THEN", "SELL", "EXIT", "COVER", "COLON")


def longest_stay(r: Reader) -> int | None:
    """max 7 days in the trade, at most 10 bars per trade, 20 days max, no more than two weeks in a position."""
    capped = r.take("AT_MOST", "HIGHEST") or (r.take_all("NOT", "ABOVE") or None)
    bars = period(r) if r.at("NUM") else None
    if bars is None:
        return None
    capped = capped or (r.take("HIGHEST", "AT_MOST") if r.at(*ENDS, "IN", "PER_TRADE", ahead=1) else None)
    if capped is None:
        return None
    if r.take("PER_TRADE") or r.take("HOLD"):
        return bars
    if r.take("IN"):
        r.take("EVERY")
        return bars if r.take("TRADE", "POSITION", "EQUITY", "PER_TRADE") else None
    return bars if r.at(*ENDS) else None


def none_longer(r: Reader) -> int | None:
    """no trade lasts longer than 10 days, nothing is held for more than 40 days, a trade lasts at most 10 days."""
    with r.trying() as attempt:
        never = r.take("NOTHING") or r.take("NOT")
        r.skip("TRADE", "POSITION", "PER_TRADE", "IT")
        r.skip("IS", "HOLD", "LASTS", "FOR", "ON", "OPEN", "IN", "TRADE", "IT", "MOVES")
        held = r.peek(-1).kind in ("IS", "HOLD", "LASTS", "FOR", "ON", "OPEN", "IN", "TRADE", "IT")
        if not held or (r.take("ABOVE") if never else r.take("AT_MOST")) is None:
            return None
        bars = period(r)
        _counted(r)
        if bars is not None and r.at(*_OVER):
            attempt.keep()
            return bars
    return None


def after_bars(r: Reader, *, held: bool = False) -> int | None:
    """after 10 days, for 10 bars, 3 days later, when 12 days have passed; where it is `held`, also 10 days."""
    with r.trying() as attempt:
        unhit = r.at("NEITHER_HIT", ahead=1) and not r.peek(1).text.startswith("still")
        asked = r.take("WHEN") is not None if not unhit else False
        r.skip("IT", "POSITION", "TRADE", "IS")
        still = asked and (r.take("NEITHER_HIT") or (r.peek(-1).text.endswith("still") and r.take("OPEN", "IN")))
        if not asked and r.take("NEXT_DAY"):
            attempt.keep()
            return 1
        waited = r.take("HOLD") is not None
        r.skip("IT", "POSITION") if waited else None
        r.take("AT_MOST")
        word = (
            r.take("AFTER", "FOR")
            or (r.take_all("WHEN", "NEITHER_HIT") and r.take("IN", "AFTER", "FOR"))
            or (r.take("IN") if r.at("NUM", ahead=1) and r.at(*UNITS, ahead=2) else None)
            or (r.take("AT") and r.take("LAST"))  # at the end of 15 days
            or (r.take("ON") if r.at("SINCE_ENTRY", ahead=3) else None)  # on the 10th day after entry
        )
        r.skip("AT_MOST", "HOLD", "IT", "FOR", "HIGHEST")
        bars = period(r)
        if bars is None or r.at("CONSECUTIVE") or (asked and not (waited or still or r.at("HAVE_PASSED", "LATER"))):
            return None
        _told_again(r, bars)
        r.take("HIGHEST", "AT_MOST") if held and r.at(*ENDS, ahead=1) else None
        if _counted(r) or (word and word.kind != "ON") or held or waited:
            _counted(r)
            attempt.keep()
            return bars
    return None


def _told_again(r: Reader, bars: int) -> None:
    """two weeks (10 bars): the same once more."""
    with r.trying() as attempt:
        if r.take("(") and period(r) == bars and r.take(")"):
            attempt.keep()


def _counted(r: Reader) -> bool:
    """… later, have gone by, after entry, in the trade: how it is counted anyway."""
    if r.take("LATER", "HAVE_PASSED"):
        return True
    with r.trying() as attempt:
        if r.at("SINCE_ENTRY") and r.take("SINCE_ENTRY"):
            attempt.keep()
            return True
        if r.take("IN", "FROM", "AFTER", "OF"):
            r.take("ITS")
            if r.take("TRADE", "POSITION", "BUY", "ENTRY_PRICE") or r.peek().text in ("holding", "entry"):
                attempt.keep()
                return True
    return False


def listed_bars(r: Reader) -> int | None:
    """… or 10 days: as one of several reasons to leave."""
    with r.trying() as attempt:
        r.take("HOLD")
        r.take("AT_MOST", "HIGHEST")
        bars = period(r) if r.at("NUM") else None
        if bars is None or r.at("CONSECUTIVE"):
            return None
        _counted(r)
        r.take("HIGHEST", "AT_MOST")
        if r.at(*_OVER):
            attempt.keep()
            return bars
    return None


def lasting(r: Reader, said: Collected, first: int) -> bool:
    """go long for three days."""
    if not (r.at("FOR") and r.at("NUM", ahead=1)):
        return False
    bars = after_bars(r)
    return bars is not None and said.guards.set(r, "time_stop_bars", bars, first)
