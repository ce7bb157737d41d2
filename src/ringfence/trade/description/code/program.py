"""The frame of a generated program: docstring, imports, small functions, class, parameters, `init`."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from ringfence.trade.description.catalogue import KINDS
from ringfence.trade.description.code.names import Names, bare_line, frame_name, is_price
from ringfence.trade.description.lines import inner
from ringfence.trade.description.model import Line
from ringfence.trade.parameters import Parameter

WIDTH = 110
_OURS = {"crossover", "crossunder", "crossed", "rising", "falling"}
_DEFINED = {
    "volatility": '''def volatility(close, period, bars_per_year=252):
    """The standard deviation of the last returns, in percent a year."""
    returns = pd.Series(close).pct_change()
    return (returns.rolling(period).std() * bars_per_year**0.5 * 100).to_numpy()''',
    "band_width": '''def band_width(close, period, deviations):
    """How far apart the Bollinger bands are, in percent of the middle one."""
    upper, middle, lower = bollinger(close, period, deviations)
    return (upper - lower) / middle * 100''',
    "percent_b": '''def percent_b(close, period, deviations):
    """Where the close lies in the Bollinger bands: 0 at the lower one, 1 at the upper one."""
    upper, _, lower = bollinger(close, period, deviations)
    return (close - lower) / (upper - lower)''',
    "cloud": '''def cloud(high, low, conversion, base, span, ahead):
    """The top and the bottom of the Ichimoku cloud, whichever of its spans they are."""
    _, _, a, b = ichimoku(high, low, conversion, base, span, ahead)
    return np.maximum(a, b), np.minimum(a, b)''',
    "is_last_weekday": '''def is_last_weekday(day):
    """Whether the next weekday is in another month."""
    ahead = 3 if day.weekday() == 4 else 1
    return day.weekday() < 5 and (day + timedelta(days=ahead)).month != day.month''',
    "weekdays_left": '''def weekdays_left(day):
    """How many weekdays its month still has, this day among them."""
    days = (day + timedelta(days=n) for n in range(31))
    return sum(one.month == day.month and one.weekday() < 5 for one in days)''',
    "weekdays_so_far": '''def weekdays_so_far(day):
    """How many weekdays its month has had, this day among them."""
    return sum(day.replace(day=n).weekday() < 5 for n in range(1, day.day + 1))''',
}
_MADE_OF = {"cloud": "ichimoku", "band_width": "bollinger", "percent_b": "bollinger"}


@dataclass(slots=True)
class Program:
    says: str  # the canonical English
    names: Names
    symbols: tuple[str, ...] = ()
    every: bool = False
    functions: set[str] = field(default_factory=set)
    dated: bool = False
    started: list[str] = field(default_factory=list)  # lines of on_start
    extra_init: dict[str, str] = field(default_factory=dict)  # series that no line of the description is
    methods: list[str] = field(default_factory=list)
    class_name: str = "Rules"

    @property
    def own_symbol(self) -> str:
        return self.symbols[0] if len(self.symbols) == 1 and not self.names.many else ""

    def bars_in_init(self, line: Line) -> str:
        if line.timeframe:
            owner = (
                f', "{line.symbol}"'
                if line.symbol
                else ", symbol"
                if self.names.many
                else ", self.symbol"
                if self.own_symbol
                else ""
            )
            return f'self.timeframe("{line.timeframe}"{owner})'
        if line.symbol:
            return f'self.data["{line.symbol}"]'
        return "data" if self.names.many or self.own_symbol else "self.data"

    def init(self) -> list[str]:
        """One line for each series, those of every instrument in a loop."""
        mine: list[str] = []
        shared: list[str] = []
        kept: list[str] = []
        for line, name in self.names.series.items():
            target, names = self._targets(line, name)
            made = f"{target} = {self._computed(line)}"
            (shared if line.symbol else mine).append(made)
            kept += [] if line.symbol else names
        for frame in dict.fromkeys(
            replace(line, name="close", ago=0) for line in self.names.used if is_price(line) and line.timeframe
        ):
            made = f"{self._place(frame_name(frame), frame)} = {self.bars_in_init(frame)}"
            (shared if frame.symbol else mine).append(made)
            kept += [] if frame.symbol else [frame_name(frame)]
        for (line, bars), name in self.names.changes.items():
            count = self.names.count(f"{name}_bars", bars)
            made = f"{self._place(name, line)} = self.I(roc, {self._source(line)}, {count})"
            (shared if line.symbol else mine).append(made)
            kept += [] if line.symbol else [name]
            self.functions.add("roc")
        mine += [f"{self._place(name, Line(name='close'))} = {made}" for name, made in self.extra_init.items()]
        kept += self.extra_init
        return self._looped(mine, shared, kept)

    def _looped(self, mine: list[str], shared: list[str], kept: list[str]) -> list[str]:
        if self.names.many:
            if not mine:
                return shared
            head = [f"self.{name} = {{}}" for name in kept]
            body = [f"    {text}" for text in mine]
            data = (
                ["    data = self.data[symbol]"]
                if any("data." in t or "data," in t or "data)" in t for t in mine)
                else []
            )
            return [*head, f"for symbol in {self.every_symbol}:", *data, *body, *shared]
        data = (
            ["data = self.data[self.symbol]"]
            if self.own_symbol and any("(data" in t or " data" in t for t in mine)
            else []
        )
        return [*data, *mine, *shared]

    @property
    def every_symbol(self) -> str:
        return "SYMBOLS" if self.symbols else "self.data.symbols"

    def _place(self, name: str, line: Line) -> str:
        return f"self.{name}[symbol]" if self.names.many and not line.symbol else f"self.{name}"

    def _targets(self, line: Line, name: str) -> tuple[str, list[str]]:
        kind = KINDS[line.name]
        if not kind.parts:
            return self._place(name, line), [name]
        used = {one.part for one in self._used() if bare_line(one) == line}
        names = [name if part == kind.parts[0] else f"{name}_{part}" for part in kind.parts]
        places = [self._place(n, line) if part in used else "_" for n, part in zip(names, kind.parts)]
        return ", ".join(places), [n for n, part in zip(names, kind.parts) if part in used]

    def _used(self) -> Iterator[Line]:
        """Every line that the rules look at, and what those are computed of."""
        for one in (*self.names.used, *self.names.series):
            if one.of is not None:
                yield inner(one)
        yield from self.names.used

    def _computed(self, line: Line) -> str:
        kind = KINDS[line.name]
        self.functions.add(line.name)
        if line.name in _MADE_OF:
            self.functions.add(_MADE_OF[line.name])
        bars = self.bars_in_init(line)
        source = line.source or (kind.columns[0] if len(kind.columns) == 1 else "")
        given = self._source(inner(line)) if line.of is not None else f"{bars}.{source}" if source else bars
        if line.name == "cloud":
            given = f"{bars}.high, {bars}.low"
        settings = [self.names.setting(line, n) for n in range(len(kind.settings))]
        return f"self.I({', '.join([line.name, given, *settings])})"

    def _source(self, line: Line) -> str:
        if is_price(line):
            return f"{self.bars_in_init(line)}.{line.name}"
        name = self.names.series[bare_line(line)]
        kind = KINDS[line.name]
        return self._place(name if not kind.parts or line.part == kind.parts[0] else f"{name}_{line.part}", line)

    def text(self, body: Sequence[str]) -> str:
        """The whole program. `init` comes first, because it names the settings that are parameters."""
        init = self.init()
        lines = [*self._head(), "", "", f"class {self.class_name}(Strategy):"]
        if self.own_symbol:
            lines.append(f'    symbol = "{self.own_symbol}"')
        lines += [f"    {p.name} = param({p.default!r}, {p.low!r}, {p.high!r})" for p in self._ordered()]
        blocks = [_method("init", init)] if init else []
        started, each = self._dates()
        started += self.started
        blocks += [_method("on_start", started)] if started else []
        blocks.append(_method("next", [*each, *body]))
        blocks += [textwrap.indent(method, "    ") for method in self.methods]
        first = "\n\n" if self.names.parameters or self.own_symbol else "\n"
        return "\n".join(lines) + first + "\n\n".join(blocks) + "\n"

    def _dates(self) -> tuple[list[str], list[str]]:
        """What it keeps of the calendar: lines of on_start, and the first lines of next."""
        if not self.dated:
            return [], []
        started, each = ["self.now = self.data.now"], ["self.before, self.now = self.now, self.data.now"]
        if "weekdays_so_far" in self.functions:
            started.append("self.day_number = weekdays_so_far(self.now)")
            each += [
                "if self.now.date() != self.before.date():",
                "    self.day_number = self.day_number + 1 if self.now.month == self.before.month else 1",
            ]
        return started, each

    def _ordered(self) -> list[Parameter]:
        """Settings of the series first, as they come first in the program."""
        parameters = list(self.names.parameters.values())
        prefixes = tuple(f"{name}_" for name in self.names.series.values())
        return sorted(parameters, key=lambda p: not p.name.startswith(prefixes))

    def _head(self) -> list[str]:
        quoted = self.says.replace("\\", "").replace('"""', "'''")
        lines = textwrap.wrap(f'"""{quoted}', WIDTH, break_long_words=False, break_on_hyphens=False)
        head = [f'{lines[0]}"""'] if len(lines) == 1 and len(lines[0]) + 3 <= WIDTH else [*lines, '"""']
        defined = [name for name in _DEFINED if name in self.functions]
        plain = ["from datetime import timedelta"] if {"is_last_weekday", "weekdays_left"} & set(defined) else []
        libraries = [
            *(["import numpy as np"] if {"cloud", "np"} & self.functions else []),
            *(["import pandas as pd"] if "volatility" in defined else []),
        ]
        ours = sorted(
            {"Strategy", *(["param"] if self.names.parameters else []), *(self.functions - {*_DEFINED, "np"})},
            key=lambda n: (n != "Strategy", n),
        )
        block = [*head, ""]
        block += [*plain, ""] if plain else []
        block += [*libraries, ""] if libraries else []
        block.append(f"from ringfence import {', '.join(ours)}")
        if self.symbols and self.names.many:
            block += [
                "",
                f"SYMBOLS = ({', '.join(_quoted(s) for s in self.symbols)}{',' if len(self.symbols) == 1 else ''})",
            ]
        for name in defined:
            block += ["", "", _DEFINED[name]]
        return block


