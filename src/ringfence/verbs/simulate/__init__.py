"""Quantitative questions with an answer that can be checked: each is a question, a program, and a finding.

The prices are loaded here, the program runs behind the fence with the limits of a chat, and what it gave is looked at
before a number of it is quoted.
"""

from __future__ import annotations

from ringfence.verbs.simulate.cleanse import CleanseQuestion, ask_cleanse
from ringfence.verbs.simulate.correlation import CorrelationQuestion, ask_correlation
from ringfence.verbs.simulate.data import DataRequest, Source
from ringfence.verbs.simulate.desk import Desk
from ringfence.verbs.simulate.finding import Finding
from ringfence.verbs.simulate.horizon import Horizon
from ringfence.verbs.simulate.indicator import IndicatorQuestion, ask_indicator
from ringfence.verbs.simulate.monte_carlo import PriceQuestion, ask_price
from ringfence.verbs.simulate.option import OptionQuestion, ask_option
from ringfence.verbs.simulate.portfolio import PortfolioQuestion, ask_portfolio
from ringfence.verbs.simulate.sizing import SizingQuestion, ask_sizing
from ringfence.verbs.simulate.strategy import StrategyQuestion, ask_strategy

__all__ = [
    "Desk",
    "DataRequest",
    "Source",
    "Horizon",
    "Finding",
    "PriceQuestion",
    "ask_price",
    "PortfolioQuestion",
    "ask_portfolio",
    "StrategyQuestion",
    "ask_strategy",
    "OptionQuestion",
    "ask_option",
    "SizingQuestion",
    "ask_sizing",
    "CorrelationQuestion",
    "ask_correlation",
    "IndicatorQuestion",
    "ask_indicator",
    "CleanseQuestion",
    "ask_cleanse",
]
