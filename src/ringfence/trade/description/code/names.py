"""The names in a generated program: its parameters with their ranges, and a series for each line that it computes."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from ringfence.trade.description.catalogue import KINDS, PRICES
from ringfence.trade.description.model import Line
from ringfence.trade.parameters import Parameter

_FRAMES = {"1d": "daily", "1w": "weekly", "1mo": "monthly", "1h": "hourly"}
_SHORT = {"parabolic_sar": "sar", "volume_average": "average_volume", "williams_r": "williams", "session_vwap": "vwap"}
_SPEEDS = {2: ("fast", "slow"), 3: ("fast", "middle", "slow")}
_SMALLEST = 1e-9


def bare_line(line: Line) -> Line:
    """What is computed once for all parts and ages of a line."""
    kind = KINDS[line.name]
    return replace(line, part=kind.parts[0] if kind.parts else "", ago=0)


@dataclass(slots=True)
class Names:
    """`many`: the program trades several instruments, and keeps each series in a dictionary by symbol."""

    many: bool = False
    parameters: dict[str, Parameter] = field(default_factory=dict)
    series: dict[Line, str] = field(default_factory=dict)
    used: list[Line] = field(default_factory=list)  # with their parts: what is not used need not have a name
    changes: dict[tuple[Line, int], str] = field(default_factory=dict)

    def declare(self, lines: Iterable[Line]) -> None:
        """Name all lines at once, so that two averages are called fast and slow."""
        found = list(dict.fromkeys(bare_line(line) for line in lines if not is_price(line)))
        found.sort(key=lambda line: line.of is not None)  # what others are computed of comes first
        groups: dict[str, list[Line]] = {}
        for line in found:
            groups.setdefault(_base(line), []).append(line)
        for base, group in groups.items():
            ranked = sorted(group, key=lambda line: line.values)
            speeds = _SPEEDS.get(len(group), tuple(str(n) for n in range(1, len(group) + 1)))
            for line, speed in zip(ranked, speeds):
                name = base if len(group) == 1 else f"{base}_{speed}" if speed.isdigit() else f"{speed}_{base}"
                self.series[line] = name

    def use(self, line: Line) -> None:
        if line not in self.used:
            self.used.append(line)

    def setting(self, line: Line, n: int) -> str:
        """The expression of a line's setting."""
        setting = KINDS[line.name].settings[n]
        value = line.values[n]
        name = f"{self.series[line]}_{setting.name}"
        if setting.whole and not name.endswith("period"):
            name += "_period"  # its lines may be called macd_signal
        if not setting.whole:
            return self.number(name, value)
        return self.parameter(name, int(value), self.lowest(line, n), max(int(value) * 2, int(value) + 1))

    def lowest(self, line: Line, n: int) -> int:
        """The lowest value of a setting that a search may look at."""
        value = int(line.values[n])
        return min(max(int(KINDS[line.name].settings[n].least), value // 2), value)

    def number(self, name: str, value: float, scale: tuple[float, float] | None = None) -> str:
        """A threshold. Zero is no number to search: it is where the sign changes."""
        if value == 0:
            return "0"
        if scale is not None and scale[0] <= value <= scale[1]:
            low = min(value, max(scale[0] + 1, value - 15))
            high = max(value, min(scale[1] - 1, value + 15))
        else:
            low, high = sorted((value * 0.5, value * 1.5))
        return self.parameter(name, value, low, high)

    def percent(self, name: str, percent: float, most: float = 0.95) -> str:
        """A percentage, in the program a fraction."""
        value = fraction(percent)
        return self.parameter(name, value, _tidy(value / 2), max(value, min(_tidy(value * 2), most)))

    def count(self, name: str, value: int) -> str:
        return self.parameter(name, value, max(1, value // 2), value * 2 if value > 1 else 3)

    def parameter(self, name: str, value: float, low: float, high: float) -> str:
        """The expression `self.name`; another value of the same name gets a name of its own."""
        wanted, n = name, 1
        while wanted in self.parameters and self.parameters[wanted].default != value:
            n += 1
            wanted = f"{name}_{n}"
        self.parameters[wanted] = Parameter(name=wanted, default=value, low=_tidy(low), high=_tidy(high), line=0)
        return f"self.{wanted}"


def is_price(line: Line) -> bool:
    return line.name in PRICES


def frame_name(line: Line) -> str:
    """What the coarser bars of a line are called."""
    return _owned(line, _FRAMES.get(line.timeframe, f"bars_{line.timeframe}"))


def _base(line: Line) -> str:
    name = _SHORT.get(line.name, line.name)
    if line.source or line.of:
        name = f"{line.source or _base(line.of)}_{name}"  # type: ignore[arg-type]
    return f"{frame_name(line)}_{name}" if line.timeframe else _owned(line, name)


def _owned(line: Line, name: str) -> str:
    """With the symbol of another instrument in front."""
    if not line.symbol:
        return name
    owned = "".join(c if c.isalnum() else "_" for c in line.symbol.lower()) + f"_{name}"
    return owned if owned[0].isalpha() else f"of_{owned}"


def fraction(percent: float) -> float:
    """Percent as a fraction, without the dust of the division."""
    return _tidy(percent / 100)


def _tidy(value: float) -> float:
    made = float(f"{value:.10g}") if abs(value) > _SMALLEST else value
    return int(made) if made == int(made) and isinstance(value, int) else made
