"""What stands before the rules: a greeting, a name, and which line, instrument and bars they are about."""

from __future__ import annotations

from dataclasses import replace

from ringfence.agents.rules.measures.frames import frame
from ringfence.agents.rules.measures.lines import line
from ringfence.agents.rules.measures.settings import AVERAGES, NAMES, settings
from ringfence.agents.rules.orders.collected import Collected, symbols
from ringfence.agents.rules.reader import Reader, minutes
from ringfence.agents.rules.text.lexicon import lexicon
from ringfence.trade.description.catalogue import usual_line
from ringfence.trade.description.lines import lines_of
from ringfence.trade.description.model import Description, Line, Signals

_ENDS = ("COLON", "STOP_MARK", ",", "END", "DASH")
_SIDED = ("LONG_ONLY", "SHORT_ONLY", "TWO_SIDED")  # a long-only strategy for WMT
_RULES = ("BUY", "SHORT", "LONG", "WHEN", "HOLD", "THEN", "TRADE", "INVEST")
_DAYS = ("MONDAY", "TUESDAY", "WEDNESDAY", "THURSDAY", "FRIDAY")
_COLUMNS = ("OPEN", "HIGH", "LOW", "CLOSE", "PRICE", "VOLUME", "AVERAGE", "HIGHEST", "LOWEST", "SIGNAL_LINE")
_LINES = tuple(name for name in NAMES if name not in _COLUMNS)


def heading(r: Reader, said: Collected) -> bool:
    """Ichimoku on BTCUSD daily: … Please test going long …  A Bollinger breakout on GLD. …"""
    titled = named = False
    if r.i and r.peek(-1).kind not in (*_ENDS, *_SIDED, "AND", "THEN", "SYMBOL"):
        return False
    opening = not said.entries and not said.exits
    if opening and r.at("USE") and r.at(*_LINES, "NUM", ahead=1):
        r.take("USE")  # use the 14-day RSI on SPY
    while True:
        if named and r.at("AND") and r.at("TITLE", ahead=1):
            r.take_all("AND", "TITLE")  # Stochastic (14,3,3) and trend filter on CVX
        elif _title(r, said):
            titled = True
        elif named and (_defaults(r) or _settings_after(r, said)):
            pass
        elif opening and (titled or not named) and _subject(r, said):
            named = titled = True
        elif titled and r.at("ON", "FOR", "IN", "OF") and r.at("SYMBOL", "EVERY_SYMBOL", ahead=1):
            r.take("ON", "FOR", "IN", "OF")
            if not symbols(r, said):
                return False
            frame(r, bare=True)
        elif titled and r.at("SYMBOL") and symbols(r, said):
            frame(r, bare=True)
        elif not frame(r):
            break
        else:
            titled = True
    return titled and (r.at(*_ENDS) or (r.at(*_RULES) and not named) or (r.at("USE") and r.peek(-1).kind == "SYMBOL"))


def _title(r: Reader, said: Collected) -> bool:
    """Words of a name: none of them a rule. That it goes both ways must be so."""
    if r.at("LONG") and r.at("SLASH", "AND", ahead=1) and r.at("SHORT", ahead=2):
        if not r.at("ON", "FOR", "COLON", "STRATEGY", "STOP_MARK", ",", "SYMBOL", "TITLE", ahead=3):
            return False
        said.two_sided = True
        return r.take_all("LONG", r.peek(1).kind, "SHORT")
    r.take("ON", "USE") if r.at("TWO_SIDED", ahead=1) else None  # trade AAPL on a two-sided CCI
    if r.at("TWO_SIDED"):
        said.two_sided = True
        return r.take("TWO_SIDED") is not None
    if r.at("ALWAYS_IN") and r.at("STRATEGY", "TITLE", "ON", "FOR", ahead=1):
        said.always_in = True
        return r.take("ALWAYS_IN") is not None
    if r.at("SHORT") and r.at("STRATEGY", "TITLE", ahead=1) and r.at(*_ENDS, "ON", "FOR", "IN", "STRATEGY", ahead=2):
        said.short_only = True  # a short idea
        return r.take("SHORT") is not None
    if r.at("REACHES") and r.peek().text in ("test", "testing") and (not r.i or r.peek(-1).kind in (*_ENDS, *_SIDED)):
        return r.take("REACHES") is not None
    if r.take("INTRADAY"):
        if minutes(r.timeframe) >= minutes("1d"):
            raise r.ask(f"intraday, and the data has {r.timeframe} bars", ["give it data of 1h bars"], r.i - 1)
        return True
    if r.at("TRIPLE", "TWICE") and r.at(*AVERAGES, ahead=1) and r.at("STRATEGY", "CROSS", "TITLE", ahead=2):
        r.take_all(r.peek().kind, r.peek(1).kind)  # a triple moving average strategy
        return r.take("CROSS", "STRATEGY", "TITLE") is not None
    if r.at("GAP") and r.at("RISES", "FALLS", ahead=1) and r.peek(2).text in lexicon().titles:
        return r.take_all("GAP", r.peek(1).kind)
    if r.at("TITLE") and r.peek().text.startswith("buy"):
        return False  # what to buy must follow
    if r.take("PLEASE", "STRATEGY", "TITLE"):
        r.take(*_DAYS) if r.peek(-1).text == "turnaround" else None
        r.take("IS") if r.at("STRATEGY", ahead=1) else None
        return True
    if r.peek().text in lexicon().titles and r.at(*_ENDS, *_RULES, "ON", "FOR", "STRATEGY", "TITLE", "PLEASE", ahead=1):
        return r.take(r.peek().kind) is not None
    return False


