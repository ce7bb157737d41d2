"""What a rotation passes over, and what it holds in its place: only those above their average, otherwise TLT."""

from __future__ import annotations

from dataclasses import replace

from ringfence.agents.rules.conditions.conditions import condition
from ringfence.agents.rules.measures.lines import line
from ringfence.agents.rules.plans.choosing import Turning, either
from ringfence.agents.rules.plans.complements import leaves
from ringfence.agents.rules.plans.each import ENDS, of_each, sign, whole
from ringfence.agents.rules.reader import Reader, period
from ringfence.agents.rules.text.tokens import Token
from ringfence.trade.description.lines import lines_of
from ringfence.trade.description.model import Compare, Condition, Level, Line, Not, Number

_CASH = ("USD", "USDT", "USDC", "DAI", "BUSD", "EUR")
_MOVE = ("HOLD", "BUY", "ROTATE", "INVEST", "IN", "IS", "TO", "ALL_IN", "MOVES", "USE", "IT", "POSITION", "REACHES")
_ANY = ("EVERY", "EVERY_SYMBOL", "STOCKS", "NUM", "EITHER", "CHOSEN", "ANYTHING")


def instead(r: Reader, t: Turning) -> bool:
    """otherwise hold TLT; if all are negative stay in cash; go to BIL if the winner has lost; SHY if SPY is below …"""
    return either(r, t, _otherwise, _none_fit, _led, _followed)


def filtered(r: Reader, t: Turning) -> bool:
    """only those above …; skip any under …; any that is under … goes to cash; the share stays in cash."""
    return either(r, t, _replaced, _in_cash, _only, _skipped, _unfilled)


def _otherwise(r: Reader, t: Turning) -> bool:
    with r.trying() as attempt:
        if not r.take("OTHERWISE"):
            return False
        r.take(",")
        if not _place(r, t):
            return False
        attempt.keep()
        return True


def _place(r: Reader, t: Turning) -> bool:
    """hold TLT, go to cash, everything in BIL: what is held where nothing is chosen."""
    r.skip(*_MOVE, "EQUITY") if r.at("SYMBOL", ahead=1) else r.skip(*_MOVE)
    token = r.take("SYMBOL")
    if token is None and not r.take("EXIT", "EQUITY", "NOTHING", "NO_POSITION"):
        return False
    r.skip("INSTEAD_WORD")
    if r.take("INSTEAD") and not r.take("EVERY_SYMBOL", "STOCKS", "IT", "POSITION"):
        return False
    return _instead(r, t, token)


def _instead(r: Reader, t: Turning, token: Token | None) -> bool:
    """Another instrument, or cash under whatever name."""
    if token is not None and token.text in _CASH and token.text not in t.said.symbols:
        r.notices.append(f"{token.text} is read as cash")
        token = None
    name = token.text if token is not None else ""
    if t.otherwise and t.otherwise != name:
        return False
    t.otherwise = name
    return True


def _led(r: Reader, t: Turning) -> bool:
    """If SPY is below its 200-day average, hold SHY instead. If the winner's return is negative go to AGG."""
    with r.trying() as attempt:
        if not r.take("WHEN") and not (r.i and r.peek(-1).text in ("and if", "and when")):
            return False
        made = _failing(r, t)
        r.skip(",", "THEN", "ON" if r.at("REBALANCE", ahead=1) else ",", "REBALANCE", "DAY")
        if made is None or not _place(r, t):
            return False
        _add(t, _passes(made))
        attempt.keep()
        return True


def _followed(r: Reader, t: Turning) -> bool:
    """go to cash if the return is negative; or to SHY if the best of them is down."""
    with r.trying() as attempt:
        r.take("OR")
        if not r.at("EXIT", "SYMBOL", "EQUITY", "ALL_IN", "TO", "ROTATE", "HOLD", "IN", "MOVES"):
            return False
        if not _place(r, t) or not r.take("WHEN"):
            return False
        made = _failing(r, t)
        if made is None or not r.at(*ENDS):
            return False
        _add(t, _passes(made))
        attempt.keep()
        return True


def _add(t: Turning, made: Condition) -> None:
    if made not in t.filters:
        t.filters.append(made)


_TURNED: dict[Level, Level] = {"below": "at_least", "above": "at_most", "at_least": "below", "at_most": "above"}


def _passes(failing: Condition) -> Condition:
    """What those that are held must do: not lose."""
    own = "" in {one.symbol for one in lines_of(failing)}
    if own and isinstance(failing, Compare) and isinstance(failing.left, Line) and failing.left.name != "close":
        return replace(failing, level=_TURNED[failing.level])
    return leaves(failing)


