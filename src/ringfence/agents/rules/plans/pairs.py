"""Two instruments against each other in English."""

from __future__ import annotations

from dataclasses import replace

from ringfence.agents.rules.measures.frames import frame
from ringfence.agents.rules.orders.collected import SEPARATORS, Collected, symbols
from ringfence.agents.rules.reader import Reader, percent, period
from ringfence.agents.rules.text.tokens import Token
from ringfence.trade.description.model import Description, Pair

# What a number of a pair may follow, and what may stand between the two.
_EXITS = ("EXIT", "SELL", "CLOSE", "COVER")
_STOPS = ("STOP", "GIVE_UP", "STOP_SET")
_VERBS = (
    "BUY", "ENTER_AT", "LONG", *_EXITS, *_STOPS, "ABOVE", "BELOW", "CROSS", "RISES", "FALLS", "SHORT", "MOVES",
    "AT_LEAST", "OPEN", "OPENED", "THROUGH", "TRADE", "INVEST",
)  # fmt: skip
_BETWEEN = (
    "WHEN", "AT", "IT", "IS", "ZSCORE", "RATIO", "SPREAD", "ABOVE", "BELOW", "MOVES", "RISES", "FALLS", "TO",
    "BY", "OF", "ON", "CROSS", "REACHES", "POSITION", "ITS", "BACK", "IN", "THROUGH", "AT_LEAST", "BETWEEN",
    "AND", "BOTH", "LOSS", "LEG", "PAIR", "RETURNS", "AT_MOST", "MINUS", "OR", "EITHER_WAY", "TRADE", "EVERY",
)  # fmt: skip
_PLAIN = (
    *SEPARATORS, "RATIO", "SPREAD", "PAIR", "TRADE", "AGAINST", "BETWEEN", "BY", "OF", "IN", "FOR", "ON", "USE",
    "ZSCORE", "STRATEGY", "STDEV", "AWAY", "ITS", "IT", "WHEN", "IS", "PRICE", "TO", "AT", "FROM", "AVERAGE",
    "EQUALLY", "PLEASE", "INVEST", "CLOSE", "CLOSES", "SLASH", "OPPOSITE", "TITLE", "EITHER_WAY", "AS_PAIR", "(", ")",
    "LEG", "INDEPENDENTLY", "OPENED", "BOTH", "DAILY", "BOTH_CASES",
)  # fmt: skip
_ENDS = ("STOP_MARK", "COLON", "CLOSE", "EXIT", "STOP", "GIVE_UP", "OPPOSITE", "COVER")
_SIDES = ("BUY", "LONG", "SHORT", "SELL")
_MIRRORED = ("OPPOSITE", "EITHER_WAY", "BOTH_CASES", "CHEAP", "DEAR", "INDEPENDENTLY")


def _check_sides(r: Reader, names: list[str]) -> None:
    """A pair sells its first instrument where the measure is high, and buys it where it is low: never the other way.

    What is done and where may come in either order: short KO when z > 2, when z > 2 short KO.
    """
    done: str | None = None  # what is done with the first instrument
    where: bool | None = None  # whether the measure is high
    ordered = ""  # which of the two came first since the last break
    ways: set[bool] = set()
    stances: set[str] = set()
    for n, token in enumerate(r.tokens):
        after = r.tokens[n + 1] if n + 1 < len(r.tokens) else None
        stance = _stance(token, after, names)
        if token.kind in _ENDS:
            done, where, ordered = None, None, ""
            continue
        high = token.kind in ("ABOVE", "AT_LEAST")
        bound = (high or token.kind in ("BELOW", "AT_MOST")) and after is not None and after.kind == "NUM"
        if bound and n + 2 < len(r.tokens) and r.tokens[n + 2].kind in ("DAY", "BAR", "WEEK", "MONTH", "YEAR"):
            continue  # over 60 days
        if bound and (turn := _turned(r.tokens, n)) is not None:
            high = turn
        if stance:
            done, ordered = stance, ordered or "done"
            stances.add(stance)
        elif bound:
            where, ordered = high, ordered or "where"
        binds = bound if ordered == "done" else bool(stance)
        if binds and where is not None:
            ways.add(where)
        if binds and done is not None and where is not None and (done == "sell") != where:
            raise r.ask(
                "a pair sells its first instrument where the ratio is high, and buys it where it is low",
                ["name the two in the other order, as the ratio is taken"],
                n,
            )
    if len(ways) == len(stances) == 1 and not any(token.kind in _MIRRORED for token in r.tokens):
        raise r.ask("a pair goes both ways: only this one is named", ["and the other way round below"], 0)


