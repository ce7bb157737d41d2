"""What each metric is called, what it is counted in and what it tells, in plain words, for tables and pages."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

Unit = Literal["percent", "ratio", "money", "count", "days", "text"]


@dataclass(frozen=True, slots=True)
class Hint:
    """A value of unit `percent` is a fraction: 0.05 is shown as 5 %."""

    label: str
    unit: Unit
    hint: str


METRIC_HINTS: Mapping[str, Hint] = MappingProxyType(
    {
        "start": Hint("Start", "text", "When the first bar began."),
        "end": Hint("End", "text", "When the last bar began."),
        "bars": Hint("Bars", "count", "How many bars the equity was marked on."),
        "years": Hint("Years", "ratio", "How long the run was, from the first bar to the last."),
        "bars_per_year": Hint("Bars a year", "ratio", "How many such bars this market has in a year."),
        "initial_equity": Hint("Equity at the start", "money", "The money the run began with."),
        "final_equity": Hint("Equity at the end", "money", "Cash and positions at the last close."),
        "peak_equity": Hint("Highest equity", "money", "The most the account was ever worth at a close."),
        "total_return": Hint("Return", "percent", "What was gained or lost in all, after costs."),
        "cagr": Hint("Return a year", "percent", "The steady yearly growth that would have given the same end."),
        "volatility": Hint("Volatility", "percent", "How much a year's return swings around its mean."),
        "sharpe": Hint("Sharpe ratio", "ratio", "Yearly return for each unit of swing: above 1 is good, above 2 rare."),
        "sortino": Hint("Sortino ratio", "ratio", "Like the Sharpe ratio, but only losing bars count as risk."),
        "calmar": Hint("Calmar ratio", "ratio", "Return a year for each unit of the deepest drawdown."),
        "max_drawdown": Hint("Deepest drawdown", "percent", "The largest loss from a high to a later low."),
        "average_drawdown": Hint(
            "Average drawdown", "percent", "How deep a stretch below the last high went on average."
        ),
        "max_drawdown_days": Hint("Longest drawdown", "days", "The longest wait for a new high, over or not."),
        "exposure": Hint("Time in the market", "percent", "The share of bars that closed with a position held."),
        "trades": Hint("Trades", "count", "Ways in and out, with those still open at the end."),
        "win_rate": Hint("Win rate", "percent", "The share of closed trades that made money after fees."),
        "profit_factor": Hint("Profit factor", "ratio", "Money won for each unit of money lost; empty without a loss."),
        "expectancy": Hint("Expectancy", "money", "What a closed trade made on average, in money."),
        "sqn": Hint(
            "System quality", "ratio", "How clearly the average trade stands out from chance: above 2 is good."
        ),
        "kelly": Hint(
            "Kelly fraction", "percent", "The share of capital that would have grown fastest; half is prudent."
        ),
        "best_trade": Hint("Best trade", "percent", "The highest return of a closed trade on what its entry cost."),
        "worst_trade": Hint("Worst trade", "percent", "The lowest return of a closed trade on what its entry cost."),
        "average_trade": Hint("Average trade", "percent", "The mean return of a closed trade on what its entry cost."),
        "average_bars_held": Hint("Average hold", "ratio", "How many bars a closed trade lasted on average."),
        "turnover": Hint("Turnover", "ratio", "How many times the average equity was bought and sold in all."),
        "fees": Hint("Fees", "money", "What all fills cost in fees."),
        "buy_and_hold": Hint("Buy & hold", "percent", "What the same money would have made by buying and waiting."),
        "alpha": Hint("Alpha", "percent", "The yearly return that the market's own moves do not explain."),
        "beta": Hint("Beta", "ratio", "How far the equity moved for each move of the market."),
        "value_at_risk_95": Hint("Value at risk 95 %", "percent", "One bar in twenty returned this or less."),
        "expected_shortfall_95": Hint(
            "Expected shortfall 95 %", "percent", "The mean of that worst twentieth of bars."
        ),
        "probabilistic_sharpe": Hint(
            "Probabilistic Sharpe", "percent", "The chance that the true Sharpe ratio is above zero."
        ),
        "deflated_sharpe": Hint(
            "Deflated Sharpe", "percent", "The same chance after allowing for how many trials this one was picked from."
        ),
        "trials": Hint("Trials", "count", "How many variants were tried before this one was chosen."),
        "open_trades": Hint("Open trades", "count", "Trades not closed by the end; the trade figures leave them out."),
        "ruined_at": Hint("Ruined at", "text", "The first bar that closed with no money left, if there was one."),
    }
)
