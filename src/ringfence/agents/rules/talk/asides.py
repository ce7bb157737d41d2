"""Talk around the rules: a sentence or a heading that gives no rule may be left aside, and the reply names it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from ringfence.agents.rules.measures.settings import NAMES
from ringfence.agents.rules.talk.talking import (
    ASKING,
    BINDING,
    CLOSING,
    COMPARED,
    DENIES,
    GRAVE,
    GREETED,
    JUDGED,
    LEADS_ON,
    LISTS,
    LOW_HIGH,
    NAME,
    PERSONAL,
    SALUTATION,
    TOLD,
    TOLD_OF,
    WEIGHTY,
    WORTH,
)
from ringfence.agents.rules.talk.unused import LINES
from ringfence.agents.rules.text.tokens import Token

# Kinds of words that give no rule where they stand without a number, a comparison or an order.
_NEUTRAL = frozenset(
    {
        "UNKNOWN", "STRATEGY", "TITLE", "PLEASE", "IT", "ITS", "OF", "FOR", "FROM", "IN", "ON", "TO", "BY", "AT", "IS",
        "AND", "OR", ",", "DASH", "TRADE", "BAR", "CHART", "DAY", "WEEK", "MONTH", "YEAR", "LINE", "REBALANCE",
        "ROTATE", "EQUITY", "GAIN", "LOSS", "STOCKS", "SHARES", "EVERY_SYMBOL", "POSITION", "(", ")", "MOVES",
        "REACHES", "HAPPENS", "MAKES", "NEW", "CURRENT", "NEXT", "SAME", "ANOTHER", "TURNS", "BACK", "SLASH",
        "BOTH", "RISK", "LATER", "INTRADAY", "DEFAULTS", "RATIO", "SAME_RULES", "AMONG",
        "AGO", "AWAY", "BAND", "FIRST", "WHOLE", "AMOUNT", "FINE", "CHOSEN", "MEASURED", "TO_WORK",
        *(name for name in NAMES if name not in ("OPEN", "HIGH", "LOW", "CLOSE")),
    }
)  # fmt: skip
_SUMS = ("MONEY", "NUM", "HALF", "THIRD", "QUARTER", "ALL_IN")
_ORDERS = ("BUY", "SHORT", "LONG", "SELL", "EXIT", "HOLD", "INVEST")
_CALLED = ("RISES", "FALLS", "BULLISH", "BEARISH", "OVERSOLD", "OVERBOUGHT", "GAP", "THEN", "TOP")
# Words of a title that are no rule in it; those of the second line only where the rules have them too.
_TITLED = (
    *_CALLED, "MOVES", "CROSS", "HIGH", "LOW", "CLOSE", "CLOSES", "CONSECUTIVE", "THROUGH", "RETURNS",
    "REVERTS", "GOLDEN_CROSS", "DIRECTION", "STDEV", "LOSS", "USE", "REACHES", "DCA",
    "POSITIVE",
)  # fmt: skip
_AGAIN = (
    "NUM", "TRAIL", "STOP", "TARGET", "TIME_STOP", "SHORT", "LONG", "RISK", "HALF", "PERCENT", "MONTH_END", "MONTHLY",
    "WEEKLY",
)  # fmt: skip
# Beside these a question or a thank-you is still one: let me know if it works, is it better than buy and hold?
_ASKED = frozenset(
    {
        "WHEN", "NOT", "BUY_AND_HOLD", "AGAINST", "RISES", "FALLS", "POSITIVE", "PREVIOUS", "WHICHEVER", "USE", "EVERY",
        "RANKED", "THEN", "TOP", "BOTTOM", "HIGHEST", "LOWEST", "REST", "TRUE", "PER_TRADE", "ANYTHING",
    }
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Talk:
    """Tokens without the talk, the words that were left aside, and the lines those name, which the rules must use."""

    tokens: tuple[Token, ...]
    left: tuple[str, ...]
    about: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Part:
    """A stretch of tokens: a heading, a sentence, or what leads into one; `end` is that of its mark."""

    first: int
    last: int  # one past
    mark: str

    def said(self, tokens: Sequence[Token], text: str) -> str:
        before = tokens[self.first - 1].end if self.first else 0
        after = tokens[self.last].start if self.last < len(tokens) else len(text)
        return text[before:after].strip()


def without_talk(tokens: Sequence[Token], text: str) -> Iterator[Talk]:
    """The request without what gives no rule: first only what is not known, then all of it that may go."""
    parts = list(_parts(tokens))
    ruled = next((n for n, part in enumerate(parts) if not _bare(tokens, part)), len(parts))
    chosen: list[_Part] = []
    for n, part in enumerate(parts):
        named = n > 0 and parts[n - 1].mark == ":" and NAME.fullmatch(parts[n - 1].said(tokens, text).lower())
        titled = (n == 0 or part.mark == ":") and _is_title(tokens, part)
        if _unheard(tokens, part):
            continue
        if named or titled or _is_talk(tokens, part, text, opening=n < ruled):
            chosen.append(part)
        else:
            chosen += _clauses(tokens, part, text)
    unknown = [part for part in chosen if any(t.kind == "UNKNOWN" for t in tokens[part.first : part.last])]
    seen: set[tuple[Token, ...]] = set()
    for some, whole in ((unknown, False), (unknown, True), (chosen, True)):
        made = _without(tokens, text, some, whole=whole) if some else None
        if made is not None and made.tokens not in seen:
            seen.add(made.tokens)
            yield made


def _parts(tokens: Sequence[Token]) -> Iterator[_Part]:
    first = 0
    for n, token in enumerate(tokens):
        if token.kind in ("STOP_MARK", "COLON"):
            if n > first:
                yield _Part(first=first, last=n, mark=token.text)
            first = n + 1
    if first < len(tokens):
        yield _Part(first=first, last=len(tokens), mark="")


def _bare(tokens: Sequence[Token], part: _Part) -> bool:
    return all(_neutral(tokens, n) or tokens[n].kind == "USE" for n in range(part.first, part.last))


def _neutral(tokens: Sequence[Token], n: int) -> bool:
    token = tokens[n]
    if token.kind == "UNKNOWN":
        return not GRAVE.match(token.text)
    return token.kind in _NEUTRAL or (token.kind, token.text) == ("NUM", "one") or _keeps(tokens, n)


def _keeps(tokens: Sequence[Token], n: int) -> bool:
    """What is traded and on which bars counts wherever it is said."""
    kinds = [tokens[k].kind if 0 <= k < len(tokens) else "" for k in range(n - 1, n + 2)]
    before, here, after = kinds
    return (
        here in ("SYMBOL", "FRAME", "DAILY", "HOURLY")
        or (here == "NUM" and after in ("MINUTE", "HOUR"))
        or (here in ("MINUTE", "HOUR") and before == "NUM")
        or (here in ("WEEKLY", "MONTHLY") and after in ("BAR", "CHART"))
        or (here in ("BAR", "CHART") and before in ("MINUTE", "HOUR", "WEEKLY", "MONTHLY", "DAILY", "HOURLY"))
    )


def _is_talk(tokens: Sequence[Token], part: _Part, text: str, *, opening: bool) -> bool:
    """A heading, what comes before the rules, and later only what speaks to somebody."""
    said = part.said(tokens, text).lower()
    here = tokens[part.first : part.last]
    if all(_keeps(tokens, n) or tokens[n].kind in (",", "AND", "OR", "SLASH") for n in range(part.first, part.last)):
        return False  # what is traded, and no more
    if not re.search(r"[a-z]", said) and part.mark != ":":
        return False
    if len(here) == 1 and here[0].text.endswith(("filter", "filters")):
        return False  # what must hold follows
    asking = ASKING.match(SALUTATION.sub("", said)) is not None
    if CLOSING.fullmatch(said.strip(" .!-")) or _compared(tokens, part, said):
        return True
    if part.mark == "?" and WORTH.match(said) and _orders(tokens, part) and not _ruled(here):
        return True
    places = range(part.first, part.last)
    named: tuple[str, ...] = _CALLED if part.mark == ":" else ()  # crash protection: …
    named = ("HOLD", "ABOVE", "BELOW", "SAME") if asking and part.mark == "?" else named  # is it better than holding?
    unheard = [t for t in here if t.kind == "UNKNOWN"]
    if part.mark == ":" and len(here) > 3 and unheard and not any(t.kind == "SYMBOL" for t in here):
        elsewhere = any(t.kind == "SYMBOL" for n, t in enumerate(tokens) if n not in places)
        named += ("CANNOT_INDEX",) if elsewhere else ()  # here is what my uncle does with gold: …
    if part.mark == ":" and (LOW_HIGH.fullmatch(said) or _repeats(tokens, part) or _proverb(tokens, part)):
        return True
    if not all(_neutral(tokens, n) or tokens[n].kind in ("USE", *named, *(_ASKED if asking else ())) for n in places):
        return False
    if part.mark == ":":
        return not _names_list(tokens, part) and not _measures(tokens, part)
    if any(t.kind == "BUY_AND_HOLD" for t in here) and not _orders(tokens, part):
        return False
    if any(t.kind == "USE" for t in here) and not asking and not re.match(r"(?:i|we|my|our)\b", said):
        return False
    if not asking and BINDING.search(said):
        return False
    return opening or asking or part.mark == "?" or PERSONAL.search(said) is not None


def _ruled(here: Sequence[Token]) -> bool:
    return any(t.kind in ("NUM", "WHEN", "UNLESS", "NOT", "ONLY", "SYMBOL", "SHORT") for t in here)


def _compared(tokens: Sequence[Token], part: _Part, said: str) -> bool:
    """Compare it with buy and hold: beside rules, and without one of its own."""
    ruled = any(
        t.kind in (*_ORDERS, "WHEN", "COVER", "ROTATE", "TOP")
        for t in tokens[part.first : part.last]
        if t.kind != "HOLD"
    )
    return not ruled and COMPARED.fullmatch(said) is not None and _orders(tokens, part)


def _unheard(tokens: Sequence[Token], part: _Part) -> bool:
    """Ulta Beauty: … My plan for Ulta: … Nothing else says what is traded, and this may be a company."""
    if any(token.kind == "SYMBOL" for token in tokens):
        return False
    names = [n for n in range(part.first, part.last) if tokens[n].kind == "UNKNOWN" and tokens[n].value]
    led = any(n > part.first and tokens[n - 1].kind in ("FOR", "ON", "IN", "OF", "BUY", "TRADE") for n in names)
    return led or (len(names) > 1 and len(names) == part.last - part.first)


def _is_title(tokens: Sequence[Token], part: _Part) -> bool:
    """Quiet-market band breakout for MU. A trailing-stop study: … No verb, and nothing that the rules lack."""
    places = range(part.first, part.last)
    rest = [token for n, token in enumerate(tokens) if n not in places]
    if part.last - part.first == 1 and tokens[part.first].text.endswith(("filter", "filters")):
        return False  # what must hold follows
    if part.last - part.first > 14 or not _orders(tokens, part) or part.mark not in (":", ".", "!", "\n", "-"):
        return False
    if part.mark == ":" and (_names_list(tokens, part) or _measures(tokens, part)):
        return False
    again = {(t.kind, t.value) if t.kind == "NUM" else t.kind for t in rest}
    again |= {"LONG"} if "BUY" in again else set()
    for n in places:
        token = tokens[n]
        if token.kind in _AGAIN:
            if ((token.kind, token.value) if token.kind == "NUM" else token.kind) not in again:
                return False
        elif token.kind == "UNKNOWN":
            if WEIGHTY.match(token.text):
                return False
        elif not (_neutral(tokens, n) or token.kind in _TITLED):
            return False
    return any(tokens[n].kind in ("UNKNOWN", "STRATEGY", "TITLE", *_TITLED) for n in places)


def _proverb(tokens: Sequence[Token], heading: _Part) -> bool:
    """Sell in May: … Buy the fear: … An order of nothing, at no time, before rules that have orders of their own."""
    here = range(heading.first, heading.last)
    verbs = [tokens[n].kind for n in here if tokens[n].kind in ("BUY", "SELL", "HOLD")]
    unsaid = any(tokens[n].kind == "UNKNOWN" for n in here)
    rest = all(
        _neutral(tokens, n) and not _keeps(tokens, n) for n in here if tokens[n].kind not in ("BUY", "SELL", "HOLD")
    )
    return len(verbs) == 1 and unsaid and rest and _orders(tokens, heading)


def _orders(tokens: Sequence[Token], but: _Part) -> bool:
    return any(t.kind in _ORDERS for n, t in enumerate(tokens) if not but.first <= n < but.last)


def _repeats(tokens: Sequence[Token], heading: _Part) -> bool:
    """60/40: 60 % SPY and 40 % TLT. Numbers that the rules say again."""
    here = tokens[heading.first : heading.last]
    if not all(t.kind in ("NUM", "SLASH", "STRATEGY", "TITLE", "EQUITY", "PERCENT", "UNKNOWN") for t in here):
        return False
    said = [t.value for t in here if t.kind == "NUM"]
    after = tokens[heading.last :]
    again = [t.value for t, unit in pairwise(after) if t.kind == "NUM" and unit.kind == "PERCENT"]
    return len(said) > 1 and said == again[: len(said)]


def _measures(tokens: Sequence[Token], heading: _Part) -> bool:
    """Money: $5,000. Risk: 1 %. What the number is of."""
    after = tokens[heading.last + 1].kind if heading.last + 1 < len(tokens) else ""
    if [t.kind for t in tokens[heading.last + 1 : heading.last + 4]] == ["NUM", "PERCENT", "SYMBOL"]:
        return False  # a permanent-type portfolio: 25 % SPY, …
    sizes = ("EQUITY", "RISK", "POSITION", "SHARES", "LOSS", "GAIN", "AMOUNT")
    return after in ("NUM", "MONEY") and any(t.kind in sizes for t in tokens[heading.first : heading.last])


def _names_list(tokens: Sequence[Token], heading: _Part) -> bool:
    """Benchmark: SPY. What an unknown word makes of what it names is not known."""
    after = heading.last + 1
    listed = after < len(tokens) and tokens[after].kind == "SYMBOL"
    while after < len(tokens) and tokens[after].kind in ("SYMBOL", ",", "AND", "OR", "SLASH"):
        after += 1
    alone = listed and (after == len(tokens) or tokens[after].kind == "STOP_MARK")
    words = [token.text for token in tokens[heading.first : heading.last] if token.kind == "UNKNOWN"]
    return alone and not all(LISTS.fullmatch(word) for word in words)


def _clauses(tokens: Sequence[Token], part: _Part, text: str) -> Iterator[_Part]:
    """Hi, I am a student, buy …: what leads into a sentence, up to a comma. …, thanks in advance: what ends it."""
    commas = [n for n in range(part.first, part.last) if tokens[n].kind == "," or LEADS_ON.match(text, tokens[n].start)]
    lead = 0
    for n in commas:
        one = _Part(first=part.first, last=n, mark=",")
        said = one.said(tokens, text).lower()
        closes = CLOSING.fullmatch(said) is not None  # that's all, but use …
        talks = (_bare(tokens, one) or _asks(tokens, one, said)) and GREETED.match(said)
        if n == part.first or not (closes or talks):
            break
        lead = n
    if lead:
        yield _Part(first=part.first, last=lead, mark=",")
    yield from _told(tokens, part, text, lead + 1 if lead else part.first)
    for n in range(part.first + 1, part.last):  # would buying … be profitable?
        end = tokens[part.last].start if part.last < len(tokens) else len(text)
        tail = text[tokens[n - 1].end : end].strip(" .!?").lower()
        if JUDGED.fullmatch(tail) and (part.mark == "?" or TOLD_OF.match(tail)):
            yield _Part(first=n, last=part.last, mark="?")
            break
    yield from _reasons(tokens, part)
    for n in commas:
        one = _Part(first=n + 1, last=part.last, mark=part.mark)
        said = one.said(tokens, text).lower().strip(" -")
        if (
            n > lead
            and one.first < one.last
            and (CLOSING.fullmatch(said) or _compared(tokens, one, said) or _asks(tokens, one, said))
        ):
            yield one
            return


def _reasons(tokens: Sequence[Token], part: _Part) -> Iterator[_Part]:
    """…, because it can explode: why it is done, up to the next comma."""
    for n in range(part.first + 1, part.last):
        ends = next((k for k in range(n, part.last) if tokens[k].kind == ","), part.last)
        why = range(n, ends)
        if tokens[n].text == "because" and all(_neutral(tokens, k) or tokens[k].kind in _CALLED for k in why):
            yield _Part(first=n, last=ends, mark=",")


def _asks(tokens: Sequence[Token], part: _Part, said: str) -> bool:
    """I don't know much about trading, …"""
    here = range(part.first, part.last)
    return ASKING.match(said) is not None and all(_neutral(tokens, n) or tokens[n].kind in _ASKED for n in here)


