"""A request cut into tokens, each with its place in the text, so that what was not read can be shown."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass, replace

from ringfence.agents.rules.text.joining import arrows, numbers, signs, weighted, wholes
from ringfence.agents.rules.text.lexicon import COINS, NUMBER_WORDS, companies, lexicon, small_names
from ringfence.agents.rules.text.naming import appositions, bracketed_names, suffixes
from ringfence.agents.rules.text.recasting import recast

# Letters that stick to a number, and what they stand for.
_STUCK = {
    "d": "days", "w": "weeks", "wk": "weeks", "h": "hours", "hr": "hours", "m": "minutes", "min": "minutes",
    "mo": "months", "y": "years", "yr": "years", "x": "times", "r": "times risk", "bps": "bps", "bp": "bps",
    "dma": "day moving average", "dema": "day ema", "ma": "moving average", "sma": "sma", "ema": "ema", "wma": "wma",
    "day": "day", "days": "days", "bar": "bar", "bars": "bars", "week": "week", "weeks": "weeks", "month": "month",
    "months": "months", "atr": "atr", "atrs": "atr", "p": "period", "sd": "standard deviations",
    "pct": "percent", "usd": "dollars", "eur": "euros", "gbp": "pounds", "hrs": "hours",
    "hour": "hour", "hours": "hours", "mins": "minutes", "minute": "minute", "minutes": "minutes", "wks": "weeks",
    "yrs": "years", "year": "year", "years": "years", "period": "period", "periods": "periods",
}  # fmt: skip
_QUOTES = "USDT|USDC|USD|EUR|GBP|JPY|CHF|CAD|AUD|NZD|BTC|ETH"  # EUR/USD is one instrument, KO/PEP are two
_CODES = "eur|usd|gbp|jpy|chf|cad|aud|nzd|sek|nok|mxn|zar|cnh|sgd|hkd"
_COIN_CODES = "btc|eth|sol|xrp|doge|ltc|ada|avax|bnb|dot|link|matic|trx|shib|bch|xlm|uni|atom|near|xau|xag|xmr|etc"
_PAIR_OF_MONEY = re.compile(rf"(?:{_CODES}|{_COIN_CODES})(?:{_CODES}|usdt|usdc|busd|btc|eth)")
# Capitals that are no tickers in a sentence.
_NO_TICKERS = frozenset({
    "usa", "uk", "eu", "cfa", "mba", "phd", "faq", "fyi", "ps", "nb", "imo", "imho", "btw", "asap", "tldr", "pls",
    "thx", "edit", "note", "etf", "api", "ok", "diy", "eod", "ceo", "pdf", "url", "rules", "entry", "exit", "vs",
    "hft", "very", "must", "just", "never", "simple", "idea", "always", "big", "best", "this", "that", "too", "also",
    "more", "less", "rule", "fx", "forex", "nyse", "utc", "gmt", "cagr", "roi", "ibkr",
    "etfs", "title", "setup", "strict", "my", "please", "basic", "easy", "demo", "test", "hello", "hi",
    "di", "nse", "bse", "lse", "ohlc", "pnl", "ytd", "est", "ist", "ath",
})  # fmt: skip
_NAMES = "rsi|sma|ema|wma|ma|atr|adx|cci|roc|mfi|vwap|bb|macd|mom"
_COUNTED = "tp|sl|top|day|bar|week|vol|stop|target|level|rule|step|ex|leg|entry|exit|q|r|di|williams|stoch|hma|don|kc"
_PATTERN = re.compile(
    rf"""
      (?P<LATIN>(?i:\bi\.\s?e\.|\be\.\s?g\.|\bi\.e\b|\be\.g\b),?)
    | (?P<LISTED>\b\d{{4,6}}\.[A-Z]{{1,2}}\b | \b\d[A-Z]{{1,2}}=F\b
        | \b3M(?=\s(?:when|whenever|if|once|stock|shares)\b|\s\(MMM))
    | (?P<TIME>\d{{1,2}}:\d{{2}}(\s*[ap](?:m\b|\.m\b\.?))? | \d{{1,2}}\s*[ap]m\b)
    | (?P<MONEY>(?:[$€£₹¥]|(?:Rs\.?|INR|USD|EUR|GBP|US\$)(?=\s?\d))\s*\d(?:[\d,]*\d)?(\.\d+)?(?:\s*(?:[kK]|mm?|M)\b|\b))
    | (?P<WITH>(?i:w/o?)(?=[\s\d]))
    | (?P<FRAME>(?i:H1|H4|M1|M5|M15|M30|D1|W1)\b)
    | (?P<CASHTAG>\$[A-Za-z]{{1,6}}([.\-][A-Z]{{1,4}})?\b)
    | (?P<NUM>(?<![\w.,)%])\d{{1,3}}(?:[ \u00a0]\d{{3}})+(?=[ \u00a0]?(?i:dollars|euros?|usd|eur|pounds|gbp|shares|€)\b)
        | (?<![\w.)%])[+\-]?(\d{{1,3}}(,\d{{3}})+|\d+)(\.\d+)?([kK]\b)?
        | (?<![\w.)%])[+\-]?\.\d+
        | (\d{{1,3}}(,\d{{3}})+|\d+)(\.\d+)?)
    | (?P<INDEXED>\[\d{{1,3}}\])
    | (?P<PARTED>(?i:%[kdrb]\b|[+\-]di\b))
    | (?P<INDEX>(?:S&P|S\ &\ P)(?:\s?-?500)?|Dow\ Jones|Nasdaq(?:[\s-]?100)?|NASDAQ(?:[\s-]?100)?|Russell\ 2000)\b
    | (?P<PAIRED>[A-Z]{{1,10}}[.\-][A-Z]{{1,5}}\b(?!-)
        | (?!(?i:{_NAMES}|{_COUNTED})\d)[A-Z]{{2,6}}\d{{1,3}}(?:\.[A-Z]{{1,2}})?\b
        | \^[A-Z]{{2,6}}\b | [A-Z0-9]{{1,6}}=[FX]\b
        | [A-Z]{{2,6}}/(?:{_QUOTES})\b
        | (?:{_COIN_CODES})-(?:usdt?|usdc|eur)\b)
    | (?P<NAMED>(?i:({_NAMES})(?=\d)|(?<=\d)x(?=atrs?\b)))
    | (?P<WORD>[A-Za-zÀ-ÖØ-öø-ÿ]+('[A-Za-z]+)?)
    | (?P<SMILE>(?<=\s)[:;]-?[)(DP](?=\s|$) | [\u2600-\u27bf\ufe0f\U0001f300-\U0001faff]+)
    | (?P<MARK>-{{1,3}}>|==>|>=|=>|<=|=<|\||[<>=(),.;:/%&+\-?!@\n])
    | (?P<SPACE>[^\S\n]+|["*_`'])
    | (?P<ODD>.)
    """,
    re.VERBOSE,
)
_KINDS = (
    "LATIN", "LISTED", "TIME", "MONEY", "WITH", "FRAME", "CASHTAG", "NUM", "INDEXED", "PARTED", "INDEX", "PAIRED",
    "NAMED", "WORD", "SMILE", "MARK", "SPACE", "ODD",
)  # fmt: skip
_ALIKE = str.maketrans(
    {"{": " ", "}": " "}  # {AAPL, MSFT}
    | {"’": "'", "‘": "'", "“": '"', "”": '"', "–": "-", "—": ",", "−": "-", "×": "x", "⁄": "/", "‑": "-"}
)
_SHORT_FORMS = {
    "it's": ("it", "is"), "it'll": ("it",), "don't": ("do", "not"), "doesn't": ("does", "not"), "isn't": ("is", "not"),
    "that's": ("that", "is"), "i'd": ("i", "would"), "i'm": ("i",), "let's": ("lets",), "there's": ("there", "is"),
    "hasn't": ("has", "not"), "haven't": ("has", "not"), "aren't": ("is", "not"), "we're": ("we",), "i'll": ("i",),
    "they're": ("they", "is"), "price's": ("price",), "wasn't": ("is", "not"), "weren't": ("is", "not"),
    "won't": ("not",), "we'll": ("we",), "you'd": ("you",), "can't": ("can", "not"), "what's": ("what", "is"),
    "here's": ("here", "is"), "didn't": ("do", "not"), "i've": ("i",), "we've": ("we",), "rsi's": ("rsi",),
    "that'd": ("that",), "we'd": ("we",), "you're": ("you",), "you've": ("you",), "you'll": ("you",), "he's": ("he",),
}  # fmt: skip
# A full stop after these ends no sentence where the next word begins with a small letter or a digit.
_ABBREVIATED = frozenset({
    "excl", "incl", "avg", "vs", "approx", "pct", "std", "dev", "min", "max", "vol", "mins", "hrs", "inc", "co",
    "corp", "ltd",
})  # fmt: skip
# Words of the lexicon that are tickers too, where they are in capitals and stand as what is traded.
_TICKERS_TOO = frozenset(
    {"ma", "low", "all", "it", "now", "open", "mo", "on", "key", "sd", "min", "gap", "sap", "ups", "snap"}
)
_NO_LINES = frozenset({"cost", "now", "key", "ups", "sap", "snap"})
_BEFORE_TICKER = ("BUY", "SELL", "SHORT", "LONG", "TRADE", "COVER", "SHARES", "OF")
_MARKS = {
    ">=": "AT_LEAST", "=>": "AT_LEAST", "≥": "AT_LEAST", "<=": "AT_MOST", "=<": "AT_MOST", "≤": "AT_MOST",
    ">": "ABOVE", "<": "BELOW", "=": "EQUALS", "(": "(", ")": ")", ",": ",", ".": "STOP_MARK", ";": "STOP_MARK",
    ":": "COLON", "/": "SLASH", "%": "PERCENT", "&": "AND", "+": "AND", "-": "DASH", "\n": "STOP_MARK",
    "|": "STOP_MARK", "@": "AT", "->": "THEN", "-->": "THEN", "--->": "THEN",
    "==>": "THEN", "→": "THEN", "⇒": "THEN", "?": "STOP_MARK", "!": "STOP_MARK",
}  # fmt: skip

_WORDS = ("word", "Word", "Name")
_GIVES = ("give", "gives", "giving", "gave")


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
    plain = re.sub(r"(?<!-)--(?![->])", " ,", text.translate(_ALIKE))
    plain = re.sub(r"(?i)\|(z(?:[- ]?score)?)\|", r" \1 ", plain)  # of a pair, which goes both ways
    plain = re.sub(r"(?i)\btl;?dr\b:?", lambda found: " " * len(found[0]), plain)
    plain = re.sub(r"\b([ie])\.([eg])\.", r"\1\2  ", plain, flags=re.IGNORECASE)  # i.e.
    for match in _PATTERN.finditer(plain):
        kind, found = match.lastgroup or "ODD", match.group()
        kind = next(k for k in _KINDS if match[k] is not None)
        start, end = match.span()
        short = found == "." and bool(made) and made[-1].text in _ABBREVIATED
        if short and (made[-1].text == "vs" or re.match(r"\s*[a-z0-9(,]", text[end:])):
            continue
        made += _token(kind, found, start, end, loud, made)
    return made


def _token(kind: str, found: str, start: int, end: int, loud: bool, before: list[Token]) -> list[Token]:
    def one(kind: str, value: float = 0, text: str = found) -> Token:
        return Token(kind=kind, text=text, start=start, end=end, value=value)

    low = found.lower()
    if kind in ("SPACE", "SMILE", "LATIN"):
        return []
    if kind == "TIME":
        return [one("TIME", text=_clock(low))]
    if kind == "MONEY":
        return [one("MONEY", _money(low))]
    if kind == "WITH":
        return [one("word", text="without" if low.endswith("o") else "with")]
    if kind == "CASHTAG":
        return [one("SYMBOL", text=found[1:].upper())]
    if kind == "NUM":
        return [one("NUM", _value(found))]
    if kind == "INDEXED":  # close[1]: one bar ago
        back = int(found[1:-1])
        return [one("NUM", back, str(back)), one("word", text="bars"), one("word", text="ago")] if back else []
    if kind == "MARK" or found in _MARKS:
        return [one(_MARKS[found])]
    if kind in ("PAIRED", "LISTED", "FRAME", "INDEX"):
        text = found.upper() if kind == "FRAME" or found.islower() else "MMM" if found == "3M" else found
        return [one({"PAIRED": "SYMBOL", "LISTED": "SYMBOL", "INDEX": "CANNOT_INDEX"}.get(kind, kind), text=text)]
    if kind == "ODD":
        return [one("UNKNOWN")]
    stuck = bool(before) and before[-1].kind == "NUM" and before[-1].end == start
    if stuck and low in ("st", "nd", "rd", "th"):
        before[-1] = replace(before[-1], text=before[-1].text + low, end=end)  # the 15th
        return []
    if stuck and low in _STUCK:
        return [one("word", text=word) for word in _STUCK[low].split()]
    if low in ("noon", "midday"):
        return [one("TIME", text="12:00")]
    if low in _SHORT_FORMS:
        return [one("word", text=word) for word in _SHORT_FORMS[low]]
    capital = found.isupper() and not loud
    owner = low.endswith("'s")
    if owner:
        low, capital = low[:-2], found[:-2].isupper() and not loud
    elif low.endswith("s'"):
        low = low[:-1]
    if low in ("noon", "midday"):
        return [one("TIME", text="12:00")]
    if low == "min" and [t.kind for t in before if t.kind != "DASH"][-1:] == ["NUM"]:
        low = "minute"
    return [one("Word" if capital else "Name" if found[0].isupper() else "word", owner, low)]


def _clock(text: str) -> str:
    digits = re.findall(r"\d+", text)
    hour, minute = int(digits[0]), int(digits[1]) if len(digits) > 1 else 0
    if "p" in text and hour < 12:
        hour += 12
    elif "a" in text and hour == 12:
        hour = 0
    return f"{hour:02d}:{minute:02d}"


def _value(text: str) -> float:
    plain = re.sub(r"[,\s]", "", text)
    if plain[-1:] in ("k", "K"):
        return _value(plain[:-1]) * 1000
    return float(plain) if "." in plain else int(plain)


def _money(text: str) -> float:
    digits = re.sub(r"^[^\d]+|[^\d.]", "", text)  # Rs. 500 is no 0.5
    factor = 1000 if text.endswith("k") else 1_000_000 if text.endswith("m") else 1
    return _value(digits) * factor


def _merge(tokens: list[Token], known: dict[str, str]) -> list[Token]:
    """Phrases of the lexicon become one canonical token each, fillers go, capitals that are left are tickers."""
    tokens = _owned(_paid(bracketed_names(tokens)))
    words = [
        t
        for t, after in zip(tokens, [*tokens[1:], None], strict=False)
        if not (t.kind in _WORDS and t.text in lexicon().fillers and t.text not in known)
        or (t.text in _GIVES and after is not None and after.text == "up")
        or (t.text == "that" and after is not None and after.text == "day")
        or (t.text == "make" and after is not None and after.kind in ("MONEY", "NUM"))
        or (t.text == "do" and after is not None and after.text == "nothing")
    ]
    made: list[Token] = []
    i = 0
    while i < len(words):
        token = words[i]
        if token.kind not in _WORDS:
            made.append(token)
            i += 1
            continue
        taken, kind = _longest(words, i)
        called, ticker = _company(words, i)
        if called > taken or (called and called == taken and _after_order(token, made)):
            made.append(replace(_join(words[i : i + called], "SYMBOL"), text=_listed(ticker, known)))
            i += called
            continue
        if taken and not (taken == 1 and _is_ticker(words, i, made, known)):
            made.append(_join(words[i : i + taken], kind))
            i += taken
            continue
        token = replace(token, kind="word") if _prefix(words, i) else token
        made.append(_single(token, known, called=bool(made) and _asks_ticker(made)))
        i += 1
    return recast(signs(arrows(numbers(appositions(weighted(wholes(made)))))))


def _after_order(token: Token, made: list[Token]) -> bool:
    """Own Target while …: a word of the rules is a company's name with a capital and after an order."""
    before = [one.kind for one in made[-2:]]
    ordered = before[-1:] and before[-1] in ("BUY", "HOLD", "SHORT", "SHARES", "SELL", "COVER")
    return token.kind == "Name" and bool(ordered or before == ["SHARES", "OF"])


def _prefix(words: list[Token], i: int) -> bool:
    """E-mini, T-bills: a letter of a word, and no ticker."""
    letter, rest = words[i], words[i + 1 : i + 3]
    bound = len(rest) == 2 and rest[0].kind == "DASH" and rest[1].kind == "word" and len(letter.text) == 1
    return bound and letter.end == rest[0].start and rest[0].end == rest[1].start


def _paid(tokens: list[Token]) -> list[Token]:
    """6 % from my price: the price that was paid, and not any price; when I'm up 5 %: the position, whichever it is."""
    made = list(tokens)
    for n in range(1, len(made)):
        if made[n].text == "price" and made[n - 1].text in ("my", "our", "your"):
            made[n - 1] = replace(made[n - 1], text="entry")
        if made[n].text in ("up", "down") and made[n - 1].text in ("i", "am", "im", "we"):
            made[n - 1] = replace(made[n - 1], kind="word", text="position")
    return made


def _owned(tokens: list[Token]) -> list[Token]:
    """Sell when AMD's is lower: that of AMD, and not AMD."""
    made: list[Token] = []
    for token, after in zip(tokens, [*tokens[1:], None], strict=False):
        alone = after is not None and lexicon().kinds.get(after.text) in ("IS", "CROSS", "FALLS", "RISES")
        alone = alone and after is not None and not after.text.endswith("ing")  # Apple's rising: it is
        if token.value and token.kind in ("Word", "Name") and alone:
            made.append(replace(token, kind="word", text="of", end=token.start))
        made.append(token)
    return made


def _company(words: list[Token], i: int) -> tuple[int, str]:
    """Boeing, Bank of America: how many words it takes, and its ticker. A coin may be written in small letters."""
    best, ticker = 0, ""
    run: list[str] = []
    for n, token in enumerate(words[i : i + 4], 1):
        if token.kind not in _WORDS and token.text not in ("&", "-"):
            break
        run += [] if token.text in ("&", "-") else [token.text]
        found = companies().get(" ".join(run))
        if found and (token.kind != "word" or found in COINS or " ".join(run) in small_names()):
            best, ticker = n, found
    return best + suffixes(words, i + best) if best else 0, ticker


def _listed(called: str, known: dict[str, str]) -> str:
    """As the data calls it: BTC is its BTC-USD, where that is the only one it can be."""
    if not known or called.lower() in known:
        return called
    ticker = called.lstrip("^")
    plain = {name: re.sub(r"[-/=^]", "", name.upper()) for name in known.values()}
    found = [name for name, bare in plain.items() if bare in (ticker, f"{ticker}USD", f"{ticker}USDT")]
    return found[0] if len(found) == 1 else called


def _is_ticker(words: list[Token], i: int, made: list[Token], known: dict[str, str]) -> bool:
    """MA is Mastercard in "buy MA when …", and an average in "buy MA(20) …"."""
    token = words[i]
    if token.kind == "Word" and token.text in _NO_LINES:
        return True
    if token.kind != "Word" or token.text not in _TICKERS_TOO or not made:
        return False
    after = words[i + 1] if i + 1 < len(words) else None
    pair = [token.kind for token in words[i + 1 : i + 3]] == ["SLASH", "Word"]
    if pair and words[i + 2].text not in lexicon().kinds:
        return True  # MA/V
    beside = len(made) > 1 and made[-2].kind == "SYMBOL" and made[-1].kind in ("SLASH", "AND", ",", "AGAINST", "OR")
    if beside and after is not None and lexicon().kinds.get(after.text) in ("IS", "CROSS", "ABOVE", "BELOW", "MOVES"):
        return False  # an average that crosses
    return (beside or made[-1].kind in _BEFORE_TICKER) and (
        after is None or after.kind not in ("NUM", "(", "PERCENT", "MARK")
    )


def _longest(words: list[Token], i: int) -> tuple[int, str]:
    run: list[str] = []
    best, kind = 0, ""
    for token in words[i : i + lexicon().longest * 2]:
        if token.kind == "DASH" and run:
            run.append("-")
        elif token.kind in (*_WORDS, "PARTED"):
            run.append(token.text)
        else:
            break
        phrase = " ".join(w for w in run if w != "-")
        if run[-1] != "-" and phrase in lexicon().kinds:
            found = lexicon().kinds[phrase]
            if found in ("OR_MORE", "OR_LESS") and words[i].end + 1 != token.start:
                continue  # "or the lower band" lost its article
            after = words[i + len(run)].text if i + len(run) < len(words) else ""
            counted = i and (words[i - 1].kind in ("NUM", "DASH") or words[i - 1].text in NUMBER_WORDS)
            if run[0] == "day" and len(run) > 1 and counted:
                continue  # its 50-day is above its 200-day
            if after == "before" and len(run) > 1 and run[-1] == "day":
                continue  # negative the day before
            if after == "than" and len(run) > 1 and run[-1] in ("higher", "lower"):
                continue  # the close higher than yesterday's high is no higher close
            best, kind = len(run), found
    return best, kind


def _join(tokens: list[Token], kind: str) -> Token:
    text = " ".join(t.text for t in tokens)
    return Token(kind=kind, text=text, start=tokens[0].start, end=tokens[-1].end)


def _asks_ticker(made: list[Token]) -> bool:
    """ticker xyz, symbol: xyz."""
    last = made[-2] if made[-1].kind in ("COLON", "IS", "EQUALS") and len(made) > 1 else made[-1]
    return last.kind == "TRADE" and last.text.split()[-1] in ("ticker", "symbol", "tickers", "symbols")


def _single(token: Token, known: dict[str, str], *, called: bool = False) -> Token:
    if token.text in NUMBER_WORDS:
        return Token(kind="NUM", text=token.text, start=token.start, end=token.end, value=NUMBER_WORDS[token.text])
    if token.text in known:
        return Token(kind="SYMBOL", text=known[token.text], start=token.start, end=token.end)
    unmistakable = token.kind != "Word" and (_PAIR_OF_MONEY.fullmatch(token.text) or (called and len(token.text) <= 6))
    if unmistakable or (
        token.kind == "Word"
        and token.text not in _NO_TICKERS
        and (len(token.text) <= 6 or re.fullmatch(rf"[A-Z]{{2,6}}({_QUOTES})", token.text.upper()))
    ):
        return Token(kind="SYMBOL", text=_listed(token.text.upper(), known), start=token.start, end=token.end)
    proper = token.kind != "word"  # Tata Motors
    return Token(kind="UNKNOWN", text=token.text, start=token.start, end=token.end, value=proper)
