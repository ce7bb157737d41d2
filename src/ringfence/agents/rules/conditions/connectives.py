"""What joins one condition with the next: and, or, while, with, a comma; and what begins another rule instead."""

from __future__ import annotations

from ringfence.agents.rules.reader import Reader
from ringfence.trade.description.model import Compare, Condition, Cross, Held, Line, Trend

_ORDERS = ("SELL", "EXIT", "COVER", "BUY", "SHORT", "LONG")


def connective(r: Reader, last: Condition) -> str | None:
    opened = isinstance(last, Compare) and last.left == Line(name="open")
    dated = isinstance(last, Compare) and isinstance(last.left, Line) and last.left.ago > 0
    at = 1 if dated and r.at(",") else 0
    if opened and r.at("THEN") and r.at("CLOSES", "CLOSE", "FALLS", "RISES", ahead=1):
        return "then"  # opens above it and then closes below: of one bar
    if dated and r.at("THEN", ahead=at) and r.at("CURRENT", ahead=at + 1):
        return "then"  # yesterday it was below, then today it closes above
    if isinstance(last, (Held, Compare, Cross)) and r.at("THEN") and "then" in r.peek().text and not orders(r):
        return "next"  # below it for 5 bars and then above it
    if r.at("ONLY") and r.at("ON", "USE", ahead=1):
        return "and"
    if _another_rule(r):
        return None
    if r.at("AND", "OR"):
        return r.peek().kind.lower()
    if r.at("WHEN") and r.peek().text in ("while", "whilst"):
        return "while"
    if r.at("USE") and r.peek().text == "with":
        return "and"
    if isinstance(last, Trend) and r.at("AFTER") and r.at("NUM", ahead=1):
        return "after"  # closes up after 3 down days
    if r.at("AFTER", "BEFORE", "BETWEEN", "FROM") and r.at("TIME", ahead=1):
        return "and"  # RSI crosses below 30 after 9:45
    if r.at("ON") and (r.peek(1).text in ("green candle", "red candle") or r.at("VOLUME", ahead=1) or _busy(r)):
        return "and"
    if r.at(",") and r.at("WHEN", ahead=1) and r.peek(1).text in ("while", "whilst"):
        return "while"
    if r.at(","):
        return r.peek(1).kind.lower() if r.at("AND", "OR", ahead=1) else ","
    return None


def _another_rule(r: Reader) -> bool:
    """buy when …, and when it closes above 13, sell: what follows has an order of its own, as what came before has."""
    at = 1 if r.at(",") else 0
    if r.peek(at).text not in ("and when", "and if", "and once", "and as soon as", "and whenever"):
        return False
    begin = r.i
    while begin > 0 and r.tokens[begin - 1].kind != "STOP_MARK":
        begin -= 1
    if not any(token.kind in _ORDERS for token in r.tokens[begin : r.i]):
        return False
    n = at + 1
    while not r.at("END", "STOP_MARK", *_ORDERS, ahead=n):
        n += 1
    after = n + 1 + r.at("IT", "POSITION", "SYMBOL", "SHARES", ahead=n + 1)
    return r.at(*_ORDERS, ahead=n) and r.at("END", "STOP_MARK", ",", "AND", ahead=after)


def orders(r: Reader) -> bool:
    """…, sell: an order that the rule before it leads to."""
    return r.at(*_ORDERS, ahead=int(r.at(",", "THEN", "COLON")))


def _busy(r: Reader) -> bool:
    """on above-average volume, on twice its average volume."""
    kinds = [r.peek(n).kind for n in range(1, 8)]
    return r.at("ABOVE", "BELOW", "AT_LEAST", "TWICE", "TRIPLE", "NUM", ahead=1) and "VOLUME" in kinds
