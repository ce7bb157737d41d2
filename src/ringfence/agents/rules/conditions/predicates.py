"""One comparison in English: what it is about, a verb, and what that is compared with."""

from __future__ import annotations

from dataclasses import replace

from ringfence.agents.rules.conditions.arriving import reaching, returning, rising_to
from ringfence.agents.rules.conditions.before import YESTERDAY, after_being
from ringfence.agents.rules.conditions.crosses import averages_cross, cross_of, golden, named_cross
from ringfence.agents.rules.conditions.moods import mood, turning, unmoody
from ringfence.agents.rules.conditions.movements import change, changed_sign, since, trend, turned
from ringfence.agents.rules.conditions.nominals import NOMINALS
from ringfence.agents.rules.conditions.recency import recent
from ringfence.agents.rules.conditions.relations import dated, outdone, slope, sloped
from ringfence.agents.rules.conditions.verbs import broken, crossing, level
from ringfence.agents.rules.measures.lines import line
from ringfence.agents.rules.measures.operands import operand, settle
from ringfence.agents.rules.measures.proportions import share_of_price, squeeze
from ringfence.agents.rules.measures.scales import closes_there, fitting, line_in, plain
from ringfence.agents.rules.measures.settings import BANDS, NAMES
from ringfence.agents.rules.reader import UNITS, Reader, period
from ringfence.trade.description.catalogue import KINDS
from ringfence.trade.description.model import (
    AllOf,
    AnyOf,
    Change,
    Compare,
    Condition,
    Cross,
    Line,
    Not,
    Number,
    OnWeekdays,
    Operand,
    Trend,
)

_OVER = (
    "END",
    "STOP_MARK",
    ",",
    "AND",
    "USE",
    "SELL",
    "EXIT",
    ")",
    "THEN",
    "IN",
    "FOR",
    "WHEN",
    "UNLESS",
    "OR",
)  # where a rule is over

_DAYS = ("MONDAY", "TUESDAY", "WEDNESDAY", "THURSDAY", "FRIDAY")
_ENDS_DAY = ("clos", "finish", "end", "settl")
_BREAKS = ("breakout", "breakouts", "breakdown", "break")


def predicate(r: Reader) -> Condition | None:
    for read in (
        golden,
        squeeze,
        share_of_price,
        *NOMINALS,
        slope,
        sloped,
        _extreme,
        named_cross,
        cross_of,
        averages_cross,
        _comparison,
    ):
        made = read(r)
        if made is not None:
            return where(r, made) if read is named_cross else made
    return None


def _extreme(r: Reader) -> Condition | None:
    """at a new 20-day high, a 55-day breakout: the close beyond it."""
    with r.trying() as attempt:
        r.take("ON", "AT")
        r.skip("NEW")
        bars = period(r) if r.at("NUM") else None
        if bars is not None and r.peek().text == "breakdown" and r.take("TITLE"):
            attempt.keep()
            r.it, r.right = Line(name="close"), Line(name="lowest", values=(bars,), ago=1)
            return Cross(left=r.it, direction="below", right=r.right)
        if bars is not None and r.peek().text == "breakout":
            r.take("MOVES")
            r.skip("RISES", "LONG") if r.peek().text in ("to upside", "on long side", "on upside") else None
            attempt.keep()
            r.it, r.right = Line(name="close"), Line(name="highest", values=(bars,), ago=1)
            return Cross(left=r.it, direction="above", right=r.right)
    with r.trying() as attempt:
        r.take("ON", "AT")
        ahead = next((r.peek(n).text for n in range(8) if r.peek(n).text in _BREAKS), "")
        made = line(r, side={"": "", "breakdown": "below"}.get(ahead, "above"))
        edge = made is not None and made.name in BANDS.values() and made.part in ("upper", "lower")
        if made is None or not (edge or made.name in ("highest", "lowest")):
            return None
        up = made.name == "highest" or made.part == "upper"
        if r.peek().text in _BREAKS and r.take("MOVES", "TITLE"):
            attempt.keep()
            r.it, r.right = Line(name="close", symbol=made.symbol), made
            return Cross(left=r.it, direction="above" if up else "below", right=made)
        if edge or not r.at(*_OVER):
            return None
        attempt.keep()
        r.it, r.right = Line(name="close", symbol=made.symbol), made
        return Compare(left=r.it, level="above" if made.name == "highest" else "below", right=made)


