"""Conditions as Python expressions."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from ringfence.trade.description.catalogue import KINDS
from ringfence.trade.description.code.names import Names, bare_line, frame_name, is_price
from ringfence.trade.description.model import (
    AllOf,
    AnyOf,
    Apart,
    Between,
    Beyond,
    Change,
    Compare,
    Condition,
    Cross,
    EveryBars,
    Held,
    InHours,
    InMonths,
    Line,
    MonthDays,
    Not,
    Number,
    OnSchedule,
    OnWeekdays,
    Operand,
    Scaled,
    SomeOf,
    Trend,
)

_SIGNS = {"above": ">", "below": "<", "at_least": ">=", "at_most": "<="}
_DAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")


@dataclass(slots=True)
class Expressions:
    """`data` is how the program calls the bars of what it trades. What it needs imported and defined is collected."""

    names: Names
    data: str
    functions: set[str]
    role: str = "entry"
    dated: bool = False
    needed: dict[tuple[str, str], tuple[str, int]] = field(default_factory=dict)  # see `need`

    def of(self, what: Condition) -> str:
        if isinstance(what, (AllOf, AnyOf)):
            word = " and " if isinstance(what, AllOf) else " or "
            return word.join(self._nested(part) for part in what.parts)
        if isinstance(what, SomeOf):
            return f"sum(({', '.join(self._nested(part) for part in what.parts)})) >= {what.count}"
        if isinstance(what, Not):
            return f"not {self.of(what.part)}" if isinstance(what.part, Cross) else f"not ({self.of(what.part)})"
        if isinstance(what, Compare):
            return f"{self.value(what.left)} {_SIGNS[what.level]} {self.value(what.right, what.left)}"
        if isinstance(what, Cross):
            return self._cross(what)
        if isinstance(what, Between):
            low, high = self.value(what.low, what.left, "low"), self.value(what.high, what.left, "high")
            return f"{low} <= {self.value(what.left)} <= {high}"
        if isinstance(what, Trend):
            return self._trend(what)
        if isinstance(what, Change):
            return self._change(what)
        if isinstance(what, Held):
            return self._held(what)
        return self._calendar(what)

    def parts(self, what: Condition) -> tuple[str, list[str]]:
        """For a condition that is too long for one line: its connective and what that connects."""
        if isinstance(what, (AllOf, AnyOf)):
            return ("and" if isinstance(what, AllOf) else "or"), [self._nested(part) for part in what.parts]
        if isinstance(what, Cross) and what.direction != "either" and not _is_plain(what):
            return "and", self._steps(what, what.direction)
        return "and", [self.of(what)]

    def too_early(self) -> list[str]:
        """What is true while there are fewer bars than it looks back on.

        For a value of each indicator the engine waits. It does not wait for other instruments, nor for coarser bars of
        which there is no indicator, nor for what lies further back.
        """
        return [f"len({bars}) < {count}" for key, (bars, count) in self.needed.items() if count > self._sure(*key)]

    def _sure(self, symbol: str, timeframe: str) -> int:
        """How many bars there are when the program is first asked, whatever its parameters are set to."""
        sure = [
            max((self.names.lowest(one, n) for n, s in enumerate(KINDS[one.name].settings) if s.whole), default=1)
            for one in self.names.series
            if (one.symbol, one.timeframe) == (symbol, timeframe)
        ]
        sure += [2 for one, _ in self.names.changes if (one.symbol, one.timeframe) == (symbol, timeframe)]
        return min(max(sure, default=0), 2)

    def _nested(self, part: Condition) -> str:
        return f"({self.of(part)})" if isinstance(part, (AllOf, AnyOf, SomeOf)) else self.of(part)

    # Values.

    def series(self, line: Line) -> str:
        """The series of a line, of which [-1] is this bar."""
        self.names.use(line)
        if is_price(line):
            return f"{self._bars(line)}.{line.name}"
        name = self.names.series[bare_line(line)]
        kind = KINDS[line.name]
        if kind.parts and line.part != kind.parts[0]:
            name = f"{name}_{line.part}"
        return f"self.{name}[symbol]" if self.names.many and not line.symbol else f"self.{name}"

    def _bars(self, line: Line) -> str:
        if line.timeframe:
            name = f"self.{frame_name(line)}"
            return f"{name}[symbol]" if self.names.many and not line.symbol else name
        return f'self.data["{line.symbol}"]' if line.symbol else self.data

    def need(self, line: Line, count: int, series: str = "") -> None:
        """Note that so many bars of the line's instrument and timeframe must have come, and what has their number."""
        bars = self._bars(line)
        if line.timeframe and not is_price(line):
            bars = series or self.series(line)
        key = line.symbol, line.timeframe
        bars, before = self.needed.get(key, (bars, 0))
        self.needed[key] = bars, max(before, count)

    def value(self, what: Operand, beside: Operand | None = None, prefix: str = "", back: int = 0) -> str:
        """The value `back` bars before this one; `beside` is what it is compared with, after which it is called."""
        if isinstance(what, Number):
            return self._number(what.value, beside, prefix)
        if isinstance(what, Apart):
            return self._apart(what, self.value(what.line, back=back), self.value(what.atr, back=back))
        line = what if isinstance(what, Line) else what.line
        self.need(line, line.ago + back + 1)
        return self._measured(what, f"{self.series(line)}[-{line.ago + back + 1}]")

    def _each(self, what: Operand, bars: int, beside: Operand | None = None, prefix: str = "") -> str:
        """The value on each of the last bars, counted back by k."""
        if isinstance(what, Number):
            return self._number(what.value, beside, prefix)
        if isinstance(what, Apart):
            return self._apart(what, self._each(what.line, bars), self._each(what.atr, bars))
        line = what if isinstance(what, Line) else what.line
        self.need(line, line.ago + bars)
        return self._measured(what, f"{self.series(line)}[{f'-k - {line.ago}' if line.ago else '-k'}]")

    def _measured(self, what: Line | Scaled | Beyond, text: str) -> str:
        if isinstance(what, Scaled):
            name = f"{self.role}_{self._called(what.line)}_times"
            return f"{self.names.number(name, what.times)} * {text}"
        if isinstance(what, Beyond):
            name = f"{self.role}_{self._called(what.line)}_margin"
            sign = "+" if what.percent > 0 else "-"
            return f"{text} * (1 {sign} {self.names.percent(name, abs(what.percent), 9.0)})"
        return text

    def _apart(self, what: Apart, line: str, atr: str) -> str:
        name = f"{self.role}_{self._called(what.line)}_ranges"
        return f"{line} {'+' if what.ranges > 0 else '-'} {self.names.number(name, abs(what.ranges))} * {atr}"

    def _called(self, line: Line) -> str:
        return "price" if line.name in ("close", "open") else line.name if is_price(line) else self._own_name(line)

    def _own_name(self, line: Line) -> str:
        return self.names.series[bare_line(line)]

    def _number(self, value: float, beside: Operand | None, prefix: str) -> str:
        line = beside if isinstance(beside, Line) else getattr(beside, "line", None)
        called = self._called(line) if line is not None else "level"
        name = "_".join(word for word in (self.role, prefix, called) if word)
        return self.names.number(name, value, KINDS[line.name].scale if line is not None else None)

    # Comparisons.

    def _cross(self, what: Cross) -> str:
        if _is_plain(what):
            left = self._crossing(what.left, what.right)
            right = self._crossing(what.right, what.left)
            function = {"above": "crossover", "below": "crossunder", "either": "crossed"}[what.direction]
            self.functions.add(function)
            return f"{function}({left}, {right})"
        if what.direction == "either":
            up, down = (" and ".join(self._steps(what, way)) for way in ("above", "below"))
            return f"(({up}) or ({down}))"
        return f"({' and '.join(self._steps(what, what.direction))})"

    def _steps(self, what: Cross, direction: str) -> list[str]:
        """On which side it was on the bar before, and where it is now.

        Beside a line of its own bars, one of coarser bars is the same on both: the one before it is of another day.
        """
        before, now = ("<", ">") if direction == "above" else (">", "<")
        mixed = _is_mixed(what)
        left, right = (0 if mixed and _bars_of(side) else 1 for side in (what.left, what.right))
        return [
            f"{self.value(what.left, what.right, back=left * back)} {sign} "
            f"{self.value(what.right, what.left, back=right * back)}"
            for back, sign in ((1, before), (0, now))
        ]

    def _crossing(self, side: Operand, other: Operand) -> str:
        return self.series(side) if isinstance(side, Line) else self.value(side, other)

    def _trend(self, what: Trend) -> str:
        function = "rising" if what.way == "up" else "falling"
        self.functions.add(function)
        series = self.series(what.line) + (f"[:-{what.line.ago}]" if what.line.ago else "")
        if what.bars == 1:
            return f"{function}({series})"
        return f"{function}({series}, {self.names.count(f'{self.role}_{function}_bars', what.bars)})"

    def _change(self, what: Change) -> str:
        """In percent, by an indicator of its own, so that it is not asked before there are bars enough."""
        key = (replace(what.line, ago=0), what.bars)
        name = self.names.changes.setdefault(
            key, f"change_{len(self.names.changes) + 1}" if self.names.changes else "change"
        )
        series = f"self.{name}[symbol]" if self.names.many and not what.line.symbol else f"self.{name}"
        if not is_price(what.line):
            self.names.use(what.line)
        self.need(replace(what.line, name="roc"), what.line.ago + 1, series)
        moved = f"{self.role}_{'rise' if what.way == 'up' else 'drop'}"
        sign = {("up", False): ">=", ("up", True): ">", ("down", False): "<=", ("down", True): "<"}[
            what.way, what.strict
        ]
        minus = "" if what.way == "up" else "-"
        return f"{series}[-{what.line.ago + 1}] {sign} {minus}{self.names.number(moved, what.percent)}"

    def _held(self, what: Held) -> str:
        inner, bars = what.condition, what.bars
        left = self._each(inner.left, bars)
        if isinstance(inner, Between):
            low, high = (
                self._each(end, bars, inner.left, prefix) for end, prefix in ((inner.low, "low"), (inner.high, "high"))
            )
            text = f"{low} <= {left} <= {high}"
        else:
            text = f"{left} {_SIGNS[inner.level]} {self._each(inner.right, bars, inner.left)}"
        return f"all({text} for k in range(1, {bars + 1}))"

    # The calendar.

    def _calendar(self, what: OnSchedule | EveryBars | OnWeekdays | InHours | InMonths | MonthDays) -> str:
        if isinstance(what, EveryBars):
            return f"len({self.data}) % {self.names.count('every_bars', what.bars)} == 0"
        if isinstance(what, OnWeekdays):
            days = tuple(_DAYS.index(day) for day in what.days)
            return f"self.data.now.weekday() {f'== {days[0]}' if len(days) == 1 else f'in {days}'}"
        if isinstance(what, InHours):
            return f'"{what.start}" <= self.data.now.strftime("%H:%M") < "{what.end}"'
        if isinstance(what, InMonths):
            months = what.months
            return f"self.data.now.month {f'== {months[0]}' if len(months) == 1 else f'in {months}'}"
        self.dated = True
        if isinstance(what, MonthDays):
            return month_days(what, self.functions)
        return schedule(what, self.functions)


