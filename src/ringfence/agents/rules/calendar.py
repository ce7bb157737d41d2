"""The calendar in English: every Monday, at month end, between 10:00 and 15:30, every 20 bars."""

from __future__ import annotations

from ringfence.agents.rules.reader import Reader, period
from ringfence.agents.rules.settings import NAMES
from ringfence.trade.description.model import Condition, EveryBars, InHours, Not, OnSchedule, OnWeekdays, Period

DAYS = ("MONDAY", "TUESDAY", "WEDNESDAY", "THURSDAY", "FRIDAY")
_EDGES: dict[str, tuple[Period, str]] = {
    "MONTH_END": ("month", "last"), "MONTH_START": ("month", "first"), "WEEK_START": ("week", "first"),
    "WEEK_END": ("week", "last"), "QUARTER_END": ("quarter", "last"), "QUARTER_START": ("quarter", "first"),
    "YEAR_END": ("year", "last"), "YEAR_START": ("year", "first"), "MONTHLY": ("month", "first"),
    "WEEKLY": ("week", "first"), "QUARTERLY": ("quarter", "first"), "YEARLY": ("year", "first"),
    "DAILY": ("day", "first"),
}  # fmt: skip
_UNITS: dict[str, Period] = {"DAY": "day", "WEEK": "week", "MONTH": "month", "QUARTER": "quarter", "YEAR": "year"}


def calendar(r: Reader) -> Condition | None:
    """A condition on the date or the hour, or None with nothing read."""
    return _canonical(r) or hours(r) or schedule(r)


def _canonical(r: Reader) -> Condition | None:
    """As the echo says it: it is the first bar of the month, the day is Monday or Friday, 20 bars have passed."""
    with r.trying() as attempt:
        if r.take("DAY_IS"):
            days = weekdays(r)
            if days:
                attempt.keep()
                return OnWeekdays(days=days)
            return None
        bars = period(r)
        if bars is not None and r.take("HAVE_PASSED"):
            attempt.keep()
            return EveryBars(bars=bars)
    with r.trying() as attempt:
        if not (r.take("IT") and r.take("IS")):
            return None
        days = weekdays(r)
        if days:
            attempt.keep()
            return OnWeekdays(days=days)
        if r.at(*_EDGES):
            made = schedule(r)
            if made is not None:
                attempt.keep()
            return made
        edge = r.take("FIRST", "LAST", "PREVIOUS")
        r.take("BAR", "DAY")
        if edge is None or not r.take("OF"):
            return None
        on = "first" if edge.kind == "FIRST" else "last"
        day, unit = r.take(*DAYS), r.take(*_UNITS)
        if day is None and unit is None:
            return None
        attempt.keep()
        return OnSchedule(every="week", on=day.kind.lower()) if day else OnSchedule(every=_UNITS[unit.kind], on=on)  # type: ignore[union-attr]


def schedule(r: Reader) -> Condition | None:
    """every Monday, on Fridays, at month end, monthly, every 20 bars, every other is not known."""
    with r.trying() as attempt:
        r.take("ONLY")
        preposition = r.take("ON", "AT", "IN")
        every = r.take("EVERY")
        token = r.take(*_EDGES)
        if token is not None and token.kind in ("WEEKLY", "MONTHLY", "DAILY") and every is None and r.at(*NAMES, "NUM"):
            return None  # the weekly RSI
        if token is not None:
            period_, on = _EDGES[token.kind]
            if token.kind in ("WEEKLY", "MONTHLY", "QUARTERLY", "YEARLY", "DAILY"):
                on, read = _on_day(r, on)
                if not read and r.at("ON") and r.at(*DAYS, ahead=1):
                    return None
            attempt.keep()
            return OnSchedule(every=period_, on=on)
        edge = _edge(r)
        if edge is not None:
            attempt.keep()
            return edge
        days = weekdays(r)
        if days:
            if preposition is None and every is None and len(days) == 1 and not r.peek(-1).text.endswith("s"):
                return None
            attempt.keep()
            return OnSchedule(every="week", on=days[0]) if every and len(days) == 1 else OnWeekdays(days=days)
        if every is not None:
            bars = period(r)
            unit = r.peek(-1)
            if bars is not None:
                attempt.keep()
                if unit.kind in _UNITS and r.peek(-2).kind != "NUM":
                    on, _ = _on_day(r, "first")
                    return OnSchedule(every=_UNITS[unit.kind], on=on)
                return EveryBars(bars=bars)
    return None


