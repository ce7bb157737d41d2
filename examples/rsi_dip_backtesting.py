"""The strategy of rsi_dip.py as a script for backtesting.py, which runs it as it is.

ringfence backtest examples/rsi_dip_backtesting.py
"""

import talib
from backtesting import Backtest, Strategy
from backtesting.test import GOOG


class RsiDip(Strategy):
    period = 14
    low = 35
    high = 65
    stop = 0.05
    target = 0.10

    def init(self):
        self.rsi = self.I(talib.RSI, self.data.Close, self.period)

    def next(self):
        if not self.position and self.rsi[-1] < self.low:
            # A stop and a target are prices here, and measured from the close: what it will pay is not known yet.
            close = self.data.Close[-1]
            self.buy(sl=close * (1 - self.stop), tp=close * (1 + self.target))
        elif self.position and self.rsi[-1] > self.high:
            self.position.close()


bt = Backtest(GOOG, RsiDip, cash=100_000, commission=0)
stats = bt.run()
print(stats)
