"""Entries against the rules: each has its reason on the bar before, and none that was due is missing."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from ringfence.evaluators.derive.conditions import Flags
from ringfence.evaluators.derive.findings import Findings
from ringfence.evaluators.derive.market import Episode, Market, held
from ringfence.evaluators.derive.rulebook import SIDES, Rulebook
from ringfence.trade.description.model import Side
from ringfence.trade.times import iso


def check_entries(book: Rulebook, market: Market, found: Sequence[Episode]) -> Findings:
    made = Findings()
    until = -1
    for episode in found:
        what = f"{market.symbol} {episode.side} entry on {iso(int(market.timeline[episode.entered]))}"
        made.count("entries")
        _reason(book, market, episode, what, made)
        made.check(
            market.same(episode.price, market.worse(float(market.open[episode.entered]), episode.sign)),
            f"{what} was filled at {episode.price:.6g} and the open was {market.open[episode.entered]:.6g}: "
            "decide at the close, and buy at the next open",
        )
        if not book.adds:
            made.check(
                episode.entered >= until,
                f"{what} was made while a position was held: enter only when there is none",
            )
        until = max(until, episode.left)
    return made


def _reason(book: Rulebook, market: Market, episode: Episode, what: str, made: Findings) -> None:
    rule = book.entries.get(episode.side)
    if rule is None:
        made.check(False, f"{what} has no rule, for no {episode.side} position was asked for: leave it out")
        return
    at = episode.decided
    if not made.check(0 <= at < episode.entered, f"{what} was decided on the bar it was filled on: decide before it"):
        return
    made.check(
        bool(rule.truth.may[at]),
        f"{what} has no reason: the rule is {rule.says}, and on {iso(int(market.timeline[at]))} "
        f"{book.shown(rule, at)}: enter only when the rule says so",
    )


def check_missed(
    book: Rulebook, market: Market, found: Sequence[Episode], refused: Iterable[int], slack: int
) -> Findings:
    """Bars on which the rule held, nothing was held, and nothing was bought. `refused` are the moments at which an
    order was given all the same; entries that could not be paid for are nobody's fault."""
    made = Findings()
    if book.adds or not book.always_affordable:
        return made
    busy = np.isin(market.timeline, np.fromiter(refused, dtype=np.int64))
    for side in SIDES:
        rule = book.entries.get(side)
        if rule is None:
            continue
        due = rule.truth.must & ~busy & _free(book, market, found, side)
        due[: book.begins + slack] = False
        due &= market.after < len(market)
        entered = {episode.entered for episode in found if episode.side == side}
        moments = np.flatnonzero(due)
        made.count("signals", len(moments))
        for at in moments.tolist():
            made.check(
                int(market.after[at]) in entered,
                f"{market.symbol} {side} entry is missing on {iso(int(market.timeline[market.after[at]]))}: the rule "
                f"{rule.says} held on {iso(int(market.timeline[at]))} and nothing was held: enter when it does",
            )
    return made


def _free(book: Rulebook, market: Market, found: Sequence[Episode], side: Side) -> Flags:
    """Where an entry of this side would be made."""
    other: Side = "short" if side == "long" else "long"
    own, opposite = held(market, found, side), held(market, found, other)
    if not book.turns:
        return np.logical_not(own | opposite)
    free: Flags = ~own
    if side == "short" and "long" in book.entries:  # of two that are due at once, the long one is taken
        free &= opposite | ~book.entries["long"].truth.may
    return free
