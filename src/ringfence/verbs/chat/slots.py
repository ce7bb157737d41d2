"""The numbers of a text, each taken for one thing. What is left over was not understood, and is asked about."""

from __future__ import annotations

import re
from collections.abc import Sequence

from ringfence.verbs.simulate.horizon import Horizon, Unit

_NUMBER = r"\$?\s?(\d+(?:,\d{3})*(?:\.\d+)?|\.\d+)\s?(k|m|thousand|million)?\b(?!\.\d|\s?%)"
_PERCENT = r"(\d+(?:\.\d+)?|\.\d+)\s?%"
_SCALE = {"": 1.0, "k": 1e3, "thousand": 1e3, "m": 1e6, "million": 1e6}
_UNITS: dict[str, Unit] = {
    "minute": "minutes", "hour": "hours", "day": "days", "week": "weeks", "month": "months", "quarter": "quarters",
    "year": "years", "bar": "bars", "d": "days", "w": "weeks", "mo": "months", "y": "years", "h": "hours",
}  # fmt: skip
_SPAN = re.compile(
    r"(\d+(?:\.\d+)?)[\s-]?(trading |business |calendar )?(minute|hour|day|week|month|quarter|year|bar|mo|d|w|y|h)s?\b"
)
_NAMED_SPAN = re.compile(r"\b(?:next|coming|a|an|one) (week|month|quarter|year|hour|day|minute|bar)\b|\b(tomorrow)\b")
_LEFT = re.compile(r"(?<![\w.])\$?\d+(?:,\d{3})*(?:\.\d+)?(?:\s?%|\w*)")
_DATE = re.compile(r"\b(?:on |as of )?(\d{4}-\d{2}-\d{2}|\d{1,2}[/.]\d{1,2}[/.]\d{4})\b")
_ONES = "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen"
_TENS = {"twenty": 20, "thirty": 30, "forty": 40, "fifty": 50, "sixty": 60, "seventy": 70, "eighty": 80, "ninety": 90}
_WORDS = {word: n for n, word in enumerate(_ONES.split())} | _TENS
_ONE = "|".join(_ONES.split())
_SPELLED = re.compile(rf"\b({'|'.join(_TENS)})(?:[\s-]({_ONE}))?\b", re.IGNORECASE)


class Slots:
    """A text from which one number after another is taken. What was taken is not found again."""

    def __init__(self, text: str, spans: Sequence[tuple[int, int]] = ()) -> None:
        for start, end in spans:  # a spec or a symbol may have digits of its own
            text = text[:start] + "\x00" * (end - start) + text[end:]
        self.text = _normal(text)
        self.dates: list[str] = []  # first of all, so that no part of one is taken for a number
        while (found := self.take(_DATE)) is not None:
            self.dates.append(found[1])

    def take(self, pattern: str | re.Pattern[str]) -> re.Match[str] | None:
        found = re.search(pattern, self.text)
        if found is not None:
            self.text = self.text[: found.start()] + " \x01 " + self.text[found.end() :]
        return found

    def number(self, *patterns: str) -> float | None:
        """The first that is found; N in a pattern stands for a number, with $, commas, k and m."""
        for pattern in patterns:
            found = self.take(pattern.replace("<N>", _NUMBER))
            if found is not None:
                return float(found[1].replace(",", "")) * _SCALE[found[2] or ""]
        return None

    def share(self, *patterns: str) -> float | None:
        """A percentage as a fraction; <P> in a pattern stands for it."""
        for pattern in patterns:
            found = self.take(pattern.replace("<P>", _PERCENT))
            if found is not None:
                return float(found[1]) / 100
        return None

    def span(self) -> Horizon | None:
        found = self.take(_SPAN)
        if found is not None:
            unit = _UNITS[found[3]]
            calendar = (found[2] or "").strip() == "calendar" and unit == "days"
            return Horizon(amount=float(found[1]), unit="calendar days" if calendar else unit)
        found = self.take(_NAMED_SPAN)
        if found is None:
            return None
        return Horizon(amount=1.0, unit=_UNITS[found[1] or "day"])

    def left(self) -> list[str]:
        """Numbers that nobody took."""
        return [match[0].strip() for match in _LEFT.finditer(self.text)]


def in_digits(text: str) -> str:
    """Numbers from twenty to ninety-nine that are written as words, in digits."""
    return _SPELLED.sub(lambda m: str(_WORDS[m[1].lower()] + (_WORDS[m[2].lower()] if m[2] else 0)), text)


def _normal(text: str) -> str:
    """In small letters, numbers in digits, percent as a sign."""
    text = text.lower().replace("’", "'")
    text = re.sub(r"\b(per cent|percent|pct)\b", "%", text)
    text = in_digits(text)
    units = r"(?=[\s-](?:trading |business |calendar )?(?:minute|hour|day|week|month|quarter|year|bar|period|%))"
    text = re.sub(rf"\b({_ONE})\b{units}", lambda m: str(_WORDS[m[1]]), text)
    return re.sub(r"\bhalf a year\b", "6 months", text)
