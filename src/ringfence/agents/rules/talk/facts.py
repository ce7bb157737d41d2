"""What a request says of the run and not of the rules: dates, money to begin with, costs. Told back, never dropped."""

from __future__ import annotations

import re
from calendar import monthrange
from collections.abc import Callable, Iterator
from dataclasses import dataclass

_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_MONTH = (
    r"(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|"
    r"oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)\.?"
)
_YEAR = r"(?:19[5-9]\d|20[0-4]\d)(?![\d,.]*\d|\s*%|\s*(?:days?|bars?|shares?|dollars?|usd|points?)\b)"
_ORDINAL = r"\d{1,2}(?:st|nd|rd|th)?"
_DATE = (
    rf"(?:\d{{4}}[-/.]\d{{1,2}}[-/.]\d{{1,2}}|\d{{1,2}}[-/.]\d{{1,2}}[-/.]\d{{4}}"
    rf"|{_ORDINAL}\s+(?:of\s+)?{_MONTH},?\s+{_YEAR}|{_MONTH}\s+{_ORDINAL},?\s+{_YEAR}|{_MONTH}\s+(?:of\s+)?{_YEAR}"
    rf"|\d{{4}}-(?:0[1-9]|1[0-2])(?![\d-])|{_YEAR})"
)
# Words that may lead to a date and belong to it: backtest it on data from …
_LEAD = (
    r"(?:\b(?:back-?\s?test(?:ed|ing)?|test(?:ed|ing)?|run|simulate|please|it|this|over|for|in|on|during|using|use|with|"
    r"the|(?:period|dates?|range|window)(?:\s+is)?|data|history|years?|of|start|end|starting|ending|beginning)\b\s*[:=]?\s*)*?"
)
_TO = r"(?:to|until|till|through|thru|up\s+to|-|\.\.\.?)"
_AFTER = r"(?=\s*(?:$|[.,;:)!?\n]|(?:with|using|on|and|at|for|in|daily|only|please)\b))"
_SPANS = (
    rf"{_LEAD}(?:\bfrom\s+)?\b(?P<a>{_DATE})\s*{_TO}\s*(?P<b>{_DATE})",
    rf"{_LEAD}\bbetween\s+(?P<a>{_DATE})\s+and\s+(?P<b>{_DATE})",
    rf"{_LEAD}(?:\b(?:from|since)\s+)?\b(?P<a>{_DATE})\s*{_TO}\s*(?:now|today|(?:the\s+)?present|date|the\s+end)",
    (
        rf"{_LEAD}\b(?:since|from|start(?:s|ing)?(?:\s+(?:in|from|on|at))?|beginning(?:\s+(?:in|from|on))?|start\s+date\s*[:=]?)"
        rf"\s*(?P<a>{_DATE})(?:\s+(?:onwards?|forward|on))?"
    ),
    rf"{_LEAD}\b(?:until|up\s+to|through|end(?:s|ing)?(?:\s+(?:in|on|at))?|end\s+date\s*[:=]?)\s*(?P<b>{_DATE})",
)
_DATES = tuple(re.compile(span + _AFTER, re.IGNORECASE) for span in _SPANS)
_LATELY = re.compile(
    r"^(?:over|in|during|for)\s+the\s+(?:last|past)\s+(?P<m>\w+)\s+years?(?=\s*,)|"
    r"(?:(?<=^)|(?<=[.;!?,\n]))\s*(?:please\s+|and\s+)?(?:back-?\s?test|test|run|period|data|history|use)\s*:?"
    r"(?:\s+(?:it|this|that|on|over|for|the|data|of|from))*\s*(?:last|past)\s+(?P<n>\w+)\s+years?(?:\s+of\s+data)?"
    r"(?=\s*(?:$|[.,;!?\n]))",
    re.IGNORECASE,
)
# After these a number is a price, whatever year it looks like.
_PRICES = (
    "price",
    "close",
    "closes",
    "moves",
    "goes",
    "rises",
    "falls",
    "drops",
    "above",
    "below",
    "over",
    "under",
    "at",
    "is",
    "are",
    "of",
)

