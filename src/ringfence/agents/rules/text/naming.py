"""How an instrument is named: the S&P 500 ETF (SPY), Zoom Video (ZM), the airline AAL, silver, SLV, Apple stock."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from ringfence.agents.rules.text.lexicon import lexicon

if TYPE_CHECKING:
    from ringfence.agents.rules.text.tokens import Token

# What a ticker may be called after or before it: the stock JPM, the Russell ETF IWM.
_KINDS_OF = frozenset({
    "etf", "etfs", "fund", "funds", "index fund", "tracker", "index", "futures", "future", "stock", "stocks", "shares",
    "share", "trust", "airline", "bank", "chipmaker", "carmaker", "automaker", "retailer", "miner", "miners", "utility",
    "company", "giant", "coin", "token", "crypto", "cryptocurrency", "contract", "contracts", "ticker", "symbol",
    "instrument", "proxy", "sector", "underlying", "security", "ishares", "spdr", "vanguard", "adr", "reit", "equity",
    "broker", "insurer", "drugmaker", "maker",
})  # fmt: skip
_SUFFIXES = frozenset({
    "inc", "corp", "corporation", "co", "company", "plc", "ltd", "group", "holdings", "incorporated", "limited",
    "motor", "motors", "stock", "shares", "stocks", "ag", "sa", "nv", "se", "etf",
})  # fmt: skip
_NOT_NAMES = ("MONDAY", "TUESDAY", "WEDNESDAY", "THURSDAY", "FRIDAY", "WHEN", "AND", "OR", "NOT", "UNLESS", "ONLY")
_COMPANIES_TOO = ("TARGET", "GAP")  # Target (TGT)
_STARTS = ("STOP_MARK", "COLON")
_FUNDS = {
    "gold": frozenset({"GLD", "IAU", "GC=F"}), "silver": frozenset({"SLV", "SI=F"}),
    "oil": frozenset({"USO", "CL=F"}), "crude": frozenset({"USO", "CL=F"}), "crude oil": frozenset({"USO", "CL=F"}),
    "natural gas": frozenset({"UNG", "NG=F"}), "s&p": frozenset({"SPY", "VOO", "IVV"}),
    "nasdaq": frozenset({"QQQ"}), "dow": frozenset({"DIA"}), "dow jones": frozenset({"DIA"}),
    "gold miners": frozenset({"GDX"}), "emerging markets": frozenset({"EEM"}),
}  # fmt: skip


def suffixes(words: list[Token], after: int) -> int:
    """Inc, & Co, Motor: how many words of the name of a company follow what it is called."""
    taken = 0
    while after + taken < len(words):
        word = words[after + taken]
        joins = word.text == "&" and after + taken + 1 < len(words) and words[after + taken + 1].text in _SUFFIXES
        if not joins and not (word.text in _SUFFIXES and word.kind in ("word", "Word", "Name")):
            break
        taken += 1
    return taken


def bracketed_names(words: list[Token]) -> list[Token]:
    """Zoom Video (ZM): words with capitals before a ticker in brackets are its name, whatever they mean elsewhere."""
    made: list[Token] = []
    n = 0
    while n < len(words):
        ticker = words[n + 1] if n + 2 < len(words) and words[n].kind == "(" and words[n + 2].kind == ")" else None
        first = _name_before(made) if ticker is not None and _ticker(ticker) else len(made)
        if ticker is not None and first < len(made):
            made[first:] = [ticker]
            n += 3
        else:
            made.append(words[n])
            n += 1
    return made


def _name_before(made: list[Token]) -> int:
    """Where the name that ends here begins."""
    first = len(made)
    while first and (
        made[first - 1].kind in ("Name", "Word") or made[first - 1].text == "&" or _hyphen(made, first - 1)
    ):
        if lexicon().kinds.get(made[first - 1].text) in _NOT_NAMES:
            break
        first -= 1
    while first < len(made) and (
        first == 0 or made[first - 1].kind in _STARTS or made[first].text in lexicon().fillers
    ):
        if made[first].text not in lexicon().kinds and made[first].text not in lexicon().fillers:
            break
        if lexicon().kinds.get(made[first].text) in _COMPANIES_TOO:
            break  # Target (TGT): …
        first += 1  # Buy Zoom Video (ZM)
    names = [one.text for one in made[first:] if one.kind in ("Name", "Word")]
    everyday = [name for name in names if lexicon().kinds.get(name) not in _COMPANIES_TOO]
    return first if any(name not in lexicon().kinds for name in names) or (names and not everyday) else len(made)


def _hyphen(made: list[Token], n: int) -> bool:
    """Coca-Cola."""
    return made[n].text == "-" and n + 1 < len(made) and made[n].end == made[n + 1].start


def _ticker(token: Token) -> bool:
    if token.kind == "SYMBOL":
        return True
    return token.kind == "Word" and 1 <= len(token.text) <= 5 and token.text not in lexicon().kinds


def appositions(tokens: list[Token]) -> list[Token]:
    """One token for an instrument that is named twice, by its ticker and by what it is called."""
    tokens = _used_for(tokens)
    return _own_funds(_plain(_described(_bracketed(tokens))))


def _own_funds(tokens: list[Token]) -> list[Token]:
    """Buy GLD when gold closes above its average: the one fund of it that is named stands for it."""
    named = {token.text for token in tokens if token.kind == "SYMBOL"}
    made = list(tokens)
    for n, token in enumerate(tokens):
        name = token.text.lower().removesuffix(" 500").removesuffix("-500").removesuffix("500")
        funds = named & _FUNDS.get(name, frozenset()) if token.kind == "CANNOT_INDEX" else set()
        if len(funds) == 1:
            made[n] = replace(token, kind="SYMBOL", text=next(iter(funds)))
    return made


def _used_for(tokens: list[Token]) -> list[Token]:
    """Buy the S&P when …. Use SPY. One index or commodity, and a sentence that says by what it is traded."""
    names = {token.text.split()[0].rstrip("0123456789- ").lower() for token in tokens if token.kind == "CANNOT_INDEX"}
    kinds = ["STOP_MARK", *(token.kind for token in tokens), "STOP_MARK"]
    used = [n for n in range(len(tokens)) if kinds[n : n + 4] == ["STOP_MARK", "USE", "SYMBOL", "STOP_MARK"]]
    if len(names) != 1 or len(used) != 1:
        return tokens
    ticker = tokens[used[0] + 1]
    return [
        replace(ticker, start=token.start, end=token.end) if token.kind == "CANNOT_INDEX" else token for token in tokens
    ]


def _bracketed(tokens: list[Token]) -> list[Token]:
    """The S&P 500 ETF (SPY), crude oil (CL=F), Apple (AAPL); gold on hourly bars (GC=F)."""
    made: list[Token] = []
    n = 0
    while n < len(tokens):
        token = tokens[n]
        after = n + 1
        while after < len(tokens) and tokens[after].text in _KINDS_OF and tokens[after].kind != "SYMBOL":
            after += 1
        bracket = after < len(tokens) and tokens[after].kind == "("
        at = after + bracket
        named = tokens[at] if at < len(tokens) and tokens[at].kind == "SYMBOL" else None
        closed = not bracket or (tokens[at + 1 : at + 2] and tokens[at + 1].kind == ")")
        same = token.kind == "SYMBOL" and bracket and named is not None and token.text == named.text
        unheard = bracket and (token.kind in ("UNKNOWN", "STOCKS") or (token.kind == "SYMBOL" and not same))
        unheard = unheard and not _follows_name(tokens, n) and not (_small(token) and _calls(tokens, n, after))
        if named is not None and closed and (token.kind == "CANNOT_INDEX" or same or unheard):
            while unheard and made and made[-1].kind == "UNKNOWN" and made[-1].value:
                made.pop()  # Tata Motors (TATAMOTORS.NS)
            made.append(named)
            n = at + 1 + bracket
            continue
        if token.kind == "CANNOT_INDEX" and (last := _set_off(tokens, n)):
            made.append(tokens[last])
            n = last + 1 + (last + 1 < len(tokens) and tokens[last + 1].kind == ",")
            continue
        if token.kind == "SYMBOL" and _said_again(tokens, n):
            made += tokens[n : n + 2]
            n += 5
            continue
        if token.kind == "CANNOT_INDEX" and _named_later(tokens, n):
            n += 1
            continue
        made.append(token)
        n += 1
    return made


def _said_again(tokens: list[Token], n: int) -> bool:
    """A VIX close (^VIX) under 20."""
    kinds = [token.kind for token in tokens[n + 1 : n + 5]]
    return kinds == ["CLOSE", "(", "SYMBOL", ")"] and tokens[n + 3].text == tokens[n].text


def _follows_name(tokens: list[Token], n: int) -> bool:
    """Tata Motors flurbish (TATAMOTORS.NS): an unknown word in small letters after a name is no part of it."""
    return (
        _small(tokens[n])
        and n > 0
        and (tokens[n - 1].kind in ("CANNOT_INDEX", "DOLLARS", "STOCKS") or bool(tokens[n - 1].value))
    )


def _calls(tokens: list[Token], n: int, bracket: int) -> bool:
    """log(KO), ln (KO): what is computed of it, and not what it is called."""
    return tokens[n].text in ("log", "ln", "logs", "logarithm") or tokens[n].end == tokens[bracket].start


def _small(token: Token) -> bool:
    return token.kind == "UNKNOWN" and not token.value


def _set_off(tokens: list[Token], n: int) -> int:
    """Where the ticker of oil, ticker USO, … stands, between commas; 0 where there is none. The S&P ETF, SPY."""
    comma = n + 1
    while comma < len(tokens) and tokens[comma].text in _KINDS_OF and tokens[comma].kind != "SYMBOL":
        comma += 1
    at = comma + 1
    while at < len(tokens) and tokens[at].text in ("ticker", "symbol"):
        at += 1
    kinds = [tokens[k].kind if k < len(tokens) else "END" for k in (comma, at, at + 1)]
    ends = (",",) if comma == n + 1 else (",", "STOP_MARK", "END", "WHEN", "COLON")
    return at if kinds[:2] == [",", "SYMBOL"] and kinds[2] in ends else 0


def _named_later(tokens: list[Token], n: int) -> bool:
    """Gold on hourly candles (GC=F): …; silver, SLV; gold via GLD."""
    kinds = [token.kind for token in tokens[n + 1 : n + 9]]
    # crude oil, ticker USO
    called = kinds[:3] == [",", "TRADE", "SYMBOL"] and tokens[n + 2].text in ("ticker", "symbol")
    if (
        kinds[:2] == [",", "SYMBOL"]
        or (kinds[:1] == [","] and called)
        or (kinds[:2] == ["USE", "SYMBOL"] and tokens[n + 1].text in ("via", "using"))
    ):
        return True
    if kinds[:1] != ["ON"] or "(" not in kinds:
        return False
    bracket = kinds.index("(")
    frame = ("ON", "NUM", "MINUTE", "HOUR", "HOURLY", "DAILY", "WEEKLY", "BAR", "CHART", "FRAME", "DASH")
    return all(kind in frame for kind in kinds[:bracket]) and kinds[bracket + 1 : bracket + 3] == ["SYMBOL", ")"]


def _described(tokens: list[Token]) -> list[Token]:
    """The dollar ETF UUP, the stock JPM, Vanguard's VOO."""
    made: list[Token] = []
    for token in tokens:
        if token.kind == "SYMBOL" and made:
            first = len(made)
            while first and made[first - 1].text in _KINDS_OF and made[first - 1].kind != "SYMBOL":
                first -= 1
            if first < len(made):
                while first and made[first - 1].kind in ("UNKNOWN", "CANNOT_INDEX", "DOLLARS"):
                    if _follows_name(made, first - 1) or made[first].text in ("ticker", "symbol", "instrument"):
                        break
                    apart = made[first - 1].end + 1 < made[first].start  # flurbish the airline AAL
                    if _small(made[first - 1]) and (apart or made[first].text not in _KINDS_OF):
                        break  # of several words before it, those with a capital
                    first -= 1
                if made[first].kind == "DOLLARS" and first and made[first - 1].kind == "NUM":
                    first += 1
            else:
                first = _owner(made)
            asked = first == len(made) - 1 and made[first].kind == "TRADE" if first < len(made) else False
            if not asked:
                del made[first:]
        made.append(token)
    return made


