"""Moods of a line: is oversold, is bullish, turns positive, Supertrend flips up."""

from __future__ import annotations

from dataclasses import replace

from ringfence.agents.rules.reader import Reader
from ringfence.trade.description.catalogue import KINDS
from ringfence.trade.description.model import Compare, Condition, Cross, Direction, Line, Number, Operand

_ZERO = Number(value=0)


def mood(r: Reader, left: Operand, first: int) -> Condition | None:
    """is positive, is oversold, is bullish."""
    token = r.take("POSITIVE", "NEGATIVE", "OVERSOLD", "OVERBOUGHT", "BULLISH", "BEARISH")
    if token is None and isinstance(left, Line) and left.name == "supertrend" and left.part in ("line", "direction"):
        return _supertrend_is(r, left)
    if token is None or not isinstance(left, Line) or left.name not in KINDS:
        return None
    if token.kind in ("POSITIVE", "NEGATIVE"):
        return Compare(left=left, level="above" if token.kind == "POSITIVE" else "below", right=_ZERO)
    if token.kind in ("OVERSOLD", "OVERBOUGHT"):
        return _sold_out(r, left, token.kind, first)
    pair = _mood_pair(left)
    return pair and Compare(left=pair[0], level="above" if token.kind == "BULLISH" else "below", right=pair[1])


def _supertrend_is(r: Reader, left: Line) -> Condition | None:
    """is up, is down; not rising, of which the line itself is asked."""
    if r.peek().text not in ("up", "down", "long", "short", "buy", "sell") or r.at("NUM", "FOR", ahead=1):
        return None
    up = r.peek().text in ("up", "long", "buy")
    r.take(r.peek().kind)
    return Compare(left=replace(left, part="direction"), level="above" if up else "below", right=_ZERO)


def _sold_out(r: Reader, left: Line, word: str, first: int) -> Condition:
    limits = KINDS[left.name].oversold
    if limits is None:
        raise r.ask(
            f"{word.lower()} by which measure?", [f"RSI is {word.lower()}", f"stochastic is {word.lower()}"], first
        )
    low, high = limits
    where = f"below {low:g}" if word == "OVERSOLD" else f"above {high:g}"
    r.notices.append(f"{word.lower()} is read as {where}, as is customary for {KINDS[left.name].english}")
    if word == "OVERSOLD":
        return Compare(left=left, level="below", right=Number(value=low))
    return Compare(left=left, level="above", right=Number(value=high))


def _mood_pair(left: Line) -> tuple[Line, Operand] | None:
    if left.name == "supertrend":
        return replace(left, part="direction"), _ZERO
    if left.name == "macd":
        return replace(left, part="line"), replace(left, part="signal")
    if left.name == "parabolic_sar":
        return Line(name="close", symbol=left.symbol, timeframe=left.timeframe), left
    if left.name == "close":
        return left, Line(name="open")
    return None


def unmoody(r: Reader, left: Operand, first: int) -> Condition | None:
    """leaves oversold territory, moves out of overbought, recovers from oversold: the cross back."""
    r.skip("IS", "BACK")
    if not r.take("EXIT", "MOVES", "RISES", "FALLS", "TURNS", "RECLAIMS"):
        return None
    out = r.peek(-1).kind == "EXIT" and r.peek(-1).text.split()[0] in (
        "leaves",
        "leave",
        "exits",
        "exit",
        "left",
        "leaving",
    )
    r.take("RISES", "FALLS")
    r.take("BACK")
    if not (r.take("AMONG") if r.peek().text == "out of" else r.take("FROM") or out):
        return None
    held = mood(r, left, first) if r.at("OVERSOLD", "OVERBOUGHT") else None
    if not isinstance(held, Compare):
        return None
    return Cross(left=held.left, direction="below" if held.level == "above" else "above", right=held.right)


def turning(r: Reader, left: Operand, first: int) -> Condition | None:
    """turns positive, flips to bullish, goes oversold: the cross into what "is" would be the level of."""
    if not r.take("TURNS", "MOVES"):
        return None
    r.skip("TO", "IN")
    token = r.peek()
    pair = _mood_pair(left) if isinstance(left, Line) and left.name in ("supertrend", "parabolic_sar") else None
    if pair is not None and r.take("RISES", "FALLS", "LONG", "SHORT"):
        up = token.kind in ("RISES", "LONG")
        return Cross(left=pair[0], direction="above" if up else "below", right=pair[1])
    if pair is not None and r.either and r.at("END", "STOP_MARK", ",", "AND", "OR", ")", "DIRECTION", "SIDE"):
        r.take("DIRECTION", "SIDE")
        return Cross(left=pair[0], direction="either", right=pair[1])
    made = mood(r, left, first)
    if not isinstance(made, Compare):
        return None
    direction: Direction = "above" if made.level == "above" else "below"
    if isinstance(made.left, Line) and made.left.name == "close" and made.right == Line(name="open"):
        return None
    return Cross(left=made.left, direction=direction, right=made.right)
