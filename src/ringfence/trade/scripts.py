"""What a script for another library says it did, read from untrusted JSON into values.

The report was made in the process of the script itself, so it proves nothing: its numbers are claimed. This reader only
promises that what it returns has the right shape, is finite and of bounded size; anything odd is a ValueError.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Literal, TypeVar, cast, get_args

import numpy as np

from ringfence.trade.orders import Trade
from ringfence.trade.packed import Table
from ringfence.trade.run import Curve, Json

RunKind = Literal["run", "optimize"]
HealKind = Literal["lossless", "alias", "semantic"]
NeedKind = Literal["file", "column", "download"]
Plain = None | bool | int | float | str

_MOST_RUNS, _MOST_TRADES, _MOST_POINTS, _MOST_ROWS, _LONGEST = 50, 200_000, 5_001, 500, 2_000
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
    _check_trades(top)
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


def _check_trades(top: Mapping[str, Json]) -> None:
    """Packed, a trade may be a few bytes: how many there are in all runs is looked at before one is made."""
    runs = top.get("runs")
    tables = [run.get("trades") for run in runs if isinstance(run, Mapping)] if isinstance(runs, Sequence) else []
    counts = [table.get("rows") for table in tables if isinstance(table, Mapping)]
    total = sum(count for count in counts if type(count) is int and count > 0)
    if total > _MOST_TRADES:
        raise ValueError(f"it has {total:,} trades, over {_MOST_TRADES:,}")


def _run(value: Json, where: str) -> ScriptRun:
    run = _object(value, where)
    return ScriptRun(
        kind=cast(RunKind, _choice(run, "kind", get_args(RunKind))),
        class_name=_text(run, "class_name"),
        parameters=_mapping(run, "parameters", lambda value: _plain_or_list(value, "parameters")),
        settings=_mapping(run, "settings", lambda value: _plain_or_list(value, "settings")),
        bars=_bars(_field(run, "bars")),
        statistics=_mapping(run, "statistics", lambda value: _plain(value, "statistics")),
        trades=_trades(_field(run, "trades")),
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


def _trades(value: Json) -> tuple[Trade, ...]:
    table = Table(value, "trades", most_rows=_MOST_TRADES)
    if table.rows == 0:
        return ()
    columns: dict[str, list[Any]] = {
        **{name: table.whole(name) for name in ("id", "entry_time", "exit_time", "bars_held")},
        **{name: _finite_or_nan(table, name) for name in ("entry_price", "exit_price", "fees", "pnl", "pnl_pct")},
        **{name: _all_words(table, name) for name in ("symbol", "entry_reason")},
        "side": _sides(table),
        "qty": _sizes(table),
    }
    make: Callable[..., Trade] = functools.partial(Trade, exit_reason="", is_partial=False)
    return tuple(make(**dict(zip(columns, row))) for row in zip(*columns.values(), strict=True))


def _all_words(table: Table, name: str) -> list[str]:
    texts = table.texts(name)
    for text in set(texts):
        _words(text, name)
    return texts


def _sides(table: Table) -> list[str]:
    sides = table.texts("side")
    if not set(sides) <= {"long", "short"}:
        raise ValueError("side is neither long nor short")
    return sides


def _sizes(table: Table) -> list[float]:
    sizes = table.real_or_none("qty")
    if not all(size is not None and math.isfinite(size) for size in sizes):
        raise ValueError("qty is no number")
    return cast("list[float]", sizes)


def _finite_or_nan(table: Table, name: str) -> list[float]:
    """NaN where the library had no number."""
    values = table.real_or_none(name)
    if not all(value is None or math.isfinite(value) for value in values):
        raise ValueError(f"{name} is not finite")
    return [math.nan if value is None else value for value in values]


def _curve(value: Json) -> Curve | None:
    if value is None:
        return None
    table = Table(value, "equity", most_rows=_MOST_POINTS)
    moments = np.array(table.whole("time"), dtype=np.int64)
    if (np.diff(moments) < 0).any():
        raise ValueError("equity goes back in time")
    values = _finite_or_nan(table, "value")
    if not all(abs(v) < 1e300 for v in values if v == v):
        raise ValueError("equity has a value that is no number")
    return Curve(moments, np.array(values, dtype=np.float64))


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