def _owner(made: list[Token]) -> int:
    """Vanguard's VOO: the place of a name with a capital that the ticker belongs to."""
    last = made[-1]
    possessive = last.end - last.start > len(last.text)
    inside = len(made) > 1 and made[-2].kind not in (*_STARTS, ",")
    return len(made) - (last.kind == "UNKNOWN" and bool(last.value) and (possessive or inside))


def _plain(tokens: list[Token]) -> list[Token]:
    """Apple stock is Apple; 100 AAPL shares are 100 shares of it; GLD (gold), QQQ, the Nasdaq ETF."""
    made: list[Token] = []
    n = 0
    while n < len(tokens):
        token, last = tokens[n], made[-1] if made else None
        if last is not None and last.kind == "SYMBOL" and (after := _explained(tokens, n)):
            n = after
            continue
        n += 1
        if last is not None and last.kind == token.kind == "SYMBOL" and _letters(last) == _letters(token):
            made[-1] = replace(token, start=last.start)  # Berkshire Hathaway BRK-B
            continue
        if last is not None and last.kind == "SYMBOL" and token.text in ("stock", "shares", "share", "etf", "stocks"):
            if token.kind == "SHARES" and len(made) > 1 and made[-2].kind == "NUM":
                made[-1:] = [token, last]
            else:
                made[-1] = replace(last, end=token.end)
            continue
        made.append(token)
    return made


def _letters(token: Token) -> str:
    return "".join(letter for letter in token.text if letter.isalnum())


def _explained(tokens: list[Token], n: int) -> int:
    """Where what a ticker is called after it ends; nothing where it is not called anything."""
    ends = {"(": (")",), ",": (",", "COLON", "STOP_MARK")}.get(tokens[n].kind, ())
    after = n + 1
    while after < len(tokens) and (
        tokens[after].kind in ("CANNOT_INDEX", "UNKNOWN") or tokens[after].text in _KINDS_OF
    ):
        if after > n + 1 and tokens[after].kind != "UNKNOWN" and _small(tokens[after - 1]):
            return 0  # GLD, flurbish the gold ETF
        after += 1
    known = any(token.kind == "CANNOT_INDEX" or token.text in _KINDS_OF for token in tokens[n + 1 : after])
    if not known or after >= len(tokens) or tokens[after].kind not in ends:
        return 0
    return after + (tokens[n].kind == "(")