def _turned(tokens: list[Token], n: int) -> bool | None:
    """more than 2 standard deviations below: where it lies is said after the number."""
    kinds = [token.kind for token in tokens[n + 2 : n + 4]]
    side = kinds[1:2] if kinds[:1] == ["STDEV"] else kinds[:1]
    return side == ["ABOVE"] if side in (["ABOVE"], ["BELOW"]) else None


def _stance(token: Token, after: Token | None, names: list[str]) -> str:
    """What a verb does with the first of the two."""
    if token.kind not in _SIDES or after is None:
        return ""
    first = (
        after.kind in ("RATIO", "SPREAD", "IT", "ABOVE", "BELOW")
        or after.text in names[:1]
        or token.text.endswith(" it")
    )
    if not first and after.text not in names[1:]:
        return ""
    return "buy" if (token.kind in ("BUY", "LONG")) == first else "sell"


def _ordered(tokens: list[Token]) -> list[str]:
    """The two as their ratio is taken: of F over GM, GLD/GDX, KO to PEP; else as they are named."""
    kinds = [token.kind for token in tokens]
    named = list(dict.fromkeys(token.text for token in tokens if token.kind == "SYMBOL"))
    for n, kind in enumerate(kinds):
        near = {*kinds[max(0, n - 4) : n], *kinds[n + 3 : n + 5]}
        if (
            kinds[n : n + 3 : 2] == ["SYMBOL", "SYMBOL"]
            and kinds[n + 1] in ("SLASH", "TO", "ABOVE", "MINUS", "AGAINST")
            and near & {"RATIO", "SPREAD", "ZSCORE"}
            and kind
        ):
            return [tokens[n].text, tokens[n + 2].text]
    return named


def _plainer(tokens: list[Token]) -> list[Token]:
    """A log ratio is a ratio; at +2 short KO is above 2; MA beside a sign is Mastercard, where that is named."""
    kinds = [token.kind for token in tokens]
    tokens = [one for n, one in enumerate(tokens) if kinds[max(0, n - 2) : n + 1] != ["SELL", "SYMBOL", "SHORT"]]
    made = list(tokens)
    named = {token.text for token in tokens if token.kind == "SYMBOL"}
    for n, token in enumerate(tokens):
        before = tokens[n - 1].kind if n else ""
        after = [one.kind for one in tokens[n + 1 : n + 3]]
        if token.kind == "LOG_RATIO":
            made[n] = replace(token, kind="RATIO")
        elif token.kind == "SMA" and token.text == "ma" and "MA" in named and before in ("MINUS", "SLASH", "AGAINST"):
            made[n] = replace(token, kind="SYMBOL", text="MA")
        elif (
            token.kind == "AT"
            and after[:1] == ["NUM"]
            and (
                (after[1:] and after[1] in _SIDES)
                or (before in ("SYMBOL", "OPPOSITE", *_SIDES) and _signed(tokens[n + 1]))
                or _sided(tokens, n)
            )
        ):
            made[n] = replace(token, kind="BELOW" if tokens[n + 1].value < 0 else "ABOVE")
    return [one for n, one in enumerate(made) if not _further_out(made, n)]


def _signed(number: Token) -> bool:
    return number.text[:1] in ("+", "-")


