"""A description in canonical English: what the author says it has read. Reading it again gives the same description."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal

from ringfence.trade.description.catalogue import KINDS, PRICES
from ringfence.trade.description.lines import own_named
from ringfence.trade.description.model import (
    AllIn,
    Allocation,
    AllOf,
    AnyOf,
    Apart,
    Basket,
    Between,
    Beyond,
    Case,
    CashEach,
    CashSplit,
    Change,
    Choice,
    Compare,
    Condition,
    Cross,
    Description,
    Distance,
    EveryBars,
    Exit,
    FixedCash,
    FixedShares,
    Guards,
    Held,
    InHours,
    InMonths,
    Levelled,
    Line,
    MonthDays,
    Not,
    Number,
    OnSchedule,
    OnWeekdays,
    Operand,
    Pair,
    PercentOfEquity,
    RiskCash,
    RiskPerTrade,
    Rotation,
    Scaled,
    Signals,
    Sizing,
    SomeOf,
    Trail,
    Trend,
    Varied,
    VolatilityTarget,
)

_LEVELS = {"above": "is above", "below": "is below", "at_least": "is at least", "at_most": "is at most"}
# Of these, this bar's own value is left out unless it is asked for: nothing closes above a high that it is part of.
BEFORE_THIS_BAR = ("highest", "lowest", "donchian")
MONTHS = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November",
    "December",
)  # fmt: skip
_PARTS = {
    ("stochastic", "k"): "%K",
    ("stochastic", "d"): "%D",
    ("ichimoku", "conversion"): "conversion line",
    ("ichimoku", "base"): "base line",
    ("ichimoku", "span_a"): "span A",
    ("ichimoku", "span_b"): "span B",
    ("supertrend", "line"): "line",
}


def echo(description: Description) -> str:
    """Sentences, each of which the offline author understands."""
    plan = description.plan
    if isinstance(plan, Signals):
        plan = own_named(plan, description.symbols[0]) if len(description.symbols) == 1 else plan
        said = [*_universe(description), *_signals(plan, description.symbols)]
    elif isinstance(plan, Allocation):
        said = [_allocation(plan, description), *_rebalance(plan.rebalance)]
    elif isinstance(plan, Rotation):
        said = _rotation(plan, description)
    elif isinstance(plan, Choice):
        said = [f"If {condition(plan.rule)}: hold {_basket(plan.held)}", f"Otherwise hold {_basket(plan.other)}"]
        said += _rebalance(plan.rebalance)
    elif isinstance(plan, Levelled):
        plan = own_named(plan, description.symbols[0])
        said = [f"Hold {description.symbols[0]}", *_sizing(plan.target, ()), *_rebalance(plan.rebalance)]
        said += [f"Only while {condition(plan.only)}"] if plan.only else []
    else:
        said = _pair(plan, description.symbols)
    return " ".join(f"{sentence}." for sentence in said)


def number(value: float) -> str:
    """Without an exponent, and without a point where it is whole."""
    text = format(Decimal(repr(value)), "f")
    return text.rstrip("0").rstrip(".") if "." in text else text


def bars(count: float) -> str:
    return f"{number(count)} bar{'' if count == 1 else 's'}"


def listed(names: Sequence[str], word: str = "and") -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} {word} {names[-1]}"


def _universe(description: Description) -> list[str]:
    if description.every:
        return ["Trade every instrument"]
    return [f"Trade {listed(description.symbols)}"] if description.symbols else []


def _signals(plan: Signals, symbols: Sequence[str]) -> list[str]:
    verbs = {"long": "Buy", "short": "Sell short"}
    said = [f"{verbs[entry.side]} when {condition(entry.when)}" for entry in plan.entries]
    said += [_exit(rule) for rule in plan.exits]
    said += guard_sentences(plan.guards)
    said += _sizing(plan.sizing, symbols)
    return [*said, "Add to the position each time"] if plan.adds else said


def _exit(rule: Exit) -> str:
    verb = "Sell" if rule.side == "long" else "Cover"
    part = " the rest" if rule.rest else "" if rule.portion == 100 else f" {number(rule.portion)} %"
    return f"{verb}{part} when {condition(rule.when)}"


def guard_sentences(guards: Guards) -> list[str]:
    said = []
    if guards.stop:
        said.append(f"Stop loss {distance(guards.stop)}")
    said += [f"Sell {number(p.portion)} % at a gain of {distance(p.at)}" for p in guards.partials]
    if guards.target:
        said.append(f"Take profit {distance(guards.target)}{' on the rest' if guards.target_rest else ''}")
    if guards.trail:
        said.append(trail_sentence(guards.trail))
    if guards.break_even:
        after = guards.break_even.after
        when = f"after a gain of {distance(after)}" if after else "when a part has been sold"
        said.append(f"Move the stop to the entry price {when}")
    if guards.time_stop_bars:
        said.append(f"Exit after {bars(guards.time_stop_bars)}")
    return said


def trail_sentence(trail: Trail) -> str:
    best = f" from the best {trail.best}" if trail.best else ""
    return f"Trailing stop {distance(trail.distance)}{best}{' on the rest' if trail.rest else ''}"


def distance(far: Distance) -> str:
    if far.kind == "percent":
        return f"{number(far.value)} %"
    if far.kind == "atr":
        return f"{number(far.value)} times the {far.period}-bar ATR"
    return f"{number(far.value)} times the risk" if far.kind == "risk" else f"at a price of {number(far.value)}"


def _sizing(sizing: Sizing, symbols: Sequence[str]) -> list[str]:
    if isinstance(sizing, AllIn):
        return []
    if isinstance(sizing, PercentOfEquity):
        return [f"Use {number(sizing.percent)} % of the equity per trade"]
    if isinstance(sizing, FixedCash):
        return [f"Invest ${number(sizing.amount)} per trade"]
    if isinstance(sizing, FixedShares):
        return [f"Use {number(sizing.count)} shares per trade"]
    if isinstance(sizing, RiskPerTrade):
        return [f"Risk {number(sizing.percent)} % per trade"]
    if isinstance(sizing, RiskCash):
        return [f"Risk ${number(sizing.amount)} per trade"]
    if isinstance(sizing, CashEach):
        each = [f"${number(amount)} in {symbol}" for amount, symbol in zip(sizing.amounts, symbols)]
        return [f"Invest {listed(each)} per trade"]
    if isinstance(sizing, CashSplit):
        parts = listed([f"{number(weight)} % in {symbol}" for weight, symbol in zip(sizing.weights, symbols)] or [""])
        return [f"Invest ${number(sizing.amount)} per trade{f', {parts}' if parts else ' in equal parts'}"]
    if isinstance(sizing, Varied):
        return [*_sizing(sizing.usual, symbols), *(_case(one, sizing) for one in sizing.cases)]
    assert isinstance(sizing, VolatilityTarget)
    year = f"at {sizing.bars_per_year} bars a year"
    return [f"Target {number(sizing.percent)} % volatility over {bars(sizing.period)} {year}"]


def _case(one: Case, sizing: Varied) -> str:
    amount = f"Invest ${number(one.value)}"
    if isinstance(sizing.usual, (FixedShares, PercentOfEquity)):
        unit = "shares" if isinstance(sizing.usual, FixedShares) else "% of the equity"
        amount = f"Use {number(one.value)} {unit}"
    return f"{amount} {'more per trade' if one.more else 'per trade instead'} when {condition(one.when)}"


def _allocation(plan: Allocation, description: Description) -> str:
    if not plan.weights and len(description.symbols) == 1:
        return f"Hold {description.symbols[0]}"
    if not plan.weights:
        return f"Hold {'every instrument' if description.every else listed(description.symbols)} in equal parts"
    return f"Hold {listed([f'{number(w)} % {s}' for w, s in zip(plan.weights, description.symbols)])}"


def _basket(held: Basket) -> str:
    if not held.symbols:
        return "cash"
    if held.weights:
        return listed([f"{number(weight)} % {symbol}" for weight, symbol in zip(held.weights, held.symbols)])
    return listed(held.symbols) + (" in equal parts" if len(held.symbols) > 1 else "")


def _rebalance(when: OnSchedule | EveryBars | None) -> list[str]:
    return [f"Rebalance when {condition(when)}"] if when else []


def _rotation(plan: Rotation, description: Description) -> list[str]:
    among = "every instrument" if description.every else listed(description.symbols)
    order = "highest" if plan.highest else "lowest"
    said = [f"Hold the {plan.count} of {among} with the {order} {_ranked(plan)}", *_rebalance(plan.rebalance)]
    if plan.only:
        asked = "Of the chosen only those" if plan.chosen_first else "Only those"
        said.append(f"{asked} for which {condition(plan.only)}")
    return [*said, f"Otherwise hold {plan.otherwise}"] if plan.otherwise else said


def _ranked(plan: Rotation) -> str:
    return (
        f"average of {listed([line(one) for one in (plan.rank, *plan.also)])}" if plan.also else line_words(plan.rank)
    )


def _pair(plan: Pair, symbols: Sequence[str]) -> list[str]:
    stop = f", abandon at {number(plan.stop)}" if plan.stop else ""
    over = f"Trade {symbols[0]} against {symbols[1]} by the {plan.measure} over {bars(plan.period)}"
    said = [f"{over}: enter at {number(plan.entry)}, exit at {number(plan.exit)}{stop} standard deviations"]
    if plan.percent != 50:
        said.append(f"Use {number(plan.percent)} % of the equity on each side")
    return [*said, f"Exit after {bars(plan.time_stop_bars)}"] if plan.time_stop_bars else said


# Conditions.


def condition(what: Condition) -> str:
    if isinstance(what, (AllOf, AnyOf)):
        word = " and " if isinstance(what, AllOf) else " or "
        return word.join(map(_bracketed, what.parts))
    if isinstance(what, SomeOf):
        return f"at least {what.count} of these are true: {', '.join(map(_bracketed, what.parts))}"
    if isinstance(what, Not):
        return f"not ({condition(what.part)})"
    if isinstance(what, Compare):
        return _compare(what)
    if isinstance(what, Cross):
        either = what.direction == "either"
        way = f"crosses {operand(what.right)} in either direction" if either else ""
        return f"{operand(what.left)} {way or f'crosses {what.direction} {operand(what.right)}'}"
    if isinstance(what, Between):
        return f"{operand(what.left)} is between {operand(what.low)} and {operand(what.high)}"
    if isinstance(what, Trend):
        return f"{line(what.line)} is {'rising' if what.way == 'up' else 'falling'} for {bars(what.bars)}"
    if isinstance(what, Change):
        least = "more than" if what.strict else "at least"
        return f"{line(what.line)} is {what.way} {least} {number(what.percent)} % over {bars(what.bars)}"
    if isinstance(what, Held):
        return f"{condition(what.condition)} for {bars(what.bars)} in a row"
    return _calendar(what)


def _bracketed(part: Condition) -> str:
    return f"({condition(part)})" if isinstance(part, (AllOf, AnyOf, SomeOf)) else condition(part)


def _compare(what: Compare) -> str:
    right = what.right
    up = what.level in ("above", "at_least")
    least = "more than" if what.level in ("above", "below") else "at least"
    if isinstance(right, Beyond) and up == (right.percent > 0):
        return f"{operand(what.left)} is {least} {_beyond(right)}"
    if isinstance(right, Apart) and up == (right.ranges > 0):
        return f"{operand(what.left)} is {least} {_apart(right)}"
    return f"{operand(what.left)} {_LEVELS[what.level]} {operand(right)}"


def _calendar(what: OnSchedule | EveryBars | OnWeekdays | InHours | InMonths | MonthDays) -> str:
    if isinstance(what, EveryBars):
        return f"{bars(what.bars)} of data {'has' if what.bars == 1 else 'have'} elapsed again"
    if isinstance(what, OnWeekdays):
        return f"the day is {listed([day.capitalize() for day in what.days], 'or')}"
    if isinstance(what, InHours):
        return f"the time is between {what.start} and {what.end}"
    if isinstance(what, InMonths):
        return f"the month is {listed([MONTHS[month - 1] for month in what.months], 'or')}"
    if isinstance(what, MonthDays):
        side = "of" if what.first > 0 else "from the end of"
        first, last = abs(what.first), abs(what.last)
        return f"it is trading {f'day {first}' if first == last else f'days {first} to {last}'} {side} the month"
    often = "" if what.each == 1 else f" of every {what.each} {what.every}s"
    if what.every == "week" and what.on not in ("first", "last"):
        return f"it is the first bar of {what.on.capitalize()}{often}"
    if what.on.isdigit():
        return f"it is the first bar from day {what.on} of the month on{often}"
    return f"it is the {what.on} {'day' if what.on == 'last' else 'bar'}{often or f' of the {what.every}'}"


def operand(what: Operand) -> str:
    if isinstance(what, Number):
        return number(what.value)
    if isinstance(what, Scaled):
        return f"{number(what.times)} times {line(what.line)}"
    if isinstance(what, Beyond):
        return f"the level {_beyond(what)}"
    if isinstance(what, Apart):
        return f"the level {_apart(what)}"
    return line(what)


def _beyond(what: Beyond) -> str:
    return f"{number(abs(what.percent))} % {'above' if what.percent > 0 else 'below'} {line(what.line)}"


def _apart(what: Apart) -> str:
    side = "above" if what.ranges > 0 else "below"
    return f"{number(abs(what.ranges))} times the {number(what.atr.values[0])}-bar ATR {side} {line(what.line)}"


def line(what: Line) -> str:
    return f"the {line_words(what)}"


def line_words(what: Line) -> str:
    """A line without its article: 14-bar RSI, upper Bollinger band(20, 2), close of SPY."""
    ago = what.ago
    current = ""
    if what.name in BEFORE_THIS_BAR:
        ago, current = max(ago - 1, 0), "" if ago else "current "
    words = current + _named(what)
    if what.source or what.of:
        words += f" of {line(what.of)}" if what.of else f" of the {what.source}"
    if what.symbol:
        words += f" of {what.symbol}"
    if what.timeframe:
        words += f" on {what.timeframe} bars"
    return words + (f" {bars(ago)} ago" if ago else "")


def _named(what: Line) -> str:
    kind = KINDS[what.name]
    if what.name in PRICES or not kind.settings:
        return kind.english
    settings = f"({', '.join(map(number, what.values))})"
    if len(kind.settings) == 1 and not kind.parts:
        return f"{number(what.values[0])}-bar {kind.english}"
    part = _PARTS.get((what.name, what.part), what.part)
    if what.name in ("band_width", "percent_b"):
        return f"{kind.english}{settings}"
    if what.name in ("bollinger", "keltner", "donchian"):
        return f"{part} {kind.english}{settings}"
    if what.name == "cloud":
        return f"{part} of the {kind.english}{settings}"
    return f"{kind.english}{settings} {part}".rstrip()
