"""Servers on this machine that speak the JSON of Alpaca and of Yahoo, with the prices of the samples."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit
from zoneinfo import ZoneInfo

from ringfence.markets import load_bars
from ringfence.markets.shape import fit_timeframe
from ringfence.trade.bars import Bars, Candles
from ringfence.trade.times import SECOND, iso, parse_moment

NEW_YORK = ZoneInfo("America/New_York")
KEY, SECRET = "a-key", "a-secret"
_TIMEFRAMES = {"1Day": "1d", "1Week": "1w", "1Month": "1mo", "1d": "1d", "1wk": "1w", "1mo": "1mo"}
PAGE = 100  # bars: far below what Alpaca sends, so that every answer has several pages


@dataclass
class Venue:
    """What it has, what it was asked, and what goes wrong with it."""

    bars: Bars
    failing: dict[str, tuple[int, str]] = field(default_factory=dict)  # symbol: status and body
    asked: list[str] = field(default_factory=list)
    url: str = ""


def sample() -> Bars:
    """Of years that Alpaca has, too."""
    return load_bars(["sample:SP500,NASDAQ"], start="2016-01-04", warmup_bars=0)


def midnight(day: int) -> int:
    """The nanosecond at which that date, stamped 00:00 UTC, began in New York."""
    date = datetime.fromtimestamp(day // SECOND, UTC)
    return int(date.replace(tzinfo=NEW_YORK).timestamp()) * SECOND


@contextmanager
def serve(venue: Venue) -> Iterator[Venue]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            venue.asked.append(self.path)
            at = urlsplit(self.path)
            status, body = answer(venue, at.path, {k: v[0] for k, v in parse_qs(at.query).items()}, dict(self.headers))
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    venue.url = f"http://127.0.0.1:{server.server_address[1]}"
    try:
        yield venue
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def answer(venue: Venue, path: str, query: Mapping[str, str], headers: Mapping[str, str]) -> tuple[int, bytes]:
    names = [*query.get("symbols", "").split(","), path.rpartition("/")[2]]
    for symbol, (status, body) in venue.failing.items():
        if symbol in names:
            return status, body.encode()
    if path.startswith("/v8/finance/chart/"):
        status, document = chart(venue, names[-1], query)
    elif path == "/v2/stocks/bars":
        if (headers.get("APCA-API-KEY-ID"), headers.get("APCA-API-SECRET-KEY")) != (KEY, SECRET):
            return 403, b'{"message": "forbidden."}'
        status, document = alpaca_page(venue, names[:-1], query)
    elif path == "/v1beta3/crypto/us/bars":
        status, document = alpaca_page(venue, names[:-1], query, crypto=True)
    elif path == "/v1/test/getcrumb":
        return 200, b"crumb"
    else:
        return 404, b""
    return status, json.dumps(document).encode()


def alpaca_page(
    venue: Venue, symbols: list[str], query: Mapping[str, str], crypto: bool = False
) -> tuple[int, dict[str, object]]:
    bars = fit_timeframe(venue.bars, _TIMEFRAMES[query["timeframe"]])
    first, last = parse_moment(query["start"]), parse_moment(query.get("end", "2100-01-01"))
    rows = []
    for symbol in sorted(symbols):
        candles = bars.candles.get("SP500" if crypto else symbol) if symbol != "NO/SUCH" else None
        for i in range(len(candles) if candles else 0):
            assert candles is not None
            time = int(candles.time[i]) if crypto else midnight(int(candles.time[i]))
            if first <= time <= last:
                rows.append((symbol, alpaca_bar(candles, i, time)))
    at = int(query.get("page_token") or 0)
    page: dict[str, list[object]] = {}
    for symbol, bar in rows[at : at + PAGE]:
        page.setdefault(symbol, []).append(bar)
    return 200, {"bars": page, "next_page_token": str(at + PAGE) if at + PAGE < len(rows) else None}


def alpaca_bar(candles: Candles, i: int, time: int) -> dict[str, object]:
    return {
        "t": iso(time),
        "o": float(candles.open[i]),
        "h": float(candles.high[i]),
        "l": float(candles.low[i]),
        "c": float(candles.close[i]),
        "v": int(candles.volume[i]),
        "n": 10,
        "vw": float(candles.close[i]),
    }


def chart(venue: Venue, symbol: str, query: Mapping[str, str]) -> tuple[int, dict[str, object]]:
    candles = fit_timeframe(venue.bars, _TIMEFRAMES[query["interval"]]).candles.get(symbol)
    if candles is None:
        error = {"code": "Not Found", "description": "No data found, symbol may be delisted"}
        return 404, {"chart": {"result": None, "error": error}}
    opens = [midnight(int(day)) // SECOND + 9 * 3600 + 1800 for day in candles.time.tolist()]
    first, last = int(query.get("period1", 0)), int(query.get("period2", 2**40))
    kept = [i for i, moment in enumerate(opens) if first <= moment < last]
    quote = {name: [float(getattr(candles, name)[i]) for i in kept] for name in ("open", "high", "low", "close")}
    result = {
        "meta": meta(symbol, query["interval"]),
        "timestamp": [opens[i] for i in kept],
        "indicators": {
            "quote": [{**quote, "volume": [int(candles.volume[i]) for i in kept]}],
            # Half of the close: what comes out must be half of all prices.
            "adjclose": [{"adjclose": [close / 2 for close in quote["close"]]}],
        },
    }
    return 200, {"chart": {"result": [result], "error": None}}


def meta(symbol: str, interval: str) -> dict[str, object]:
    period = {"timezone": "EST", "start": 1362148200, "end": 1362171600, "gmtoffset": -18000}
    return {
        "currency": "USD",
        "symbol": symbol,
        "exchangeName": "NMS",
        "instrumentType": "EQUITY",
        "firstTradeDate": 345479400,
        "regularMarketTime": 1362171601,
        "gmtoffset": -18000,
        "timezone": "EST",
        "exchangeTimezoneName": "America/New_York",
        "regularMarketPrice": 430.47,
        "chartPreviousClose": 441.4,
        "priceHint": 2,
        "currentTradingPeriod": {"pre": period, "regular": period, "post": period},
        "dataGranularity": interval,
        "range": "",
        "validRanges": ["1d", "5d", "1mo", "1y", "max"],
    }
