"""What a program can import behind the fence: the one list of it."""

from __future__ import annotations

import sys

# Import names of the `guest` and `backtesting` extras, and of what they bring along.
LIBRARIES = frozenset(
    [
        "ringfence",
        "numpy",
        "pandas",
        "pandas_ta_classic",
        "scipy",
        "talib",
        "numba",
        "pyarrow",
        "matplotlib",
        "sklearn",
        "backtesting",
        "bokeh",
        "contourpy",
        "cycler",
        "dateutil",
        "fontTools",
        "joblib",
        "kiwisolver",
        "llvmlite",
        "mpl_toolkits",
        "packaging",
        "PIL",
        "pyparsing",
        "pytz",
        "six",
        "threadpoolctl",
        "tzdata",
    ]
)
ALIASED = frozenset({"pandas_ta"})  # not installed under this name; scripts that want it are given pandas_ta_classic

# There to be imported, and of no use: behind the fence there is no network and nothing to start or to load.
POINTLESS = frozenset(
    [
        "asyncore",
        "ctypes",
        "ftplib",
        "http",
        "imaplib",
        "nntplib",
        "poplib",
        "smtplib",
        "socket",
        "socketserver",
        "ssl",
        "subprocess",
        "telnetlib",
        "webbrowser",
        "xmlrpc",
        "urllib.request",
    ]
)

_PRICES = "prices are loaded outside of the fence: leave the download out and give --data, such as --data yahoo:AAPL"
_DOWNLOADS = frozenset(
    [
        "alpaca",
        "alpaca_trade_api",
        "alpha_vantage",
        "binance",
        "ccxt",
        "nasdaqdatalink",
        "pandas_datareader",
        "polygon",
        "quandl",
        "yfinance",
        "yahoofinancials",
    ]
)
_INSTEAD = {
    **dict.fromkeys(_DOWNLOADS, _PRICES),
    **dict.fromkeys(("requests", "httpx", "aiohttp", "websocket", "websockets"), "there is no network; leave it out"),
    "ta": "use talib or pandas_ta_classic",
    "tulipy": "use talib",
    "plotly": "use matplotlib",
    "seaborn": "use matplotlib",
}


def is_available(module: str) -> bool:
    first = module.partition(".")[0]
    return first in sys.stdlib_module_names or first in LIBRARIES or first in ALIASED


def is_pointless(module: str) -> bool:
    return module in POINTLESS or module.partition(".")[0] in POINTLESS


def instead_of(module: str) -> str:
    """What to use in place of a module that is not there."""
    first = module.partition(".")[0]
    return _INSTEAD.get(first, "use what docs/check.md lists, or write that part yourself")
