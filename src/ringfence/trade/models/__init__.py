"""Quantitative models as plain numpy: numbers in, frozen values out. They run inside the fence.

Randomness is an argument: the same generator gives the same numbers. docs/simulate.md says what each one assumes.
"""

from __future__ import annotations

from ringfence.trade.models.black_scholes import Option, price_option, simulate_option
from ringfence.trade.models.cleansing import Change, Cleansed, cleanse
from ringfence.trade.models.ichimoku import Cloud, IchimokuPeriods, ichimoku_cloud, ichimoku_periods
from ringfence.trade.models.interval import PriceInterval, price_interval
from ringfence.trade.models.portfolio import PortfolioRange, common_closes, simulate_portfolio
from ringfence.trade.models.relation import Relation, relate
from ringfence.trade.models.resample import StrategyRange, simulate_trades, trade_returns
from ringfence.trade.models.returns import Estimate, estimate, log_returns
from ringfence.trade.models.sizing import fixed_fraction, kelly_fraction, volatility_target

__all__ = [
    "Estimate",
    "estimate",
    "log_returns",
    "PriceInterval",
    "price_interval",
    "PortfolioRange",
    "common_closes",
    "simulate_portfolio",
    "StrategyRange",
    "simulate_trades",
    "trade_returns",
    "IchimokuPeriods",
    "Cloud",
    "ichimoku_periods",
    "ichimoku_cloud",
    "Option",
    "price_option",
    "simulate_option",
    "Relation",
    "relate",
    "fixed_fraction",
    "kelly_fraction",
    "volatility_target",
    "Change",
    "Cleansed",
    "cleanse",
]
