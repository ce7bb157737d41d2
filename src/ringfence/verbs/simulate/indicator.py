"""One indicator over some bars: what it is now, how it got there, and which periods it has."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from types import MappingProxyType

from ringfence.base.errors import DataError, SettingsError
from ringfence.sandbox.job import Json
from ringfence.trade import indicators
from ringfence.trade.bars import Bars
from ringfence.trade.models.ichimoku import ichimoku_periods
from ringfence.trade.times import iso_all
from ringfence.verbs.simulate.checks import check_range
from ringfence.verbs.simulate.data import DataRequest, pick, source_of
from ringfence.verbs.simulate.desk import Desk, work_out
from ringfence.verbs.simulate.finding import Finding, Told
from ringfence.verbs.simulate.schema import COUNT, POSITIVE, known, read_numbers, read_rows, same_count
from ringfence.verbs.simulate.words import listed, number

# The lines of those that have several.
_LINES: Mapping[str, tuple[str, ...]] = {
    "bollinger": ("upper", "middle", "lower"),
    "donchian": ("upper", "middle", "lower"),
    "keltner": ("upper", "middle", "lower"),
    "macd": ("macd", "signal", "histogram"),
    "stochastic": ("k", "d"),
    "supertrend": ("line", "direction"),
    "ichimoku": ("conversion", "base", "span_a", "span_b"),
}
_NEEDS_DAYS = "session_vwap"
_NOTHING: Mapping[str, float] = MappingProxyType({})


@dataclass(frozen=True, slots=True, kw_only=True)
class IndicatorQuestion:
    """`period` is the indicator's own; Ichimoku's four are made of it, in proportion."""

    name: str
    data: DataRequest
    symbol: str | None = None
    period: int | None = None
    parameters: Mapping[str, float] = field(default_factory=lambda: _NOTHING)
    rows: int = 10

    def __post_init__(self) -> None:
        check_range("period", self.period, 1, 100_000)
        check_range("rows", self.rows, 1, 10_000)
        all_parameters(self)


def names() -> list[str]:
    """Those that can be asked for."""
    offered = (name for name in indicators.__all__ if hasattr(getattr(indicators, name), "__wrapped__"))
    return [name for name in offered if name != _NEEDS_DAYS]


def lines_of(name: str) -> tuple[str, ...]:
    return _LINES.get(name, (name,))


def all_parameters(question: IndicatorQuestion) -> dict[str, float]:
    """What was given and the defaults of the rest, or SettingsError naming what the indicator has."""
    if question.name not in names():
        near = get_close_matches(question.name, names(), n=1)
        meant = f"did you mean {near[0]}?" if near else f"use one of {', '.join(names())}"
        raise SettingsError(f"there is no indicator {question.name!r}: {meant}")
    defaults = _defaults(question.name)
    unknown = [name for name in question.parameters if name not in defaults]
    if unknown:
        has = f"it has {listed(list(defaults))}" if defaults else "it has none"
        raise SettingsError(f"{question.name} has no parameter {unknown[0]!r}: {has}")
    made = {**defaults, **question.parameters}
    if question.period is None:
        return made
    if question.name == "ichimoku":
        if question.parameters:
            raise SettingsError("ichimoku takes one period or its four parameters, not both: leave one out")
        periods = ichimoku_periods(question.period)
        return {name: getattr(periods, name) for name in defaults}
    if "period" not in defaults:
        has = f"give --param {next(iter(defaults))}=…" if defaults else "leave it out"
        raise SettingsError(f"{question.name} has no single period: {has}")
    return {**made, "period": question.period}


def bars_needed(name: str, parameters: Mapping[str, float]) -> int:
    """Until each of its lines has a value; what it depends on besides, such as a volume, may still be missing."""
    p = {key: int(value) for key, value in parameters.items()}
    match name:
        case "macd":
            return max(p["fast"], p["slow"]) + p["signal"] - 1
        case "stochastic":
            return p["period"] + p["smooth"] + p["signal"] - 2
        case "keltner":
            return max(p["period"], p["atr_period"] + 1)
        case "ichimoku":
            return max(p["conversion"], p["base"], p["span"]) + p["ahead"]
        case "adx":
            return 2 * p["period"]
        case "true_range" | "parabolic_sar":
            return 2
        case "rsi" | "roc" | "momentum" | "atr" | "plus_di" | "minus_di" | "supertrend" | "mfi":
            return p["period"] + 1
    return p.get("period", 1)


def _defaults(name: str) -> dict[str, float]:
    parameters = inspect.signature(getattr(indicators, name)).parameters.values()
    return {p.name: p.default for p in parameters if p.default is not inspect.Parameter.empty}


def ask_indicator(question: IndicatorQuestion, desk: Desk) -> Finding:
    bars = desk.load(question.data)
    symbol = pick(bars, question.symbol)
    rows = min(question.rows, len(bars.candles[symbol]))
    by_hand = question.name == "ichimoku" and not question.parameters
    parameters = all_parameters(question)
    lines = lines_of(question.name)
    least = bars_needed(question.name, parameters)
    if len(bars.candles[symbol]) < least:
        raise DataError(
            f"{_called(question.name, symbol, parameters)} needs {least:,} bars, and {bars.source} has too few, "
            f"{len(bars.candles[symbol]):,}: load more of them, or ask for a shorter period"
        )

    def read(result: Json) -> Told:
        n = read_numbers(result, {"close": POSITIVE, "observations": COUNT})
        same_count(n, len(bars.candles[symbol]))
        values = read_rows(result, "values", rows=len(lines), columns=rows)
        last = {line: row[-1] for line, row in zip(lines, values)}
        n |= {**last, **{f"{name}_parameter": value for name, value in parameters.items()}}
        return Told(
            lead=_lead(question, symbol, parameters, bars, last, known(n, "close")),
            horizon="none: the last bar and those before it, nothing is forecast",
            assumptions=_assumptions(question, parameters),
            observations=len(bars.candles[symbol]),
            observed=f"bars of {bars.timeframe}",
            numbers=n,
            series=_series(bars, symbol, lines, values),
        )

    values: dict[str, Json] = {"SYMBOL": symbol, "ROWS": rows, "PLOT": desk.plot}
    if by_hand:
        values["PERIOD"] = int(parameters["conversion"])
    else:
        values |= {"NAME": question.name, "PARAMETERS": parameters, "LINES": list(lines)}
    script = "ichimoku" if by_hand else "indicator"
    return work_out(desk, script, values, source=source_of(bars, desk.today), read=read, bars=bars)


def _series(
    bars: Bars, symbol: str, lines: tuple[str, ...], values: tuple[tuple[float | None, ...], ...]
) -> dict[str, Json]:
    times = iso_all(bars.candles[symbol].time[-len(values[0]) :])
    return {"time": list(times), **{line: list(row) for line, row in zip(lines, values)}}


def _called(name: str, symbol: str, parameters: Mapping[str, float]) -> str:
    given = ", ".join(f"{key} {value:g}" for key, value in parameters.items())
    return f"{name} of {symbol} ({given})" if given else f"{name} of {symbol}"


def _lead(
    question: IndicatorQuestion,
    symbol: str,
    parameters: Mapping[str, float],
    bars: Bars,
    last: Mapping[str, float | None],
    close: float,
) -> str:
    told = [f"{line} {'not ready' if value is None else number(value)}" for line, value in last.items()]
    day = iso_all(bars.candles[symbol].time[-1:])[0].removesuffix("T00:00:00Z")
    text = f"{_called(question.name, symbol, parameters)} on {day}: {listed(told)}; the close is {number(close)}."
    if question.name != "ichimoku":
        return text
    a, b = last["span_a"], last["span_b"]
    if a is None or b is None:
        return text
    place = "above" if close > max(a, b) else "below" if close < min(a, b) else "inside"
    return f"{text} The close is {place} the cloud."


def _assumptions(question: IndicatorQuestion, parameters: Mapping[str, float]) -> tuple[str, ...]:
    if question.name != "ichimoku":
        return ("as docs/indicators.md defines it; no value looks ahead of its bar",)
    mapped = (
        f"the one period {question.period} is the conversion line's; the others keep the classic 9 : 26 : 52 : 26, so "
        f"base {parameters['base']:g}, span B {parameters['span']:g}, drawn {parameters['ahead']:g} bars ahead"
        if question.period is not None
        else "the periods are those told above"
    )
    return (mapped, "the spans are those that lie over the last bar, computed that many bars before; no lagging span")
