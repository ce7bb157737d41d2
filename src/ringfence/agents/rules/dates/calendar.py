"""The calendar in English: every Monday, at month end, between 10:00 and 15:30, every 20 bars."""

from __future__ import annotations

from ringfence.agents.rules.dates.monthdays import numbered
from ringfence.agents.rules.dates.seasons import day_in_month, end_of_month, months, season
from ringfence.agents.rules.measures.settings import NAMES
from ringfence.agents.rules.reader import Reader, period
from ringfence.trade.description.model import (
    AllOf,
    Condition,
    EveryBars,
    InHours,
    InMonths,
    Not,
    OnSchedule,
    OnWeekdays,
    Period,
)

DAYS = ("MONDAY", "TUESDAY", "WEDNESDAY", "THURSDAY", "FRIDAY", "SATURDAY", "SUNDAY")
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
    return numbered(r) or _canonical(r) or hours(r) or season(r) or day_in_month(r) or months(r) or schedule(r)


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
        if bars is not None and r.take("DATA_PASSED", "HAVE_PASSED"):
            attempt.keep()
            return EveryBars(bars=bars)
    with r.trying() as attempt:
        if not (r.take("IT", "CURRENT") and r.take("IS")):
            return None
        r.take("EITHER")
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
        day = r.take(*DAYS)
        on = day.kind.lower() if day is not None else on
        if day is not None and not r.take_all("OF", "EVERY"):
            attempt.keep()
            return OnSchedule(every="week", on=on)
        each = r.take("NUM") if day is not None or r.take("EVERY") else None
        unit = r.take(*_UNITS)
        if unit is None or (each is not None and unit.kind not in ("WEEK", "MONTH")):
            return None
        attempt.keep()
        return OnSchedule(every=_UNITS[unit.kind], on=on, each=int(each.value) if each is not None else 1)


def recurring(r: Reader) -> OnSchedule | EveryBars | None:
    """What comes again and again: a day of the calendar, or so many bars."""
    with r.trying() as attempt:
        r.take("WHEN")
        made = calendar(r) or schedule(r) or _every_january(r)
        if isinstance(made, OnWeekdays) and len(made.days) == 1:
            made = OnSchedule(every="week", on=made.days[0])  # reviewed on Fridays
        if isinstance(made, AllOf):
            made = _in_months(made)
        elif isinstance(made, OnSchedule) and made.each == 6:
            with r.trying() as same:  # twice a year, on the first trading days of January and July
                r.take(",")
                again = calendar(r)
                if again == InMonths(months=(1, 7)) or (isinstance(again, AllOf) and _in_months(again) == made):
                    same.keep()
        if isinstance(made, (OnSchedule, EveryBars)):
            attempt.keep()
            return made
    return None


def _in_months(made: AllOf) -> Condition:
    """On the first trading day of January and July: every six months."""
    when, inside = made.parts[0], made.parts[-1]
    if isinstance(when, OnSchedule) and isinstance(inside, InMonths) and when == OnSchedule(every="month"):
        apart = 12 // len(inside.months)
        if inside.months == tuple(range(1, 13, apart)) and apart > 1:
            return OnSchedule(every="year") if apart == 12 else OnSchedule(every="month", each=apart)
    return made


def _at_turn(r: Reader, on: str) -> str:
    """yearly at the end of December, at the start of January."""
    with r.trying() as attempt:
        if r.take("AT", "ON", "IN"):
            edge = r.peek()
            month = end_of_month(r, "FIRST", "LAST", "PREVIOUS")
            if month == (1 if edge.kind == "FIRST" else 12):
                attempt.keep()
                return "first" if edge.kind == "FIRST" else "last"
    return on


def _every_january(r: Reader) -> OnSchedule | None:
    with r.trying() as attempt:
        r.take("AT", "ON")
        r.take("FIRST") and r.take("DAY")
        r.take("OF", "IN")
        if r.take_all("EVERY", "JANUARY") or (r.peek(-1).kind in ("IN", "OF") and r.take("JANUARY")):
            attempt.keep()
            return OnSchedule(every="year")
    return None


