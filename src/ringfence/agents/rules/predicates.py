"""One comparison in English: what it is about, a verb, and what that is compared with."""

from __future__ import annotations

from dataclasses import replace

from ringfence.agents.rules.arriving import reaching, returning, rising_to
from ringfence.agents.rules.lines import line
from ringfence.agents.rules.movements import change, span, trend
from ringfence.agents.rules.operands import operand, pair_of_averages, settle
from ringfence.agents.rules.reader import UNITS, Attempt, Reader, percent, period
from ringfence.agents.rules.scales import fitting, line_in
from ringfence.agents.rules.settings import NAMES
from ringfence.agents.rules.verbs import broken, crossing, level, turning
from ringfence.trade.description.catalogue import KINDS
from ringfence.trade.description.model import (
    AllOf,
    Beyond,
    Change,
    Compare,
    Condition,
    Cross,
    Held,
    Level,
    Line,
    Not,
    Number,
    Operand,
    Trend,
)

_OVER = ("END", "STOP_MARK", ",", "AND", "USE", "SELL", "EXIT", ")", "THEN", "IN", "FOR")  # where a rule is over
_GOLDEN = {"GOLDEN_CROSS": "above", "DEATH_CROSS": "below"}


def predicate(r: Reader) -> Condition | None:
    for read in (
        _golden,
        _shape,
        _nominal,
        _gap,
        _streak,
        _first_day,
        _extreme,
        _named_cross,
        _averages_cross,
        _comparison,
    ):
        made = read(r)
        if made is not None:
            return made
    return None


def _golden(r: Reader) -> Condition | None:
    """a golden cross, of the 50- and 200-day averages where no others are named."""
    with r.trying() as attempt:
        r.take("ON")
        r.take("IS")
        token = r.take(*_GOLDEN)
        if token is None:
            return None
        fast, slow = Line(name="sma", values=(50,)), Line(name="sma", values=(200,))
        with r.trying() as named:
            bracket = r.take("OF", "(")
            if bracket is not None and (found := pair_of_averages(r)) and (bracket.kind == "OF" or r.take(")")):
                fast, slow = found
                named.keep()
        r.take("HAPPENS")
        attempt.keep()
        r.it, r.right = fast, slow
        direction = "above" if token.kind == "GOLDEN_CROSS" else "below"
        return Cross(left=fast, direction=direction, right=slow)  # type: ignore[arg-type]


def _named_cross(r: Reader) -> Condition | None:
    """a bullish MACD crossover, a bearish cross of the 10 and 30 EMA, MACD bullish crossover."""
    with r.trying() as attempt:
        r.take("ON", "IS")
        mood = r.take("BULLISH", "BEARISH")
        made = line(r) if not r.at("CROSS") else None
        mood = mood or r.take("BULLISH", "BEARISH")
        if mood is None or r.take("CROSS") is None:
            return None
        if made is None and r.at("END", "STOP_MARK", ",", "AND") and r.it is not None and r.right is not None:
            found: tuple[Line, Line] | None = (r.it, r.right)
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
        made_cross = Cross(left=found[0], direction="above" if mood.kind == "BULLISH" else "below", right=found[1])
        return _where(r, made_cross)


def _own_pair(made: Line | None) -> tuple[Line, Line] | None:
    if made is not None and made.name == "macd":
        return made, replace(made, part="signal")
    if made is not None and made.name == "stochastic":
        return replace(made, part="k"), replace(made, part="d")
    return None


def _averages_cross(r: Reader) -> Condition | None:
    """the 10 and 30 day EMAs cross up."""
    first = r.i
    with r.trying() as attempt:
        found = pair_of_averages(r)
        crossed = r.take("CROSS") or (r.peek().text.startswith("cross") and r.at("RISES", "FALLS"))
        if found is None or not crossed:
            return None
        way = r.take("RISES", "FALLS", "ABOVE", "BELOW", "EITHER_WAY", "BULLISH", "BEARISH")
        if way is None:
            raise r.ask("which way do they cross?", ["the faster crosses above", "the faster crosses below"], first)
        attempt.keep()
        r.it, r.right = found
        up = way.kind in ("RISES", "ABOVE", "BULLISH")
        return Cross(
            left=found[0],
            direction="either" if way.kind == "EITHER_WAY" else "above" if up else "below",
            right=found[1],
        )


