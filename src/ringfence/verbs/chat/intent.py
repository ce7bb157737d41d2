"""What a text asks for, by the meaning of its phrases and never by a piece of a word.

Phrases are mapped to concepts, and an intent is a combination of them: a simulation needs something that is simulated,
a forecast needs a price, an option needs its terms. "business model" is one phrase and asks for nothing.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from ringfence.verbs.chat.lexicon import FILLER, INDICATORS, LONGEST, PHRASES, Concept
from ringfence.verbs.chat.symbols import Named, find_symbols

Intent = Literal[
    "price", "portfolio", "strategy", "option", "sizing", "correlation", "indicator", "cleanse",
    "idea",  # a strategy in words: for `ringfence research`
    "none",
]  # fmt: skip
_TOKEN = re.compile(r"%|\d+(?:[.,/:]\d+)*[a-z%]*|[a-z]+(?:['’/-][a-z0-9%]+)*|[^\w\s]", re.IGNORECASE)
_UNIT = r"(?:trading |business |calendar )?(?:minute|hour|day|week|month|quarter|year|bar)s?"
_HORIZON = re.compile(
    rf"\b(?:\d+(?:\.\d+)?|an?|one|two|three|four|five|six|seven|ten|twelve|thirty|sixty|ninety|half a)[ -]?{_UNIT}\b"
    r"|\b\d+(?:d|w|mo|y)\b|\b(?:next|coming) (?:week|month|quarter|year)\b|\btomorrow\b",
    re.IGNORECASE,
)
# A name of a run has digits and letters, as "run 20000 paths" and "run added" have not.
RUN = re.compile(r"\brun\s+((?=[a-f]*\d)(?=\d*[a-f])[0-9a-f]{4,20}|\d{8,20})\b", re.IGNORECASE)
_STAKE = re.compile(
    r"\brisk(?:ing|s)?\b(?: of| only)? \d+(?:\.\d+)?\s?%.*\bstop\b|\d\s?% risk\b.*\bstop\b", re.IGNORECASE | re.DOTALL
)
_GENERAL = re.compile(r"\s*(?:what|who|why|how|when|is|are|can|do|does)\b", re.IGNORECASE)
_LEVEL = re.compile(r"\b\d+(?:\.\d+)?\s?(?:%|percent\b|per cent\b)", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    intent: Intent
    named: Named
    concepts: frozenset[Concept] = frozenset()
    indicator: str | None = None
    unknown: tuple[str, ...] = ()  # words that are in no phrase
    digits: bool = False

    @property
    def idle(self) -> bool:
        """It is about something else than numbers, such as a business model: no program is worth writing for it."""
        return "idiom" in self.concepts and not self.digits and self.concepts <= {"idiom", "explain", "compute"}


def read_intent(text: str, known: Sequence[str] = ()) -> Reading:
    """`known` are the instruments of the data at hand: with some, a text need not name one."""
    named = find_symbols(text, known)
    plain = _without(text, named.spans).lower().replace("’", "'")
    found, indicator, unknown = _concepts(_TOKEN.findall(plain))
    facts = _Facts(
        has=found,
        symbols=len(named.symbols) + len(named.specs),
        data=bool(known),
        horizon=_HORIZON.search(text) is not None,
        level=_LEVEL.search(text) is not None,
        digits=bool(re.search(r"\d", plain)),
        run=RUN.search(text) is not None,
        stake=_STAKE.search(text) is not None,
        general=_GENERAL.match(text) is not None,
        unknown=len(unknown),
    )
    return Reading(
        intent=_decide(facts), named=named, concepts=found, indicator=indicator, unknown=unknown, digits=facts.digits
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Facts:
    has: frozenset[Concept]
    symbols: int
    data: bool
    horizon: bool
    level: bool
    digits: bool
    run: bool  # one that is stored is named
    stake: bool  # a share at risk, and a stop
    general: bool  # it begins as a question about things in general may
    unknown: int

    def any(self, *concepts: Concept) -> bool:
        return not self.has.isdisjoint(concepts)

    @property
    def subject(self) -> bool:
        """There is something to speak about: an instrument, or prices, or data at hand and no strange word."""
        if self.symbols:
            return True
        return (self.any("price", "data") and self.unknown <= 1) or (self.data and not self.unknown)


def _decide(f: _Facts) -> Intent:
    if (f.any("advice") and not (f.any("sizing") and f.digits)) or (f.any("explain") and not _concrete(f)):
        return "none"
    if {"order", "condition"} <= f.has and not f.any("sizing", "simulate", "option", "chance"):
        return "idea"
    for intent, asks in _RULES:
        if asks(f):
            return intent
    return _bare(f)


def _bare(f: _Facts) -> Intent:
    """Nothing but the name of what is wanted, such as `position sizing`: the rest is asked for."""
    if f.unknown or f.general or f.any("idiom", "other", "explain", "advice"):
        return "none"
    return next((intent for concept, intent in _BARE if f.any(concept)), "none")


def _concrete(f: _Facts) -> bool:
    """An explanation is in general; a question about an instrument or with numbers wants them worked out."""
    return f.symbols > 0 or (f.digits and (f.horizon or f.level or f.any("terms", "sizing"))) or f.data


def _asks_option(f: _Facts) -> bool:
    concrete = f.digits or f.symbols or f.data
    if f.any("option"):
        return bool(concrete and (f.any("leg", "terms", "worth", "price", "compute") or f.horizon))
    return f.any("leg") and f.any("terms") and bool(concrete)


def _asks_sizing(f: _Facts) -> bool:
    return (f.any("sizing") or f.stake) and bool(f.digits or f.symbols) and not f.any("other")


def _asks_cleansing(f: _Facts) -> bool:
    return f.any("cleanse") and bool(f.any("data", "price") or f.symbols or f.data) and f.unknown <= 2


def _asks_relation(f: _Facts) -> bool:
    enough = f.symbols >= 2 or (not f.unknown and (f.symbols == 1 or f.data))
    return f.any("relation") and not f.any("other") and enough


def _asks_strategy(f: _Facts) -> bool:
    asked = f.any("simulate", "ruin", "chance", "risk", "interval")
    return asked and (f.any("strategy") or f.run) and not f.any("other", "portfolio") and (f.unknown <= 1 or f.run)


def _asks_portfolio(f: _Facts) -> bool:
    asked = f.any("simulate", "interval", "risk", "chance", "ruin", "worth", "future")
    return f.any("portfolio") and asked and not f.any("other") and f.unknown <= 1


def _asks_indicator(f: _Facts) -> bool:
    forecast = f.any("simulate", "chance", "risk") or (f.any("interval") and f.horizon)
    return f.any("indicator") and not forecast and not f.any("other") and bool(f.symbols or f.data or f.any("data"))


def _asks_price(f: _Facts) -> bool:
    if f.any("other", "portfolio") or not f.subject:
        return False
    if f.any("idiom") and not f.any("price") and not f.level:
        return False  # it is about something else: "predict how AAPL's business model changes over 5 years"
    if f.any("simulate", "risk"):
        return bool(f.horizon or f.level or f.any("price") or f.unknown <= 1)
    if f.any("interval", "chance"):
        return f.horizon or f.level or f.any("price", "future")
    if f.any("model"):
        return f.horizon and f.any("price", "future", "compute")
    return f.any("future") and f.horizon and bool(f.symbols)


# The more particular first: a portfolio's interval is not a price's.
_RULES: tuple[tuple[Intent, Callable[[_Facts], bool]], ...] = (
    ("option", _asks_option),
    ("sizing", _asks_sizing),
    ("cleanse", _asks_cleansing),
    ("correlation", _asks_relation),
    ("strategy", _asks_strategy),
    ("portfolio", _asks_portfolio),
    ("indicator", _asks_indicator),
    ("price", _asks_price),
)


_BARE: tuple[tuple[Concept, Intent], ...] = (
    ("option", "option"),
    ("sizing", "sizing"),
    ("relation", "correlation"),
    ("indicator", "indicator"),
    ("simulate", "price"),
)


def _concepts(tokens: Sequence[str]) -> tuple[frozenset[Concept], str | None, tuple[str, ...]]:
    words = [t.removesuffix("'s") for t in tokens if t[0].isalnum() or t == "%"]
    found: set[Concept] = set()
    indicator = None
    unknown = []
    at = 0
    while at < len(words):
        for length in range(min(LONGEST, len(words) - at), 0, -1):
            phrase = tuple(words[at : at + length])
            concept = PHRASES.get(phrase)
            if concept is not None:
                found.add(concept)
                if concept == "indicator":
                    indicator = indicator or INDICATORS[" ".join(phrase)]
                at += length
                break
        else:
            if words[at] not in FILLER and not words[at][0].isdigit():
                unknown.append(words[at])
            at += 1
    return frozenset(found), indicator, tuple(unknown)


def _without(text: str, spans: Sequence[tuple[int, int]]) -> str:
    for start, end in reversed(spans):
        text = text[:start] + " " * (end - start) + text[end:]
    return re.sub(r"(?<= )'s\b", "  ", text)
