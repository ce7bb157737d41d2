"""Days of a month by their number in English: the third trading day, the last five days of December, the 15th."""

from __future__ import annotations

from ringfence.agents.rules.reader import Reader
from ringfence.trade.description.model import AllOf, AnyOf, Condition, InMonths, MonthDays, OnSchedule

MONTHS = (
    "JANUARY", "FEBRUARY", "MARCH", "APRIL", "MAY", "JUNE", "JULY", "AUGUST", "SEPTEMBER", "OCTOBER", "NOVEMBER",
    "DECEMBER",
)  # fmt: skip
_ORDINALS = {
    "second": 2, "third": 3, "fourth": 4, "fifth": 5, "sixth": 6, "seventh": 7, "eighth": 8, "ninth": 9, "tenth": 10,
    "penultimate": -2, "second last": -2, "next to last": -2, "last but one": -2, "third last": -3, "fourth last": -4,
    "fifth last": -5,
}  # fmt: skip
_MOST = 23  # trading days of a month
_MONTHLY = ("MONTHLY", "MONTH_END", "MONTH_START", "MONTH")


def numbered(r: Reader) -> Condition | None:
    """A day, or several, that the month counts; None with nothing read."""
    return _canonical(r) or _stretch(r) or _before_end(r) or _trading_day(r) or _dates(r)


def _canonical(r: Reader) -> Condition | None:
    """As the echo says it: it is trading days 2 to 4 of the month, it is the first bar from day 15 of the month on."""
    with r.trying() as attempt:
        if not r.take_all("IT", "IS"):
            return None
        if r.take_all("FIRST", "BAR", "FROM", "DAY"):
            day = r.take("NUM")
            if day is not None and r.take_all("OF", "MONTH", "ON"):
                attempt.keep()
                return OnSchedule(every="month", on=str(int(day.value)))
            return None
        first = r.take("NUM") if r.take("DAY") else None
        if first is None:
            return None
        last = (r.take("NUM") if r.take("TO") else None) or first
        back = r.take_all("FROM", "MONTH_END")
        if not back and not r.take_all("OF", "MONTH"):
            return None
        ends = sorted(int(-n.value if back else n.value) for n in (first, last))
        attempt.keep()
        return MonthDays(first=ends[0], last=ends[1])


def _of_month(r: Reader) -> tuple[bool, tuple[int, ...]]:
    """of each month, of the new month, of December, in January and July; and which months those are."""
    with r.trying() as attempt:
        if not r.take("OF", "IN", "FOR"):
            return False, ()
        r.skip("EVERY", "NEW", "NEXT", "CURRENT")
        r.take("STRATEGY") if r.peek().text == "following" else None
        if r.take("MONTHLY", "MONTH"):
            attempt.keep()
            return True, ()
        months: list[int] = []
        while (token := r.take(*MONTHS)) is not None:
            months.append(MONTHS.index(token.kind) + 1)
            if not (r.at("AND", ",", "OR") and r.at(*MONTHS, ahead=1)):
                break
            r.take("AND", ",", "OR")
        if months:
            attempt.keep()
            return True, tuple(months)
    return False, ()


def _within(made: Condition, months: tuple[int, ...]) -> Condition:
    return AllOf(parts=(made, InMonths(months=months))) if months else made


def _stretch(r: Reader) -> Condition | None:
    """during the last five trading days of December and the first two of January."""
    with r.trying() as attempt:
        r.take("ON", "IN", "DURING", "FOR", "BETWEEN")
        parts: list[Condition] = []
        while True:
            with r.trying() as again:
                if parts and not r.take("AND", "OR", ","):
                    break
                edge = r.take("FIRST", "PREVIOUS", "LAST")
                number = r.take("NUM")
                named = r.take("DAY") is not None
                whole = number is not None and number.value == int(number.value) and 2 <= number.value <= _MOST
                told, months = _of_month(r)
                if edge is None or number is None or not whole or not told or not (named or parts):
                    break
                count = int(number.value)
                ends = (1, count) if edge.kind == "FIRST" else (-count, -1)
                parts.append(_within(MonthDays(first=ends[0], last=ends[1]), months))
                again.keep()
        if not parts:
            return None
        attempt.keep()
        return parts[0] if len(parts) == 1 else AnyOf(parts=tuple(parts))


