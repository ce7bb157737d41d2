"""How far a trade has gone in English: at a 5 % profit, 6 % against me, when it falls 10 % from its peak."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from ringfence.agents.rules.conditions.movements import span
from ringfence.agents.rules.orders.distances import distance
from ringfence.agents.rules.orders.guards import Best, from_best, from_entry
from ringfence.agents.rules.reader import Reader
from ringfence.agents.rules.text.tokens import Token
from ringfence.trade.description.model import Distance, Side

_OVER = ("END", "STOP_MARK", ",", "OR", "AND", "USE", "WHICHEVER_FIRST", ")", "THEN", "SELL", "EXIT", "COVER", "COLON")
_LED = ("WHEN", "AT", "FOR", "ON", "BY", "USE", "AFTER")
_TURNED = {"RISES": "FALLS", "FALLS": "RISES", "ABOVE": "BELOW", "BELOW": "ABOVE"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Reached:
    """A distance from the entry, or from the best price since."""

    far: Distance
    way: Literal["gain", "loss", "trail"]
    best: Best = ""
    priced: bool = False  # said by where the price goes: a gain of one side is a loss of the other


def reached(r: Reader, side: Side, *, listed: bool = False) -> Reached | None:
    """A distance from the entry. `listed`: one of several, where a mere + or - says which way it is."""
    first = r.i
    word = r.take(*_LED)
    r.take("SYMBOL") if r.traded == (r.peek().text,) else None  # or XLE has fallen 7 % from its peak
    r.skip("IT", "PRICE", "POSITION", "IS", "MOVES", "TRADE", "CLOSE", "EITHER", "ITS")
    r.take("FIRST") if r.at("GAIN", ahead=1) else None
    if r.at("TWICE", "TRIPLE") and r.peek().text[-1] in "ds" and r.at(*_OVER, ahead=1):
        times = 2 if r.take("TWICE") else 3
        r.take("TRIPLE")
        return Reached(far=Distance(kind="percent", value=100.0 * (times - 1)), way="gain") if side == "long" else None
    named = r.take("GAIN", "LOSS", "RISES", "FALLS", "AGAINST_ME", "MAKES")
    r.skip("REACHES", "OF", "IS", "BY", "AT", "ABOVE", "AT_LEAST", "TO") if named else r.skip("REACHES", "AT_LEAST")
    sign = r.peek().text[:1] if r.at("NUM") else ""
    far = distance(r, price=False)
    if far is None:
        return None
    r.take("OR_MORE")
    if _on_the_way(r, named.kind if named else "", side):
        best = from_best(r, far, named=True)
        return Reached(far=far, way="trail", best=best) if best is not None else None
    after = r.take("GAIN", "LOSS", "ABOVE", "BELOW", "RISES", "FALLS", "FROM", "TARGET", "STOP", "MOVES", "AGAINST_ME")
    if after is not None and after.kind in ("ABOVE", "BELOW", "FROM") and not (r.at(*_OVER) and after.kind != "FROM"):
        r.take("ITS")
        if not r.take("ENTRY_PRICE", "BUY"):
            return None
        r.take("PRICE")
    elif after is not None:
        from_entry(r)
    _of_trade(r)
    if r.at("IN", "ABOVE", "ON", "BETWEEN", "CURRENT") and span(r) is not None:
        return None  # a change over a period, which is a condition
    signed = sign in ("+", "-")
    led = word is not None and word.kind in ("AT", "FOR")
    if named is None and after is None and not signed and not led:
        return None
    if any(token.kind == "CLOSE" for token in r.tokens[first : r.i]):
        raise r.ask(
            "a stop or a target counts within the bar, not on its close",
            ["take profit 5 %", "stop loss 5 %"],
            first,
        )
    words = {token.kind for token in (named, after) if token is not None}
    if signed and side == "short" and words == {"FROM"}:
        raise r.ask("is that what the trade makes, or what the price does?", ["stop loss 5 %", "target 5 %"], first)
    if signed and not words - {"FROM"}:  # -4 % from my price
        return Reached(far=far, way="gain" if sign == "+" else "loss")
    ways = [token for token in (named, after) if token is not None and token.kind in _TURNED]
    priced = bool(ways) and not all(
        token.text in ("up", "down", "gain", "gains", "gain of", "gains of") for token in ways
    )
    if side == "short" and not _of_position(r, first, named, after):  # a price that falls is what it waits for
        words = {_TURNED.get(word, word) for word in words}
    lost = words & {"LOSS", "FALLS", "BELOW", "STOP", "AGAINST_ME"}
    return Reached(far=far, way="loss" if lost else "gain", priced=priced)


def _of_position(r: Reader, first: int, named: Token | None, after: Token | None) -> bool:
    """at a 10 % gain, a loss of 5 %, when the trade is up 10 %, when I am down 5 %: of what is held."""
    if after is not None and after.text.startswith(("gain", "loss")):
        return True
    if named is None:
        return False
    begin = max((n for n in range(first) if r.tokens[n].kind in ("COVER", "EXIT", "STOP_MARK")), default=first)
    before = {token.kind for token in r.tokens[begin : r.tokens.index(named)]}  # … up 10 % or down 5 %: of one subject
    if before & {"TRADE", "POSITION"} or named.text in ("gain", "gain of", "gains of", "loss of"):
        return True
    if named.text in ("gained", "gains", "gaining") and not before & {"PRICE", "CLOSE"}:
        raise r.ask("has the price gained, or the trade?", ["cover at a 5 % profit", "stop loss 5 %"], first)
    return named.text in ("up", "down") and not before & {"IT", "PRICE", "CLOSE", "ITS"}


def _of_trade(r: Reader) -> None:
    """a 5 % loss on the position."""
    with r.trying() as attempt:
        if r.take("ON", "OF") and r.take("POSITION", "TRADE", "IT", "PER_TRADE", "SINCE_ENTRY"):
            attempt.keep()


def _on_the_way(r: Reader, named: str, side: Side) -> bool:
    """… 10 % from its peak: a price that has turned back, after which comes what it is measured from."""
    at = 0 if r.at("FROM", "BELOW", "OFF", "ABOVE") else -1
    if r.at("FALLS", "RISES", "LOSS") and r.at("FROM", "BELOW", "OFF", "ABOVE", ahead=1):
        named, at = r.peek().kind, 1
    if at < 0:
        return False
    back = r.peek(at).kind in ("BELOW", "ABOVE") or named in (
        ("FALLS", "LOSS") if side == "long" else ("RISES", "LOSS")
    )
    ahead = at + 1 + r.at("ITS", ahead=at + 1)
    best = r.at("PEAK", "HIGHEST", "LOWEST", ahead=ahead) or (
        r.at("HIGH", "LOW", ahead=ahead) and r.at("SINCE_ENTRY", ahead=ahead + 1)
    )
    own = r.peek(at).text.startswith("off ")  # off its peak: one word of the lexicon
    if not (back or r.at("OFF", ahead=at) or own) or not best or r.at("OF", ahead=ahead + 1):
        return False
    r.take("FALLS", "RISES", "LOSS") if at == 1 else None
    return True
