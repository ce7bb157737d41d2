"""What a rotation chooses: how many, of which instruments, ranked by which line, the highest or the lowest."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass, field, fields, replace

from ringfence.agents.rules.measures.lines import line
from ringfence.agents.rules.orders.collected import Collected, symbols
from ringfence.agents.rules.reader import UNITS, Reader, period
from ringfence.trade.description.model import Condition, EveryBars, Line, OnSchedule

_SIDES = ("TOP", "BOTTOM", "HIGHEST", "LOWEST")
_NOUNS = ("STOCKS", "PRICE", "EVERY_SYMBOL", "EQUITY")


@dataclass(slots=True)
class Turning:
    said: Collected = field(default_factory=Collected)
    count: int = 0
    counted: int = 0  # how many it says there are to choose from
    rank: Line | None = None
    also: list[Line] = field(default_factory=list)  # lines whose average with it ranks
    highest: bool = True
    rebalance: OnSchedule | EveryBars | None = None
    filters: list[Condition] = field(default_factory=list)
    otherwise: str = ""
    chosen_first: bool = False
    late: bool = False  # the filter was said after what is chosen: of that some places may stay empty
    each: float = 0  # percent that it says each part has
    singles: bool = False  # a filter speaks of the one that is held
    by_rank: bool = False  # a filter is about the line it is ranked by


def either(r: Reader, t: Turning, *readers: Callable[[Reader, Turning], bool]) -> bool:
    """The first that reads something; what one that failed has said is forgotten."""
    before = deepcopy(t)
    for read in readers:
        if read(r, t):
            return True
        for one in fields(t):
            setattr(t, one.name, deepcopy(getattr(before, one.name)))
    return False


def is_choice(r: Reader) -> bool:
    """top 3, the two best, the one with the higher …, whichever has the highest …"""
    if r.at(*_SIDES) or (r.at("WHICHEVER") and _higher(r, 1)):
        return True
    if r.at("WHICHEVER") and r.at("OF", ahead=1) and r.at("NUM", ahead=2):
        return r.at(*_SIDES, ahead=3) or _higher(r, 3)
    if r.at("NUM") and r.at("ABOVE", "BELOW", ahead=2) and r.at("USE", ahead=1):
        return _higher(r, 2)
    if r.at("NUM") and r.at("HIGHEST", "LOWEST", ahead=1):
        return r.at("END", "STOP_MARK", ",", "USE", "AND", ahead=2)
    return r.at("NUM") and r.at("TOP", "BOTTOM", "STOCKS", "OF", "AMONG", "EVERY_SYMBOL", "USE", "EQUITY", ahead=1)


def _higher(r: Reader, ahead: int) -> bool:
    """higher, where no number follows that it would be higher than."""
    ahead += r.at("IS", ahead=ahead)
    return r.peek(ahead).text in ("higher", "lower", "greater", "stronger", "weaker", "larger", "smaller")


def choice(r: Reader, t: Turning) -> bool:
    """top 3, the 2 best, the 3 of A, B and C with the highest …, whichever is higher"""
    first = r.i
    if r.take("WHICHEVER") and r.at("OF") and r.at("NUM", ahead=1):
        t.counted = int(r.peek(1).value)  # whichever of the two
        r.take_all("OF", "NUM")
    number = r.take("NUM")
    r.skip(*_NOUNS) if number is not None and not r.at("EVERY_SYMBOL", ahead=1) else None
    r.take("USE") if r.at(*_SIDES, "ABOVE", "BELOW", ahead=1) else None
    r.take("IS") if _higher(r, 0) else None
    side = r.take(*_SIDES) or (r.take("ABOVE", "BELOW") if _higher(r, 0) else None)
    if number is None and not r.at(*UNITS, ahead=1):
        number = r.take("NUM")
    if number is not None and not _count(r, t, number.value, first):
        return False
    if side is not None:
        t.highest = side.kind in ("TOP", "HIGHEST", "ABOVE")
    r.skip(*_NOUNS)
    ranked = rank(r, t)
    by_rank = t.rank is not None and r.at("END", "STOP_MARK", ",", "USE", "AND")  # rank by …, and hold the two lowest
    if side is not None and side.kind in ("HIGHEST", "LOWEST") and not ranked and not by_rank:
        r.i = first
        return False
    if side is not None and side.kind in ("ABOVE", "BELOW") and t.rank is None:
        return False
    if number is not None and side is None and r.at("BY", "COLON", "SYMBOL"):
        return False
    if r.at("OF") and r.at("NUM", ahead=1) and r.at("BY", "STOP_MARK", ",", "AND", "END", "COLON", "USE", ahead=2):
        r.take("OF")  # of these ten, the better of the two
        size = r.take("NUM")
        t.counted = int(size.value) if size is not None else 0
    return number is not None or side is not None


def _count(r: Reader, t: Turning, number: float, first: int) -> bool:
    if number != int(number) or number < 1:
        return False
    if t.count not in (0, number):
        raise r.ask("how many are held?", ["say one number"], first)
    t.count = int(number)
    return True


def universe(r: Reader, t: Turning) -> bool:
    """AAPL, MSFT and IBM; the nine sector funds XLB, XLE …; QQQ against EFA."""
    with r.trying() as attempt:
        r.take("EITHER") if r.at("SYMBOL", ahead=1) else None  # one of SPY or TLT
        number = r.take("NUM")
        r.skip(*_NOUNS, "TRADE") if number is not None or r.at("SYMBOL", "COLON", ahead=1) else None
        r.take("COLON")
        if symbols(r, t.said):
            while r.at("AGAINST") and r.at("SYMBOL", ahead=1):
                r.take("AGAINST")
                symbols(r, t.said)
            if number is not None:
                t.counted = int(number.value)
            attempt.keep()
            return True
    return False


def rank(r: Reader, t: Turning) -> bool:
    with r.trying() as attempt:
        r.skip("RANKED", "BY", "ITS", "USE", "IN", "ON", "WHICHEVER")
        if r.at("SYMBOL") and not r.at("NUM", ahead=1):
            return False  # one of those that are ranked
        if r.peek().text == "over":
            r.take("ABOVE")
        order = r.take("HIGHEST", "LOWEST")
        blended = _blend(r)
        if r.at("PREVIOUS") and r.at("NUM", *UNITS, ahead=1):
            r.take("PREVIOUS")
        made = blended[0] if blended else _single(r)
        if made is not None and made.symbol:  # the 12-month return of SPY and EFA
            t.said.symbols += [made.symbol] if made.symbol not in t.said.symbols else []
            made = replace(made, symbol="")
            _also_of(r, t)
        if made is not None and made.name == "roc":
            made = _but_last(r, made)
        if made is None or (t.rank is not None and (t.rank, t.also) != (made, blended[1:])):
            return False
        if order is not None:
            t.highest = order.kind == "HIGHEST"
        t.rank, t.also = made, blended[1:]
        attempt.keep()
        return True


def _single(r: Reader) -> Line | None:
    """A line; momentum over 6 months; over 3 months, which is the return."""
    if r.take("MOMENTUM"):
        return _momentum(r)
    made = line(r)
    if made is not None and made.name == "momentum":
        return Line(name="roc", values=made.values)  # compared in percent: a difference would be in dollars
    if made is None and (span := period(r)) is not None:
        made = Line(name="roc", values=(span,))  # the best performer over 3 months
        r.take("GAIN", "RISES")
    return made


def _also_of(r: Reader, t: Turning) -> None:
    """… of SPY with that of EFA, of SPY and of EFA, of SPY, QQQ and EFA."""
    while True:
        with r.trying() as attempt:
            r.take("AND", "AGAINST", "USE", "TO", ",")
            r.take("OF")
            token = r.take("SYMBOL")
            if token is None or r.at("IS", "ABOVE", "BELOW", "WHEN"):
                return
            t.said.symbols += [token.text] if token.text not in t.said.symbols else []
            attempt.keep()


def _momentum(r: Reader) -> Line:
    """momentum over 6 months. Of several instruments it is compared in percent, since a difference is in dollars."""
    first = r.i
    r.take("ABOVE", "OF", "IN", "FOR")
    r.take("PREVIOUS")
    bars = period(r)
    if bars is None:
        raise r.ask("momentum over how many bars?", ["126-bar momentum", "63-bar momentum"], first - 1)
    return Line(name="roc", values=(bars,))


def _blend(r: Reader) -> list[Line]:
    """the average of the 3, 6 and 12-month returns: each of them counts as much."""
    with r.trying() as attempt:
        if not r.take("AVERAGE") or not r.take("OF"):
            return []
        first, made = r.i, []
        if (blended := _lines(r)) is not None:
            attempt.keep()
            return blended
        numbers: list[float] = []
        r.skip("ITS")
        while (number := r.take("NUM")) is not None:
            numbers.append(number.value)
            unit = r.take(*UNITS)
            r.skip("DASH", ",", "AND")
            if unit is not None and r.at("ROC", "MOMENTUM"):
                break
        unit = next((t for t in reversed(r.tokens[first : r.i]) if t.kind in UNITS), None)
        if len(numbers) < 2 or unit is None or not r.take("ROC", "MOMENTUM"):
            return []
        made = [Line(name="roc", values=(r.bars(number, unit.kind, first),)) for number in numbers]
        attempt.keep()
        return made


def _lines(r: Reader) -> list[Line] | None:
    """the 63-bar rate of change, the 126-bar rate of change and the 252-bar rate of change."""
    with r.trying() as attempt:
        made: list[Line] = []
        while (one := line(r)) is not None:
            made.append(one)
            r.take(",")
            r.take("AND")
        if len(made) > 1:
            attempt.keep()
            if r.peek(-1).kind in (",", "AND"):
                r.i -= 1
            return made
    return None


def _but_last(r: Reader, made: Line) -> Line:
    """12-month return, ignoring the last month: of the eleven months before it."""
    with r.trying() as attempt:
        r.skip(",", "AND", "(")
        if r.take("EXCLUDE", "NOT", "EXCEPT", "EXCLUDING"):
            r.skip("PREVIOUS", "CURRENT")
            bars = period(r)
            r.take(")")
            if bars is not None and bars < made.values[0]:
                attempt.keep()
                return replace(made, values=(made.values[0] - bars,), ago=made.ago + bars)
    return made
