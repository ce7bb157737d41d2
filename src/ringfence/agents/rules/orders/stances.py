"""How a strategy stands in the market, in English: always short unless …, no positions after 17:00, flip long/short."""

from __future__ import annotations

from dataclasses import replace

from ringfence.agents.rules.conditions.conditions import condition
from ringfence.agents.rules.conditions.subjectless import side_rule
from ringfence.agents.rules.dates.schedules import is_dated
from ringfence.agents.rules.measures.frames import frame
from ringfence.agents.rules.measures.lines import line
from ringfence.agents.rules.measures.scales import scale
from ringfence.agents.rules.orders.collected import Collected, symbols
from ringfence.agents.rules.plans.complements import lasts
from ringfence.agents.rules.reader import CLAUSE_ENDS, Reader
from ringfence.trade.description.model import Cross, Entry, Exit, InHours, Line, Not, Number, Side


def unled(r: Reader, said: Collected) -> bool:
    """SMH, RSI(2) above 95. Cover when …: a rule without a verb, where nothing else says when to go in."""
    rest = {token.kind for token in r.tokens[r.i :]}
    leaving = rest & {"SELL", "EXIT", "COVER"}
    if said.entries or said.exits or said.filters or not leaving or rest & {"BUY", "SHORT", "LONG", "HOLD", "INVEST"}:
        return False
    first = r.i
    made = condition(r)
    if made is None or is_dated(made) or isinstance(made, InHours) or not r.at("STOP_MARK", "END"):
        return False
    if any(token.kind in ("ONLY", "NOT", "UNLESS") for token in r.tokens[first : r.i]):
        return False
    said.entries.append(Entry(side="short" if said.short_only or leaving == {"COVER"} else "long", when=made))
    r.entry = made
    return True


def must_be(r: Reader, said: Collected) -> bool:
    """CAT must be above its 200-day average. When …, buy: asked of every entry."""
    first = r.i
    begins = first == 0 or r.tokens[first - 1].kind in ("STOP_MARK", "COLON")
    end = next((n for n in range(first, len(r.tokens)) if r.tokens[n].kind == "STOP_MARK"), first)
    words = {token.text for token in r.tokens[first:end] if token.kind == "IS"}
    ordered = said.entries or {token.kind for token in r.tokens[end:]} & {"BUY", "SHORT", "LONG"}
    if not begins or not ordered or said.exits or not words or not words <= {"be", "to be"}:
        return False
    made = condition(r)
    if made is None or is_dated(made) or not lasts(made) or r.i != end:
        return False
    said.filters.append(made)
    return True


def versus(r: Reader, said: Collected) -> bool:
    """WMA(10) vs WMA(40) on HD: what "above" and "below" will mean."""
    if not any(r.at("AGAINST", ahead=n) for n in range(8)):
        return False
    one = line(r)
    two = line(r) if one is not None and r.take("AGAINST") else None
    if one is None or two is None or scale(one) != scale(two):
        return False
    if r.take("ON", "FOR", "IN") and not symbols(r, said):
        return False
    frame(r, bare=True)
    if not r.take("COLON", "STOP_MARK", ","):
        return False
    r.it, r.right = one, two
    said.about += [one, two]
    return True


def filter_named(r: Reader, said: Collected) -> bool:
    """Trend filter: the close is above its 200-day average. Asked of every entry."""
    if not r.peek().text.endswith(("filter", "filters")) or not r.take("TITLE") or not r.take("COLON", "IS"):
        return False
    r.take("WHEN")
    made = side_rule(r) if r.at("ABOVE", "BELOW") else condition(r)
    said.filters += [] if made is None else [made]
    return made is not None and r.at(*CLAUSE_ENDS)


def none_after(r: Reader, said: Collected) -> bool:
    """No positions after 17:00: out by then, and none is opened later."""
    if not (r.at("NOT") and r.at("POSITION", ahead=1) and r.at("AFTER", ahead=2) and r.at("TIME", ahead=3)):
        return False
    r.take_all("NOT", "POSITION", "AFTER")
    late = InHours(start=r.peek().text)
    r.told_times.add(late.start)
    r.take("TIME")
    said.exits.append(Exit(side="long", when=late))
    said.bare.append(late)
    said.left.add("long")
    return r.at(*CLAUSE_ENDS)


def always_unless(r: Reader, said: Collected) -> bool:
    """Short VXX all the time except when …; always long SPY unless …: in while it is not so, out while it is."""
    always = r.take("ALL_TIME") is not None
    verb = r.take("SHORT", "LONG", "BUY", "HOLD")
    if verb is None or (not always and not any(r.at("ALL_TIME", ahead=n) for n in range(4))):
        return False
    r.skip("IT", "POSITION")
    symbols(r, said)
    if not (r.take("ALL_TIME") or always) or not r.take("UNLESS"):
        return False
    made = condition(r)
    if made is None or not r.at(*CLAUSE_ENDS) or not lasts(made):
        return False
    side: Side = "short" if verb.kind == "SHORT" else "long"
    said.entries.append(Entry(side=side, when=Not(part=made)))
    said.exits.append(Exit(side=side, when=made))
    said.left.add(side)
    r.entry = said.entries[-1].when
    return True


def flips(r: Reader, said: Collected) -> bool:
    """Supertrend on BTCUSD, flip long/short with every change of direction."""
    if said.always_in and r.at("USE") and r.at("SAR", "SUPERTREND", ahead=1):
        r.take("USE")  # stop and reverse with the parabolic SAR
        about = line(r)
        return about is not None and r.at(*CLAUSE_ENDS) and _by_flips(r, said, about)
    about = line(r) if r.at("SAR", "SUPERTREND") and any(r.at("TWO_SIDED", ahead=n) for n in range(6)) else r.it
    if about is None or about.name not in ("supertrend", "parabolic_sar") or said.entries:
        return False
    r.take("MOVES", "TURNS", "OPPOSITE", "TRADE")
    short = (
        r.peek().text == "flip long" and r.at("SLASH", "AND", ahead=1) and r.take_all("BUY", r.peek(1).kind, "SHORT")
    )
    if not (short or r.take("TWO_SIDED") or r.take_all("LONG", "SLASH", "SHORT") or r.take_all("LONG", "AND", "SHORT")):
        return False
    if r.take("USE", "ON", "WHEN", "AT") and not (r.at(*CLAUSE_ENDS, ahead=1) and r.take("IT")):
        r.take("EVERY", "ITS", "IT")
        turned = (r.take("ROC") and r.take("OF") and r.take("DIRECTION")) or r.take("TURNS", "MOVES", "SIGNAL_LINE")
        r.take("DIRECTION", "ROC") if turned else None
        if not turned:
            return False
    if not r.at(*CLAUSE_ENDS):
        return False
    return _by_flips(r, said, about)


def announced_flips(r: Reader, said: Collected) -> bool:
    """Parabolic SAR on USO, both directions: a heading that is the whole strategy."""
    about = said.about[0] if len(said.about) == 1 else Line(name="")
    whole = not said.entries and not said.exits and not said.held and not said.sided
    turned = about.name in ("supertrend", "parabolic_sar") and (said.two_sided or said.always_in)
    return whole and turned and _by_flips(r, said, about)


def _by_flips(r: Reader, said: Collected, about: Line) -> bool:
    direction = replace(about, part="direction") if about.name == "supertrend" else Line(name="close")
    right = Number(value=0) if about.name == "supertrend" else about
    up = Cross(left=direction, direction="above", right=right)
    down = replace(up, direction="below")
    said.entries += [Entry(side="long", when=up), Entry(side="short", when=down)]
    r.entry = up
    return True
