"""What may be compared with what: an RSI is no price, and "it" is whatever of the two makes sense."""

from __future__ import annotations

from dataclasses import replace

from ringfence.agents.rules.reader import Reader
from ringfence.trade.description.catalogue import KINDS
from ringfence.trade.description.echo import line as say
from ringfence.trade.description.model import AllOf, Between, Compare, Condition, Cross, Line, Number, Operand, Scaled

_PRICES = frozenset(
    {
        "open", "high", "low", "close", "sma", "ema", "wma", "bollinger", "keltner", "donchian", "vwap", "session_vwap",
        "highest", "lowest", "ichimoku", "cloud", "supertrend", "parabolic_sar",
    }
)  # fmt: skip
_HUNDREDS = frozenset({"rsi", "stochastic", "mfi", "adx", "plus_di", "minus_di"})


def scale(line: Line) -> str:
    """Lines of one scale can be compared."""
    if line.of is not None:
        return scale(line.of)
    if line.name in ("volume", "volume_average") or (line.source == "volume" and line.name != "rsi"):
        return "volume"
    if line.name == "supertrend" and line.part == "direction":
        return "direction"
    return "price" if line.name in _PRICES else "hundred" if line.name in _HUNDREDS else line.name


def plain(line: Line) -> Line:
    """As another line can be computed of it."""
    return replace(line, ago=0, symbol="", timeframe="")


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
    share = isinstance(made.right, Scaled) and left is not None and left.name == "atr"
    if pronoun and left and right and scale(left) != scale(right) == "price" and not share:
        made = replace(made, left=Line(name="close", symbol=left.symbol))
    if pronoun and left and left == made.right and scale(left) == "price":
        made = replace(
            made, left=Line(name="close", symbol=left.symbol)
        )  # VWAP is rising; sell when it goes under VWAP
    if pronoun and left and isinstance(made.right, Number) and r.peek(-1).kind not in ("MONEY", "DOLLARS"):
        meant = _measured(r, made.right.value)
        if len(meant) > 1:
            raise r.ask("which of them is it?", [f"name the line: {say(one)}" for one in meant], first)
        swap = meant and scale(left) in ("price", "volume")
        made = replace(made, left=meant[0]) if swap else made
    _check(r, made.left, made.right, first)
    return made


def closes_there(r: Reader, left: Operand) -> bool:
    """RSI is below 30 and closes above 25: of the oscillator, where the number is one of its scale."""
    span = KINDS[left.name].scale if isinstance(left, Line) and left.name in KINDS else None
    if span is None or not r.at("ABOVE", "BELOW", ahead=1) or not r.at("NUM", ahead=2):
        return False
    bare = not r.at("PERCENT", "TIMES", "DAY", "BAR", "SMA", "EMA", "WMA", "AVERAGE", "WEEK", "MONTH", "HOUR", ahead=3)
    return bare and span[0] <= r.peek(2).value <= span[1]


def _measured(r: Reader, value: float) -> list[Line]:
    """RSI is below 30 and the price above its average; sell when it is above 70: the lines of the entry it can be."""
    parts = r.entry.parts if isinstance(r.entry, AllOf) else (r.entry,)
    lines = [part.left for part in parts if isinstance(part, (Compare, Cross)) and isinstance(part.left, Line)]
    spans = {one: KINDS[one.name].scale for one in lines if scale(one) not in ("price", "volume")}
    return [one for one, span in spans.items() if span is None or span[0] <= value <= span[1]]


def _check(r: Reader, one: Operand, other: Operand, first: int) -> None:
    left, right = line_in(one), line_in(other)
    if isinstance(other, Scaled) and left is not None and (left.name, scale(other.line)) == ("atr", "price"):
        return  # so many hundredths of the price
    if left is not None and left.name == "band_width" and isinstance(other, Number) and 0 < other.value < 1:
        raise r.ask("the band width is measured in percent of the middle band", ["band width below 5 %"], first)
    if left is not None and right is not None and scale(left) != scale(right):
        raise r.ask(f"{say(left)} and {say(right)} are not on one scale", ["compare it with a number"], first)
    if left is not None and isinstance(other, Number):
        span = KINDS[left.of.name if left.of is not None and left.name != "rsi" else left.name].scale
        if span is not None and not span[0] <= other.value <= span[1]:
            low, high = span
            raise r.ask(f"{say(left)} is never {other.value:g}", [f"give a number from {low:g} to {high:g}"], first)
