"""A request cut into tokens, each with its place in the text, so that what was not read can be shown."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass

from ringfence.agents.rules.lexicon import NUMBER_WORDS, lexicon

# Letters that stick to a number, and what they stand for.
_STUCK = {
    "d": "days", "w": "weeks", "wk": "weeks", "h": "hours", "hr": "hours", "m": "minutes", "min": "minutes",
    "mo": "months", "y": "years", "yr": "years", "x": "times", "r": "times risk", "bps": "bps", "bp": "bps",
    "dma": "day moving average", "dema": "day ema", "ma": "moving average", "sma": "sma", "ema": "ema", "wma": "wma",
    "day": "day", "days": "days", "bar": "bar", "bars": "bars", "week": "week", "weeks": "weeks", "month": "month",
    "months": "months", "atr": "atr", "atrs": "atr", "p": "period", "sd": "standard deviations", "th": "", "st": "",
    "nd": "", "rd": "", "pct": "percent", "usd": "dollars",
}  # fmt: skip
_NAMES = "rsi|sma|ema|wma|ma|atr|adx|cci|roc|mfi|vwap|bb|macd|mom"
_PATTERN = re.compile(
    rf"""
      (?P<TIME>\d{{1,2}}:\d{{2}}(\s*[ap]\.?m\b\.?)? | \d{{1,2}}\s*[ap]m\b)
    | (?P<MONEY>\$\s*\d[\d,]*(\.\d+)?\s*([kK]|mm?|M)?\b)
    | (?P<CASHTAG>\$[A-Za-z]{{1,6}}([.\-][A-Z]{{1,4}})?\b)
    | (?P<NUM>(?<![\w.)%])[+\-]?(\d{{1,3}}(,\d{{3}})+|\d+)(\.\d+)?
        | (?<![\w.)%])[+\-]?\.\d+
        | (\d{{1,3}}(,\d{{3}})+|\d+)(\.\d+)?)
    | (?P<PARTED>(?i:%[kdr]\b|[+\-]di\b))
    | (?P<PAIRED>[A-Z]{{1,6}}[.\-][A-Z]{{1,5}}\b(?!-))
    | (?P<NAMED>(?i:({_NAMES})(?=\d)))
    | (?P<WORD>[A-Za-z]+('[A-Za-z]+)?)
    | (?P<MARK>->|>=|=>|<=|=<|\||[<>=(),.;:/%&+\-\n])
    | (?P<SPACE>[^\S\n]+|["*_`?!'])
    | (?P<ODD>.)
    """,
    re.VERBOSE,
)
_ALIKE = str.maketrans({"’": "'", "‘": "'", "“": '"', "”": '"', "–": "-", "—": ",", "−": "-", "×": "x", "‑": "-"})
_SHORT_FORMS = {
    "it's": ("it", "is"), "it'll": ("it",), "don't": ("do", "not"), "doesn't": ("does", "not"), "isn't": ("is", "not"),
    "that's": ("that", "is"), "i'd": ("i", "would"), "i'm": ("i",), "let's": ("lets",), "there's": ("there", "is"),
    "hasn't": ("has", "not"), "haven't": ("has", "not"), "aren't": ("is", "not"), "we're": ("we",), "i'll": ("i",),
    "they're": ("they", "is"), "price's": ("price",),
}  # fmt: skip
_MARKS = {
    ">=": "AT_LEAST", "=>": "AT_LEAST", "≥": "AT_LEAST", "<=": "AT_MOST", "=<": "AT_MOST", "≤": "AT_MOST",
    ">": "ABOVE", "<": "BELOW", "=": "EQUALS", "(": "(", ")": ")", ",": ",", ".": "STOP_MARK", ";": "STOP_MARK",
    ":": "COLON", "/": "SLASH", "%": "PERCENT", "&": "AND", "+": "AND", "-": "DASH", "\n": "STOP_MARK",
    "|": "STOP_MARK", "->": "THEN",
}  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Token:
    """`kind` is the canonical word of the lexicon, NUM, MONEY, TIME, SYMBOL or UNKNOWN."""

    kind: str
    text: str
    start: int
    end: int
    value: float = 0


def read_tokens(text: str, symbols: Collection[str] = ()) -> list[Token]:
    """Tokens of canonical words; `symbols` are tickers that may be written in small letters."""
    return _merge(_cut(text), {name.lower(): name for name in symbols})


def _cut(text: str) -> list[Token]:
    made: list[Token] = []
    loud = not re.search(r"[a-z]", text)  # all in capitals: then capitals mark no ticker
    for match in _PATTERN.finditer(text.translate(_ALIKE)):
        kind, found = match.lastgroup or "ODD", match.group()
        kind = next(k for k in ("TIME", "MONEY", "CASHTAG", "NUM", "PARTED", "PAIRED", "NAMED", "WORD", "MARK", "SPACE",
                                "ODD") if match[k] is not None)  # fmt: skip
        start, end = match.span()
        made += _token(kind, found, start, end, loud, made)
    return made


def _token(kind: str, found: str, start: int, end: int, loud: bool, before: list[Token]) -> list[Token]:
    def one(kind: str, value: float = 0, text: str = found) -> Token:
        return Token(kind=kind, text=text, start=start, end=end, value=value)

    low = found.lower()
    if kind == "SPACE":
        return []
    if kind == "TIME":
        return [one("TIME", text=_clock(low))]
    if kind == "MONEY":
        return [one("MONEY", _money(low))]
    if kind == "CASHTAG":
        return [one("SYMBOL", text=found[1:].upper())]
    if kind == "NUM":
        return [one("NUM", _value(found))]
    if kind == "MARK" or found in _MARKS:
        return [one(_MARKS[found])]
    if kind == "PAIRED":
        return [one("SYMBOL")]
    if kind == "ODD":
        return [one("UNKNOWN")]
    stuck = bool(before) and before[-1].kind == "NUM" and before[-1].end == start
    if stuck and low in _STUCK:
        return [one("word", text=word) for word in _STUCK[low].split()]
    if low in _SHORT_FORMS:
        return [one("word", text=word) for word in _SHORT_FORMS[low]]
    capital = found.isupper() and not loud
    if low.endswith("'s"):
        low, capital = low[:-2], found[:-2].isupper() and not loud
    elif low.endswith("s'"):
        low = low[:-1]
    return [one("Word" if capital else "word", text=low)]


def _clock(text: str) -> str:
    digits = re.findall(r"\d+", text)
    hour, minute = int(digits[0]), int(digits[1]) if len(digits) > 1 else 0
    if "p" in text and hour < 12:
        hour += 12
    elif "a" in text and hour == 12:
        hour = 0
    return f"{hour:02d}:{minute:02d}"


def _value(text: str) -> float:
    plain = text.replace(",", "")
    return float(plain) if "." in plain else int(plain)


def _money(text: str) -> float:
    digits = re.sub(r"[^\d.]", "", text)
    factor = 1000 if text.endswith("k") else 1_000_000 if text.endswith("m") else 1
    return _value(digits) * factor


def _merge(tokens: list[Token], known: dict[str, str]) -> list[Token]:
    """Phrases of the lexicon become one canonical token each, fillers go, capitals that are left are tickers."""
    words = [
        t for t in tokens if not (t.kind in ("word", "Word") and t.text in lexicon().fillers and t.text not in known)
    ]
    made: list[Token] = []
    i = 0
    while i < len(words):
        token = words[i]
        if token.kind not in ("word", "Word"):
            made.append(token)
            i += 1
            continue
        taken, kind = _longest(words, i)
        if taken:
            made.append(_join(words[i : i + taken], kind))
            i += taken
            continue
        made.append(_single(token, known))
        i += 1
    return _numbers(made)


def _longest(words: list[Token], i: int) -> tuple[int, str]:
    run: list[str] = []
    best, kind = 0, ""
    for token in words[i : i + lexicon().longest * 2]:
        if token.kind == "DASH" and run:
            run.append("-")
        elif token.kind in ("word", "Word", "PARTED"):
            run.append(token.text)
        else:
            break
        phrase = " ".join(w for w in run if w != "-")
        if run[-1] != "-" and phrase in lexicon().kinds:
            found = lexicon().kinds[phrase]
            if found in ("OR_MORE", "OR_LESS") and words[i].end + 1 != token.start:
                continue  # "or the lower band" lost its article
            best, kind = len(run), found
    return best, kind


def _join(tokens: list[Token], kind: str) -> Token:
    text = " ".join(t.text for t in tokens)
    return Token(kind=kind, text=text, start=tokens[0].start, end=tokens[-1].end)


def _single(token: Token, known: dict[str, str]) -> Token:
    if token.text in NUMBER_WORDS:
        return Token(kind="NUM", text=token.text, start=token.start, end=token.end, value=NUMBER_WORDS[token.text])
    if token.text in known:
        return Token(kind="SYMBOL", text=known[token.text], start=token.start, end=token.end)
    if token.kind == "Word" and len(token.text) <= 6:
        return Token(kind="SYMBOL", text=token.text.upper(), start=token.start, end=token.end)
    return Token(kind="UNKNOWN", text=token.text, start=token.start, end=token.end)


def _numbers(tokens: list[Token]) -> list[Token]:
    """Number words side by side are one number: two hundred, twenty five. A dash between a number and a word goes."""
    made: list[Token] = []
    for n, token in enumerate(tokens):
        last = made[-1] if made else None
        if token.kind == "DASH":
            joined = last is not None and last.end == token.start and n + 1 < len(tokens)
            if joined and tokens[n + 1].start == token.end:
                if last is not None and last.kind == "NUM" and tokens[n + 1].kind == "NUM":
                    made.append(Token(kind="TO", text="-", start=token.start, end=token.end))
                continue
        if (
            last is not None
            and last.kind == token.kind == "NUM"
            and token.text in NUMBER_WORDS
            and last.text.split()[-1] in NUMBER_WORDS
        ):
            value = _together(last.value, token.value)
            if value is not None:
                text = f"{last.text} {token.text}"
                made[-1] = Token(kind="NUM", text=text, start=last.start, end=token.end, value=value)
                continue
        made.append(token)
    return made


def _together(first: float, second: float) -> float | None:
    if second == 100 and 1 <= first <= 9:
        return first * 100
    if first in range(20, 100, 10) and 1 <= second <= 9:
        return first + second
    if first >= 100 and first % 100 == 0 and second < 100:
        return first + second
    return None
