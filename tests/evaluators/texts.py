"""Small strategies in each dialect, whole but for what a test puts into them."""

from __future__ import annotations

from textwrap import dedent, indent

BUY = "if not self.position: self.buy(sl=0.05)\nelse: self.position.close()"
LIBRARY_BUY = "if not self.position: self.buy(sl=self.data.Close[-1] * 0.95)\nelse: self.position.close()"


def native(*, top: str = "", attributes: str = "", init: str = "pass", step: str = BUY) -> str:
    return _strategy("from ringfence import Strategy, param", top, attributes, init, step)


def library(*, top: str = "", attributes: str = "", init: str = "pass", step: str = LIBRARY_BUY, end: str = "") -> str:
    head = "from backtesting import Backtest, Strategy\nfrom backtesting.test import GOOG"
    run = "bt = Backtest(GOOG, Dip)\nprint(bt.run())\n"
    return _strategy(head, top, attributes, init, step) + "\n\n" + run + dedent(end)


def signals(
    *, top: str = "", attributes: str = "", step: str = "return [Signal('A', 'buy'), Signal('A', 'sell')]"
) -> str:
    body = indent(dedent(attributes).strip(), "    ") + "\n" if attributes else ""
    return (
        f"from ringfence import BaseStrategy, Signal\n{dedent(top)}\n\nclass Dip(BaseStrategy):\n{body}"
        f"    def generate_signals(self, current_data):\n{indent(dedent(step).strip(), ' ' * 8)}\n"
    )


def _strategy(head: str, top: str, attributes: str, init: str, step: str) -> str:
    lines = [head, "import numpy as np", "import pandas as pd", dedent(top), "", "class Dip(Strategy):"]
    if attributes:
        lines.append(indent(dedent(attributes).strip(), "    "))
    lines += ["    def init(self):", indent(dedent(init).strip(), " " * 8)]
    lines += ["    def next(self):", indent(dedent(step).strip(), " " * 8)]
    return "\n".join(lines) + "\n"