def _shape(r: Reader) -> Condition | None:
    """green candle, the bar closes up: the close above the open."""
    with r.trying() as attempt:
        bar = r.take("BAR") if r.peek().text in ("candle", "bar", "candlestick") else None
        r.take("ON", "IS")
        if bar is not None and (mood := r.take("BULLISH", "BEARISH")):
            attempt.keep()
            way: Level = "above" if mood.kind == "BULLISH" else "below"
            return Compare(left=Line(name="close"), level=way, right=Line(name="open"))
        token = r.take("RISES", "FALLS")
        if bar is not None or token is None or token.text not in ("green candle", "red candle"):
            return None
        attempt.keep()
        side = "above" if token.kind == "RISES" else "below"
        return Compare(left=Line(name="close"), level=side, right=Line(name="open"))  # type: ignore[arg-type]


def _nominal(r: Reader) -> Condition | None:
    """a 4 % drop over two days."""
    with r.trying() as attempt:
        r.take("EVERY")
        word = r.take("ABOVE", "AT_LEAST")
        size = percent(r)
        way = r.take("RISES", "FALLS") if size is not None else None
        if size is not None and way is not None and r.at("FROM", "BELOW", "ABOVE"):
            r.take("FROM", "BELOW", "ABOVE")
            return _from_line(r, attempt, size, up=way.kind == "RISES", hard=word is not None and word.kind == "ABOVE")
        bars = span(r) if way is not None else None
        if size is None or way is None or bars is None:
            return None
        attempt.keep()
        hard = word is not None and word.kind == "ABOVE"
        return Change(
            line=Line(name="close"), way="up" if way.kind == "RISES" else "down", percent=size, bars=bars, strict=hard
        )


def _from_line(r: Reader, attempt: Attempt, size: float, *, up: bool, hard: bool) -> Condition | None:
    """a 10 % drop from its 50-day high."""
    made = line(r)
    if made is None:
        return None
    attempt.keep()
    levels: tuple[Level, Level] = ("above", "below") if hard else ("at_least", "at_most")
    r.it, r.right = Line(name="close"), made
    return Compare(left=r.it, level=levels[not up], right=Beyond(line=made, percent=size if up else -size))


def _gap(r: Reader) -> Condition | None:
    """it gaps up by 2 %."""
    with r.trying() as attempt:
        r.take("IT", "PRICE", "OPEN")
        if r.take("GAP") is None:
            return None
        way = r.take("RISES", "FALLS", "ABOVE", "BELOW")
        r.skip("BY", "OF")
        strict = r.take("ABOVE", "AT_LEAST")
        size = percent(r)
        if way is None:
            return None
        r.take_all("AT", "OPEN")
        up = way.kind in ("RISES", "ABOVE")
        last = Line(name="close", ago=1)
        right: Operand = last if size is None else Beyond(line=last, percent=size if up else -size)
        hard = size is None or (strict is not None and strict.kind == "ABOVE")
        attempt.keep()
        levels = ("above", "below") if hard else ("at_least", "at_most")
        return Compare(left=Line(name="open"), level=levels[0] if up else levels[1], right=right)  # type: ignore[arg-type]


def _streak(r: Reader) -> Condition | None:
    """3 down days in a row, three consecutive lower closes, 3 straight green candles."""
    with r.trying() as attempt:
        r.take("AFTER")
        r.take("IS")
        number = r.take("NUM")
        if number is None:
            return None
        said = r.take("CONSECUTIVE")
        way = r.take("RISES", "FALLS")
        if way is None or way.text.split()[0] not in ("higher", "lower", "up", "down", "green", "red"):
            return None
        r.take("DAY", "BAR", "CLOSE")
        said = r.take("CONSECUTIVE") or said
        r.take("HAPPENS")
        if said is None and len(way.text.split()) == 1:
            return None
        attempt.keep()
        if way.text.endswith(("candle", "candles", "bar", "bars")) and way.text.startswith(("green", "red")):
            side: Level = "above" if way.kind == "RISES" else "below"
            return Held(
                condition=Compare(left=Line(name="close"), level=side, right=Line(name="open")), bars=int(number.value)
            )
        return Trend(line=Line(name="close"), way="up" if way.kind == "RISES" else "down", bars=int(number.value))


def _first_day(r: Reader) -> Condition | None:
    """the first up close, any red day."""
    with r.trying() as attempt:
        r.take("ON", "AFTER", "AT")
        said = r.take("FIRST", "EVERY", "NEXT")
        token = r.take("RISES", "FALLS")
        if token is None or not token.text.endswith((" close", " day", " bar")):
            return None
        if said is None and not r.at("END", "STOP_MARK", ",", "AND", "OR", "USE"):
            return None
        attempt.keep()
        return Trend(line=Line(name="close"), way="up" if token.kind == "RISES" else "down", bars=1)