_COINAGE = r"(?:usd|dollars|bucks|eur|euros|gbp|pounds)\b"
_DIGITS = r"\d[\d,]*(?:\.\d+)?"
_SIGNED = rf"[$€£]\s?{_DIGITS}\s?(?:k|mm?)?(?![\w%]|[,.]\d)"
_SUM = rf"(?:{_SIGNED}|{_DIGITS}\s?k(?![\w%])|{_DIGITS}\s?k?\s?{_COINAGE})"
_AMOUNT = rf"(?:{_SUM}|{_DIGITS}(?![\w%]))"
_PURSE = r"(?:capital|cash|balance|equity|money|account(?:\s+size)?|amount|deposit|investment|funds|portfolio)"
_FIRST = rf"(?:starting|initial|start|beginning|opening)\s+{_PURSE}"
_WITH = r"(?:\b(?:with|using|use|on|and|has|have|assume|assuming|given)\s+)?(?:\b(?:an?|my|the|i\s+have)\s+)?"
_PER = r"(?!\s*(?:per|each|every|in|into|on|of|to|for)\b)"
_CASH = tuple(
    re.compile(rule, re.IGNORECASE)
    for rule in (
        rf"(?<=of )(?P<m>(?:(?:an?|my)\s+)?{_SUM})(?=\s+(?:trading\s+)?(?:account|portfolio|capital)\b)",
        rf"{_WITH}\b{_FIRST}\s*(?:of|is|=|:|at|should\s+be|will\s+be)?\s*(?P<m>{_AMOUNT}){_PER}",
        (
            rf"{_WITH}(?<![\w.$€£])(?P<m>{_SUM}|\d{{4,}}|\d{{1,3}}(?:,\d{{3}})+)\s+(?:of\s+|in\s+|as\s+)?"
            rf"(?:the\s+|my\s+|an?\s+)?{_FIRST}\b{_PER}"
        ),
        (
            rf"\b(?:(?:i|we|it|you)\s+)?(?:starts?|starting|begins?|beginning)\s+(?:it\s+)?(?:out\s+)?with\s+(?P<m>{_AMOUNT})"
            rf"(?:\s+(?:in|of)?\s*(?:cash|capital|equity|(?:the|my)\s+account))?{_PER}"
        ),
        rf"(?:^|(?<=[.;]\s))with\s+(?P<m>{_AMOUNT})\s+to\s+(?:start|begin)(?:\s+with)?\s*(?=,)",
        (
            rf"{_WITH}\b(?:capital|account(?:\s+(?:size|value|balance))?|bankroll|balance)\s*(?:of|is|=|:)\s*"
            rf"(?P<m>{_SUM}){_PER}"
        ),
        rf"{_WITH}(?<![\w.$€£])(?P<m>{_SUM})\s+(?:trading\s+)?(?:account|portfolio|bankroll)\b",
    )
)
# Before anything is read: what somebody has is not what goes into each trade.
_OWNED = re.compile(
    rf"\b(?:take\s+(?:my|our)(?=[^.;]*\sand\s)|(?:i|we)(?:'ve|\s+have)(?:\s+got)?(?:\s+about|\s+around)?|my\s+(?:budget|savings)\s+(?:is|are)|"
    rf"(?:with\s+)?a\s+budget\s+of)\s+(?P<m>{_SUM})(?:\s+(?:in\s+(?:cash|savings|my\s+account)|saved|to\s+\w+(?:\s+with)?))?"
    rf"(?!\s*(?:per|each|every|a\s+month|a\s+week)\b)",
    re.IGNORECASE,
)
_HELD = re.compile(r"\bbuy(?:ing)?[\s-]*(?:and|&|n)[\s-]*hold", re.IGNORECASE)
_REPEATED = re.compile(r"\b(?:every|each|per|monthly|weekly|daily|dca)\b", re.IGNORECASE)
_ONCE = re.compile(rf"\b(?:with|using|of|and)\s+(?P<m>{_SUM}){_PER}", re.IGNORECASE)

_COST = r"(?:commissions?|(?:trading\s+|transaction\s+|broker(?:age)?\s+)?(?:fees?|costs?)|slippage)"
_RATE = r"(?:\d+(?:\.\d+)?\s?(?:%|percent\b|bps\b|bp\b|basis\s+points?\b)|[$€£]\s?\d+(?:\.\d+)?)"
_EACH = (
    r"(?:\s+(?:per|each|every|a|on\s+each|on\s+every|for\s+each)\s+(?:trade|side|order|fill|transaction|way|share))?"
)
_TAKEN = r"(?:\b(?:with|use|using|assume|assuming|include|including|and|plus|account\s+for)\s+)?(?:\b(?:an?|the)\s+)?"
_ALL = r"(?!\s+of\s+(?:\w+\s+){0,2}(?:account|equity|capital|portfolio|balance)\b)"  # what a stop costs is a size
_COSTS = tuple(
    re.compile(rule, re.IGNORECASE)
    for rule in (
        rf"{_TAKEN}(?<![\w.])(?P<rate>{_RATE})\s+(?:of\s+|in\s+|for\s+)?(?P<what>{_COST})\b{_EACH}",
        rf"{_TAKEN}\b(?P<what>{_COST})\s*(?:of|is|are|=|:|at)?\s*(?P<rate>{_RATE})(?![\w.]*\d){_ALL}{_EACH}",
        (
            rf"{_TAKEN}\b(?P<rate>no|zero|without|ignore|ignoring|excluding)\s+(?:any\s+)?(?P<what>{_COST})\b"
            rf"(?:\s*(?:,|and|or|&)\s*(?:no\s+)?{_COST}\b)*"
        ),
    )
)


