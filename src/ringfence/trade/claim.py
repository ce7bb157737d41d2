"""What the guest says of a strategy's run: untrusted JSON, read into values or refused."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from ringfence.trade.bars import Bars
from ringfence.trade.intents import Intent, read_log
from ringfence.trade.packed import Table
from ringfence.trade.run import Curve

_MOST_LINES, _MOST_POINTS, _MOST_TEXT, _MOST_LIBRARIES = 24, 20_000, 200, 64
# A log that fills all of a report would be gigabytes as values here; no strategy asks for so much.
_SPARE_INTENTS, _MOST_INTENTS_PER_ROW = 50_000, 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Near:
    """How often a condition held, and how near it came when it did not."""

    line: int
    text: str
    seen: int
    true: int
    bar: int
    left: float | None
    right: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    log: tuple[Intent, ...]
    cash: float
    equity: float
    fills: int
    start: int  # the bar on which `next` was first called; their number where it never was
    ended: bool  # whether it came to the end of the bars
    failing_bar: int | None  # None also for what failed before the first bar
    hint: str | None
    indicators: Mapping[str, Curve]
    libraries: Mapping[str, str]
    near: tuple[Near, ...]


def read_claim(document: object, bars: Bars) -> Claim:
    """The claim, or ValueError with what is wrong with it."""
    top = _mapping(document, "the report")
    claim = _mapping(top.get("claim"), "the claim")
    failing = top.get("failing")
    stopped = None if failing is None else _mapping(failing, "what failed")
    moments = len(bars.timeline())
    most = _SPARE_INTENTS + _MOST_INTENTS_PER_ROW * bars.rows
    versions = _mapping(top.get("libraries"), "the versions")
    if len(versions) > _MOST_LIBRARIES:
        raise ValueError(f"it speaks of {len(versions):,} libraries")
    return Claim(
        log=tuple(read_log(top.get("log"), bars=moments, markets=len(bars.symbols), most_rows=most)),
        cash=_number(claim.get("cash")),
        equity=_number(claim.get("equity")),
        fills=_whole(claim.get("fills")),
        start=_whole(top.get("start"), most=moments),
        ended=stopped is None,
        failing_bar=None if stopped is None or stopped.get("bar") is None else _whole(stopped["bar"], most=moments - 1),
        hint=None if stopped is None or stopped.get("hint") is None else _text(stopped["hint"]),
        indicators=_lines(top.get("indicators"), bars),
        libraries={_text(k): _text(v) for k, v in versions.items()},
        near=tuple(_near(row) for row in _list(top.get("near"), "the notes")[:_MOST_LINES]),
    )


def _lines(value: object, bars: Bars) -> dict[str, Curve]:
    found: dict[str, Curve] = {}
    symbols = bars.symbols
    for row in _list(value, "the indicators")[:_MOST_LINES]:
        line = _mapping(row, "an indicator")
        points = Table(line.get("points"), "an indicator", most_rows=_MOST_POINTS)
        market = _whole(line.get("market"))
        if market >= len(symbols):
            raise ValueError("an indicator is of an instrument that there is not")
        stamps = np.array(points.whole("time"), dtype=np.int64)
        values = np.array(points.real_or_none("value"), dtype=np.float64)
        if np.isinf(values).any():
            raise ValueError("an indicator has a value without end")
        name = _text(line.get("name"))
        name = name if len(symbols) == 1 else f"{symbols[market]} {name}"
        while name in found:
            name += "'"
        if (np.diff(stamps) <= 0).any() or ((stamps < bars.start) | (stamps > bars.end)).any():
            raise ValueError("an indicator's stamps are not in order, or not of these bars")
        found[name] = Curve(stamps, values)
    return found


def _near(value: object) -> Near:
    row = _mapping(value, "a note")
    return Near(
        line=_whole(row.get("line")),
        text=_text(row.get("text")),
        seen=_whole(row.get("seen")),
        true=_whole(row.get("true")),
        bar=_whole(row.get("bar"), least=-1),
        left=None if row.get("left") is None else _number(row["left"]),
        right=None if row.get("right") is None else _number(row["right"]),
    )


def _mapping(value: object, what: str) -> Mapping[str, object]:
    if not isinstance(value, dict):
        raise ValueError(f"{what} is no object")
    return value


def _list(value: object, what: str) -> list[object]:
    if not isinstance(value, list):
        raise ValueError(f"{what} is no list")
    return value


def _number(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not abs(value) < 1e300:
        raise ValueError(f"{value!r:.80} is no number")
    return float(value)


def _whole(value: object, least: int = 0, most: int = 1 << 62) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        raise ValueError(f"{value!r:.80} is no whole number from {least} to {most}")
    return value


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise ValueError(f"{value!r:.80} is no text")
    # What cannot be UTF-8, and what a database refuses in a text, would only be found out when it is stored.
    return value[:_MOST_TEXT].encode("utf-8", "replace").decode().replace("\0", "?")
