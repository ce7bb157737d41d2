"""Where the parser stands in the tokens, and what it must remember: what "it" is, and what is doubtful."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from ringfence.agents.rules.text.tokens import Token
from ringfence.trade.description.model import Condition, Line

_END = Token(kind="END", text="", start=0, end=0)

# Bars in a day, week, month, quarter and year of the exchange, by the length of a bar.
_CALENDAR: dict[str, dict[str, int]] = {
    "1d": {"DAY": 1, "WEEK": 5, "MONTH": 21, "QUARTER": 63, "YEAR": 252},
    "1w": {"WEEK": 1, "QUARTER": 13, "YEAR": 52},
    "1mo": {"MONTH": 1, "QUARTER": 3, "YEAR": 12},
}
_MINUTES = {"m": 1, "h": 60, "d": 1440, "w": 10_080, "mo": 43_200}
_FOREIGN = ("euro", "euros", "eur", "pound", "pounds", "gbp", "quid", "rupee", "rupees", "inr", "rs")
_SIGNS = ("rs", "inr", "eur", "gbp")
CLAUSE_ENDS = ("END", "STOP_MARK", ",", "AND", "USE", ")", "THEN")
UNITS = ("BAR", "DAY", "WEEK", "MONTH", "QUARTER", "YEAR", "HOUR", "MINUTE")


def minutes(frame: str) -> float:
    """How long a bar of 5m, 4h, 1d, 1w or 1mo is."""
    count = frame.rstrip("mohdw")
    return float(count) * _MINUTES[frame[len(count) :]]


class Question(Exception):
    """The words have several meanings; `choices` are sentences that have one."""

    def __init__(self, ask: str, choices: Sequence[str], span: tuple[int, int]) -> None:
        super().__init__(ask)
        self.ask, self.choices, self.span = ask, tuple(choices), span


@dataclass(slots=True)
class Reader:
    tokens: list[Token]
    timeframe: str = "1d"
    i: int = 0
    furthest: int = 0
    it: Line | None = None  # what the last condition was about
    right: Line | None = None  # and what it was compared with
    entry: Condition | None = None  # the last entry's, which "the opposite" turns round
    joined: bool = False  # after an and or an or, where a subject may be left out
    traded: tuple[str, ...] = ()
    lead: Condition | None = None  # hours or days with which the sentence began: of all its entries
    inferred: set[Line] = field(default_factory=set)  # edges of a channel that were not named: above the cloud
    told_times: set[str] = field(default_factory=set)  # 15:55, as a time from which on something is so
    either: bool = False  # of an exit of both sides, where a cross may go either way
    single: bool = False  # it says that there is one position at a time
    known: dict[str, tuple[float, ...]] = field(default_factory=dict)  # settings that were said
    golden: tuple[Line, Line] | None = None  # the averages of the golden cross, where it names them
    over: int = 0  # the last length of time a change was measured over, in bars
    own: set[str] = field(default_factory=set)  # indicators a part of which had a number of its own: %D(3)
    notices: list[str] = field(default_factory=list)

    def peek(self, ahead: int = 0) -> Token:
        n = self.i + ahead
        return self.tokens[n] if n < len(self.tokens) else _END

    def at(self, *kinds: str, ahead: int = 0) -> bool:
        return self.peek(ahead).kind in kinds

    def take(self, *kinds: str) -> Token | None:
        token = self.peek()
        if token.kind not in kinds or token.kind == "END":
            return None
        self.i += 1
        self.furthest = max(self.furthest, self.i)
        return token

    def take_all(self, *kinds: str) -> bool:
        """These one after another, or none of them."""
        if any(not self.at(kind, ahead=n) for n, kind in enumerate(kinds)):
            return False
        for kind in kinds:
            self.take(kind)
        return True

    def skip(self, *kinds: str) -> None:
        while self.take(*kinds):
            pass

    def whose(self, symbol: str) -> str:
        """Empty for the one that is traded; of several each is named, as a rule about one of them is about that one."""
        return "" if self.traded == (symbol,) else symbol

    def take_to(self, end: int) -> None:
        """All up to this token."""
        self.i = end
        self.furthest = max(self.furthest, end)

    @contextmanager
    def trying(self) -> Iterator[Attempt]:
        """Back to where it was, unless `keep` is called."""
        attempt = Attempt()
        start, it, right, entry, traded = self.i, self.it, self.right, self.entry, self.traded
        known, noticed = dict(self.known), len(self.notices)
        try:
            yield attempt
        finally:
            if not attempt.kept:
                self.i, self.it, self.right, self.entry, self.traded = start, it, right, entry, traded
                self.known = known
                del self.notices[noticed:]

    def ask(self, ask: str, choices: Sequence[str], first: int) -> Question:
        """A question about the tokens from `first` up to here."""
        last = max(first, self.i - 1)
        here = self.tokens[min(first, len(self.tokens) - 1)], self.tokens[min(last, len(self.tokens) - 1)]
        return Question(ask, choices, (here[0].start, here[1].end))

    def bars(self, count: float, unit: str, first: int) -> int:
        """A length of time in bars."""
        bars: float | None = count if unit == "BAR" else None
        calendar = _CALENDAR.get(self.timeframe, {})
        if (unit, count, self.timeframe) == ("WEEK", 52, "1d"):
            bars = 252  # a year, as everybody has it
        elif unit in calendar:
            bars = count * calendar[unit]
        elif unit in ("HOUR", "MINUTE") and minutes(self.timeframe) < minutes("1d"):
            bars = count * (60 if unit == "HOUR" else 1) / minutes(self.timeframe)
        if bars is None or bars != int(bars) or bars < 1:
            raise self.ask(
                f"{count:g} {unit.lower()}{'s' if count != 1 else ''} is no number of {self.timeframe} bars",
                ["say it in bars, for example 20 bars"],
                first,
            )
        return int(bars)


@dataclass(slots=True)
class Attempt:
    kept: bool = False

    def keep(self) -> None:
        self.kept = True


def period(r: Reader, *, bare: bool = False) -> int | None:
    """A length such as 10 days, two weeks or, where `bare` is allowed, 10."""
    first = r.i
    with r.trying() as attempt:
        number = r.take("NUM")
        unit = r.take(*UNITS)
        if number is None and unit is not None and unit.text not in ("bars", "days", "periods"):
            attempt.keep()  # over a month
            return r.bars(1, unit.kind, first)
        whole = number is not None and number.value >= 1 and number.value == int(number.value)
        if number is not None and whole and unit is not None and unit.kind in _LONG and (days := _restated(r)):
            attempt.keep()
            return days
        if number is not None and whole and (unit or (bare and not r.at("PERCENT", "TIMES", "DOLLARS", "SHARES"))):
            attempt.keep()
            return r.bars(number.value, unit.kind if unit else "BAR", first)
    return None


_LONG = ("WEEK", "MONTH", "QUARTER", "YEAR")


def _restated(r: Reader) -> int | None:
    """10-month (210-day): the number of bars that is meant, said beside it."""
    with r.trying() as attempt:
        if not r.take("(") or not (number := r.take("NUM")) or not (unit := r.take("DAY", "BAR")) or not r.take(")"):
            return None
        attempt.keep()
        return r.bars(number.value, unit.kind, r.i - 2)


_GUARDS = ("STOP", "TARGET", "TRAIL", "RISK", "SIZE")


def counted(r: Reader, ahead: int = 0) -> bool:
    """10 shares, 5 %, 2 ATR stop, 1 x ATR trail, 3R: a number with a unit of its own, which sets no indicator."""
    if not r.at("NUM", ahead=ahead):
        return False
    if r.at("PERCENT", "SHARES", "DOLLARS", "BPS", "RISK", *UNITS, ahead=ahead + 1):
        return True
    return r.at("ATR", "TIMES", ahead=ahead + 1) and any(r.at(*_GUARDS, ahead=ahead + n) for n in (2, 3, 4))


def percent(r: Reader) -> float | None:
    """5 %, 5 percent, 50 bps."""
    if r.take_all("HALF", "PERCENT"):
        return 0.5
    with r.trying() as attempt:
        number = r.take("NUM")
        if number is not None and r.take("PERCENT"):
            attempt.keep()
            return number.value
        if number is not None and r.take("BPS"):
            attempt.keep()
            return number.value / 100
    return None


def money(r: Reader) -> float | None:
    token = r.take("MONEY")
    if token is not None:
        r.take("DOLLARS")
        _currency(r, token.text)
        return token.value
    with r.trying() as attempt:
        number = r.take("NUM")
        if number is not None and (unit := r.take("DOLLARS")):
            attempt.keep()
            _currency(r, unit.text)
            return number.value
    return None


def _currency(r: Reader, text: str) -> None:
    if foreign(text):
        r.notices.append("amounts of money are in the currency of the data")


def foreign(text: str) -> bool:
    return text[0] in "€£₹¥" or text.lower().startswith(_SIGNS) or text.split()[-1] in _FOREIGN


def listed_symbols(r: Reader) -> tuple[str, ...]:
    """AAPL, MSFT and IBM; SPY/TLT: each once."""
    made: list[str] = []
    while (token := r.take("SYMBOL")) is not None:
        made.append(token.text)
        ahead = 2 if r.at(",") and r.at("AND", ahead=1) else 1
        if not (r.at(",", "AND", "SLASH") and r.at("SYMBOL", ahead=ahead)):
            break
        r.skip(",", "AND", "SLASH")
    return tuple(dict.fromkeys(made))
