"""Breakouts as entries without a verb: a 100-day breakout on GLD, Donchian 40/20, a breakout above the 20-day high."""

from __future__ import annotations

from ringfence.agents.rules.conditions.conditions import condition
from ringfence.agents.rules.conditions.mirror import mirrored
from ringfence.agents.rules.measures.frames import frame
from ringfence.agents.rules.orders.collected import Collected, symbols
from ringfence.agents.rules.orders.crossovers import both_ways
from ringfence.agents.rules.reader import Reader, period
from ringfence.trade.description.model import Cross, Entry, Exit, Line

_ENDS = ("STOP_MARK", ",", "AND", "END", "USE", "COLON", "LONG_ONLY", "(", "TWO_SIDED")
_OUT = ("breakout", "breakouts", "channel breakout")


def breakout(r: Reader, said: Collected) -> bool:
    """GLD, 100-day breakout."""
    bars = period(r) if r.at("NUM") and not r.at("OPPOSITE", ahead=-1) else None
    if bars is None or r.peek().text not in _OUT:
        return False  # the opposite 10-day breakout is no entry
    r.take("MOVES", "TITLE")
    if not _named(r, said):
        return False
    return _enter(r, said, Line(name="highest", values=(bars,), ago=1), None)


def channel(r: Reader, said: Collected) -> bool:
    """Donchian 40/20 on SPY, a 20/10 Donchian breakout: in by the first, out by the second; or 55 alone."""
    r.skip("USE", "INVEST") if r.peek().text in ("use", "using", "with", "take", "takes", "trade") else None
    bars = _two_periods(r)
    titled = r.at("TITLE") and r.peek().text.split()[0] in ("turtle", "turtles", "donchian")
    named = r.take("DONCHIAN") or (r.take("TITLE") if titled else None)
    out = named is not None and named.text.endswith("breakout")
    r.take("BAND")
    bars = bars or _two_periods(r)
    out = (r.peek().text in _OUT and r.take("MOVES", "TITLE") is not None) or out
    if named is None or not bars or (len(bars) == 1 and not out) or not _named(r, said):
        return False
    lines = [Line(name="donchian", values=(n,), part=part, ago=1) for n, part in zip(bars, ("upper", "lower"))]
    return _enter(r, said, lines[0], lines[1] if len(lines) > 1 else None)


def _two_periods(r: Reader) -> list[int]:
    """40/20, (20, 10), 20 and 10, 55-day."""
    with r.trying() as attempt:
        bracket = r.take("(") is not None
        first = period(r, bare=True) if r.at("NUM") else None
        second = None
        if first is not None and r.at("NUM", ahead=1) and r.take("SLASH", "TO", *(("," if bracket else "SLASH",))):
            second = period(r, bare=True)
        if first is None or (bracket and not r.take(")")):
            return []
        attempt.keep()
        return [first] if second is None else [first, second]


def _named(r: Reader, said: Collected) -> bool:
    """What may follow its name: strategy, on SPY, on the daily chart."""
    r.skip("STRATEGY", "TITLE")
    if r.take("ON", "FOR", "IN", "OF") and not symbols(r, said):
        return False
    frame(r, bare=True)
    return r.at(*_ENDS)


def _enter(r: Reader, said: Collected, high: Line, low: Line | None) -> bool:
    r.it, r.right = Line(name="close"), high
    up = Cross(left=r.it, direction="above", right=high)
    said.entries.append(Entry(side="long", when=up))
    down = None if low is None else Cross(left=r.it, direction="below", right=low)
    if down is not None:
        said.exits.append(Exit(side="long", when=down))
        said.left.add("long")
    if both_ways(r):
        turned = mirrored(up)
        assert turned is not None
        said.entries.append(Entry(side="short", when=turned))
        back = None if down is None else mirrored(down)
        if back is not None:
            said.exits.append(Exit(side="short", when=back))
            said.left.add("short")
    r.entry = up
    return True


def broken_out(r: Reader, said: Collected) -> bool:
    """PLTR: breakout above the 20-day high with volume above its average."""
    if r.peek().text not in (*_OUT, "break") or not r.at("ABOVE", "THROUGH", ahead=1):
        return False
    r.it = None
    when = condition(r)
    first = when.parts[0] if when is not None and hasattr(when, "parts") else when
    if not isinstance(first, Cross) or first.direction != "above" or when is None:
        return False
    r.take_all("THEN", "BUY")  # a breakout above the band gets me long
    if r.take("ON", "FOR", "IN") and not symbols(r, said):
        return False
    if not r.at(*_ENDS):
        return False
    said.entries.append(Entry(side="long", when=when))
    r.entry = when
    return True
