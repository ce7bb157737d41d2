"""Rotation in English: of several instruments those that a line ranks first, chosen anew on a schedule."""

from __future__ import annotations

from ringfence.agents.rules.dates.calendar import recurring
from ringfence.agents.rules.dates.schedules import named_schedule
from ringfence.agents.rules.orders.collected import SEPARATORS
from ringfence.agents.rules.orders.parts import each_part
from ringfence.agents.rules.plans.choosing import Turning, choice, either, is_choice, rank, universe
from ringfence.agents.rules.plans.filters import filtered, instead
from ringfence.agents.rules.reader import Reader
from ringfence.trade.description.model import AllOf, Description, Line, OnSchedule, Rotation

# Words that say nothing more than that it rotates.
_PLAIN = (
    "HOLD", "BUY", "ROTATE", "INVEST", "TRADE", "REBALANCE", "EQUALLY", "WHICHEVER", "STRATEGY", "IT", "ONLY",
    "POSITION", "AMONG", "STOCKS", "EQUITY", "SHARES", "ALL_IN", "TITLE", "PER_TRADE", "PLEASE",
    "LONG_ONLY",
)  # fmt: skip


def rotation(r: Reader) -> Description | None:
    """Every month hold the 3 of AAPL, MSFT, IBM and GOOG with the highest 6-month return; otherwise hold TLT."""
    t = Turning()
    first = r.i
    while not r.at("END"):
        if r.take(*SEPARATORS):
            continue
        start = r.i
        if not _rotating(r, t) or r.i == start:
            return None
    if t.rank is None and t.filters and t.rebalance and not t.count and t.said.symbols:
        t.rank, t.count = Line(name="close"), len(t.said.symbols)  # each of them while it is above its average
        t.chosen_first = False
    if t.rank is None:
        raise r.ask("ranked by what?", ["by 126-bar return", "by 20-bar volatility", "by 14-bar RSI"], first)
    if t.rebalance is None:
        raise r.ask("how often is it chosen anew?", ["rebalance monthly", "rebalance weekly"], first)
    names, count = tuple(t.said.symbols), t.count or 1
    whole = t.filters and count == len(names)  # those of them all for which it holds
    if names and not whole and not 1 <= count < len(names):
        raise r.ask(f"the best {count} of {len(names)} is no choice", ["name more instruments"], first)
    if t.counted and names and t.counted != len(names):
        raise r.ask(f"it says {t.counted}, and names {len(names)}", ["name each of them"], first)
    if t.each and abs(t.each * count - 100) > 1:
        raise r.ask(f"{count} parts of {t.each:g} % are not the whole", ["in equal parts"], first)
    if t.otherwise in names or (t.singles and count > 1) or (t.also and t.by_rank):
        return None
    only = None if not t.filters else t.filters[0] if len(t.filters) == 1 else AllOf(parts=tuple(t.filters))
    plan = Rotation(
        count=count,
        rank=t.rank,
        also=tuple(t.also),
        highest=t.highest,
        rebalance=t.rebalance,
        only=only,
        otherwise=t.otherwise,
        chosen_first=t.chosen_first and only is not None,
    )
    return Description(plan=plan, symbols=names, every=not names)


def _rotating(r: Reader, t: Turning) -> bool:
    if _scheduled(r, t) or _until_next(r, t) or instead(r, t) or filtered(r, t):
        return True
    if is_choice(r) and either(r, t, choice):
        return True
    if _shared(r, t) or universe(r, t) or _one_only(r):
        return True
    if r.take("RANKED", "BY", "USE", "IN", "AMONG", "OF", "FROM", "ON", "FOR", "BETWEEN") and (
        rank(r, t) or r.at("SYMBOL", "EVERY_SYMBOL", "TOP", "NUM", "HIGHEST", "LOWEST", "ITS", "WHICHEVER")
    ):
        return True
    if r.at("TURNS") and r.peek().text.startswith(("switch", "change")):
        return r.take("TURNS") is not None  # switch monthly
    return r.take(*_PLAIN) is not None or rank(r, t)


def _scheduled(r: Reader, t: Turning) -> bool:
    """each month, reviewed on the first trading day of the month, every Friday."""
    with r.trying() as attempt:
        r.skip("REBALANCE", "PLEASE", "ONLY") if r.at("REBALANCE", "PLEASE") else None
        r.take("TURNS") if r.peek().text.startswith(("switch", "change")) else None
        when = named_schedule(r, t.rebalance, "chosen anew on which schedule?", r.i)
        if when is None:
            return False
        t.rebalance = when
        attempt.keep()
        r.skip("REBALANCE", "ONLY")
        return True


def _shared(r: Reader, t: Turning) -> bool:
    """a third each, half and half, 25 % each: it must be what equal parts are."""
    with r.trying() as attempt:
        r.skip("USE", "AT", "INVEST")
        part = 50.0 if [r.peek(n).text for n in range(3)] == ["50", "/", "50"] else each_part(r)
        r.take_all("NUM", "SLASH", "NUM")
        if part is None or t.each not in (0, part):
            return False
        t.each = part
        attempt.keep()
        return True


def _one_only(r: Reader) -> bool:
    """the whole account in that one; drop the others: as it is."""
    with r.trying() as attempt:
        if r.take("DROP_OTHERS"):
            attempt.keep()
            return True
        if r.take("EQUITY", "ALL_IN") and r.take("IN", "ON") and r.peek().text == "one" and r.take("NUM"):
            attempt.keep()
            return r.at("STOP_MARK", "END", ",", "AND")
    return False


def _until_next(r: Reader, t: Turning) -> bool:
    """until the next month end, until the next rebalance, sell it the next Friday: when it is chosen anew."""
    with r.trying() as attempt:
        r.skip("SELL", "IT", "HOLD", "AND", "POSITION", "EXIT")
        if not r.take("UNTIL", "FOR") and not (r.i and r.peek(-1).kind == "SELL"):
            return False
        r.take("NEXT")
        next_one = r.peek(-1).kind in ("NEXT", "FOR")
        if r.take("REBALANCE") or r.take_all("NEXT_DAY", "REBALANCE"):
            attempt.keep()
            return True
        day = r.take("MONDAY", "TUESDAY", "WEDNESDAY", "THURSDAY", "FRIDAY", "MONTH", "WEEK", "QUARTER", "YEAR")
        when = t.rebalance if isinstance(t.rebalance, OnSchedule) and t.rebalance.each == 1 else None
        if day is not None and next_one and when is not None and day.kind.lower() in (when.every, when.on):
            attempt.keep()
            return True
        again = recurring(r) if day is None and r.peek(-1).kind in ("NEXT", "UNTIL") else None
        if again is not None and t.rebalance in (None, again):
            t.rebalance = again
            attempt.keep()
            return True
    return False
