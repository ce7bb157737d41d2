"""What people ask for that a description cannot say: each is refused by name, with what can be said in its place."""

from __future__ import annotations

from collections.abc import Sequence

from ringfence.agents.rules.reader import Question
from ringfence.agents.rules.text.tokens import Token

_CANNOT: dict[str, tuple[str, tuple[str, ...]]] = {
    "CANNOT_PIPS": (
        "a distance in pips or points is not known: give it in percent or in average true ranges",
        ("stop loss 0.5 %", "stop loss 2 ATR"),
    ),
    "CANNOT_OPENING_RANGE": (
        "the range of a session's first minutes is no line that is known",
        ("the 20-bar high", "yesterday's high"),
    ),
    "CANNOT_LIMIT": ("limit orders are not written: orders are filled at the next open", ("buy when RSI is below 30",)),
    "CANNOT_OPTIONS": ("options are not traded", ("buy GOOG when RSI is below 30",)),
    "CANNOT_LEVERAGE": (
        "more than the equity cannot be invested: leave the leverage out",
        ("use 100 % of the equity",),
    ),
    "CANNOT_SCALE_IN": (
        "a position is entered once, with one size: it is not added to",
        ("buy when RSI is below 30 with 50 % of the equity", "invest $500 every Monday"),
    ),
    "CANNOT_MOST": (
        "how many positions may be open is not limited by a rule: each instrument has its own share",
        ("Every month hold the top 3 of AAPL, MSFT, IBM and GOOG by 6-month return",),
    ),
    "CANNOT_START_CASH": (
        "the money it starts with is no rule of the strategy: leave it out, and give it as --cash",
        (),
    ),
    "CANNOT_INDEX": ("an index or a commodity is not traded itself: name the ticker that is", ("SPY", "QQQ", "IWM")),
    "CANNOT_NEWS": ("only prices and volume are known: no news, dates of companies, rates or moods", ()),
    "CANNOT_PATTERN": (
        "figures of a chart are not known by name: say what the open, high, low and close do",
        ("the close is above yesterday's high",),
    ),
}


def cannot(tokens: Sequence[Token]) -> Question | None:
    """The first word for something that no description has."""
    for token in tokens:
        if token.kind in _CANNOT:
            reason, choices = _CANNOT[token.kind]
            return Question(reason, choices, (token.start, token.end))
    return next((found for n in range(len(tokens)) if (found := _fill(tokens, n)) is not None), None)


_AFTER_FILL = (
    "END", "STOP_MARK", ",", "AND", "WHEN", "USE", "THEN", "OR", "SELL", "EXIT", "BUY", ")", "EVERY", "OF", "NEXT_DAY",
    "COVER", "SHORT", "LONG", "HOLD", "ROTATE",
)  # fmt: skip
_DAYS = ("MONDAY", "TUESDAY", "WEDNESDAY", "THURSDAY", "FRIDAY")


def _fill(tokens: Sequence[Token], n: int) -> Question | None:
    """buy at the close, short it at the open: a signal is known at the close, and filled at the next open."""
    kinds = [token.kind for token in tokens[n:]]
    k = 1
    while kinds[k : k + 1] and kinds[k] in ("SAME", "DAY", "CURRENT", "NEXT_DAY", "NEXT", *_DAYS):
        k += 1
    after = kinds[k + 1] if len(kinds) > k + 1 else "END"
    if kinds[0] not in ("AT", "ON") or kinds[k : k + 1] not in (["OPEN"], ["CLOSE"]) or after not in _AFTER_FILL:
        return None
    if kinds[k] == "OPEN" and any(token.kind == "GAP" for token in tokens[max(0, n - 5) : n]):
        return None  # it gaps up 2 % at the open
    place = (tokens[n].start, tokens[n + k].end)
    return Question(
        f"it cannot trade at the {kinds[k].lower()} of the same bar: rules are judged at the close, "
        "and orders are filled at the next open",
        ("leave that out, or say: at the next open",),
        place,
    )
