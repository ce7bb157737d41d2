"""The verb that opens a position, and on which side: buy, go long, sell TSLA short, sell and go short, enter."""

from __future__ import annotations

from ringfence.agents.rules.orders.collected import Collected, symbols
from ringfence.agents.rules.reader import Reader
from ringfence.agents.rules.text.tokens import Token
from ringfence.trade.description.model import AllIn, Side

# Words that say that it buys; other verbs of entering go the way that was said before: short only, a short idea.
_BUYS = ("buy", "bought", "buying", "long", "purchase", "accumulate", "scoop", "grab", "snap", "pick", "load")


def opening(r: Reader, said: Collected, first: int) -> Token | None:
    """The verb with which an entry begins."""
    r.take("IS") if r.at("LONG", "SHORT", ahead=1) else None  # I want to be long when …
    verb = r.take("BUY", "SHORT", "INVEST", "DCA", "LONG") or (
        r.take("SIGNAL_LINE") if r.at("COLON", ahead=1) else None
    )
    if verb is None and r.peek().text == "trigger" and r.at("COLON", ahead=1):
        verb = r.take(r.peek().kind)
    if verb is None and r.at("TITLE") and r.peek().text.startswith("buy"):
        verb = r.take("TITLE")  # buy the dip: what a dip is must follow
    if (
        verb is None
        and r.at("ALL_IN")
        and (r.at("WHEN", ahead=1) or (r.at("ON", "IN", ahead=1) and r.at("SYMBOL", ahead=2)))
    ):
        verb = r.take("ALL_IN")
        said.size(r, AllIn(), first)
    return verb or _turning_round(r, said) or _sold_short(r, said)


def _sold_short(r: Reader, said: Collected) -> Token | None:
    named = r.at("SELL") and r.at("SYMBOL", ahead=1) and r.at("SHORT", ahead=2)  # sell TSLA short
    if not named and not (r.at("SELL") and r.at("SHORT", ahead=1)):
        return None
    r.take("SELL")
    if named and not symbols(r, said):
        return None
    return r.take("SHORT")


def _turning_round(r: Reader, said: Collected) -> Token | None:
    """Sell and go short when …: the entry of the other side turns the position round."""
    with r.trying() as attempt:
        leaving = r.take("SELL", "EXIT", "COVER")
        held = {one.side for one in said.entries}
        if leaving is None or ("short" if leaving.kind == "COVER" else "long") not in held:
            return None
        r.skip("IT", "POSITION", "SHORT" if leaving.kind == "COVER" else "LONG")
        if not r.take("AND", "THEN", "SLASH", ","):
            return None
        r.skip("AND", "THEN", "ALSO")
        verb = r.take("BUY", "LONG") if leaving.kind == "COVER" else r.take("SHORT")
        if verb is not None:
            attempt.keep()
        return verb


def names_side(verb: Token) -> bool:
    """Buy and go long do, enter and open a position do not."""
    return verb.kind != "BUY" or any(word.startswith(_BUYS) for word in verb.text.split())


def side_of_verb(verb: Token, said: Collected) -> Side:
    if verb.kind == "SHORT":
        return "short"
    plain = verb.kind in ("BUY", "SIGNAL_LINE") and not names_side(verb)
    return "short" if said.short_only and plain else "long"