def _comparison(r: Reader) -> Condition | None:
    first = r.i
    with r.trying() as attempt:
        once = r.at("FIRST", "EVERY") or r.peek().text in ("one", "single")
        if once and r.at("CLOSE", ahead=1) and r.at("ABOVE", "BELOW", ahead=2):
            r.take(r.peek().kind)  # on the first close below it, until one close above it
        r.take("CURRENT") if r.at("CLOSES", ahead=1) or (
            r.at("IT", ahead=1) and r.at("CLOSES", ahead=2)
        ) else None  # today closes above it
        if r.at(*_DAYS) and r.at("CLOSES", "RISES", "FALLS", "IS", ahead=1) and r.timeframe == "1d":
            of_day = _of_day(r, first)
            attempt.keep() if of_day is not None else None
            return of_day
        left: Operand | None = operand(r, left=True)
        pronoun = left is None
        if left is None and (r.take("IT") or (r.at("IS", ahead=1) and r.peek().text == "each" and r.take("EVERY"))):
            left = _stacked(r) or r.it or Line(name="close")
        elided = left is None
        if left is None:
            left = r.it or (
                Line(name="close") if r.at("RISES", "FALLS", "CLOSES", "REACHES", "MOVES", "CROSS") else None
            )
            if left is None or r.at("NUM", "MONEY"):
                return None
        if pronoun and not elided and r.peek().text in ("opens", "opened") and r.take("OPEN"):
            left = Line(name="open", symbol=getattr(left, "symbol", ""))  # it opens above yesterday's high
        if pronoun and not elided and r.at("RISES", "FALLS") and r.peek().text.startswith(_ENDS_DAY):
            left = Line(name="close", symbol=getattr(left, "symbol", ""))  # it closes lower, after a rule of the volume
        if (pronoun or elided) and r.at("CLOSES") and not closes_there(r, left):
            left = Line(name="close", symbol=getattr(left, "symbol", ""))
        made = _verb(r, left, first, pronoun=pronoun)
        if made is None or (elided and not r.joined and isinstance(made, Trend) and made.bars == 1):
            return None  # "buy the dip" is no rule
        attempt.keep()
        return made


def _of_day(r: Reader, first: int) -> Condition | None:
    """Monday closed lower by more than 1 %, Friday was a down day: its bar, whichever day it is acted on."""
    day = r.take(*_DAYS)
    assert day is not None
    r.take("IS") if r.at("RISES", "FALLS", ahead=1) else None
    made = _verb(r, Line(name="close"), first, pronoun=True)
    if made is None or not isinstance(made, (Compare, Cross, Trend, Change)):
        return None
    return AllOf(parts=(made, OnWeekdays(days=(day.kind.lower(),))))


def _verb(r: Reader, left: Operand, first: int, *, pronoun: bool) -> Condition | None:
    r.take("AND") if r.peek().text == "also" else None  # with ADX also rising
    negated = r.take("NOT") is not None
    for read in (
        outdone,
        change,
        since,
        broken,
        returning,
        rising_to,
        level,
        crossing,
        reaching,
        unmoody,
        turning,
        changed_sign,
        turned,
        under_either,
        trend,
    ):
        with r.trying() as attempt:
            made = read(r, left, first)
            if made is not None:
                attempt.keep()
                made = _since_before(r, where(r, _remember(r, made, left, first, pronoun=pronoun)))
                made = recent(r, dated(r, made))
                if getattr(left, "name", "") == "close" and isinstance(made, (Compare, Cross)):
                    made = replace(made, left=left) if r.take("CLOSING_BASIS") else made
                return Not(part=made) if negated else made
    return None


def _stacked(r: Reader) -> Line | None:
    """It is above its 50-day average and that is above its 200-day one …, out when it falls under one: the price."""
    parts = r.entry.parts if isinstance(r.entry, AllOf) else ()
    against = [one.left for one in parts if isinstance(one, Compare) and one.right == r.it]
    named = r.at("ABOVE", "BELOW", ahead=1) and r.at("ITS", "NUM", "SMA", "EMA", "WMA", ahead=2)
    return next((one for one in against if isinstance(one, Line) and one.name == "close"), None) if named else None


