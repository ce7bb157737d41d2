"""Tokens side by side that are one thing: two hundred, RSI < 30 => buy."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from ringfence.agents.rules.text.lexicon import NUMBER_WORDS, lexicon

if TYPE_CHECKING:
    from ringfence.agents.rules.text.tokens import Token

# What an equals sign or an arrow before it leads to, and what one after it gives the meaning of.
_ACTIONS = ("BUY", "SELL", "SHORT", "LONG", "EXIT", "COVER", "HOLD")
_NOUNS = (*_ACTIONS, "STOP", "TARGET", "TRAIL", "SIZE", "TRADE")
_MEASURES = (
    "RSI",
    "CCI",
    "MFI",
    "ADX",
    "ROC",
    "WILLIAMS",
    "MACD",
    "STOCHASTIC",
    "OBV",
    "MACD_HISTOGRAM",
    "PERCENT_K",
    ")",
)
_VERBS = (
    "IS",
    "ABOVE",
    "BELOW",
    "CROSS",
    "MOVES",
    "RISES",
    "FALLS",
    "CLOSES",
    "TURNS",
    "AT_LEAST",
    "AT_MOST",
    "REACHES",
)
_AVERAGES = ("SMA", "EMA", "WMA")
_HALVED = ("ATR", "PERCENT", "TIMES", "STDEV", "DAY", "BAR", "WEEK", "MONTH", "YEAR", "HOUR", ",", "STOP_MARK")
_BEGINS = (
    "IT",
    "RSI",
    "MACD",
    "MACD_HISTOGRAM",
    "PRICE",
    "CLOSE",
    "CCI",
    "ADX",
    "STOCHASTIC",
    "SUPERTREND",
    "SMA",
    "EMA",
)


_THOUSANDS = {
    "thousand": 1_000, "grand": 1_000, "lakh": 100_000, "lakhs": 100_000, "lac": 100_000, "lacs": 100_000,
    "million": 1_000_000, "crore": 10_000_000, "crores": 10_000_000,
}  # fmt: skip


def numbers(tokens: list[Token]) -> list[Token]:
    """Number words side by side are one number: two hundred, twenty five. A dash between a number and a word goes."""
    made: list[Token] = []
    for n, token in enumerate(tokens):
        last = made[-1] if made else None
        if token.kind == "DASH":
            joined = last is not None and last.end == token.start and n + 1 < len(tokens)
            if joined and tokens[n + 1].start == token.end:
                if last is not None and last.kind == "NUM" and tokens[n + 1].kind == "NUM":
                    tens = _worded(last) and last.value % 100 in range(20, 100, 10)
                    if tens and _worded(tokens[n + 1]) and 0 < tokens[n + 1].value < 10:
                        continue  # fifty-five
                    made.append(replace(token, kind="TO", text="-"))
                continue
        if token.kind == "AND" and last is not None and _hundreds(tokens, n, last):
            continue
        if last is not None and last.kind in ("NUM", "MONEY") and token.text in _THOUSANDS and _digits(last):
            value = last.value * _THOUSANDS[token.text]
            made[-1] = replace(last, text=f"{last.text.strip()} {token.text}", end=token.end, value=value)
            continue  # 1 lakh rupees, $1.5 million
        if (
            last is not None
            and last.kind == token.kind == "NUM"
            and token.text in NUMBER_WORDS
            and last.text.split()[-1] in NUMBER_WORDS
        ):
            together = _together(last.value, token.value)
            if together is not None:
                text = f"{last.text} {token.text}"
                made[-1] = replace(last, text=text, end=token.end, value=together)
                continue
        made.append(token)
    return made


def _hundreds(tokens: list[Token], n: int, last: Token) -> bool:
    """One hundred and fifty days; not the two hundred and the fifty, and not two averages."""
    after = tokens[n + 1 : n + 4]
    joined = tokens[n].text == "and" and after and after[0].start == tokens[n].end + 1 == last.end + 5
    if not joined or after[0].kind != "NUM" or not (_worded(last) and _worded(after[0])):
        return False
    averages = any(token.text in ("averages", "smas", "emas", "moving averages", "lines") for token in after[1:])
    return last.value % 100 == 0 and last.value > 0 and after[0].value < 100 and not averages


def _worded(token: Token) -> bool:
    return token.text.split()[-1] in NUMBER_WORDS


def _digits(token: Token) -> bool:
    return token.text.strip()[-1:].isdigit()


def wholes(tokens: list[Token]) -> list[Token]:
    """The whole account is all of it; of anything else, such as the whole time, the word says nothing."""
    made: list[Token] = []
    for n, token in enumerate(tokens):
        if token.kind == "CANNOT_SCALE_IN" and made and made[-1].kind == "NOT":
            made[-1] = replace(made[-1], kind="ONE_POSITION", text=f"{made[-1].text} {token.text}", end=token.end)
            continue  # do not add to winners
        if token.text in _PER_PERIOD and made and made[-1].kind in ("MONEY", "DOLLARS", "SHARES", "SUM"):
            token = replace(token, kind=_PER_PERIOD[token.text])  # $500 a month
        if _is_sum(tokens, n):
            token = replace(token, kind="MONEY")  # put 500 a month into SPY
        if token.text == "open" and _is_position(tokens, n + 1):
            token = replace(token, kind="BUY")  # open a $8,000 position
        if token.kind == "CANNOT_LEVERAGE" and [t.kind for t in made[-2:]] == ["NUM", "TIMES"] and made[-2].value == 1:
            made[-2:] = [replace(made[-2], kind="NO_LEVERAGE", text="no leverage", end=token.end)]
            continue  # 1x leverage
        if token.text == "repeat" and (n + 1 == len(tokens) or tokens[n + 1].kind == "STOP_MARK"):
            token = replace(token, kind="START_OVER")
        if token.kind == "CANNOT_START_CASH" and [t.kind for t in tokens[n + 1 : n + 3]] == ["MONEY", "PER_TRADE"]:
            token = replace(token, kind="USE")  # start with $20,000 per trade
        if token.kind in ("AGAINST", "ON", "RANKED") and _stop_follows(tokens, n + 1):
            token = replace(token, kind="USE")  # risking 1 % against a 2 ATR stop
        if token.text in ("time", "times") and n and tokens[n - 1].text in ("whole", "entire", "all", "at all"):
            made.pop() if made and made[-1].text in ("all", "at all") else None
            continue  # keep a 10 % stop the whole time
        if token.text in ("whole", "entire"):
            after = n + 1
            while after < len(tokens) and tokens[after].kind in ("OF", "ITS", "CURRENT"):
                after += 1
            if after == len(tokens) or tokens[after].kind != "EQUITY":
                continue
        made.append(token)
    return made


_PER_PERIOD = {"day": "DAILY", "week": "WEEKLY", "month": "MONTHLY", "quarter": "QUARTERLY", "year": "YEARLY"}


def _is_sum(tokens: list[Token], n: int) -> bool:
    """invest 1000 in SPY: a number that is put into something is money."""
    kinds = [tokens[k].kind if k < len(tokens) else "STOP_MARK" for k in (n - 1, n + 1)] if n else []
    if tokens[n].kind == "NUM" and tokens[n].text[-1:] in ("k", "K") and kinds and kinds[1] in (",", "STOP_MARK"):
        return kinds[0] in (",", "STOP_MARK", "SLASH")  # …, stop 6 %, 5k
    if tokens[n].kind != "NUM" or tokens[n].value < 10 or not n or tokens[n - 1].kind not in ("INVEST", "DCA"):
        return False
    after = tokens[n + 1] if n + 1 < len(tokens) else None
    into = after is not None and after.kind in ("IN", "EVERY", "MONTHLY", "WEEKLY", "DAILY")
    return not tokens[n - 1].text.startswith("tak") and (into or (after is not None and after.text in _PER_PERIOD))


def _is_position(tokens: list[Token], at: int) -> bool:
    kinds = [token.kind for token in tokens[at : at + 3]]
    return kinds[:2] == ["MONEY", "POSITION"] or kinds == ["NUM", "PERCENT", "POSITION"]


def _stop_follows(tokens: list[Token], at: int) -> bool:
    """A stop, after at most its distance."""
    while at < len(tokens) and tokens[at].kind in ("NUM", "PERCENT", "ATR", "TIMES", "(", ")", "DAY", "BAR"):
        at += 1
    return at < len(tokens) and tokens[at].kind == "STOP"


def _of_symbol(tokens: list[Token], on: int) -> bool:
    kinds = [token.kind for token in tokens[on + 1 : on + 3]]
    return len(kinds) == 2 and kinds[0] == "SYMBOL" and kinds[1] in _VERBS


def _one_symbol(tokens: list[Token], pair: int) -> bool:
    kinds = [token.kind for token in tokens[pair + 1 : pair + 4]]
    kinds = kinds[1:] if kinds[:1] in (["COLON"], ["IS"]) else kinds
    return kinds[:1] == ["SYMBOL"] and kinds[1:2] not in (["AND"], ["SLASH"], ["AGAINST"], ["SYMBOL"])


def _crossed(tokens: list[Token], x: int) -> bool:
    """Two averages, the first with its period, and then that they cross."""
    before = [token.kind for token in tokens[max(0, x - 4) : x]]
    first = before[-2:] in ([name, "NUM"] for name in _AVERAGES) or (
        before[:1] and before[0] in _AVERAGES and before[1:] == ["(", "NUM", ")"]
    )
    kinds = [token.kind for token in tokens[x + 1 : x + 7]]
    if not first or "CROSS" not in kinds:
        return False
    second = [kind for kind in kinds[: kinds.index("CROSS")] if kind not in ("(", ")")]
    return second == ["NUM"] or (len(second) == 2 and second[0] in _AVERAGES and second[1] == "NUM")


def arrows(tokens: list[Token]) -> list[Token]:
    """RSI < 30 => buy; RSI < 30 = long; entry = RSI < 30. One and a half ATR is 1.5 of them."""
    made: list[Token] = []
    for n, token in enumerate(tokens):
        last, after = made[-1] if made else None, tokens[n + 1] if n + 1 < len(tokens) else None
        if token.text in ("=", "=>", "-") and after is not None and after.kind in _ACTIONS:
            token = replace(token, kind="THEN")
        elif token.text == "=" and last is not None and (last.kind in _NOUNS or (after and after.kind == "SYMBOL")):
            token = replace(token, kind="COLON")
        elif (
            (token.kind, token.text) == ("HALF", "half")
            and [t.kind for t in made[-2:]] == ["NUM", "AND"]
            and (after is None or after.kind in _HALVED)
            and (token.start - made[-1].end == len(" a ") or after is None or after.kind not in (",", "STOP_MARK"))
        ):
            whole = made[-2]
            made[-2:] = [replace(whole, end=token.end, value=whole.value + 0.5)]
            continue
        elif token.text in ("day", "bar", "week", "candle") and last is not None and after is not None:
            if last.kind in (*_ACTIONS, "SYMBOL") and lexicon().kinds.get(token.text) and after.kind in _BEGINS:
                token = replace(token, kind="WHEN")  # enter long the day the histogram turns positive
        elif token.kind == "ON" and last is not None and last.kind in _MEASURES and _of_symbol(tokens, n):
            token = replace(token, kind="OF")  # RSI(14) on SPY is below 35
        elif (token.kind, token.text) == ("PAIR", "pair") and _one_symbol(tokens, n):
            token = replace(token, kind="TRADE")  # pair: EURUSD
        elif (
            token.text == "passed"
            and [t.kind in ("NUM", "DAY", "BAR", "WEEK", "HOUR") for t in made[-2:]] == [True] * 2
        ):
            at = len(made) - 3 if made[-3:-2] and made[-3].kind == "WHEN" else len(made) - 2
            made[at:-2] = [replace(made[at], kind="AFTER", text="after")]  # or 20 days have passed
            made[-1] = replace(made[-1], end=token.end)
            continue
        elif (token.kind, token.text) == ("IN", "in") and after is not None and after.kind in ("WHEN", "ON"):
            if last is None or last.kind in ("COLON", "STOP_MARK", ",", "SYMBOL"):
                token = replace(token, kind="BUY")  # in when …, out when …
        elif token.text == "fixed" and last is not None and last.text[-1:] in "kK" and last.kind == "NUM":
            made[-1] = replace(last, kind="MONEY", end=token.end)  # 10k fixed per trade
            continue
        elif token.text == "fixed" and after is not None and after.kind == "MONEY":
            continue  # a fixed $5,000
        elif token.text == "x" and _crossed(tokens, n):
            token = replace(token, kind="AND")  # WMA(9) x WMA(21) crossover
        elif token.text == "fixed" and last is not None and last.kind == "MONEY":
            made[-1] = replace(last, end=token.end)
            continue
        elif token.text == "off" and [t.kind for t in made[-3:]] == ["INVEST", "NUM", "PERCENT"]:
            if made[-3].text in ("take", "taking"):
                made[-3] = replace(made[-3], kind="SELL")  # take 50 % off at 2R
                made[-1] = replace(last or token, end=token.end)
                continue
        elif token.text in ("beats", "beat") and any(t.kind in ("ROC", "VOLUME") for t in made[-2:]):
            if after is not None and after.kind in ("ITS", "NUM", "SYMBOL", "OF", "AVERAGE", "ROC"):
                token = replace(token, kind="ABOVE")  # its 3-month return beats SPY's, volume beats its average
        elif token.text == "instead" and any(t.kind == "OTHERWISE" for t in made):
            continue  # else hold IEF instead
        made.append(token)
    return made


_CALLED = (
    "UNKNOWN",
    "CANNOT_INDEX",
    "EVERY_SYMBOL",
    "STOCKS",
    "LONG",
    "SHORT",
    "STRATEGY",
    "NTH",
    "EQUITY",
    "IN",
    "OF",
)


def weighted(tokens: list[Token]) -> list[Token]:
    """25 % long treasuries (TLT), 20 % gold via GLD: what a weight is for, with its ticker."""
    made: list[Token] = []
    n = 0
    while n < len(tokens):
        made.append(tokens[n])
        n += 1
        if made[-1].kind != "PERCENT":
            continue
        at = n
        while at < min(n + 5, len(tokens)) and tokens[at].kind in _CALLED:
            at += 1
        kinds = [token.kind for token in tokens[at : at + 3]]
        if at > n and kinds == ["(", "SYMBOL", ")"]:
            made.append(tokens[at + 1])
            n = at + 3
        elif at > n and kinds[:2] == ["USE", "SYMBOL"] and tokens[at].text in ("via", "using", "with"):
            made.append(tokens[at + 1])
            n = at + 2
    return made


def _together(first: float, second: float) -> float | None:
    if second in (100, 1000) and 1 <= first <= 999:
        return first * second
    if first % 100 in range(20, 100, 10) and 1 <= second <= 9:
        return first + second
    if first >= 1000 and first % 1000 == 0 and second < 1000:
        return first + second
    if first >= 100 and first % 100 == 0 and second < 100:
        return first + second
    return None


_BEFORE_SIGN = (
    "AT", "TARGET", "STOP", "STOP_SET", "EITHER", "COLON", "REACHES", "HALF", "THIRD", "QUARTER", "REST", "OR"
)  # fmt: skip


def signs(tokens: list[Token]) -> list[Token]:
    """at plus 5 percent, or minus 3 %: a number with its sign."""
    made: list[Token] = []
    for n, token in enumerate(tokens):
        last, sign = made[-1] if made else None, {"plus": "+", "minus": "-"}.get(made[-1].text if made else "")
        kinds = [t.kind for t in tokens[n + 1 : n + 3]]
        measured = (
            token.kind == "NUM" and kinds[:1] == ["PERCENT"] and kinds[1:] not in (["STOP"], ["TARGET"], ["TRAIL"])
        )
        if last is not None and sign and measured and made[-2:-1] and made[-2].kind in _BEFORE_SIGN:
            made[-1] = replace(token, text=f"{sign}{token.text}", start=last.start)
            continue
        made.append(token)
    return made
