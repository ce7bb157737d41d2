"""What stands on either side of a comparison: a number, a line, so many times a line, so many percent beyond it."""

from __future__ import annotations

from dataclasses import replace

from ringfence.agents.rules.measures.apart import OVER, beside, level_apart
from ringfence.agents.rules.measures.channels import edge
from ringfence.agents.rules.measures.lines import ago, line
from ringfence.agents.rules.measures.scales import scale
from ringfence.agents.rules.reader import UNITS, Reader, money, percent, period
from ringfence.agents.rules.text.tokens import Token
from ringfence.trade.description.catalogue import PRICES
from ringfence.trade.description.echo import BEFORE_THIS_BAR
from ringfence.trade.description.lines import T, lines_of, map_lines
from ringfence.trade.description.model import (
    AllOf,
    Beyond,
    Compare,
    Condition,
    Cross,
    Line,
    Not,
    Number,
    Operand,
    Scaled,
)

_BARE = "?"  # a period whose line has not been named: "the 50-day crosses the 200-day average"
_PERCENT_LINES = ("roc", "band_width", "volatility", "rsi", "stochastic", "adx", "mfi", "williams_r")
_AVERAGES = ("sma", "ema", "wma")


def operand(r: Reader, against: Operand | None = None, side: str = "", *, left: bool = False) -> Operand | None:
    """`against` is the left side when the right one is read, `side` whether that is to lie above or below."""
    known = against if isinstance(against, Line) else None
    if not left and known is not None and (earlier := _it_was(r, known)) is not None:
        return earlier
    if not left and r.at("IT") and (meant := _meant(r, against)) is not None:
        r.take("IT")
        return edge(r, meant, side)
    spoken = r.it if left else known  # AMD's is lower than SMH's
    if spoken is not None and r.at("OF") and r.at("SYMBOL", ahead=1):
        return _of_other(r, spoken)
    if not left and known is not None and scale(known) != "price" and r.at("SYMBOL") and r.at(*OVER, "WHEN", ahead=1):
        return _of_other(r, known)  # is higher than SPY's
    return (
        _scaled(r, known)
        or _beyond(r)
        or level_apart(r)
        or beside(r, line(r, known, side))
        or _recalled(r, known, left=left)
        or bare(r, left=left)
        or (None if left else _colloquial(r, known) or _number(r, known))
    )


_VERBS = ("CROSS", "MOVES", "RISES", "FALLS", "IS", "ABOVE", "BELOW", "CLOSES", "TURNS")


def _recalled(r: Reader, against: Line | None, *, left: bool) -> Line | None:
    """the 20 falls back under the 50: the averages of that many bars that were named before."""
    if not r.at("NUM") or r.at("PERCENT", "TIMES", "DOLLARS", "LINE", ahead=1):
        return None
    unit = r.peek(1) if r.at(*UNITS, ahead=1) else None  # the 5-day; 5 days are a time
    if unit is not None and (unit.text.endswith("s") or not left):
        return None
    if left and not r.at(*_VERBS, ahead=1 if unit is None else 2):
        return None
    if not left and not _with_article(r) and (against is None or against.name not in (*_AVERAGES, *PRICES)):
        return None
    priced = not left and against == Line(name="close")
    bars = r.peek().value if unit is None else r.bars(r.peek().value, unit.kind, r.i)
    named = [one for one in (r.it, r.right) if one is not None] + list(lines_of(r.entry))
    found = {replace(one, ago=0) for one in named if one.name in _AVERAGES and one.values[0] == bars}
    if len(found) != 1:
        return None
    spoken = r.i > 0 and r.peek().start - r.peek(-1).end > len(" the")  # closes under the 50
    if not left and not spoken and not priced and against is not None and against.name in PRICES:
        return None  # the high is between 6 and 2
    r.take("NUM")
    if priced and not spoken:
        raise r.ask("a price, or the average of that many bars?", ["below $50", "below the 50-day average"], r.i - 1)
    r.take(*UNITS) if unit is not None else None
    return found.pop()


def _colloquial(r: Reader, against: Line | None) -> Line | None:
    """price is above the 200: an average, where "above 200" would be a price. The article is only a gap by now."""
    number = r.peek()
    held = against is not None and against.name in (*PRICES, *_AVERAGES) and against.of is None
    if not held or not r.at("NUM") or not r.at(*OVER, "USE", "WHEN", ahead=1):
        return None
    if not _with_article(r) or number.value != int(number.value) or not 2 <= number.value <= 400:
        return None
    r.take("NUM")
    return Line(name=_BARE, values=(int(number.value),))


def _with_article(r: Reader) -> bool:
    return r.i > 0 and r.peek(-1).kind in ("ABOVE", "BELOW") and r.peek().start - r.peek(-1).end == len(" the ")


