"""What the user's words ask for, one fact at a time: numbers, tickers, indicators and sides, as a strategy must have
them. From the typed description where there is one, else from the digits and capitals in the words themselves."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from ringfence.trade.description import model as m
from ringfence.trade.description.catalogue import KINDS, PRICES
from ringfence.trade.description.echo import condition, number
from ringfence.trade.description.lines import lines_of

FactKind = Literal["ticker", "indicator", "setting", "level", "stop", "target", "trail", "number", "short", "exit"]
Unit = Literal["plain", "percent", "bars"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
    """`of` is the indicator or ticker that it is about. A `usual` value is customary and may not have been said."""

    kind: FactKind
    says: str
    value: float = 0.0
    of: str = ""
    unit: Unit = "plain"
    way: str = ""
    usual: bool = False
    also: tuple[float, ...] = ()  # other numbers that mean the same: 63 bars are three months


def facts(description: m.Description) -> tuple[Fact, ...]:
    """Each once, in the order in which they are said."""
    return tuple(dict.fromkeys(_facts(description)))


def _facts(description: m.Description) -> Iterator[Fact]:
    for symbol in description.symbols:
        yield Fact(kind="ticker", says=symbol, of=symbol)
    plan = description.plan
    if isinstance(plan, m.Signals):
        yield from _signals(plan)
    elif isinstance(plan, m.Allocation):
        for symbol, weight in zip(description.symbols, plan.weights):
            yield Fact(kind="number", says=f"a weight of {number(weight)} % for {symbol}", value=weight, unit="percent")
        yield from _condition(plan.rebalance) if plan.rebalance else ()
    elif isinstance(plan, m.Rotation):
        yield Fact(kind="number", says=f"{plan.count} instruments at a time", value=plan.count)
        for one in (plan.rank, *plan.also):
            yield from _line(one)
        yield from _condition(plan.rebalance)
        yield from _condition(plan.only) if plan.only else ()
        if plan.otherwise:
            yield Fact(kind="ticker", says=plan.otherwise, of=plan.otherwise)
    elif isinstance(plan, m.Choice):
        yield from _condition(plan.rule)
        for weight in (*plan.held.weights, *plan.other.weights):
            yield Fact(kind="number", says=f"a weight of {number(weight)} %", value=weight, unit="percent")
        yield from _condition(plan.rebalance)
    elif isinstance(plan, m.Levelled):
        yield from _sizing(plan.target)
        yield from _condition(plan.rebalance)
        yield from _condition(plan.only) if plan.only else ()
    else:
        yield from _pair(plan)


def _pair(plan: m.Pair) -> Iterator[Fact]:
    usual = m.Pair()
    for name in ("period", "entry", "exit", "stop"):
        value, customary = getattr(plan, name), getattr(usual, name)
        if value:
            yield Fact(
                kind="number", says=f"the pair's {name} of {number(value)}", value=value, usual=value == customary
            )
    if plan.percent != usual.percent:
        yield Fact(kind="number", says=f"{number(plan.percent)} % on each side", value=plan.percent, unit="percent")
    if plan.time_stop_bars:
        says = f"leaving after {plan.time_stop_bars} bars"
        yield Fact(kind="number", says=says, value=plan.time_stop_bars, unit="bars")


def _signals(plan: m.Signals) -> Iterator[Fact]:
    for entry in plan.entries:
        yield from _condition(entry.when)
        if entry.side == "short":
            yield Fact(kind="short", says="a short position")
    for rule in plan.exits:
        yield Fact(kind="exit", says="an exit", of=rule.side)
        yield from _condition(rule.when)
        if rule.portion < 100:
            yield Fact(kind="number", says=f"selling {number(rule.portion)} %", value=rule.portion, unit="percent")
    yield from _guards(plan.guards)
    yield from _sizing(plan.sizing)


def _guards(guards: m.Guards) -> Iterator[Fact]:
    if guards.stop is not None:
        yield from _distance("stop", "stop", guards.stop)
    whole = sum(partial.portion for partial in guards.partials) > 99.99
    for n, partial in enumerate(guards.partials, 1):
        yield from _distance("target", "target", partial.at)
        if not (whole and n == len(guards.partials)):  # the last part is what is left
            says = f"a part of {number(partial.portion)} %"
            yield Fact(kind="number", says=says, value=partial.portion, unit="percent")
    if guards.target is not None:
        yield from _distance("target", "target", guards.target)
    if guards.trail is not None:
        yield from _distance("trail", "trailing stop", guards.trail.distance)
    after = guards.break_even.after if guards.break_even is not None else None
    if after is not None:
        says = f"a stop at the entry price after a gain of {number(after.value)}"
        unit: Unit = "percent" if after.kind == "percent" else "plain"
        yield Fact(kind="number", says=says, value=after.value, unit=unit)
    if guards.time_stop_bars:
        says = f"leaving after {guards.time_stop_bars} bars"
        yield Fact(kind="number", says=says, value=guards.time_stop_bars, unit="bars")


def _distance(kind: Literal["stop", "target", "trail"], name: str, far: m.Distance) -> Iterator[Fact]:
    units = {"percent": " %", "atr": " true ranges", "risk": " times the risk", "price": ""}
    unit: Unit = "percent" if far.kind == "percent" else "plain"
    says = f"a {name} of {number(far.value)}{units[far.kind]}"
    yield Fact(kind=kind, says=says, value=far.value, unit=unit)
    if far.kind == "atr":
        yield from _line(m.Line(name="atr", values=(float(far.period),)))


def _sizing(sizing: m.Sizing) -> Iterator[Fact]:
    if isinstance(sizing, m.FixedCash):
        yield Fact(kind="number", says=f"{number(sizing.amount)} in cash per trade", value=sizing.amount)
    elif isinstance(sizing, m.FixedShares):
        yield Fact(kind="number", says=f"{number(sizing.count)} shares per trade", value=sizing.count)
    elif isinstance(sizing, m.CashEach):
        for amount in sizing.amounts:
            yield Fact(kind="number", says=f"{number(amount)} in cash of one of them", value=amount)
    elif isinstance(sizing, m.CashSplit):
        yield Fact(kind="number", says=f"{number(sizing.amount)} in cash per trade", value=sizing.amount)
        for weight in sizing.weights:
            yield Fact(kind="number", says=f"a part of {number(weight)} %", value=weight, unit="percent")
    elif isinstance(sizing, m.Varied):
        yield from _sizing(sizing.usual)
        unit: Unit = "percent" if isinstance(sizing.usual, m.PercentOfEquity) else "plain"
        for case in sizing.cases:
            says = f"{number(case.value)} {'more' if case.more else 'instead'} where {condition(case.when)}"
            yield Fact(kind="number", says=says, value=case.value, unit=unit)
            yield from _condition(case.when)
    elif isinstance(sizing, m.RiskCash):
        yield Fact(kind="number", says=f"{number(sizing.amount)} at risk per trade", value=sizing.amount)
    elif isinstance(sizing, (m.PercentOfEquity, m.RiskPerTrade, m.VolatilityTarget)):
        yield Fact(kind="number", says=f"a size of {number(sizing.percent)} %", value=sizing.percent, unit="percent")


def _condition(what: m.Condition) -> Iterator[Fact]:
    if isinstance(what, (m.AllOf, m.AnyOf, m.SomeOf)):
        for part in what.parts:
            yield from _condition(part)
        if isinstance(what, m.SomeOf):
            yield Fact(kind="number", says=f"{what.count} of {len(what.parts)} conditions", value=what.count)
        return
    if isinstance(what, (m.Not, m.Held)):
        yield from _condition(what.part if isinstance(what, m.Not) else what.condition)
        if isinstance(what, m.Held):
            yield Fact(kind="number", says=f"{what.bars} bars in a row", value=what.bars, unit="bars")
        return
    for line in lines_of(what):
        yield from _line(line)
    if isinstance(what, m.Compare):
        ways = {"above": "above", "at_least": "above", "below": "below", "at_most": "below"}
        yield from _levels(what.left, what.right, ways[what.level])
    elif isinstance(what, m.Cross):
        yield from _levels(what.left, what.right, what.direction.replace("either", ""))
    elif isinstance(what, m.Between):
        yield from _levels(what.left, what.low, "above")
        yield from _levels(what.left, what.high, "below")
    elif isinstance(what, (m.Trend, m.Change, m.EveryBars)):
        if what.bars > 1:
            yield Fact(kind="number", says=f"{what.bars} bars", value=what.bars, unit="bars")
        if isinstance(what, m.Change):
            says = f"a change of {number(what.percent)} %"
            yield Fact(kind="number", says=says, value=what.percent, unit="percent")


def _line(line: m.Line) -> Iterator[Fact]:
    if line.symbol:
        yield Fact(kind="ticker", says=line.symbol, of=line.symbol)
    if line.name in PRICES or line.name not in KINDS:
        return
    kind = KINDS[line.name]
    yield Fact(kind="indicator", says=f"the {kind.english}", of=line.name)
    for setting, value in zip(kind.settings, line.values):
        says = f"{kind.english} with a {setting.name} of {number(value)}"
        yield Fact(kind="setting", says=says, value=value, of=line.name, usual=value == setting.usual)


def _levels(left: m.Operand, right: m.Operand, way: str) -> Iterator[Fact]:
    turned = {"above": "below", "below": "above"}.get(way, "")
    for one, other, direction in ((left, right, way), (right, left, turned)):
        if isinstance(one, m.Scaled):
            yield Fact(kind="number", says=f"{number(one.times)} times", value=one.times)
        elif isinstance(one, m.Beyond):
            yield Fact(kind="number", says=f"{number(one.percent)} % away", value=abs(one.percent), unit="percent")
        elif isinstance(one, m.Apart):
            says = f"{number(abs(one.ranges))} average true ranges away"
            yield Fact(kind="number", says=says, value=abs(one.ranges))
        elif isinstance(one, m.Number):
            about = other if isinstance(other, m.Line) else None
            name = about.name if about is not None else ""
            called = KINDS[name].english if name in KINDS else "the level"
            way_said = f" {_other(direction)}" if direction else " at"
            says = f"{called}{way_said} {number(one.value)}"
            yield Fact(kind="level", says=says, value=one.value, of=name, way=_other(direction))


def _other(way: str) -> str:
    """The number stands on the right: that the line is above it is said of the line."""
    return {"above": "below", "below": "above"}.get(way, way)


# Words that nobody could put as rules.

_UNITS = r"%|percent|per cent|bps\b|-?(?:minute|min|hour|hr|week|month|quarter|year)s?\b"
_NUMBER = re.compile(rf"(?<![\w.,-])(-?\d[\d,]*(?:\.\d+)?)(\s*(?:{_UNITS}))?", re.IGNORECASE)
_BARS = {"week": (5, 7), "month": (21, 20, 30), "quarter": (63,), "year": (252, 365)}  # in each, as people count
_DATE = re.compile(r"\b\d{4}-\d{2}-\d{2}\b|\b(?:19|20)\d{2}\b")
_TICKER = re.compile(r"\$([A-Z]{1,5})\b|(?<![\w$])([A-Z]{2,5})(?![\w])")
# Capitals that are no ticker, in pieces of one length so that they are easy to look through.
_NO_TICKERS = frozenset(
    re.findall(
        r"\w+",
        """AT BB BY DI IF IN IS KD MA OF ON OR SL TO TP UP ADX AND ATR BUY CCI DCA DMI EMA EOD ETF EUR FOR GBP HMA MFI
        NOT OBV PNL ROC RSI SAR SMA THE USD WMA DEMA DOWN ELSE LONG LOSS MACD PSAR SELL STOP TEMA THEN VWAP WHEN SHORT
        STOCH""",
    )
)


def facts_of_words(words: str) -> tuple[Fact, ...]:
    """Numbers and tickers as they are spelled; years, dates and lengths of bars are about the data."""
    plain = _DATE.sub(" ", words)
    found = []
    for digits, unit in _NUMBER.findall(plain):
        mark = unit.strip(" -s").lower()
        if "min" in mark or "hour" in mark or "hr" in mark:
            continue
        value = float(digits.replace(",", ""))
        if mark == "bp":
            value, mark = value / 100, "%"
        if mark in _BARS:
            also = tuple(value * bars for bars in _BARS[mark])
            found.append(Fact(kind="number", says=f"{number(value)} {mark}s", value=abs(value), also=also))
            continue
        says = f"{number(value)}{' %' if mark else ''}"
        found.append(Fact(kind="number", says=says, value=abs(value), unit="percent" if mark else "plain"))
    for dollar, capitals in _TICKER.findall(words):
        symbol = dollar or capitals
        if dollar or capitals not in _NO_TICKERS:
            found.append(Fact(kind="ticker", says=symbol, of=symbol))
    lowered = words.lower()
    for name, kind in KINDS.items():
        if name in (*PRICES, "highest", "lowest", "volume_average"):  # words of every day
            continue
        if re.search(rf"(?<!\w){re.escape(kind.english.lower())}s?(?!\w)", lowered):
            found.append(Fact(kind="indicator", says=f"the {kind.english}", of=name))
    return tuple(dict.fromkeys(found))


def spelled(value: float, words: str) -> bool:
    """Whether the number stands in the words, in digits."""
    return re.search(rf"(?<![\d.]){re.escape(number(abs(value)))}(?![\d]|\.\d)", words.replace(",", "")) is not None
