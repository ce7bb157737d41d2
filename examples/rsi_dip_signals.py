"""The strategy of rsi_dip.py in the signals dialect: it says what it wants, and its base class orders it.

ringfence backtest examples/rsi_dip_signals.py --data sample:GOOG
"""

from ringfence import BaseStrategy, Signal, param, rsi


class RsiDip(BaseStrategy):
    period = param(14, 5, 30)
    low = param(35, 10, 45)
    high = param(65, 55, 90)
    stop = param(0.05, 0.01, 0.15)
    target = param(0.10, 0.02, 0.30)

    def initialize(self):
        self.symbol = self.data.symbol
        self.rsi = self.I(rsi, self.data.close, self.period)

    def generate_signals(self, current_data):
        if not self.position and self.rsi[-1] < self.low:
            # A buy without a quantity spends what calculate_position_size says: all there is, unless it is overridden.
            close = current_data[self.symbol].close
            stop, target = close * (1 - self.stop), close * (1 + self.target)
            return [Signal(self.symbol, "buy", reason="dip", sl_price=stop, tp_price=target)]
        if self.position and self.rsi[-1] > self.high:
            return [Signal(self.symbol, "sell", reason="recovered")]
        return []
