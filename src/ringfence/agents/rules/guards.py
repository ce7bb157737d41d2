"""Stops, targets, trailing stops, time stops and partial exits in English."""

from __future__ import annotations

from dataclasses import dataclass, field

from ringfence.agents.rules.reader import Reader, money, percent, period
from ringfence.trade.description.model import Distance, Guards, Partial, Trail

_FROM_ENTRY = ("BELOW", "ABOVE", "FROM", "OF", "UNDER")


@dataclass(slots=True)
class Guarding:
    """What was said of guards so far."""

    stop: Distance | None = None
    target: Distance | None = None
    trail: Trail | None = None
    partials: list[Partial] = field(default_factory=list)
    time_stop_bars: int = 0

    def made(self) -> Guards:
        return Guards(
            stop=self.stop,
            target=self.target,
            trail=self.trail,
            partials=tuple(self.partials),
            time_stop_bars=self.time_stop_bars,
        )

    def set(self, r: Reader, name: str, value: object, first: int) -> bool:
        """Say it once: a second stop that differs is a question, not a change."""
        said = getattr(self, name)
        if said not in (None, 0, value):
            raise r.ask(f"two different values for the {name.replace('_', ' ')}", ["say which of them counts"], first)
        setattr(self, name, value)
        return True


def distance(r: Reader, *, price: bool = True) -> Distance | None:
    """5 %, 2 ATR, 2 times the 14-bar ATR, 2R, $95."""
    size = percent(r)
    if size is not None:
        return Distance(kind="percent", value=abs(size))
    with r.trying() as attempt:
        token = r.take("NUM") or r.take("TWICE", "TRIPLE")
        if token is not None:
            value = token.value if token.kind == "NUM" else 2 if token.kind == "TWICE" else 3
            r.take("TIMES")
            r.take("OF")
            if r.take("RISK"):
                r.take("STOP")
                attempt.keep()
                return Distance(kind="risk", value=value)
            bars = period(r, bare=True) if r.at("NUM") else None
            if r.take("ATR"):
                bars = bars or _atr_period(r)
                attempt.keep()
                return Distance(kind="atr", value=value, period=bars or 14)
    if r.at("ATR"):
        r.take("ATR")
        return Distance(kind="atr", value=1, period=_atr_period(r) or 14)
    return _price(r) if price else None


def _atr_period(r: Reader) -> int | None:
    with r.trying() as attempt:
        if r.take("(") and (bars := period(r, bare=True)) is not None and r.take(")"):
            attempt.keep()
            return bars
    number = r.peek()
    if r.at("NUM") and number.value == int(number.value) and r.at("END", "STOP_MARK", ",", "AND", "BELOW", ahead=1):
        r.take("NUM")
        return int(number.value)  # 2 x ATR 20
    return None


def _price(r: Reader) -> Distance | None:
    with r.trying() as attempt:
        r.take("AT")
        said = r.take("PRICE")
        r.take("OF")
        amount = money(r)
        if amount is None and said is not None and (number := r.take("NUM")):
            amount = number.value
        if amount is not None and amount > 0:
            attempt.keep()
            return Distance(kind="price", value=amount)
    return None


def from_entry(r: Reader) -> None:
    """below entry, from the purchase price, under the entry price."""
    with r.trying() as attempt:
        r.take("AWAY")
        if r.take(*_FROM_ENTRY):
            r.take("ITS")
            r.take("PRICE")
            if r.take("ENTRY_PRICE", "BUY"):
                r.take("PRICE")
                attempt.keep()


def _from_best(r: Reader, far: Distance) -> None:
    """from the highest close since entry: as an ATR stop is trailed; one in percent hangs from the best price."""
    first = r.i
    with r.trying() as attempt:
        if not r.take("FROM", "BELOW", "OF", "ABOVE"):
            return
        r.take("ITS")
        best = r.take("PEAK", "HIGHEST", "LOWEST", "HIGH", "LOW")
        column = r.take("CLOSE", "HIGH", "LOW", "PRICE") if best is not None else None
        since = r.take("SINCE_ENTRY")
        if best is None or (best.kind not in ("PEAK",) and column is None and since is None):
            return
        attempt.keep()
    closes = column is not None and column.kind == "CLOSE"
    plain = best.kind == "PEAK" or (column is not None and column.kind == "PRICE")
    if not plain and closes != (far.kind == "atr"):
        raise r.ask(
            "a trailing stop in percent hangs from the best price, one in average true ranges from the best close",
            ["trailing stop 5 % from the peak", "trailing stop 3 ATR from the highest close"],
            first,
        )


