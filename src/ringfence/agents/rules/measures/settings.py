"""The words that name lines, and their settings: RSI(14), MACD 12/26/9, the 14-day RSI, RSI of 14 days."""

from __future__ import annotations

from dataclasses import replace

from ringfence.agents.rules.measures.worded import worded
from ringfence.agents.rules.reader import UNITS, Reader, counted, period
from ringfence.trade.description.catalogue import KINDS, SOURCED
from ringfence.trade.description.model import Line

AVERAGES = {"SMA": "sma", "EMA": "ema", "WMA": "wma"}
SIMPLE = {
    "RSI": "rsi", "ATR": "atr", "ADX": "adx", "PLUS_DI": "plus_di", "MINUS_DI": "minus_di", "CCI": "cci",
    "WILLIAMS": "williams_r", "MFI": "mfi", "ROC": "roc", "MOMENTUM": "momentum", "OBV": "obv", "VWAP": "vwap",
    "VOLATILITY": "volatility", "SESSION_VWAP": "session_vwap", "BAND_WIDTH": "band_width",
    "PERCENT_B": "percent_b",
}  # fmt: skip
PARTED = {
    "MACD": ("macd", "line"), "MACD_HISTOGRAM": ("macd", "histogram"), "MACD_SIGNAL": ("macd", "signal"),
    "STOCHASTIC": ("stochastic", "k"), "PERCENT_K": ("stochastic", "k"), "PERCENT_D": ("stochastic", "d"),
    "SUPERTREND": ("supertrend", "line"), "SAR": ("parabolic_sar", ""), "ICHIMOKU": ("ichimoku", "conversion"),
    "TENKAN": ("ichimoku", "conversion"), "KIJUN": ("ichimoku", "base"), "SPAN_A": ("ichimoku", "span_a"),
    "SPAN_B": ("ichimoku", "span_b"),
}  # fmt: skip
PART_WORDS = {
    "macd": {"MACD_HISTOGRAM": "histogram", "SIGNAL_LINE": "signal", "MACD_SIGNAL": "signal", "LINE": "line"},
    "stochastic": {"PERCENT_K": "k", "PERCENT_D": "d"},
    "ichimoku": {"TENKAN": "conversion", "KIJUN": "base", "SPAN_A": "span_a", "SPAN_B": "span_b"},
    "supertrend": {"DIRECTION": "direction", "LINE": "line"},
}
BANDS = {"BOLLINGER": "bollinger", "KELTNER": "keltner", "DONCHIAN": "donchian"}
SIDES = {"UPPER": "upper", "MIDDLE": "middle", "LOWER": "lower", "BELOW": "lower", "TOP": "upper"}
COLUMNS = {"OPEN": "open", "HIGH": "high", "LOW": "low", "CLOSE": "close", "PRICE": "close", "VOLUME": "volume"}
NAMES = (*AVERAGES, *SIMPLE, *PARTED, *BANDS, *COLUMNS, "AVERAGE", "HIGHEST", "LOWEST", "CLOUD", "SIGNAL_LINE")
TIMEFRAMES = {"DAILY": "1d", "WEEKLY": "1w", "MONTHLY": "1mo", "HOURLY": "1h"}
SUFFIXES = {"MINUTE": "m", "HOUR": "h", "DAY": "d", "WEEK": "w", "MONTH": "mo"}
# After these a number is a setting: RSI 2 is below 10.
_VERBS = (
    "IS", "CROSS", "MOVES", "RISES", "FALLS", "ABOVE", "BELOW", "AT_LEAST", "AT_MOST", "BETWEEN", "CLOSES", "REACHES",
    "TURNS", "NOT", "RECLAIMS", "LOSES_LINE", "EQUALS",
)  # fmt: skip
# What may stand beside the numbers in brackets: (20 EMA, 2 x ATR 10), (20 days, 2.5 standard deviations).
_SETTING_WORDS = ("EMA", "SMA", "ATR", "TIMES", "STDEV", "BAR")
_PART_NAMES = tuple({word for words in PART_WORDS.values() for word in words})


