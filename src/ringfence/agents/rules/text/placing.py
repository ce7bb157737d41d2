"""Where the instrument and the bars are named makes no difference where there is one of each: they are put first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ringfence.agents.rules.measures.frames import named_bars
from ringfence.agents.rules.measures.settings import NAMES
from ringfence.agents.rules.reader import Reader
from ringfence.agents.rules.text.tokens import Token

_BESIDE = ("ON", "IN", "FOR", "OF")
# After one of these a name is the subject of a condition: on SPY closing above its average.
_VERBS = (
    "IS", "CLOSES", "CROSS", "RISES", "FALLS", "ABOVE", "BELOW", "MOVES", "TURNS", "MAKES", "REACHES", "GAP",
    "AT_LEAST", "AT_MOST", "BETWEEN", "OPEN", "CLOSE", "HIGH", "LOW", "VOLUME", "LOSS", *NAMES,
)  # fmt: skip
_LISTED = ("SYMBOL", "AND", ",", "OR", "SLASH", "AGAINST")


def placed(tokens: Sequence[Token]) -> list[Token] | None:
    """The tokens with "on SPY" and "on hourly bars" before everything else, or None where nothing is to be moved."""
    rest, bars = _without_bars(tokens)
    rest, symbol = _without_symbol(rest)
    if not symbol and not bars:
        return None
    mark = replace(tokens[0], kind="STOP_MARK", text=".", end=tokens[0].start)
    first = [*symbol, mark] if symbol else []
    return [*first, *bars, *([mark] if bars else []), *rest]


def _without_symbol(tokens: list[Token]) -> tuple[list[Token], list[Token]]:
    symbols = [token for token in tokens if token.kind == "SYMBOL"]
    if len({token.text for token in symbols}) != 1:
        return tokens, []
    made: list[Token] = []
    bars: list[Token] = []
    moved = False
    n = 0
    while n < len(tokens):
        after = tokens[n + 2].kind if n + 2 < len(tokens) else "END"
        before = made[-1].kind if made else "END"
        measured = before in NAMES or before in (")", "NUM")
        if (
            tokens[n].kind in _BESIDE
            and n + 1 < len(tokens)
            and tokens[n + 1].kind == "SYMBOL"
            and (measured or after not in _VERBS)
        ):
            moved = True
            bars = bars or _bars_after(tokens[n + 2 :])
            n += 2 + len(bars) * (tokens[n + 2 : n + 2 + len(bars)] == bars)
            continue
        made.append(tokens[n])
        n += 1
    return (made, [symbols[0], *bars]) if moved else (tokens, [])


def _bars_after(tokens: Sequence[Token]) -> list[Token]:
    """EMA(5) crosses above EMA(20) on GBPUSD 4h: …"""
    kinds = [token.kind for token in tokens[:3]]
    if kinds[:2] in (["NUM", "HOUR"], ["NUM", "MINUTE"]) and kinds[2:] in (["COLON"], [","], ["THEN"]):
        return list(tokens[:2])
    return list(tokens[:1]) if kinds[:1] == ["FRAME"] else []


def _without_bars(tokens: Sequence[Token]) -> tuple[list[Token], list[Token]]:
    r = Reader(tokens=list(tokens))
    made: list[Token] = []
    found: list[Token] = []
    while not r.at("END"):
        start = r.i
        with r.trying() as attempt:
            bracket = r.take("(") is not None
            led = r.take("ON", "USE", "IN", "FOR") is not None
            first = r.i
            if (led or bracket) and named_bars(r) and (not bracket or r.take(")")):
                attempt.keep()
                found = r.tokens[first : r.i - bracket]
        if r.i == start:
            made.append(r.tokens[r.i])
            r.i += 1
    return made, found
