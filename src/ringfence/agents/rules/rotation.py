"""Rotation in English: of several instruments those that a line ranks first, chosen anew on a schedule."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from ringfence.agents.rules.calendar import recurring
from ringfence.agents.rules.collected import SEPARATORS, Collected, symbols
from ringfence.agents.rules.conditions import condition
from ringfence.agents.rules.lines import line
from ringfence.agents.rules.reader import UNITS, Reader, period
from ringfence.agents.rules.scales import scale
from ringfence.agents.rules.tokens import Token
from ringfence.trade.description.model import (
    Compare,
    Condition,
    Description,
    EveryBars,
    Line,
    Not,
    Number,
    OnSchedule,
    Rotation,
)


@dataclass(slots=True)
class _Turning:
    said: Collected = field(default_factory=Collected)
    count: int = 0
    rank: Line | None = None
    highest: bool = True
    rebalance: OnSchedule | EveryBars | None = None
    only: Condition | None = None
    otherwise: str = ""
    chosen_first: bool = False


def rotation(r: Reader) -> Description | None:
    """Every month hold the 3 of AAPL, MSFT, IBM and GOOG with the highest 6-month return; otherwise hold TLT."""
    t = _Turning()
    first = r.i
    while not r.at("END"):
        if r.take(*SEPARATORS):
            continue
        if not _rotating(r, t):
            return None
    if t.rank is None:
        raise r.ask("ranked by what?", ["by 126-bar return", "by 20-bar volatility", "by 14-bar RSI"], first)
    if t.rebalance is None:
        raise r.ask("how often is it chosen anew?", ["rebalance monthly", "rebalance weekly"], first)
    names = tuple(t.said.symbols)
    filtered = t.only is not None and t.count == len(names)  # those of them all for which it holds
    if names and not filtered and not 1 <= (t.count or 1) < len(names):
        raise r.ask(f"the best {t.count} of {len(names)} is no choice", ["name more instruments"], first)
    plan = Rotation(
        count=t.count or 1,
        rank=t.rank,
        highest=t.highest,
        rebalance=t.rebalance,
        only=t.only,
        otherwise=t.otherwise,
        chosen_first=t.chosen_first and t.only is not None,
    )
    return Description(plan=plan, symbols=names, every=not names)


def _rotating(r: Reader, t: _Turning) -> bool:
    when = recurring(r)
    if when is not None:
        if t.rebalance is not None and t.rebalance != when:
            raise r.ask("chosen anew on which schedule?", ["say one of them"], r.i)
        t.rebalance = when
        return True
    if r.take("OTHERWISE"):
        r.skip("HOLD", "BUY", "ROTATE", "IN", ",", "IS", "EXIT", "TO", "ALL_IN")
        token = r.take("SYMBOL")
        _instead(r, t, token)
        return token is not None or r.take("EQUITY") is not None or r.peek(-1).kind == "EXIT"
    if _none_fit(r, t) or _only(r, t) or _skipped(r, t) or _cash_if_negative(r, t) or _until_next(r, t):
        return True
    if r.at("TOP", "BOTTOM", "HIGHEST", "LOWEST") or (
        r.at("NUM") and r.at("TOP", "BOTTOM", "STOCKS", "OF", "AMONG", "EVERY_SYMBOL", "USE", ahead=1)
    ):
        return _choice(r, t)
    if r.take("RANKED", "BY", "USE", "IN", "AMONG", "OF", "FROM", "ON", "FOR", "BETWEEN") and (
        _rank(r, t) or r.at("SYMBOL", "EVERY_SYMBOL", "TOP", "NUM", "HIGHEST", "LOWEST", "ITS")
    ):
        return True
    if symbols(r, t.said):
        return True
    if r.at("TURNS") and r.peek().text.startswith("switch"):
        return r.take("TURNS") is not None  # switch monthly
    if r.take(
        "HOLD",
        "BUY",
        "ROTATE",
        "INVEST",
        "TRADE",
        "REBALANCE",
        "EQUALLY",
        "WHICHEVER",
        "STRATEGY",
        "IT",
        "ONLY",
        "POSITION",
        "AMONG",
        "STOCKS",
        "EQUITY",
        "SHARES",
        "ALL_IN",
        "TITLE",
        "PER_TRADE",
    ):
        return True
    return _rank(r, t)


def _choice(r: Reader, t: _Turning) -> bool:
    """top 3, the 2 best, the 3 of A, B and C with the highest …"""
    first = r.i
    number = r.take("NUM")
    side = r.take("TOP", "BOTTOM", "HIGHEST", "LOWEST")
    if number is None and not r.at(*UNITS, ahead=1):
        number = r.take("NUM")
    if number is not None:
        if t.count not in (0, number.value):
            raise r.ask("how many are held?", ["say one number"], first)
        t.count = int(number.value)
    if side is not None:
        t.highest = side.kind in ("TOP", "HIGHEST")
    r.skip("STOCKS", "PRICE", "EVERY_SYMBOL")
    if side is not None and side.kind in ("HIGHEST", "LOWEST") and not _rank(r, t):
        r.i = first
        return False
    _rank(r, t)
    return number is not None or side is not None


def _rank(r: Reader, t: _Turning) -> bool:
    with r.trying() as attempt:
        r.skip("RANKED", "BY", "ITS", "USE", "IN")
        if r.at("SYMBOL"):
            return False  # one of those that are ranked
        if r.peek().text == "over":
            r.take("ABOVE")
        order = r.take("HIGHEST", "LOWEST")
        if r.at("PREVIOUS") and r.at("NUM", *UNITS, ahead=1):
            r.take("PREVIOUS")
        if r.take("MOMENTUM"):
            made: Line | None = _momentum(r)
        else:
            made = line(r)
        if made is not None and made.name == "momentum":
            made = Line(name="roc", values=made.values)  # compared in percent: a difference would be in dollars
        if made is None and (span := period(r)) is not None:
            made = Line(name="roc", values=(span,))  # the best performer over 3 months
            r.take("GAIN", "RISES")
        if made is not None and made.symbol:  # the 12-month return of SPY and EFA
            t.said.symbols += [made.symbol] if made.symbol not in t.said.symbols else []
            made = replace(made, symbol="")
        if made is None or (t.rank is not None and t.rank != made):
            return False
        if order is not None:
            t.highest = order.kind == "HIGHEST"
        t.rank = made
        attempt.keep()
        return True


def _momentum(r: Reader) -> Line:
    """momentum over 6 months. Of several instruments it is compared in percent, since a difference is in dollars."""
    first = r.i
    r.take("ABOVE", "OF", "IN", "FOR")
    r.take("PREVIOUS")
    bars = period(r)
    if bars is None:
        raise r.ask("momentum over how many bars?", ["126-bar momentum", "63-bar momentum"], first - 1)
    return Line(name="roc", values=(bars,))


def _only(r: Reader, t: _Turning) -> bool:
    """only those for which …, only if its return is positive."""
    with r.trying() as attempt:
        r.take("BUT")
        chosen = r.take("CHOSEN_FOR") is not None
        if not (chosen or r.take("THOSE_FOR") or r.take("ONLY") or r.at("WHEN")):
            return False
        r.skip("HOLD", "BUY", "EVERY_SYMBOL")
        r.take("WHEN")
        if r.take("IS") or r.take("ABOVE"):
            return False
        made = _positive(r, t) or condition(r)
        if made is None:
            return False
        t.only, t.chosen_first = made, chosen
        attempt.keep()
        return True


_CASH = ("USD", "USDT", "USDC", "DAI", "BUSD", "EUR")


def _instead(r: Reader, t: _Turning, token: Token | None) -> None:
    """What is held where nothing is chosen: another instrument, or cash under whatever name."""
    if token is not None and token.text in _CASH and token.text not in t.said.symbols:
        r.notices.append(f"{token.text} is read as cash")
        token = None
    t.otherwise = token.text if token is not None else ""


def _skipped(r: Reader, t: _Turning) -> bool:
    """skip any that is under its 200-day average; and leave that share in cash."""
    with r.trying() as attempt:
        if r.take("SHARE_IN_CASH") and t.only is not None:
            t.chosen_first = True
            attempt.keep()
            return True
    with r.trying() as attempt:
        if not r.take("NOT", "EXCLUDE"):
            return False
        r.skip("HOLD", "BUY")
        if not r.take("EVERY", "EVERY_SYMBOL", "STOCKS", "NUM"):
            return False
        r.skip("STOCKS", "OF", "WHEN", "ONLY")
        r.it = Line(name="close")
        made = condition(r) or _beside_line(r)
        if made is None or t.only is not None:
            return False
        t.only = Not(part=made)
        attempt.keep()
        return True


def _beside_line(r: Reader) -> Condition | None:
    """under its 200 SMA: of each of them the close."""
    with r.trying() as attempt:
        token = r.take("ABOVE", "BELOW")
        right = line(r, Line(name="close"), token.kind.lower()) if token is not None else None
        if token is None or right is None or scale(right) != "price":
            return None
        attempt.keep()
        return Compare(left=Line(name="close"), level="above" if token.kind == "ABOVE" else "below", right=right)


def _none_fit(r: Reader, t: _Turning) -> bool:
    """if all of them are negative stay in cash; if none is positive hold TLT: of a single one that is held."""
    first = r.i
    with r.trying() as attempt:
        if not r.take("WHEN"):
            return False
        none = r.take("NOT") is not None
        if not r.take("EVERY_SYMBOL", "BOTH", "NUM", "ALL_IN", "STOCKS") and not none:
            return False
        r.skip("OF", "ITS", "ROC", "MOMENTUM", "STOCKS")
        r.take("IS")
        mood = r.take("NEGATIVE", "POSITIVE")
        below = mood is None and r.take("BELOW") is not None and (zero := r.take("NUM")) is not None and zero.value == 0
        if (mood is None and not below) or none == (below or (mood is not None and mood.kind == "NEGATIVE")):
            return False
        with r.trying() as again:  # over 30 days
            if r.take("ABOVE", "IN", "FOR") and t.rank is not None and period(r) == t.rank.values[0]:
                again.keep()
        r.skip(",", "THEN", "HOLD", "IN", "ROTATE", "BUY", "INVEST", "ALL_IN", "IS", "TO")
        token = r.take("SYMBOL")
        if token is None and not r.take("EXIT", "EQUITY", "NOTHING"):
            return False
        if t.rank is None or t.only is not None:
            return False
        if (t.count or 1) > 1:
            raise r.ask(
                "is one that has lost left out, or only where all have?", ["only those that are positive"], first
            )
        attempt.keep()
        _instead(r, t, token)
        t.only = Compare(left=t.rank, level="above" if none else "at_least", right=Number(value=0))
        return True


def _until_next(r: Reader, t: _Turning) -> bool:
    """until the next month end, until the next rebalance: which is when it is chosen anew."""
    with r.trying() as attempt:
        if not r.take("UNTIL"):
            return False
        r.take("NEXT")
        if r.take("REBALANCE") or r.take_all("NEXT_DAY", "REBALANCE"):
            attempt.keep()
            return True
        when = recurring(r)
        if when is not None and t.rebalance in (None, when):
            t.rebalance = when
            attempt.keep()
            return True
    return False


def _cash_if_negative(r: Reader, t: _Turning) -> bool:
    """go to cash if the return is negative: only those that have not lost."""
    with r.trying() as attempt:
        if not r.take("EXIT") or not r.take("WHEN") or t.rank is None:
            return False
        r.skip("ITS")
        if r.take("ROC", "MOMENTUM", "IT") and r.take("IS") and r.take("NEGATIVE"):
            attempt.keep()
            t.only = Compare(left=t.rank, level="at_least", right=Number(value=0))
            return True
    return False


def _positive(r: Reader, t: _Turning) -> Condition | None:
    """if its momentum is positive: that which it is ranked by."""
    with r.trying() as attempt:
        r.skip("ITS")
        if r.take("ROC", "MOMENTUM", "IT") and r.take("IS") and r.take("POSITIVE") and t.rank is not None:
            attempt.keep()
            return Compare(left=t.rank, level="above", right=Number(value=0))
    return None