def _told(tokens: Sequence[Token], part: _Part, text: str, begin: int) -> Iterator[_Part]:
    """Suppose that I had bought …, I wonder what happens if we buy …: what leads into the order."""
    orders = ("BUY", "SHORT", "LONG", "HOLD", "BUY_AND_HOLD")
    spends = [n for n in range(begin, part.last - 1) if tokens[n].kind == "INVEST" and tokens[n + 1].kind in _SUMS]
    verb = next((n for n in range(begin, part.last) if tokens[n].kind in orders or n in spends), begin)
    ends = verb
    while ends > begin and tokens[ends - 1].kind in ("WHEN", "TO", ","):
        ends -= 1  # what happens if we buy
    told = _Part(first=begin, last=ends, mark="")
    if ends == begin or not _bare(tokens, told):
        return
    words = text[tokens[begin - 1].end if begin else 0 : tokens[verb].start].strip(" ,").lower()
    if TOLD.search(words) and not DENIES.search(words):
        yield _Part(first=begin, last=verb, mark="")


def _without(tokens: Sequence[Token], text: str, parts: Sequence[_Part], *, whole: bool) -> Talk | None:
    """`whole`: all but what is traded and on which bars; else only the words that are not known."""
    gone = {n for part in parts for n in range(part.first, part.last)}
    elsewhere = {t.text for n, t in enumerate(tokens) if n not in gone and t.kind == "SYMBOL"}
    kept: set[int] = set()
    left: list[str] = []
    about: set[str] = set()
    for part in parts:
        here = range(part.first, part.last)
        named = {tokens[n].text for n in here if tokens[n].kind == "SYMBOL"}
        if named and elsewhere and not named <= elsewhere:
            return None  # a word in capitals that may be no ticker
        if whole:  # what the rules name anyway need not be kept
            keeps = {n for n in here if _keeps(tokens, n) and tokens[n].text not in elsewhere}
        else:
            keeps = {n for n in here if tokens[n].kind != "UNKNOWN"} if named - elsewhere else set()
        kept |= keeps
        about |= {tokens[n].kind for n in here if tokens[n].kind in LINES and n not in keeps}
        left += _spans(tokens, part, keeps, text)
    made = [
        replace(token, kind=",") if token.kind == "COLON" and n - 1 in gone and not _rest(tokens, n, kept) else token
        for n, token in enumerate(tokens)
        if n not in gone or n in kept
    ]
    return Talk(tokens=tuple(made), left=tuple(left), about=frozenset(about)) if made else None


def _rest(tokens: Sequence[Token], colon: int, kept: set[int]) -> bool:
    """Whether the heading before this colon still names something."""
    n = colon - 1
    while n >= 0 and tokens[n].kind not in ("STOP_MARK", "COLON"):
        if n in kept:
            return True
        n -= 1
    return False


def _spans(tokens: Sequence[Token], part: _Part, keeps: set[int], text: str) -> Iterator[str]:
    """The words between what is kept."""
    start = tokens[part.first - 1].end if part.first else 0
    in_order = sorted((tokens[n] for n in keeps), key=lambda kept: kept.start)  # recast, they may have changed places
    for token in in_order:
        said = text[start : token.start].strip(" ,\n")
        if re.search(r"\w", said):
            yield said
        start = max(start, token.end)
    end = tokens[part.last].start if part.last < len(tokens) else len(text)
    said = text[start:end].strip(" ,\n")
    if re.search(r"\w", said):
        yield said
