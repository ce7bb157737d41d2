"""Amounts in English, and the words around them: 25 % of the equity, a third of the account, $5,000, 100 shares, all.

A size is said in many orders of a few words. So the words up to the end of the sentence become pieces, each amount one
of them, and the rules of sizes.py are patterns over the names of the pieces.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ringfence.agents.rules.reader import Reader, foreign
from ringfence.agents.rules.text.tokens import Token

AMOUNTS = ("PCT", "PART", "SHARE", "CASH", "COUNT", "ALL")
_PARTS = {"HALF": 50, "THIRD": 33.33, "QUARTER": 25, "FIFTH": 20, "TENTH": 10}
_MOST = 40  # pieces that a size may take
_ENDS = (
    "END", "STOP_MARK", ",", "AND", "USE", ")", "SELL", "EXIT", "COVER", "THEN", "DASH", "IS", "OR", "AT", "STOP", "IN",
)  # fmt: skip
_GIVEN = ("gets", "get", "goes", "go", "got")
_KEPT = ("keep", "keeps", "keeping", "kept", "hold", "holds", "holding")


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """`kind` is the token's, or PCT, PART, SHARE (of the equity), CASH, COUNT (of shares), ALL, BARS (a time)."""

    kind: str
    end: int  # the token after it
    value: float = 0
    text: str = ""


def pieces(r: Reader) -> list[Piece]:
    """From here to the end of the sentence."""
    tokens, at = r.tokens, r.i
    made: list[Piece] = []
    while at < len(tokens) and len(made) < _MOST and tokens[at].kind != "STOP_MARK":
        made.append(_stopped(tokens, at) or amount_at(tokens, at) or _word(tokens, at))
        at = made[-1].end
    return made


def _kind(tokens: Sequence[Token], at: int) -> str:
    return tokens[at].kind if at < len(tokens) else "END"


def _word(tokens: Sequence[Token], at: int) -> Piece:
    token = tokens[at]
    kind = token.kind
    if token.text in ("each time", "every time") and _kind(tokens, at + 1) in _ENDS:
        kind = "PER_TRADE"
    elif kind == "WHEN" and _kind(tokens, at + 1) in ("BUY", "TRADE") and _kind(tokens, at + 2) in _ENDS:
        return Piece(kind="PER_TRADE", end=at + 2)  # $3,000 every time I buy
    elif _is_loss(token):
        kind = "MAX_LOSS"
    elif kind == "INVEST" and token.text in ("take", "takes", "taking", "took"):
        kind = "TAKE"  # take 10 % is not yet put in 10 %
    elif kind == "NUM" and token.text == "one" and at and tokens[at - 1].kind in ("IN", "ON"):
        kind = "IT"  # all of it in that one
    elif kind == "TRADE" and _kind(tokens, at + 1) in ("SYMBOL", "COLON"):
        kind = "TRADE_SYMBOL"
    elif kind in ("MOVES", "TURNS") and token.text in _GIVEN:
        kind = "GETS"
    elif (
        token.text in ("time", "pop", "shot", "go")
        and at
        and tokens[at - 1].kind in ("MONEY", "DOLLARS", "SHARES", "EQUITY")
    ):
        kind = "PER_TRADE"  # $5,000 a time
    elif kind == "WHEN" and _kind(tokens, at + 1) in ("LONG", "SHORT", "INVESTED") and _kind(tokens, at + 2) in _ENDS:
        return Piece(kind="PER_TRADE", end=at + 2)  # fully invested when long
    elif kind == "HOLD" and token.text.split()[0] in _KEPT:
        kind = "KEEP"
    return Piece(kind=kind, end=at + 1, text=token.text)


_HITTING = ("WHEN", "AT", "IT", "IS", "MOVES", "TURNS", "REACHES", "BY", "ON", "EVERY", "PER_TRADE", "IN", "TRADE")
_AFTER_STOP = (
    "LOSS",
    "ENTRY_PRICE",
    "EQUALS",
    "IS",
    "REACHES",
    "END",
    "STOP_MARK",
    ",",
    "AND",
    "NOT",
    ")",
    "TRADE",
    "TO",
)


def _stopped(tokens: Sequence[Token], at: int) -> Piece | None:
    """if the stop is hit, at the stop, being stopped out, a stop-out: what a loss is measured by."""
    end = at
    while _kind(tokens, end) in _HITTING:
        end += 1
    kind = _kind(tokens, end)
    if end < len(tokens) and _is_loss(tokens[end]):
        return None
    if kind == "STOP_HIT" or (kind in ("STOP", "STOP_SET", "STOPPED") and _kind(tokens, end + 1) in _AFTER_STOP):
        end += 1
        while kind != "STOP_HIT" and _kind(tokens, end) in ("IS", "REACHES", "TRADE") and _then_lost(tokens, end + 1):
            end += 1
        return Piece(kind="STOPPED", end=end)
    return None


def _is_loss(token: Token) -> bool:
    """max loss, limit losses to: not where the stop is, but what it may cost."""
    named = token.kind in ("STOP", "STOP_SET") and "loss" in token.text and "stop" not in token.text
    return named and not token.text.startswith(("cut", "tak"))


