"""Months in English: in May, from November to April, except in September, on the first trading day of November."""

from __future__ import annotations

from ringfence.agents.rules.dates.monthdays import MONTHS
from ringfence.agents.rules.reader import Reader
from ringfence.trade.description.model import AllOf, Condition, InMonths, Not, OnSchedule


def months(r: Reader) -> Condition | None:
    """in May, from November to April, between June and August, during July and August."""
    with r.trying() as attempt:
        r.take("ONLY")
        without = _except(r)
        bare = r.at(*MONTHS) and r.at("TO", "UNTIL", "THROUGH", ahead=1) and r.at(*MONTHS, ahead=2)
        opened = r.take("MONTH_IS", "IN", "DURING", "FROM", "BETWEEN", "FOR", "THROUGH") is not None
        if not opened and not bare and not without:
            return None
        ranged = opened and r.peek(-1).kind in ("FROM", "BETWEEN")
        r.take("EVERY")
        r.skip("MONTH", "OF") if r.at("MONTH") else None
        found = [_month(r)] if r.at(*MONTHS) else []
        while found and r.at("AND", "OR", ",", "TO", "UNTIL", "THROUGH") and _month_after(r):
            joint = r.take(",") or r.take("AND", "OR", "TO", "UNTIL", "THROUGH")
            joint = r.take("AND", "OR") or joint
            month = _month(r)
            through = joint is not None and (joint.kind in ("TO", "UNTIL", "THROUGH") or ranged)
            found += _onwards(found[-1], month) if through else [month]
        if not found or (ranged and len(found) < 2):
            return None
        r.take("ONLY")
        r.take(",") if r.at("YEARLY", ahead=1) else None
        r.take("YEARLY")  # in January only, each year
        attempt.keep()
        made = InMonths(months=tuple(dict.fromkeys(found)))
        return Not(part=made) if without else made


def _except(r: Reader) -> bool:
    """except in September, every month but September."""
    with r.trying() as attempt:
        r.take("IN", "FOR")
        every = r.take("MONTHLY", "YEARLY") is not None
        if r.take("EXCEPT") or (every and r.peek().text == "but" and r.take("AND")):
            attempt.keep()
            return r.at(*MONTHS) or r.at(*MONTHS, ahead=1)
    return False


def _month(r: Reader) -> int:
    token = r.take(*MONTHS)
    assert token is not None
    return MONTHS.index(token.kind) + 1


def _month_after(r: Reader) -> bool:
    return r.at(*MONTHS, ahead=1) or (r.at(",") and r.at("AND", "OR", ahead=1) and r.at(*MONTHS, ahead=2))


def _onwards(first: int, last: int) -> list[int]:
    """The months after the first up to the last, over the turn of the year where that is before it."""
    return [(first + n) % 12 + 1 for n in range((last - first) % 12)]


def season(r: Reader) -> Condition | None:
    """from the first trading day of November until the last trading day of April."""
    with r.trying() as attempt:
        r.take("ON")
        if not r.take("FROM") and not r.at("FIRST"):
            return None
        begin = end_of_month(r, "FIRST")
        if begin is None or r.timeframe != "1d":
            return None
        joined = r.at("FOREVER") or r.take("TO", "UNTIL", "THROUGH", "AND") is not None  # until the end of April
        end = end_of_month(r, "LAST", "PREVIOUS", "FOREVER") if joined else None
        if end is None:
            return None
        attempt.keep()
        last = AllOf(parts=(OnSchedule(every="month", on="last"), InMonths(months=(end,))))
        return AllOf(parts=(InMonths(months=(begin, *_onwards(begin, end))), Not(part=last)))


def day_in_month(r: Reader) -> Condition | None:
    """on the first trading day of November, at the end of April."""
    with r.trying() as attempt:
        if not r.take("ON", "AT", "IN"):
            return None
        edge = r.peek()
        month = end_of_month(r, "FIRST", "LAST", "PREVIOUS")
        if month is None or r.at("TO", "UNTIL", "THROUGH"):
            return None
        found = [month]
        while r.at("AND", "OR", ",") and _month_after(r):
            r.skip("AND", "OR", ",")
            found.append(_month(r))
        r.take(",") if r.at("YEARLY", ahead=1) else None
        r.take("YEARLY")
        attempt.keep()
        day = OnSchedule(every="month", on="first" if edge.kind == "FIRST" else "last")
        return AllOf(parts=(day, InMonths(months=tuple(found))))


def end_of_month(r: Reader, *edges: str) -> int | None:
    if not r.take(*edges):
        return None
    r.take("DAY")
    r.take("OF", "IN")
    return _month(r) if r.at(*MONTHS) else None
