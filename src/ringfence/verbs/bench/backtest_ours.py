"""Our engine, as backtest_worker.py runs it; and, as a program with a file of bars and a strategy, inside and outside
the fence:

    python backtest_ours.py BARS.arrow s1
"""

from __future__ import annotations

import gc
import json
import sys
import time
from dataclasses import dataclass
from importlib.metadata import version as version_of
from pathlib import Path

import numpy as np
import talib

from ringfence.trade import results
from ringfence.trade.arrays import Arrays, Walk, walk
from ringfence.trade.bars import Bars, Candles
from ringfence.trade.engine import Engine, collect_rarely
from ringfence.trade.indicators import crossover
from ringfence.trade.metrics import Metrics, measure
from ringfence.trade.run import Costs, FillRules
from ringfence.trade.series import Series
from ringfence.trade.strategy import Strategy

RULES = FillRules(cash=1_000_000.0, costs=Costs(percent=0.0, slippage_bps=0.0))


class S1(Strategy):
    """Averages of 10 and 30 bars cross; long only."""

    fast: Series
    slow: Series

    def init(self) -> None:
        self.fast = self.I(talib.SMA, self.data.close, 10)
        self.slow = self.I(talib.SMA, self.data.close, 30)

    def next(self) -> None:
        if crossover(self.fast, self.slow):
            self.buy()
        elif crossover(self.slow, self.fast):
            self.position.close()


class S2(Strategy):
    """RSI below 35 buys and above 65 sells, with a stop 5 % under and a target 10 % over the close that decided."""

    rsi: Series
    close: Series

    def init(self) -> None:
        self.close = self.data.close
        self.rsi = self.I(talib.RSI, self.close, 14)

    def next(self) -> None:
        if not self.position:
            if self.rsi[-1] < 35:
                price = self.close[-1]
                self.buy(sl_price=price * 0.95, tp_price=price * 1.1)
        elif self.rsi[-1] > 65:
            self.position.close()


STRATEGIES: dict[str, type[Strategy]] = {"s1": S1, "s2": S2}


@dataclass(frozen=True, slots=True)
class Given:
    bars: Bars
    strategy: type[Strategy]
    arrays: Arrays


@dataclass(frozen=True, slots=True)
class Finished:
    engine: Engine
    metrics: Metrics | None = None


def version() -> str:
    return version_of("ringfence")


def prepare(table: dict[str, np.ndarray], strategy: str) -> Given:
    collect_rarely()  # as the guest does; to backtesting.py it makes no difference
    candles = Candles(*(table[name] for name in ("time", "open", "high", "low", "close", "volume")))
    guards = (0.05, 0.10) if strategy == "s2" else (0.0, 0.0)
    arrays = Arrays(entries=table[f"{strategy}_entries"], exits=table[f"{strategy}_exits"], sl=guards[0], tp=guards[1])
    bars = Bars(candles={"MADE": candles}, timeframe="15m", source="bench", synthetic=True)
    return Given(bars, STRATEGIES[strategy], arrays)


def loop(given: Given) -> Finished:
    """The loop alone."""
    engine = Engine(given.bars, given.strategy(), {}, RULES)
    engine.play()
    return Finished(engine)


def whole(given: Given) -> Finished:
    """What a run needs: the loop, the trades, the curves and all the figures."""
    engine = loop(given).engine
    book, bars = engine.book, given.bars
    curves = results.curves(book, bars)
    metrics = measure(
        time=curves.time,
        equity=curves.equity,
        trades=results.trades(book, engine.timeline),
        exposure=curves.invested,
        turnover_value=sum(abs(f.quantity) * f.price for f in book.fills),
        fees=sum(f.fee for f in book.fills),
        initial_equity=RULES.cash,
        benchmark=curves.benchmark,
        timeframe=bars.timeframe,
        calendar=bars.calendar,
    )
    return Finished(engine, metrics)


def arrays(given: Given) -> Walk:
    """The same decisions as whole columns: every fill, and the equity at every close."""
    candles = given.bars.candles["MADE"]
    walked = walk(candles, given.arrays, RULES, 1)
    walked.equity(candles.close, RULES.cash)
    return walked


def trades(finished: Finished | Walk) -> list[list[float]]:
    """Of each closed trade the bar and the price of its entry and of its exit, and its size."""
    if isinstance(finished, Walk):
        rows = list(zip(finished.filled.tolist(), finished.price.tolist(), finished.quantity.tolist()))
        return [[a, price, b, sold, size] for (a, price, size), (b, sold, _) in zip(rows[::2], rows[1::2])]
    return [[c.opened, c.entry, c.closed, c.exit, c.quantity] for c in finished.engine.book.closed]


def main(file: str, strategy: str) -> None:
    from ringfence.trade.arrow import read_bars

    given = Given(read_bars(Path(file)), STRATEGIES[strategy], Arrays(entries=(), exits=()))
    collect_rarely()
    gc.collect()
    start = time.process_time()
    finished = whole(given)
    seconds = time.process_time() - start
    sys.stdout.write(json.dumps({"cpu_seconds": seconds, "trades": trades(finished)}) + "\n")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