def guard(r: Reader, g: Guarding) -> bool:
    """One guard; False with nothing read."""
    return _noun_first(r, g) or _distance_first(r, g) or _reward(r, g) or _time_stop(r, g)


def _noun_first(r: Reader, g: Guarding) -> bool:
    """stop loss at 5 %, take profit of 10 %, trailing stop 3 %, trail the rest by 3 %, cut losses at 5 %."""
    first = r.i
    with r.trying() as attempt:
        token = r.take("STOP", "TARGET", "TRAIL", "STOP_SET")
        if token is None or (token.kind == "TARGET" and r.at("NUM") and r.at("VOLATILITY", ahead=2)):
            return False
        rest = r.take("REST") is not None
        r.take("STOP") if token.kind == "TRAIL" else None
        r.skip("AT", "OF", "IS", "BY", "COLON", "EQUALS", "USE", "TO", "ON", "FOR")
        rest = r.take("REST") is not None or rest
        r.skip("AT", "OF", "BY", "WHEN", "IT", "IS", "RISES", "FALLS", "GAIN", "LOSS")
        r.take("MINUS") if token.kind in ("STOP", "STOP_SET") else None
        far = distance(r)
        if far is None:
            return False
        if token.kind == "TRAIL":
            r.take("STOP")
            _from_best(r, far)
        from_entry(r)
        r.take("GAIN", "LOSS")
        rest = _of_rest(r) or rest
        attempt.keep()
        return _record(r, g, token.kind, far, first, rest=rest)


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
        token = r.take("STOP", "TARGET", "TRAIL") if far is not None else None
        if far is None or token is None:
            return False
        r.take("STOP")
        if token.kind == "TRAIL":
            _from_best(r, far)
        from_entry(r)
        rest = _of_rest(r)
        attempt.keep()
        return _record(r, g, token.kind, far, first, rest=rest)


def _record(r: Reader, g: Guarding, kind: str, far: Distance, first: int, *, rest: bool) -> bool:
    if kind == "TRAIL":
        if far.kind not in ("percent", "atr"):
            raise r.ask("a trailing stop needs a distance", ["trailing stop 3 %", "trailing stop 3 ATR"], first)
        return g.set(r, "trail", Trail(distance=far, rest=rest), first)
    if far.kind == "risk" and kind != "TARGET":
        raise r.ask("a stop cannot be measured by itself", ["stop loss 5 %", "stop loss 2 ATR"], first)
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
        found = _longest_stay(r)
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


def _longest_stay(r: Reader) -> int | None:
    """max 7 days in the trade, at most 10 bars per trade, 20 days max, no more than two weeks in a position."""
    capped = r.take("AT_MOST", "HIGHEST") or (r.take_all("NOT", "ABOVE") or None)
    bars = period(r) if r.at("NUM") else None
    if bars is None:
        return None
    capped = capped or (r.take("HIGHEST", "AT_MOST") if r.at(*_ENDS, "IN", "PER_TRADE", ahead=1) else None)
    if capped is None:
        return None
    if r.take("PER_TRADE") or r.take("HOLD"):
        return bars
    if r.take("IN"):
        r.take("EVERY")
        return bars if r.take("TRADE", "POSITION", "EQUITY", "PER_TRADE") else None
    return bars if r.at(*_ENDS) else None


_ENDS = ("END", "STOP_MARK", ",", ")")


def after_bars(r: Reader, *, held: bool = False) -> int | None:
    """after 10 days, for 10 bars, 3 days later; where it is `held`, also 10 days."""
    with r.trying() as attempt:
        r.skip("IT", "POSITION")
        if r.take("NEXT_DAY"):
            attempt.keep()
            return 1
        word = r.take("AFTER", "FOR") or (r.take_all("WHEN", "NEITHER_HIT") and r.take("IN", "AFTER", "FOR"))
        r.skip("AT_MOST", "HOLD", "IT", "FOR")
        bars = period(r)
        if bars is not None and not r.at("CONSECUTIVE") and (r.take("LATER") or word or held):
            attempt.keep()
            return bars
    return None
