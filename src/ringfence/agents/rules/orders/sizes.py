"""How much to trade, in English: 20 % of the equity, $500, 100 shares, risk 1 % per trade, target 10 % volatility.

A size is said in many orders of a few words. What counts is the amount, and which words stand around it: with "risk" it
is a risk, with "volatility" and "target" a volatility. So the words before and after the amount are taken as long as
they are of those that say nothing else, and what they are decides. Any other word ends the size, or makes it none.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from ringfence.agents.rules.orders.amounts import AMOUNTS, Piece, pieces, tell_currency
from ringfence.agents.rules.reader import Reader, period
from ringfence.agents.rules.text.lexicon import COINS
from ringfence.trade.description.model import (
    AllIn,
    FixedCash,
    FixedShares,
    PercentOfEquity,
    RiskCash,
    RiskPerTrade,
    Sizing,
    VolatilityTarget,
)

_BARS_PER_YEAR = {"1d": 252, "1w": 52, "1mo": 12}
# Words that may stand beside any amount.
_GLUE = frozenset({
    "USE", "IS", "OF", "AT", "COLON", "EQUALS", "TO", "FOR", "EVERY", "ONLY", "FIXED", "IT", "AMOUNT", "IN", "ON", "BY",
    "PER_TRADE", "TRADE", "POSITION", "EVERY_SYMBOL", "SIZE", "ALL_TIME", "EQUITY", "SHARES", "INVEST", "TAKE", "BOTH",
    "EITHER_WAY", "BOTH_CASES", "STOCKS", "AT_MOST", "HIGHEST", "SIGNAL_LINE", "CHOSEN", "RISKY", "FINE", "ITS", "LONG",
})  # fmt: skip
_PLAIN = _GLUE | {"OPENED", "WORTH", "GETS", "KEEP", "NOT", "ABOVE", "LIMIT", "BUY", "INVESTED", "TO_WORK"}
_RISK = _GLUE | {"RISK", "NOT", "ABOVE", "STRATEGY", "LIMIT", "KEEP"}
_LOSS = _GLUE | {"LOSS", "ENTRY_PRICE", "STOPPED", "NOT", "ABOVE", "RISK", "GETS", "MAX_LOSS"}
_VOLATILITY = _GLUE | {"VOLATILITY", "TARGET", "YEARLY", "YEAR", "AIM", "KEEP", "GETS", "WORTH", "MOVES"}
_ENDS = (
    "END", ",", "AND", "USE", ")", "DASH", "THEN", "SELL", "EXIT", "COVER", "HOLD", "BUY", "LONG_ONLY", "NOT", "OR",
    "WHEN", "NO_LEVERAGE", "ONE_POSITION", "COLON",
)  # fmt: skip
_PERIODS = ("DAILY", "WEEKLY", "FORTNIGHTLY", "MONTHLY", "QUARTERLY", "YEARLY", "EVERY_OTHER", "HALF_YEARLY")
# What may follow a size that stands beside a verb.
_GOES_ON = (
    *_ENDS, *_PERIODS, "UNLESS", "SYMBOL", "EVERY_SYMBOL", "IN", "OF", "ON", "FOR", "AT", "TRADE_SYMBOL", "STOP",
)  # fmt: skip
_MEASURING = ("ON", "IN", "ABOVE", "MEASURED", "RANKED", "FROM", "BY", "AT")
_NAMED = {"SIZE", "POSITION", "PER_TRADE", "WORTH", "INVEST"}  # of these a bare percentage is a size


@dataclass(frozen=True, slots=True, kw_only=True)
class _Said:
    """An amount with the kinds of the words before and after it; `end` is the token after them."""

    amount: Piece
    before: tuple[str, ...]
    after: tuple[str, ...]
    next: str
    end: int

    @property
    def words(self) -> set[str]:
        return {*self.before, *self.after}

    @property
    def capped(self) -> bool:
        return bool(self.words & {"AT_MOST", "HIGHEST", "LIMIT"}) or "NOT" in self.words

    @property
    def negated(self) -> bool:
        """Not 1 %: that is no size. Not more than 1 % is one."""
        places = [n for n, kind in enumerate(self.before) if kind == "NOT"]
        above = [n for n, kind in enumerate(self.before) if kind == "ABOVE"]
        fits = len(places) == len(above) <= 1 and (not places or places[0] < above[0])
        return not fits or bool({"NOT", "ABOVE"} & set(self.after))


def sizing(r: Reader, *, spoken: bool = False, whole: bool = False) -> Sizing | None:
    """`spoken`: after a verb such as use or invest, where 20 % alone is a size. `whole`: a sentence of its own."""
    said = pieces(r)
    for words, made in ((_RISK, _risk), (_LOSS, _loss), (_VOLATILITY, _volatility), (_PLAIN, _plain)):
        found = _around(said, words, whole=whole)
        if found is None:
            continue
        size = made(r, found, spoken=spoken, whole=whole)
        if size is None:
            continue
        r.take_to(found.end) if not isinstance(size, VolatilityTarget) else None
        tell_currency(r, found.amount)
        return size
    return None


def _around(said: Sequence[Piece], words: frozenset[str], *, whole: bool) -> _Said | None:
    first = 0
    while first < len(said) and (said[first].kind in words or _headed(said, first)):
        first += 1
    if first == len(said) or said[first].kind not in AMOUNTS:
        return None
    last = first + 1
    while last < len(said) and said[last].kind in words and said[last].kind != "BUY":
        last += 1
    while not _ended(said, last, whole=whole):
        last -= 1
        if last == first:
            return None
    return _Said(
        amount=said[first],
        before=tuple(piece.kind for piece in said[:first]),
        after=tuple(piece.kind for piece in said[first + 1 : last]),
        next=said[last].kind if last < len(said) else "END",
        end=said[last - 1].end,
    )


def _headed(said: Sequence[Piece], at: int) -> bool:
    """Position sizing by risk, 1 % …: the comma of a heading."""
    return said[at].kind == "," and any(piece.kind in ("SIZE", "RISK", "VOLATILITY") for piece in said[:at])


def _ended(said: Sequence[Piece], at: int, *, whole: bool) -> bool:
    kinds = [piece.kind for piece in said[at : at + 2]]
    kinds += ["END"] * (2 - len(kinds))
    if kinds[0] in ("IN", "ON", "OF", "FOR") and kinds[1] in ("SYMBOL", "EVERY_SYMBOL"):
        return True
    if kinds == ["EVERY", "NUM"] and not whole:
        return True  # $150 every two weeks
    measured = kinds[0] in _MEASURING and any(piece.kind == "VOLATILITY" for piece in said[:at])
    return measured or kinds[0] in (_ENDS if whole else _GOES_ON)


def no_more_than_all(r: Reader) -> bool:
    """capped at 100 % of the equity, never more than fully invested: so it is anyway."""
    found = _around(pieces(r), _PLAIN, whole=True)
    if found is None or found.negated or not found.capped:
        return False
    if found.amount.kind != "ALL" and not (found.amount.kind in ("PCT", "SHARE") and found.amount.value == 100):
        return False
    r.take_to(found.end)
    return True


def _risk(r: Reader, said: _Said, *, spoken: bool, whole: bool) -> Sizing | None:
    """risk 1 % of the equity per trade, never risk more than $500, 1 % of the account at risk."""
    if "RISK" not in said.words or said.negated:
        return None
    return _at_stake(said.amount)


def _at_stake(amount: Piece) -> Sizing | None:
    if amount.kind == "CASH":
        return RiskCash(amount=amount.value)
    small = amount.kind in ("PCT", "SHARE") and 0 < amount.value < 100
    return RiskPerTrade(percent=amount.value) if small else None


def _loss(r: Reader, said: _Said, *, spoken: bool, whole: bool) -> Sizing | None:
    """sized so that the stop costs 1 % of the equity, never lose more than 1 % of the account on a trade."""
    lost = bool(said.words & {"LOSS", "ENTRY_PRICE", "RISK", "MAX_LOSS"})
    sized = "SIZE" in said.words or "CHOSEN" in said.words
    stopped = "STOPPED" in said.words
    if said.negated or not (lost or (stopped and sized and said.words & {"EQUALS", "IS"})):
        return None
    whose = said.amount.kind in ("SHARE", "CASH")  # of a bare 5 % it is not known of what
    capped = said.capped and ("PER_TRADE" in said.words or "TRADE" in said.words)
    capped = capped or ("MAX_LOSS" in said.before and whose)  # of a bare 5 % it is a stop
    if not ((stopped and (whose or sized)) or (capped and whose) or (sized and lost)):
        return None
    return _at_stake(said.amount)


def _plain(r: Reader, said: _Said, *, spoken: bool, whole: bool) -> Sizing | None:
    """25 % of the equity, $500 per trade, 100 shares, all in."""
    amount, named = said.amount, said.words & _NAMED
    if said.negated or ("EQUITY" in said.words and "PER_TRADE" not in said.words):
        return None
    if amount.kind in ("PCT", "PART"):
        spoken = spoken or (whole and "USE" in said.before)
        if "TAKE" in said.words and not named - {"INVEST"}:
            return None  # take 10 %: of the gain, or of the account
        into = said.next in ("SYMBOL", "EVERY_SYMBOL") and said.after[-1:] in (("IN",), ("ON",))
        if not named and not (spoken and (into or said.next in ("IN", "WHEN", "END", ",", "ON"))):
            return None
        if said.next in ("STOP", "AT", "NOT"):
            return None
    priced = "AT" in said.before or (r.i > 0 and r.peek(-1).kind == "AT")
    if (amount.kind == "CASH" and priced and not named) or "LIMIT" in said.after:
        return None  # at $95 is a price
    if "BUY" in said.words and (not whole or not (said.next == "END" or "PER_TRADE" in said.words)):
        return None
    if amount.kind in ("CASH", "COUNT") and said.next == "AT":
        return None  # 100 shares at 95
    return _sized(r, said, amount)


def _sized(r: Reader, said: _Said, amount: Piece) -> Sizing | None:
    if said.capped and amount.kind != "ALL":
        r.notices.append("the most that a trade may take is read as what it takes")
    if amount.kind == "ALL" or (amount.kind in ("PCT", "SHARE") and amount.value == 100):
        return AllIn()
    if amount.kind == "CASH":
        return FixedCash(amount=amount.value)
    if amount.kind == "COUNT":
        return FixedShares(count=amount.value)
    return PercentOfEquity(percent=amount.value) if 0 < amount.value < 100 else None


def _volatility(r: Reader, said: _Said, *, spoken: bool, whole: bool) -> Sizing | None:
    """target 10 % volatility, sized to 15 % annual volatility over 60 days, a 12 % vol target."""
    first = r.i
    aimed = bool(said.words & {"TARGET", "SIZE", "AIM"}) or "KEEP" in said.before
    if "VOLATILITY" not in said.words or not aimed or said.amount.kind != "PCT" or not said.amount.value > 0:
        return None
    r.take_to(said.end)
    return aimed_at(r, said.amount.value, first)


def aimed_at(r: Reader, percent: float, first: int) -> VolatilityTarget:
    """So many percent a year, over the length that follows."""
    window = measured_over(r) or 20
    year = _BARS_PER_YEAR.get(r.timeframe, 0)
    if year == 252 and _coins(r):
        year = 365  # they trade on every day of the year
    with r.trying() as attempt:
        if r.take("AT") and (number := r.take("NUM")) and r.take("BAR") and (r.take("YEAR") or r.take("YEARLY")):
            year = int(number.value)
            attempt.keep()
    if not year:
        raise r.ask(f"how many {r.timeframe} bars has a year?", ["add: at 1638 bars a year"], first)
    percent = int(percent) if percent == int(percent) else percent  # the program has the number as it was said
    return VolatilityTarget(percent=percent, period=window, bars_per_year=year)


def _coins(r: Reader) -> bool:
    """Whether all that is named are coins: BTC, ETH-USD, SOLUSDT."""
    named = [re.sub(r"[-/]?(USDT?|USDC|EUR)$", "", token.text) for token in r.tokens if token.kind == "SYMBOL"]
    return bool(named) and all(name in COINS for name in named)


def measured_over(r: Reader) -> int | None:
    """over 60 days, using the 30-day standard deviation of returns, with a 60-day lookback: by what it is judged."""
    with r.trying() as attempt:
        r.take(",")
        if not r.take("ABOVE", "IN", "USE", "RANKED", "ON", "FROM", "BY", "MEASURED"):
            return None
        r.skip("ABOVE", "IN", "USE", "ON", "FROM", "BY", "OF", "PREVIOUS")
        bars = period(r, bare=True)
        if bars is None:
            return None
        r.skip("OF", "PREVIOUS", "VOLATILITY", "STDEV", "LOOKBACK", "BAR")
        r.take("DAILY") if r.timeframe == "1d" else None
        r.take("ROC") if r.peek().text == "returns" else None
        attempt.keep()
        return bars
