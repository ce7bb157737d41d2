"""A strategy as a value: what it trades, when it enters and leaves, with how much. No program, and no words.

It stands between English and code, so that the author, the evaluators, the page and a search read the same object.
Percentages are written as people say them (5 is 5 %), periods are bars, and 0 or "" means that nothing was said.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from ringfence.trade.description.dates import (
    EveryBars as EveryBars,
    InHours as InHours,
    InMonths as InMonths,
    MonthDays as MonthDays,
    OnSchedule as OnSchedule,
    OnWeekdays as OnWeekdays,
    Period as Period,
)
from ringfence.trade.description.guards import (
    BreakEven as BreakEven,
    Distance as Distance,
    Guards as Guards,
    Partial as Partial,
    Trail as Trail,
)

VERSION = 1

Side = Literal["long", "short"]
Level = Literal["above", "below", "at_least", "at_most"]
Direction = Literal["above", "below", "either"]
Way = Literal["up", "down"]

# What a condition compares.


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """A price column or an indicator of the catalogue. `values` are its settings, in the catalogue's order."""

    name: str
    values: tuple[float, ...] = ()
    part: str = ""  # which of its lines, where it has several
    source: str = ""  # the column it is computed of, where it is not the usual one
    ago: int = 0  # bars back
    timeframe: str = ""  # coarser bars, such as 1w
    symbol: str = ""  # another instrument than the one that is traded
    of: Line | None = None  # the line it is computed of, in place of a column: the average of an RSI


@dataclass(frozen=True, slots=True, kw_only=True)
class Number:
    value: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Scaled:
    """So many times a line: 1.5 times the average volume."""

    line: Line
    times: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Beyond:
    """So many percent above a line, or below it where negative."""

    line: Line
    percent: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Apart:
    """So many average true ranges above a line, or below it where negative."""

    line: Line
    ranges: float
    atr: Line


Operand = Line | Number | Scaled | Beyond | Apart

# Conditions, each true or false at the close of a bar.


@dataclass(frozen=True, slots=True, kw_only=True)
class Compare:
    left: Operand
    level: Level
    right: Operand


@dataclass(frozen=True, slots=True, kw_only=True)
class Cross:
    """It was on the other side on the bar before. `above`: upwards."""

    left: Operand
    direction: Direction
    right: Operand


@dataclass(frozen=True, slots=True, kw_only=True)
class Between:
    """Both ends count."""

    left: Operand
    low: Operand
    high: Operand


@dataclass(frozen=True, slots=True, kw_only=True)
class Trend:
    """Each of the last `bars` values lies above (or below) the one before it."""

    line: Line
    way: Way
    bars: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """The line is now so many percent up (or down) on its value of `bars` bars ago."""

    line: Line
    way: Way
    percent: float
    bars: int
    strict: bool = False  # more than, in place of at least


@dataclass(frozen=True, slots=True, kw_only=True)
class Held:
    """The comparison was true on each of the last `bars` bars."""

    condition: Compare | Between
    bars: int