def _of_other(r: Reader, against: Line) -> Line:
    """its 3-month return is above that of SHY: the same line of another instrument."""
    r.take("OF")
    symbol = r.take("SYMBOL")
    assert symbol is not None
    return replace(against, symbol=symbol.text if against.symbol else r.whose(symbol.text))


def _meant(r: Reader, against: Operand | None) -> Line | None:
    """What "it" is on the right: one of the two lines of the last comparison, where only one can be."""
    lines = [one for one in (r.it, r.right) if one is not None]
    kept = (*BEFORE_THIS_BAR, "open", "high", "low")  # yesterday's low stays that
    found = list(dict.fromkeys(one if one.name in kept else replace(one, ago=0) for one in lines))
    found = [one for one in found if one != against]
    if isinstance(against, Line):
        same = [one for one in found if scale(one) == scale(against)]
        named = {one for one in lines_of(r.entry) if scale(one) == scale(against) and one.name not in PRICES}
        found = same or (list(named) if len(named) == 1 else found)
    if len(found) > 1 and any(one.name not in PRICES or one.ago for one in found):
        found = [one for one in found if one.name not in PRICES or one.ago]  # a line it was held against
    if len(found) > 1:
        raise r.ask("which of the two is it?", ["name the line"], r.i)
    return found[0] if found else None


def _it_was(r: Reader, against: Line) -> Line | None:
    """higher than it was 10 days ago, than 4 weeks ago."""
    with r.trying() as attempt:
        r.take_all("IT", "IS") or r.take_all("ITS", "LINE")
        bars = ago(r, against, "BEFORE")
        if bars is not None:
            attempt.keep()
            return replace(against, ago=against.ago + bars)
    if r.peek().text == "one" and r.at("BEFORE", ahead=1) and r.at(*OVER, "IT", ahead=2):
        r.take_all("NUM", "BEFORE")  # yesterday's close was lower than the one before
        r.take("IT")
        return replace(against, ago=against.ago + 1)
    with r.trying() as attempt:
        r.take("ON")
        r.take_all("IT", "IS")
        before = r.take("PREVIOUS")
        r.take("DAY", "BAR")
        run = r.at("CONSECUTIVE", ahead=1) or r.at("CONSECUTIVE", ahead=2) or r.at("CONSECUTIVE", ahead=3)
        over = r.at(*OVER) or (r.at("NUM", "FOR", "ON") and run)
        if before is not None and before.text not in ("last", "past") and over:
            attempt.keep()
            return replace(against, ago=against.ago + 1)  # higher than on the previous bar, than yesterday
    return None


def _number(r: Reader, against: Line | None) -> Number | None:
    with r.trying() as attempt:
        r.take("PRICE")
        r.take("OF", "LINE")
        amount = money(r)
        if amount is not None:
            attempt.keep()
            return Number(value=amount)
        token = r.take("NUM")
        if token is None or r.at(*UNITS):
            return None  # 5 days are no level
        if r.take("PERCENT") and not (against and against.name in _PERCENT_LINES):
            return None
        r.take("LINE") if r.at(*OVER, "WHEN", "USE", ahead=1) else None  # the 70 level
        attempt.keep()
        _asked_of_average(r, against, token)
        return Number(value=token.value)


def _asked_of_average(r: Reader, against: Line | None, number: Token) -> None:
    """The 20 EMA crosses above 50: a price, or more often the 50 EMA. Said with "bar", as we say it, it is a price."""
    if against is None or against.name not in _AVERAGES or against.of is not None or against.source == "volume":
        return
    if not 2 <= number.value <= 400 or number.value % 1:
        return
    place = r.tokens.index(number)
    plain = any(token.text == "bar" for token in r.tokens[max(0, place - 8) : place])
    if not plain and r.tokens[place - 1].kind in ("ABOVE", "BELOW"):
        said = number.text
        raise r.ask("a price, or the average of that many bars?", [f"${said}", f"the {said}-day average"], place)


def _scaled(r: Reader, against: Line | None) -> Scaled | None:
    with r.trying() as attempt:
        times = _share(r)
        number = r.take("NUM") if times is None else None
        times = number.value if number and r.take("TIMES") else times
        word = r.take("TWICE", "TRIPLE", "HALF") if number is None else None
        if word is not None:
            times = {"TWICE": 2, "TRIPLE": 3, "HALF": 0.5}[word.kind]
        if times is None:
            return None
        r.take("OF")
        made = line(r, against)
        if made is None or made.name == "atr":
            return None
        attempt.keep()
        return Scaled(line=made, times=times)


def _share(r: Reader) -> float | None:
    """150 % of its average."""
    with r.trying() as attempt:
        size = percent(r)
        if size is not None and r.at("OF"):
            attempt.keep()
            return float(f"{size / 100:.10g}")
    return None


