"""What an option is worth, how that moves, and whether a simulation agrees."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ringfence.base.errors import SettingsError
from ringfence.sandbox.job import Json
from ringfence.trade.bars import Bars
from ringfence.trade.models.black_scholes import Kind
from ringfence.verbs.simulate.checks import check_range
from ringfence.verbs.simulate.data import DataRequest, no_prices, per_year, pick, source_of
from ringfence.verbs.simulate.desk import Desk, work_out
from ringfence.verbs.simulate.finding import Finding, Told
from ringfence.verbs.simulate.horizon import Horizon
from ringfence.verbs.simulate.schema import ANY, POSITIVE, Field, ShapeError, known, read_numbers
from ringfence.verbs.simulate.words import number, percent

_AGREES = 5.0  # standard errors: a simulation further off than this would be a fault in one of the two


@dataclass(frozen=True, slots=True, kw_only=True)
class OptionQuestion:
    """Spot and volatility come from `data` where they are not given; without a strike it is at the money."""

    kind: Kind
    expiry: Horizon
    data: DataRequest | None = None
    symbol: str | None = None
    spot: float | None = None
    strike: float | None = None
    volatility: float | None = None
    rate: float = 0.0
    dividend: float = 0.0
    paths: int = 100_000

    def __post_init__(self) -> None:
        if self.data is None and (self.spot is None or self.volatility is None):
            raise SettingsError("an option needs a spot and a volatility: give both, or --data to take them from")
        check_range("spot", self.spot, 1e-9, 1e12)
        check_range("strike", self.strike, 1e-9, 1e12)
        check_range("volatility", self.volatility, 0.0, 10.0)
        check_range("rate", self.rate, -0.5, 1.0)
        check_range("dividend", self.dividend, -0.5, 1.0)
        check_range("paths", self.paths, 1_000, 2_000_000)
        check_range("the years to expiry", self.expiry.years(), 1e-6, 50)


def ask_option(question: OptionQuestion, desk: Desk) -> Finding:
    used = question.spot is None or question.volatility is None  # else prices are not loaded, nor named
    bars = desk.load(question.data) if question.data is not None and used else None
    symbol = pick(bars, question.symbol) if bars is not None else None
    years = question.expiry.years()
    counted = len(bars.candles[symbol]) - 1 if bars and symbol and question.volatility is None else 0

    def read(result: Json) -> Told:
        n = read_numbers(result, _shape(question, counted))
        _check(n)
        n |= {"years": years, "rate": question.rate, "dividend": question.dividend}
        n |= {"vega_point": known(n, "vega") / 100, "theta_day": known(n, "theta") / 365}
        n |= {"rho_point": known(n, "rho") / 100}
        taken = "the volatility of the data goes on" if counted else "the volatility that was given holds"
        return Told(
            lead=_lead(question, symbol, n),
            horizon=f"expiry in {question.expiry}, {years:.4g} of a year",
            assumptions=(
                f"Black–Scholes: a log-normal price of constant volatility, {percent(known(n, 'volatility'))} a year",
                taken,
                f"rate {percent(question.rate, 2)} and dividend {percent(question.dividend, 2)} a year, continuous",
                "European exercise, no costs; one unit of the underlying",
            ),
            observations=counted or int(bars is not None),
            observed=_observed(bars, counted),
            numbers=n,
        )

    values: dict[str, Json] = {
        "KIND": question.kind, "SYMBOL": symbol, "SPOT": question.spot, "STRIKE": question.strike, "YEARS": years,
        "VOLATILITY": question.volatility, "RATE": question.rate, "DIVIDEND": question.dividend,
        "BARS_PER_YEAR": per_year(bars, symbol) if bars and symbol else 252.0,
        "PATHS": question.paths, "SEED": desk.seed, "PLOT": desk.plot,
    }  # fmt: skip
    source = source_of(bars, desk.today) if bars else no_prices("the numbers that were given, no prices", desk.today)
    return work_out(desk, "option", values, source=source, read=read, bars=bars)


def _observed(bars: Bars | None, counted: int) -> str:
    if bars is None:
        return "prices: spot and volatility were given"
    if not counted:
        return f"price: the spot is the last {bars.timeframe} close of the data, and the volatility was given"
    return f"log returns of {bars.timeframe} closes"


def _shape(question: OptionQuestion, counted: int) -> dict[str, Field]:
    delta = Field(-1.0 - 1e-9, 1.0 + 1e-9) if question.dividend >= 0 else ANY
    return {
        "spot": POSITIVE, "strike": POSITIVE, "volatility": POSITIVE, "price": POSITIVE, "delta": delta,
        "gamma": POSITIVE, "vega": POSITIVE, "theta": ANY, "rho": ANY, "simulated": POSITIVE,
        "simulated_error": POSITIVE, "observations": Field(counted, counted, whole=True),
    }  # fmt: skip


def _check(n: Mapping[str, float | None]) -> None:
    away, error = abs(known(n, "price") - known(n, "simulated")), known(n, "simulated_error")
    if away > _AGREES * error + 1e-9 * known(n, "spot"):
        raise ShapeError(
            f"the formula gives {known(n, 'price'):.6g} and the simulation {known(n, 'simulated'):.6g}, "
            f"which is {away / error if error else float('inf'):.1f} standard errors away"
        )


def _lead(question: OptionQuestion, symbol: str | None, n: Mapping[str, float | None]) -> str:
    at = {name: number(value) for name, value in n.items() if value is not None}
    on = f" on {symbol}" if symbol else ""
    return (
        f"A European {question.kind}{on} with strike {at['strike']} and spot {at['spot']} is worth {at['price']}. "
        f"Delta {at['delta']}, gamma {at['gamma']}, vega {at['vega_point']} per point of volatility, theta "
        f"{at['theta_day']} a day, rho {at['rho_point']} per point of the rate. {question.paths:,} simulated payoffs "
        f"give {at['simulated']}, with a standard error of {at['simulated_error']}."
    )
