"""Buy what has fallen far, and sell it when it has risen, lost 5 % or gained 10 %.

    ringfence backtest examples/rsi_dip.py --data sample:GOOG

The same strategy is in rsi_dip_signals.py and rsi_dip_backtesting.py, in the other two dialects: where nothing is
charged for trading, all three make the same trades.
"""

from ringfence import Strategy, param, rsi


class RsiDip(Strategy):
    # Parameters, with the range in which a search may look for better ones.
    period = param(14, 5, 30)
    low = param(35, 10, 45)
    high = param(65, 55, 90)
    stop = param(0.05, 0.01, 0.15)
    target = param(0.10, 0.02, 0.30)

    def init(self):
        self.rsi = self.I(rsi, self.data.close, self.period)

    def next(self):
        if not self.position and self.rsi[-1] < self.low:
            # Measured from the close on which it decides. `sl=self.stop` would measure from the price that it pays.
            close = self.data.close[-1]
            self.buy(sl_price=close * (1 - self.stop), tp_price=close * (1 + self.target), reason="dip")
        elif self.position and self.rsi[-1] > self.high:
            self.position.close(reason="recovered")
