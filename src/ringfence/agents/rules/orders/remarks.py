"""Remarks about what is so anyway: one position at a time, no adding, enter again on the next signal, repeat.

They are told by their words, a sentence or a clause of them, and each must be true of every strategy that is written,
or leave a mark that `not_so` looks at when all has been read.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ringfence.trade.description.model import AllOf, Condition, Cross, InHours, Signals

if TYPE_CHECKING:
    from ringfence.agents.rules.orders.collected import Collected
    from ringfence.agents.rules.reader import Reader


def _one(words: str) -> str:
    """Any of these, which are parted by commas."""
    return "(?:" + "|".join(word.strip() for word in words.split(",")) + ")"


def _run(words: str) -> str:
    """One or more of these, each after a space."""
    return f"(?: {_one(words)})+"


# The words of a request as the tokens have them: in small letters, without articles and other fillers.
_IN = _run(
    "already, still, is, are, in, on, open, long, short, position, positions, trade, one, it, hold, holding, invested, "
    "market, current, existing, active, be, being, have"
)
_BUSY = _one("while, when, if, as long as, whilst, so long as, during") + _IN
_FREE = (
    "(?:only )?"
    + _one("while, when, if, once, as long as, whenever")
    + f"(?:{_run('is, it, be, currently, position, trade, account, strategy')})?"
    + f"(?: {_one('flat, out, out of market, in cash, nothing is open, none is open')}"
    + "| no (?:open )?(?:position|trade)(?: is)?(?: open| on)?"
    + f"| not{_IN})"
)
_SIGNAL = "(?:buy |entry |trade )?" + _one("signals?, entry, entries, buys, trades?, setups?")
_ALL = f"(?:{_one('any, all, each, new, further, additional, more, every')} )*"
_MORE = f"(?:{_one('any, all, each, new, further, other, additional, more, repeated, later, extra, every, another')} )*"
_IGNORE = _one("ignore, skip, disregard, no, not take, not act on, avoid")
_ENTER = _one("enter, buy, take, open, enter trade, take trade, open position")
_AGAIN = _one(
    "re ?enter, re ?entry, re ?entries, re ?entering, get back in, buy again, enter again, go back in, come back in"
)
_COMES = (
    "comes?, happens?, occurs?, appears?, fires?, triggers?, is, are, met, true, satisfied, fulfilled, holds?, given"
)
_RULES = "signals?, entry, condition, conditions, rule, rules, setup, it, that, buy"
_OVER = _run("is, it, position, trade, current, open, one, closed, flat, out, exit, over")
_BEFORE = _one("on, at, with, after, when, whenever, if, as soon as, once, upon")

_ANYWAY = (
    f"take {_ALL}{_SIGNAL}",
    f"trade {_ALL}signals?",
    f"(?:then )?{_AGAIN}(?: is| are)?(?:{_run('allowed, fine, possible, permitted, right away, immediately')})?",
    f"(?:then )?{_AGAIN} {_BEFORE}(?:{_run('next, another, same')})?{_run(f'{_RULES}, {_COMES}')}",
    "(?:then )?(?:repeat|start over|start again|rinse and repeat|and so on)",
    "no (?:cooldown|cooling off|waiting period|cool down|cooling off period|cooldown period)",
    "no (?:limit on number of trades|limit on trades|maximum number of trades|trade limit)",
    f"no (?:partial {_one('positions?, entries, entry')}|hedging|hedge)",
)
# So it is where it trades one side; an entry of the other side turns a position round.
_FLAT_ONLY = (
    f"{_IGNORE} {_MORE}{_SIGNAL} {_BUSY}",
    f"{_BUSY} {_IGNORE} {_MORE}{_SIGNAL}",
    f"{_IGNORE} {_MORE}{_SIGNAL} until{_OVER}",
    f"(?:only )?{_ENTER}(?: {_ALL}{_SIGNAL})? {_FREE}",
    f"(?:no|not) (?:new )?{_AGAIN} {_BUSY}",
    f"not (?:enter|buy|open)(?:{_run('new, another, second, more, again, position, trade')})? {_BUSY}",
)
_MOST = (
    f"(?:{_one('only, at most, max, maximum, maximum of, hold, keep, just, have, allow, open, always, trade')} )*"
    "(?:(?:no|never|not) (?:hold |have |keep |open )?more than )?"
)
_ONCE = _one(
    "at time, at once, at any time, at any one time, at any given time, at same time, simultaneously, open, is open"
)
_ONLY = "(?: max| maximum| only| at most)?"
_ALONE = (
    f"{_MOST}(?:one|1|single) (?:open |active |long )?(?:positions?|trades?){_ONLY}(?: {_ONCE})+",
    f"{_MOST}(?:one|1|single) (?:open |active |long )?positions?{_ONLY}",
    f"{_MOST}(?:one|1) open trade",
    "(?:positions? |trades? )?one at time",
)
_LEFT = _run(
    "exit, stop, stopped out, stop is hit, sell, that, trade, close, it, each, every, exiting, selling, stop out, "
    "closing, any, is, get, flat, out, sold, closed"
)
_NEXT = _run("next, new, fresh, another, entry, buy, cross, crossover, for, signals?, to, appear, appears")
_WAIT = _one("wait, waits, wait for, waits for, wait until, need, needs, require, requires")
_ENTERING = _one("re ?entering, re ?entry, entering again, entering, buying, trading again, re ?enter, buying again")
_ANEW = (
    f"(?:(?:after|when|if|once){_LEFT}(?: ,)? )?(?:then )?{_WAIT}{_NEXT}(?: before(?: {_ENTERING})?)?",
    f"{_AGAIN} only {_one('on, after, at, with, when')}{_NEXT}",
)
_REMARKS = tuple(
    (re.compile(rule), mark)
    for rules, mark in ((_ANYWAY, "anyway"), (_FLAT_ONLY, "flat"), (_ALONE, "alone"), (_ANEW, "anew"))
    for rule in rules
)
_ENDS = ("STOP_MARK", "END")
_MOST_WORDS = 24


def so_anyway(r: Reader, said: Collected) -> bool:
    """A sentence, or a clause up to a comma or an "and", that says what is so anyway."""
    words: list[str] = []
    best, mark = 0, ""
    for n in range(_MOST_WORDS):
        token = r.peek(n)
        if words and token.kind in (*_ENDS, ",", "AND", ")", "USE", "DASH"):
            text = " ".join(words).replace(" - ", " ")
            found = next((mark for rule, mark in _REMARKS if rule.fullmatch(text)), "")
            if found:
                best, mark = n, found
        if token.kind in _ENDS:
            break
        words.append(token.text)
    if not best:
        return False
    r.take_to(r.i + best)
    said.remarks.add(mark)
    r.single = True
    return True


def marks(phrase: str) -> set[str]:
    """What a phrase of the lexicon says that may not be so."""
    if re.search(r"\b(?:one|single)\b", phrase):
        return {"alone"}
    return (
        {"flat"}
        if re.search(r"\b(?:ignore|new|already|not in|not currently|no position|no open|flat)\b", phrase)
        else set()
    )


def not_so(said: Collected, plan: Signals, instruments: int) -> str:
    """What a remark says that the rules do not do."""
    if "alone" in said.remarks and instruments != 1:
        return "it says one position at a time, and trades several instruments: each of them has a position of its own"
    if "flat" in said.remarks and len({entry.side for entry in plan.entries}) == 2:
        return (
            "it enters only when flat, and goes both long and short: an entry of the other side turns a position round"
        )
    if "anew" in said.remarks and not all(_is_event(entry.when) for entry in plan.entries):
        return (
            "it waits for a new signal, and its rule for buying may still hold after an exit: "
            "say that something crosses, or leave the waiting out"
        )
    for half in ("mornings", "afternoons"):
        if half in said.remarks and not all(_within(entry.when, half) for entry in plan.entries):
            return f'it says {half} only: say the hours, for example "between 10:00 and 12:00"'
    return ""


def _within(when: Condition, half: str) -> bool:
    parts = when.parts if isinstance(when, AllOf) else (when,)
    told = [part for part in parts if isinstance(part, InHours)]
    return any(part.end <= "12:00" if half == "mornings" else part.start >= "12:00" for part in told)


def half_day(r: Reader, said: Collected) -> bool:
    """Only trade in the morning: so it must be, by the hours of the rules."""
    only = r.take("ONLY") is not None
    r.take("TRADE", "BUY") if r.peek().text in ("trade", "trade in") else None
    only = r.take("ONLY") is not None or only
    token = r.take("MORNINGS")
    only = r.take("ONLY") is not None or only
    if token is None or not only or not r.at(*_ENDS, ",", "COLON", "AND"):
        return False
    said.remarks.add("afternoons" if "afternoon" in token.text else "mornings")
    return True


def _is_event(when: Condition) -> bool:
    parts = when.parts if isinstance(when, AllOf) else (when,)
    return any(isinstance(part, Cross) for part in parts)


def one_for_each(r: Reader, said: Collected) -> bool:
    """No more than four positions, of four instruments that are named."""
    if not (r.at("AT_MOST") and r.at("NUM", ahead=1) and r.at("POSITION", ahead=2)):
        return False
    if not said.symbols or r.peek(1).value < len(said.symbols) or r.peek(2).text == "position":
        return False
    return r.take_all("AT_MOST", "NUM", "POSITION")


_UNUSED = {"STOP": "stop", "TARGET": "target", "TRAIL": "trail", "TIME_STOP": "time_stop_bars"}


def without_guards(r: Reader, said: Collected) -> bool:
    """No stop, no target. There is no stop or target. I don't use stops."""
    names: set[str] = set()
    r.take("IS", "USE") if r.at("NOT", "NO_EXIT", ahead=1) else None
    while True:
        with r.trying() as attempt:
            joined = names and r.take("OR", "AND", ",") is not None
            found = r.take("NO_EXIT")
            if found is not None:
                text = found.text
                names.add("target" if text.endswith(("target", "targets", "take profit")) else "stop")
                attempt.keep()
                continue
            denied = r.take("NOT") is not None
            r.skip("USE", "IS") if denied else None
            ored = joined and r.peek(-1).kind == "OR"
            token = r.take(*_UNUSED) if denied or ored else None
            if token is None or r.at("NUM", "AT", "OF", "IS", "BELOW", "ABOVE", "COLON"):
                break
            names.add(_UNUSED[token.kind])
            attempt.keep()
    said.without |= names
    return bool(names) and r.at("END", "STOP_MARK", ",", "AND", ")", "USE", "NOT", "SELL", "EXIT")