_ZONE = re.compile(
    r"(?:\b(?:in|on)\s+)?\b(?:new\s+york|eastern(?:\s+(?:standard|daylight))?|us|exchange|market|chicago|london|local)\s+time\b|"
    r"\b(?:new\s+york|london|chicago|tokyo|frankfurt|us)\s+(?:hours|session)(?=,?\s+(?:from\s+|between\s+)?\(?\d{1,2}:\d\d)|"
    r"(?<=\d\d)\s+(?:ET|EST|EDT|NY\s+time)\b",
    re.IGNORECASE,
)


_YEARS = (
    r"(?:[1-9]\d|(?:twenty|thirty|forty|fifty|sixty|seventy|eighty|ninety)"
    r"(?:[\s-](?:one|two|three|four|five|six|seven|eight|nine))?)"
)
_AGE = re.compile(
    rf"\b(?:i\s+am|i'm|we\s+are|we're)\s+(?:now\s+)?{_YEARS}(?=\s*(?:$|[,.!;]|and\b(?!\s*[\d$])|(?:with|so)\b(?!\s*[\d$])))|"
    rf"\b(?:(?:i\s+am|i'm)\s+)?(?:(?:as|for)\s+)?(?:an?\s+)?{_YEARS}[\s-]years?[\s-]olds?\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
    start: int
    end: int
    notice: str


def set_apart(text: str) -> tuple[str, tuple[str, ...]]:
    """The text with its facts and the marks of its lists blanked, each word at its old place; and a notice of each."""
    notices: list[str] = []
    plain = _unlisted(text)
    for find in (_dates, _lately, _costs, _cash, _zones, _ages):
        for fact in find(plain):
            said = plain[fact.start : fact.end].strip()
            notices.append(f'"{said}" is no rule of the strategy: {fact.notice}')
            whose = plain[: fact.start].endswith("of ")  # 1 % of a $10,000 account
            blank = " " * (fact.end - fact.start)
            plain = plain[: fact.start] + (blank if whose else " ," + blank[2:]) + plain[fact.end :]
    return plain, tuple(notices)


def owned(text: str) -> bool:
    """Whether it says how much somebody has: taken as a size, that would be another rule."""
    return _OWNED.search(text) is not None


_COUNTED = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
_ORDINALS = ("first", "second", "third", "fourth", "fifth")
_STEP = re.compile(
    rf"(?:(?<=^)|(?<=[\n.;:!?,]))\s*\(?(?:step|rule|point|part)\s+#?(\d|{'|'.join(_COUNTED)})\s*[.):,-]\s+(?=[A-Za-z])",
    re.IGNORECASE,
)
_TURN = re.compile(
    rf"(?:(?<=^)|(?<=[\n.;!?]))\s*(?:and\s+)?({'|'.join(_ORDINALS)})(?:ly)?\s*[:,]\s+(?=[A-Za-z])", re.IGNORECASE
)
_NUMBERED = re.compile(r"(?:(?<=^)|(?<=[\n.;:!?,]))\s*\(?#?(\d)[.):]\s+(?=[A-Za-z\d$])")
_LETTERED = re.compile(r"(?:(?<=^)|(?<=[\n.;:!?,]))\s*\(?([a-h])\)\s+(?=[A-Za-z\d$])")
_INLINE = re.compile(r"(?:(?<=^)|(?<=\s))\(?(\d)\)\s+(?=[A-Za-z\d$])")


def _unlisted(text: str) -> str:
    """1. Buy … 2. Sell …, Step 1: …, First, … Second, …, and lines that begin with a dash or a dot."""
    for rule in (_NUMBERED, _LETTERED, _INLINE, _STEP, _TURN):
        marks = list(rule.finditer(text))
        if len(marks) > 1 and [_count(mark[1]) for mark in marks] == list(range(1, len(marks) + 1)):
            for mark in marks:
                ends = rule is _INLINE and text[: mark.start()].rstrip()[-1:].isalnum()
                blank = re.sub(r"[^\n]", " ", mark[0])
                text = text[: mark.start()] + (";" + blank[1:] if ends else blank) + text[mark.end() :]
    return re.sub(
        r"(?m)(^\s*|[.;:]\s+)[-*•]\s+(?=[A-Za-z])", lambda m: m[0][:-2].replace("-", " ") + "  ", text
    ).replace("•", " ")


def _count(said: str) -> int:
    low = said.lower()
    if len(low) == 1 and low.isalpha():
        return ord(low) - ord("a") + 1
    words = _COUNTED if low in _COUNTED else _ORDINALS
    return int(low) if low.isdigit() else words.index(low) + 1


def _found(text: str, rules: tuple[re.Pattern[str], ...], made: Callable[[re.Match[str]], str]) -> Iterator[Fact]:
    taken: list[tuple[int, int]] = []
    for rule in rules:
        for match in rule.finditer(text):
            start, end = match.span()
            notice = "" if any(start < b and end > a for a, b in taken) else made(match)
            if notice:
                taken.append((start, end))
                yield Fact(start=start, end=end, notice=notice)


def _dates(text: str) -> Iterator[Fact]:
    def made(match: re.Match[str]) -> str:
        before = re.findall(r"\w+", re.split(r"[.;,\n]", text[: match.start()])[-1])[-1:]
        if before and before[0].lower() in _PRICES:
            return ""
        given = match.groupdict()
        said = [f"--start {_iso(given['a'], last=False)}"] if given.get("a") else []
        said += [f"--end {_iso(given['b'], last=True)}"] if given.get("b") else []
        return f"give it as {' '.join(said)}"

    return _found(text, _DATES, made)


def _zones(text: str) -> Iterator[Fact]:
    return _found(text, (_ZONE,), lambda match: "give it data whose times are in that zone")


def _ages(text: str) -> Iterator[Fact]:
    return _found(text, (_AGE,), lambda match: "how old somebody is changes nothing")


def _lately(text: str) -> Iterator[Fact]:
    return _found(text, (_LATELY,), lambda match: "give it as --start, the first day to trade")


def _iso(said: str, *, last: bool) -> str:
    """As --start and --end take it; which of two small numbers is the month is not guessed."""
    low = said.lower()
    if re.fullmatch(r"\d{4}", low):
        return f"{low}-12-31" if last else f"{low}-01-01"
    parts = re.findall(r"\d+|[a-z]{3}", low)
    named = [part for part in parts if part in _MONTHS]
    if named:
        month = _MONTHS.index(named[0]) + 1
        year = next(int(part) for part in parts if re.fullmatch(r"\d{4}", part))
        days = [int(part) for part in parts if re.fullmatch(r"\d{1,2}", part)]
        return f"{year}-{month:02d}-{(days or [monthrange(year, month)[1] if last else 1])[0]:02d}"
    if len(parts[0]) == 4 and len(parts) == 2:
        return f"{parts[0]}-{parts[1]}-{monthrange(int(parts[0]), int(parts[1]))[1] if last else 1:02d}"
    if len(parts[0]) == 4:
        return f"{parts[0]}-{int(parts[1]):02d}-{int(parts[2]):02d}"
    return "YEAR-MONTH-DAY"


def _cash(text: str) -> Iterator[Fact]:
    def made(match: re.Match[str]) -> str:
        return f"give it as --cash {_plain(match['m'])}"

    held = _HELD.search(text) and not _REPEATED.search(text)  # bought once, with all there is
    return _found(text, (_OWNED, *_CASH, _ONCE) if held else (_OWNED, *_CASH), made)


def _plain(amount: str) -> str:
    low = amount.lower().strip()
    digits = re.search(r"\d[\d,]*(?:\.\d+)?", low)
    assert digits is not None
    after = low[digits.end() :].strip()
    factor = 1_000 if after[:1] == "k" else 1_000_000 if after[:1] == "m" else 1
    return (
        f"{float(digits[0].replace(',', '')) * factor:g}"
        if factor == 1
        else f"{float(digits[0].replace(',', '')) * factor:.0f}"
    )


def _costs(text: str) -> Iterator[Fact]:
    def made(match: re.Match[str]) -> str:
        slips = match["what"].lower() == "slippage"
        rate = re.match(r"(\d+(?:\.\d+)?)\s?(%|percent|b)", match["rate"].lower())
        if rate is None:
            none = match["rate"][0].isalpha()
            return (
                ("give it as --slippage-bps 0" if slips else "give it as --fees 0")
                if none
                else ("give it as --fees, a fraction of what is filled")
            )
        points = float(rate[1]) * (1 if rate[2] == "b" else 100)
        return f"give it as --slippage-bps {points:g}" if slips else f"give it as --fees {points / 10_000:g}"

    return _found(text, _COSTS, made)
