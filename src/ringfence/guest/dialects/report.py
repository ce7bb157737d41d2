"""What the driver hands back, made to fit: a result that is too long loses its oldest details, and says so."""

from __future__ import annotations

import json
import platform
import sys
from collections.abc import Sequence
from typing import cast

from ringfence.guest.dialects.rows import Trades
from ringfence.trade.packed import pack_table

_LIBRARIES = ("backtesting", "numpy", "pandas", "talib", "pandas_ta_classic", "scipy", "numba")
_SHARE = 0.9  # of the room: the rest is for what is not measured here


def versions() -> dict[str, str]:
    """Of what the script had loaded: the same text gives other numbers under other versions."""
    found = {"python": platform.python_version()}
    for name in _LIBRARIES:
        if name in sys.modules:
            found[name] = str(getattr(sys.modules[name], "__version__", "unknown"))[:100]
    return found


def fit(runs: Sequence[dict[str, object]], result_mb: int) -> tuple[list[dict[str, object]], int, list[str]]:
    """The runs that fit, their trades packed, how many had to go, and notes on it. The last one, the headline, is the
    last to lose."""
    room = int((result_mb << 20) * _SHARE)
    kept, notes, gone = [_packed(run) for run in runs], [], 0
    sizes = [_size(run) for run in kept]
    bare = 0
    for i in range(len(kept) - 1):
        if sum(sizes) <= room:
            break
        kept[i] = _packed(runs[i], last=0) | {"equity": None}
        sizes[i] = _size(kept[i])
        bare += 1
    if bare:
        notes.append(f"the trades and equity of the oldest {bare} of {len(kept)} runs were dropped to fit the result")
    while len(kept) > 1 and sum(sizes) > room:
        del kept[0], sizes[0]
        gone += 1
    if kept and sum(sizes) > room:
        count, bare_size = _count(runs[-1]), _size(_packed(runs[-1], last=0))
        each = max(1, (sizes[-1] - bare_size) // max(1, count))
        most = min(count, max(0, (room - bare_size) // each - 1))
        last = kept[-1] = _packed(runs[-1], last=most)
        notes.append(f"only the last {most} of {count} trades fit the result")
        if _size(last) > room:
            last["equity"] = None
            notes.append("the equity curve was dropped to fit the result")
    return kept, gone, notes


def _columns(run: dict[str, object]) -> Trades:
    return cast(Trades, run["trades"])


def _count(run: dict[str, object]) -> int:
    return len(_columns(run)["id"][1])


def _packed(run: dict[str, object], last: int | None = None) -> dict[str, object]:
    """The run with its trades as a table, or the last so many of them."""
    count = _count(run)
    kept = count if last is None else last
    columns: Trades = {name: (kind, values[count - kept :]) for name, (kind, values) in _columns(run).items()}
    return run | {"trades": pack_table(kept, columns), "trades_dropped": count - kept}


def _size(run: dict[str, object]) -> int:
    return len(json.dumps(run, separators=(",", ":")))


def cleaned(whole: dict[str, object]) -> object:
    """Halves of characters, which a script may put into any text, would cost it the whole result."""
    text = json.dumps(whole, ensure_ascii=False)
    try:
        text.encode()
    except UnicodeEncodeError:
        return json.loads(text.encode("utf-8", "replace"))
    return whole
