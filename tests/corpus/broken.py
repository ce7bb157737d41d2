"""Programs with the mistakes that models make. Each names what is wrong, and which verdicts it may end in."""

from __future__ import annotations

from collections.abc import Iterator

from tests.corpus.programs import BTC, HEAD, program, replaced
from tests.corpus.strategies import SKETCHES

Row = tuple[str, str, str]  # group, name, text
SMA, EMA, RSI, MACD, BB, DONCHIAN, ATR, Z, STOCH, VOLUME, ADX, MULTI = SKETCHES

_OUT, _BACK = "\n            self.position.close()", "\n            return"
_INVENTED = {
    "entry_price": "if self.position and self.data.Close[-1] < self.position.entry_price * 0.97:" + _OUT,
    "avg_price": "if self.position and self.data.Close[-1] > self.position.avg_price * 1.05:" + _OUT,
    "position_sl": "if self.position and self.position.sl is not None:" + _OUT,
    "position_tp": "if self.position and self.position.tp is None and len(self.data) % 50 == 0:" + _OUT,
    "entry_bar": "if self.position and len(self.data) - self.position.entry_bar > 15:" + _OUT,
    "pnl": "if self.position and self.position.pnl < -500:" + _OUT,
    "broker_cash": "if self.broker.cash < 100:" + _BACK,
    "get_cash": "if self.broker.get_cash() < 100:" + _BACK,
    "underscore_cash": "if self._broker.cash < 100:" + _BACK,
    "broker_value": "if self.broker.getvalue() < 100:" + _BACK,
    "bar_number": "if self.i < 5:" + _BACK,
    "iloc": "if self.data.Close.iloc[-1] <= 0:" + _BACK,
    "values": "if self.data.Close.values[-1] <= 0:" + _BACK,
    "shift": "if self.data.Close.shift(1).iloc[-1] <= 0:" + _BACK,
    "rolling": "if self.data.Close.rolling(5).mean().iloc[-1] <= 0:" + _BACK,
    "ewm": "if self.data.Close.ewm(span=5).mean().iloc[-1] <= 0:" + _BACK,
    "lower_close": "if self.data.close[-1] <= 0:" + _BACK,
    "lower_item": "if self.data['close'][-1] <= 0:" + _BACK,
    "data_iloc": "if self.data.iloc[-1]['Close'] <= 0:" + _BACK,
    "current_price": "if self.current_price <= 0:" + _BACK,
}


def invented() -> Iterator[Row]:
    for number, (name, lines) in enumerate(_INVENTED.items()):
        sketch = (SMA, EMA, DONCHIAN, BB)[number % 4]
        marker = "    def next(self):\n"
        yield "healable", f"invented-{name}", replaced(sketch, marker, f"{marker}        {lines}\n", settings=number)


def orders() -> Iterator[Row]:
    sizes = (
        "self.equity * 0.3 / self.data.Close[-1]",
        "12.7",
        "1.5",
        "max(1, self.equity * 0.02) / 3",
        "int(3.9) + 0.25",
    )
    for number, size in enumerate(sizes):
        text = replaced(EMA, "self.buy()", f"self.buy(size={size})", settings=2)
        yield "healable", f"size-{number}", text
    stops = (
        "sl=self.data.Close[-1] * 1.02",
        "sl=self.data.Close[-1] * 0.95, tp=self.data.Close[-1] * (0.9 if len(self.data) % 2 else 1.1)",
        "tp=self.data.Close[-1] * 0.99",
        "sl=float('nan')",
    )
    for number, stop in enumerate(stops):
        yield "healable", f"stop-{number}", replaced(EMA, "self.buy()", f"self.buy({stop})", settings=2)
    for name, call in {
        "keyword": "self.buy(stop_loss=self.data.Close[-1] * 0.9)",
        "positional": "self.buy(0.5)",
        "quantity": "self.buy(quantity=10)",
    }.items():
        yield "healable", f"order-{name}", replaced(DONCHIAN, "self.buy()", call, settings=2)


