"""Small strategies on bars made by hand, with every fill worked out on paper."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from ringfence.testing.broker_desk import FREE, NO_COSTS, QUIET, Prices, Row, text
from ringfence.trade import results
from ringfence.trade.bars import Bars, Floats
from ringfence.trade.book import Book
from ringfence.trade.engine import Engine
from ringfence.trade.orders import Fill, Order
from ringfence.trade.run import FillRules
from ringfence.trade.strategy import Strategy
from ringfence.trade.times import DAY

from tests.trade.test_backtest_broker import make_bars

PERCENT = replace(FREE, costs=replace(NO_COSTS, percent=0.001))


def flat(price: float) -> Row:
    return (price, price, price, price)


def play(strategy: Strategy, bars: Bars | Prices | Sequence[Row], rules: FillRules = FREE) -> Book:
    if not isinstance(bars, Bars):
        bars = make_bars({"X": bars} if isinstance(bars, Sequence) else bars)
    engine = Engine(bars, strategy, {}, rules)
    engine.play()
    return engine.book


def fills(book: Book) -> list[str]:
    return [
        f"{f.now}: {'buy' if f.quantity > 0 else 'sell'} {text(abs(f.quantity))} {book.markets[f.market].symbol} "
        f"at {text(f.price)}: {f.reason}"
        for f in book.fills
    ]


class Breakout(Strategy):
    def next(self) -> None:
        if not self.position and self.data.close > 101:
            self.buy()
        elif self.position and self.data.close < 99:
            self.position.close()


BREAKOUT: list[Row] = [
    (100, 100, 100, 100),
    (100, 102, 99, 101.5),  # above 101: buy
    (102, 104, 101, 103),
    (103, 103, 100, 100.5),
    (100, 101, 97, 98),  # below 99: sell
    (97, 99, 96, 98.5),
    (98, 98, 98, 98),
]


def test_a_breakout_with_fees() -> None:
    book = play(Breakout(), BREAKOUT, PERCENT)
    # 10,000 / (102 + 0.102) is 97.9: 97 shares for 9,894 and a fee of 9.894 leave 96.106.
    # 97 × 97 = 9,409 less a fee of 9.409 come back.
    assert fills(book) == ["2: buy 97 X at 102: market", "5: sell 97 X at 97: close"]
    assert [text(f.fee) for f in book.fills] == ["9.894", "9.409"]
    assert text(book.cash) == "9495.697"
    curve = results.curves(book, make_bars({"X": BREAKOUT}))
    wanted = [10000, 10000, 96.106 + 97 * 103, 96.106 + 97 * 100.5, 96.106 + 97 * 98, 9495.697, 9495.697]
    assert curve.equity == pytest.approx(wanted)
    assert curve.invested == pytest.approx([0, 0, 97 * 103 / 10087.106, 97 * 100.5 / 9844.606, 9506 / 9602.106, 0, 0])
    assert curve.benchmark == pytest.approx([10000, 10150, 10300, 10050, 9800, 9850, 9800])
    (trade,) = results.trades(book, [k * DAY for k in range(7)])
    assert (trade.side, trade.qty, trade.entry_price, trade.exit_price) == ("long", 97, 102, 97)
    assert (trade.entry_time, trade.exit_time, trade.bars_held) == (2 * DAY, 5 * DAY, 3)
    assert (text(trade.fees), text(trade.pnl)) == ("19.303", "-504.303")  # 97 × -5 - 19.303
    assert trade.pnl_pct == pytest.approx(-504.303 / 9894)
    assert (trade.exit_reason, trade.is_partial) == ("close", False)


class Guarded(Strategy):
    def next(self) -> None:
        if self._book.now in (1, 5):
            self.buy(size=10, sl=0.05, tp=0.1, reason="dip")


def test_guards_are_fractions_of_the_price_paid() -> None:
    book = play(
        Guarded(),
        [
            QUIET,
            QUIET,
            (102, 103, 98, 100),  # in at 102: out at 96.9 or 112.2
            (100, 101, 97, 99),
            (99, 99, 96.5, 98),  # stop
            QUIET,
            (101, 104, 99, 103),  # in at 101: out at 95.95 or 111.1
            (103, 110, 102, 109),
            (109, 112, 108, 110),  # target
        ],
    )
    assert fills(book) == [
        "2: buy 10 X at 102: market",
        "4: sell 10 X at 96.9: stop",
        "6: buy 10 X at 101: market",
        "8: sell 10 X at 111.1: target",
    ]
    trades = results.trades(book, [k * DAY for k in range(9)])
    assert [(text(t.pnl), t.entry_reason, t.exit_reason) for t in trades] == [
        ("-51", "dip", "stop"),
        ("101", "dip", "target"),
    ]


class Weight(Strategy):
    def next(self) -> None:
        if self._book.now in (1, 3):
            self.order_target_percent("X", 0.5)


def test_a_weight_is_of_the_equity_at_the_price_it_is_filled_at() -> None:
    book = play(Weight(), [QUIET, QUIET, QUIET, QUIET, flat(200)])
    # 5,000 / 100; then half of 5,000 + 50 × 200 is 7,500, which is 37 shares of 200: 13 too many.
    assert fills(book) == ["2: buy 50 X at 100: market", "4: sell 13 X at 200: market"]
    assert (book.cash, book.markets[0].holding.size) == (7600, 37)


def test_a_weight_that_the_open_has_passed_is_reached_from_the_other_side() -> None:
    slipping = replace(FREE, costs=replace(NO_COSTS, slippage_bps=10))
    book = play(Weight(), [QUIET, QUIET, QUIET, flat(90), flat(110)], slipping)
    # At 90 the 49 shares are too few. At 110 they are too many: 49 × 110 + 5,095.10 is 10,485.10, half of it 47 shares.
    assert fills(book) == ["2: buy 50 X at 100.1: market", "4: sell 3 X at 109.89: market"]
    assert [row.side for row in results.order_rows(book, [0] * 5)] == ["buy", "sell"]


def test_a_weight_that_is_held_needs_no_order() -> None:
    book = play(Weight(), [QUIET] * 5)
    assert [(order.status, order.reason) for order in book.orders] == [
        ("filled", ""),
        ("cancelled", "the target is held already"),
    ]


class Switch(Strategy):
    def next(self) -> None:
        if self._book.now == 1:
            self.rebalance({"X": 1.0})
        elif self._book.now == 3:
            self.rebalance({"Y": 1.0})


def test_a_rebalance_sells_first_and_cuts_what_cannot_be_paid_for() -> None:
    rules = replace(FREE, costs=replace(NO_COSTS, percent=0.01))
    book = play(Switch(), {"X": [QUIET, QUIET, QUIET, QUIET, flat(110)], "Y": [flat(50)] * 5}, rules)
    # 100 X are wanted, and 10,000 / 101 pays for 99: 9,900 and 99 leave 1.
    # 99 × 110 = 10,890 less 108.90 leave 10,782.10: 215 Y are wanted, and 10,782.10 / 50.5 pays for 213.
    assert fills(book) == ["2: buy 99 X at 100: market", "4: sell 99 X at 110: market", "4: buy 213 Y at 50: market"]
    assert text(book.cash) == "25.6"


class Halves(Strategy):
    def next(self) -> None:
        if self._book.now in (1, 2):
            self.rebalance({"Y": 0.5, "X": 0.5})


def test_a_portfolio_is_brought_back_to_its_weights() -> None:
    book = play(Halves(), {"X": [QUIET, QUIET, QUIET, flat(120)], "Y": [flat(50), flat(50), flat(50), flat(40)]})
    # 50 X and 100 Y; then 6,000 and 4,000: half of 10,000 is 41 X and 125 Y.
    assert fills(book) == [
        "2: buy 100 Y at 50: market",
        "2: buy 50 X at 100: market",
        "3: sell 9 X at 120: market",
        "3: buy 25 Y at 40: market",
    ]
    assert book.cash == 80  # 9 × 120 - 25 × 40


class Pair(Strategy):
    """Long X and short Y while X is the cheaper one."""

    def next(self) -> None:
        cheap = self.data["X"].close < self.data["Y"].close[-1]
        if cheap and not self.position("X"):
            self.buy("X", size=10)
            self.sell("Y", size=10)
        elif not cheap and self.position("X"):
            self.position("X").close()
            self.position("Y").close()


def test_a_pair_with_a_missing_bar() -> None:
    book = play(
        Pair(),
        {
            "X": [flat(100), flat(99), flat(98), flat(103), flat(104), flat(105)],
            "Y": [flat(100), flat(101), None, flat(102), flat(101), flat(100)],
        },
    )
    # Decided on bar 1. X is bought on bar 2; Y has no bar there and is sold on bar 3, where X has become the dearer
    # one, so both are closed on bar 4.
    assert fills(book) == [
        "2: buy 10 X at 98: market",
        "3: sell 10 Y at 102: market",
        "4: sell 10 X at 104: close",
        "4: buy 10 Y at 101: close",
    ]
    assert book.cash == 10_000 + 10 * 6 + 10 * 1


class Weekly(Strategy):
    def init(self) -> None:
        self.week = self.timeframe("1w")
        self.seen: list[tuple[int, list[float]]] = []

    def next(self) -> None:
        week = self.week
        last = [float(s[-1]) for s in (week.open, week.high, week.low, week.close)] if len(week) else []
        self.seen.append((len(week), last))


def test_a_week_is_seen_when_it_is_over() -> None:
    # 1970 began on a Thursday: rows 0–3 are a short week, rows 4–10 a whole one, row 11 a Monday again.
    rows: list[Row] = [(100 + k, 110 + k, 90 - k, 101 + k) for k in range(13)]
    strategy = Weekly()
    play(strategy, rows)
    short, whole = [100.0, 113.0, 87.0, 104.0], [104.0, 120.0, 80.0, 111.0]
    assert strategy.seen == [(0, [])] * 3 + [(1, short)] * 7 + [(2, whole)] * 2


class WeeklyMean(Strategy):
    def init(self) -> None:
        self.mean = self.I(mean_of_two, self.timeframe("1w").close)
        self.seen: list[tuple[int, float]] = []

    def next(self) -> None:
        assert not isinstance(self.mean, tuple)
        self.seen.append((self._book.now, self.mean[-1]))


def mean_of_two(close: Floats) -> Floats:
    return np.append(np.full(1, np.nan), (close[1:] + close[:-1]) / 2)


def test_an_indicator_of_weeks_changes_when_a_week_is_over() -> None:
    rows: list[Row] = [flat(100 + k) for k in range(20)]
    strategy = WeeklyMean()
    play(strategy, rows)
    # Weeks end with rows 3, 10 and 17: closes 103, 110 and 117. The second is known on row 11, the third on row 18.
    assert strategy.seen[-2:] == [(18, 113.5), (19, 113.5)]
    assert {value for now, value in strategy.seen if 12 <= now < 18} == {106.5}
    assert strategy.seen[0][0] == 12  # a bar after the first value, so that there is one before it


class Warm(Strategy):
    period = 3

    def init(self) -> None:
        self.mean = self.I(rolling_mean, self.data.close, self.period)
        self.known = len(self.data)
        self.first: int | None = None

    def on_start(self) -> None:
        self.buy(size=1)

    def next(self) -> None:
        self.first = self._book.now if self.first is None else self.first


def rolling_mean(close: Floats, period: int) -> Floats:
    means = np.convolve(close, np.ones(period) / period, mode="valid")
    return np.append(np.full(period - 1, np.nan), means)


def test_warm_up_is_seen_and_not_traded() -> None:
    bars = replace(make_bars({"X": [flat(100 + k) for k in range(10)]}), tradable_from=5 * DAY)
    strategy = Warm()
    book = play(strategy, bars)
    assert (strategy.known, strategy.first) == (5, 5)
    assert fills(book) == ["5: buy 1 X at 105: market"]


def test_trading_begins_when_every_indicator_has_two_values() -> None:
    bars = replace(make_bars({"X": [flat(100 + k) for k in range(10)]}), tradable_from=2 * DAY)
    strategy = Warm()
    strategy.period = 6
    play(strategy, bars)
    assert (strategy.known, strategy.first) == (2, 6)  # values on rows 5 and 6


class Diary(Strategy):
    def __init__(self) -> None:
        self.lines: list[str] = []

    def on_start(self) -> None:
        self.lines.append(f"start {self._book.now}")

    def next(self) -> None:
        self.lines.append(f"next {self._book.now}")
        if self._book.now == 1:
            self.buy(size=10, sl=0.05)
            self.buy(size=1000)
            self.buy(size=-5)

    def on_fill(self, fill: Fill) -> None:
        self.lines.append(f"{fill.side} {fill.price:g} {fill.reason} {fill.time // DAY}")

    def on_reject(self, order: Order) -> None:
        self.lines.append(f"rejected {order.quantity:g}")

    def on_end(self) -> None:
        self.lines.append(f"end {self._book.now}")


def test_a_strategy_is_told_what_happens_before_it_decides() -> None:
    diary = Diary()
    play(diary, [QUIET, QUIET, QUIET, (100, 100, 90, 92), QUIET])
    assert diary.lines == [
        "start 0",
        "next 1",
        "buy 100 market 2",
        "rejected -5",
        "rejected 1000",
        "next 2",
        "sell 95 stop 3",
        "next 3",
        "next 4",
        "end 4",
    ]


class Nonsense(Strategy):
    def __init__(self) -> None:
        self.rejected: list[int] = []

    def next(self) -> None:
        if self._book.now == 2:
            self.buy(size=-1)

    def on_reject(self, order: Order) -> None:
        self.rejected.append(self._book.now)


@pytest.mark.parametrize("symbols", ["X", "XY"])
def test_a_strategy_hears_of_an_order_that_was_rejected_at_once_on_the_next_bar(symbols: str) -> None:
    strategy = Nonsense()
    play(strategy, {symbol: [QUIET] * 6 for symbol in symbols})
    assert strategy.rejected == [3]


class Holder(Strategy):
    def next(self) -> None:
        if self._book.now == 1:
            self.buy(size=10)


def test_positions_are_marked_at_the_end_or_closed_by_option() -> None:
    rows = [QUIET, QUIET, QUIET, (105, 112, 104, 110)]
    slipping = replace(FREE, costs=replace(NO_COSTS, percent=0.001, slippage_bps=10))
    book = play(Holder(), rows, slipping)
    assert fills(book) == ["2: buy 10 X at 100.1: market"]
    (still,) = results.trades(book, [k * DAY for k in range(4)])
    assert (still.exit_time, still.exit_price, text(still.pnl)) == (None, None, "97.999")  # 10 × 9.9 - 1.001
    book = play(Holder(), rows, replace(slipping, close_at_end=True))
    assert fills(book)[1:] == ["3: sell 10 X at 109.89: end"]
    assert text(book.cash) == "10095.8001"  # 10,000 - 1,001 - 1.001 + 1,098.9 - 1.0989
    assert results.curves(book, make_bars({"X": rows})).equity[-1] == pytest.approx(10095.8001)


class Broken(Strategy):
    def next(self) -> None:
        if self._book.now == 3:
            raise ZeroDivisionError
        self.buy(size=1)


@pytest.mark.parametrize("symbols", ["X", "XY"])
def test_an_error_goes_through_and_the_book_says_when(symbols: str) -> None:
    engine = Engine(make_bars({s: [QUIET] * 6 for s in symbols}), Broken(), {}, FREE)
    with pytest.raises(ZeroDivisionError):
        engine.play()
    assert engine.book.now == 3
    assert fills(engine.book) == ["2: buy 1 X at 100: market", "3: buy 1 X at 100: market"]


class Greedy(Strategy):
    def next(self) -> None:
        self.buy()


def test_buying_with_all_there_is_leaves_nothing_to_buy_dust_with() -> None:
    book = play(Greedy(), [flat(97.3)] * 6, replace(FREE, fractional=True, costs=replace(NO_COSTS, percent=0.001)))
    assert len(book.fills) == 1
    assert book.fills[0].quantity == pytest.approx(10_000 / (97.3 * 1.001))
    assert abs(book.cash) < 1e-6
    assert {order.status for order in book.orders[1:-1]} == {"rejected"}
