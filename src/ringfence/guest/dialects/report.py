"""What the driver hands back, made to fit: a result that is too long loses its oldest details, and says so."""

from __future__ import annotations

import json
import platform
import sys
from collections.abc import Sequence

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
    """The runs that fit, how many had to go, and notes on it. The last one, the headline, is the last to lose."""
    room = int((result_mb << 20) * _SHARE)
    kept, notes, gone = [dict(run) for run in runs], [], 0
    sizes = [_size(run) for run in kept]
    bare = 0
    for i in range(len(kept) - 1):
        if sum(sizes) <= room:
            break
        kept[i] |= {"trades": [], "trades_dropped": len(_trades(kept[i])), "equity": None}
        sizes[i] = _size(kept[i])
        bare += 1
    if bare:
        notes.append(f"the trades and equity of the oldest {bare} of {len(kept)} runs were dropped to fit the result")
    while len(kept) > 1 and sum(sizes) > room:
        del kept[0], sizes[0]
        gone += 1
    if kept and sum(sizes) > room:
        last, trades = kept[-1], _trades(kept[-1])
        each = max(1, (sizes[-1] - _size(last | {"trades": []})) // max(1, len(trades)))
        most = max(0, (room - _size(last | {"trades": []})) // each - 1)
        last |= {"trades": trades[len(trades) - most :], "trades_dropped": len(trades) - most}
        notes.append(f"only the last {most} of {len(trades)} trades fit the result")
        if _size(last) > room:
            last["equity"] = None
            notes.append("the equity curve was dropped to fit the result")
    return kept, gone, notes


def _trades(run: dict[str, object]) -> list[object]:
    trades = run["trades"]
    return trades if isinstance(trades, list) else []


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