def _further_out(tokens: list[Token], n: int) -> bool:
    """at -1.5 or lower, at +1.5 or higher: a measure that is beyond it is so anyway."""
    if n < 2 or tokens[n].kind not in ("OR_LESS", "OR_MORE"):
        return False
    side = "BELOW" if tokens[n].kind == "OR_LESS" else "ABOVE"
    return tokens[n - 1].kind == "NUM" and _signed(tokens[n - 1]) and tokens[n - 2].kind == side


def _sided(tokens: list[Token], n: int) -> bool:
    """short the ratio at 2, buy it at -2: where the measure lies is said by the number."""
    kinds = [token.kind for token in tokens[max(0, n - 2) : n]]
    return len(kinds) == 2 and kinds[0] in _SIDES and kinds[1] in ("RATIO", "SPREAD", "IT")


def pair(r: Reader) -> Description | None:
    """Trade KO against PEP by the ratio over 60 bars: enter at 2, exit at 0 standard deviations."""
    said, first = Collected(), r.i
    found: dict[str, float] = {}
    logs = any(token.kind == "LOG_RATIO" for token in r.tokens)
    r.tokens = _plainer(r.tokens)
    names = _ordered(r.tokens)
    _check_sides(r, names)
    kinds = {token.kind for token in r.tokens}
    runs = zip(r.tokens, r.tokens[1:], r.tokens[2:], strict=False)
    apart = any((a.kind, b.kind, c.kind) == ("SYMBOL", "MINUS", "SYMBOL") for a, b, c in runs)  # EWA minus EWC
    kinds |= {"SPREAD"} if apart else set()
    if {"RATIO", "SPREAD"} <= kinds and not ((logs or not apart) and _spread_only_as_name(r)):
        raise r.ask("the ratio or the spread?", ["by the ratio", "by the spread"], first)
    while not r.at("END"):
        if r.at(*_SIDES) and r.at("RATIO", "SPREAD", "SYMBOL", ahead=1):
            r.take(*_SIDES)
            continue
        if r.at("SHORT") and r.i > 1 and (r.peek(-2).kind, r.peek(-1).kind) == ("SELL", "SYMBOL"):
            r.take("SHORT")  # sell KO short
            continue
        if frame(r, bare=True) or _lasting(r, found, first) or _size(r, found, first) or _both_sides(r):
            continue
        if _pair_number(r, found, first) or _further(r, found, first) or _window(r, found, first):
            continue
        if symbols(r, said):
            if r.at("ABOVE", "MINUS") and r.at("SYMBOL", ahead=1):
                r.take("ABOVE", "MINUS")  # the ratio F over GM
            r.take("AGAINST")
            continue
        if not r.take(*_PLAIN) and not r.take_all("EVERY", "SIDE"):
            return None
    if len(said.symbols) != 2 or len(names) != 2:
        raise r.ask(
            "a pair needs two instruments",
            ["Trade KO against PEP by the ratio: enter at 2, exit at 0"],
            first,
        )
    if "entry" not in found:
        raise r.ask("enter at how many standard deviations?", ["enter at 2 standard deviations"], first)
    if logs and "SPREAD" in kinds and not _spread_only_as_name(r):
        raise r.ask("the log ratio or the spread?", ["by the log ratio", "by the spread"], first)
    plan = Pair(
        measure="log ratio" if logs else "spread" if "SPREAD" in kinds and "RATIO" not in kinds else "ratio",
        period=int(found.get("period", 60)),
        entry=found["entry"],
        exit=found.get("exit", 0),
        stop=found.get("stop", 0),
        percent=found.get("percent", 50),
        time_stop_bars=int(found.get("time", 0)),
    )
    if "period" not in found:
        r.notices.append("no window was given: the mean and the deviation are taken of 60 bars")
    return Description(plan=plan, symbols=tuple(names))


