"""What guards a position: stops, targets, partial exits, a time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True, kw_only=True)
class Distance:
    """How far from the entry: percent of the fill's price; average true ranges from the close of the decision;
    times the distance of the stop (`risk`); or, as `price`, a price itself."""

    kind: Literal["percent", "atr", "risk", "price"]
    value: float
    period: int = 0  # of the average true range


@dataclass(frozen=True, slots=True, kw_only=True)
class Trail:
    """A stop that follows the best price. `rest`: of what is left after the first partial exit, and only then.

    `best` is what it hangs from where that is not the customary one: in percent the best price, in average true
    ranges the best close.
    """

    distance: Distance
    rest: bool = False
    best: Literal["", "price", "close"] = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Partial:
    """Sell `portion` percent of what was bought when the gain is this far."""

    portion: float
    at: Distance


@dataclass(frozen=True, slots=True, kw_only=True)
class BreakEven:
    """The stop is moved to the entry price once a bar has been `after` in profit; with None, once a part is sold.

    It counts from the next bar on. A stop that is nearer already stays where it is.
    """

    after: Distance | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Guards:
    stop: Distance | None = None
    target: Distance | None = None
    target_rest: bool = False  # the target is that of what is left after a rule has sold a part, and only then
    trail: Trail | None = None
    partials: tuple[Partial, ...] = ()
    break_even: BreakEven | None = None
    time_stop_bars: int = 0  # out at the open this many bars after the one it came in at


def distances(guards: Guards) -> list[Distance]:
    """All that it measures by."""
    found = [guards.stop, guards.target, guards.trail.distance if guards.trail else None]
    found.append(guards.break_even.after if guards.break_even else None)
    return [far for far in (*found, *(partial.at for partial in guards.partials)) if far is not None]