def _quoted(symbol: str) -> str:
    return f'"{symbol}"'


def _method(name: str, lines: Sequence[str]) -> str:
    return "\n".join([f"    def {name}(self):", *folded(lines, 8)])


def folded(lines: Sequence[str], indent: int) -> list[str]:
    """Indented, and a call that is too long with one argument to a line."""
    made = []
    for line in lines:
        text = " " * indent + line
        is_call = line.lstrip().startswith(("self.buy(", "self.sell(")) or " = self.I(" in line
        if len(text) <= WIDTH or not is_call:
            made.append(text)
        elif text.endswith(","):  # one of a list
            split = _split_call(text[:-1])
            made += [*split[:-1], f"{split[-1]},"]
        else:
            made += _split_call(text)
    return made


def _split_call(text: str) -> list[str]:
    """`a = f(x, y)` over several lines, at the commas of the outermost call."""
    start = text.index("(")
    depth, begin, parts = 0, start + 1, []
    for n in range(start, len(text)):
        depth += (text[n] in "([{") - (text[n] in ")]}")
        if (text[n] == "," and depth == 1) or (depth == 0 and n == len(text) - 1):
            parts.append(text[begin:n].strip())
            begin = n + 1
        elif depth == 0:
            return [text]
    pad = " " * (len(text) - len(text.lstrip()))
    return [text[: start + 1], *(f"{pad}    {part}," for part in parts), f"{pad})"]


def _is_bracketed(text: str) -> bool:
    depth = 0
    for n, character in enumerate(text):
        depth += (character == "(") - (character == ")")
        if depth == 0:
            return n == len(text) - 1 and text.startswith("(")
    return False


def condition_lines(keyword: str, connective: str, parts: Sequence[str], indent: int) -> list[str]:
    """`if …:` on one line, or in brackets on several."""
    if len(parts) == 1 and _is_bracketed(parts[0]):
        parts = [parts[0][1:-1]]
    line = f"{keyword} {f' {connective} '.join(parts)}:"
    if len(line) + indent <= WIDTH or len(parts) == 1:
        return [line]
    return [f"{keyword} (", f"    {parts[0]}", *(f"    {connective} {part}" for part in parts[1:]), "):"]