def _spread_only_as_name(r: Reader) -> bool:
    """close the spread: what is held, and not what is measured."""
    at = [n for n, token in enumerate(r.tokens) if token.kind == "SPREAD"]
    return all(n and r.tokens[n - 1].kind in (*_EXITS, *_SIDES, "TRADE") for n in at)


def _set(r: Reader, found: dict[str, float], name: str, value: float, first: int) -> None:
    plain = int(value) if value == int(value) else value
    if found.setdefault(name, plain) != plain:
        raise r.ask(f"two values for the {name}", ["say which of them counts"], first)


def _lasting(r: Reader, found: dict[str, float], first: int) -> bool:
    """or after 30 days; give up if it is still open after 25 bars; exit after 20 days."""
    with r.trying() as attempt:
        r.take("OR")
        r.skip(*_EXITS, "GIVE_UP", "POSITION", "IT", "BOTH", "LEG")
        r.skip("WHEN", "IT", "IS", "OPEN", "NEITHER_HIT", "POSITION", "TRADE", "STILL_OPEN")
        most = r.peek().text in ("max", "maximum") and r.take("HIGHEST") is not None
        if not most and not r.take("AFTER", "TIME_STOP", "AT_MOST"):
            return False
        r.skip("OF", "IS", "COLON")
        bars = period(r)
        if bars is None:
            return False
        r.skip("AT_MOST", "LATER")
        _set(r, found, "time", bars, first)
        attempt.keep()
        return True


def _size(r: Reader, found: dict[str, float], first: int) -> bool:
    """25 % of the equity in each leg, 20 % per side, a quarter of the equity on each side."""
    with r.trying() as attempt:
        r.skip("USE", "INVEST")
        token = r.take("QUARTER", "HALF", "THIRD")
        size = {"QUARTER": 25.0, "HALF": 50.0, "THIRD": 33.33}[token.kind] if token else percent(r)
        if size is None:
            return False
        equity = r.take("OF") is not None
        r.skip("ITS", "CURRENT")
        equity = r.take("EQUITY") is not None and equity
        r.take("IN", "ON", "PER", "TO", "FOR")
        each = r.take("LEG", "INDEPENDENTLY", *(("PER_TRADE",) if r.peek().text == "in each" else ())) is not None
        if not each and r.take("EVERY"):
            each = r.take("SYMBOL", "LEG", "SIDE", "STOCKS") is None or True
        named = r.peek(-1).kind in ("LEG", "INDEPENDENTLY") or (each and r.at("STOP_MARK", "END"))  # 25 % each
        if not each or not (equity or named):
            return False
        if size > 50:
            raise r.ask("more than half of the equity on each side", ["50 % of the equity on each side"], first)
        _set(r, found, "percent", size, first)
        attempt.keep()
        return True


def _both_sides(r: Reader) -> bool:
    """selling the rich one and buying the cheap one, fade it: as a pair does."""
    with r.trying() as attempt:
        side = r.take(*_SIDES)
        which = r.take("CHEAP", "DEAR") if side is not None else None
        if side is not None and which is not None and (side.kind in ("BUY", "LONG")) == (which.kind == "CHEAP"):
            attempt.keep()
            return True
    with r.trying() as attempt:
        if r.peek().text.startswith("fade") and r.take("FALLS", "TITLE") and r.take("IT", "SPREAD", "RATIO"):
            attempt.keep()
            return True
    return False


def _value(r: Reader) -> Token | None:
    """2, plus or minus 2."""
    with r.trying() as attempt:
        if r.take("AND") and r.take("OR") and r.take("MINUS") and (number := r.take("NUM")) is not None:
            attempt.keep()
            return number
    number = r.take("NUM")
    if number is not None and r.at("OR", "AND", "SLASH") and r.at("NUM", ahead=1) and r.peek(1).value == -number.value:
        r.take_all(r.peek().kind, "NUM")  # past +2 or -2
    return number


