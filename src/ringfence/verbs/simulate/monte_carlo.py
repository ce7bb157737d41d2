"""Where a price may be: an interval, the chance of a rise, and what could be lost."""

from __future__ import annotations

from dataclasses import dataclass

from ringfence.sandbox.job import Json
from ringfence.trade.models.paths import Method
from ringfence.verbs.simulate.checks import check_range, check_size
from ringfence.verbs.simulate.data import DataRequest, per_year, pick, source_of
from ringfence.verbs.simulate.desk import Desk, work_out
from ringfence.verbs.simulate.finding import Finding, Told
from ringfence.verbs.simulate.horizon import Horizon, told as told_horizon
from ringfence.verbs.simulate.schema import (
    ANY,
    COUNT,
    FRACTION,
    POSITIVE,
    Field,
    in_order,
    known,
    read_numbers,
    read_rows,
    same_count,
)
from ringfence.verbs.simulate.words import level, loss, number, percent

_SHAPE = {
    "spot": POSITIVE, "lower": POSITIVE, "median": POSITIVE, "upper": POSITIVE, "mean": POSITIVE, "p_up": FRACTION,
    "p_down": FRACTION,
    "value_at_risk": Field(most=1.0), "expected_shortfall": Field(most=1.0), "drift": ANY, "drift_error": POSITIVE,
    "volatility": POSITIVE, "observations": COUNT, "block": COUNT,
    "closed_lower": Field(0.0, optional=True), "closed_upper": Field(0.0, optional=True),
}  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class PriceQuestion:
    data: DataRequest
    horizon: Horizon
    symbol: str | None = None
    confidence: float = 0.95
    method: Method = "gbm"
    block: int | None = None
    above: float | None = None  # a price: how likely is it to end above?
    below: float | None = None
    drift: bool = True  # that of the data
    paths: int = 10_000

    def __post_init__(self) -> None:
        check_range("confidence", self.confidence, 0.5, 0.999)
        check_range("paths", self.paths, 100, 1_000_000)
        check_range("block", self.block, 1, 10_000)
        check_range("above", self.above, 1e-9, 1e15)
        check_range("below", self.below, 1e-9, 1e15)


def ask_price(question: PriceQuestion, desk: Desk) -> Finding:
    bars = desk.load(question.data)
    symbol = pick(bars, question.symbol)
    horizon = question.horizon.bars(bars, symbol)
    check_size(question.paths, horizon)
    year = per_year(bars, symbol)
    closes = len(bars.candles[symbol])

    def read(result: Json) -> Told:
        above = Field(0.0, 1.0, optional=question.above is None)
        below = Field(0.0, 1.0, optional=question.below is None)
        n = read_numbers(result, {**_SHAPE, "p_above": above, "p_below": below})
        in_order(n, "lower", "median", "upper")
        same_count(n, closes - 1)
        fan = read_rows(result, "fan", rows=5, columns=horizon + 1)
        n |= {"volatility_year": known(n, "volatility") * year**0.5, "drift_year": known(n, "drift") * year}
        n |= {
            "above": question.above,
            "below": question.below,
            "horizon_bars": horizon,
            "confidence": question.confidence,
        }
        return Told(
            lead=_lead(symbol, question, n),
            horizon=told_horizon(question.horizon, horizon, bars),
            assumptions=_assumptions(question, n),
            observations=closes - 1,
            observed=f"log returns of {bars.timeframe} closes",
            numbers=n,
            series={"levels": list(_levels(question.confidence)), "fan": [list(row) for row in fan]},
        )

    values: dict[str, Json] = {
        "SYMBOL": symbol, "HORIZON": horizon, "CONFIDENCE": question.confidence, "METHOD": question.method,
        "BLOCK": question.block, "ABOVE": question.above, "BELOW": question.below, "DRIFT": question.drift,
        "PATHS": question.paths, "SEED": desk.seed, "PLOT": desk.plot,
    }  # fmt: skip
    return work_out(desk, "monte_carlo", values, source=source_of(bars, desk.today), read=read, bars=bars)


def _levels(confidence: float) -> tuple[float, ...]:
    side = (1.0 - confidence) / 2
    return (side, 0.25, 0.5, 0.75, 1.0 - side)


def _lead(symbol: str, question: PriceQuestion, n: dict[str, float | None]) -> str:
    at = {name: number(value) for name, value in n.items() if value is not None}
    sure = level(question.confidence)
    text = (
        f"{symbol} closed at {at['spot']}. In {sure} of {question.paths:,} simulated futures it ends between "
        f"{at['lower']} and {at['upper']}, with a median of {at['median']}. It ends higher in "
        f"{percent(known(n, 'p_up'))} of them, and lower in {percent(known(n, 'p_down'))}. "
        f"The loss at the horizon that {sure} of them do not exceed (VaR) is "
        f"{loss(known(n, 'value_at_risk'))}, and the mean loss of the others (CVaR) is "
        f"{loss(known(n, 'expected_shortfall'))}."
    )
    if question.above is not None:
        text += f" It ends above {number(question.above)} in {percent(known(n, 'p_above'))} of them."
    if question.below is not None:
        text += f" It ends below {number(question.below)} in {percent(known(n, 'p_below'))} of them."
    if n["closed_lower"] is not None:
        text += f" The formula for the same interval gives {at['closed_lower']} to {at['closed_upper']}."
    return text


def _assumptions(question: PriceQuestion, n: dict[str, float | None]) -> tuple[str, ...]:
    wide = f"a volatility of {percent(known(n, 'volatility_year'))} a year"
    if question.drift:
        mean = f"{percent(known(n, 'drift_year'))} and {wide}"
        drift = "the past drift, which is poorly known, goes on"
    else:
        mean = f"nothing and {wide}"
        drift = "the past drift is taken off, so the median stays at the last close"
    if question.method == "gbm":
        whose = "drift and volatility" if question.drift else "volatility"
        return (
            f"a geometric Brownian motion with the {whose} of the data, a mean log return of {mean}",
            "returns are independent, normal and of constant volatility, so crashes are rarer than in life",
            drift,
        )
    return (
        f"a bootstrap of blocks of {known(n, 'block'):.0f} bars of the data, with a mean log return of {mean}",
        "the future is made of pieces of this past and nothing else",
        drift,
    )