def libraries() -> Iterator[Row]:
    for sketch, old, new in (
        (RSI, "talib.RSI, self.data.Close, timeperiod=self.period", "ta.rsi, self.data.Close, self.period"),
        (ADX, "talib.ADX, *hlc, timeperiod=self.period", "lambda h, l, c: ta.adx(h, l, c).iloc[:, 0], *hlc"),
        (ATR, "talib.SMA, self.data.Close, self.n", "ta.sma, self.data.Close, self.n"),
        (MULTI, "talib.EMA, self.data.Close, self.fast", "ta.ema, self.data.Close, self.fast"),
    ):
        text = replaced(sketch, old, new).replace("import talib\n", "import talib\nimport pandas_ta as ta\n")
        yield "healable", f"pandas-ta-{sketch.name}", text
    yield (
        "healable",
        "crossunder",
        replaced(SMA, "crossover(self.sma2, self.sma1)", "crossunder(self.sma1, self.sma2)").replace(
            "import crossover", "import crossover, crossunder"
        ),
    )
    yield (
        "healable",
        "crossover-from-root",
        replaced(
            SMA,
            "from backtesting import Backtest, Strategy\nfrom backtesting.lib import crossover",
            "from backtesting import Backtest, Strategy, crossover",
        ),
    )
    yield (
        "healable",
        "talib-volume",
        replaced(
            VOLUME,
            "self.I(average, self.data.Volume, self.lookback)",
            "self.I(talib.SMA, self.data.Volume, self.lookback)",
        ).replace("import pandas as pd\n", "import pandas as pd\nimport talib\n"),
    )
    yield "healable", "talib-list", replaced(RSI, "self.data.Close, timeperiod", "list(self.data.Close), timeperiod")
    for name in ("NaN", "float", "Inf"):
        use = {"NaN": "x = np.NaN", "float": "x = np.float(1.5)", "Inf": "x = -np.Inf"}[name]
        yield "healable", f"numpy-{name}", replaced(EMA, "    fast = 12\n", f"    fast = 12\n    {use}\n")
    for name, lines in {
        "append": "log = pd.DataFrame(columns=['a'])\nlog = log.append({'a': 1}, ignore_index=True)\n",
        "iteritems": "for name, column in data.iteritems():\n    column.mean()\n",
        "ix": "first = data.ix[0]\n",
    }.items():
        yield "healable", f"pandas-{name}", replaced(SMA, "bt = Backtest", f"{lines}bt = Backtest")
    for name, line in {
        "np": "import numpy as np\n",
        "pd": "import pandas as pd\n",
        "crossover": "from backtesting.lib import crossover\n",
    }.items():
        text = replaced(EMA, line, "").replace("    fast = 12\n", "    fast = int(np.floor(12.5))\n")
        yield "healable", f"unimported-{name}", text
    yield "healable", "unimported-talib", replaced(RSI, "import talib\n", "")


def columns() -> Iterator[Row]:
    raw = f"data = pd.read_csv('{BTC}')\n"
    for name, lines in {
        "untouched": raw + "data.index = pd.to_datetime(data['datetime'])\n",
        "parse-dates": f"data = pd.read_csv('{BTC}', parse_dates=['datetime'], index_col='datetime')\n",
        "titled": raw + "data = data.set_index(pd.to_datetime(data['Datetime']))\ndata['Close'].mean()\n",
        "renamed": raw + "data = data.rename(columns={'open': 'Open', 'close': 'Close'})\n"
        "data = data.set_index('datetime')\ndata.index = pd.to_datetime(data.index)\n",
        "six-names": raw + "data.columns = ['datetime', 'Open', 'High', 'Low', 'Close', 'Volume']\n"
        "data = data.set_index('datetime')\ndata.index = pd.to_datetime(data.index)\n",
    }.items():
        start = "from backtesting.test import GOOG\n\ndata = GOOG.copy()\n"
        yield "healable", f"columns-{name}", replaced(EMA, start, lines, settings=2)
    start = "data = GOOG.copy()\n"
    yield "healable", "path-elsewhere", replaced(SMA, start, "data = pd.read_csv('BTC-USD-15m.csv')\n", settings=2)
    yield (
        "healable",
        "path-windows",
        replaced(SMA, start, r"data = pd.read_csv('C:\\Users\\me\\BTC-USD-15m.csv')" + "\n", settings=2),
    )


