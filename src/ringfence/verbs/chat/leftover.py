"""The words of a text that no template took. Each must be known to change nothing, or it is refused by its name."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from ringfence.verbs.chat.intent import Intent
from ringfence.verbs.chat.lexicon import INDICATORS, PHRASES, Concept
from ringfence.verbs.simulate.indicator import lines_of

# Politeness and grammar. A word of time, of a side, of a measure or of denial is never among them.
_POLITE = """
    a; an; the; of; for; in; on; at; to; and; with; over; within; after; by; from; my; me; i; you; we; us; our; it;
    its; is; are; be; will; would; could; can; might; may; should; what; whats; what's; which; where; where's; how; do;
    does; please; just; this; that; these; those; there; here; using; use; used; based; give; gives; want; need; like;
    about; have; has; i'd; i'm; i've; let's; it's; s; so; also; tell; show; display; let; know; see; get; find;
    compute; calculate; work out; plot; draw; chart; make; run; say; kindly; hello; hi; hey; thanks; thank you; very
    much; ok; okay; right now; now; currently; current; today; today's; latest; as; as of; how much; how many; hold;
    holding; if you can; if possible; some; any; exactly; tell me; love to
"""
# Of each intent: whole concepts of the lexicon, and more words that say nothing besides.
_CONCEPTS: Mapping[Intent, tuple[Concept, ...]] = {
    "price": ("simulate", "interval", "future", "risk", "chance", "price", "compute", "model", "worth"),
    "portfolio": (
        "simulate", "interval", "future", "risk", "chance", "ruin", "worth", "portfolio", "price", "compute", "model",
    ),
    "strategy": ("simulate", "interval", "risk", "chance", "ruin", "strategy", "run", "compute"),
    "option": ("option", "leg", "terms", "price", "compute", "worth"),
    "sizing": ("sizing", "compute", "price"),
    "correlation": ("relation", "market", "compute"),
    "indicator": ("compute", "data", "price"),
    "cleanse": ("cleanse", "data", "price", "compute"),
}  # fmt: skip
_MORE: Mapping[Intent, str] = {
    "price": """
        confidence; confidence level; level; data; paths; futures; simulations; possible; expected; expect; move; moves;
        look; go; goes; up; down; higher; lower; ends; closes; finishing; trading; trade; risk; risky; lose; loss;
        losses; style; position; long position; long; coming; median; sure; certain; out
    """,
    "portfolio": """
        confidence; paths; futures; simulations; equal weighted; equally weighted; equal weight; equal; equally; equal
        shares; weights; lose; loses; loss; cash; capital; invested; invest; start; starting; initial; grow; expected;
        expect; coming; holding; hold; stocks; out; risk
    """,
    "strategy": "lose; loses; losing; loss; times; expect; expected; again; worst; confidence; simulations; paths",
    "option": """
        left; cost; costs; theoretical; under; underlying; risk-free; time; of the underlying; historical volatility;
        volatility of the data; one
    """,
    "sizing": """
        risk; risking; risked; account; equity; capital; cash; stop; stops; stop-loss; stop loss; entry; win; wins;
        winning; rate; payoff; ratio; reward; trade; per trade; per; position; size; sizing; units; buy; buying; enter;
        entering; volatility; vol; target; annual; annualised; annualized; dollars; money; of the time; big; bet;
        should i buy; if i; if i win; if; when; have; average; loss; fixed; away
    """,
    "correlation": """
        returns; log returns; move; together; two; the two; both; each other; compare; confidence; stock; stocks; share;
        shares; interval; data
    """,
    "indicator": "indicator; line; lines; period; periods; length; of length; default; settings",
    "cleanse": """
        changed; changes; change; fix; fixed; mend; mended; check; remove; removed; log; them; up; tidy; doubtful; bad
    """,
}
# Phrases of those concepts that do say something.
_MEANING = """
    by the end; tomorrow; in the money; out of the money; itm; otm; straddle; implied volatility; half kelly; covariance
