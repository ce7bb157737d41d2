"""Numbers and lists as an English sentence has them."""

from __future__ import annotations

from collections.abc import Sequence

from ringfence.sandbox.job import Limits


def number(value: float) -> str:
    """Four or more significant figures, thousands parted; small ones as they are."""
    size = abs(value)
    if size >= 1000:
        return f"{value:,.2f}"
    if size >= 0.01 or value == 0:
        return f"{value:,.4g}" if size < 100 else f"{value:,.2f}"
    return f"{value:.3g}"


def money(value: float) -> str:
    return f"{value:,.2f}"


def percent(fraction: float, digits: int = 1) -> str:
    """Nothing has no sign: -0.0 is told as 0.0."""
    return f"{round(100 * fraction, digits) + 0.0:.{digits}f} %"


def level(confidence: float) -> str:
    """0.95 as 95 %, 0.999 as 99.9 %."""
    return f"{100 * confidence:.6g} %"


def listed(words: Sequence[str]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"


def plural(count: int, one: str, many: str | None = None) -> str:
    return f"{count:,} {one if count == 1 else many or one + 's'}"


def loss(fraction: float) -> str:
    """A loss as a share; one that is none is told as the gain it is."""
    gain = percent(-fraction)
    return f"none, but a gain of {gain}" if fraction < 0 and gain != percent(0) else percent(fraction)


def limits_line(limits: Limits) -> str:
    return (
        f"{limits.wall_seconds:g} s, {limits.memory_mb} MB of memory, {limits.cpus:g} CPU, "
        f"{limits.disk_mb} MB of disk, {limits.processes} processes, no network"
    )