def _extreme(r: Reader) -> Condition | None:
    """at a new 20-day high, a 55-day breakout: the close beyond it."""
    with r.trying() as attempt:
        r.take("ON", "AT")
        r.skip("NEW")
        if r.at("NUM") and (bars := period(r)) is not None and r.peek().text == "breakout":
            r.take("MOVES")
            r.skip("RISES", "LONG") if r.peek().text in ("to upside", "on long side", "on upside") else None
            attempt.keep()
            r.it, r.right = Line(name="close"), Line(name="highest", values=(bars,), ago=1)
            return Cross(left=r.it, direction="above", right=r.right)
    with r.trying() as attempt:
        r.take("ON", "AT")
        made = line(r)
        if made is None or made.name not in ("highest", "lowest") or not r.at(*_OVER):
            return None
        attempt.keep()
        r.it, r.right = Line(name="close", symbol=made.symbol), made
        return Compare(left=r.it, level="above" if made.name == "highest" else "below", right=made)


def _comparison(r: Reader) -> Condition | None:
    first = r.i
    with r.trying() as attempt:
        if r.at("FIRST", "EVERY") and r.at("CLOSE", ahead=1) and r.at("ABOVE", "BELOW", ahead=2):
            r.take("FIRST", "EVERY")  # on the first close below it
        left: Operand | None = operand(r, left=True)
        pronoun = left is None
        if left is None and (r.take("IT") or (r.at("IS", ahead=1) and r.peek().text == "each" and r.take("EVERY"))):
            left = r.it or Line(name="close")
        elided = left is None
        if left is None:
            left = r.it or (Line(name="close") if r.at("RISES", "FALLS", "CLOSES", "REACHES", "MOVES") else None)
            if left is None or r.at("NUM", "MONEY"):
                return None
        if (pronoun or elided) and r.at("CLOSES"):
            left = Line(name="close", symbol=getattr(left, "symbol", ""))
        made = _verb(r, left, first, pronoun=pronoun)
        if made is None or (elided and not r.joined and isinstance(made, Trend) and made.bars == 1):
            return None  # "buy the dip" is no rule
        attempt.keep()
        return made


def _verb(r: Reader, left: Operand, first: int, *, pronoun: bool) -> Condition | None:
    negated = r.take("NOT") is not None
    for read in (change, broken, returning, rising_to, level, crossing, reaching, turning, trend):
        with r.trying() as attempt:
            made = read(r, left, first)
            if made is not None:
                attempt.keep()
                made = _where(r, _remember(r, made, left, first, pronoun=pronoun))
                return Not(part=made) if negated else made
    return None


def _where(r: Reader, made: Condition) -> Condition:
    """%K crosses above %D below 20: where the cross happens."""
    if not isinstance(made, Cross) or not isinstance(made.right, Line):
        return made
    with r.trying() as attempt:
        r.take("WHEN") if r.peek().text == "while" else None
        side = r.take("ABOVE", "BELOW")
        number = r.take("NUM") if side is not None else None
        if side is None or number is None or r.at("PERCENT", "TIMES", *UNITS, *NAMES):
            return made
        r.take("LINE")
        attempt.keep()
        level = Compare(
            left=made.left, level="above" if side.kind == "ABOVE" else "below", right=Number(value=number.value)
        )
        return AllOf(parts=(made, level))


def _remember(r: Reader, made: Condition, left: Operand, first: int, *, pronoun: bool) -> Condition:
    """Give a bare "50-day" the kind of the other side, and keep what "it" will mean."""
    made = settle(made)
    inner = made.part if isinstance(made, Not) else made
    parts = inner.parts if isinstance(inner, AllOf) else (inner,)
    fit = tuple(fitting(r, part, first, pronoun=pronoun) for part in parts)
    if fit != parts:
        made = fit[0] if len(fit) == 1 else AllOf(parts=fit)
        left = getattr(fit[0], "left", left)
    shown = made.parts[0] if isinstance(made, AllOf) else made
    settled = getattr(shown, "left", None)
    right = line_in(getattr(shown, "right", Number(value=0)))
    if isinstance(left, Line):
        r.it = left if left.name in KINDS else settled if isinstance(settled, Line) else None
    if isinstance(right, Line):
        r.right = right
    return made
