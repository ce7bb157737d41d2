"""Whether a version is new by the trades it makes."""

from __future__ import annotations

from collections.abc import Collection

from ringfence.trade.run import Run
from ringfence.trade.times import iso

SAME_TRADES = 0.95  # of all trades of two versions, those that both make


def footprints(run: Run) -> tuple[str, ...]:
    """One line per trade: what, which way, when in and when out."""
    return tuple(
        f"{t.symbol} {t.side} {iso(t.entry_time)} {'' if t.exit_time is None else iso(t.exit_time)}" for t in run.trades
    )


def overlap(first: Collection[str], second: Collection[str]) -> float:
    """How many of all trades both make: 0 none, 1 all."""
    either = set(first) | set(second)
    return len(set(first) & set(second)) / len(either) if either else 1.0
