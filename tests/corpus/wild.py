"""Programs that use up what they are given, and programs that do more than run one backtest."""

from __future__ import annotations

from collections.abc import Iterator

from tests.corpus.broken import Row
from tests.corpus.programs import HEAD, program, replaced
from tests.corpus.strategies import SKETCHES

SMA, EMA, RSI, MACD, BB, DONCHIAN, ATR, Z, STOCH, VOLUME, ADX, MULTI = SKETCHES


def greedy() -> Iterator[Row]:
    marker = "    def next(self):\n"
    yield "timeout", "loop-in-next", replaced(SMA, marker, marker + "        while True:\n            pass\n")
    yield "timeout", "loop-at-end", program(SMA, run="while True:\n    bt.run()\n")
    yield "timeout", "sleep", program(SMA, run="import time\ntime.sleep(100_000)\n")
    yield "memory_limit", "list", program(SMA, run="hog = []\nwhile True:\n    hog.append(bytearray(50_000_000))\n")
    yield "memory_limit", "array", program(EMA, run="hog = [np.ones(20_000_000) for _ in range(2_000)]\n")


def flooding() -> Iterator[Row]:
    lines = ("print(self.data.index[-1], 'x' * 900)", "print('🌙 checking ' * 100, self.data.Close[-1])")
    for number, line in enumerate(lines):
        marker = "    def next(self):\n"
        yield "good", f"flood-{number}", replaced((SMA, MACD)[number], marker, f"{marker}        {line}\n")
    many = "for i in range(60_000):\n    print('debug line', i, 'y' * 40)\nstats = bt.run()\nprint(stats)\n"
    yield "good", "flood-before", program(BB, run=many)


def quiet() -> Iterator[Row]:
    for number, (sketch, old, new) in enumerate(
        (
            (RSI, "lower = 35", "lower = -1"),
            (BB, "dev = 2.0", "dev = 40.0"),
            (Z, "entry_z = -1.5", "entry_z = -99"),
            (SMA, "cash=10_000", "cash=1"),
            (VOLUME, "multiple = 1.2", "multiple = 1e9"),
            (DONCHIAN, "self.buy()", "pass"),
        )
    ):
        yield "no_trades", f"{number}-{sketch.name}", replaced(sketch, old, new)


def several() -> Iterator[Row]:
    for number, sketch in enumerate((SMA, EMA, RSI)):
        two = f"for cash in (20_000, 40_000):\n    print(Backtest(data, {sketch.name}, cash=cash).run())\n"
        yield "good", f"several-{number}", program(sketch, run=two)
    yield "good", "several-many", program(SMA, run="for n in range(5, 8):\n    print(bt.run(n1=n)['Return [%]'])\n")
    fractional = program(EMA).replace("import crossover", "import FractionalBacktest, crossover")
    yield "good", "fractional", fractional.replace("bt = Backtest(", "bt = FractionalBacktest(")
    threads = "import threading\nt = threading.Thread(target=lambda: print(bt.run()))\nt.start()\nt.join()\n"
    yield "good", "threads", program(SMA, run=threads)
    late = "import threading\nthreading.Timer(0.2, lambda: bt.run()).start()\n"
    yield "good", "thread-outlives-main", program(SMA, run=late)
    yield "good", "exit-zero", program(SMA, run="print(bt.run())\nimport sys\nsys.exit(0)\n")
    yield "good", "exit-handler", program(SMA, run="import atexit\natexit.register(lambda: bt.run())\n")


def optimised() -> Iterator[Row]:
    for sketch in (SMA, EMA, RSI, BB):
        search = f"stats = bt.optimize({sketch.grid}, maximize='Return [%]')\nprint(stats)\n"
        yield "good", f"optimize-{sketch.name}", program(sketch, run="print(bt.run())\n" + search)
    rule = "constraint=lambda p: p.n1 < p.n2, return_heatmap=True"
    heat = f"stats, heatmap = bt.optimize({SMA.grid}, {rule})\nprint(heatmap)\n"
    yield "good", "optimize-heatmap", program(SMA, settings=2, run=heat)
    tries = f"if __name__ == '__main__':\n    print(bt.optimize({MACD.grid}, max_tries=3, random_state=1))\n"
    yield "good", "optimize-tries", program(MACD, run=tries)


def plotted() -> Iterator[Row]:
    for number, call in enumerate(
        ("bt.plot()", "bt.plot(filename='chart.html', open_browser=True)", "bt.plot(filename='/Users/me/chart.html')")
    ):
        yield "good", f"plot-{number}", program(SKETCHES[number], run=f"print(bt.run())\n{call}\n")
    browser = "import webbrowser\nprint(bt.run())\nwebbrowser.open('https://example.com')\n"
    yield "good", "plot-browser", program(SMA, run=browser)
    yield "good", "plot-before-run", program(SMA, run="bt.plot()\nprint(bt.run())\n")


def unrun() -> Iterator[Row]:
    for sketch in SKETCHES:
        imports = HEAD + (sketch.imports + "\n" if sketch.imports else "")
        yield "unrun", sketch.name, f"{imports}\n\n{sketch.body()}"
