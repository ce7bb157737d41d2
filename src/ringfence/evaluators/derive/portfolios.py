"""Strategies that hold weights: orders only when it is time, and then the weights that the plan calls for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from ringfence.evaluators.derive.conditions import Flags, Reader, Truth, never
from ringfence.evaluators.derive.findings import Findings
from ringfence.evaluators.derive.lines import Grid
from ringfence.evaluators.derive.rulebook import traded_symbols
from ringfence.trade.bars import Bars, Floats
from ringfence.trade.description import model as m
from ringfence.trade.run import Run
from ringfence.trade.times import iso

_SLACK = 0.02  # of the equity: shares are whole, and costs are paid from what is left
_HAIR = 1e-9


class Weights(Protocol):
    """When the portfolio is put right, and what it is to hold then; None where that cannot be told."""

    @property
    def due(self) -> Flags: ...

    def at(self, moment: int) -> Mapping[str, float] | None: ...


@dataclass(frozen=True, slots=True, eq=False)
class Fixed:
    due: Flags
    weights: Mapping[str, float]

    def at(self, moment: int) -> Mapping[str, float] | None:
        return self.weights


@dataclass(frozen=True, slots=True, eq=False)
class Ranked:
    """`fit` says where an instrument may be held at all."""

    due: Flags
    plan: m.Rotation
    ranks: Mapping[str, Floats]
    fit: Mapping[str, Truth]

    def at(self, moment: int) -> Mapping[str, float] | None:
        plan = self.plan
        if any(truth.may[moment] != truth.must[moment] for truth in self.fit.values()):
            return None
        unfit = {symbol for symbol, truth in self.fit.items() if not truth.must[moment]}
        passed_over = set() if plan.chosen_first else unfit
        ranks = {s: float(values[moment]) for s, values in self.ranks.items() if s not in passed_over}
        ordered = sorted(ranks, key=lambda symbol: ranks[symbol], reverse=plan.highest)
        edge = [ranks[symbol] for symbol in ordered[plan.count - 1 : plan.count + 1]]
        if any(rank != rank for rank in ranks.values()) or (len(edge) == 2 and abs(edge[0] - edge[1]) <= _HAIR):
            return None  # not ranked yet, or a tie
        weights = dict.fromkeys([s for s in ordered[: plan.count] if s not in unfit], 1 / plan.count)
        if plan.otherwise and len(weights) < plan.count:
            missing = (plan.count - len(weights)) / plan.count
            weights[plan.otherwise] = weights.get(plan.otherwise, 0.0) + missing
        return weights


@dataclass(frozen=True, slots=True, eq=False)
class Level:
    """So much of one instrument as has the volatility that is aimed at, where `fit` says that it is held."""

    due: Flags
    symbol: str
    target: m.VolatilityTarget
    volatility: Floats
    fit: Truth

    def at(self, moment: int) -> Mapping[str, float] | None:
        now = float(self.volatility[moment]) * (self.target.bars_per_year / 252) ** 0.5
        if self.fit.may[moment] != self.fit.must[moment] or now != now:
            return None
        return {self.symbol: min(self.target.percent / max(now, 0.01), 1.0)} if self.fit.must[moment] else {}


@dataclass(frozen=True, slots=True, eq=False)
class Chosen:
    """One of two baskets, by what the rule says at the moment."""

    due: Flags
    plan: m.Choice
    truth: Truth

    def at(self, moment: int) -> Mapping[str, float] | None:
        if self.truth.may[moment] != self.truth.must[moment]:
            return None
        held = self.plan.held if self.truth.must[moment] else self.plan.other
        shares = [weight / 100 for weight in held.weights] or [1 / max(len(held.symbols), 1)] * len(held.symbols)
        return dict(zip(held.symbols, shares))


def _level(plan: m.Levelled, grid: Grid, symbol: str) -> Level:
    reader = Reader(grid, symbol, symbol)
    fit = ~never(len(grid)) if plan.only is None else reader.truth(plan.only)
    turned = np.concatenate(([False], (fit.may[1:] != fit.may[:-1]) | (fit.must[1:] != fit.must[:-1])))
    volatility = grid.value(m.Line(name="volatility", values=(float(plan.target.period),)), symbol)
    return Level(reader.truth(plan.rebalance).must | turned, symbol, plan.target, volatility, fit)


def weights_of(description: m.Description, bars: Bars) -> Weights:
    grid, plan = Grid(bars), description.plan
    symbols = traded_symbols(description, bars)
    assert isinstance(plan, (m.Allocation, m.Rotation, m.Levelled, m.Choice))
    if isinstance(plan, m.Levelled):
        return _level(plan, grid, symbols[0])
    if isinstance(plan, m.Choice):
        reader = Reader(grid, symbols[0], bars.symbols[0])
        return Chosen(reader.truth(plan.rebalance).must, plan, reader.truth(plan.rule))
    due: Flags = np.zeros(len(grid), dtype=bool)
    if plan.rebalance is not None:
        due = Reader(grid, symbols[0], bars.symbols[0]).truth(plan.rebalance).must
    if isinstance(plan, m.Rotation):
        only = plan.only
        fit = {} if only is None else {s: Reader(grid, s, bars.symbols[0]).truth(only) for s in symbols}
        ranks = {s: sum_of([grid.value(one, s) for one in (plan.rank, *plan.also)]) for s in symbols}
        return Ranked(due, plan, ranks, fit)
    shares = [weight / 100 for weight in plan.weights] or [1 / len(symbols)] * len(symbols)
    return Fixed(due, dict(zip(symbols, shares)))


def sum_of(lines: list[Floats]) -> Floats:
    """Several lines rank by their average, which their sum ranks like."""
    made = lines[0]
    for one in lines[1:]:
        made = made + one
    return made


def check_weights(wanted: Weights, run: Run, bars: Bars) -> Findings:
    """Against the orders, which say when it was decided, and the fills, which say what was held after."""
    made = Findings()
    timeline = bars.timeline()
    given = sorted({order.time for order in run.orders})
    places = [int(np.searchsorted(timeline, moment)) for moment in given]
    for n, at in enumerate(places):
        made.count("rebalances")
        made.check(
            n == 0 or bool(wanted.due[at]),
            f"it traded on {iso(int(timeline[at]))}, when it was not time to: put it right on schedule only",
        )
    if places:
        seen = set(places)
        missing = [at for at in np.flatnonzero(wanted.due).tolist() if at > places[0] and at not in seen]
        missing = [at for at in missing if not _at_rest(wanted.at(at), run, int(timeline[at]))]
        day = iso(int(timeline[missing[0] if missing else 0]))
        made.check(not missing, f"it was time on {day} and nothing was ordered: put it right then")
    for at in places:
        target = wanted.at(at)
        if target is not None and at + 1 < len(timeline):
            _held(target, run, bars, int(timeline[at + 1]), made)
    return made


def _at_rest(target: Mapping[str, float] | None, run: Run, moment: int) -> bool:
    """Whether there was nothing to order: all in cash and to stay there, or the one instrument that is held anyway."""
    units: dict[str, float] = {}
    for fill in run.fills:
        if fill.time <= moment:
            units[fill.symbol] = units.get(fill.symbol, 0.0) + (fill.qty if fill.side == "buy" else -fill.qty)
    held = {symbol for symbol, count in units.items() if abs(count) > _HAIR}
    return target is not None and len(target) < 2 and held == set(target)


def _held(target: Mapping[str, float], run: Run, bars: Bars, moment: int, made: Findings) -> None:
    """What was in hand when the orders had been filled, at the open."""
    assert run.engine.rules is not None
    units: dict[str, float] = {}
    cash = run.engine.rules.cash
    for fill in run.fills:
        if fill.time > moment:
            continue
        signed = fill.qty if fill.side == "buy" else -fill.qty
        units[fill.symbol] = units.get(fill.symbol, 0.0) + signed
        cash -= signed * fill.price + fill.fee
    prices = {}
    for symbol, candles in bars:
        row = int(np.searchsorted(candles.time, moment))
        if row >= len(candles) or candles.time[row] != moment:
            return  # an order that waits for a bar: what is held is told by a later moment
        prices[symbol] = float(candles.open[row])
    equity = cash + sum(count * prices[symbol] for symbol, count in units.items())
    for symbol in {**target, **units}:
        weight = units.get(symbol, 0.0) * prices[symbol] / equity
        asked = target.get(symbol, 0.0)
        share = prices[symbol] / equity if not run.engine.rules.fractional else 0.0
        made.check(
            abs(weight - asked) <= _SLACK + share,
            f"after {iso(moment)} {weight:.1%} was in {symbol}, and the plan calls for {asked:.1%}: order that weight",
        )
