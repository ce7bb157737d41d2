"""How the trades came out, as bars: drawn as SVG by the template, so that it prints and needs no script."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from ringfence.verbs.report.formats import percent

_MOST_BARS = 31
_NICE = (1.0, 2.0, 2.5, 5.0, 10.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Bar:
    """Places are percent of the drawing's width and height."""

    left: float
    width: float
    height: float
    count: int
    title: str
    tone: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Histogram:
    bars: tuple[Bar, ...]
    ticks: tuple[tuple[float, str], ...]  # place and label below the drawing
    zero: float | None  # the place of no gain and no loss
    tallest: int
    outside: str  # what the first and the last bar hold beside their own


def trade_histogram(returns: Sequence[float]) -> Histogram | None:
    """Trades by their return. Bars never straddle zero; far outliers are gathered into the outermost bars."""
    if not returns:
        return None
    ordered = sorted(returns)
    low, high = _inner(ordered, 0.01), _inner(ordered, 0.99)
    width = _nice(
        max(high - low, abs(high), abs(low), 1e-6) / min(_MOST_BARS - 3, max(6, 2 * math.isqrt(len(ordered))))
    )
    first, last = math.floor(low / width), max(math.floor(high / width), math.floor(low / width))
    counts = [0] * (last - first + 1)
    gathered = 0
    for value in ordered:
        place = math.floor(value / width)
        gathered += place < first or place > last
        counts[min(max(place, first), last) - first] += 1
    tallest, share = max(counts), 100.0 / len(counts)
    bars = tuple(_bar(at, total, first + at, width, share, tallest) for at, total in enumerate(counts))
    zero = -first * share
    outside = f"The outermost bars also count {gathered} far beyond them." if gathered else ""
    return Histogram(
        bars=bars,
        ticks=_ticks(first, len(counts), width, share),
        zero=zero if 0 <= zero <= 100 else None,
        tallest=tallest,
        outside=outside,
    )


def _inner(ordered: Sequence[float], share: float) -> float:
    return ordered[round(share * (len(ordered) - 1))]


def _nice(width: float) -> float:
    scale = 10.0 ** math.floor(math.log10(width))
    return scale * next(step for step in _NICE if width <= step * scale * (1 + 1e-9))


def _bar(at: int, total: int, place: int, width: float, share: float, tallest: int) -> Bar:
    span = f"{_edge(place, width)} to {_edge(place + 1, width)}"
    return Bar(
        left=at * share,
        width=share,
        height=100.0 * total / tallest,
        count=total,
        title=f"{span}: {total} {'trade' if total == 1 else 'trades'}",
        tone="loss" if place < 0 else "gain",
    )


def _ticks(first: int, bars: int, width: float, share: float) -> tuple[tuple[float, str], ...]:
    """Labels at multiples of a round number of bars, zero among them."""
    every = max(1, -(-bars // 8))
    edges = range(-(-first // every) * every, first + bars + 1, every)
    return tuple(((edge - first) * share, _edge(edge, width)) for edge in edges)


def _edge(place: int, width: float) -> str:
    places = max(0, -math.floor(math.log10(width * 100) + 1e-9))
    return percent(place * width, signed=True, places=places)