@dataclass(frozen=True, slots=True, kw_only=True)
class AllOf:
    parts: tuple[Condition, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class AnyOf:
    parts: tuple[Condition, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class SomeOf:
    """At least `count` of them hold."""

    count: int
    parts: tuple[Condition, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Not:
    part: Condition


Condition = (
    Compare
    | Cross
    | Between
    | Trend
    | Change
    | Held
    | OnSchedule
    | EveryBars
    | OnWeekdays
    | InHours
    | InMonths
    | MonthDays
    | AllOf
    | AnyOf
    | SomeOf
    | Not
)

# How large a position is.


@dataclass(frozen=True, slots=True, kw_only=True)
class AllIn:
    """Everything that can be spent; with several instruments, an equal share for each."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PercentOfEquity:
    percent: float


@dataclass(frozen=True, slots=True, kw_only=True)
class FixedCash:
    amount: float


@dataclass(frozen=True, slots=True, kw_only=True)
class FixedShares:
    count: float


@dataclass(frozen=True, slots=True, kw_only=True)
class RiskPerTrade:
    """As much as loses `percent` of the equity at the stop."""

    percent: float


@dataclass(frozen=True, slots=True, kw_only=True)
class RiskCash:
    """As much as loses this sum of money at the stop; never more than everything."""

    amount: float


@dataclass(frozen=True, slots=True, kw_only=True)
class VolatilityTarget:
    """As much as moves by `percent` a year, judged by the last `period` bars; never more than everything."""

    percent: float
    period: int = 20
    bars_per_year: int = 252


@dataclass(frozen=True, slots=True, kw_only=True)
class CashEach:
    """A sum of its own for each instrument, in their order."""

    amounts: tuple[float, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class CashSplit:
    """One sum for all instruments, by these percentages in their order; in equal parts where there are none."""

    amount: float
    weights: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """Another size where `when` holds at the order: money, shares or percent, as the usual one is."""

    when: Condition
    value: float
    more: bool = False  # on top of the usual size, not in its place


@dataclass(frozen=True, slots=True, kw_only=True)
class Varied:
    """A size that depends on conditions. Of several in place of the usual one, the last that holds counts."""

    usual: FixedCash | FixedShares | PercentOfEquity | CashSplit
    cases: tuple[Case, ...]


Sizing = (
    AllIn
    | PercentOfEquity
    | FixedCash
    | FixedShares
    | RiskPerTrade
    | RiskCash
    | VolatilityTarget
    | CashEach
    | CashSplit
    | Varied
)


def usual_size(sizing: Sizing) -> Sizing:
    """The size where no case of its own holds."""
    return sizing.usual if isinstance(sizing, Varied) else sizing


def in_money(sizing: Sizing) -> bool:
    """Whether it is a sum, which is spent whole or not at all."""
    return isinstance(usual_size(sizing), (FixedCash, CashEach, CashSplit))


# Plans.


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    side: Side
    when: Condition


@dataclass(frozen=True, slots=True, kw_only=True)
class Exit:
    side: Side
    when: Condition
    portion: float = 100  # percent of what was bought; each part that is less than all of it is sold once
    rest: bool = False  # of what is left after the first partial exit, and only then


@dataclass(frozen=True, slots=True, kw_only=True)
class Signals:
    """Enter and leave by rules. An entry of the other side turns a position round."""

    entries: tuple[Entry, ...]
    exits: tuple[Exit, ...] = ()
    guards: Guards = field(default_factory=Guards)
    sizing: Sizing = field(default_factory=AllIn)
    adds: bool = False  # buys again although it holds some, as a savings plan does


@dataclass(frozen=True, slots=True, kw_only=True)
class Allocation:
    """Hold these weights, in percent; put right when `rebalance` says so, or never. No weights: equal ones."""

    weights: tuple[float, ...] = ()
    rebalance: OnSchedule | EveryBars | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Rotation:
    """Hold the `count` instruments that `rank` puts first, in equal parts, chosen anew on a schedule."""

    count: int
    rank: Line
    also: tuple[Line, ...] = ()  # ranked by the average of these and `rank`
    highest: bool = True
    rebalance: OnSchedule | EveryBars = field(default_factory=lambda: OnSchedule(every="month"))
    only: Condition | None = None  # those for which this does not hold are passed over
    otherwise: str = ""  # held in place of those that are missing; cash where empty
    chosen_first: bool = False  # `only` is asked of the chosen ones: none takes the place of one that fails


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """Two instruments against each other, by how many standard deviations their ratio or spread is from its mean."""

    measure: Literal["ratio", "log ratio", "spread"] = "ratio"
    period: int = 60
    entry: float = 2
    exit: float = 0
    stop: float = 0  # where it is given up; 0 is never
    percent: float = 50  # of the equity, on each side
    time_stop_bars: int = 0  # out at the open this many bars after the one it came in at


@dataclass(frozen=True, slots=True, kw_only=True)
class Levelled:
    """As much of one instrument as moves by so much a year, put right on a schedule; none of it where `only` fails,
    which is asked on every bar."""

    target: VolatilityTarget
    rebalance: OnSchedule | EveryBars
    only: Condition | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Basket:
    """These weights, in percent; in equal parts where there are none. No instruments: cash."""

    symbols: tuple[str, ...] = ()
    weights: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """One basket where `rule` holds on the day it is put right, the other where it does not."""

    rule: Condition  # its lines name their instrument
    held: Basket
    other: Basket
    rebalance: OnSchedule | EveryBars


Plan = Signals | Allocation | Rotation | Pair | Levelled | Choice


@dataclass(frozen=True, slots=True, kw_only=True)
class Description:
    """`symbols` are what it trades. With none it trades the first of its data, or all of them with `every`."""

    plan: Plan
    symbols: tuple[str, ...] = ()
    every: bool = False
    version: int = VERSION
