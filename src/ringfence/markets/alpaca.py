"""Alpaca through alpaca-py: stocks adjusted for splits and dividends, and crypto pairs such as BTC/USD."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import numpy as np
import pandas as pd

from ringfence.base.errors import DataError
from ringfence.markets import Request
from ringfence.markets.files import check_options
from ringfence.markets.repair import Place, Rows, check, mend
from ringfence.markets.shape import merge, to_dates, wall_clock, within
from ringfence.markets.stamps import nanoseconds
from ringfence.trade.bars import Bars, Candles
from ringfence.trade.times import DAY, SECOND, timeframe_ns

ENVIRONMENT = ("APCA_API_KEY_ID", "APCA_API_SECRET_KEY", "APCA_API_DATA_URL")

_TIMEOUT_SECONDS = 30
_FIRST = datetime(2015, 1, 1, tzinfo=UTC)  # before its history begins; without a start it would send today alone
_MOST = {"Min": 59, "Hour": 23, "Day": 1, "Week": 1}
_MONTHS = (1, 2, 3, 6, 12)
_UNITS = {"m": "Min", "h": "Hour", "d": "Day", "w": "Week", "mo": "Month"}


def create(options: Mapping[str, str]) -> AlpacaSource:
    check_options("alpaca", options, ("feed", *ENVIRONMENT))
    return AlpacaSource(options)


class AlpacaSource:
    def __init__(self, options: Mapping[str, str]) -> None:
        self._options = options

    def load(self, request: Request) -> Bars:
        if not request.symbols:
            raise DataError("alpaca needs a symbol: write for example alpaca:AAPL")
        pairs = tuple(symbol for symbol in request.symbols if "/" in symbol)
        stocks = tuple(symbol for symbol in request.symbols if "/" not in symbol)
        parts = [self._load(group, crypto, request) for group, crypto in ((stocks, False), (pairs, True)) if group]
        return merge(parts)

    def symbols(self) -> Sequence[str]:
        return ()

    def _load(self, symbols: tuple[str, ...], crypto: bool, request: Request) -> Bars:
        timeframe = request.timeframe or "1d"
        raw = _fetch(symbols, crypto, timeframe, request, self._options)
        zone = "UTC" if crypto else "America/New_York"
        candles: dict[str, Candles] = {}
        notes: list[str] = []
        for symbol in symbols:
            rows = raw.get(symbol) or []
            if not rows:
                raise DataError(_missing(symbol, "it sent none between those dates"))
            read = _rows(symbol, rows, zone if timeframe_ns(timeframe) >= DAY else None)
            place = Place(f"alpaca:{symbol}", "row", lambda row: row + 1)
            made, mended = mend(symbol, read, place) if request.repair else (check(symbol, read, place), [])
            notes += mended
            candles[symbol] = within(made, request.start, request.end)
        return Bars(
            candles=candles,
            timeframe=timeframe,
            source=f"alpaca:{','.join(symbols)}",
            calendar="24/7" if crypto else "XNYS",
            timezone=zone,
            adjusted="none" if crypto else "splits and dividends",
            notes=tuple(notes),
        )


def _rows(symbol: str, rows: Sequence[Mapping[str, str | float]], days_of: str | None) -> Rows:
    """Raw bars have t, o, h, l, c, v; with `days_of` a bar is stamped with its date in that time zone."""
    try:
        stamps = pd.to_datetime([str(row["t"]) for row in rows], utc=True, format="ISO8601")
        columns = [np.array([float(row[name]) for row in rows]) for name in "ohlcv"]
    except (KeyError, TypeError, ValueError) as e:
        raise DataError(_missing(symbol, f"an answer that cannot be read, {type(e).__name__}: {e}")) from e
    time = nanoseconds(stamps.tz_localize(None))
    if days_of is not None:
        time = to_dates(wall_clock(time, days_of))
    return Rows.of(time, columns, np.arange(len(rows)))


def _missing(symbols: str, why: str) -> str:
    return (
        f"alpaca has no prices of {symbols} for us ({why.strip().rstrip('.')}): "
        "check the symbol, the keys and the network, or use --source sample (or --data sample:GOOG)"
    )


def _fetch(
    symbols: tuple[str, ...], crypto: bool, timeframe: str, request: Request, options: Mapping[str, str]
) -> Mapping[str, Sequence[Mapping[str, str | float]]]:
    try:
        from alpaca.common.exceptions import APIError
        from alpaca.data.enums import Adjustment, DataFeed
        from alpaca.data.historical import CryptoHistoricalDataClient, StockHistoricalDataClient
        from alpaca.data.requests import CryptoBarsRequest, StockBarsRequest
        from alpaca.data.timeframe import TimeFrame, TimeFrameUnit
    except ImportError as e:
        raise DataError("alpaca needs alpaca-py: pip install 'ringfence[alpaca]', or use --source sample") from e
    amount, unit = _length(timeframe)
    feed = options.get("feed")
    if feed is not None and feed not in [f.value for f in DataFeed]:
        raise DataError(f"feed={feed} is unknown: use one of {', '.join(f.value for f in DataFeed)}")
    named = ", ".join(symbols)
    asked: dict[str, Any] = {
        "symbol_or_symbols": list(symbols),
        "timeframe": TimeFrame(amount, TimeFrameUnit(unit)),
        "start": _FIRST if request.start is None else _moment(request.start),
        # A day is stamped 00:00 UTC here and at its beginning in New York there, which is later.
        "end": None if request.end is None else _moment(request.end + (DAY if timeframe_ns(timeframe) >= DAY else 0)),
    }
    key, secret = options.get("APCA_API_KEY_ID"), options.get("APCA_API_SECRET_KEY")
    if not crypto and not (key and secret):
        raise DataError(
            f"alpaca wants keys for {named}: set APCA_API_KEY_ID and APCA_API_SECRET_KEY, or use --source sample"
        )
    login: dict[str, Any] = {"raw_data": True, "url_override": options.get("APCA_API_DATA_URL")}
    login |= {"api_key": key, "secret_key": secret} if key and secret else {}
    try:
        if crypto:
            pairs = CryptoHistoricalDataClient(**login)
            _give_up_in_time(pairs)
            return _plain(pairs.get_crypto_bars(CryptoBarsRequest(**asked)))
        client = StockHistoricalDataClient(**login)
        _give_up_in_time(client)
        wanted = StockBarsRequest(**asked, adjustment=Adjustment.ALL, feed=DataFeed(feed) if feed else None)
        return _plain(client.get_stock_bars(wanted))
    except APIError as e:
        raise DataError(_missing(named, f"HTTP {e.status_code}: {e}")) from e
    except (OSError, ValueError, AttributeError, TypeError) as e:
        # requests fails as OSError; the others are how alpaca-py meets an answer that is not what Alpaca sends.
        raise DataError(_missing(named, f"{type(e).__name__}: {e}")) from e


def _plain(answer: Any) -> Mapping[str, Sequence[Mapping[str, str | float]]]:
    return dict(answer)


def _give_up_in_time(client: Any) -> None:
    """The library waits for ever for a server that has stopped talking; this is the one place to say how long."""
    client._session.request = functools.partial(client._session.request, timeout=_TIMEOUT_SECONDS)


def _length(timeframe: str) -> tuple[int, str]:
    timeframe_ns(timeframe)
    letter = timeframe.lstrip("0123456789")
    amount, unit = int(timeframe.removesuffix(letter)), _UNITS.get(letter)
    if unit is None or (amount not in _MONTHS if unit == "Month" else amount > _MOST[unit]):
        raise DataError(f"alpaca has no bars of {timeframe}: ask for 1m to 59m, 1h to 23h, 1d, 1w or 1mo")
    return amount, unit


def _moment(nanoseconds: int) -> datetime:
    return datetime.fromtimestamp(nanoseconds // SECOND, UTC)