def _subject(r: Reader, said: Collected) -> bool:
    """Williams %R 10, Supertrend (10, 3): its settings count for what follows, and "it" is this line."""
    if not r.at(*_LINES, "NUM"):
        return False
    if r.at(*AVERAGES) and not r.at("NUM", "(", ahead=1):
        return r.take(*AVERAGES) is not None
    if r.at("MOMENTUM", "VOLATILITY", "ROC") and r.at("STRATEGY", "TITLE", *_ENDS, ahead=1):
        return r.take("MOMENTUM", "VOLATILITY", "ROC") is not None  # a momentum idea: what it is called
    first = r.i
    with r.trying() as attempt:
        made = line(r, side="above")
        if made is None or made.name in ("close", "?", "highest", "lowest") or r.i == first:
            return False
        attempt.keep()
        if made.symbol and not said.symbols:  # RSI for SPY on hourly bars: what is traded
            said.symbols.append(made.symbol)
            r.traded = tuple(said.symbols)
            made = replace(made, symbol="")
        remember(r, made)
        said.about.append(made)
    return True


def _settings_after(r: Reader, said: Collected) -> bool:
    """Ichimoku on USDJPY daily (9, 26, 52): of the line that the heading is about."""
    about = said.about[-1] if said.about else None
    if (
        about is None
        or not r.at("(")
        or r.peek(-1).kind not in ("SYMBOL", "DAILY", "BAR", "CHART", "HOUR", "MINUTE", "FRAME", "HOURLY")
    ):
        return False
    with r.trying() as attempt:
        first = r.i
        made = settings(r, about)
        if r.i == first or about.values != usual_line(about.name).values:
            return False
        attempt.keep()
        said.about[-1] = made
        remember(r, made)
        return True


def remember(r: Reader, made: Line) -> None:
    r.it = r.right = made
    usual = usual_line(made.name).values
    if made.values != usual:
        r.known[made.name] = made.values


def _defaults(r: Reader) -> bool:
    """with default settings (9, 26, 52): which must be those that are usual."""
    first = r.i
    with r.trying() as attempt:
        r.take("USE", "AT", "ON")
        if not r.take("DEFAULTS") or r.it is None:
            return False
        given: list[float] = []
        if r.take("("):
            while (number := r.take("NUM")) is not None:
                given.append(number.value)
                r.take(",", "SLASH")
            if not r.take(")"):
                return False
        usual = usual_line(r.it.name).values
        if tuple(given) != usual[: len(given)]:
            raise r.ask("these are not the default settings", ["leave default out"], first)
        attempt.keep()
        r.it = replace(r.it, values=usual)
        return True


def usual_settings(r: Reader, said: Collected) -> bool:
    """Use the standard 12/26/9 setting: those of a line that the rules use, or it is asked."""
    first = r.i
    r.take("USE")
    if not (r.take("DEFAULTS") or (r.peek().text in ("standard", "classic", "usual", "default") and r.take("TITLE"))):
        return False
    bracket = r.take("(")
    given: list[float] = []
    while (number := r.take("NUM")) is not None:
        given.append(number.value)
        r.take("SLASH", ",", "TO") if r.at("NUM", ahead=1) else None
    if not given or (bracket and not r.take(")")):
        return False
    r.take("DEFAULTS", "SETTINGS", "BAR", "USE" if r.peek().text == "setting" else "BAR")
    if not r.at("END", "STOP_MARK", ",", "AND"):
        return False
    ruled = Signals(entries=tuple(said.entries), exits=tuple(said.exits))
    lines = lines_of(Description(plan=ruled)) if said.entries else ()
    if not any(line.values[: len(given)] == tuple(given) for line in lines):
        raise r.ask("these are settings of which line?", ["say them beside its name"], first)
    return True
