"""How much to trade, in English: 20 % of the equity, $500, 100 shares, risk 1 % per trade, target 10 % volatility."""

from __future__ import annotations

from ringfence.agents.rules.reader import Reader, money, percent, period
from ringfence.trade.description.model import (
    AllIn,
    FixedCash,
    FixedShares,
    PercentOfEquity,
    RiskPerTrade,
    Sizing,
    VolatilityTarget,
)

_PARTS = {"HALF": 50, "THIRD": 33.33, "QUARTER": 25}
_BARS_PER_YEAR = {"1d": 252, "1w": 52, "1mo": 12}


def sizing(r: Reader, *, spoken: bool = False) -> Sizing | None:
    """`spoken`: after a verb such as use or invest, where 20 % alone is a size."""
    return _risk(r) or _volatility(r) or _cash(r) or _shares(r) or _part(r, spoken=spoken) or _all(r)


def _risk(r: Reader) -> Sizing | None:
    """risk 1 % of the equity per trade, 1 % risk per trade, lose 0.5 % of the equity if the stop is hit."""
    lost = _lost(r)
    if lost is not None:
        return lost
    with r.trying() as attempt:
        never = r.take("NOT") is not None
        named = r.take("RISK") is not None
        if never and not (named and r.take("ABOVE")):
            return None  # never risk more than 1 %
        if named:
            r.skip("OF", "AT_MOST", "IS", "BY")
        size = percent(r)
        if size is None or not (named or r.take("RISK")):
            return None
        _of_equity(r)
        r.skip("PER_TRADE")
        if r.at("TRADE") and not r.at("SYMBOL", "COLON", ahead=1):
            r.take("TRADE")  # 1 % a trade
        attempt.keep()
        return RiskPerTrade(percent=size)


def _lost(r: Reader) -> Sizing | None:
    """size each trade so that I lose 0.5 % of equity if the stop gets hit, never lose more than 1 % per trade."""
    with r.trying() as attempt:
        sized = r.take("SIZE") is not None
        r.skip("POSITION", "PER_TRADE", "TRADE", "TO", "IS", "COLON", "IT", "BY") if sized else None
        stopped = _stopped(r)
        r.skip(",") if stopped else None
        capped = r.take("NOT") is not None
        if not r.take("LOSS", "RISK", "ENTRY_PRICE"):
            return None
        if capped and not r.at("ABOVE"):
            return None  # not lose 1 %
        capped = r.take("ABOVE" if capped else "AT_MOST") is not None
        r.skip("OF", "IS", "ABOUT")
        size = percent(r)
        if size is None:
            return None
        equity = _of_equity(r)
        stopped = _stopped(r) or stopped
        each = r.take("PER_TRADE") is not None
        stopped = _stopped(r) or stopped
        if not (stopped or (each and (capped or sized))) or not (equity or sized or each or stopped):
            return None
        attempt.keep()
        return RiskPerTrade(percent=size)


def _stopped(r: Reader) -> bool:
    """if the stop is hit, when stopped out."""
    with r.trying() as attempt:
        r.take("WHEN", "AT")
        r.take("IT")
        if r.take("STOP_HIT") or (r.peek().text.endswith("stopped out") and r.take("STOP", "STOP_SET")):
            attempt.keep()
            return True
    return False


def _volatility(r: Reader) -> Sizing | None:
    first = r.i
    with r.trying() as attempt:
        size: float | None = None
        if r.take("TARGET", "SIZE"):
            r.skip("FOR", "OF", "BY", "TO", "TARGET", "YEARLY", "PER_TRADE", "POSITION", "IT")
            size = percent(r)
            r.take("YEARLY")
            if r.take("VOLATILITY") is None:
                return None
        elif r.at("VOLATILITY") and r.at("TARGET", ahead=1):
            r.take_all("VOLATILITY", "TARGET")
        elif r.at("NUM") and r.at("PERCENT", ahead=1):
            size = percent(r)
            r.take("YEARLY")
            if not r.take_all("VOLATILITY", "TARGET"):
                return None
        else:
            return None
        r.skip("OF", "AT", "IS", "TARGET", "COLON")
        size = size if size is not None else percent(r)
        if size is None:
            return None
        r.take("YEARLY")
        window = 20
        if r.at("ABOVE", "IN") and r.take("ABOVE", "IN"):
            window = period(r) or 0
            if not window:
                return None
        window = _measured_over(r) or window
        year = _BARS_PER_YEAR.get(r.timeframe, 0)
        with r.trying() as said:
            if r.take("AT") and (number := r.take("NUM")) and r.take("BAR") and (r.take("YEAR") or r.take("YEARLY")):
                year = int(number.value)
                said.keep()
        if not year:
            raise r.ask(f"how many {r.timeframe} bars has a year?", ["add: at 1638 bars a year"], first)
        attempt.keep()
        return VolatilityTarget(percent=size, period=window, bars_per_year=year)


