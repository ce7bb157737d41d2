"""A sum that is divided among instruments, or one for each: split $500 a month, 70 % to VTI and 30 % to BND."""

from __future__ import annotations

from ringfence.agents.rules.conditions.conditions import all_of
from ringfence.agents.rules.orders.collected import Collected
from ringfence.agents.rules.orders.entering import when_said
from ringfence.agents.rules.orders.parts import fraction
from ringfence.agents.rules.orders.varied import varied
from ringfence.agents.rules.reader import Reader, listed_symbols, money, percent
from ringfence.trade.description.model import (
    AnyOf,
    CashEach,
    CashSplit,
    Condition,
    Entry,
    FixedCash,
    OnSchedule,
    OnWeekdays,
)

_LEAD = (
    "INVEST", "BUY", "DCA", "USE", "OF", "IS", "IN", "COLON", "EQUITY", "AMOUNT", "STRATEGY", "TITLE", "PLEASE",
    "USUAL",
)  # fmt: skip
_TO = (
    "TO", "IN", "OF", "ON", "FOR", "INVEST", "IS", "MOVES", "BUY", "SHARES", "STOCKS", "USE", "WORTH", "COLON", "AT",
    "USUAL",
)  # fmt: skip
_BETWEEN = ("BETWEEN", "AMONG", "IN", "TO", "OF", "ON", "FOR", "OVER", "ABOVE")
_ENDS = ("END", "STOP_MARK", ",", "AND", "PER_TRADE")


def sums(r: Reader, said: Collected) -> bool:
    """Sums that depend on a condition or on the instrument."""
    return varied(r, said) or _shared_out(r, said)


def _shared_out(r: Reader, said: Collected) -> bool:
    """$300 to VTI and $100 to BND every month; $500: 60 % VTI, 40 % BND; $400 split 50/50 between A and B."""
    if said.sizing is not None or not any(r.at("MONEY", "DOLLARS", ahead=n) for n in range(8)):
        return False
    first = r.i
    with r.trying() as attempt:
        found: list[Condition] = []
        _dated(r, said, found)
        r.skip(",", "COLON", *_LEAD)
        made: CashEach | CashSplit | None = _itemised(r, said, None, first)
        if made is None:
            total = _total(r)
            _dated(r, said, found)
            r.skip("PER_TRADE")
            r.skip(",", "COLON", "DASH", "INVEST", "USE", "STOP_MARK" if _listed_next(r) else "COLON")
            made = _divided(r, said, total) or _itemised(r, said, total, first)
        if made is None:
            return False
        per_trade = r.take("PER_TRADE") is not None or any(t.kind == "PER_TRADE" for t in r.tokens[first : r.i])
        r.take(",") if r.at("EVERY", "ON", "AT", "MONTHLY", "WEEKLY", ahead=1) else None
        _dated(r, said, found)
        if not r.at(*_ENDS) or not (found or said.entries or per_trade):
            return False
        said.size(r, made, first)
        if found:
            said.entries.append(Entry(side="long", when=_once(all_of(found))))
            r.entry = said.entries[-1].when
        attempt.keep()
        return True


def saved(r: Reader, said: Collected) -> bool:
    """$250 every other Friday into SPY; every Wednesday: $75 to VOO; weekly $100 buys of QQQ: of one instrument."""
    if said.sizing is not None or said.entries:
        return False
    with r.trying() as attempt:
        first = r.i
        found: list[Condition] = []
        _dated(r, said, found)
        r.skip(",", "COLON", *_LEAD)
        amount = money(r)
        if amount is None:
            return False
        r.skip("BUY", "INVEST")
        _dated(r, said, found)
        _towards(r)
        token = r.take("SYMBOL")
        _dated(r, said, found) if token is not None else None
        if token is None or not found or said.symbols not in ([], [token.text]) or not r.at(*_ENDS, "OR"):
            return False
        said.symbols[:] = [token.text]
        r.traded = (token.text,)
        said.size(r, FixedCash(amount=amount), first)
        said.entries.append(Entry(side="long", when=_once(all_of(found))))
        r.entry = said.entries[-1].when
        attempt.keep()
        return True


def _towards(r: Reader) -> None:
    while r.take(*_TO) or (r.peek().text in ("goes to", "go to", "going to") and r.take("REACHES")):
        pass


def _dated(r: Reader, said: Collected, found: list[Condition]) -> None:
    with r.trying() as attempt:
        when = when_said(r, said)
        if when is not None:
            found.append(when)
            attempt.keep()


def _once(when: Condition) -> Condition:
    """$100 on Mondays: once, whatever the bars are."""
    if not isinstance(when, OnWeekdays):
        return when
    each = tuple(OnSchedule(every="week", on=day) for day in when.days)
    return each[0] if len(each) == 1 else AnyOf(parts=each)


