"""For each rule of the lint a text with the fault, and one that is close to it and fine."""

from __future__ import annotations

from tests.evaluators.texts import library, native, signals

FORWARD = "def f(close):\n    out = close.copy()\n    for i in range(len(close)):\n        out[i] = {}\n    return out"
USE = "self.f = self.I(f, self.data.close)"


# code, a text with the fault, a text that is close to it and fine
CASES: list[tuple[str, str, str]] = [
    ("RF001", native(step="x = = 1"), native()),
    ("RF002", native() + "    def on_end(self):\n        self.report(", native()),
    ("RF003", "print(1)\n", native()),
    ("RF004", native() + "class Other(Strategy):\n    def next(self): pass\n", native() + "class Other(Dip): pass\n"),
    ("RF005", "from ringfence import Strategy\nclass A(Strategy):\n    def init(self): pass\n", native()),
    ("RF005", signals().replace("generate_signals", "signals"), signals()),
    (
        "RF005",
        "from backtesting import Strategy\nclass A(Strategy):\n    def init(self): pass\n",
        "from backtesting.lib import SignalStrategy\nclass A(SignalStrategy):\n    def init(self): pass\n",
    ),
    ("RF006", "from backtesting import Strategy\nclass A(Strategy):\n    def next(self): pass\n", library()),
    (
        "RF007",
        native(top="import yfinance"),
        native(top="import scipy.stats, talib, math, pandas_ta, sklearn.linear_model"),
    ),
    ("RF007", native(top="from .mine import x"), native(top="try:\n    import ta\nexcept ImportError:\n    ta = None")),
    ("RF008", native(top="import socket"), native(top="import os\nhere = os.path.join('a', 'b')")),
    ("RF008", native(init="import os; os.system('ls')"), native(top="from urllib.parse import quote")),
    ("RF101", native(attributes="period = 3"), native(attributes="period = 3", init="x = self.period")),
    (
        "RF102",
        native(attributes="seen = []", init="self.seen.append(1)"),
        native(attributes="seen = []", init="self.seen = []; self.seen.append(1)"),
    ),
    (
        "RF102",
        native(attributes="seen = {}", init="self.seen['a'] = 1"),
        native(attributes="w = [1, 2]", init="x = self.w[0]"),
    ),
    (
        "RF103",
        native(attributes="p = param(5, 10, 20)", init="self.p"),
        native(attributes="p = param(5, 1, 20)", init="self.p"),
    ),
    (
        "RF103",
        native(attributes="p = param(5, 20, 1)", init="self.p"),
        native(attributes="p = param(5)", init="self.p"),
    ),
    ("RF201", native(top="def f(c):\n    return c.shift(-1)"), native(top="def f(c):\n    return c.shift(1).diff()")),
    (
        "RF202",
        native(top="def f(c):\n    return np.roll(c, -1)"),
        native(top="def f(c):\n    return c.rolling(3).mean()"),
    ),
    (
        "RF203",
        native(top=FORWARD.format("close[i + 1]"), init=USE),
        native(top=FORWARD.format("close[i - 1]"), init=USE),
    ),
    ("RF203", native(top=FORWARD.format("close.iloc[i + 2]")), native(top=FORWARD.format("close[i - 3:i + 1].max()"))),
    (
        "RF203",
        native(top="def f(df, i):\n    return df['Close'][i + 1:]"),
        native(top="def f(x, i):\n    return x.steps[i + 1]"),
    ),
    (
        "RF204",
        native(top="def f(c):\n    return c.rolling(5, center=True)"),
        native(top="def f(c):\n    return c.rolling(5)"),
    ),
    ("RF205", native(top="def f(c):\n    return c.bfill()"), native(top="def f(c):\n    return c.ffill()")),
    (
        "RF205",
        native(top="def f(c):\n    return c.fillna(method='bfill')"),
        native(top="def f(c):\n    return c.fillna(0)"),
    ),
    (
        "RF206",
        native(top="def f(c):\n    return c.interpolate()"),
        native(top="def f(c):\n    return np.interp(1, [1], [2])"),
    ),
    (
        "RF207",
        native(top="def f(c):\n    return (c - c.mean()) / c.std()", init=USE),
        native(top="def f(c):\n    return (c - c.rolling(9).mean()) / c.rolling(9).std()", init=USE),
    ),
    ("RF207", library(init="top = np.max(self.data.High)"), library(step="top = np.max(self.data.High)")),
    (
        "RF207",
        library(init="c = pd.Series(self.data.Close); top = c.max()"),
        library(init="top = self.data.High[:20].max()"),
    ),
    ("RF207", library(init="top = max(self.data.High)"), library(init="n = max(self.n, 3)", attributes="n = 1")),
    (
        "RF207",
        native() + "    def arrays(self):\n        return self.data.close > np.mean(self.data.close)\n",
        native() + "    def arrays(self):\n        return self.data.close > self.average\n",
    ),
    ("RF208", library(init="model.fit(x, y)"), library(step="model.fit(x, y)")),
    ("RF208", library(top="model.fit(x, y)"), library(top="model.fit(x_train, y_train); model.fit(x[:90], y[:90])")),
    (
        "RF209",
        library(init="d = self.data.Close.s.resample('D').last().ffill()"),
        library(init="d = self.data.Close.s.resample('D').last().shift(1).ffill()"),
    ),
    (
        "RF209",
        library(init="d = pd.Series(x).resample('D').last()"),
        library(top="data = GOOG.resample('W').agg({'Close': 'last'})"),
    ),
    (
        "RF210",
        library(init="self.x = np.log(self.data.Close)", step="if self.x[-1] > 1: pass"),
        library(init="self.x = self.I(np.log, self.data.Close)", step="if self.x[-1] > 1: pass"),
    ),
    (
        "RF210",
        library(init="self.c = self.data.Close", step="if self.c[-1] > 1: pass"),
        native(init="self.c = self.data.close", step="if self.c[-1] > 1: pass"),
    ),
    (
        "RF210",
        native(init="import talib\nself.x, self.y = talib.AROON(self.data.high, self.data.low)", step="x = self.y[-1]"),
        native(init="self.n = len(self.data.close)", step="x = self.n"),
    ),
    (
        "RF211",
        native(
            top="from scipy.signal import savgol_filter", init="self.s = self.I(savgol_filter, self.data.close, 5, 2)"
        ),
        native(top="from scipy.signal import lfilter", init="self.s = self.I(lfilter, [1.0], [1.0], self.data.close)"),
    ),
    (
        "RF211",
        native(top="from scipy import signal\ndef f(c):\n    return signal.filtfilt(b, a, c)"),
        native(step="from scipy.signal import find_peaks\nx = find_peaks(self.data.close[-50:])"),
    ),
    ("RF212", library(init="self.last = self.data.Close[-1]"), library(init="self.first = self.data.Close[0]")),
    ("RF213", native(init="x = pd.read_csv('a.csv')"), library(top="data = pd.read_csv('a.csv')")),
    (
        "RF301",
        native(step="x = pd.Series(self.data.close[-20:]).mean()"),
        native(top="def f(c):\n    return pd.Series(c)"),
    ),
    ("RF301", library(step="x = self.data.df"), library(init="x = self.data.df")),
    ("RF301", library(step="x = self.data.Close.s.rolling(3)"), signals(step="return current_data.rolling(3)")),
    ("RF302", native(step="x = self.I(f, self.data.close)"), native(init="x = self.I(f, self.data.close)")),
    (
        "RF303",
        native(top="import talib", step="x = talib.SMA(self.data.close, 5)"),
        native(top="import talib", init="self.x = self.I(talib.SMA, self.data.close, 5)"),
    ),
    ("RF304", native(step="print(self.data.close[-1])"), native(step="if self.position: print('in')")),
    ("RF305", native(step="for i in range(len(self.data.close)): pass"), native(step="for i in range(10): pass")),
    (
        "RF305",
        native(step="x = sum(c for c in self.data.close)"),
        native(step="x = sum(c for c in self.data.close[-5:])"),
    ),
    ("RF306", library(end="bt.optimize(n=[1, 2])"), library()),
    ("RF401", native(step="self.buy()"), native(step="self.buy(sl=0.05, tp=0.1)")),
    ("RF401", library(step="self.buy()"), library(step="if x: self.buy()\nelse: self.sell()")),
    ("RF401", signals(step="return [Signal('A', 'buy')]"), signals()),
    ("RF402", native(step="self.buy()\nself.position.close()"), native()),
    (
        "RF402",
        library(step="self.buy()"),
        library(step="self.buy()").replace("(Strategy)", "(TrailingStrategy)").replace("Backtest, Strategy", "Backtest")
        + "from backtesting.lib import TrailingStrategy\n",
    ),
    ("RF403", native(step="if x: self.buy(sl=0.1)"), native()),
    (
        "RF403",
        library(step="self.buy()"),
        library(step="self.buy()").replace("(GOOG, Dip)", "(GOOG, Dip, exclusive_orders=True)"),
    ),
    ("RF404", native(step="self.buy(size=100)"), native(step="self.buy(size=0.5); self.buy(size=1)")),
    ("RF405", native(step="if x == np.nan: pass"), native(step="if np.isnan(x): pass")),
    ("RF405", native(step="if x is float('nan'): pass"), native(step="x = float('nan')")),
    (
        "RF406",
        native(step="if self.data.close[-1] == self.data.open[-1]: pass"),
        native(step="if self.signal[-1] == 1: pass"),
    ),
    (
        "RF407",
        native(step="try:\n    x()\nexcept Exception:\n    pass"),
        native(step="try:\n    x()\nexcept KeyError:\n    pass"),
    ),
    (
        "RF407",
        native(step="try:\n    x()\nexcept:\n    return None"),
        native(step="try:\n    x()\nexcept Exception as e:\n    raise"),
    ),
    ("RF408", library(step="self.buy(size=self.equity / 3)"), library(step="self.buy(size=int(self.equity / 3))")),
    ("RF408", library(step="self.buy(size=1.5)"), native(step="self.buy(size=1.5)")),
    ("RF409", library(step="x = self.position.entry_price"), library(step="x = self.position.pl_pct")),
    ("RF409", library(step="x = self.broker.cash"), native(step="x = self.position.average_price")),
    ("RF410", library(step="self.buy(sl=0.05)"), native(step="self.buy(sl=0.05)")),
    (
        "RF410",
        native(step="self.buy(sl=self.data.close[-1] * 0.95)"),
        library(step="self.buy(sl=self.data.Close[-1] * 0.95)"),
    ),
    (
        "RF501",
        native(top="from datetime import datetime", step="x = datetime.now()"),
        native(top="import time\nstart = time.time()"),
    ),
    ("RF501", native(step="x = pd.Timestamp.now()"), native(step="x = self.data.now")),
    ("RF502", native(step="x = np.random.rand()"), native(top="np.random.seed(1)", step="x = np.random.rand()")),
    ("RF502", native(init="self.r = np.random.default_rng()"), native(init="self.r = np.random.default_rng(7)")),
]