def _pair_number(r: Reader, found: dict[str, float], first: int) -> bool:
    """enter at 2, exit at 0.5, stop at 4; z above 2."""
    with r.trying() as attempt:
        closing = r.at("CLOSE") and r.at("WHEN", "AT", "BOTH", "POSITION", "IT", "LEG", "PAIR", "BETWEEN", ahead=1)
        past = r.peek().text == "past" and r.at("NUM", ahead=1)
        verb = r.take("PREVIOUS") if past else r.take(*(kind for kind in _VERBS if kind != "CLOSE" or closing))
        if verb is None:
            return False
        name = "exit" if verb.kind in _EXITS else "stop" if verb.kind in _STOPS else "entry"
        while not _is_both(r) and (r.take(*_BETWEEN) or (r.peek().text == "past" and r.take("PREVIOUS"))):
            pass
        number = _value(r)
        if number is None and name == "exit" and r.take("REVERTS", "AVERAGE"):
            r.skip("TO", "AVERAGE", "ITS")
            value = 0.0
        elif number is None:
            return False
        else:
            value = abs(number.value)  # between -0.5 and 0.5
        if r.at("BAR", "DAY", "WEEK", "MONTH", "YEAR", "PERCENT", "DOLLARS"):
            return False
        r.take("STDEV")
        r.skip("FROM", "AVERAGE", "ITS", "OF") if r.at("FROM") and r.at("AVERAGE", "ITS", ahead=1) else None
        r.take("CROSS") if name == "exit" and value == 0 else None  # at the zero crossing
        if r.at("ABOVE", "BELOW") and r.at("ITS", "STOP_MARK", ",", "END", ahead=1):
            r.take("ABOVE", "BELOW")  # more than 2 standard deviations above its 60-day average
            r.take("ITS")
        if name == "exit" and "exit" in found and value > found.get("entry", value):
            name = "stop"  # out further away than it came in
        if name == "exit" and r.at("OF", "FROM") and (r.at("AVERAGE", ahead=1) or r.peek(1).value == 0):
            r.take("OF", "FROM")  # within 0.5 of zero
            r.take("NUM", "AVERAGE")
        _set(r, found, name, value, first)
        attempt.keep()
        return True


def _is_both(r: Reader) -> bool:
    return r.at("AND") and r.at("OR", ahead=1) and r.at("MINUS", ahead=2)


def _further(r: Reader, found: dict[str, float], first: int) -> bool:
    """… exit at 0.5, or when it reaches 3.5: further out than the entry it is where it is given up."""
    with r.trying() as attempt:
        if not r.take("OR") or "exit" not in found:
            return False
        r.skip("WHEN", "IT", "ZSCORE", "IS", "MOVES", "EXIT")
        if not r.take("REACHES", "ABOVE", "THROUGH", "AT", "RISES") and not (
            r.peek().text == "past" and r.take("PREVIOUS")
        ):
            return False
        r.skip("TO", "ABOVE", "THROUGH")
        number = _value(r)
        if number is None or r.at("BAR", "DAY", "WEEK", "MONTH", "PERCENT"):
            return False
        if abs(number.value) <= found.get("entry", float("inf")):
            return False
        r.take("STDEV")
        _set(r, found, "stop", abs(number.value), first)
        attempt.keep()
        return True


def _window(r: Reader, found: dict[str, float], first: int) -> bool:
    with r.trying() as attempt:
        r.take("ABOVE", "USE", "IN", "FOR")
        r.take("PREVIOUS")
        bars = period(r)
        if bars is None:
            if r.take("LOOKBACK") and (r.take("OF") or True):
                r.skip("IS", "COLON")
                bars = period(r, bare=True)
            if bars is None:
                return False
        r.skip("LOOKBACK", "AVERAGE", "ZSCORE")
        if found.setdefault("period", bars) != bars:
            raise r.ask("two windows", ["say which of them counts"], first)
        attempt.keep()
        return True
