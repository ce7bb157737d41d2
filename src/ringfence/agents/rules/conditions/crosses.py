"""Crosses by name: a golden cross, a bullish MACD crossover, the 10 and 30 day EMAs cross up."""

from __future__ import annotations

from dataclasses import replace

from ringfence.agents.rules.measures.lines import line
from ringfence.agents.rules.measures.operands import line_name, operand, pair_of_averages
from ringfence.agents.rules.measures.scales import fitting
from ringfence.agents.rules.measures.settings import AVERAGES
from ringfence.agents.rules.reader import Reader
from ringfence.trade.description.model import AllOf, Condition, Cross, Direction, Line

GOLDEN = (Line(name="sma", values=(50,)), Line(name="sma", values=(200,)))
_GOLDEN = {"GOLDEN_CROSS": "above", "DEATH_CROSS": "below"}


def golden(r: Reader) -> Condition | None:
    """a golden cross, of the 50- and 200-day averages where no others are named."""
    with r.trying() as attempt:
        r.take("ON")
        r.take("IS")
        token = r.take(*_GOLDEN)
        if token is None:
            return None
        fast, slow = r.golden or GOLDEN
        with r.trying() as named:
            bracket = r.take("OF", "(")
            # also a golden cross 50/200 SMA, 50 over 200
            found = pair_of_averages(r) if bracket is not None else None if r.golden else told_averages(r)
            if found is not None and (bracket is None or bracket.kind == "OF" or r.take(")")):
                earlier = any(one.kind in _GOLDEN and one.start < token.start for one in r.tokens)
                if r.golden is None and earlier and found != GOLDEN:
                    raise r.ask(
                        "of which averages is the cross before?", ["a golden cross of the 20 and 50 SMA"], r.i - 1
                    )
                fast, slow = r.golden = found
                named.keep()
        r.take("HAPPENS")
        attempt.keep()
        r.it, r.right = fast, slow
        direction = "above" if token.kind == "GOLDEN_CROSS" else "below"
        return Cross(left=fast, direction=direction, right=slow)  # type: ignore[arg-type]


def told_averages(r: Reader) -> tuple[Line, Line] | None:
    """a golden cross 50/200, a death cross 20/100 EMA, 50 over 200: the averages beside it."""
    with r.trying() as attempt:
        found = pair_of_averages(r)
        one = r.take("NUM") if found is None else None
        two = r.take("NUM") if one is not None and r.take("SLASH", "ABOVE") else None
        if one is not None and two is not None and one.value < two.value:
            r.take("DAY", "BAR")
            name = line_name(r) or "sma"
            found = Line(name=name, values=(one.value,)), Line(name=name, values=(two.value,))
        if found is None or found[0].values >= found[1].values or r.at("PERCENT", "TIMES", "SHARES"):
            return None
        attempt.keep()
        return found


def named_cross(r: Reader) -> Condition | None:
    """a bullish MACD crossover, a bearish cross of the 10 and 30 EMA, MACD bullish crossover."""
    with r.trying() as attempt:
        r.take("ON", "IS")
        mood = r.take("BULLISH", "BEARISH")
        made = line(r) if not r.at("CROSS") else None
        mood = mood or r.take("BULLISH", "BEARISH")
        if mood is None or r.take("CROSS") is None:
            return None
        found: tuple[Line, Line] | None
        if made is None and r.at("END", "STOP_MARK", ",", "AND") and r.it is not None and r.right is not None:
            found = _crossed_before(r.entry) or (r.it, r.right)
        elif made is None:
            r.take("OF", "IN", "ON", "BETWEEN")
            found = pair_of_averages(r)
            if found is None:
                made = line(r)
        else:
            found = None
        if found is None:
            found = _own_pair(made)
        if found is None:
            return None
        r.take("HAPPENS")
        attempt.keep()
        r.it, r.right = found
        return Cross(left=found[0], direction="above" if mood.kind == "BULLISH" else "below", right=found[1])


def _crossed_before(entry: Condition | None) -> tuple[Line, Line] | None:
    """The two lines whose cross the entry waits for, whatever else it asks for: exit on the bearish cross."""
    parts = entry.parts if isinstance(entry, AllOf) else (entry,)
    crosses = [part for part in parts if isinstance(part, Cross)]
    if len(crosses) != 1 or not isinstance(crosses[0].left, Line) or not isinstance(crosses[0].right, Line):
        return None
    return crosses[0].left, crosses[0].right


def _own_pair(made: Line | None) -> tuple[Line, Line] | None:
    if made is not None and made.name == "macd":
        return made, replace(made, part="signal")
    if made is not None and made.name == "stochastic":
        return replace(made, part="k"), replace(made, part="d")
    return None


def cross_of(r: Reader) -> Condition | None:
    """a cross of RSI above 30, a crossing of the price below its average."""
    with r.trying() as attempt:
        r.take("ON")
        if not r.take("CROSS") or not r.take("OF"):
            return None
        left = line(r)
        side = r.take("ABOVE", "BELOW", "THROUGH") if left is not None else None
        if left is None or side is None or side.kind == "THROUGH":
            return None
        way: Direction = "above" if side.kind == "ABOVE" else "below"
        right = operand(r, left, way)
        if right is None:
            return None
        attempt.keep()
        made = fitting(r, Cross(left=left, direction=way, right=right), r.i - 1, pronoun=False)
        r.it, r.right = left, right if isinstance(right, Line) else r.right
        return made


def averages_cross(r: Reader) -> Condition | None:
    """the 10 and 30 day EMAs cross up."""
    first = r.i
    with r.trying() as attempt:
        found = pair_of_averages(r) or two_averages(r)
        crossed = r.take("CROSS") or (r.peek().text.startswith("cross") and r.at("RISES", "FALLS"))
        if found is None or not crossed:
            return None
        way = r.take("RISES", "FALLS", "ABOVE", "BELOW", "EITHER_WAY", "BULLISH", "BEARISH")
        if way is None and not r.either:
            raise r.ask("which way do they cross?", ["the faster crosses above", "the faster crosses below"], first)
        attempt.keep()
        r.it, r.right = found
        up = way is not None and way.kind in ("RISES", "ABOVE", "BULLISH")
        return Cross(
            left=found[0],
            direction="either" if way is None or way.kind == "EITHER_WAY" else "above" if up else "below",
            right=found[1],
        )


def two_averages(r: Reader) -> tuple[Line, Line] | None:
    """EMA 9/21, EMA(9, 21), EMA 5 and EMA 13: the faster first."""
    with r.trying() as attempt:
        one = r.take(*AVERAGES)
        bracket = r.take("(") if one else None
        fast = r.take("NUM") if one else None
        closed = bracket is not None and r.take(")") is not None
        if one is None or fast is None or not r.take("SLASH", "AND", ",", "TO"):
            return None
        two = r.take(*AVERAGES) or one
        again = r.take("(") if closed else None
        slow = r.take("NUM")
        if slow is None or (bracket is not None and (again is not None or not closed) and not r.take(")")):
            return None
        if fast.value >= slow.value and one.kind == two.kind:
            return None
        attempt.keep()
        return (
            Line(name=AVERAGES[one.kind], values=(fast.value,)),
            Line(name=AVERAGES[two.kind], values=(slow.value,)),
        )
