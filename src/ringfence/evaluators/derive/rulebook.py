"""The rules of a plan for one instrument, as truths over the timeline: when it goes in and out, how it is guarded."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np

from ringfence.evaluators.derive.conditions import Reader, Truth, above, below, never
from ringfence.evaluators.derive.lines import Grid
from ringfence.trade.bars import Bars, Floats
from ringfence.trade.description import model as m
from ringfence.trade.description.catalogue import PRICES
from ringfence.trade.description.echo import condition
from ringfence.trade.description.guards import distances
from ringfence.trade.description.lines import lines_of

SIDES: tuple[m.Side, m.Side] = ("long", "short")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Rule:
    """`says` is the rule in words, `when` what they were read from, and `portion` how many percent of the position."""

    truth: Truth
    says: str
    when: m.Condition | None = None
    portion: float = 100
    rest: bool = False  # asked once a part has been sold


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Rulebook:
    """`turns`: an entry of the other side ends a position. `begins` is the first moment at which it can decide."""

    grid: Grid
    symbol: str
    reader: Reader
    begins: int
    entries: Mapping[m.Side, Rule]
    exits: Mapping[m.Side, tuple[Rule, ...]]
    guards: m.Guards = field(default_factory=m.Guards)
    turns: bool = False
    adds: bool = False
    always_affordable: bool = True

    def shown(self, rule: Rule, moment: int) -> str:
        return self.reader.shown(rule.when, moment) if rule.when is not None else "the score was not there"


def traded_symbols(description: m.Description, bars: Bars) -> tuple[str, ...]:
    if description.every:
        return bars.symbols
    return description.symbols or bars.symbols[:1]


def rulebooks(description: m.Description, bars: Bars) -> Iterator[Rulebook]:
    """One for each instrument that is traded by signals. The instruments of the description are among the bars'."""
    grid, plan = Grid(bars), description.plan
    if isinstance(plan, m.Signals):
        symbols = traded_symbols(description, bars)
        many = description.every or len(description.symbols) > 1
        begins = _begins(grid, plan, symbols)
        for symbol in symbols:
            yield _signals(grid, plan, symbol, Reader(grid, symbol, bars.symbols[0] if many else symbol), begins)
    elif isinstance(plan, m.Pair):
        yield from _pair(grid, plan, description.symbols[0], description.symbols[1])


def _signals(grid: Grid, plan: m.Signals, symbol: str, reader: Reader, begins: int) -> Rulebook:
    entries: dict[m.Side, Rule] = {}
    for side in SIDES:
        conditions = [entry.when for entry in plan.entries if entry.side == side]
        if conditions:
            entries[side] = _rule(reader, conditions)
    exits = {
        side: tuple(
            _rule(reader, [rule.when], rule.portion, rest=rule.rest) for rule in plan.exits if rule.side == side
        )
        for side in SIDES
    }
    return Rulebook(
        grid=grid,
        symbol=symbol,
        reader=reader,
        begins=begins,
        entries=entries,
        exits=exits,
        guards=plan.guards,
        turns=len(entries) == 2,
        adds=plan.adds,
        always_affordable=not m.in_money(plan.sizing),
    )


def _rule(reader: Reader, conditions: list[m.Condition], portion: float = 100, *, rest: bool = False) -> Rule:
    joined = conditions[0] if len(conditions) == 1 else m.AnyOf(parts=tuple(conditions))
    return Rule(truth=reader.truth(joined), says=condition(joined), when=joined, portion=portion, rest=rest)


def first_tradable(grid: Grid) -> int:
    opening = grid.bars.tradable_from
    return 0 if opening is None else int(np.searchsorted(grid.timeline, opening))


def _begins(grid: Grid, plan: m.Signals, symbols: tuple[str, ...]) -> int:
    """One moment after every line of every instrument has its first value, so that a cross can be seen."""
    lines = [line for line in dict.fromkeys(lines_of(plan)) if line.name not in PRICES or line.timeframe]
    lines += [m.Line(name="atr", values=(float(far.period),)) for far in distances(plan.guards) if far.kind == "atr"]
    if isinstance(plan.sizing, m.VolatilityTarget):
        lines.append(m.Line(name="volatility", values=(float(plan.sizing.period),)))
    ready = [grid.ready(line, symbol) for line in lines for symbol in symbols]
    back = max((line.ago for line in lines_of(plan)), default=0)
    back = max([back, *_stretches(plan)])
    return max([first_tradable(grid), max(ready, default=0) + 1 + back])


def _stretches(part: object) -> Iterator[int]:
    """How many bars back the conditions look, beside what their lines need."""
    if isinstance(part, (m.Trend, m.Change, m.Held)):
        yield part.bars
    if isinstance(part, tuple):
        for item in part:
            yield from _stretches(item)
    elif isinstance(part, (m.Signals, m.Entry, m.Exit, m.Varied, m.Case, m.AllOf, m.AnyOf, m.SomeOf, m.Not)):
        for name in ("entries", "exits", "sizing", "cases", "when", "parts", "part"):
            if hasattr(part, name):
                yield from _stretches(getattr(part, name))


def _pair(grid: Grid, plan: m.Pair, first: str, second: str) -> Iterator[Rulebook]:
    """Both legs by the one score; the second goes the other way."""
    score = pair_score(grid, plan, first, second)
    beyond = above(np.abs(score), plan.stop) if plan.stop else never(len(grid))
    dear, cheap = above(score, plan.entry) & ~beyond, below(score, -plan.entry) & ~beyond
    left_cheap, left_dear = above(score, -plan.exit) | beyond, below(score, plan.exit) | beyond
    says = f"the {plan.measure} of {first} and {second} over {plan.period} bars"
    begins = max(first_tradable(grid), 1) + plan.period
    for symbol, bought, sold in ((first, cheap, dear), (second, dear, cheap)):
        out = (left_cheap, left_dear) if symbol == first else (left_dear, left_cheap)
        yield Rulebook(
            grid=grid,
            symbol=symbol,
            reader=Reader(grid, symbol, grid.bars.symbols[0]),
            begins=begins,
            entries={
                "long": Rule(truth=bought, says=f"{says} is {plan.entry:g} deviations off"),
                "short": Rule(truth=sold, says=f"{says} is {plan.entry:g} deviations off"),
            },
            exits={
                side: (Rule(truth=truth, says=f"{says} is back at {plan.exit:g} deviations"),)
                for side, truth in zip(SIDES, out)
            },
            guards=m.Guards(time_stop_bars=plan.time_stop_bars),
        )


def pair_score(grid: Grid, plan: m.Pair, first: str, second: str) -> Floats:
    """How many standard deviations the ratio or spread is from its mean."""
    a, b = (grid.value(m.Line(name="close"), symbol) for symbol in (first, second))
    values = a - b if plan.measure == "spread" else a / b
    values = np.log(values) if plan.measure == "log ratio" else values
    made = np.full(len(grid), np.nan)
    if len(grid) >= plan.period:
        windows = np.lib.stride_tricks.sliding_window_view(values, plan.period)
        spread = windows.std(axis=1)
        with np.errstate(divide="ignore", invalid="ignore"):
            score = (windows[:, -1] - windows.mean(axis=1)) / spread
        made[plan.period - 1 :] = np.where(spread == 0, 0.0, score)
    return made