def schedule(r: Reader) -> Condition | None:
    """every Monday, on Fridays, at month end, monthly, every 20 bars, every other is not known."""
    with r.trying() as attempt:
        r.take("ONLY")
        preposition = r.take("ON", "AT", "IN", "FROM" if r.at("TO", "UNTIL", "THROUGH", ahead=2) else "ON")
        other = _every_other(r)
        if other is not None:
            attempt.keep()
            return other
        every = r.take("EVERY")
        preposition = preposition or (r.take("NEXT") if r.at(*DAYS, ahead=1) else None)  # the next Monday
        token = r.take(*_EDGES)
        if token is not None and token.kind in ("WEEKLY", "MONTHLY", "DAILY") and every is None and r.at(*NAMES, "NUM"):
            return None  # the weekly RSI
        if token is not None:
            period_, on = _EDGES[token.kind]
            if token.kind in ("WEEKLY", "MONTHLY", "QUARTERLY", "YEARLY", "DAILY"):
                on, read = _on_day(r, on)
                if read and period_ != "week" and on not in ("first", "last"):
                    return None  # which Monday of the month?
                on = _at_turn(r, on) if token.kind == "YEARLY" and not read else on
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
            r.take("ONLY")
            attempt.keep()
            return OnSchedule(every="week", on=days[0]) if every and len(days) == 1 else OnWeekdays(days=days)
        if every is not None:
            bars = period(r)
            unit = r.peek(-1)
            if bars is not None:
                attempt.keep()
                if unit.kind in _UNITS and r.peek(-2).kind != "NUM":
                    on, _ = _on_day(r, "first")
                    if unit.kind != "WEEK" and on not in ("first", "last"):
                        raise r.ask(
                            f"which {on.capitalize()} of the {unit.text}?", ["every Monday", "month end"], r.i - 1
                        )
                    return OnSchedule(every=_UNITS[unit.kind], on=on)
                number = r.peek(-2)
                on, read = _on_day(r, "first") if unit.kind == "WEEK" else ("", False)
                if read:  # every 2 weeks on Wednesday
                    return OnSchedule(every="week", on=on, each=int(number.value))
                return EveryBars(bars=bars)
    return None


def _every_other(r: Reader) -> OnSchedule | None:
    """every other Friday, every second week, fortnightly on Mondays, twice a year."""
    with r.trying() as attempt:
        if r.take("HALF_YEARLY"):
            attempt.keep()
            return OnSchedule(every="month", each=6)
        if r.take("FORTNIGHTLY"):
            attempt.keep()
            return OnSchedule(every="week", on=_on_day(r, "first")[0], each=2)
        if not r.take("EVERY_OTHER"):
            return None
        day = r.take(*DAYS)
        unit = r.take("WEEK", "MONTH") if day is None else None
        if day is None and unit is None:
            return None
        attempt.keep()
        if day is not None:
            return OnSchedule(every="week", on=day.kind.lower(), each=2)
        if unit is not None and unit.kind == "MONTH":
            return OnSchedule(every="month", each=2)
        return OnSchedule(every="week", on=_on_day(r, "first")[0], each=2)


def _edge(r: Reader) -> OnSchedule | None:
    """the first trading day of every quarter."""
    with r.trying() as attempt:
        edge = r.take("FIRST", "LAST", "PREVIOUS")
        if edge is None and r.peek().text in ("1", "1st"):
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
    while r.at("AND", "OR", ",", "TO", "UNTIL", "THROUGH") and (
        r.at(*DAYS, ahead=1) or (r.at("AND", "OR", ahead=1) and r.at(*DAYS, ahead=2))
    ):
        through = r.take("TO", "UNTIL", "THROUGH") is not None
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
        ranged = r.take("BETWEEN", "FROM") is not None or (r.at("TO", ahead=1) and r.at("TIME", ahead=2))
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
            r.told_times.add(time.text)
            return InHours(start=time.text)
    return None


def never_on(r: Reader) -> Condition | None:
    """not on Fridays, no trades before 10:00."""
    with r.trying() as attempt:
        if r.take("NOT") is None:
            return None
        r.skip("NEW", "TRADE", "BUY", "LONG", "SHORT", "IS" if "trades" in (r.peek().text, r.peek(1).text) else "NEW")
        r.take("ON")
        days = weekdays(r)
        part: Condition | None = OnWeekdays(days=days) if days else hours(r)
        if part is not None:
            attempt.keep()
            return _neither(r, part)
    return None


def _neither(r: Reader, part: Condition) -> Condition:
    """no new trades after 20:00 or before 07:00: in neither of them."""
    parts: list[Condition] = [Not(part=part)]
    while isinstance(part, InHours):
        with r.trying() as attempt:
            another = hours(r) if r.take("OR", "AND") else None
            if another is None:
                break
            attempt.keep()
            parts.append(Not(part=another))
    return parts[0] if len(parts) == 1 else AllOf(parts=tuple(parts))
