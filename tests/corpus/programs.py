"""Whole programs around a strategy: how the data is loaded, what is printed, and the Markdown it comes in."""

from __future__ import annotations

from tests.corpus.strategies import Sketch

HEAD = (
    "import numpy as np\nimport pandas as pd\n"
    "from backtesting import Backtest, Strategy\nfrom backtesting.lib import crossover\n"
)
BTC = "/Users/me/data/BTC-USD-15m.csv"
AAPL = "/home/trader/Documents/aapl_daily.csv"

LOADERS = {
    "goog": "from backtesting.test import GOOG\n\ndata = GOOG.copy()\n",
    "cleaned": f"data = pd.read_csv('{BTC}')\n"
    "# Clean column names\n"
    "data.columns = data.columns.str.strip().str.lower()\n"
    "data = data.drop(columns=[col for col in data.columns if 'unnamed' in col.lower()])\n"
    "data.columns = ['datetime', 'Open', 'High', 'Low', 'Close', 'Volume']\n"
    "data['datetime'] = pd.to_datetime(data['datetime'])\n"
    "data = data.set_index('datetime')\n",
    "tidy": f"data = pd.read_csv('{AAPL}', index_col='Date', parse_dates=True)\n",
    "renamed": f"path = r'{BTC}'\n"
    "df = pd.read_csv(path, skipinitialspace=True)\n"
    "df = df.rename(columns={c: c.strip().title() for c in df.columns})\n"
    "df['Datetime'] = pd.to_datetime(df['Datetime'])\n"
    "df.set_index('Datetime', inplace=True)\n"
    "data = df[['Open', 'High', 'Low', 'Close', 'Volume']]\n",
}

SETTINGS = (
    "cash=10_000, commission=.002",
    "cash=1_000_000, commission=0.001, exclusive_orders=True",
    "cash=100000",
    "cash=1_000_000, commission=(5, 0.0005), finalize_trades=True",
    "cash=50_000, commission=.0015, trade_on_close=True",
    "cash=500_000, commission=.001, margin=0.5, spread=.0002",
)

RUNS = (
    "stats = bt.run()\nprint(stats)\nprint(stats._strategy)\n",
    "stats = bt.run()\nprint('🚀 Backtest complete!')\nprint(stats[['Return [%]', 'Sharpe Ratio', '# Trades']])\n",
    "if __name__ == '__main__':\n    results = bt.run()\n    print(results)\n",
    "stats = bt.run()\nprint(stats['_trades'].head())\nprint(f\"Final equity: {stats['Equity Final [$]']:.2f}\")\n",
)


def program(sketch: Sketch, loader: str = "goog", settings: int = 0, ending: int = 0, run: str | None = None) -> str:
    imports = HEAD + (sketch.imports + "\n" if sketch.imports else "")
    made = f"bt = Backtest(data, {sketch.name}, {SETTINGS[settings % len(SETTINGS)]})\n"
    run = RUNS[ending % len(RUNS)] if run is None else run
    return f"{imports}\n\n{sketch.body()}\n\n{LOADERS[loader]}\n{made}{run}"


def replaced(sketch: Sketch, old: str, new: str, **kwargs: int) -> str:
    """The program with one piece written otherwise; it must be there."""
    text = program(sketch, **kwargs)  # type: ignore[arg-type]  # only the numbers are passed on
    if old not in text:
        raise ValueError(f"{old!r} is not in the program of {sketch.name}")
    return text.replace(old, new)


def fenced(text: str, title: str) -> str:
    return (
        f"Here is the complete backtest for the {title} strategy:\n\n```python\n{text}```\n\n"
        "This strategy enters on the signal and leaves on its opposite. You may want to tune the parameters.\n"
    )


def unclosed(text: str, title: str) -> str:
    return f"I'll implement the {title} strategy.\n\n```python\n{text}"


def thinking(text: str, title: str) -> str:
    return (
        f"<think>\nThe user wants a {title}. I need init() and next().\n</think>\n\n"
        f"## Strategy code\n\n```python\n{text}```\n"
        "\n### Explanation\n\n1. Indicators are declared in `init`.\n2. Signals are taken in `next`.\n"
    )


def two_blocks(text: str, title: str) -> str:
    """The class in one block, the run in the next: readers are meant to join them."""
    above, below = text.split("\n\n\nfrom backtesting.test import GOOG\n", 1)
    below = "from backtesting.test import GOOG\n" + below
    return f"First the {title} itself:\n\n```python\n{above}\n```\n\nThen run it:\n\n```python\n{below}```\n"