def _total(r: Reader) -> float | None:
    """A sum that is not of one instrument alone."""
    with r.trying() as attempt:
        made = money(r)
        if made is None or r.at("SYMBOL"):
            return None
        if r.at(*_TO) and r.at("SYMBOL", ahead=1) and not any(r.at("SYMBOL", ahead=n) for n in (3, 4)):
            return None
        attempt.keep()
        r.skip("BUY", "INVEST", "EQUITY", "USUAL", "IS")  # $500 goes in
        return made


def _listed_next(r: Reader) -> bool:
    """$500 a month. 60 % goes to VTI, …"""
    return r.at("STOP_MARK") and r.at("NUM", ahead=1) and r.at("PERCENT", ahead=2)


def _divided(r: Reader, said: Collected, total: float | None) -> CashSplit | None:
    """split 50/50 between SPY and TLT; equally among A, B and C; A and B, 70/30; A and B equally."""
    if total is None:
        return None
    with r.trying() as attempt:
        r.skip("INVEST", "USE")
        shares = _ratio(r)
        alike = not shares and r.take("EQUALLY") is not None
        r.skip("INVEST", *_BETWEEN)
        alike = alike or (not shares and r.take("EQUALLY") is not None)
        names = list(said.symbols) if alike and r.at(*_ENDS) else list(listed_symbols(r))
        if len(names) < 2:
            return None
        r.skip(",", "AT", "IN", "INVEST", "USE", "(") if not shares and not alike else None
        alike = alike or (not shares and r.take("EQUALLY") is not None)
        shares = shares or ([] if alike else _ratio(r))
        r.take(")")
        even = len(set(shares)) == 1
        if not alike and (len(shares) != len(names) or abs(sum(shares) - 100) > 0.1):
            return None
        attempt.keep()
        _named(r, said, names)
        return CashSplit(amount=total, weights=() if alike or (even and len(names) > 2) else tuple(shares))


def _ratio(r: Reader) -> list[float]:
    """60/40, 50/30/20."""
    with r.trying() as attempt:
        made: list[float] = []
        while (number := r.take("NUM")) is not None:
            r.take("PERCENT")
            made.append(number.value)
            if not r.take("SLASH", "DASH"):
                break
        if len(made) > 1:
            attempt.keep()
            return made
    return []


def _itemised(r: Reader, said: Collected, total: float | None, first: int) -> CashEach | CashSplit | None:
    """70 % to VTI, 20 % to VXUS and 10 % to BND; $300 to VTI and $100 to BND; the rest to BND."""
    names: list[str] = []
    parts: list[float] = []
    sums: list[float] = []
    begun = r.i
    while True:
        with r.trying() as attempt:
            r.skip(",", "AND", "SLASH", "STOP_MARK") if names else None
            if not _item(r, names, parts, sums, total):
                break
            attempt.keep()
    if len(names) < 2 or (parts and sums) or len(set(names)) < len(names) or (parts and total is None):
        r.i = begun
        return None
    if parts and abs(sum(parts) - 100) > 0.1:
        raise r.ask(f"the parts come to {sum(parts):g} %", ["60 % to AAPL and 40 % to IBM"], first)
    if sums and total is not None and abs(sum(sums) - total) > 0.005:
        raise r.ask("the sums are not the whole", ["$300 to AAPL and $100 to IBM every month"], first)
    _named(r, said, names)
    if parts:
        assert total is not None
        return CashSplit(amount=total, weights=tuple(parts))
    return CashEach(amounts=tuple(sums))


def _item(r: Reader, names: list[str], parts: list[float], sums: list[float], total: float | None) -> bool:
    rest = bool(names) and r.take("REST") is not None
    part = None if rest else percent(r)
    part = part if part is not None or rest or total is None else fraction(r)
    amount = None if rest or part is not None else money(r)
    if rest or part is not None or amount is not None:
        _towards(r)
        token = r.take("SYMBOL")
    else:
        token = r.take("SYMBOL")
        bracket = r.take("(") if token is not None else None
        r.skip("COLON", "AT", "MOVES", "USE", "IS") if token is not None else None
        part = percent(r) if token is not None else None
        amount = money(r) if token is not None and part is None else None
        if bracket is not None and not r.take(")"):
            return False
    if token is None or (part is None and amount is None and not rest):
        return False
    if rest and parts and not sums:
        parts.append(round(100 - sum(parts), 2))
    elif rest and total is not None and sums:
        sums.append(round(total - sum(sums), 2))
    elif part is not None:
        parts.append(part)
    elif amount is not None:
        sums.append(amount)
    else:
        return False
    names.append(token.text)
    return True


def _named(r: Reader, said: Collected, names: list[str]) -> None:
    """In the order of the sums; what was named before must be the same ones."""
    if said.symbols and said.symbols != names:
        raise r.ask("the sums are of other instruments than those that are traded", ["name the same ones"], r.i - 1)
    said.symbols[:] = names
    r.traded = tuple(names)