def _before_end(r: Reader) -> Condition | None:
    """three trading days before the end of the month."""
    with r.trying() as attempt:
        r.take("ON", "AT")
        number = r.take("NUM")
        if number is None or not r.take("DAY") or not r.take("BEFORE"):
            return None
        r.take("EVERY")
        if not r.take("MONTH_END") or not 1 <= number.value < _MOST or number.value != int(number.value):
            return None
        attempt.keep()
        day = -int(number.value) - 1
        return MonthDays(first=day, last=day)


def _nth(r: Reader) -> int:
    """third, 3rd, third to last, third last; 0 where there is none."""
    token = r.take("NTH", "THIRD", "ANOTHER", "QUARTER", "FIFTH", "TENTH", "NUM")
    if token is None:
        return 0
    words = token.text.replace(" - ", " ")  # third-last
    number = _ORDINALS.get(words, int(token.value) if token.kind == "NUM" and is_ordinal(token.text) else 0)
    if number and (r.take_all("TO", "PREVIOUS") or r.take_all("TO", "LAST") or r.take("PREVIOUS")):
        return -number
    return number


def is_ordinal(text: str) -> bool:
    """15th."""
    return text[:1].isdigit() and text.endswith(("st", "nd", "rd", "th"))


def _trading_day(r: Reader) -> Condition | None:
    """on the third trading day of each month; the third, where the months were spoken of."""
    with r.trying() as attempt:
        placed = r.take("ON", "AT", "IN") is not None
        day = _nth(r)
        if day > 1 and (r.at("MONTH_END") or (r.at("TO") and r.at("MONTH_END", ahead=1))):
            r.take("TO")
            end = r.take("MONTH_END")  # the third to last trading day of the month
            if end is None or not end.text.startswith("last") or "day" not in end.text:
                return None
            attempt.keep()
            return MonthDays(first=-day, last=-day)
        named = r.take("DAY") is not None
        told, months = _of_month(r)
        spoken = any("month" in token.text for token in r.tokens)
        if not day or abs(day) > _MOST or not (named or (placed and not told and _counted_days(r))):
            return None
        if not told and not (placed and spoken):
            return None
        _or_next(r)
        attempt.keep()
        if day == 1:
            return _within(OnSchedule(every="month"), months)
        return _within(MonthDays(first=day, last=day), months)


def _counted_days(r: Reader) -> bool:
    """… buy on the first trading day of each month, sell on the fifth: trading days were spoken of."""
    return any("trading day" in token.text for token in r.tokens[: r.i])


def _dates(r: Reader) -> Condition | None:
    """on the 15th, on the 1st and the 15th of each month, on December 15."""
    with r.trying() as attempt:
        r.take("ON", "AT")
        month = r.take(*MONTHS)
        if month is not None:
            number = r.take("NUM")
            if number is None or r.at("PERCENT", "DAY", "BAR") or (made := _date(number.value)) is None:
                return None
            _or_next(r)
            attempt.keep()
            return _within(made, (MONTHS.index(month.kind) + 1,))
        found: list[Condition] = []
        while r.at("NUM") and is_ordinal(r.peek().text):
            number = r.take("NUM")
            made = _date(number.value) if number is not None else None
            if made is None:
                return None
            found.append(made)
            if not (r.at("AND", ",", "OR") and r.at("NUM", ahead=1)):
                break
            r.take("AND", ",", "OR")
        told, months = _of_month(r)
        spoken = any(token.kind in _MONTHLY or "month" in token.text for token in r.tokens)
        if not found or not (told or spoken) or r.at("DAY"):
            return None
        _or_next(r)
        attempt.keep()
        return _within(found[0] if len(found) == 1 else AnyOf(parts=tuple(found)), months)


def _date(day: float) -> Condition | None:
    if day != int(day) or not 1 <= day <= 28:
        return None  # some months have no 30th
    return OnSchedule(every="month", on="first" if day == 1 else str(int(day)))


def _or_next(r: Reader) -> None:
    """or the next trading day if that is a holiday: so it is anyway."""
    with r.trying() as attempt:
        r.take(",")
        if r.take("OR") and r.take("NEXT_DAY"):
            attempt.keep()
            with r.trying() as shut:
                if r.take("WHEN") and r.take("SHUT_DAY"):
                    shut.keep()
