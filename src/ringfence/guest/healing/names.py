"""Names used without their import, where there is one thing that everybody means by them."""

from __future__ import annotations

import ast
import builtins
import importlib
import re
import types
from collections.abc import Mapping

from ringfence.guest.healing.ledger import Ledger

_OF_LIB = """
crossover crossunder cross barssince quantile resample_apply plot_heatmaps SignalStrategy TrailingStrategy
FractionalBacktest
"""
_KNOWN: Mapping[str, str] = {
    "np": "numpy",
    "numpy": "numpy",
    "pd": "pandas",
    "pandas": "pandas",
    "talib": "talib",
    "plt": "matplotlib.pyplot",
    **{name: name for name in ("math", "os", "sys", "time", "random", "warnings", "json", "re", "itertools")},
    **{name: f"backtesting:{name}" for name in ("Backtest", "Strategy")},
    **{name: f"backtesting.lib:{name}" for name in _OF_LIB.split()},
    **{name: f"backtesting.test:{name}" for name in ("GOOG", "EURUSD", "SMA")},
    "timedelta": "datetime:timedelta",
    "Path": "pathlib:Path",
    "partial": "functools:partial",
    "deque": "collections:deque",
    "defaultdict": "collections:defaultdict",
}


def install(ledger: Ledger, module: types.ModuleType, code: str) -> None:
    missing = unbound(code)
    if missing:
        # Where Python looks last for a global name; what the text binds itself it finds before.
        module.__dict__["__builtins__"] = _Names(ledger, missing)


def unbound(code: str) -> dict[str, str]:
    """What the text reads and never binds, with the place it is imported from."""
    try:
        tree = ast.parse(code)
    except (SyntaxError, ValueError):
        return {}
    read: set[str] = set()
    bound: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Name):
            (read if isinstance(node.ctx, ast.Load) else bound).add(node.id)
        elif isinstance(node, ast.alias):
            bound.add(node.asname or node.name.partition(".")[0])
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            bound.add(node.name)
        elif isinstance(node, ast.arg):
            bound.add(node.arg)
    known = dict(_KNOWN)
    known["ta"] = "talib" if re.search(r"\bta\.[A-Z]", code) else "pandas_ta"
    known["datetime"] = "datetime" if "datetime.datetime" in code else "datetime:datetime"
    return {name: known[name] for name in sorted(read - bound) if name in known}


class _Names(dict[str, object]):
    def __init__(self, ledger: Ledger, missing: Mapping[str, str]) -> None:
        super().__init__(vars(builtins))
        self._ledger, self._missing = ledger, missing

    def __missing__(self, name: str) -> object:
        if name not in self._missing:
            raise KeyError(name)
        place, _, member = self._missing[name].partition(":")
        value: object = importlib.import_module(place)
        if member:
            value = getattr(value, member)
        self._ledger.note("lossless", f"The name {name} was used without its import: it was taken from {place}.")
        self[name] = value
        return value
