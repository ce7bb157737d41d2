"""A rule turned round: what holds for a long position, as it would be said of a short one, and the other way about."""

from __future__ import annotations

from dataclasses import replace

from ringfence.agents.rules.measures.scales import scale
from ringfence.trade.description.catalogue import KINDS
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
    Direction,
    Held,
    Level,
    Line,
    Not,
    Number,
    Operand,
    Scaled,
    SomeOf,
    Trend,
)

_LEVELS: dict[str, Level] = {"above": "below", "below": "above", "at_least": "at_most", "at_most": "at_least"}
_DIRECTIONS: dict[str, Direction] = {"above": "below", "below": "above", "either": "either"}
_NAMES = {"highest": "lowest", "lowest": "highest", "high": "low", "low": "high"}
_PARTS = {"upper": "lower", "lower": "upper", "top": "bottom", "bottom": "top"}
_INDICATORS = {"plus_di": "minus_di", "minus_di": "plus_di"}
# How strong, how lively, how busy: the same for a rise as for a fall.
_NEUTRAL = ("adx", "atr", "volatility", "band_width")
_AROUND_ZERO = ("macd", "roc", "momentum", "direction")  # scales


def mirrored(when: Condition) -> Condition | None:
    """The same rule for the other side; None where it is not clear what that is, as of a price in money."""
    if isinstance(when, (AllOf, AnyOf, SomeOf)):
        parts = [mirrored(part) for part in when.parts]
        return None if None in parts else replace(when, parts=tuple(parts))  # type: ignore[arg-type]
    if isinstance(when, Not):
        part = mirrored(when.part)
        return part and Not(part=part)
    if isinstance(when, Held):
        held = mirrored(when.condition)
        return replace(when, condition=held) if isinstance(held, (Compare, Between)) else None
    if isinstance(when, (Compare, Cross)):
        return _compared(when)
    if isinstance(when, Between):
        return _between(when)
    if isinstance(when, (Trend, Change)):
        if neutral(when.line):
            return when
        return replace(when, line=_own(when.line), way="down" if when.way == "up" else "up")
    return when  # the calendar has no sides


def symmetric(when: Condition) -> bool:
    """It says the same of both sides."""
    return mirrored(when) == when


def neutral(line: Line) -> bool:
    inner = line.of or line
    return inner.name in _NEUTRAL or scale(line) == "volume"


def _compared(when: Compare | Cross) -> Compare | Cross | None:
    left = when.left
    if not isinstance(left, Line):
        return None
    if neutral(left):
        return when
    if left.name in _INDICATORS and isinstance(when.right, Number):
        return replace(when, left=_own(left))
    right = _operand(left, when.right)
    if right is None:
        return None
    turned = _line(left)
    if isinstance(when, Compare):
        return Compare(left=turned, level=_LEVELS[when.level], right=right)
    return Cross(left=turned, direction=_DIRECTIONS[when.direction], right=right)


def _between(when: Between) -> Between | None:
    if not isinstance(when.left, Line):
        return None
    if neutral(when.left):
        return when
    low, high = _operand(when.left, when.high), _operand(when.left, when.low)
    if low is None or high is None or when.left.name in _INDICATORS:
        return None
    return Between(left=_line(when.left), low=low, high=high)


def _operand(left: Line, right: Operand) -> Operand | None:
    if isinstance(right, Line):
        return _line(right)
    if isinstance(right, Beyond):
        return Beyond(line=_line(right.line), percent=-right.percent)
    if isinstance(right, Apart):
        return replace(right, line=_line(right.line), ranges=-right.ranges)
    if isinstance(right, Scaled):
        return None
    value = _number(left.of or left, right.value)
    return None if value is None else Number(value=value)


def _number(left: Line, value: float) -> float | None:
    """30 of the RSI is 70; 5 % of a rate of change is -5 %."""
    limits = KINDS[left.name].oversold
    if limits is not None:
        return sum(limits) - value
    if scale(left) in _AROUND_ZERO:
        return -value if value else 0
    return None


def _line(line: Line) -> Line:
    """As it stands in a comparison, whose sense is turned too: there +DI and -DI keep their places."""
    if line.name in ("highest", "lowest") and line.source not in ("", "high", "low", "close"):
        return line
    source = _NAMES.get(line.source, line.source)
    return replace(line, name=_NAMES.get(line.name, line.name), part=_PARTS.get(line.part, line.part), source=source)


def _own(line: Line) -> Line:
    """As it stands alone."""
    return replace(line, name=_INDICATORS[line.name]) if line.name in _INDICATORS else _line(line)
