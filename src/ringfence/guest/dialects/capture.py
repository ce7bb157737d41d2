"""Hooks in the library: whatever a script makes of a result, the result itself is kept as the library returned it."""

from __future__ import annotations

import functools
import threading
import weakref
from collections import deque
from collections.abc import Callable
from typing import Any

import pandas as pd

from ringfence.guest.dialects import rows
from ringfence.guest.dialects.warned import Listening, Log

MOST_RUNS = 50


class Recorder:
    """Every result of the script's own runs, in order; a run inside an optimize() is a part of it and no result."""

    def __init__(self, symbol: str) -> None:
        self.runs: deque[dict[str, object]] = deque(maxlen=MOST_RUNS)
        self.kept = 0  # in all; `runs` has the newest of them
        self.warned = Log()
        self.backtests = 0
        self._symbol = symbol
        self._made: weakref.WeakKeyDictionary[object, Log] = weakref.WeakKeyDictionary()
        self._here = threading.local()  # a script may run backtests in threads

    @property
    def dropped(self) -> int:
        return self.kept - len(self.runs)

    def hook(self, library: Any) -> None:
        engine, lib = library.backtesting, library.lib
        for module in (engine, lib):
            module.warnings = Listening(self._hear)
        engine.Backtest.__init__ = self._making(engine.Backtest.__init__)
        engine.Backtest.run = self._keeping("run", engine.Backtest.run)
        engine.Backtest.optimize = self._keeping("optimize", engine.Backtest.optimize)
        lib.FractionalBacktest.run = self._keeping("run", lib.FractionalBacktest.run)  # it mends what run() returned

    def _logs(self) -> list[Log]:
        if not hasattr(self._here, "logs"):
            self._here.logs = []
        logs: list[Log] = self._here.logs
        return logs

    def _hear(self, text: str) -> None:
        logs = self._logs()
        (logs[-1] if logs else self.warned).add(text)

    def _making(self, original: Callable[..., None]) -> Callable[..., None]:
        @functools.wraps(original)
        def make(backtest: object, *args: object, **kwargs: object) -> None:
            self.backtests += 1
            logs = self._logs()
            logs.append(Log())
            try:
                original(backtest, *args, **kwargs)
            finally:
                log = logs.pop()
                self.warned.merge(log)
            self._made[backtest] = log

        return make

    def _keeping(self, kind: str, original: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(original)
        def run(backtest: Any, *args: object, **kwargs: object) -> Any:
            logs = self._logs()
            if not logs:
                self._here.inner = None
            logs.append(Log())
            try:
                result = original(backtest, *args, **kwargs)
            finally:
                log = logs.pop()
                if logs:
                    self._here.inner = log
                else:
                    if self._here.inner is not None:  # the last inner run is the one whose statistics are returned
                        log.merge(self._here.inner)
                    self.warned.merge(log)
            if not logs:
                self._keep(kind, backtest, result[0] if isinstance(result, tuple) else result, log)
            return result

        return run

    def _keep(self, kind: str, backtest: Any, stats: pd.Series[Any], log: Log) -> None:
        made = self._made.get(backtest)
        if made is not None:
            log.merge(made)
        strategy = stats["_strategy"]
        self.kept += 1
        self.runs.append(
            {
                "kind": kind,
                "class_name": type(strategy).__name__,
                "parameters": rows.parameters(strategy),
                "settings": rows.settings(backtest),
                "bars": rows.bars(backtest._data),
                "statistics": rows.statistics(stats),
                "trades": rows.trades(stats["_trades"], backtest._data.index, self._symbol),
                "open_trades": len(strategy._broker.trades),
                "equity": rows.equity(stats["_equity_curve"]),
                "cancelled_orders": log.cancelled_orders,
                "warnings": log.rows(),
            }
        )