def _edge(r: Reader) -> OnSchedule | None:
    """the first trading day of every quarter."""
    with r.trying() as attempt:
        edge = r.take("FIRST", "LAST", "PREVIOUS")
        if edge is None and r.peek().text == "1":
            edge = r.take("NUM")  # the 1st of each month
        day = r.take("DAY", "BAR")
        if edge is None or (edge.kind == "PREVIOUS" and day is None) or not r.take("OF"):
            return None
        r.take("EVERY")
        unit = r.take("WEEK", "MONTH", "QUARTER", "YEAR")
        token = r.take("WEEKLY", "MONTHLY", "QUARTERLY", "YEARLY") if unit is None else None  # of every quarter
        if unit is None and token is None:
            return None
        attempt.keep()
        every = _UNITS[unit.kind] if unit else _EDGES[token.kind if token else ""][0]
        return OnSchedule(every=every, on="first" if edge.kind in ("FIRST", "NUM") else "last")


def _on_day(r: Reader, on: str) -> tuple[str, bool]:
    """weekly on Fridays, monthly on the last day."""
    with r.trying() as attempt:
        r.take("ON", "AT")
        day = r.take(*DAYS)
        if day is not None:
            attempt.keep()
            return day.kind.lower(), True
        edge = r.take("FIRST", "PREVIOUS", "LAST")
        if edge is not None and r.take("DAY", "BAR"):
            attempt.keep()
            return ("first" if edge.kind == "FIRST" else "last"), True
    return on, False


def weekdays(r: Reader) -> tuple[str, ...]:
    first = r.take(*DAYS)
    if first is None:
        return ()
    days = [first.kind.lower()]
    while r.at("AND", "OR", ",", "TO") and (
        r.at(*DAYS, ahead=1) or (r.at("AND", "OR", ahead=1) and r.at(*DAYS, ahead=2))
    ):
        through = r.take("TO") is not None
        r.skip("AND", "OR", ",")
        day = r.take(*DAYS)
        assert day is not None
        if through:
            order = [name.lower() for name in DAYS]
            days = order[order.index(days[-1]) : order.index(day.kind.lower()) + 1]
        else:
            days.append(day.kind.lower())
    return tuple(sorted(set(days), key=[name.lower() for name in DAYS].index))


def hours(r: Reader) -> Condition | None:
    """between 10:00 and 15:30, after 10am, before 3pm, at 15:45."""
    with r.trying() as attempt:
        r.take("ONLY")
        r.take("DURING")
        timed = r.take("TIME_IS")
        ranged = r.take("BETWEEN", "FROM") is not None
        if ranged and not r.at("TIME"):
            return None
        if (ranged or r.peek(-1).kind == "DURING") and (start := r.take("TIME")):
            r.take("AND", "TO", "UNTIL", "DASH")
            end = r.take("TIME")
            if end is not None:
                attempt.keep()
                return InHours(start=start.text, end=end.text)
            return None
        word = r.take("AFTER", "BEFORE", "AT", "UNTIL", "BY")
        time = r.take("TIME")
        if time is not None and (word is not None or timed is not None):
            attempt.keep()
            if word is not None and word.kind in ("BEFORE", "UNTIL"):
                return InHours(end=time.text)
            return InHours(start=time.text)
    return None


def never_on(r: Reader) -> Condition | None:
    """not on Fridays, no trades before 10:00."""
    with r.trying() as attempt:
        if r.take("NOT") is None:
            return None
        r.skip("NEW", "TRADE", "BUY", "LONG", "SHORT", "IS" if r.peek(1).text == "trades" else "NEW")
        r.take("ON")
        days = weekdays(r)
        part: Condition | None = OnWeekdays(days=days) if days else hours(r)
        if part is not None:
            attempt.keep()
            return Not(part=part)
    return None
