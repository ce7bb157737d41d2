"""Strategies as models write them: a class, its imports, and nothing that this library lacks."""

from __future__ import annotations

import textwrap
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Sketch:
    """The parts of one strategy; `defs` are indicator functions above the class."""

    name: str
    title: str
    parameters: str
    init: str
    next: str
    imports: str = ""
    defs: str = ""
    grid: str = ""  # keyword arguments for optimize()

    def body(self, base: str = "Strategy") -> str:
        parts = [
            f"class {self.name}({base}):",
            textwrap.indent(self.parameters, "    "),
            "",
            "    def init(self):",
            textwrap.indent(self.init, " " * 8),
            "",
            "    def next(self):",
            textwrap.indent(self.next, " " * 8),
        ]
        return (self.defs + "\n\n" if self.defs else "") + "\n".join(parts) + "\n"


_LONG_OR_OUT = "if {enter}:\n    if not self.position:\n        self.buy()\nelif {leave}:\n    self.position.close()"


def _both(enter: str, leave: str) -> str:
    turn = "    self.position.close()\n    self.{}()"
    return f"if {enter}:\n{turn.format('buy')}\nelif {leave}:\n{turn.format('sell')}"


def _long(enter: str, leave: str) -> str:
    return _LONG_OR_OUT.format(enter=enter, leave=leave)