def missing_data() -> Iterator[Row]:
    for column in ("funding_rate", "open_interest", "sentiment", "liquidations", "bid_volume"):
        marker = "    def next(self):\n"
        lines = f"        if self.data.{column}[-1] > 0:\n            return\n"
        yield "needs_data", f"column-{column}", replaced(SMA, marker, marker + lines)
        use = f"data['signal'] = data['{column}'].rolling(5).mean()\nbt = Backtest"
        yield "needs_data", f"frame-{column}", replaced(EMA, "bt = Backtest", use)
    start = "data = GOOG.copy()\n"
    for number, path in enumerate(
        ("/Users/me/data/ETH-USD-1h.csv", "data/eth.csv", "/content/drive/MyDrive/ohlcv.csv")
    ):
        yield "needs_data", f"file-{number}", replaced(RSI, start, f"data = pd.read_csv('{path}')\n")
    caught = (
        "try:\n    data = pd.read_csv('prices/spx.csv')\nexcept FileNotFoundError:\n"
        "    print('❌ data file not found')\n    raise SystemExit(0)\n"
    )
    yield "needs_data", "file-caught", replaced(RSI, start, caught)


def mistakes() -> Iterator[Row]:
    yield "failed", "unknown-indicator", replaced(RSI, "talib.RSI", "talib.SUPERTREND")
    yield "failed", "wrong-length", replaced(EMA, ".mean()\n", ".mean().dropna().iloc[5:]\n")
    yield "failed", "zero-division", replaced(SMA, "    def next(self):\n", "    def next(self):\n        1 / 0\n")
    yield "failed", "no-super", replaced(SMA, "SmaCross(Strategy)", "SmaCross(BaseStrategy)")
    yield "failed", "unknown-module", replaced(SMA, "import numpy as np\n", "import numpy as np\nimport quantlibx\n")
    yield "failed", "unknown-parameter", program(SMA, run="stats = bt.run(n3=5)\nprint(stats)\n")
    yield "failed", "unknown-keyword", replaced(SMA, "commission=.002", "commision=.002")
    yield "failed", "raises", program(SMA, run="raise ValueError('not today')\n")
    yield "failed", "exit-code", program(SMA, run="import sys\nsys.exit(3)\n")
    yield "failed", "input", program(SMA, run="n = int(input('period? '))\nprint(bt.run(n1=n))\n")
    yield "failed", "recursion", replaced(SMA, "    def next(self):\n", "    def next(self):\n        self.next()\n")
    for number, (old, new) in enumerate(
        (
            ("def next(self):", "def next(self)"),
            ("        self.sma1 =", "         self.sma1 ="),
            ("import pandas as pd", "import pandas as"),
            ("print(stats)", "print stats"),
            ("data = GOOG.copy()", "data = GOOG.copy("),
            ("class SmaCross(Strategy):", "class SmaCross Strategy:"),
        )
    ):
        yield "failed", f"syntax-{number}", replaced(SMA, old, new)


def plain() -> Iterator[Row]:
    texts = {
        "prose": "The strategy buys when the market is calm and sells when it is not. I would test it first.\n",
        "apology": "I'm sorry, but I can't produce trading code for that request without more information.\n",
        "hello": "print('hello, world')\n",
        "numbers": "import numpy as np\nprint(np.arange(10).mean())\n",
        "frame": "import pandas as pd\nfrom backtesting.test import GOOG\nprint(GOOG.describe())\n",
        "functions": "def sma(x, n):\n    return sum(x[-n:]) / n\n\n\nprint(sma([1, 2, 3], 2))\n",
        "empty-class": "class Portfolio:\n    def __init__(self):\n        self.cash = 0\n",
        "imports-only": HEAD,
        "json": '{"strategy": "sma", "fast": 10, "slow": 30}\n',
        "comment": "# TODO: write the strategy\n",
    }
    for name, text in texts.items():
        yield "not_a_strategy", name, text
