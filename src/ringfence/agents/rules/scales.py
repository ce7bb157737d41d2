"""What may be compared with what: an RSI is no price, and "it" is whatever of the two makes sense."""

from __future__ import annotations

from dataclasses import replace

from ringfence.agents.rules.reader import Reader
from ringfence.trade.description.catalogue import KINDS
from ringfence.trade.description.echo import line as say
from ringfence.trade.description.model import Between, Compare, Condition, Cross, Line, Number, Operand

_PRICES = frozenset(
    {
        "open", "high", "low", "close", "sma", "ema", "wma", "bollinger", "keltner", "donchian", "vwap", "session_vwap",
        "highest", "lowest", "ichimoku", "cloud", "supertrend", "parabolic_sar",
    }
)  # fmt: skip
_HUNDREDS = frozenset({"rsi", "stochastic", "mfi", "adx", "plus_di", "minus_di"})


def scale(line: Line) -> str:
    """Lines of one scale can be compared."""
    if line.name in ("volume", "volume_average") or (line.source == "volume" and line.name != "rsi"):
        return "volume"
    if line.name == "supertrend" and line.part == "direction":
        return "direction"
    return "price" if line.name in _PRICES else "hundred" if line.name in _HUNDREDS else line.name


def line_in(side: Operand) -> Line | None:
    return side if isinstance(side, Line) else getattr(side, "line", None)


def fitting(r: Reader, made: Condition, first: int, *, pronoun: bool) -> Condition:
    """The comparison, with the price in the place of an "it" that does not fit; a question where nothing does."""
    if isinstance(made, Between):
        for end in (made.low, made.high):
            _check(r, made.left, end, first)
        return made
    if not isinstance(made, (Compare, Cross)):
        return made
    left, right = line_in(made.left), line_in(made.right)
    if pronoun and left and right and scale(left) != scale(right) == "price":
        made = replace(made, left=Line(name="close", symbol=left.symbol))
    _check(r, made.left, made.right, first)
    return made


def _check(r: Reader, one: Operand, other: Operand, first: int) -> None:
    left, right = line_in(one), line_in(other)
    if left is not None and right is not None and scale(left) != scale(right):
        raise r.ask(f"{say(left)} and {say(right)} are not on one scale", ["compare it with a number"], first)
    if left is not None and isinstance(other, Number):
        span = KINDS[left.name].scale
        if span is not None and not span[0] <= other.value <= span[1]:
            low, high = span
            raise r.ask(f"{say(left)} is never {other.value:g}", [f"give a number from {low:g} to {high:g}"], first)