SKETCHES = (
    Sketch(
        name="SmaCross",
        title="simple moving average crossover",
        imports="from backtesting.test import SMA",
        parameters="n1 = 10\nn2 = 30",
        init="close = self.data.Close\nself.sma1 = self.I(SMA, close, self.n1)\n"
        "self.sma2 = self.I(SMA, close, self.n2)",
        next=_both("crossover(self.sma1, self.sma2)", "crossover(self.sma2, self.sma1)"),
        grid="n1=range(5, 20, 5), n2=range(20, 50, 10)",
    ),
    Sketch(
        name="EmaTrend",
        title="exponential moving average trend follower",
        defs="def EMA(values, n):\n    return pd.Series(values).ewm(span=n, adjust=False).mean()",
        parameters="fast = 12\nslow = 26",
        init="self.fast_ema = self.I(EMA, self.data.Close, self.fast)\n"
        "self.slow_ema = self.I(EMA, self.data.Close, self.slow)",
        next=_long("crossover(self.fast_ema, self.slow_ema)", "crossover(self.slow_ema, self.fast_ema)"),
        grid="fast=[8, 12], slow=[26, 40]",
    ),
    Sketch(
        name="RsiReversal",
        title="RSI mean reversion",
        imports="import talib",
        parameters="period = 14\nlower = 35\nupper = 65",
        init="self.rsi = self.I(talib.RSI, self.data.Close, timeperiod=self.period)",
        next=_long("self.rsi[-1] < self.lower", "self.rsi[-1] > self.upper"),
        grid="period=[7, 14], lower=[30, 35]",
    ),
    Sketch(
        name="MacdMomentum",
        title="MACD momentum",
        imports="import talib",
        parameters="fast = 12\nslow = 26\nsignal = 9",
        init="self.macd, self.sig, self.hist = self.I(\n"
        "    talib.MACD, self.data.Close, self.fast, self.slow, self.signal, name='MACD')",
        next=_both("crossover(self.macd, self.sig)", "crossover(self.sig, self.macd)"),
        grid="fast=[8, 12], signal=[7, 9]",
    ),
    Sketch(
        name="BollingerBounce",
        title="Bollinger band bounce",
        imports="import talib",
        parameters="period = 20\ndev = 2.0",
        init="self.upper, self.middle, self.lower = self.I(\n"
        "    talib.BBANDS, self.data.Close, self.period, self.dev, self.dev, name='BB')",
        next=_long("self.data.Close[-1] < self.lower[-1]", "self.data.Close[-1] > self.middle[-1]"),
        grid="period=[15, 20], dev=[1.5, 2.0]",
    ),
    Sketch(
        name="DonchianBreakout",
        title="Donchian channel breakout",
        defs="def highest(values, n):\n    return pd.Series(values).rolling(n).max().shift(1)\n\n\n"
        "def lowest(values, n):\n    return pd.Series(values).rolling(n).min().shift(1)",
        parameters="entry = 20\nexit = 10",
        init="self.hh = self.I(highest, self.data.High, self.entry)\n"
        "self.ll = self.I(lowest, self.data.Low, self.exit)",
        next=_long("self.data.Close[-1] > self.hh[-1]", "self.data.Close[-1] < self.ll[-1]"),
        grid="entry=[20, 40], exit=[5, 10]",
    ),
    Sketch(
        name="AtrBracket",
        title="trend entry with ATR stop and target",
        imports="import talib",
        parameters="n = 20\natr_period = 14\nrisk = 2.0\nreward = 3.0",
        init="self.ma = self.I(talib.SMA, self.data.Close, self.n)\n"
        "self.atr = self.I(talib.ATR, self.data.High, self.data.Low, self.data.Close, self.atr_period)",
        next="price = self.data.Close[-1]\nif not self.position and crossover(self.data.Close, self.ma):\n"
        "    self.buy(size=0.5, sl=price - self.risk * self.atr[-1],\n"
        "             tp=price + self.reward * self.atr[-1], tag='cross')",
        grid="risk=[1.5, 2.0], reward=[2.0, 3.0]",
    ),
    Sketch(
        name="ZScoreReversion",
        title="z-score mean reversion",
        defs="def zscore(values, n):\n    s = pd.Series(values)\n"
        "    return ((s - s.rolling(n).mean()) / s.rolling(n).std()).values",
        parameters="window = 20\nentry_z = -1.5\nexit_z = 0.0",
        init="self.z = self.I(zscore, self.data.Close, self.window)",
        next=_long("self.z[-1] < self.entry_z", "self.z[-1] > self.exit_z"),
        grid="window=[10, 20], entry_z=[-2.0, -1.5]",
    ),
    Sketch(
        name="StochasticSwing",
        title="stochastic oscillator swing trader",
        imports="import talib",
        parameters="k = 14\nd = 3",
        init="self.slowk, self.slowd = self.I(\n    talib.STOCH, self.data.High, self.data.Low, self.data.Close,\n"
        "    fastk_period=self.k, slowk_period=self.d, slowd_period=self.d, name='STOCH')",
        next=_long("crossover(self.slowk, self.slowd) and self.slowk[-1] < 40", "crossover(self.slowd, self.slowk)"),
        grid="k=[9, 14], d=[3, 5]",
    ),
    Sketch(
        name="VolumeBreakout",
        title="volume-confirmed breakout",
        defs="def average(values, n):\n    return pd.Series(values).rolling(n).mean().values",
        parameters="lookback = 20\nmultiple = 1.2",
        init="self.avg_volume = self.I(average, self.data.Volume, self.lookback)\n"
        "self.avg_close = self.I(average, self.data.Close, self.lookback)",
        next=_long(
            "self.data.Volume[-1] > self.multiple * self.avg_volume[-1] and self.data.Close[-1] > self.avg_close[-1]",
            "self.data.Close[-1] < self.avg_close[-1]",
        ),
        grid="lookback=[10, 20], multiple=[1.1, 1.3]",
    ),
    Sketch(
        name="AdxTrend",
        title="ADX filtered trend",
        imports="import talib",
        parameters="period = 14\nthreshold = 20",
        init="hlc = (self.data.High, self.data.Low, self.data.Close)\n"
        "self.adx = self.I(talib.ADX, *hlc, timeperiod=self.period)\n"
        "self.plus = self.I(talib.PLUS_DI, *hlc, timeperiod=self.period)\n"
        "self.minus = self.I(talib.MINUS_DI, *hlc, timeperiod=self.period)",
        next=_long(
            "self.adx[-1] > self.threshold and crossover(self.plus, self.minus)", "crossover(self.minus, self.plus)"
        ),
        grid="period=[10, 14], threshold=[15, 20]",
    ),
    Sketch(
        name="ConfluenceVault",
        title="multi-indicator confluence",
        imports="import talib",
        parameters="fast = 20\nslow = 50\nrsi_period = 14",
        init="self.ema_fast = self.I(talib.EMA, self.data.Close, self.fast)\n"
        "self.ema_slow = self.I(talib.EMA, self.data.Close, self.slow)\n"
        "self.rsi = self.I(talib.RSI, self.data.Close, self.rsi_period)\nself.bars_in_trade = 0",
        next="if self.position:\n    self.bars_in_trade += 1\n"
        "    if self.bars_in_trade > 30 or self.rsi[-1] > 75:\n        self.position.close()\n"
        "elif self.ema_fast[-1] > self.ema_slow[-1] and self.rsi[-1] < 50:\n    self.bars_in_trade = 0\n"
        "    self.buy(size=0.95)",
        grid="fast=[10, 20], slow=[50, 80]",
    ),
)
