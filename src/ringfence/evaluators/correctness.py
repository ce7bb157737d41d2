"""Whether the trades are the ones that the rules call for: each entry and exit derived anew, and the books added up."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ringfence.base.errors import DataError, OrderError
from ringfence.evaluators.case import Case
from ringfence.evaluators.derive.entries import check_entries, check_missed
from ringfence.evaluators.derive.exits import check_exits
from ringfence.evaluators.derive.findings import Findings
from ringfence.evaluators.derive.market import Market, decisions, episodes
from ringfence.evaluators.derive.portfolios import check_weights, weights_of
from ringfence.evaluators.derive.rulebook import rulebooks, traded_symbols
from ringfence.evaluators.execution import MORE_MONEY, wanted_money
from ringfence.evaluators.identities import check_account
from ringfence.evaluators.panel import THRESHOLDS
from ringfence.evaluators.schema import problems
from ringfence.evaluators.verdict import Kind, Verdict, found, skipped, unjudged
from ringfence.trade.bars import Bars
from ringfence.trade.description import model as m
from ringfence.trade.description.lines import lines_of
from ringfence.trade.run import Json, Run
from ringfence.trade.times import iso

_ONLY_BOOKS = "only the books and prices were checked, not the trades against rules"


@dataclass(frozen=True, slots=True, kw_only=True)
class CorrectnessEvaluator:
    name: str = "correctness"
    kind: Kind = "deterministic"

    def judge(self, case: Case) -> Verdict:
        run, bars = case.run, case.bars
        if run is None:
            return skipped(self.name, "it has not run: backtest it")
        made = Findings()
        why_not = _no_rules(case)
        if why_not:
            made.warnings.append(f"{_ONLY_BOOKS}: {why_not}")
        else:
            assert bars is not None and case.description is not None
            unsound = problems(case.description)
            if unsound:
                return unjudged(self.name, f"the rules cannot be worked out, because {unsound[0]}")
            try:
                made.add([rederive(case.description, run, bars)])
            except (OrderError, DataError) as e:  # an indicator with a setting that it cannot have
                return unjudged(self.name, f"the rules cannot be worked out: {e}")
        if not run.trades:
            due = made.counts.get("signals", 0)
            told = "and zero trades never pass: loosen the entry"
            if wanted_money(run):
                told = f"for want of money: {MORE_MONEY}"
            elif due:
                told = f"though the entry rule held on {due} bars: act on it"
            return found(
                self.name, score=0.0, errors=[f"nothing was traded, {told}"], details=_details(made, not why_not)
            )
        made.add([check_account(run, bars, THRESHOLDS.price_rounding)])
        return found(
            self.name, score=made.score, errors=made.errors, warnings=made.warnings, details=_details(made, not why_not)
        )


def _details(made: Findings, derived: bool) -> dict[str, Json]:
    return {"derived": derived, "checks": made.checks, "wrong": made.wrong, **made.counts}


def _no_rules(case: Case) -> str:
    """Why the trades cannot be held against rules; empty where they can."""
    description, run, bars = case.description, case.run, case.bars
    assert run is not None
    if description is None:
        return "there is no description of the rules"
    if bars is None:
        return "the bars are not at hand"
    if run.bars is None or run.bars.sha256 != bars.sha256:
        return "the run is on other bars"
    named = {*description.symbols, *(line.symbol for line in lines_of(description) if line.symbol)}
    if isinstance(description.plan, m.Rotation) and description.plan.otherwise:
        named.add(description.plan.otherwise)
    missing = sorted(named - set(bars.symbols))
    if missing:
        return f"there are no bars of {', '.join(missing)}"
    if isinstance(description.plan, m.Pair) and len(description.symbols) != 2:
        return "a pair needs two instruments"
    if isinstance(description.plan, (m.Allocation, m.Rotation, m.Levelled, m.Choice)) and run.engine.rules is None:
        return "the script has an engine of its own, whose orders are not known"
    return ""


def rederive(description: m.Description, run: Run, bars: Bars) -> Findings:
    """Hold every trade against the rules. The bars are those of the run, with all that the description names."""
    made = Findings()
    allowed = set(traded_symbols(description, bars))
    if isinstance(description.plan, m.Rotation) and description.plan.otherwise:
        allowed.add(description.plan.otherwise)
    for symbol in dict.fromkeys(trade.symbol for trade in run.trades):
        made.check(
            symbol in allowed, f"{symbol} was traded and never asked for: trade {', '.join(sorted(allowed))} only"
        )
    if isinstance(description.plan, (m.Allocation, m.Rotation, m.Levelled, m.Choice)):
        made.add([check_weights(weights_of(description, bars), run, bars)])
    else:
        made.add(_by_signals(description, run, bars))
    return made


def _by_signals(description: m.Description, run: Run, bars: Bars) -> Iterator[Findings]:
    rules, decided = run.engine.rules, decisions(run)
    for book in rulebooks(description, bars):
        market = Market.of(book.grid, book.symbol, rules, THRESHOLDS.price_rounding)
        positions, lost = episodes(market, run.trades, decided)
        strays = Findings()
        for trade in lost:
            strays.check(
                False, f"trade {trade.id} of {iso(trade.entry_time)} cannot be on bars of {book.symbol}: run it again"
            )
        yield strays
        yield check_entries(book, market, positions)
        refused = [order.time for order in run.orders if order.symbol == book.symbol and order.status != "filled"]
        yield check_missed(book, market, positions, refused, THRESHOLDS.warm_up_bars)
        yield check_exits(book, market, positions, rules, THRESHOLDS.portion_slack)


def create() -> CorrectnessEvaluator:
    return CorrectnessEvaluator()
