"""Whether the declared rules are complete and in range: those of the description, and the parameters of the program."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, fields, is_dataclass
from typing import Any

from ringfence.evaluators.case import Case
from ringfence.evaluators.verdict import Kind, Verdict, found
from ringfence.trade.description import model as m
from ringfence.trade.description.catalogue import KINDS, SOURCED, warm_up
from ringfence.trade.description.echo import line_words
from ringfence.trade.description.guards import distances
from ringfence.trade.description.lines import lines_of
from ringfence.trade.description.stored import is_day
from ringfence.trade.parameters import Parameter

_PER_ERROR, _PER_WARNING = 0.25, 0.1
_WEEKDAYS = frozenset({"monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"})


@dataclass(frozen=True, slots=True, kw_only=True)
class SchemaEvaluator:
    name: str = "schema"
    kind: Kind = "deterministic"

    def judge(self, case: Case) -> Verdict:
        errors, warnings = list(_parameters(case)), []
        description = case.description
        if description is None:
            warnings.append("the rules are only in the program: its parameters were looked at, and nothing else")
        else:
            errors += problems(description)
            errors += _data(case, description)
            warnings += _doubts(description)
        score = 1 - _PER_ERROR * len(errors) - _PER_WARNING * len(warnings)
        details = {"typed": description is not None, "parameters": len(case.draft.parameters)}
        return found(self.name, score=max(score, 0.0), errors=errors, warnings=warnings, details=details)


def problems(description: m.Description) -> list[str]:
    """What keeps a description from being a whole strategy; empty where nothing does."""
    return [*_parts(description), *_plan(description)]


def _parameters(case: Case) -> Iterator[str]:
    """By the ranges that the program itself declares."""
    given = case.run.draft.parameters if case.run is not None else {}
    for parameter in case.draft.parameters:
        objection = parameter.objection(given.get(parameter.name, parameter.default))
        if objection:
            yield f"{objection}: change the value or its range"
        if _upside_down(parameter):
            yield f"the range of {parameter.name} runs from {parameter.low} down to {parameter.high}: turn it round"


def _upside_down(parameter: Parameter) -> bool:
    return parameter.low is not None and parameter.high is not None and parameter.low > parameter.high


def _parts(part: object) -> Iterator[str]:
    """Every value of the description, by its own rule."""
    if isinstance(part, tuple):
        for item in part:
            yield from _parts(item)
    elif is_dataclass(part):
        check = _CHECKS.get(type(part))
        if check is not None:
            yield from check(part)
        for field in fields(part):
            yield from _parts(getattr(part, field.name))


def _line(line: m.Line) -> Iterator[str]:
    kind = KINDS.get(line.name)
    if kind is None:
        yield f"{line.name!r} is no indicator: use one of {', '.join(KINDS)}"
        return
    if len(line.values) != len(kind.settings):
        yield f"{line.name} has {len(line.values)} settings: give {', '.join(s.name for s in kind.settings) or 'none'}"
    for setting, value in zip(kind.settings, line.values):
        if not value >= setting.least or (setting.whole and value % 1):
            whole = "a whole number" if setting.whole else "a number"
            yield f"{line.name} has a {setting.name} of {value:g}: give {whole} from {setting.least:g} on"
    if line.name == "macd" and len(line.values) > 1 and line.values[0] >= line.values[1]:
        yield f"macd has a fast period of {line.values[0]:g} and a slow one of {line.values[1]:g}: swap them"
    if line.part and line.part not in kind.parts:
        yield f"{line.name} has no part {line.part!r}: use one of {', '.join(kind.parts) or 'none'}"
    if line.of is not None and (line.source or line.of.of is not None or line.name not in SOURCED):
        yield f"{line.name} is computed of a line that it cannot be: use one of {', '.join(SOURCED)} of a plain line"
    if line.ago < 0:
        yield f"{line.name} is looked at {-line.ago} bars ahead: only bars that are over can be known"


def _threshold(left: m.Operand, right: m.Operand) -> Iterator[str]:
    """A level that the line can never reach."""
    for line, number in ((left, right), (right, left)):
        if isinstance(line, m.Line) and isinstance(number, m.Number) and line.name in KINDS:
            scale = KINDS[line.name].scale
            if scale is not None and not scale[0] <= number.value <= scale[1]:
                low, high = scale
                yield f"{line.name} is held against {number.value:g}, and goes from {low:g} to {high:g}: choose another"


def _between(part: m.Between) -> Iterator[str]:
    yield from _threshold(part.left, part.low)
    yield from _threshold(part.left, part.high)
    if isinstance(part.low, m.Number) and isinstance(part.high, m.Number) and part.low.value >= part.high.value:
        yield f"nothing lies between {part.low.value:g} and {part.high.value:g}: put the lower end first"


def _distance(part: m.Distance) -> Iterator[str]:
    if not part.value > 0:
        yield f"a distance of {part.value:g} {part.kind} is none: give one above 0"
    if part.kind == "atr" and part.period < 1:
        yield f"an average true range of {part.period} bars is none: give its period"


def _guards(part: m.Guards) -> Iterator[str]:
    for name, far in (("stop", part.stop), ("trailing stop", part.trail.distance if part.trail else None)):
        if far is not None and far.kind == "percent" and far.value >= 100:
            yield f"a {name} of {far.value:g} % is never reached: give less than 100"
    gone = sum(partial.portion for partial in part.partials)
    if gone > 100.01:
        yield f"the partial exits sell {gone:g} % of the position: they may come to 100 at most"
    if part.stop is None and any(d.kind == "risk" for d in distances(part)):
        yield "a target in multiples of the risk needs a stop: say where the stop is"
    if part.stop is not None and part.stop.kind == "risk":
        yield "a stop cannot be a multiple of itself: give it in percent, true ranges or as a price"
    if part.time_stop_bars < 0:
        yield f"a time stop of {part.time_stop_bars} bars is none: give 1 or more"


def _partial(part: m.Partial) -> Iterator[str]:
    if not 0 < part.portion <= 100:
        yield f"a partial exit of {part.portion:g} %: give more than 0 and at most 100"


def _exit(part: m.Exit) -> Iterator[str]:
    if not 0 < part.portion <= 100:
        yield f"an exit of {part.portion:g} % of the position: give more than 0 and at most 100"
    if part.rest and part.portion < 100:
        yield "an exit of the rest sells all that is left: leave its portion out"


def _percent(part: m.PercentOfEquity | m.RiskPerTrade | m.VolatilityTarget) -> Iterator[str]:
    if not 0 < part.percent <= 100:
        yield f"{part.percent:g} % of the equity in a trade: give more than 0 and at most 100"


def _positive(part: m.FixedCash | m.FixedShares | m.RiskCash) -> Iterator[str]:
    amount = part.count if isinstance(part, m.FixedShares) else part.amount
    if not amount > 0:
        yield f"a position of {amount:g} is none: give more than 0"


def _each(part: m.CashEach | m.CashSplit) -> Iterator[str]:
    amounts = part.amounts if isinstance(part, m.CashEach) else (part.amount, *part.weights)
    if not amounts or not all(amount > 0 for amount in amounts):
        yield "a position of nothing is none: give each instrument more than 0"
    if isinstance(part, m.CashSplit) and part.weights and abs(sum(part.weights) - 100) > 0.1:
        yield f"the parts of the sum come to {sum(part.weights):g} %: make them 100"


def _case(part: m.Case) -> Iterator[str]:
    if not part.value > 0:
        yield f"a size of {part.value:g} in its case is none: give more than 0"


def _bars(part: m.Trend | m.Change | m.Held | m.EveryBars) -> Iterator[str]:
    if part.bars < 1:
        yield f"{part.bars} bars are no stretch of time: give 1 or more"


def _some(part: m.SomeOf) -> Iterator[str]:
    if not 1 <= part.count <= len(part.parts):
        yield f"{part.count} of {len(part.parts)} conditions are to hold: give a number that can be"


def _months(part: m.InMonths) -> Iterator[str]:
    if not part.months or not set(range(1, 13)).issuperset(part.months):
        yield f"{', '.join(map(str, part.months)) or 'no month'} is no month: give numbers from 1 to 12"


def _schedule(part: m.OnSchedule) -> Iterator[str]:
    if part.each < 1 or (part.each > 1 and part.every not in ("week", "month")):
        yield f"a schedule of each {part.each} {part.every}s: give 1, or a number of weeks or months"
    if part.on not in _WEEKDAYS | {"first", "last"} and not (part.every == "month" and is_day(part.on)):
        yield f"{part.on} is no day of a {part.every}: give first, last, a weekday or a day of the month up to 28"


def _month_days(part: m.MonthDays) -> Iterator[str]:
    if not (1 <= part.first <= part.last <= 23 or -23 <= part.first <= part.last <= -1):
        yield f"days {part.first} to {part.last} of a month: count both from one end, the earlier first"


def _joined(part: m.AllOf | m.AnyOf) -> Iterator[str]:
    if not part.parts:
        yield "conditions are joined and there are none: say at least one"


def _weekdays(part: m.OnWeekdays) -> Iterator[str]:
    if not part.days or not _WEEKDAYS.issuperset(part.days):
        yield f"{', '.join(part.days) or 'no day'} is no weekday: name one such as monday"


def _hours(part: m.InHours) -> Iterator[str]:
    if not "00:00" <= part.start < part.end <= "24:00":
        yield f"between {part.start} and {part.end} there is no time: give the earlier one first, as 09:30"


def _compare(part: m.Compare | m.Cross) -> Iterator[str]:
    yield from _threshold(part.left, part.right)


_CHECKS: Mapping[type, Callable[[Any], Iterator[str]]] = {
    m.Line: _line,
    m.Compare: _compare,
    m.Cross: _compare,
    m.Between: _between,
    m.Distance: _distance,
    m.Guards: _guards,
    m.Partial: _partial,
    m.Exit: _exit,
    m.PercentOfEquity: _percent,
    m.RiskPerTrade: _percent,
    m.VolatilityTarget: _percent,
    m.FixedCash: _positive,
    m.FixedShares: _positive,
    m.RiskCash: _positive,
    m.CashEach: _each,
    m.CashSplit: _each,
    m.Case: _case,
    m.Trend: _bars,
    m.Change: _bars,
    m.Held: _bars,
    m.EveryBars: _bars,
    m.AllOf: _joined,
    m.AnyOf: _joined,
    m.OnWeekdays: _weekdays,
    m.InHours: _hours,
    m.InMonths: _months,
    m.MonthDays: _month_days,
    m.SomeOf: _some,
    m.OnSchedule: _schedule,
}


def _plan(description: m.Description) -> Iterator[str]:
    """Whether it is a whole strategy."""
    plan, symbols = description.plan, description.symbols
    if description.version != m.VERSION:
        yield f"description version {description.version} is unknown: this is version {m.VERSION}"
    if len(set(symbols)) != len(symbols):
        yield "an instrument is named twice: name each once"
    if isinstance(plan, m.Signals):
        yield from _signals(plan)
        size = m.usual_size(plan.sizing)
        parts = size.amounts if isinstance(size, m.CashEach) else size.weights if isinstance(size, m.CashSplit) else ()
        if parts and len(parts) != len(symbols):
            yield f"there are {len(parts)} sums for {len(symbols)} instruments: give one for each"
    elif isinstance(plan, m.Allocation):
        if plan.weights and len(plan.weights) != len(symbols):
            yield f"there are {len(plan.weights)} weights for {len(symbols)} instruments: give one for each"
        if sum(map(abs, plan.weights)) > 100.01:
            yield f"the weights come to {sum(map(abs, plan.weights)):g} %: they may come to 100 at most"
    elif isinstance(plan, m.Rotation):
        if plan.count < 1 or (symbols and plan.count > len(symbols)):
            yield f"{plan.count} of {len(symbols)} instruments are to be held: give a number that can be"
    elif isinstance(plan, m.Choice):
        for held in (plan.held, plan.other):
            if held.weights and (len(held.weights) != len(held.symbols) or sum(held.weights) > 100.01):
                yield f"the weights of {', '.join(held.symbols)} do not fit: give one for each, 100 % at most"
        if set(symbols) != {*plan.held.symbols, *plan.other.symbols}:
            yield "the instruments are not those of the two baskets: name each of them"
    elif isinstance(plan, m.Levelled):
        if len(symbols) != 1:
            yield f"a level volatility is of one instrument and {len(symbols)} are named: name one"
    else:
        yield from _pair(plan, symbols)


def _signals(plan: m.Signals) -> Iterator[str]:
    if not plan.entries:
        yield "there is no entry: say when to buy"
    for exit_ in plan.exits:
        if plan.entries and exit_.side not in {entry.side for entry in plan.entries}:
            yield f"there is an exit for {exit_.side} positions and no entry into one: add one, or leave the exit out"
    yield from _sold_in_parts(plan)
    if isinstance(plan.sizing, (m.RiskPerTrade, m.RiskCash)) and plan.guards.stop is None:
        yield "a size by the risk needs a stop: say where the stop is"
    guards = plan.guards
    guarded = guards != m.Guards()
    turns = len({entry.side for entry in plan.entries}) == 2
    if plan.entries and not (plan.exits or guarded or turns or plan.adds):
        yield "there is no way out: add an exit, a stop, a target or a time"


def _sold_in_parts(plan: m.Signals) -> Iterator[str]:
    parted = {rule.side for rule in plan.exits if rule.portion < 100}
    by_gain, trail = bool(plan.guards.partials), plan.guards.trail
    if not by_gain and any(rule.rest and rule.side not in parted for rule in plan.exits):
        yield "an exit of the rest needs a partial exit before it: say when the first part is sold"
    if trail is not None and trail.rest and not (by_gain or parted):
        yield "a trailing stop on the rest needs a partial exit before it: say when the first part is sold"
    secured = plan.guards.break_even
    if secured is not None and secured.after is None and not (by_gain or parted):
        yield "a stop that moves when a part is sold needs a partial exit before it: say when the first part is sold"
    if plan.guards.target_rest and (by_gain or not parted or plan.guards.target is None):
        yield "a target of the rest needs a partial exit by a rule before it: say when the first part is sold"
    for side in sorted(parted):
        gone = sum(rule.portion for rule in plan.exits if rule.side == side and rule.portion < 100)
        gone += sum(partial.portion for partial in plan.guards.partials)
        if gone > 100.01:
            yield f"the partial exits of a {side} position sell {gone:g} % of it: they may come to 100 at most"


def _pair(plan: m.Pair, symbols: tuple[str, ...]) -> Iterator[str]:
    if len(symbols) != 2:
        yield f"a pair has two instruments and {len(symbols)} are named: name two"
    if plan.period < 2 or not plan.entry > plan.exit >= 0:
        yield f"a pair entered at {plan.entry:g} and left at {plan.exit:g} over {plan.period} bars: enter further out"
    if plan.stop and plan.stop <= plan.entry:
        yield f"the pair is given up at {plan.stop:g} and entered at {plan.entry:g}: give it up further out"
    if not 0 < plan.percent <= 50 or plan.time_stop_bars < 0:
        yield f"{plan.percent:g} % on each side, {plan.time_stop_bars} bars: give up to 50 %, and bars from 0 on"


def _data(case: Case, description: m.Description) -> Iterator[str]:
    """Whether there are bars enough for the slowest line."""
    if case.bars is None:
        return
    lines = [line for line in lines_of(description) if line.name in KINDS and not line.timeframe]
    have = len(case.bars.timeline())
    for line in lines:
        if len(line.values) == len(KINDS[line.name].settings) and warm_up(line) >= have:
            yield f"the {line_words(line)} needs {warm_up(line)} bars and there are {have}: load a longer stretch"


def _doubts(description: m.Description) -> Iterator[str]:
    plan = description.plan
    if not isinstance(plan, m.Signals):
        return
    for entry in plan.entries:
        if any(exit_.side == entry.side and exit_.when == entry.when for exit_ in plan.exits):
            yield f"the {entry.side} entry and its exit are the same condition: it goes in and straight out again"
    if any(entry.side == "short" for entry in plan.entries) and not plan.guards.stop and not plan.guards.trail:
        yield "short positions have no stop: what can be lost with them has no end"


def create() -> SchemaEvaluator:
    return SchemaEvaluator()