def _beyond(r: Reader) -> Beyond | None:
    """2 % above the 50-day SMA."""
    with r.trying() as attempt:
        r.take("LINE")
        size = percent(r)
        side = r.take("ABOVE", "BELOW") if size is not None else None
        if size is None or side is None:
            return None
        made = line(r, None, side.kind.lower())
        if made is None:
            return None
        attempt.keep()
        return Beyond(line=made, percent=size if side.kind == "ABOVE" else -size)


def bare(r: Reader, *, left: bool) -> Line | None:
    """the 50-day, and as a left side also the 50, where a cross follows."""
    with r.trying() as attempt:
        r.take("ITS")
        r.take("PRICE") if r.peek().text in ("stock", "etf", "share") and r.at("NUM", ahead=1) else None
        if not r.at("NUM"):
            return None
        short = left and r.at("CROSS", "MOVES", ahead=1)
        bars = period(r, bare=short)
        if bars is None or r.at("PERCENT", "AGO", "CONSECUTIVE", "HAVE_PASSED", "DATA_PASSED", "RISES", "FALLS"):
            return None
        unit = r.peek(-1)
        if unit.kind in UNITS and unit.text.endswith("s") and not r.at("LINE"):
            return None  # 5 days are a time, the 5-day is an average
        if unit.kind in UNITS:
            r.take("LINE")
        if not short and unit.kind not in UNITS:
            return None
        attempt.keep()
        return Line(name=_BARE, values=(bars,))


def named(made: Line) -> Line:
    """A bare 50-day is a simple average."""
    return replace(made, name="sma") if made.name == _BARE else made


def settle(made: Condition) -> Condition:
    """Name what was left bare after the average on the other side; beside a price it is a simple one."""
    if isinstance(made, AllOf):
        return AllOf(parts=tuple(settle(part) for part in made.parts))
    if isinstance(made, Not):
        return Not(part=settle(made.part))
    if not isinstance(made, (Compare, Cross)):
        return all_named(made)
    left, right = made.left, made.right
    if isinstance(left, Line) and isinstance(right, Line) and left.symbol and not right.symbol:
        right = replace(right, symbol=left.symbol)
    names = [side.name for side in (left, right) if isinstance(side, Line) and side.name in _AVERAGES]
    name = names[0] if names else "sma"
    if isinstance(left, Line) and left.name == _BARE:
        left = replace(left, name=name)
    if isinstance(right, Line) and right.name == _BARE:
        right = replace(right, name=name)
    if isinstance(right, Number) and isinstance(left, Line) and isinstance(made.left, Line) and made.left.name == _BARE:
        right = Line(name=name, values=(right.value,))
    return replace(made, left=left, right=right)


def all_named(made: T) -> T:
    """The 50-day is rising: a simple average, where nothing beside it says which."""
    return map_lines(made, lambda line: replace(line, name="sma") if line.name == _BARE else line)


def pair_of_averages(r: Reader) -> tuple[Line, Line] | None:
    """the 10 and 30 day EMA, the 50/200 SMA, the 10-day EMA and the 30-day EMA."""
    with r.trying() as attempt:
        fast = period(r, bare=True) if r.at("NUM") else None
        own = line_name(r)
        if fast is None or not r.take("AND", "SLASH", "OR", "TO", ","):
            return None
        r.take("ITS")
        slow = period(r, bare=True) if r.at("NUM") else None
        name = line_name(r)
        other = r.at("OF") and not r.at("SYMBOL", ahead=1)  # below 227, or the 48-bar EMA of the rate of change is …
        if slow is None or name is None or other:
            return None
        attempt.keep()
        return Line(name=own or name, values=(fast,)), Line(name=name, values=(slow,))


def line_name(r: Reader) -> str | None:
    token = r.take("SMA", "EMA", "WMA", "AVERAGE")
    return None if token is None else "sma" if token.kind == "AVERAGE" else token.kind.lower()


def both_averages(r: Reader) -> tuple[Line, Line] | None:
    """both its 50-day and 200-day average."""
    with r.trying() as attempt:
        r.take("BOTH")
        r.take("ITS")
        found = pair_of_averages(r)
        if found is not None and not r.at(
            "IS", "CROSS", "ABOVE", "BELOW", "RISES", "FALLS", "AT_LEAST", "AT_MOST", "MOVES"
        ):
            attempt.keep()
            return found
    with r.trying() as attempt:
        if not r.take("BOTH"):
            return None
        one = line(r)
        two = line(r) if one is not None and r.take("AND") else None
        if one is not None and two is not None and not r.at("IS", "CROSS", "ABOVE", "BELOW", "RISES", "FALLS", "MOVES"):
            attempt.keep()
            return one, two
    return None