def _then_lost(tokens: Sequence[Token], at: int) -> bool:
    return _kind(tokens, at) in ("LOSS", "ENTRY_PRICE", "REACHES", "END", "STOP_MARK", ",", "AND", "PER_TRADE")


def amount_at(tokens: Sequence[Token], at: int) -> Piece | None:
    return _cash(tokens, at) or _count(tokens, at) or _whole(tokens, at) or _share(tokens, at)


def _cash(tokens: Sequence[Token], at: int) -> Piece | None:
    token = tokens[at]
    dollars = _kind(tokens, at + 1) == "DOLLARS"
    thousands = token.kind == "NUM" and token.text[-1:] in "kK" and token.text[-2:-1].isdigit()
    if token.kind == "MONEY" or (token.kind == "NUM" and (dollars or thousands)):
        end = at + 1 + dollars
        unit = tokens[end - 1].text if dollars else token.text
        return Piece(kind="CASH", end=end, value=token.value, text=unit) if token.value > 0 else None
    return None


def _count(tokens: Sequence[Token], at: int) -> Piece | None:
    if tokens[at].kind != "NUM" or tokens[at].value < 1:
        return None
    if at and tokens[at - 1].text in ("quantity", "qty") and _kind(tokens, at + 1) in _ENDS:
        return Piece(kind="COUNT", end=at + 1, value=tokens[at].value)
    if _kind(tokens, at + 1) == "SHARES":
        return Piece(kind="COUNT", end=at + 2, value=tokens[at].value)
    if at and tokens[at - 1].kind in ("BUY", "SHORT") and _kind(tokens, at + 1) == "SYMBOL":
        return Piece(kind="COUNT", end=at + 1, value=tokens[at].value)  # buy 5 AAPL
    return None


def _whole(tokens: Sequence[Token], at: int) -> Piece | None:
    """all in, the whole account, all of my available cash."""
    if tokens[at].kind == "ALL_IN":
        end = at + 1
        return Piece(kind="ALL", end=_of_equity(tokens, end) or end)
    if tokens[at].kind in ("WHOLE", "BOTH") and (end := _of_equity(tokens, at + 1)):
        return Piece(kind="ALL", end=end)
    return None


def _share(tokens: Sequence[Token], at: int) -> Piece | None:
    """A percentage or a fraction, of the equity or of nothing that is named."""
    found = _percent(tokens, at)
    kind = "PCT"
    if found is None:
        found, kind = _fraction(tokens, at), "PART"
    if found is None:
        return None
    value, end = found
    equity = _of_equity(tokens, end)
    if kind == "PART" and tokens[at].kind == "NUM" and not equity and _kind(tokens, at + 1) != "THIRD":
        return None  # 0.25 and 1/3 are of the equity, or numbers
    return Piece(kind="SHARE" if equity else kind, end=equity or end, value=value)


def _percent(tokens: Sequence[Token], at: int) -> tuple[float, int] | None:
    """5 %, 50 bps, half a percent, half of one percent, a quarter of a percent."""
    token = tokens[at]
    if token.kind == "NUM" and _kind(tokens, at + 1) in ("PERCENT", "BPS"):
        return token.value / (1 if _kind(tokens, at + 1) == "PERCENT" else 100), at + 2
    if token.kind in ("HALF", "QUARTER"):
        end = at + 1
        while _kind(tokens, end) == "OF" or (_kind(tokens, end) == "NUM" and tokens[end].value == 1):
            end += 1
        if _kind(tokens, end) == "PERCENT":
            return _PARTS[token.kind] / 100, end + 1
    return None


def _fraction(tokens: Sequence[Token], at: int) -> tuple[float, int] | None:
    """half, a third, two thirds, 1/3, 0.25."""
    token = tokens[at]
    if token.kind in _PARTS:
        return (_PARTS[token.kind], at + 1) if not token.text.endswith("off") else None
    if token.kind != "NUM":
        return None
    if _kind(tokens, at + 1) in ("THIRD", "QUARTER", "FIFTH", "TENTH"):
        times = {"THIRD": 3, "QUARTER": 4, "FIFTH": 5, "TENTH": 10}[tokens[at + 1].kind]
        return (round(100 * token.value / times, 2), at + 2) if token.value <= times else None
    if _kind(tokens, at + 1) == "SLASH" and _kind(tokens, at + 2) == "NUM" and tokens[at + 2].value > token.value > 0:
        return round(100 * token.value / tokens[at + 2].value, 2), at + 3
    return (round(100 * token.value, 2), at + 1) if 0 < token.value < 1 else None


def _of_equity(tokens: Sequence[Token], at: int) -> int:
    """The token after "of the current equity", or 0. Hold 25 % cash: that is what stays out."""
    if _kind(tokens, at) == "EQUITY" and tokens[at].text == "cash" and _kind(tokens, at - 1) == "PERCENT":
        return 0
    while _kind(tokens, at) in ("OF", "IN", "ITS", "CURRENT", "WHOLE", "FROM"):
        at += 1
    here = tokens[at] if at < len(tokens) else None
    owned = here is not None and here.text in ("what have", "what own")
    return at + 1 if here is not None and (here.kind == "EQUITY" or owned) else 0


def tell_currency(r: Reader, piece: Piece) -> None:
    if piece.kind == "CASH" and foreign(piece.text):
        r.notices.append("amounts of money are in the currency of the data")
