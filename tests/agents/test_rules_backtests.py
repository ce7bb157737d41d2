"""Trades of programs that the offline author wrote, worked out again here.

The second working-out shares nothing with the first: it reads the description's numbers off the request, computes the
indicators with TA-Lib and numpy and walks through the bars by the rules of docs/engine.md.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

from ringfence import open_sandbox
from ringfence.sandbox import Sandbox
from ringfence.trade.bars import Bars, Candles, Floats
from ringfence.trade.run import Run
from ringfence.trade.times import iso

from tests.agents.compiled import BASKET, FREE, compiled, tried
from tests.trade.prices import make_bars, make_candles
from tests.verbs.judged import STRATEGY_SANDBOX, judge, sample

Flags = NDArray[np.bool_]
SAVED = "Trade AAPL, MSFT and IBM. Buy on the first trading day of the month, sell after 5 days"


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    with open_sandbox(STRATEGY_SANDBOX) as opened:
        yield opened


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


def weekly(bars: Bars, symbol: str) -> dict[str, list[float]]:
    """For each day the open and the close of the last week that was over, and those of the one before it."""
    c = bars.candles[symbol]
    weeks = ((c.time // 86_400_000_000_000 + 3) // 7).tolist()
    opens: dict[int, float] = {}
    closes: dict[int, float] = {}
    for week, opened, closed in zip(weeks, c.open.tolist(), c.close.tolist()):
        opens.setdefault(week, opened)
        closes[week] = closed
    over = sorted(opens)
    rows = [over.index(week) for week in weeks]
    made = {}
    for back, name in ((1, ""), (2, "_before")):
        for said, table in (("open", opens), ("close", closes)):
            made[said + name] = [table[over[row - back]] if row >= back else np.nan for row in rows]
    return made


def entered_and_left(bars: Bars, symbol: str, buy: Flags, sell: Flags) -> list[tuple[str, str]]:
    """The trades of one instrument by what is decided on each of its bars: always in or out, at the next open."""
    times, entered, made = bars.candles[symbol].time.tolist(), None, []
    for t in range(1, len(times) - 1):
        if entered is None and buy[t]:
            entered = t + 1
        elif entered is not None and t >= entered and sell[t]:
            made.append((iso(times[entered]), iso(times[t + 1])))
            entered = None
    return made


def test_the_trades_of_a_weekly_cross_with_a_margin(sandbox: Sandbox) -> None:
    """No indicator makes the engine wait for the second week: the program has to."""
    said = (
        "Buy when the weekly close crosses above 1.02 times the weekly open, "
        "sell when the weekly close is below 0.98 times the weekly open"
    )
    bars = sample("GOOG")
    w = weekly(bars, "GOOG")
    now, before = (np.array(w[f"close{at}"]) / np.array(w[f"open{at}"]) for at in ("", "_before"))
    expected = entered_and_left(bars, "GOOG", (before < 1.02) & (now > 1.02), now < 0.98)
    assert len(expected) > 20
    assert shown(tried(sandbox, said, bars)) == expected


def test_a_cross_of_a_line_of_coarser_bars_is_one_of_the_bar_before(sandbox: Sandbox) -> None:
    """On both days the line is that of the last week: the one of the week before has nothing to do with it."""
    said = "Buy when the close crosses above the weekly close, sell when the close is below 0.98 times the weekly close"
    bars = sample("GOOG")
    close, week = columns(bars)["close"], np.array(weekly(bars, "GOOG")["close"])
    before = np.concatenate([[np.nan], close[:-1]])
    expected = entered_and_left(bars, "GOOG", (before < week) & (close > week), close < 0.98 * week)
    assert len(expected) > 20
    assert shown(tried(sandbox, said, bars)) == expected


@pytest.mark.parametrize(
    "said",
    [
        "Buy when the weekly close is above the weekly close 3 bars ago, sell after 5 days",
        "Buy if the weekly close has been above the weekly open for 3 bars in a row, sell after 5 days",
        "Buy when the monthly high 2 bars ago is below the monthly close, sell after 5 days",
    ],
)
def test_no_coarse_bar_is_asked_for_before_it_has_come(sandbox: Sandbox, said: str) -> None:
    assert tried(sandbox, said, sample("GOOG")).verdict == "traded"


def test_coarse_bars_of_another_instrument_are_its_own(sandbox: Sandbox) -> None:
    said = (
        "Buy AAPL when the weekly close of IBM is above 1.01 times the weekly open of IBM, "
        "sell when the weekly close of IBM is below the weekly open of IBM"
    )
    bars = sample("AAPL", "IBM")
    w = weekly(bars, "IBM")
    now = np.array(w["close"]) / np.array(w["open"])
    assert bars.candles["IBM"].time.tolist() == bars.candles["AAPL"].time.tolist()
    expected = entered_and_left(bars, "AAPL", now > 1.01, now < 1)
    assert len(expected) > 20
    assert shown(tried(sandbox, said, bars)) == expected


def test_a_change_may_be_of_some_bars_ago(sandbox: Sandbox) -> None:
    bars = sample("GOOG")
    close = columns(bars)["close"]
    moved = np.full(len(close), np.nan)
    moved[7:] = close[5:-2] / close[:-7] - 1
    run = tried(sandbox, "Buy when the close 2 bars ago is up at least 8 % over 5 bars, sell after 1 bar", bars)
    expected = entered_and_left(bars, "GOOG", moved >= 0.08, close > 0)
    assert len(expected) > 20
    assert shown(run) == expected


@pytest.mark.parametrize("cash", [100_000, 180])
def test_the_rest_is_trailed_when_a_part_has_been_sold_and_not_before(sandbox: Sandbox, cash: float) -> None:
    """With money for a single share, no half of it can be bought, and none is ever sold at the gain."""
    said = "Buy when RSI is below 45. Sell half at 5 %, the rest with a 3 % trailing stop. Sell when RSI is above 75."
    bars = sample("GOOG", end="2006-01-01")
    c = columns(bars)
    run = judge(sandbox, compiled(said), bars, rules=replace(FREE, cash=cash), lookahead=False)
    place = {int(time): n for n, time in enumerate(c["time"])}
    parts = {trade.entry_time: trade.exit_time for trade in run.trades if trade.exit_reason == "target"}
    trailed = [trade for trade in run.trades if trade.exit_reason in ("stop", "trailing_stop")]
    assert run.trades
    assert bool(trailed) == bool(parts) == (cash > 1000)
    for trade in trailed:
        began, left = parts[trade.entry_time], trade.exit_time
        assert began is not None and left is not None and began < left
        first, start, at = place[trade.entry_time], place[began] - place[trade.entry_time], place[left]
        levels = 0.97 * np.maximum.accumulate(c["high"][first:at])
        assert trade.exit_price == pytest.approx(min(levels[-1], c["open"][at]))
        assert (c["low"][first + 1 : at] > levels[:-1])[start:].all()


def test_a_trailing_stop_may_hang_from_the_best_close(sandbox: Sandbox) -> None:
    bars = sample("GOOG", end="2006-01-01")
    c = columns(bars)
    run = tried(sandbox, "Buy when RSI is below 45, trail a stop 6% below the highest close since entry", bars)
    place = {int(time): n for n, time in enumerate(c["time"])}
    left = [trade for trade in run.trades if trade.exit_time is not None and trade.exit_reason == "stop"]
    assert len(left) > 5
    for trade in left:
        first, at = place[trade.entry_time], place[trade.exit_time or 0]
        best = np.maximum.accumulate(np.concatenate(([trade.entry_price], c["close"][first:at])))
        assert trade.exit_price == pytest.approx(min(0.94 * best[-1], c["open"][at]))
        assert (c["low"][first:at] > 0.94 * best[:-1]).all()


def test_a_trailing_stop_in_ranges_may_hang_from_the_best_price(sandbox: Sandbox) -> None:
    bars = sample("GOOG", end="2006-01-01")
    tighter = tried(sandbox, "Buy when RSI is below 45, trailing stop 3 ATR from the highest high since entry", bars)
    wider = tried(sandbox, "Buy when RSI is below 45, trailing stop 3 ATR from the highest close since entry", bars)
    assert tighter.trades[0].entry_time == wider.trades[0].entry_time
    assert (tighter.trades[0].exit_time or 0) <= (wider.trades[0].exit_time or 0)
    assert tighter.trades[0].exit_price != wider.trades[0].exit_price


def test_shares_that_were_stated_are_all_bought_and_a_part_is_sold_once(sandbox: Sandbox) -> None:
    said = (
        "Buy 5 shares when RSI is below 40. Sell half at 30 %. "
        "Sell half when RSI is above 55 and the rest when RSI is above 70."
    )
    run = tried(sandbox, said, sample("GOOG"))
    bought: dict[int, float] = {}
    for trade in run.trades:
        bought[trade.entry_time] = bought.get(trade.entry_time, 0) + trade.qty
    assert set(bought.values()) == {5}
    assert len(bought) > 5
    parts = [fill.qty for fill in run.fills if fill.reason == "part"]
    assert 5 < len(parts) <= 2 * len(bought)  # of two lots at the most, and on one bar
    sold = {fill.time: 0.0 for fill in run.fills if fill.reason == "part"}
    for fill in run.fills:
        if fill.reason == "part":
            sold[fill.time] += fill.qty
    assert set(sold.values()) == {2}
    assert len(sold) <= len(bought)


def test_a_stated_sum_is_spent_on_each_of_several_instruments(sandbox: Sandbox) -> None:
    run = tried(sandbox, f"{SAVED}. Invest $30000 per trade.", sample(*BASKET[:3]))
    spent = [trade.qty * trade.entry_price for trade in run.trades if trade.entry_time < run.trades[60].entry_time]
    assert len(spent) > 50
    assert min(spent) > 28_000  # the open may lie off the close, and shares are whole
    assert max(spent) < 32_000


def test_one_that_turns_round_leaves_the_share_of_the_others(sandbox: Sandbox) -> None:
    said = "Trade AAPL and MSFT: go long when the 5-day EMA is above the 10-day EMA and go short when it is below"
    bars = sample("AAPL", "MSFT")
    run = tried(sandbox, said, bars)
    assert run.equity is not None
    worth = dict(zip(run.equity.time.tolist(), run.equity.value.tolist()))
    shares = [trade.qty * trade.entry_price / worth[trade.entry_time] for trade in run.trades[:80]]
    assert max(shares) < 0.6
    assert min(shares) > 0.3


def test_an_order_that_waits_for_a_bar_is_not_given_again(sandbox: Sandbox) -> None:
    """Shares rest on weekends, on which the other instrument is traded."""
    every, week = make_candles(400, 2), make_candles(400, 1)
    open_days = np.arange(400) % 7 < 5
    shares = Candles(*(getattr(week, name)[open_days] for name in Candles.__slots__))
    bars = make_bars(AAPL=shares, BTC=every)
    said = "Trade AAPL and BTC. Buy when RSI(3) is below 30, sell when RSI(3) is above 60. Use 20 % of the equity."
    run = tried(sandbox, said, bars)
    entries = [(trade.symbol, trade.entry_time) for trade in run.trades]
    assert len(entries) > 20
    assert len(entries) == len(set(entries))


def test_volatility_is_targeted_for_each_of_several_instruments(sandbox: Sandbox) -> None:
    said = "Trade AAPL, MSFT and IBM. Target 10 % volatility. Buy when close > SMA 50, sell when close < SMA 50."
    run = tried(sandbox, said, sample(*BASKET[:3]))
    assert (run.verdict, {trade.symbol for trade in run.trades}) == ("traded", set(BASKET[:3]))


def test_a_risk_in_money_is_what_the_stop_loses(sandbox: Sandbox) -> None:
    said = "Buy when RSI(3) is below 30, sell when RSI(3) is above 70, stop loss 5 %, risk $200 per trade"
    run = tried(sandbox, said, sample("GOOG"))
    assert len(run.trades) > 20
    for trade in run.trades:  # in whole shares, and at the open that follows the close it was judged by
        assert abs(trade.qty * trade.entry_price - 200 / 0.05) < 1.2 * trade.entry_price