def _failing(r: Reader, t: Turning) -> Condition | None:
    """What must be so for another to be held: of the chosen one, or of an instrument that is named."""
    made = _chosen_fails(r, t)
    if made is not None:
        t.by_rank = True
        return made
    with r.trying() as attempt:
        named = r.at("SYMBOL") or r.at("SYMBOL", ahead=1)
        made = condition(r)
        if made is None:
            return None
        owners = {one.symbol for one in lines_of(made)}
        r.traded = tuple(t.said.symbols)
        if "" in owners:
            if named or owners != {""}:
                return None
            t.singles = t.chosen_first = True  # if it is below its average: the one that was chosen
        attempt.keep()
        return made


def _chosen_fails(r: Reader, t: Turning) -> Condition | None:
    """the winner's return is negative, the higher one is below zero, below that of BIL: of what it is ranked by."""
    with r.trying() as attempt:
        if t.rank is None:
            return None
        r.skip("ITS", "CHOSEN")
        subject = r.take("TOP", "ABOVE", "WHICHEVER", "IT", "HIGHEST") is not None
        t.singles = t.singles or subject
        r.skip("NUM", "STOCKS", "OF", "EVERY_SYMBOL", "ITS") if subject else None
        positive = r.take("POSITIVE", "NEGATIVE")  # has a negative return
        with r.trying() as same:
            measured = line(r) if r.at("NUM") else None
            if measured is not None and replace(measured, symbol="") == t.rank:
                same.keep()
                subject = True
        subject = r.take("ROC", "MOMENTUM") is not None or subject
        if not subject:
            return None
        r.skip("IS")
        made = sign(t.rank, positive) if positive is not None else _below(r, t.rank)
        if made is None:
            return None
        with r.trying() as again:  # over that time, over 30 days
            if r.take("ABOVE", "IN", "FOR") and (period(r) == t.rank.values[0] or r.take("TIMES", "SAME", "BAR")):
                again.keep()
        if not r.at(*ENDS, *_MOVE, "EXIT", "THEN", "SYMBOL", "EQUITY"):
            return None
        attempt.keep()
        return made


def _below(r: Reader, rank: Line) -> Condition | None:
    """negative, below zero, not positive, down, below that of BIL, less than BIL's."""
    no = r.take("NOT") is not None
    r.take("IS")
    if (mood := r.take("NEGATIVE", "POSITIVE")) is not None:
        made = sign(rank, mood)
        return Not(part=made) if no else made
    if not no and r.take("FALLS"):
        return Compare(left=rank, level="below", right=Number(value=0))
    side = r.take("BELOW", "ABOVE", "AT_MOST", "AT_LEAST")
    if side is None or no:
        return None
    level: Level = "below" if side.kind == "BELOW" else "above" if side.kind == "ABOVE" else "at_most"
    if side.kind == "AT_LEAST":
        return None
    number = r.take("NUM")
    if number is not None:
        r.take("PERCENT")
        return Compare(left=rank, level=level, right=Number(value=number.value))
    r.take("OF")
    token = r.take("SYMBOL")
    r.take("ROC", "MOMENTUM") if token is not None else None
    return Compare(left=rank, level=level, right=replace(rank, symbol=token.text)) if token is not None else None


def _none_fit(r: Reader, t: Turning) -> bool:
    """if all of them are negative stay in cash; cash if none has a positive return: of a single one that is held."""
    first = r.i
    with r.trying() as attempt:
        placed = r.at("EXIT", "ALL_IN", "EQUITY", "SYMBOL", "HOLD") and _place_before(r, t)
        if not r.take("WHEN") and not r.at("OTHERWISE"):
            return False
        none = r.take("NOT") is not None or (r.peek().text == "if none" and r.take("OTHERWISE") is not None)
        if not r.take("EVERY_SYMBOL", "BOTH", "NUM", "ALL_IN", "STOCKS") and not none:
            return False
        r.skip("OF", "ITS", "STOCKS", "NUM", "EVERY_SYMBOL")
        r.skip("ROC", "MOMENTUM", "IS")
        mood = r.take("NEGATIVE", "POSITIVE")
        below = mood is None and r.take("BELOW") is not None and (zero := r.take("NUM")) is not None and zero.value == 0
        if (mood is None and not below) or none == (below or (mood is not None and mood.kind == "NEGATIVE")):
            return False
        with r.trying() as again:  # over 30 days; a positive 20-day return
            r.take("ABOVE", "IN", "FOR")
            r.take("PREVIOUS")
            if t.rank is not None and period(r) == t.rank.values[0]:
                again.keep()
        r.take("ROC", "MOMENTUM")
        r.skip(",", "THEN")
        if not placed and not _place(r, t):
            return False
        if t.rank is None:
            return False
        if (t.count or 1) > 1:
            raise r.ask(
                "is one that has lost left out, or only where all have?", ["only those that are positive"], first
            )
        attempt.keep()
        t.singles = t.by_rank = True
        _add(t, Compare(left=t.rank, level="above" if none else "at_least", right=Number(value=0)))
        return True