def settings(r: Reader, made: Line) -> Line:
    """(12, 26, 9) or one number after the name; those that are missing keep their usual values."""
    kind = KINDS[made.name]
    said = worded(r, made)
    if said is not None:
        return said
    if r.at("(") and r.at(*COLUMNS, ahead=1) and r.at(",", ahead=2) and made.name in SOURCED:
        return _of_column(r, made)
    if r.at("(") and r.at("NUM", ahead=1):
        with r.trying() as attempt:
            r.take("(")
            given = []
            while (number := r.take("NUM")) is not None:
                given.append(number.value)
                r.skip(*UNITS, *(_SETTING_WORDS if len(kind.settings) > 1 else ()))
                r.take(",")
                r.take("SLASH", "AND")
                r.skip(*_SETTING_WORDS) if len(kind.settings) > 1 else None
            if r.take(")") and len(given) <= len(kind.settings):
                attempt.keep()
                return replace(made, values=(*given, *made.values[len(given) :]))
        return made
    if kind.settings and r.at("NUM"):
        if r.at(*UNITS, ahead=1) and not r.at("AGO", "CONSECUTIVE", ahead=2):
            bars = period(r)
            assert bars is not None
            return replace(made, values=(bars, *made.values[1:]))
        stuck = r.peek(-1).end == r.peek().start or 0 in made.values  # rsi14; an average without a period has no sense
        heading = r.at("COLON", ahead=1) or (r.at("ON", "FOR", ahead=1) and r.at("SYMBOL", ahead=2))
        if heading or r.at(*_VERBS, *_PART_NAMES, ahead=1) or (stuck and not r.at("PERCENT", "TIMES", ahead=1)):
            number = r.take("NUM")
            assert number is not None
            return replace(made, values=(number.value, *made.values[1:]))
        if r.at(",", "SLASH", ahead=1) and r.at("NUM", ahead=2) and len(kind.settings) > 1 and not counted(r):
            return _listed_settings(r, made)
    if kind.settings and r.at("OF", "IN", "ABOVE"):
        return _spoken_period(r, made)
    return made


def _of_column(r: Reader, made: Line) -> Line:
    """sma(close, 50), ema(high, 20)."""
    with r.trying() as attempt:
        r.take("(")
        column = r.take(*COLUMNS)
        r.take(",")
        number = r.take("NUM")
        if column is None or number is None or not r.take(")"):
            return made
        attempt.keep()
        source = COLUMNS[column.kind]
        made = replace(made, values=(number.value, *made.values[1:]))
        return made if source == KINDS[made.name].columns[0] else replace(made, source=source)


def _listed_settings(r: Reader, made: Line) -> Line:
    """MACD 12/26/9 or MACD 12,26,9."""
    given: list[float] = []
    while len(given) < len(made.values) and r.at("NUM"):
        number = r.take("NUM")
        assert number is not None
        given.append(number.value)
        if not (r.at(",", "SLASH") and r.at("NUM", ahead=1)) or counted(r, 1):
            break
        r.take(",", "SLASH")
    return replace(made, values=(*given, *made.values[len(given) :]))


def _spoken_period(r: Reader, made: Line) -> Line:
    """of 14 days, over the last 20 bars, of length 14."""
    with r.trying() as attempt:
        r.take("OF", "IN", "ABOVE")
        r.skip("PREVIOUS", "BAR")
        bars = period(r)
        if bars is None and r.at("NUM") and r.at(*_VERBS, ahead=1) and r.peek(-1).text == "length":
            number = r.take("NUM")
            bars = int(number.value) if number else None
        if bars is not None and not r.at("AGO"):
            attempt.keep()
            return replace(made, values=(bars, *made.values[1:]))
    return made


def prefix_period(r: Reader) -> int | None:
    """14-day before RSI, also as 14 or two-week."""
    with r.trying() as attempt:
        found = period(r, bare=True) if r.at("NUM") else None
        if found is not None and r.at(*NAMES, *SIDES, "NEW", "EMA", "CLOSES"):
            attempt.keep()
            return found
    return None
