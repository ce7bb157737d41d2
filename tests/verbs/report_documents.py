"""Runs as JSON for the tests of the tear sheet, and strings that would do harm if they were let."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from ringfence.trade.bars import Candles
from ringfence.trade.run import Curve, Json
from ringfence.trade.times import DAY, parse_moment

from tests.trade.run_builder import make_curve, make_run, make_trade

START = parse_moment("2020-01-01")
HOSTILE = (
    '</script><script>window.pwned=1</script><img src=x onerror="window.pwned=2;alert(1)">'
    "<!--<script>' onmouseover='alert(2) \x00\x1b[31m\u202e\u2028\ud800 {{ 7*7 }} {% raw %} ${alert(3)}"
)


def make_candles(rows: int, *, start: int = START, step: int = DAY, price: float = 100.0) -> Candles:
    """A slow wave, the same each time."""
    at = np.arange(rows, dtype=np.int64)
    close = price * (1 + 0.2 * np.sin(at / 25))
    before = np.roll(close, 1)
    before[0] = price
    high, low = np.maximum(before, close) * 1.01, np.minimum(before, close) * 0.99
    return Candles(start + at * step, before, high, low, close, (1000 + at % 7).astype(np.float64))


def document(**changes: object) -> Mapping[str, Json]:
    return make_run(**changes).to_json()


def many_trades(total: int, symbols: tuple[str, ...] = ("GOOG",)) -> tuple[object, ...]:
    """Each with a profit of its own, losing every third time."""
    return tuple(
        make_trade(
            id=at + 1,
            symbol=symbols[at % len(symbols)],
            entry_time=START + (at % 200) * DAY,
            exit_time=START + (at % 200 + 5) * DAY,
            entry_price=100.0,
            exit_price=101.0,
            pnl=(at * 37 % 101 + 1.0) * (-1 if at % 3 == 0 else 1),
            pnl_pct=(at * 37 % 101 + 1.0) / 1000 * (-1 if at % 3 == 0 else 1),
        )
        for at in range(total)
    )


def hostile_document() -> Mapping[str, Json]:
    """A run in which every word of the strategy's is an attack."""
    plain = dict(document(indicators={HOSTILE: make_curve(252, start=50.0, step=0.1)}))
    swapped = _swap(plain, {"rsi", "dip", "native", "sample:GOOG", "GOOG", "market", "target", "Dip", "splits"})
    assert isinstance(swapped, dict)
    return swapped | {
        "reason": HOSTILE,
        "warnings": [HOSTILE],
        "healed": [HOSTILE],
        "guidance": [HOSTILE],
        "statistics": {HOSTILE: HOSTILE},
        "orders": [
            {"id": 1, "time": "2020-01-02T00:00:00Z", "symbol": HOSTILE, "side": HOSTILE, "order_type": HOSTILE,
             "qty": 1.0, "limit_price": None, "stop_price": 3.0, "status": "rejected", "reason": HOSTILE}
        ],
        "lookahead": {
            "status": "suspect", "reason": HOSTILE, "cuts": 1,
            "evidence": [{"time": "2020-01-02T00:00:00Z", "test": HOSTILE, "cut": "2020-01-03T00:00:00Z",
                          "with_future": HOSTILE, "without_future": HOSTILE}],
        },
        "outcome": {
            "status": "error", "reason": HOSTILE, "stdout": HOSTILE, "stderr": HOSTILE, "backend": HOSTILE,
            "failing": {"type": HOSTILE, "message": HOSTILE, "line": 1, "bar": 3, "time": None, "traceback": HOSTILE},
        },
    }  # fmt: skip


def _swap(value: Json, words: set[str]) -> Json:
    if isinstance(value, str):
        return HOSTILE if value in words else value
    if isinstance(value, Mapping):
        return {key: _swap(held, words) for key, held in value.items()}
    if isinstance(value, (list, tuple)):
        return [_swap(held, words) for held in value]
    return value


def flat_curve(points: int, value: float = 100_000.0, *, step: int = DAY) -> Curve:
    return Curve(START + np.arange(points, dtype=np.int64) * step, np.full(points, value))
