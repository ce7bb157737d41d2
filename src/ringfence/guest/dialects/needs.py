"""Which data a script would have needed: a file, a column or a download. It is never made up."""

from __future__ import annotations

import functools
import re
import sys
from collections.abc import Callable, Iterator
from typing import Any

import pandas as pd

READERS = ("read_csv", "read_parquet", "read_excel", "read_feather", "read_json", "read_pickle", "read_hdf")
PRICES = ("Open", "High", "Low", "Close")
_DOWNLOADERS = ("yfinance", "ccxt", "requests", "pandas_datareader", "alpaca", "binance", "alpha_vantage", "urllib3")
_MOST, _LONGEST = 50, 300

# What no arithmetic makes out of open, high, low, close and volume. A column of any other name is more likely one
# that the script forgot to compute, which is its own mistake.
_UNDERIVABLE = re.compile(
    r"funding|open_?interest|\boi\b|liquidation|sentiment|fear_?(and_?)?greed|long_?short_?ratio|basis_?rate"
    r"|order_?book|order_?flow|\bbids?\b|\basks?\b|bid_|ask_|imbalance|\bcvd\b|delta_?volume|buy_?vol|sell_?vol"
    r"|dividend|earnings|market_?cap|on_?chain|hash_?rate|active_?address|exchange_?flow|inflow|outflow|whale"
    r"|implied_?vol|\biv\b|\bvix\b|put_?call|greeks|\bdxy\b|interest_?rate|social|news|tweet|google_?trend|dominance"
    r"|premium|spot_?price|perp|mark_?price|index_?price|\bbtc\b|\beth\b|\bspy\b",
    re.IGNORECASE,
)


class Needs:
    """What is missing, without repetition, in the order in which it was missed."""

    def __init__(self) -> None:
        self._found: dict[tuple[str, str], None] = {}

    def add(self, kind: str, name: str) -> None:
        if len(self._found) < _MOST:
            self._found[kind, name[:_LONGEST]] = None

    def rows(self) -> list[dict[str, str]]:
        return [{"kind": kind, "name": name} for kind, name in self._found]

    def hook(self) -> None:
        """Many scripts catch the error of a missing file, say so, and end well: hear of it where it happens."""
        for name in READERS:
            setattr(pd, name, self._hearing(getattr(pd, name)))

    def _hearing(self, original: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(original)
        def read(*args: Any, **kwargs: Any) -> Any:
            try:
                return original(*args, **kwargs)
            except FileNotFoundError as e:
                self.add("file", str(e.filename or (args[0] if args else e)))
                raise

        return read

    def read(self, error: BaseException) -> None:
        """What of an exception that ended the text is about data."""
        for e in _chain(error):
            if isinstance(e, FileNotFoundError) and e.filename is not None:
                self.add("file", str(e.filename))
            for column in _columns(e):
                self.add("column", column)
        used = [name for name in _DOWNLOADERS if name in sys.modules]
        if used and _is_about_network(error):
            self.add("download", used[0])


def missing_prices(columns: list[object]) -> list[str]:
    """The price columns for which there is none of that name, however it is spelled."""
    there = {str(name).strip().lower() for name in columns}
    return [name for name in PRICES if name.lower() not in there]


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        yield error
        error = error.__cause__ or error.__context__


def _columns(e: BaseException) -> list[str]:
    names: list[str] = []
    if isinstance(e, KeyError) and e.args:
        names = re.findall(r"'([^']+)'", str(e.args[0])) if " in " in str(e.args[0]) else [str(e.args[0])]
    elif isinstance(e, AttributeError):
        names = re.findall(r"^Column '([^']+)' not in data$", str(e)) or re.findall(
            r"'(?:DataFrame|Series)' object has no attribute '(\w+)'$", str(e)
        )
    elif isinstance(e, ValueError):
        names = re.findall(r"'([^']+)'", str(e)) if "Missing column" in str(e) or "Usecols" in str(e) else []
    return [name for name in names if _UNDERIVABLE.search(name)]


def _is_about_network(error: BaseException) -> bool:
    """A download that failed is an exception of a connection, or an empty table."""
    words = (
        "`data` is empty",
        "resolve",
        "onnection",
        "urlopen",
        "Max retries",
        "No data",
        "must be a pandas.DataFrame",
    )
    return isinstance(error, OSError) or any(word in str(e) for e in _chain(error) for word in words)