"""
_EXOTIC = (
    r"american|asian|bermudan?|straddles?|strangles?|spreads?|butterfl\w+|condors?|collars?|barrier|digital|binary"
    r"|lookback|\w+-and-\w+|itm|otm"
)
_EUROPEAN = "I price one European call or put at a time"
_BARS = "other bars are loaded with --timeframe, for example 1w, and a horizon is said as `in 1 week`"
# By name: which words, and what to do about them.
_HINTS: tuple[tuple[str, str], ...] = (
    (r"hourly|daily|weekly|monthly|quarterly|yearly|annual|annually|intraday", _BARS),
    (
        r"never|ever|touch\w*|hits?|hitting|reach\w*|cross\w*|breach\w*",
        "I work out where it ends and not what it meets on the way, so say `is below 700 in 30 days`",
    ),
    (r"short\w*|sell\w*|sold|writ\w+", "I work it out for whoever bought and holds it"),
    (
        r"not|no|nor|neither|without|except|excluding|none|\w+n't|cannot",
        "I do not read what is denied, so say what is meant instead",
    ),
    (_EXOTIC, _EUROPEAN),
    (
        r"half|twice|thrice|double\w*|tripl\w+|quadrupl\w+|leverag\w+|\w+fold",
        "I work it out for the whole and without leverage, so take the multiple of what comes back",
    ),
    (
        r"volume|open|opens|opening|high|highs|low|lows|typical",
        "indicators are taken of their own columns, as docs/indicators.md has them; `average volume` is one of them",
    ),
)
# What is understood, for each.
EXAMPLES: Mapping[Intent, str] = {
    "price": "95 % interval for GOOG in 30 days",
    "portfolio": "simulate a portfolio of AAPL and MSFT for 1 year",
    "strategy": "risk of ruin of the trades of run 3f2a9c1b",
    "option": "price a GOOG call, strike 800, in 3 months",
    "sizing": "position size: risk 1%, entry 100, stop 95",
    "correlation": "correlation between AAPL and MSFT",
    "indicator": "a 14-period Ichimoku cloud for GOOG",
    "cleanse": "find bad ticks in the GOOG data",
}
_WORD = re.compile(r"[a-z]+(?:['/-][a-z0-9%]+)*")


def unread(text: str, intent: Intent, indicator: str | None = None) -> list[str]:
    """What is left of a text that a template has taken its numbers from, without what is known to change nothing."""
    left = re.sub(r"(?<=\x00)'s\b", " ", text).replace("%", " % ")
    left = re.sub(r"\s+", " ", left)
    for phrase in sorted(_harmless(intent, indicator), key=len, reverse=True):
        left = re.sub(rf"(?<![\w'/-]){re.escape(phrase)}(?:'s)?(?![\w'/-])", " \x01 ", left)
    return list(dict.fromkeys(_WORD.findall(left)))


def hint(words: Sequence[str], intent: Intent) -> str:
    """What to do about words that change the question: of the first that is known by its name."""
    offered = _HINTS if intent == "indicator" else _HINTS[:-1]  # the last is about columns
    found = (told for word in words for pattern, told in offered if re.fullmatch(pattern, word))
    return next(found, "say it another way, or leave it out")


def _harmless(intent: Intent, indicator: str | None) -> set[str]:
    concepts = _CONCEPTS[intent]
    made = {" ".join(phrase) for phrase, concept in PHRASES.items() if concept in concepts}
    made -= _split(_MEANING)
    made |= _split(_POLITE) | _split(_MORE[intent])
    if indicator is not None and intent == "indicator":
        made |= {words for words, name in INDICATORS.items() if name == indicator}
        made |= {line.replace("_", " ") for line in lines_of(indicator)}
        made |= {"above", "below", "inside", "cloud"} if indicator == "ichimoku" else set()
    return made


def _split(text: str) -> set[str]:
    return set(" ".join(text.split()).split("; "))
