"""What the author says: how it read a request, or what it could not read and what would be understood."""

from __future__ import annotations

import difflib
from collections.abc import Mapping

from ringfence.agents.rules.compiler import Misread, Understood
from ringfence.agents.rules.text.lexicon import lexicon
from ringfence.trade.description.echo import echo
from ringfence.trade.run import Json

# Sentences that show each kind of thing that is understood; those nearest to what was asked are suggested.
EXAMPLES = (
    "Buy GOOG when RSI drops below 35, sell when it rises above 65.",
    "Buy when the 50-day moving average crosses above the 200-day moving average, with a 5 % stop loss.",
    "Buy when the price closes below the lower Bollinger band, sell when it touches the upper band.",
    "Buy when MACD crosses above its signal line; sell half at 5 %, the rest with a 3 % trailing stop.",
    "Go long when the price breaks above the 20-day high, stop loss 2 ATR, risk 1 % per trade.",
    "Sell short when RSI is above 80, cover when it drops below 50, stop loss 4 %.",
    "Buy when the price drops 5 % in 3 days, sell after 10 days.",
    "Invest $500 in GOOG every Monday.",
    "Hold 60 % SPY and 40 % TLT, rebalance quarterly.",
    "Every month hold the top 2 of AAPL, MSFT, IBM and GOOG by 6-month momentum.",
    "Trade KO against PEP by the ratio over 60 bars: enter at 2, exit at 0 standard deviations.",
)
_MOST = 3


def says(understood: Understood) -> str:
    notes = "".join(f"\nNote: {notice}." for notice in understood.notices)
    return f"I read this as: {echo(understood.description)}{notes}"


def refuses(misread: Misread) -> str:
    """What was understood, what was not, and what to say instead."""
    said = [f"I did not understand this: {misread.reason}."]
    if misread.unread:
        said.append(f'Not read: "{misread.unread}" (from character {misread.place + 1}).')
    if misread.understood:
        said.append(f'Up to there: "{misread.understood}".')
    if misread.left:
        said.append("Left aside, as it gives no rule: " + "; ".join(f'"{one}"' for one in misread.left) + ".")
    if misread.choices:
        said.append("You could say: " + "; ".join(misread.choices) + ".")
    near = nearest(misread)
    if near:
        said.append("Near to it: " + ", ".join(near) + ".")
    said.append("For example: " + suggestion(misread))
    return "\n".join(said)


def nearest(misread: Misread) -> list[str]:
    """Phrases of the lexicon that look like the words that were not read."""
    words = [token.text for token in misread.tokens if token.kind == "UNKNOWN"] if misread.unread else []
    found: dict[str, None] = {}
    for word in words[:_MOST]:
        found.update(dict.fromkeys(difflib.get_close_matches(word, lexicon().kinds, _MOST, 0.7)))
    return list(found)[: 2 * _MOST]


def suggestion(misread: Misread) -> str:
    """The example that shares most words with the request."""
    words = set(f"{misread.understood} {misread.unread}".lower().split())
    return max(EXAMPLES, key=lambda example: len(words & set(example.lower().replace(",", "").split())))


def parsed(misread: Misread) -> Mapping[str, Json]:
    """The same for programs."""
    return {
        "reason": misread.reason,
        "understood": misread.understood,
        "unread": misread.unread,
        "place": misread.place,
        "choices": list(misread.choices),
        "left": list(misread.left),
        "near": nearest(misread),
        "example": suggestion(misread),
    }
