"""Yahoo Finance through yfinance. Prices come adjusted for splits and dividends."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import numpy as np
import pandas as pd

from ringfence.base.errors import DataError
from ringfence.markets import Request
from ringfence.markets.files import check_options
from ringfence.markets.repair import Place, Rows, check, mend
from ringfence.markets.shape import merge, to_dates, wall_clock, within
from ringfence.markets.stamps import nanoseconds
from ringfence.trade.bars import Bars
from ringfence.trade.times import DAY, SECOND, timeframe_ns

ENVIRONMENT = ("YAHOO_API_URL",)  # another place that speaks the same protocol, such as a proxy or a test

_TIMEOUT_SECONDS = 20
# Those that Yahoo has; another timeframe is made of the coarsest of these that it is a multiple of.
_INTERVALS = {
    "1mo": "1mo", "1w": "1wk", "1d": "1d", "1h": "1h", "30m": "30m", "15m": "15m", "5m": "5m", "2m": "2m", "1m": "1m",
}  # fmt: skip
_CALENDARS = {
    "America/New_York": "XNYS",
    "America/Toronto": "XTSE",
    "Europe/London": "XLON",
    "Europe/Berlin": "XETR",
    "Europe/Paris": "XPAR",
    "Europe/Zurich": "XSWX",
    "Asia/Tokyo": "XTKS",
    "Asia/Hong_Kong": "XHKG",
    "Australia/Sydney": "XASX",
    "Asia/Kolkata": "XBOM",
}


@dataclass(frozen=True, slots=True)
class Answer:
    frame: pd.DataFrame
    timezone: str
    kind: str  # EQUITY, ETF, INDEX, CRYPTOCURRENCY, CURRENCY, …


def create(options: Mapping[str, str]) -> YahooSource:
    check_options("yahoo", options, ENVIRONMENT)
    return YahooSource(options.get("YAHOO_API_URL"))


class YahooSource:
    def __init__(self, base_url: str | None = None) -> None:
        self._base_url = base_url

    def load(self, request: Request) -> Bars:
        parts = [self._load(symbol, request) for symbol in request.symbols]
        if not parts:
            raise DataError("yahoo needs a symbol: write for example yahoo:AAPL")
        return merge(parts)

    def symbols(self) -> Sequence[str]:
        return ()

    def _load(self, symbol: str, request: Request) -> Bars:
        timeframe = _served(request.timeframe or "1d")
        answer = _fetch(symbol, timeframe, request, self._base_url)
        time = nanoseconds(pd.DatetimeIndex(answer.frame.index).tz_convert("UTC").tz_localize(None))
        if timeframe_ns(timeframe) >= DAY:
            time = to_dates(wall_clock(time, answer.timezone))
        columns = [answer.frame[name].to_numpy(dtype=np.float64) for name in ("Open", "High", "Low", "Close", "Volume")]
        rows = Rows.of(time, columns, np.arange(len(time)))
        place = Place(f"yahoo:{symbol}", "row", lambda row: row + 1)
        candles, notes = mend(symbol, rows, place) if request.repair else (check(symbol, rows, place), [])
        kept = within(candles, request.start, request.end)
        if not len(kept):
            raise DataError(_missing(symbol, "it sent no prices between those dates"))
        return Bars(
            candles={symbol: kept},
            timeframe=timeframe,
            source=f"yahoo:{symbol}",
            calendar=_calendar(answer),
            timezone="UTC" if answer.kind == "CRYPTOCURRENCY" else answer.timezone,
            adjusted="splits and dividends",
            notes=tuple(notes),
        )


def _served(timeframe: str) -> str:
    want = timeframe_ns(timeframe)
    if timeframe in _INTERVALS:
        return timeframe
    fits = [have for have in _INTERVALS if not have.endswith("mo") and want % timeframe_ns(have) == 0]
    if timeframe.endswith("mo"):
        fits = ["1d"]
    if not fits:
        raise DataError(f"yahoo has no bars of {timeframe}: ask for 1m, 5m, 15m, 1h, 1d, 1w or a multiple")
    return fits[0]


def _calendar(answer: Answer) -> str:
    if answer.kind == "CRYPTOCURRENCY":
        return "24/7"
    return "24/5" if answer.kind == "CURRENCY" else _CALENDARS.get(answer.timezone, "24/5")


def _missing(symbol: str, why: str) -> str:
    return (
        f"yahoo has no prices of {symbol} for us ({why.strip().rstrip('.')}): "
        "check the symbol and the network, or use --source sample (or --data sample:GOOG)"
    )


def _fetch(symbol: str, timeframe: str, request: Request, base_url: str | None) -> Answer:
    try:
        import yfinance
        from yfinance.data import YfData
        from yfinance.exceptions import YFException
    except ImportError as e:
        raise DataError("yahoo needs yfinance: pip install 'ringfence[yahoo]', or use --source sample") from e
    when = _when(timeframe, request)
    # It keeps answers for the life of the process, also those that say that the server is ill.
    YfData.cache_get.cache_clear()
    try:
        with _told(yfinance):
            ticker = yfinance.Ticker(symbol, session=_session(base_url))
            frame = ticker.history(
                interval=_INTERVALS[timeframe], auto_adjust=True, actions=False, timeout=_TIMEOUT_SECONDS, **when
            )
            about = ticker.get_history_metadata()
    except YFException as e:
        raise DataError(_missing(symbol, str(e).removeprefix(f"${symbol}: "))) from e
    except (OSError, ValueError, KeyError, TypeError, IndexError, AttributeError) as e:
        # Connections fail as OSError; the others are how yfinance meets an answer that is not what Yahoo sends.
        raise DataError(_missing(symbol, f"{type(e).__name__}: {str(e).partition('. See http')[0]}")) from e
    if frame.empty:
        raise DataError(_missing(symbol, "it sent none"))
    return Answer(frame, str(about["exchangeTimezoneName"]), str(about["instrumentType"]))


def _when(timeframe: str, request: Request) -> dict[str, str | datetime]:
    """Days are asked for by their names, and moments as such; Yahoo's end is the first that is left out."""
    given: dict[str, str | datetime] = {}
    for name, moment in (("start", request.start), ("end", request.end)):
        if moment is None:
            continue
        at = datetime.fromtimestamp(moment // SECOND, UTC) + timedelta(seconds=name == "end")
        if timeframe_ns(timeframe) >= DAY:
            at = datetime.fromtimestamp(moment // SECOND, UTC) + timedelta(days=name == "end")
        given[name] = at.date().isoformat() if timeframe_ns(timeframe) >= DAY else at
    return given if "start" in given else {"period": "max", **given}


@contextmanager
def _told(yfinance: Any) -> Iterator[None]:
    """Let yfinance raise what it would print, and print nothing."""
    debug, hidden = yfinance.config.debug, yfinance.config.debug.hide_exceptions
    # bs4 is what it reads Yahoo's consent pages with.
    levels = {logger: logger.level for logger in map(logging.getLogger, ("yfinance", "bs4.dammit"))}
    debug.hide_exceptions = False
    for logger in levels:
        logger.setLevel(logging.CRITICAL + 1)
    try:
        yield
    finally:
        debug.hide_exceptions = hidden
        for logger, level in levels.items():
            logger.setLevel(level)


def _session(base_url: str | None) -> Any:
    """A session of the kind yfinance uses; with `base_url`, whatever it asks any host is asked there."""
    from curl_cffi import requests

    if base_url is None:
        return requests.Session(impersonate="chrome")
    place = urlsplit(base_url)

    class Elsewhere(requests.Session[requests.Response]):
        def request(self, method: Any, url: str, *args: Any, **kwargs: Any) -> Any:
            moved = urlunsplit(urlsplit(url)._replace(scheme=place.scheme, netloc=place.netloc))
            return super().request(method, moved, *args, **kwargs)

    return Elsewhere(impersonate="chrome")
