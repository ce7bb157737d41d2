"""How one instrument moves with another: correlation and beta."""

from __future__ import annotations

from dataclasses import dataclass

from ringfence.base.errors import DataError
from ringfence.sandbox.job import Json
from ringfence.trade.bars import Bars
from ringfence.verbs.simulate.checks import check_range
from ringfence.verbs.simulate.data import DataRequest, source_of
from ringfence.verbs.simulate.desk import Desk, work_out
from ringfence.verbs.simulate.finding import Finding, Told
from ringfence.verbs.simulate.schema import ANY, FRACTION, POSITIVE, Field, in_order, known, read_numbers
from ringfence.verbs.simulate.words import level, number, percent

_UNIT = Field(-1.0, 1.0)
_SHAPE = {
    "correlation": _UNIT, "correlation_lower": _UNIT, "correlation_upper": _UNIT, "beta": ANY, "beta_error": POSITIVE,
    "alpha": ANY, "r_squared": FRACTION,
}  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class CorrelationQuestion:
    """`symbol` explained by `against`; without names, the first instrument by the second."""

    data: DataRequest
    symbol: str | None = None
    against: str | None = None
    confidence: float = 0.95

    def __post_init__(self) -> None:
        check_range("confidence", self.confidence, 0.5, 0.999)


def ask_correlation(question: CorrelationQuestion, desk: Desk) -> Finding:
    bars = desk.load(question.data)
    symbol, against = _pair(question, bars)
    most = min(len(bars.candles[symbol]), len(bars.candles[against])) - 1

    def read(result: Json) -> Told:
        n = read_numbers(result, {**_SHAPE, "observations": Field(1, most, whole=True)})
        in_order(n, "correlation_lower", "correlation", "correlation_upper")
        n["confidence"] = question.confidence
        return Told(
            lead=(
                f"The correlation of {symbol} with {against} is {number(known(n, 'correlation'))}, between "
                f"{number(known(n, 'correlation_lower'))} and {number(known(n, 'correlation_upper'))} with "
                f"{level(question.confidence)} confidence. The beta of {symbol} on {against} is "
                f"{number(known(n, 'beta'))}, with a standard error of {number(known(n, 'beta_error'))}; {against} "
                f"explains {percent(known(n, 'r_squared'))} of how {symbol} varies."
            ),
            horizon="none: this describes the past, and nothing is forecast",
            assumptions=(
                "a straight line between log returns of the same bars",
                "the bounds take the returns for independent and jointly normal",
                "no risk-free rate is taken off",
            ),
            observations=int(known(n, "observations")),
            observed=f"log returns of {bars.timeframe} closes that both have",
            numbers=n,
        )

    values: dict[str, Json] = {
        "SYMBOL": symbol, "AGAINST": against, "CONFIDENCE": question.confidence, "PLOT": desk.plot,
    }  # fmt: skip
    return work_out(desk, "correlation", values, source=source_of(bars, desk.today), read=read, bars=bars)


def _pair(question: CorrelationQuestion, bars: Bars) -> tuple[str, str]:
    named = [name for name in (question.symbol, question.against) if name is not None]
    for name in named:
        if name not in bars.symbols:
            raise DataError(f"{name} is not in {bars.source}: it holds {', '.join(bars.symbols)}")
    others = [name for name in bars.symbols if name not in named]
    if question.symbol is None and others:
        named.insert(0, others.pop(0))
    if question.against is None and others:
        named.append(others.pop(0))
    if len(set(named)) != 2 or (question.symbol is None and question.against is None and len(bars.symbols) > 2):
        raise DataError(f"a correlation is of two instruments: name two of {', '.join(bars.symbols)} with --symbols")
    return named[0], named[1]
