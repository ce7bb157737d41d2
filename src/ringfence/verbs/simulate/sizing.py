"""How much to buy, by each rule whose numbers were given."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ringfence.base.errors import SettingsError
from ringfence.sandbox.job import Json
from ringfence.trade.bars import Bars
from ringfence.verbs.simulate.checks import check_range
from ringfence.verbs.simulate.data import DataRequest, no_prices, per_year, pick, source_of
from ringfence.verbs.simulate.desk import Desk, work_out
from ringfence.verbs.simulate.finding import Finding, Told
from ringfence.verbs.simulate.schema import ANY, POSITIVE, Field, known, read_numbers
from ringfence.verbs.simulate.words import money, number, percent

_FIXED = {"fixed_units": POSITIVE, "fixed_money": POSITIVE, "fixed_loss": POSITIVE}
_KELLY = {"kelly_fraction": Field(most=1.0), "half_kelly_fraction": ANY, "kelly_money": POSITIVE}
_AIMED = {
    "volatility_fraction": POSITIVE, "volatility_money": POSITIVE, "volatility_units": POSITIVE, "volatility": POSITIVE,
}  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class SizingQuestion:
    """Fixed fraction: risk, stop and an entry. Kelly: win rate and payoff. Volatility target: target and data."""

    equity: float
    risk: float | None = None
    entry: float | None = None
    stop: float | None = None
    win_rate: float | None = None
    payoff: float | None = None
    target: float | None = None
    most: float = 1.0
    data: DataRequest | None = None
    symbol: str | None = None

    def __post_init__(self) -> None:
        check_range("equity", self.equity, 0.01, 1e15)
        check_range("risk", self.risk, 1e-6, 1.0)
        check_range("entry", self.entry, 1e-9, 1e12)
        check_range("stop", self.stop, 1e-9, 1e12)
        check_range("win_rate", self.win_rate, 0.0, 1.0)
        check_range("payoff", self.payoff, 1e-6, 1e6)
        check_range("target", self.target, 1e-4, 10.0)
        check_range("most", self.most, 0.01, 10.0)
        if not (self.by_risk or self.by_kelly or self.by_volatility):
            raise SettingsError(
                "no rule has all it needs: give risk, stop and an entry (or data) for a fixed fraction, win rate and "
                "payoff for Kelly, or a target volatility and data"
            )
        if self.entry is not None and self.entry == self.stop:
            raise SettingsError(f"entry and stop are both {self.entry:g}: move one of them")

    @property
    def by_risk(self) -> bool:
        return self.risk is not None and self.stop is not None and (self.entry is not None or self.data is not None)

    @property
    def by_kelly(self) -> bool:
        return self.win_rate is not None and self.payoff is not None

    @property
    def by_close(self) -> bool:
        """The entry is the last close of the data."""
        return self.by_risk and self.entry is None

    @property
    def by_volatility(self) -> bool:
        return self.target is not None and self.data is not None


def ask_sizing(question: SizingQuestion, desk: Desk) -> Finding:
    used = question.by_volatility or question.by_close  # prices that no rule needs are not loaded, nor named
    bars = desk.load(question.data) if question.data is not None and used else None
    symbol = pick(bars, question.symbol) if bars is not None else None
    counted = len(bars.candles[symbol]) - 1 if bars and symbol and question.by_volatility else 0
    shape = {
        **(_FIXED if question.by_risk else {}),
        **(_KELLY if question.by_kelly else {}),
        **(_AIMED if question.by_volatility else {}),
        "entry": Field(0.0, optional=True),
        "observations": Field(counted, counted, whole=True),
    }

    def read(result: Json) -> Told:
        n = read_numbers(result, shape)
        n |= {"equity": question.equity, "stop": question.stop}
        return Told(
            lead=" ".join(_sentences(question, n)),
            horizon="one position, until its stop or its exit",
            assumptions=_assumptions(question),
            observations=counted or int(question.by_close),
            observed=_observed(question, bars),
            numbers=n,
        )

    values: dict[str, Json] = {
        "EQUITY": question.equity, "RISK": question.risk, "ENTRY": question.entry, "STOP": question.stop,
        "WIN_RATE": question.win_rate, "PAYOFF": question.payoff, "SYMBOL": symbol, "TARGET": question.target,
        "MOST": question.most, "BARS_PER_YEAR": per_year(bars, symbol) if bars and symbol else 252.0,
    }  # fmt: skip
    source = source_of(bars, desk.today) if bars else no_prices("the numbers that were given, no prices", desk.today)
    return work_out(desk, "sizing", values, source=source, read=read, bars=bars)


def _observed(question: SizingQuestion, bars: Bars | None) -> str:
    if bars is None:
        return "prices: the numbers were given"
    if not question.by_volatility:
        return f"price: the entry is the last {bars.timeframe} close of the data"
    return f"log returns of {bars.timeframe} closes"


def _sentences(question: SizingQuestion, n: Mapping[str, float | None]) -> list[str]:
    made = [f"With {money(question.equity)}:"]
    if question.by_risk and question.stop is not None:
        side = " sold short" if question.stop > known(n, "entry") else ""
        made.append(
            f"Fixed fraction: {number(known(n, 'fixed_units'))} units{side} at {number(known(n, 'entry'))}, "
            f"{money(known(n, 'fixed_money'))} in all, lose {money(known(n, 'fixed_loss'))} at a stop of "
            f"{number(question.stop)}."
        )
    if question.by_kelly:
        share = known(n, "kelly_fraction")
        if share <= 0:
            made.append(f"Kelly: {percent(share)}, so there is no edge and nothing to bet.")
        else:
            half = known(n, "half_kelly_fraction")
            made.append(
                f"Kelly: risk {percent(share)}, {money(known(n, 'kelly_money'))}; half of it is {percent(half)}."
            )
    if question.by_volatility:
        made.append(
            f"Volatility target: invest {percent(known(n, 'volatility_fraction'))}, "
            f"{money(known(n, 'volatility_money'))} or {number(known(n, 'volatility_units'))} units, at a measured "
            f"volatility of {percent(known(n, 'volatility'))} a year."
        )
    return made


def _assumptions(question: SizingQuestion) -> tuple[str, ...]:
    made = []
    if question.by_risk:
        made.append("the stop is filled at its price: a gap loses more")
    if question.by_kelly:
        made.append("win rate and payoff are known exactly and bets are independent: they never are, so bet less")
    if question.by_volatility:
        made.append(f"the volatility of the data goes on, and at most {percent(question.most, 0)} is invested")
    return (*made, "parts of a unit can be bought, and costs are left out")
