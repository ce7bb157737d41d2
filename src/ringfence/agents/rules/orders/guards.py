"""Stops, targets, trailing stops, time stops and partial exits in English."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from ringfence.agents.rules.measures.recalled import atr_bars
from ringfence.agents.rules.orders.distances import atr_period, distance
from ringfence.agents.rules.orders.lasting import longest_stay, none_longer
from ringfence.agents.rules.reader import Reader, period
from ringfence.trade.description.model import BreakEven, Distance, Guards, Partial, Trail

_FROM_ENTRY = ("BELOW", "ABOVE", "FROM", "OF", "UNDER")


@dataclass(slots=True)
class Guarding:
    """What was said of guards so far."""

    stop: Distance | None = None
    target: Distance | None = None
    target_rest: bool = False
    trail: Trail | None = None
    partials: list[Partial] = field(default_factory=list)
    break_even: BreakEven | None = None
    time_stop_bars: int = 0

    def made(self) -> Guards:
        return Guards(
            stop=self.stop,
            target=self.target,
            target_rest=self.target_rest,
            trail=self.trail,
            partials=tuple(self.partials),
            break_even=self.break_even,
            time_stop_bars=self.time_stop_bars,
        )

    def set(self, r: Reader, name: str, value: object, first: int) -> bool:
        """Say it once: a second stop that differs is a question, not a change."""
        said = getattr(self, name)
        if said not in (None, 0, value):
            raise r.ask(f"two different values for the {name.replace('_', ' ')}", ["say which of them counts"], first)
        setattr(self, name, value)
        return True


def from_entry(r: Reader) -> None:
    """below entry, from the purchase price, under the entry price."""
    with r.trying() as attempt:
        away = r.take("AWAY")
        if r.take(*_FROM_ENTRY) or (away is not None and away.text.endswith("from")):
            r.take("ITS")
            r.take("PRICE")
            if r.take("ENTRY_PRICE", "BUY"):
                r.take("PRICE")
                attempt.keep()
            elif r.peek(-1).kind in ("BELOW", "ABOVE") and r.at(*_ENDING):
                attempt.keep()  # a stop 8 % above


Best = Literal["", "price", "close"]


def from_best(r: Reader, far: Distance, *, named: bool = False) -> Best | None:
    """from the highest close since entry: what it hangs from, "" where that is the customary one.

    `named`: it must be said that it is counted from the best, and since the entry.
    """
    with r.trying() as attempt:
        if r.take("BEHIND"):
            r.skip("IT", "POSITION", "PRICE", "TRADE")
            attempt.keep()
            return ""
        if not r.take("FROM", "BELOW", "OF", "ABOVE", "OFF"):
            return None
        r.take("ITS")
        best = r.take("PEAK", "HIGHEST", "LOWEST", "HIGH", "LOW", "TOP")
        column = r.take("CLOSE", "HIGH", "LOW", "PRICE") if best is not None else None
        r.take("REACHES")
        since = r.take("SINCE_ENTRY")
        if best is None or (named and best.kind != "PEAK" and since is None):
            return None
        if best.kind in ("HIGHEST", "LOWEST", "TOP") and column is None and since is None:
            return None
        attempt.keep()
    closes = column is not None and column.kind == "CLOSE"
    if closes == (far.kind == "atr"):
        return ""
    return "close" if closes else "price"


def guard(r: Reader, g: Guarding) -> bool:
    """One guard; False with nothing read."""
    return (
        _atr_first(r, g) or _noun_first(r, g) or _distance_first(r, g) or _reward(r, g) or _plain(r, g)
    ) or _time_stop(r, g)


_ENDING = ("END", "STOP_MARK", ",", "AND", "OR", "WHICHEVER_FIRST")
_BETWEEN = ("AT", "OF", "IS", "BY", "COLON", "EQUALS", "USE", "TO", "ON", "FOR", "PER_TRADE", "MOVES")


def _noun_first(r: Reader, g: Guarding) -> bool:
    """stop loss at 5 %, take profit of 10 %, trailing stop 3 %, trail the rest by 3 %, cut losses at 5 %."""
    first = r.i
    with r.trying() as attempt:
        token = r.take("STOP", "TARGET", "TRAIL", "STOP_SET")
        if token is None or (token.kind == "TARGET" and r.at("NUM") and r.at("VOLATILITY", ahead=2)):
            return False
        if token.kind == "STOP" and r.at("TRAIL"):
            token = r.take("TRAIL") or token  # the stop trails by 3 ATR
        rest = r.take("REST") is not None
        r.take("STOP") if token.kind == "TRAIL" else None
        _called_risk(r)
        r.skip(*_BETWEEN)
        rest = r.take("REST") is not None or rest
        if token.kind == "TRAIL":
            r.skip("AT", "OF", "BY", "IT", "IS", "POSITION", "PRICE")
        else:
            r.skip("AT", "OF", "BY", "WHEN", "IT", "IS", "RISES", "FALLS", "GAIN", "LOSS", "POSITION", "MOVES")
        _entry_and(r)
        r.take("MINUS") if token.kind in ("STOP", "STOP_SET") else None
        r.take("PER_TRADE")
        far = distance(r, price=not r.at("MONEY") or not _below_entry(r)) or _twice_that(r, g, token.kind)
        if far is None:
            return False
        kind = token.kind
        if kind == "STOP" and _and_trails(r):
            kind = "TRAIL"
        best: Best = ""
        if kind == "TRAIL":
            r.take("STOP", "TRAIL")
            chandelier = "chandelier" in token.text and far.kind == "atr"  # it hangs from the highest high
            found = from_best(r, far)
            best = found if found is not None else "price" if chandelier else ""
        _tail(r)
        rest = _of_rest(r) or rest
        attempt.keep()
        return _record(r, g, kind, far, first, rest=rest, best=best)


def _twice_that(r: Reader, g: Guarding, kind: str) -> Distance | None:
    """my stop is 5 % and my target is twice that."""
    if kind != "TARGET" or g.stop is None or not r.at("TWICE", "TRIPLE") or not r.at(*_ENDING, ahead=1):
        return None
    token = r.take("TWICE", "TRIPLE")
    return Distance(kind="risk", value=2 if token is not None and token.kind == "TWICE" else 3)


def _called_risk(r: Reader) -> None:
    """the initial stop (our R) is 2 ATR."""
    with r.trying() as attempt:
        if r.take("(") and (r.take("RISK") or (r.peek().text in ("R", "r") and r.take(r.peek().kind))) and r.take(")"):
            attempt.keep()


def _below_entry(r: Reader) -> bool:
    """$5 below entry: an amount, and no price."""
    return r.at("BELOW", "ABOVE", "FROM", "AWAY", ahead=1)


def _and_trails(r: Reader) -> bool:
    """stop: 10 % trailing; stop is 2 ATR, trailing."""
    with r.trying() as attempt:
        r.take(",")
        if r.peek().text in ("trailing", "trailed") and r.take("TRAIL") and r.at("END", "STOP_MARK", ",", "AND", ")"):
            attempt.keep()
            return True
    return False


def _entry_and(r: Reader) -> None:
    """entry minus 2 ATR, entry + 4 ATR."""
    with r.trying() as attempt:
        entered = r.take("BUY", "ENTRY_PRICE") is not None
        r.take("PRICE")
        if entered and r.take("MINUS", "DASH", "AND", "COLON"):
            attempt.keep()


def _tail(r: Reader) -> None:
    """below entry, on it, per trade, on both sides, is hit: what is so of every stop and target."""
    while True:
        start = r.i
        from_entry(r)
        r.take("GAIN", "LOSS")
        r.take("BELOW", "ABOVE") if r.at(*_ENDING, ahead=1) else None  # stop 2 ATR below, target 3 ATR above
        with r.trying() as attempt:
            if r.take("ON", "FOR") and r.take("IT", "POSITION", "PER_TRADE", "TRADE", "EVERY_SYMBOL"):
                attempt.keep()
        r.take("PER_TRADE", "SINCE_ENTRY", "AWAY", "AGAINST_ME")
        if r.at(*_ENDING, ahead=1):
            r.take("FALLS", "RISES") if r.peek().text in ("down", "up") else None
            r.take("ONLY")
            r.take("BOTH_CASES", "EITHER_WAY", "INDEPENDENTLY")
            r.take("USE") if r.peek().text in ("apply", "applies") else None
            r.take("WHEN") if r.peek().text == "in case" else None  # just in case
            r.take("TIMES") if r.peek().text == "time" else None  # the whole time
        if r.i == start:
            return


def _atr_first(r: Reader, g: Guarding) -> bool:
    """an ATR stop of 2.5, ATR(14) trailing stop 3x, an ATR stop 1.5x (14)."""
    first = r.i
    with r.trying() as attempt:
        bars = period(r, bare=True) if r.at("NUM") and r.at("ATR", ahead=2) else None
        if not r.take("ATR"):
            return False
        bars = bars or atr_period(r)
        r.take("RANKED") if r.peek().text == "based" else None
        token = r.take("STOP", "TARGET", "TRAIL")
        r.take("STOP") if token is not None and token.kind == "TRAIL" else None
        r.skip("OF", "AT", "IS", "COLON", "EQUALS", "USE", ",", "MULTIPLIER")
        number = r.take("NUM") if token is not None else None
        if token is None or number is None or number.value <= 0 or r.at("PERCENT", "ATR", "DOLLARS"):
            return False
        r.skip("TIMES", "MULTIPLIER")
        if r.at("ATR", "PERCENT", "RISK"):
            return False
        bars = atr_period(r) or bars
        attempt.keep()
        _tail(r)
        far = Distance(kind="atr", value=number.value, period=atr_bars(r, bars))
        return _record(r, g, token.kind, far, first, rest=False)


def _plain(r: Reader, g: Guarding) -> bool:
    """profit 10 %, loss: 5 %, no more than a 10 % loss, as a clause of its own."""
    first = r.i
    with r.trying() as attempt:
        if r.take("AT_MOST"):
            far = distance(r, price=False)
            if far is None or not r.take("LOSS"):
                return False
            attempt.keep()
            _tail(r)
            return _record(r, g, "STOP", far, first, rest=False)
        token = r.take("GAIN", "LOSS", "REWARD")
        if token is None or token.text not in ("profit", "gain", "loss", "reward"):
            return False
        r.skip("COLON", "IS", "AT", "OF", "EQUALS")
        far = distance(r, price=False)
        if far is None or not r.at("END", "STOP_MARK", ",", "AND"):
            return False
        attempt.keep()
        return _record(r, g, "STOP" if token.kind == "LOSS" else "TARGET", far, first, rest=False)


def _of_rest(r: Reader) -> bool:
    with r.trying() as attempt:
        r.take("ON", "FOR", "OF")
        if r.take("REST"):
            attempt.keep()
            return True
    return False


def _distance_first(r: Reader, g: Guarding) -> bool:
    """5 % stop, 2 ATR trailing stop, 10 % profit target."""
    first = r.i
    with r.trying() as attempt:
        far = distance(r, price=False)
        r.take("GAIN", "RISES")
        token = r.take("STOP", "TARGET", "TRAIL", "STOP_HIT") if far is not None else None
        if far is None or token is None or " or " in token.text:
            return False
        kind = token.kind
        if kind == "STOP_HIT":  # a 5 % stop is hit
            kind = {"stop": "STOP", "target": "TARGET", "trailing": "TRAIL"}.get(token.text.split()[0], "")
        if not kind:
            return False
        r.take("STOP")
        best = (from_best(r, far) or "") if kind == "TRAIL" else ""
        _tail(r)
        rest = _of_rest(r)
        attempt.keep()
        return _record(r, g, kind, far, first, rest=rest, best=best)


def _record(r: Reader, g: Guarding, kind: str, far: Distance, first: int, *, rest: bool, best: Best = "") -> bool:
    if kind == "TRAIL":
        if far.kind not in ("percent", "atr"):
            raise r.ask("a trailing stop needs a distance", ["trailing stop 3 %", "trailing stop 3 ATR"], first)
        return g.set(r, "trail", Trail(distance=far, rest=rest, best=best), first)
    if far.kind == "risk" and kind != "TARGET":
        raise r.ask("a stop cannot be measured by itself", ["stop loss 5 %", "stop loss 2 ATR"], first)
    g.target_rest = g.target_rest or (rest and kind == "TARGET")
    return g.set(r, "target" if kind == "TARGET" else "stop", far, first)


def _reward(r: Reader, g: Guarding) -> bool:
    """a risk reward ratio of 1:2, a 2:1 reward to risk."""
    first = r.i
    with r.trying() as attempt:
        ratio = _ratio(r)
        named = r.take("RISK", "REWARD") is not None
        r.skip("TO", "SLASH", "COLON", "AND")
        if not named or not r.take("RISK", "REWARD"):
            return False
        order = r.peek(-1).kind
        r.skip("RATIO", "OF", "AT", "IS")
        ratio = ratio or _ratio(r)
        if ratio is None:
            return False
        one, two = ratio
        attempt.keep()
        times = two / one if order == "REWARD" else one / two
        if one == 1 and two > 1:
            times = two
        elif two == 1 and one > 1:
            times = one
        return g.set(r, "target", Distance(kind="risk", value=int(times) if times == int(times) else times), first)


def _ratio(r: Reader) -> tuple[float, float] | None:
    with r.trying() as attempt:
        one = r.take("NUM")
        if one is None:
            return None
        two = r.take("NUM") if r.take("COLON", "TO") else None
        attempt.keep()
        return (one.value, two.value) if two else (one.value, 1)


def _time_stop(r: Reader, g: Guarding) -> bool:
    """time stop 10 bars, 10-day time stop, maximum holding period of 20 days, max 7 days in the trade."""
    first = r.i
    with r.trying() as attempt:
        found = none_longer(r) or longest_stay(r)
        if found is not None:
            attempt.keep()
            return g.set(r, "time_stop_bars", found, first)
    with r.trying() as attempt:
        bars = period(r) if r.at("NUM") else None
        if not r.take("TIME_STOP"):
            return False
        if bars is None:
            r.skip("AFTER", "OF", "IS", "AT", "COLON", "AT_MOST")
            bars = period(r)
        if bars is None:
            return False
        attempt.keep()
        return g.set(r, "time_stop_bars", bars, first)
