"""Programs that the offline author wrote, behind the fence; and for some of them their trades, worked out again here.

The second working-out shares nothing with the first: it reads the description's numbers off the request, computes the
indicators with TA-Lib and numpy and walks through the bars by the rules of docs/engine.md.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from ringfence import open_sandbox
from ringfence.agents import open_agent
from ringfence.agents.brief import Brief
from ringfence.sandbox import Sandbox
from ringfence.trade.bars import Bars, Floats
from ringfence.trade.run import Costs, FillRules, Run
from ringfence.trade.times import iso

from tests.verbs.judged import STRATEGY_SANDBOX, judge, sample

FREE = FillRules(costs=Costs(percent=0.0, slippage_bps=0.0))
SAVED = "Trade AAPL, MSFT and IBM. Buy on the first trading day of the month, sell after 5 days"
BASKET = ("AAPL", "MSFT", "IBM", "GOOG")
# One of each kind; where symbols are named they are those of the samples.
SAMPLED = (
    "Buy GOOG when RSI drops below 35, sell when it rises above 65",
    "Buy when RSI(2) < 10 and price is above its 200-day moving average; exit when the close is above the 5-day SMA",
    "Buy when the 20-day moving average crosses above the 50-day moving average and sell when it crosses below",
    "Buy when MACD crosses above its signal line; sell half at 5%, rest with a 3% trailing stop",
    "Buy when price touches the lower Bollinger band, sell when price touches the upper Bollinger band",
    "Go long if price breaks above the 20-day high, stop 2 ATR, target 3 ATR, risk 1% per trade",
    "Buy when close > SMA 50, trail by 3 ATR",
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
    "Hold 60% AAPL and 40% IBM, rebalanced quarterly",
    "Every month hold the top 2 of AAPL, MSFT, IBM and GOOG by 6-month momentum, only if its momentum is positive",
    "Pairs trade AAPL and MSFT: enter at 2 standard deviations, exit at 0.5, 60-day window",
)


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    with open_sandbox(STRATEGY_SANDBOX) as opened:
        yield opened


def compiled(said: str) -> str:
    reply = open_agent("rules").act(Brief(role="code", idea=said))
    assert reply.code is not None, reply.text
    return reply.code


def tried(sandbox: Sandbox, said: str, bars: Bars, *, lookahead: bool = False) -> Run:
    return judge(sandbox, compiled(said), bars, rules=FREE, lookahead=lookahead)


@pytest.mark.parametrize("said", SAMPLED, ids=lambda said: said[:60])
def test_a_program_trades_and_its_run_is_verified(sandbox: Sandbox, said: str) -> None:
    named = [name for name in BASKET if name in said]
    run = tried(sandbox, said, sample(*(named or ["GOOG"])), lookahead=said in SAMPLED[::6])
    assert (run.verdict, run.provenance) == ("traded", "verified"), run
    assert run.lookahead.status in ("clean", "not_checked")
    assert not [order for order in run.orders if order.status == "rejected"]


def columns(bars: Bars) -> dict[str, Floats]:
    (candles,) = bars.candles.values()
    return {name: np.asarray(getattr(candles, name)) for name in ("time", "open", "high", "low", "close", "volume")}


def shown(run: Run) -> list[tuple[str, str]]:
    """Of each trade the bars of its entry and of its exit."""
    return [(iso(trade.entry_time), iso(trade.exit_time)) for trade in run.trades if trade.exit_time is not None]


def test_the_trades_of_a_cross_of_averages(sandbox: Sandbox) -> None:
    import talib

    bars = sample("GOOG")
    run = tried(sandbox, "Buy when the 20-day SMA crosses above the 50-day SMA and sell when it crosses below", bars)
    c = columns(bars)
    gap = talib.SMA(c["close"], 20) - talib.SMA(c["close"], 50)
    expected, entered = [], None
    for t in range(1, len(gap) - 1):
        if entered is None and gap[t - 1] < 0 < gap[t]:
            entered = t + 1
        elif entered is not None and gap[t - 1] > 0 > gap[t]:
            expected.append((iso(int(c["time"][entered])), iso(int(c["time"][t + 1]))))
            entered = None
    assert len(expected) > 10
    assert shown(run) == expected


def test_the_trades_of_a_dip_with_a_stop_a_target_and_a_time_limit(sandbox: Sandbox) -> None:
    """The stop is asked first, the target then, on the bar of the entry too; the time limit leaves at an open."""
    import talib

    bars = sample("GOOG")
    run = tried(sandbox, "Buy when RSI is below 40 with a 4% stop and a 6% target, sell after 8 days", bars)
    c = columns(bars)
    rsi = talib.RSI(c["close"], 14)
    expected: list[tuple[str, str, float]] = []
    t = 15  # the second bar on which the RSI has a value
    while t < len(rsi) - 1:
        if not rsi[t] < 40:
            t += 1
            continue
        entry = t + 1
        price = c["open"][entry]
        stop, target = price * 0.96, price * 1.06
        for bar in range(entry, len(rsi)):
            opened, high, low = c["open"][bar], c["high"][bar], c["low"][bar]
            if bar > entry and (opened <= stop or opened >= target or bar == entry + 8):
                out = opened
            elif low <= stop:
                out = stop
            elif high >= target:
                out = target
            else:
                continue
            expected.append((iso(int(c["time"][entry])), iso(int(c["time"][bar])), out))
            t = bar
            break
        else:
            break
    found = [(iso(r.entry_time), iso(r.exit_time), r.exit_price) for r in run.trades if r.exit_time is not None]
    assert len(expected) > 30
    assert [row[:2] for row in found] == [row[:2] for row in expected]
    assert [row[2] for row in found] == pytest.approx([row[2] for row in expected])


def test_the_days_of_a_savings_plan(sandbox: Sandbox) -> None:
    bars = sample("GOOG")
    run = tried(sandbox, "Invest $2000 in GOOG every Monday", bars)
    times = [int(t) for t in columns(bars)["time"]]
    days = (np.array(times) // 86_400_000_000_000 + 3) % 7  # 1970 began on a Thursday
    decided = [t for t in range(1, len(times) - 1) if days[t] == 0]
    bought = [fill.time for fill in run.fills]
    assert bought == [times[t + 1] for t in decided[: len(bought)]]
    assert all(1000 < fill.qty * fill.price <= 2000 for fill in run.fills)
    assert sum(fill.qty * fill.price for fill in run.fills) > 98_000  # until the money is spent


def test_what_a_rotation_holds(sandbox: Sandbox) -> None:
    bars = sample(*BASKET)
    run = tried(sandbox, "Every month hold the top 1 of AAPL, MSFT, IBM and GOOG by 126-day return", bars)
    closes = {name: dict(zip(c.time.tolist(), c.close.tolist())) for name, c in bars.candles.items()}
    common = sorted(set.intersection(*(set(rows) for rows in closes.values())))
    months = {iso(t)[:7] for t in common}
    seen = 0
    for month in sorted(months)[8:60]:
        first = next(t for t in common if iso(t).startswith(month))
        at = common.index(first)
        best = max(BASKET, key=lambda name: closes[name][first] / closes[name][common[at - 126]])
        held = dict.fromkeys(BASKET, 0.0)
        for fill in run.fills:
            if fill.time <= common[at + 1]:
                held[fill.symbol] += fill.qty if fill.side == "buy" else -fill.qty
        assert {name for name, quantity in held.items() if quantity > 0} == {best}, month
        seen += 1
    assert seen > 40


def test_instruments_bought_on_one_bar_get_equal_shares(sandbox: Sandbox) -> None:
    run = tried(
        sandbox,
        SAVED,
        sample(*BASKET[:3]),
    )
    spent: dict[int, list[float]] = {}
    for trade in run.trades:
        spent.setdefault(trade.entry_time, []).append(trade.qty * trade.entry_price)
    assert len(spent) > 50
    for amounts in spent.values():
        assert len(amounts) == 3
        assert min(amounts) > 0.95 * max(amounts)