def _place_before(r: Reader, t: Turning) -> bool:
    """All cash if …"""
    with r.trying() as attempt:
        if (r.take("ALL_IN") if r.peek().text == "all cash" else _place(r, t)) and r.at("WHEN", "OTHERWISE"):
            attempt.keep()
            return True
    return False


def _only(r: Reader, t: Turning) -> bool:
    """only those for which …, only if its return is positive, as long as it is above its average."""
    with r.trying() as attempt:
        chosen = r.take("CHOSEN_FOR") is not None
        if not (chosen or r.take("THOSE_FOR") or r.take("ONLY") or r.at("WHEN")):
            return False
        r.skip("HOLD", "BUY", "EVERY_SYMBOL", "STOCKS")
        r.take("WHEN")
        if r.at("IS") and not r.at("ABOVE", "BELOW", ahead=1):
            return False
        r.take("IS")
        made = whole(r, t)
        if made is None or r.at("SHARE_IN_CASH", "NOT", "EXCLUDE", "DROPPED", "EXIT", ahead=1):
            return False  # if its return is negative, leave its share in cash: those that fail
        t.chosen_first = t.chosen_first or chosen
        t.late = t.late or t.rank is not None
        _add(t, made)
        attempt.keep()
        return True


def _skipped(r: Reader, t: Turning) -> bool:
    """skip any that is under its 200-day average; and leave that share in cash."""
    with r.trying() as attempt:
        if r.take("SHARE_IN_CASH") and t.filters:
            t.chosen_first = True
            attempt.keep()
            return True
    with r.trying() as attempt:
        if not r.take("NOT", "EXCLUDE", "EXCEPT"):
            return False
        r.skip("HOLD", "BUY")
        if not r.take(*_ANY):
            return False
        r.skip("STOCKS", "OF", "WHEN", "ONLY", "IS", "USE")
        made = of_each(r, t)
        if made is None:
            return False
        _add(t, _passes(made))
        attempt.keep()
        return True


def _in_cash(r: Reader, t: Turning) -> bool:
    """If one of the three has a negative return, leave its share in cash: those are not held."""
    with r.trying() as attempt:
        if not r.take("WHEN") and not (r.i and r.peek(-1).text in ("and if", "and when")):
            return False
        r.skip(*_ANY, "OF", "TOP", "IS")
        made = of_each(r, t)
        if made is None or not (r.take_all(",", "SHARE_IN_CASH") or r.take("SHARE_IN_CASH")):
            return False
        t.chosen_first = True
        _add(t, _passes(made))
        attempt.keep()
        return True


def _replaced(r: Reader, t: Turning) -> bool:
    """Any of them that is below its average is skipped and its third goes to SHY; any under … is replaced with cash."""
    with r.trying() as attempt:
        r.take("WHEN")
        if not r.take(*_ANY):
            return False
        r.skip("OF", "STOCKS", "CHOSEN", "TOP", "NUM", "EVERY_SYMBOL", "WHEN", "IS")
        made = of_each(r, t)
        if made is None:
            return False
        r.skip(",", "THEN", "IS")
        out = r.take("NOT", "EXCLUDE", "DROPPED") is not None
        r.skip("AND", ",", ".") if out else None
        share = _share(r)
        if not share and not out:
            return False
        if share and not _place(r, t):
            return False
        if not r.at(*ENDS):
            return False
        t.chosen_first = t.chosen_first or share
        _add(t, _passes(made))
        attempt.keep()
        return True


def _share(r: Reader) -> bool:
    """its third goes to, its place is taken by, is replaced with: and what follows is held there."""
    with r.trying() as attempt:
        if r.take("REPLACED"):
            attempt.keep()
            r.take("USE", "BY")
            return True
        if r.take("SHARE_IN_CASH"):
            r.i -= 1
            return False
        r.take("ITS")
        part = r.take("THIRD", "HALF", "QUARTER", "POSITION", "SLOT", "SIZE", "NUM")
        r.skip("PERCENT")
        if part is not None and (r.take("MOVES", "REACHES", "IS", "HOLD") or r.at("IN", "TO")):
            attempt.keep()
            return True
        if part is None and (r.at("MOVES", "REACHES", "EXIT")):
            attempt.keep()
            return True
    return False


def _unfilled(r: Reader, t: Turning) -> bool:
    """unfilled slots sit in IEF, empty places go to cash."""
    with r.trying() as attempt:
        if r.take("UNFILLED") and _place(r, t):
            t.chosen_first = t.chosen_first or t.late
            attempt.keep()
            return True
    return False
