"""What a script for another library says it did, read from untrusted JSON into values.

The report was made in the process of the script itself, so it proves nothing: its numbers are claimed. This reader only
promises that what it returns has the right shape, is finite and of bounded size; anything odd is a ValueError.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal, TypeVar, cast, get_args

import numpy as np

from ringfence.trade.orders import Trade
from ringfence.trade.run import Curve, Json

RunKind = Literal["run", "optimize"]
HealKind = Literal["lossless", "alias", "semantic"]
NeedKind = Literal["file", "column", "download"]
Plain = None | bool | int | float | str

_MOST_RUNS, _MOST_TRADES, _MOST_POINTS, _MOST_ROWS, _LONGEST = 50, 1_000_000, 5_001, 500, 2_000
_LARGEST = 1 << 63

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class ScriptWarning:
    text: str
    count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Healed:
    """One shim that was used; see docs/dialects.md for the three kinds."""

    kind: HealKind
    what: str
    count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Need:
    """Data that the script asked for and that was not there."""

    kind: NeedKind
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ScriptBars:
    """The prices as the script had them; `dated` is false where it had no stamps, and times are numbers of bars."""

    rows: int
    first: Plain
    last: Plain
    columns: tuple[str, ...]
    dated: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ScriptRun:
    """One Backtest.run() or optimize(). `statistics` has the library's own names and precision."""

    kind: RunKind
    class_name: str
    parameters: Mapping[str, Json]
    settings: Mapping[str, Json]
    bars: ScriptBars
    statistics: Mapping[str, Plain]
    trades: tuple[Trade, ...]
    trades_dropped: int  # that did not fit the result
    open_trades: int  # at the end, and in no statistic
    equity: Curve | None  # thinned to 5,000 points; None where it did not fit
    cancelled_orders: int  # for want of margin, which the library only warns of
    warnings: tuple[ScriptWarning, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ScriptReport:
    """All that a script did; the last of `runs` is its headline."""

    runs: tuple[ScriptRun, ...]
    dropped: int  # older runs that are not in `runs`
    backtests: int  # how many Backtest objects were made
    classes: tuple[str, ...]  # strategies that the text defines
    warnings: tuple[ScriptWarning, ...]
    plots: tuple[str, ...]
    healed: tuple[Healed, ...]
    needs: tuple[Need, ...]
    notes: tuple[str, ...]
    libraries: Mapping[str, str]

    @property
    def headline(self) -> ScriptRun | None:
        return self.runs[-1] if self.runs else None


def read_script_report(result: Json) -> ScriptReport:
    top = _object(result, "the report")
    return ScriptReport(
        runs=_list(top, "runs", _run, _MOST_RUNS),
        dropped=_count(top, "dropped"),
        backtests=_count(top, "backtests"),
        classes=_list(top, "classes", _words, _MOST_ROWS),
        warnings=_list(top, "warnings", _warning, _MOST_ROWS),
        plots=_list(top, "plots", _words, _MOST_ROWS),
        healed=_list(top, "healed", _healed, _MOST_ROWS),
        needs=_list(top, "needs", _need, _MOST_ROWS),
        notes=_list(top, "notes", _words, _MOST_ROWS),
        libraries=_mapping(top, "libraries", lambda value: _words(value, "libraries")),
    )


def _run(value: Json, where: str) -> ScriptRun:
    run = _object(value, where)
    return ScriptRun(
        kind=cast(RunKind, _choice(run, "kind", get_args(RunKind))),
        class_name=_text(run, "class_name"),
        parameters=_mapping(run, "parameters", lambda value: _plain_or_list(value, "parameters")),
        settings=_mapping(run, "settings", lambda value: _plain_or_list(value, "settings")),
        bars=_bars(_field(run, "bars")),
        statistics=_mapping(run, "statistics", lambda value: _plain(value, "statistics")),
        trades=_list(run, "trades", _trade, _MOST_TRADES),
        trades_dropped=_count(run, "trades_dropped") if "trades_dropped" in run else 0,
        open_trades=_count(run, "open_trades"),
        equity=_curve(_field(run, "equity")),
        cancelled_orders=_count(run, "cancelled_orders"),
        warnings=_list(run, "warnings", _warning, _MOST_ROWS),
    )


def _bars(value: Json) -> ScriptBars:
    bars = _object(value, "bars")
    return ScriptBars(
        rows=_count(bars, "rows"),
        first=_plain(_field(bars, "first"), "first"),
        last=_plain(_field(bars, "last"), "last"),
        columns=_list(bars, "columns", _words, _MOST_ROWS),
        dated=_flag(bars, "dated"),
    )


def _trade(value: Json, where: str) -> Trade:
    trade = _object(value, where)
    return Trade(
        id=_count(trade, "id"),
        symbol=_text(trade, "symbol"),
        side="long" if _choice(trade, "side", ("long", "short")) == "long" else "short",
        qty=_number(trade, "qty"),
        entry_time=_whole(trade, "entry_time"),
        entry_price=_number_or_nan(trade, "entry_price"),
        exit_time=_whole(trade, "exit_time"),
        exit_price=_number_or_nan(trade, "exit_price"),
        fees=_number_or_nan(trade, "fees"),
        pnl=_number_or_nan(trade, "pnl"),
        pnl_pct=_number_or_nan(trade, "pnl_pct"),
        bars_held=_whole(trade, "bars_held"),
        entry_reason=_text(trade, "entry_reason"),
        exit_reason=_text(trade, "exit_reason"),
        is_partial=_flag(trade, "is_partial"),
    )


def _curve(value: Json) -> Curve | None:
    if value is None:
        return None
    curve = _object(value, "equity")
    times, values = curve.get("time"), curve.get("value")
    if not isinstance(times, list) or not isinstance(values, list) or len(times) != len(values):
        raise ValueError("equity has not as many times as values")
    if len(times) > _MOST_POINTS:
        raise ValueError(f"equity has {len(times):,} points, more than {_MOST_POINTS:,}")
    # Thousands of points for every script: their types are looked at all at once.
    if not set(map(type, times)) <= {int} or not all(-_LARGEST <= t < _LARGEST for t in times):
        raise ValueError("equity has a time that is no whole number")
    if not set(map(type, values)) <= {int, float, type(None)} or not all(v is None or abs(v) < 1e300 for v in values):
        raise ValueError("equity has a value that is no number")
    moments = np.array(times, dtype=np.int64)
    if (np.diff(moments) < 0).any():
        raise ValueError("equity goes back in time")
    return Curve(moments, np.array([math.nan if v is None else v for v in values], dtype=np.float64))


def _warning(value: Json, where: str) -> ScriptWarning:
    warning = _object(value, where)
    return ScriptWarning(text=_text(warning, "text"), count=_count(warning, "count"))


def _healed(value: Json, where: str) -> Healed:
    healed = _object(value, where)
    kind = cast(HealKind, _choice(healed, "kind", get_args(HealKind)))
    return Healed(kind=kind, what=_text(healed, "what"), count=_count(healed, "count"))


def _need(value: Json, where: str) -> Need:
    need = _object(value, where)
    return Need(kind=cast(NeedKind, _choice(need, "kind", get_args(NeedKind))), name=_text(need, "name"))


# Values of one kind each


def _object(value: Json, where: str) -> Mapping[str, Json]:
    if not isinstance(value, Mapping):
        raise ValueError(f"{where} is no object")
    return value


def _field(record: Mapping[str, Json], name: str) -> Json:
    if name not in record:
        raise ValueError(f"{name} is missing")
    return record[name]


def _list(record: Mapping[str, Json], name: str, read: Callable[[Json, str], T], most: int) -> tuple[T, ...]:
    value = _field(record, name)
    if not isinstance(value, Sequence) or isinstance(value, str):
        raise ValueError(f"{name} is no list")
    if len(value) > most:
        raise ValueError(f"{name} has {len(value)} entries, over {most}")
    return tuple(read(item, name) for item in value)


def _mapping(record: Mapping[str, Json], name: str, read: Callable[[Json], T]) -> Mapping[str, T]:
    value = _object(_field(record, name), name)
    if len(value) > _MOST_ROWS:
        raise ValueError(f"{name} has {len(value)} entries, over {_MOST_ROWS}")
    return MappingProxyType({_words(key, name): read(item) for key, item in value.items()})


def _words(value: Json, where: str) -> str:
    if not isinstance(value, str) or len(value) > _LONGEST:
        raise ValueError(f"{where} is no text of at most {_LONGEST} characters")
    return value


def _text(record: Mapping[str, Json], name: str) -> str:
    return _words(_field(record, name), name)


def _choice(record: Mapping[str, Json], name: str, choices: Sequence[str]) -> str:
    value = _field(record, name)
    if not isinstance(value, str) or value not in choices:
        raise ValueError(f"{name} is none of {', '.join(choices)}")
    return value


def _flag(record: Mapping[str, Json], name: str) -> bool:
    value = _field(record, name)
    if not isinstance(value, bool):
        raise ValueError(f"{name} is neither true nor false")
    return value


def _as_whole(value: Json, where: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not -_LARGEST < value < _LARGEST:
        raise ValueError(f"{where} is no whole number of 64 bits")
    return value


def _whole(record: Mapping[str, Json], name: str) -> int:
    return _as_whole(_field(record, name), name)


def _count(record: Mapping[str, Json], name: str) -> int:
    value = _whole(record, name)
    if value < 0:
        raise ValueError(f"{name} is negative")
    return value


def _as_number(value: Json, where: str) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise ValueError(f"{where} is no number")
    if isinstance(value, int) and not -_LARGEST < value < _LARGEST:  # float() of a longer one raises something else
        raise ValueError(f"{where} is too large")
    if not math.isfinite(value):
        raise ValueError(f"{where} is not finite")
    return float(value)


def _number(record: Mapping[str, Json], name: str) -> float:
    return _as_number(_field(record, name), name)


def _as_number_or_nan(value: Json, where: str) -> float:
    """JSON has no other way to say that a number is none."""
    return math.nan if value is None else _as_number(value, where)


def _number_or_nan(record: Mapping[str, Json], name: str) -> float:
    return _as_number_or_nan(_field(record, name), name)


def _plain(value: Json, where: str) -> Plain:
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return _words(value, where)
    if isinstance(value, int):
        return _as_whole(value, where)
    return _as_number(value, where)


def _plain_or_list(value: Json, where: str) -> Json:
    if isinstance(value, Sequence) and not isinstance(value, str):
        if len(value) > _MOST_ROWS:
            raise ValueError(f"{where} has {len(value)} entries, over {_MOST_ROWS}")
        return tuple(_plain(item, where) for item in value)
    return _plain(value, where)
