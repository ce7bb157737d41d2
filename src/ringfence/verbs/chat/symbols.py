"""Which instruments a text names: `$TSLA`, an upper-case word, a spec such as sample:GOOG, or a well-known company."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from ringfence.verbs.chat.lexicon import FILLER, PHRASES

_SPEC = re.compile(r"(?<![\w/])(?:sample|yahoo|alpaca|csv|parquet|synthetic):[^\s,;]+(?:,[A-Z][\w.-]*)*")
_DOLLAR = re.compile(r"\$([A-Za-z][A-Za-z.\-]{0,9})\b")
_UPPER = re.compile(r"(?<![\w$%/:.-])([A-Z][A-Z0-9]{0,5}(?:[.\-][A-Z]{1,4})?)(?='s\b|[^\w%/]|$)(?!\s?=)")

# Upper-case words that are no instruments.
_NO_SYMBOLS = """
    A I AND OR THE VAR CVAR ES RSI SMA EMA WMA MACD ATR ADX CCI OBV MFI ROC VWAP SAR PSAR GBM BSM ATM ITM OTM ETF
    ETFS USD EUR GBP AI ML CSV API OHLC OHLCV PNL P L IV CEO CFO US UK EU USA OK PDF LLM MC CI DCA DCF EPS IPO GDP
    NYC LA SF CPI FAQ FX YOY QOQ YTD EOD TV PC IT HR PR IRS SEC FED FOMC DIY ASAP FYI TLDR IMO ESG ROI KPI CRM SQL
    JSON HTML PNG R Q1 Q2 Q3 Q4 K M B D W Y MO
"""
_WORDS = frozenset(_NO_SYMBOLS.split())
# Symbols that are everyday words in small letters, besides those of the lexicon.
_ENGLISH = frozenset(
    ("all", "any", "now", "key", "big", "cat", "cost", "fast", "fun", "open", "love", "car", "well", "real")
)
_COMPANIES = {
    "tesla": "TSLA", "apple": "AAPL", "google": "GOOG", "alphabet": "GOOG", "microsoft": "MSFT", "amazon": "AMZN",
    "nvidia": "NVDA", "netflix": "NFLX", "meta": "META", "facebook": "META", "ibm": "IBM", "intel": "INTC",
    "bitcoin": "BTC-USD", "ethereum": "ETH-USD",
}  # fmt: skip
_COMPANY = re.compile(rf"\b({'|'.join(_COMPANIES)})(?:'s)?\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Named:
    """`specs` say themselves where prices come from; `symbols` do not. In the order of the text, each once."""

    symbols: tuple[str, ...] = ()
    specs: tuple[str, ...] = ()
    spans: tuple[tuple[int, int], ...] = ()
    read_as: tuple[str, ...] = ()  # a company's name and the symbol it was taken for


def _is_word(name: str) -> bool:
    """Whether it means something else in small letters, as `on`, `all` and `a` do."""
    return len(name) == 1 or name in FILLER or (name,) in PHRASES or name in _ENGLISH


def find_symbols(text: str, known: Sequence[str] = ()) -> Named:
    """`known` are those of the data at hand, which may be written in small letters too."""
    spans: list[tuple[int, int]] = []
    found: list[tuple[int, str]] = []
    told: list[str] = []
    specs = []
    for match in _SPEC.finditer(text):
        specs.append(match[0].rstrip(".?!"))
        spans.append(match.span())

    def take(start: int, end: int, symbol: str) -> None:
        if not any(a < end and start < b for a, b in spans):
            spans.append((start, end))
            found.append((start, symbol))

    for match in _DOLLAR.finditer(text):
        take(match.start(), match.end(), match[1].upper().rstrip("."))
    for name in sorted(known, key=len, reverse=True):
        for match in re.finditer(rf"(?<![\w$]){re.escape(name)}(?![\w])", text, re.IGNORECASE):
            if match[0].isupper() or not _is_word(name.lower()):
                take(match.start(), match.end(), name)
    shouted = text.isupper()
    for match in _UPPER.finditer(text):
        if match[1] in _WORDS or (shouted and not re.search(r"\b(?:FOR|OF|ON|WITH|AND|IN) $", text[: match.start(1)])):
            continue
        placed = re.search(r"\b(?:in|near|from) $", text[: match.start(1)]) is not None
        if not placed or len(match[1]) > 2:  # "the weather in LA", but "5,000 in AAPL"
            take(match.start(1), match.end(1), match[1])
    for match in _COMPANY.finditer(text):
        symbol = _COMPANIES[match[1].lower()]
        if match[1][0].isupper() or match[1].lower() in ("bitcoin", "ethereum"):
            before = len(found)
            take(match.start(), match.end(), symbol)
            if len(found) > before:
                told.append(f"{match[1]} is taken for {symbol}")
    symbols = tuple(dict.fromkeys(symbol for _, symbol in sorted(found)))
    return Named(symbols=symbols, specs=tuple(dict.fromkeys(specs)), spans=tuple(sorted(spans)), read_as=tuple(told))
