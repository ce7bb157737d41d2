"""What a portfolio that is bought and held may be worth, how deep it may fall, and whether it may be ruined."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ringfence.base.errors import DataError, SettingsError
from ringfence.sandbox.job import Json
from ringfence.trade.bars import Bars
from ringfence.trade.models.paths import Method
from ringfence.verbs.simulate.checks import check_range, check_size
from ringfence.verbs.simulate.data import DataRequest, source_of
from ringfence.verbs.simulate.desk import Desk, work_out
from ringfence.verbs.simulate.finding import Finding, Told
from ringfence.verbs.simulate.horizon import Horizon, told as told_horizon
from ringfence.verbs.simulate.schema import COUNT, FRACTION, POSITIVE, Field, in_order, known, read_numbers, read_rows
from ringfence.verbs.simulate.words import level, listed, loss, money, percent

DRAWDOWN = Field(-1.0, 0.0)
_SHAPE = {
    "lower": POSITIVE, "median": POSITIVE, "upper": POSITIVE, "mean": POSITIVE, "p_up": FRACTION,
    "value_at_risk": Field(most=1.0), "expected_shortfall": Field(most=1.0), "drawdown_median": DRAWDOWN,
    "drawdown_lower": DRAWDOWN, "p_ruin": FRACTION, "observations": COUNT, "block": COUNT,
}  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class PortfolioQuestion:
    """Without `weights` every instrument gets the same share of the cash."""

    data: DataRequest
    horizon: Horizon
    weights: Mapping[str, float] | None = None
    cash: float = 100_000.0
    confidence: float = 0.95
    ruin: float = 0.5
    method: Method = "bootstrap"
    block: int | None = None
    paths: int = 2_000

    def __post_init__(self) -> None:
        check_range("cash", self.cash, 0.01, 1e15)
        check_range("confidence", self.confidence, 0.5, 0.999)
        check_range("ruin", self.ruin, 0.01, 1.0)
        check_range("paths", self.paths, 100, 1_000_000)
        check_range("block", self.block, 1, 10_000)
        for symbol, weight in (self.weights or {}).items():
            check_range(f"the weight of {symbol}", weight, 0.0, 1.0)
        if self.weights is not None and not 0 < sum(self.weights.values()) <= 1 + 1e-9:
            raise SettingsError(
                f"the weights add up to {sum(self.weights.values()):g}: give shares of the cash that add up to 1, "
                "or to less where the rest is to stay cash"
            )


def ask_portfolio(question: PortfolioQuestion, desk: Desk) -> Finding:
    bars = desk.load(question.data)
    weights = _weights(question, bars)
    symbols = list(weights)
    horizon = question.horizon.bars(bars, symbols[0])
    check_size(question.paths, horizon, len(symbols))
    most = min(len(bars.candles[symbol]) for symbol in symbols) - 1

    def read(result: Json) -> Told:
        n = read_numbers(result, {**_SHAPE, "observations": Field(1, most, whole=True)})
        in_order(n, "lower", "median", "upper")
        fan = read_rows(result, "fan", rows=5, columns=horizon + 1)
        n |= {"cash": question.cash, "horizon_bars": horizon, "confidence": question.confidence, "ruin": question.ruin}
        return Told(
            lead=_lead(question, weights, n),
            horizon=told_horizon(question.horizon, horizon, bars),
            assumptions=_assumptions(question, n),
            observations=int(known(n, "observations")),
            observed=f"log returns of {bars.timeframe} closes that all instruments have",
            numbers=n,
            series={"weights": dict(weights), "fan": [list(row) for row in fan]},
        )

    values: dict[str, Json] = {
        "SYMBOLS": symbols, "WEIGHTS": list(weights.values()), "CASH": question.cash, "HORIZON": horizon,
        "CONFIDENCE": question.confidence, "RUIN": question.ruin, "METHOD": question.method, "BLOCK": question.block,
        "PATHS": question.paths, "SEED": desk.seed, "PLOT": desk.plot,
    }  # fmt: skip
    return work_out(desk, "portfolio", values, source=source_of(bars, desk.today), read=read, bars=bars)


def _weights(question: PortfolioQuestion, bars: Bars) -> dict[str, float]:
    if question.weights is None:
        return dict.fromkeys(bars.symbols, 1 / len(bars.symbols))
    missing = [symbol for symbol in question.weights if symbol not in bars.symbols]
    if missing:
        raise DataError(f"{missing[0]} has a weight and no prices: {bars.source} holds {', '.join(bars.symbols)}")
    return {symbol: weight for symbol, weight in question.weights.items() if weight > 0}


def _lead(question: PortfolioQuestion, weights: Mapping[str, float], n: Mapping[str, float | None]) -> str:
    held = listed([f"{percent(weight, 0 if weight * 100 % 1 < 1e-9 else 1)} {s}" for s, weight in weights.items()])
    sure = level(question.confidence)
    return (
        f"{money(question.cash)} in {held} ends between {money(known(n, 'lower'))} and {money(known(n, 'upper'))} in "
        f"{sure} of {question.paths:,} simulated futures, with a median of {money(known(n, 'median'))}, and above "
        f"where it began in {percent(known(n, 'p_up'))} of them. VaR at {sure} is {loss(known(n, 'value_at_risk'))}, "
        f"CVaR {loss(known(n, 'expected_shortfall'))}. The deepest fall on the way is "
        f"{percent(known(n, 'drawdown_median'))} in the median future, and {percent(known(n, 'drawdown_lower'))} or "
        f"deeper in {level(1 - question.confidence)} of them. {percent(question.ruin, 0)} of the money is lost at some "
        f"point in {percent(known(n, 'p_ruin'))} of them."
    )


def _assumptions(question: PortfolioQuestion, n: Mapping[str, float | None]) -> tuple[str, ...]:
    held = "bought at the last close and held: no rebalancing, no costs, no interest on cash"
    if question.method == "gbm":
        return ("jointly normal log returns with the means and covariances of the data", held, _GOES_ON)
    drawn = f"a bootstrap of blocks of {known(n, 'block'):.0f} bars, the same days for all, so that they move together"
    return (drawn, held, _GOES_ON)


_GOES_ON = "the past means and volatilities go on"
