"""nautilus_trader, as backtest_worker.py runs it, with its own indicators and bracket of orders.

An order that is given on a bar is filled at that bar's close, where the other engines wait for the next open. So what
can be held against ours is on which bars a trade was decided; a fill's bar is reported as the one after its decision.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib.metadata import version as version_of

import numpy as np
from nautilus_trader.backtest.engine import BacktestEngine, BacktestEngineConfig  # type: ignore[import-not-found]
from nautilus_trader.config import LoggingConfig  # type: ignore[import-not-found]
from nautilus_trader.indicators import (  # type: ignore[import-not-found]
    MovingAverageType,
    RelativeStrengthIndex,
    SimpleMovingAverage,
)
from nautilus_trader.model import BarType, Money, Venue  # type: ignore[import-not-found]
from nautilus_trader.model.currencies import USD  # type: ignore[import-not-found]
from nautilus_trader.model.data import Bar  # type: ignore[import-not-found]
from nautilus_trader.model.enums import (  # type: ignore[import-not-found]
    AccountType,
    OmsType,
    OrderSide,
)
from nautilus_trader.model.identifiers import InstrumentId, Symbol  # type: ignore[import-not-found]
from nautilus_trader.model.instruments import Equity  # type: ignore[import-not-found]
from nautilus_trader.model.objects import Price, Quantity  # type: ignore[import-not-found]
from nautilus_trader.trading.strategy import Strategy  # type: ignore[import-not-found]

_DECIMALS = 5
_STEP_NS = 15 * 60 * 10**9
_VENUE = Venue("SIM")
_ID = InstrumentId(Symbol("MADE"), _VENUE)
_BARS = BarType.from_str("MADE.SIM-15-MINUTE-LAST-EXTERNAL")
_SIZE = Quantity.from_int(100)


def _instrument() -> object:
    return Equity(
        instrument_id=_ID, raw_symbol=Symbol("MADE"), currency=USD, price_precision=_DECIMALS,
        price_increment=Price(10**-_DECIMALS, _DECIMALS), lot_size=Quantity.from_int(1), ts_event=0, ts_init=0,
    )  # fmt: skip


class S1(Strategy):  # type: ignore[misc]
    def on_start(self) -> None:
        self.fast, self.slow = SimpleMovingAverage(10), SimpleMovingAverage(30)
        self.register_indicator_for_bars(_BARS, self.fast)
        self.register_indicator_for_bars(_BARS, self.slow)
        self.before: tuple[float, float] | None = None
        self.subscribe_bars(_BARS)

    def on_bar(self, bar: object) -> None:
        if not self.indicators_initialized():
            return
        fast, slow = self.fast.value, self.slow.value
        before, self.before = self.before, (fast, slow)
        if before is None:
            return
        if before[0] < before[1] and fast > slow:
            if self.portfolio.is_flat(_ID):
                self.submit_order(self.order_factory.market(_ID, OrderSide.BUY, _SIZE))
        elif before[0] > before[1] and fast < slow and self.portfolio.is_net_long(_ID):
            self.close_all_positions(_ID)


class S2(Strategy):  # type: ignore[misc]
    def on_start(self) -> None:
        self.rsi = RelativeStrengthIndex(14, MovingAverageType.WILDER)
        self.register_indicator_for_bars(_BARS, self.rsi)
        self.subscribe_bars(_BARS)

    def on_bar(self, bar: Bar) -> None:
        if not self.indicators_initialized():
            return
        if self.portfolio.is_flat(_ID):
            if self.rsi.value < 0.35:  # it counts to 1
                price = float(bar.close)
                self.submit_order_list(
                    self.order_factory.bracket(
                        _ID, OrderSide.BUY, _SIZE, sl_trigger_price=Price(price * 0.95, _DECIMALS),
                        tp_price=Price(price * 1.1, _DECIMALS),
                    )
                )  # fmt: skip
        elif self.rsi.value > 0.65 and self.portfolio.is_net_long(_ID):
            self.cancel_all_orders(_ID)
            self.close_all_positions(_ID)


STRATEGIES = {"s1": S1, "s2": S2}


@dataclass(frozen=True, slots=True)
class Given:
    bars: list[Bar]
    strategy: type


def version() -> str:
    return version_of("nautilus_trader")


def prepare(table: dict[str, np.ndarray], strategy: str) -> Given:
    columns = (table[name].tolist() for name in ("time", "open", "high", "low", "close"))
    volume = Quantity.from_int(1_000_000)
    bars = [
        # It stamps a bar with its end.
        Bar(_BARS, *(Price(price, _DECIMALS) for price in prices), volume, time + _STEP_NS, time + _STEP_NS)
        for time, *prices in zip(*columns)
    ]
    return Given(bars, STRATEGIES[strategy])


def set_up(given: Given) -> BacktestEngine:
    """A new engine for each run, with the data in it: only its run is timed."""
    engine = BacktestEngine(BacktestEngineConfig(logging=LoggingConfig(bypass_logging=True)))
    engine.add_venue(_VENUE, OmsType.NETTING, AccountType.CASH, [Money(1_000_000, USD)], base_currency=USD)
    engine.add_instrument(_instrument())
    engine.add_data(given.bars)
    engine.add_strategy(given.strategy())
    return engine


def whole(engine: BacktestEngine) -> BacktestEngine:
    engine.run()
    return engine


def trades(finished: BacktestEngine) -> list[list[float]]:
    filled = sorted((o for o in finished.cache.orders() if o.filled_qty > 0), key=lambda o: o.ts_last)
    begin = finished.backtest_start.value
    rows = [((o.ts_last - begin) // _STEP_NS + 1, o.avg_px) for o in filled]
    finished.dispose()
    return [[a, bought, b, sold, 100.0] for (a, bought), (b, sold) in zip(rows[::2], rows[1::2])]
