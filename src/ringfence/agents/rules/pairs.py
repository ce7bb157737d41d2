"""Two instruments against each other in English."""

from __future__ import annotations

from ringfence.agents.rules.collected import SEPARATORS, Collected, symbols
from ringfence.agents.rules.reader import Reader, period
from ringfence.agents.rules.tokens import Token
from ringfence.trade.description.model import Description, Pair

# What a number of a pair may follow, and what may stand between the two.
_VERBS = (
    "BUY", "ENTER_AT", "LONG", "EXIT", "SELL", "STOP", "GIVE_UP", "ABOVE", "BELOW", "CROSS", "RISES", "FALLS",
    "SHORT", "MOVES", "AT_LEAST",
)  # fmt: skip
_BETWEEN = (
    "WHEN", "AT", "IT", "IS", "ZSCORE", "RATIO", "SPREAD", "ABOVE", "BELOW", "MOVES", "RISES", "FALLS", "TO",
    "BY", "OF", "ON", "CROSS", "REACHES", "POSITION", "ITS", "BACK", "IN", "THROUGH", "AT_LEAST", "BETWEEN",
    "AND", "BOTH", "LOSS",
)  # fmt: skip


_ENDS = ("STOP_MARK", "COLON", "CLOSE", "EXIT", "STOP", "GIVE_UP", "OPPOSITE", "COVER")


def _check_sides(r: Reader) -> None:
    """A pair sells its first instrument where the measure is high, and buys it where it is low: never the other way.

    What is done and where may come in either order: short KO when z > 2, when z > 2 short KO.
    """
    names = list(dict.fromkeys(token.text for token in r.tokens if token.kind == "SYMBOL"))
    done: str | None = None  # what is done with the first instrument
    where: bool | None = None  # whether the measure is high
    ordered = ""  # which of the two came first since the last break
    for n, token in enumerate(r.tokens):
        after = r.tokens[n + 1] if n + 1 < len(r.tokens) else None
        stance = _stance(token, after, names)
        if token.kind in _ENDS:
            done, where, ordered = None, None, ""
            continue
        high = token.kind in ("ABOVE", "AT_LEAST")
        bound = (high or token.kind in ("BELOW", "AT_MOST")) and after is not None and after.kind == "NUM"
        if stance:
            done, ordered = stance, ordered or "done"
        elif bound:
            where, ordered = high, ordered or "where"
        binds = bound if ordered == "done" else bool(stance)
        if binds and done is not None and where is not None and (done == "sell") != where:
            raise r.ask(
                "a pair sells its first instrument where the ratio is high, and buys it where it is low",
                ["name the two in the other order, as the ratio is taken"],
                n,
            )


def _stance(token: Token, after: Token | None, names: list[str]) -> str:
    """What a verb does with the first of the two."""
    if token.kind not in ("BUY", "LONG", "SHORT", "SELL") or after is None:
        return ""
    first = after.kind in ("RATIO", "SPREAD", "IT") or after.text in names[:1] or token.text.endswith(" it")
    if not first and after.text not in names[1:]:
        return ""
    return "buy" if (token.kind in ("BUY", "LONG")) == first else "sell"


def pair(r: Reader) -> Description | None:
    """Trade KO against PEP by the ratio over 60 bars: enter at 2, exit at 0 standard deviations."""
    said, first = Collected(), r.i
    found: dict[str, float] = {}
    _check_sides(r)
    kinds = {token.kind for token in r.tokens}
    if {"RATIO", "SPREAD"} <= kinds:
        raise r.ask("the ratio or the spread?", ["by the ratio", "by the spread"], first)
    while not r.at("END"):
        if r.at("BUY", "LONG", "SHORT", "SELL") and r.at("RATIO", "SPREAD", "SYMBOL", ahead=1):
            r.take("BUY", "LONG", "SHORT", "SELL")
            continue
        if _pair_number(r, found, first) or _window(r, found, first):
            continue
        if symbols(r, said):
            r.take("AGAINST")
            continue
        if not r.take(
            *SEPARATORS, "RATIO", "SPREAD", "PAIR", "TRADE", "AGAINST", "BETWEEN", "BY", "OF", "IN", "FOR", "ON", "USE",
            "ZSCORE", "STRATEGY", "STDEV", "AWAY", "ITS", "IT", "WHEN", "IS", "PRICE", "TO", "AT", "FROM", "AVERAGE",
            "EQUALLY", "PLEASE", "INVEST", "CLOSE", "CLOSES", "SLASH", "OPPOSITE", "TITLE",
        ):  # fmt: skip
            return None
    if len(said.symbols) != 2:
        raise r.ask(
            "a pair needs two instruments",
            ["Trade KO against PEP by the ratio: enter at 2, exit at 0"],
            first,
        )
    if "entry" not in found:
        raise r.ask("enter at how many standard deviations?", ["enter at 2 standard deviations"], first)
    plan = Pair(
        measure="spread" if "SPREAD" in kinds else "ratio",
        period=int(found.get("period", 60)),
        entry=found["entry"],
        exit=found.get("exit", 0),
        stop=found.get("stop", 0),
    )
    if "period" not in found:
        r.notices.append("no window was given: the mean and the deviation are taken of 60 bars")
    return Description(plan=plan, symbols=tuple(said.symbols))


def _pair_number(r: Reader, found: dict[str, float], first: int) -> bool:
    """enter at 2, exit at 0.5, stop at 4; z above 2."""
    with r.trying() as attempt:
        closing = r.at("CLOSE") and r.at("WHEN", "AT", "BOTH", "POSITION", "IT", ahead=1)
        verb = r.take("CLOSE" if closing else "BUY", *_VERBS)
        if verb is None:
            return False
        name = (
            "exit"
            if verb.kind in ("EXIT", "SELL", "CLOSE")
            else "stop"
            if verb.kind in ("STOP", "GIVE_UP")
            else "entry"
        )
        r.skip(*_BETWEEN)
        number = r.take("NUM")
        if number is None and name == "exit" and r.take("REVERTS", "AVERAGE"):
            r.skip("TO", "AVERAGE", "ITS")
            value = 0.0
        elif number is None:
            return False
        else:
            value = abs(number.value)
        if r.at("BAR", "DAY", "WEEK", "MONTH", "YEAR"):
            return False
        r.take("STDEV")
        r.skip("FROM", "AVERAGE", "ITS", "OF") if r.at("FROM") and r.at("AVERAGE", "ITS", ahead=1) else None
        said = found.setdefault(name, int(value) if value == int(value) else value)
        if said != value:
            raise r.ask(f"two values for the {name}", ["say which of them counts"], first)
        attempt.keep()
        return True


def _window(r: Reader, found: dict[str, float], first: int) -> bool:
    with r.trying() as attempt:
        r.take("ABOVE", "USE", "IN")
        r.take("PREVIOUS")
        bars = period(r)
        if bars is None:
            if r.take("LOOKBACK") and (r.take("OF") or True):
                bars = period(r, bare=True)
            if bars is None:
                return False
        r.skip("LOOKBACK", "AVERAGE", "ZSCORE")
        if found.setdefault("period", bars) != bars:
            raise r.ask("two windows", ["say which of them counts"], first)
        attempt.keep()
        return True
