"""What `self.I` hands out bar by bar is what its function computed."""

from __future__ import annotations

import numpy as np
import pytest

from ringfence.testing.broker_desk import FREE, QUIET
from ringfence.trade.engine import Engine
from ringfence.trade.strategy import Strategy

from tests.trade.test_backtest_broker import make_bars


class Reuser(Strategy):
    """Its indicator function keeps the array it returns, and writes into it later on."""

    def init(self) -> None:
        self.kept = np.arange(8.0)
        self.line = self.I(lambda: self.kept)
        self.saw: list[float] = []

    def next(self) -> None:
        self.kept[:] = -1.0
        self.saw.append(self.line[-1])


@pytest.mark.parametrize("symbols", ["X", "XY"])
def test_an_indicator_is_what_its_function_returned_whatever_becomes_of_the_array(symbols: str) -> None:
    strategy = Reuser()
    Engine(make_bars({s: [QUIET] * 8 for s in symbols}), strategy, {}, FREE).play()
    assert strategy.saw == [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0]