def _measured_over(r: Reader) -> int | None:
    """using the 30-day standard deviation of returns: what the volatility is."""
    with r.trying() as attempt:
        bars = period(r, bare=True) if r.take("USE") else None
        named = bars is not None and r.take("STDEV", "VOLATILITY") is not None
        if named and r.take("OF"):
            r.take("DAILY") if r.timeframe == "1d" else None
            named = r.peek().text == "returns" and r.take("ROC") is not None
        if named:
            attempt.keep()
            return bars
    return None


def _cash(r: Reader) -> Sizing | None:
    with r.trying() as attempt:
        named = r.take("SIZE") is not None
        r.skip("OF", "IS", "AT", "COLON", "EQUALS", "PER_TRADE") if named else None
        amount = money(r)
        if amount is None or amount <= 0:
            return None
        r.take("WORTH")
        r.skip("PER_TRADE")
        if r.peek().text == "trade" and r.at("END", "STOP_MARK", ",", "AND", ahead=1):
            r.take("TRADE")  # $300 a trade
        attempt.keep()
        return FixedCash(amount=amount)


def _shares(r: Reader) -> Sizing | None:
    with r.trying() as attempt:
        verb = r.peek(-1).kind if r.i else ""
        number = r.take("NUM")
        counted = verb in ("BUY", "SHORT") and r.at("SYMBOL")  # buy 5 AAPL
        if number is None or not (r.take("SHARES") or counted) or number.value < 1:
            return None
        r.skip("PER_TRADE")
        if r.peek().text in ("every time", "each time") and r.at("END", "STOP_MARK", ",", ahead=1):
            r.take("WHEN")
        attempt.keep()
        return FixedShares(count=number.value)


def _part(r: Reader, *, spoken: bool) -> Sizing | None:
    with r.trying() as attempt:
        named = r.take("SIZE") is not None
        r.skip("OF", "IS", "AT", "COLON", "EQUALS", "TO", "POSITION") if named else None
        token = r.take(*_PARTS)
        size = _PARTS[token.kind] if token else percent(r)
        if size is None or not 0 < size <= 100:
            return None
        equity = _of_equity(r)
        word = r.take("POSITION", "SIZE") or r.take("PER_TRADE")
        if r.peek().text == "each" and r.at("END", "STOP_MARK", ",", ahead=1):
            word = r.take("EVERY")  # a third of the equity each
        r.skip("PER_TRADE")
        if not (
            named or equity or (word is not None) or (spoken and r.at("IN", "WHEN", "END", "STOP_MARK", ",", "ON"))
        ):
            return None
        if (
            spoken
            and not (named or equity or word)
            and r.at("IN", "ON")
            and not r.at("SYMBOL", "EVERY_SYMBOL", ahead=1)
        ):
            return None
        attempt.keep()
        return PercentOfEquity(percent=size) if size != 100 else AllIn()


def _of_equity(r: Reader) -> bool:
    with r.trying() as attempt:
        r.take("OF", "IN")
        r.skip("ITS", "CURRENT")
        if r.take("EQUITY"):
            attempt.keep()
            return True
    return False


def _all(r: Reader) -> Sizing | None:
    with r.trying() as attempt:
        r.take("GO")
        if r.take("ALL_IN"):
            attempt.keep()
            return AllIn()
    return None
