"""Runs for other programs: whole as JSON lines, or one flat row each as CSV or Parquet."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import fields
from datetime import datetime
from typing import IO, Literal, get_type_hints

from ringfence.store import RunFilter, RunRecord, Store, StoredRun, find_store
from ringfence.store.records import stamp
from ringfence.trade.metrics import Metrics
from ringfence.trade.run import Json

Format = Literal["json-lines", "csv", "parquet"]
Cell = None | bool | int | float | str | datetime | tuple[str, ...]

_ROWS_AT_ONCE = 1000
_METRIC = "metric_"
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def export_runs(url: str, wanted: RunFilter, *, form: Format, out: IO[bytes]) -> int:
    """Write the runs that match to `out`, and say how many there were; without a database that is none."""
    store = find_store(url)
    if store is None:
        return _WRITERS[form]((), out)
    with store:
        return _WRITERS[form](_each(store, wanted), out)


def _each(store: Store, wanted: RunFilter) -> Iterator[StoredRun]:
    # The list is taken at one moment; a run saved meanwhile neither appears nor moves another out.
    for record in store.list_runs(wanted):
        yield store.get_run(record.run_id)


def _write_json_lines(runs: Iterable[StoredRun], out: IO[bytes]) -> int:
    count = 0
    for run in runs:
        out.write(run.text.encode() + b"\n")
        count += 1
    return count


def _write_csv(runs: Iterable[StoredRun], out: IO[bytes]) -> int:
    count = 0
    text = io.TextIOWrapper(out, encoding="utf-8", errors="backslashreplace", newline="", write_through=True)
    try:
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(_columns())
        for run in runs:
            writer.writerow([_csv_cell(cell) for cell in _row(run).values()])
            count += 1
    finally:
        text.detach()  # the caller's stream stays open
    return count


def _write_parquet(runs: Iterable[StoredRun], out: IO[bytes]) -> int:
    import pyarrow as pa
    import pyarrow.parquet as pq

    kinds = {
        float: pa.float64(),
        int: pa.int64(),
        str: pa.string(),
        datetime: pa.timestamp("us", tz="UTC"),
        tuple: pa.list_(pa.string()),
    }
    schema = pa.schema([(name, kinds[kind]) for name, kind in _columns().items()])
    count = 0
    with pq.ParquetWriter(out, schema) as writer:
        for rows in _chunks(runs):
            cells = [{name: _arrow_cell(cell) for name, cell in row.items()} for row in rows]
            writer.write_table(pa.Table.from_pylist(cells, schema=schema))
            count += len(rows)
    return count


_WRITERS: Mapping[Format, Callable[[Iterable[StoredRun], IO[bytes]], int]] = {
    "json-lines": _write_json_lines,
    "csv": _write_csv,
    "parquet": _write_parquet,
}


def _columns() -> dict[str, type]:
    """Names and kinds of the columns of a flat row."""
    record, metrics = get_type_hints(RunRecord), get_type_hints(Metrics)
    return {
        **{f.name: _kind(record[f.name]) for f in fields(RunRecord)},
        "execution_time": float,
        **{_METRIC + f.name: _kind(metrics[f.name]) for f in fields(Metrics)},
    }


def _kind(hint: object) -> type:
    for kind, words in ((datetime, "datetime"), (tuple, "tuple"), (float, "float"), (int, "int")):
        if words in str(hint):
            return kind
    return str


def _row(run: StoredRun) -> dict[str, Cell]:
    metrics = run.json.get("metrics")
    told = metrics if isinstance(metrics, Mapping) else {}
    row: dict[str, Cell] = {}
    for name, kind in _columns().items():
        if name.startswith(_METRIC):
            row[name] = _as_kind(told.get(name.removeprefix(_METRIC)), kind)
        else:
            row[name] = getattr(run.record, name)
    return row


def _as_kind(value: Json, kind: type) -> Cell:
    """The value if it is of its column's kind: what an earlier version stored may not be."""
    if kind is float:
        is_number = isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)
        return float(value) if is_number else None  # type: ignore[arg-type]  # as was just looked at
    if kind is int:
        return value if isinstance(value, int) and not isinstance(value, bool) else None
    return value if isinstance(value, str) else None


def _csv_cell(cell: Cell) -> str | float | int | None:
    if isinstance(cell, datetime):
        return stamp(cell)
    if isinstance(cell, tuple):
        cell = ",".join(cell)
    if isinstance(cell, str):
        # A spreadsheet would compute a text that looks like a formula, and this text may be a stranger's.
        return f"'{cell}" if cell.startswith(_FORMULA) else cell
    return cell


def _arrow_cell(cell: Cell) -> Cell | list[str]:
    if isinstance(cell, str):
        return cell.encode("utf-8", "backslashreplace").decode()
    if isinstance(cell, tuple):
        return [text.encode("utf-8", "backslashreplace").decode() for text in cell]
    return cell


def _chunks(runs: Iterable[StoredRun]) -> Iterator[list[dict[str, Cell]]]:
    rows: list[dict[str, Cell]] = []
    for run in runs:
        rows.append(_row(run))
        if len(rows) == _ROWS_AT_ONCE:
            yield rows
            rows = []
    if rows:
        yield rows