def _since_before(r: Reader, made: Condition) -> Condition:
    """closes above its average having closed below it the day before: a cross."""
    if not isinstance(made, Compare) or made.level not in ("above", "below") or not isinstance(made.right, Line):
        return made
    with r.trying() as attempt:
        after = r.take("AFTER") is not None
        having = r.peek().text == "having" and r.take("USE") is not None
        if not (after or having):
            return made
        if (
            not (r.take("CLOSES", "IS") or having)
            or not r.take("BELOW" if made.level == "above" else "ABOVE")
            or not r.take("IT")
        ):
            return made
        r.take("ON")
        before = r.take("PREVIOUS") or r.take("BEFORE")
        if (before is not None and before.text not in (*YESTERDAY, "before")) or not r.at(*_OVER, "OR"):
            return made
        attempt.keep()
        return Cross(left=made.left, direction=made.level, right=made.right)


def under_either(r: Reader, left: Operand, first: int) -> Condition | None:
    """closes under either one, is above both of them: of the lines that the entry held it against."""
    verb = r.take("IS", "CLOSES", "MOVES", "FALLS", "RISES", "CROSS")
    side = r.take("ABOVE", "BELOW")
    word = r.take("EITHER", "BOTH", "EVERY") if side is not None else None
    if verb is None or side is None or word is None or not isinstance(left, Line):
        return None
    r.take("OF")
    r.take("NUM") if r.peek().text in ("one", "two") else None
    parts = r.entry.parts if isinstance(r.entry, AllOf) else ()
    rights = [
        p.right for p in parts if isinstance(p, (Compare, Cross)) and p.left == left and isinstance(p.right, Line)
    ]
    if len(rights) < 2 or len(rights) != len(parts) or not r.at(*_OVER, "OR"):
        return None
    up = side.kind == "ABOVE"
    moved = verb.kind not in ("IS", "CLOSES")
    made: list[Condition] = [
        Cross(left=left, direction="above" if up else "below", right=right)
        if moved
        else Compare(left=left, level="above" if up else "below", right=right)
        for right in rights
    ]
    return AllOf(parts=tuple(made)) if word.kind == "BOTH" else AnyOf(parts=tuple(made))


def where(r: Reader, made: Condition) -> Condition:
    """%K crosses above %D below 20: where the cross happens."""
    made = after_being(r, made) if isinstance(made, (Cross, Compare)) else made
    if not isinstance(made, Cross) or not isinstance(made.right, Line):
        return made
    with r.trying() as attempt:
        r.take("WHEN") if r.peek().text == "while" else None
        held = mood(r, made.left, r.i) if r.at("OVERSOLD", "OVERBOUGHT") else None
        if held is not None:
            attempt.keep()
            return AllOf(parts=(made, held))
        came = r.take("FROM") is not None and isinstance(made.left, Line)  # from above 80: where it was before
        side = r.take("ABOVE", "BELOW")
        number = r.take("NUM") if side is not None else None
        if side is None or number is None or r.at("PERCENT", "TIMES", *UNITS, *NAMES):
            return made
        r.take("LINE")
        attempt.keep()
        left = replace(made.left, ago=made.left.ago + 1) if came and isinstance(made.left, Line) else made.left
        level = Compare(left=left, level="above" if side.kind == "ABOVE" else "below", right=Number(value=number.value))
        return AllOf(parts=(made, level))


def _of_price(r: Reader, made: Condition) -> Condition:
    """it crosses above its average, after a rule about an indicator: the price and its average are meant, but where
    that rule held the indicator against this very average."""
    right = getattr(made, "right", None)
    if not isinstance(made, (Compare, Cross)) or not isinstance(right, Line) or not isinstance(made.left, Line):
        return made
    of_it = right.of == plain(made.left) and right != r.right
    return replace(made, right=replace(right, of=None)) if of_it else made


def _remember(r: Reader, made: Condition, left: Operand, first: int, *, pronoun: bool) -> Condition:
    """Give a bare "50-day" the kind of the other side, and keep what "it" will mean."""
    made = settle(made)
    if pronoun:
        made = _of_price(r, made)
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
