"""Conditions as Python expressions."""

from __future__ import annotations

from dataclasses import dataclass

from ringfence.trade.description.catalogue import KINDS
from ringfence.trade.description.code.names import Names, bare_line, frame_name, is_price
from ringfence.trade.description.model import (
    AllOf,
    AnyOf,
    Between,
    Beyond,
    Change,
    Compare,
    Condition,
    Cross,
    EveryBars,
    Held,
    InHours,
    Line,
    Not,
    Number,
    OnSchedule,
    OnWeekdays,
    Operand,
    Scaled,
    Trend,
)

_SIGNS = {"above": ">", "below": "<", "at_least": ">=", "at_most": "<="}
_DAYS = ("monday", "tuesday", "wednesday", "thursday", "friday")


@dataclass(slots=True)
class Expressions:
    """`data` is how the program calls the bars of what it trades. What it needs imported and defined is collected."""

    names: Names
    data: str
    functions: set[str]
    role: str = "entry"
    lookback: int = 2  # bars that must have come before it can be asked
    dated: bool = False

    def of(self, what: Condition) -> str:
        if isinstance(what, (AllOf, AnyOf)):
            word = " and " if isinstance(what, AllOf) else " or "
            return word.join(self._nested(part) for part in what.parts)
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
        return "and", [self.of(what)]

    def _nested(self, part: Condition) -> str:
        return f"({self.of(part)})" if isinstance(part, (AllOf, AnyOf)) else self.of(part)

    # Values.

    def series(self, line: Line) -> str:
        """The series of a line, of which [-1] is this bar."""
        self.names.used.add(line)
        if is_price(line):
            return f"{self._bars(line)}.{line.name}"
        name = self.names.series[bare_line(line)]
        kind = KINDS[line.name]
        if kind.parts and line.part != kind.parts[0]:
            name = f"{name}_{line.part}"
        return f"self.{name}[symbol]" if self.names.many and not line.symbol else f"self.{name}"

    def _bars(self, line: Line) -> str:
        if line.timeframe:
            return f"self.{frame_name(line.timeframe)}" + ("[symbol]" if self.names.many else "")
        return f'self.data["{line.symbol}"]' if line.symbol else self.data

    def value(self, what: Operand, beside: Operand | None = None, prefix: str = "", back: int = 0) -> str:
        """The value `back` bars before this one; `beside` is what it is compared with, after which it is called."""
        if isinstance(what, Number):
            return self._number(what.value, beside, prefix)
        line = what if isinstance(what, Line) else what.line
        ago = line.ago + back
        if not line.timeframe:
            self.lookback = max(self.lookback, ago + 1)
        text = f"{self.series(line)}[-{ago + 1}]"
        if isinstance(what, Scaled):
            name = f"{self.role}_{self._called(line)}_times"
            return f"{self.names.number(name, what.times)} * {text}"
        if isinstance(what, Beyond):
            name = f"{self.role}_{self._called(line)}_margin"
            sign = "+" if what.percent > 0 else "-"
            return f"{text} * (1 {sign} {self.names.percent(name, abs(what.percent), 9.0)})"
        return text

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
        if all(
            isinstance(side, Number) or (isinstance(side, Line) and not side.ago) for side in (what.left, what.right)
        ):
            left = self._crossing(what.left, what.right)
            right = self._crossing(what.right, what.left)
            function = {"above": "crossover", "below": "crossunder", "either": "crossed"}[what.direction]
            self.functions.add(function)
            return f"{function}({left}, {right})"
        up, down = (
            f"{self._side(what, sign, 1)} and {self._side(what, other, 0)}" for sign, other in (("<", ">"), (">", "<"))
        )
        if what.direction == "either":
            return f"(({up}) or ({down}))"
        return f"({up})" if what.direction == "above" else f"({down})"

    def _side(self, what: Cross, sign: str, back: int) -> str:
        return f"{self.value(what.left, what.right, back=back)} {sign} {self.value(what.right, what.left, back=back)}"

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
        key = (what.line, what.bars)
        name = self.names.changes.setdefault(
            key, f"change_{len(self.names.changes) + 1}" if self.names.changes else "change"
        )
        series = f"self.{name}[symbol]" if self.names.many and not what.line.symbol else f"self.{name}"
        self.names.used.add(what.line)
        moved = f"{self.role}_{'rise' if what.way == 'up' else 'drop'}"
        sign = {("up", False): ">=", ("up", True): ">", ("down", False): "<=", ("down", True): "<"}[
            what.way, what.strict
        ]
        return f"{series}[-1] {sign} {'' if what.way == 'up' else '-'}{self.names.number(moved, what.percent)}"

    def _held(self, what: Held) -> str:
        """On each of the last bars, counted back by k."""
        inner = what.condition
        self.lookback = max(self.lookback, what.bars + max((part.ago for part in _lines(inner)), default=0))
        if isinstance(inner, Between):
            low, high = self._at(inner.low, inner.left, "low"), self._at(inner.high, inner.left, "high")
            text = f"{low} <= {self._at(inner.left)} <= {high}"
        else:
            text = f"{self._at(inner.left)} {_SIGNS[inner.level]} {self._at(inner.right, inner.left)}"
        return f"all({text} for k in range(1, {what.bars + 1}))"

    def _at(self, what: Operand, beside: Operand | None = None, prefix: str = "") -> str:
        text = self.value(what, beside, prefix)
        line = what if isinstance(what, Line) else getattr(what, "line", None)
        if line is None:
            return text
        return text.replace(f"[-{line.ago + 1}]", f"[-k - {line.ago}]" if line.ago else "[-k]")

    # The calendar.

    def _calendar(self, what: OnSchedule | EveryBars | OnWeekdays | InHours) -> str:
        if isinstance(what, EveryBars):
            return f"len(self.data) % {self.names.count('every_bars', what.bars)} == 0"
        if isinstance(what, OnWeekdays):
            days = tuple(_DAYS.index(day) for day in what.days)
            return f"self.data.now.weekday() {f'== {days[0]}' if len(days) == 1 else f'in {days}'}"
        if isinstance(what, InHours):
            return f'"{what.start}" <= self.data.now.strftime("%H:%M") < "{what.end}"'
        self.dated = True
        return schedule(what, self.functions)


def schedule(what: OnSchedule, functions: set[str]) -> str:
    """By the dates of this bar and of the one before, which the program keeps in `now` and `before`."""
    if what.every == "day":
        return "self.now.date() != self.before.date()"
    if what.every == "week":
        if what.on == "first":
            return "self.now.isocalendar()[:2] != self.before.isocalendar()[:2]"
        day = 4 if what.on == "last" else _DAYS.index(what.on)
        return f"self.now.weekday() == {day} and self.now.date() != self.before.date()"
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


def _lines(what: Compare | Between) -> list[Line]:
    from ringfence.trade.description.lines import lines_of

    return list(lines_of(what))
