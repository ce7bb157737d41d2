"""Programs that the offline author wrote, one of each kind, behind the fence."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from ringfence import open_sandbox
from ringfence.sandbox import Sandbox

from tests.agents.compiled import BASKET, tried
from tests.verbs.judged import STRATEGY_SANDBOX, sample

# One of each kind; where symbols are named they are those of the samples.
SAMPLED = (
    "Buy GOOG when RSI drops below 35, sell when it rises above 65",
    "Buy when RSI(2) < 10 and price is above its 200-day moving average; exit when the close is above the 5-day SMA",
    "Buy when the 20-day moving average crosses above the 50-day moving average and sell when it crosses below",
    "Buy when MACD crosses above its signal line; sell half at 5%, rest with a 3% trailing stop",
    "Buy when price touches the lower Bollinger band, sell when price touches the upper Bollinger band",
    "Go long if price breaks above the 20-day high, stop 2 ATR, target 3 ATR, risk $500 per trade",
    "Go long if price breaks above the 20-day high, stop 2 ATR, target 3 ATR, risk 1% per trade",
    "Buy when close > SMA 50, trail by 3 ATR",
    "Buy when close > SMA 50, trail a stop 5% below the highest close since entry",
    "Buy when close > SMA 50, trailing stop 3 ATR from the highest high since entry",
    "Buy when RSI < 40. Sell a third at 5%, a third at 10% and the rest at 15%. Stop loss 8%.",
    "Buy when RSI < 40. Sell half when RSI is above 50 and the rest when RSI is above 60.",
    "Buy when RSI < 40, sell after 10 days or when RSI > 70",
    "Short when RSI rises above 75, cover when it falls below 50, stop loss at 4%",
    "Go long when the 10-day EMA crosses above the 30-day EMA and go short when it crosses below",
    "Buy when stochastic %K crosses above %D and %K is below 20, sell when %K is above 80",
    "Buy when price is above the Ichimoku cloud and Tenkan crosses above Kijun, exit when price is below the cloud",
    "Buy when Supertrend turns bullish and sell when it turns bearish",
    "Buy when the Parabolic SAR is below the price, sell when the Parabolic SAR is above the price",
    "Buy when ADX is above 25 and +DI crosses above -DI, sell when -DI crosses above +DI",
    "Buy when OBV is rising for 5 days and price is above VWAP; sell when price is below VWAP",
    "Buy when volume is above twice its 20-day average and the close is above the open, sell after 5 days",
    "Buy when the price falls more than 10% over a month and sell when it rises 10% over a month",
    "Buy when the weekly RSI is below 45, exit when the weekly RSI is above 60",
    "Buy if RSI has been below 40 for 3 days in a row, sell if RSI is above 50",
    "Target 10% volatility. Buy when close > SMA 200, sell when close < SMA 200.",
    "Buy on the last trading day of the month, sell after 3 days",
    "Invest $2000 in GOOG every Monday",
    "Trade AAPL, MSFT and IBM: buy when RSI is below 30, sell when it is above 70, 20% of equity per trade",
    "Buy AAPL when IBM is above its 200-day SMA and AAPL's RSI is below 40; sell when RSI is above 60",
    "Buy when two of these three are true: RSI > 50, OBV above its 20-day average, close > SMA 50. Sell after 9 days.",
    "Hold GOOG from October through May",
    "Hold 60% AAPL and 40% IBM, rebalanced quarterly",
    "Every month hold the top 2 of AAPL, MSFT, IBM and GOOG by 6-month momentum, only if its momentum is positive",
    "Pairs trade AAPL and MSFT: enter at 2 standard deviations, exit at 0.5, 60-day window",
    "Pairs trade AAPL and MSFT by the log ratio: enter at 2 standard deviations, exit at 0.5, 60-day window",
    "Pairs trade AAPL and MSFT: enter at 2 sigma, exit at 0, 25% of equity per leg, out after 10 days",
    "Buy GOOG on the third-to-last trading day of the month, sell on the third trading day of the next month",
    "Buy $2000 of GOOG on the 15th of each month",
    "Each month hold the top 2 of AAPL, MSFT, IBM and GOOG by the average of the 3, 6 and 12 month returns",
    "Hold AAPL while it is above its 100-day average, otherwise IBM; checked at month end",
)


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    with open_sandbox(STRATEGY_SANDBOX) as opened:
        yield opened


@pytest.mark.parametrize("said", SAMPLED, ids=lambda said: said[:60])
def test_a_program_trades_and_its_run_is_verified(sandbox: Sandbox, said: str) -> None:
    named = [name for name in BASKET if name in said]
    run = tried(sandbox, said, sample(*(named or ["GOOG"])), lookahead=said in SAMPLED[::6])
    assert (run.verdict, run.provenance) == ("traded", "verified"), run
    assert run.lookahead.status in ("clean", "not_checked")
    assert not [order for order in run.orders if order.status == "rejected"]