def schedule(what: OnSchedule, functions: set[str]) -> str:
    """By the dates of this bar and of the one before, which the program keeps in `now` and `before`."""
    if what.each > 1:
        once = schedule(replace(what, each=1), functions)
        number = {
            "week": "(self.now.toordinal() - 1) // 7",
            "month": "(self.now.year * 12 + self.now.month - 1)",
        }[what.every]
        return f"{once} and {number} % {what.each} == 0"
    if what.every == "day":
        return "self.now.date() != self.before.date()"
    if what.every == "week":
        if what.on == "first":
            return "self.now.isocalendar()[:2] != self.before.isocalendar()[:2]"
        day = 4 if what.on == "last" else _DAYS.index(what.on)
        return f"self.now.weekday() == {day} and self.now.date() != self.before.date()"
    if what.on.isdigit():
        return f"self.now.day >= {what.on} and (self.before.day < {what.on} or self.now.month != self.before.month)"
    if what.on == "first":
        asked = {
            "month": "self.now.month != self.before.month",
            "quarter": "(self.now.month - 1) // 3 != (self.before.month - 1) // 3",
            "year": "self.now.year != self.before.year",
        }
        return asked[what.every]
    functions.add("is_last_weekday")
    months = {"quarter": " and self.now.month % 3 == 0", "year": " and self.now.month == 12"}.get(what.every, "")
    return f"is_last_weekday(self.now){months} and self.now.date() != self.before.date()"


def month_days(what: MonthDays, functions: set[str]) -> str:
    """By `day_number`, which the program counts, or by the weekdays that the month still has."""
    if what.first > 0:
        functions.add("weekdays_so_far")
        number, first, last = "self.day_number", what.first, what.last
    else:
        functions.add("weekdays_left")
        number, first, last = "weekdays_left(self.now)", -what.last, -what.first
    return f"{number} == {first}" if first == last else f"{first} <= {number} <= {last}"


def _is_plain(what: Cross) -> bool:
    """Whether it is between two series as they are now, or a series and a number: what `crossover` takes."""
    return not _is_mixed(what) and all(
        isinstance(side, Number) or (isinstance(side, Line) and not side.ago) for side in (what.left, what.right)
    )


def _is_mixed(what: Cross) -> bool:
    """Whether one line is of coarser bars, and the other is not."""
    sides = [side for side in (what.left, what.right) if not isinstance(side, Number)]
    return len({bool(_bars_of(side)) for side in sides}) == 2


def _bars_of(side: Operand) -> str:
    """The coarser bars it is of."""
    line = side if isinstance(side, Line) else getattr(side, "line", None)
    return line.timeframe if line is not None else ""
