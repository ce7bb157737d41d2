"""Drafts, their versions, and Runs."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from datetime import datetime
from typing import cast

from sqlalchemy import ColumnElement, Connection, RowMapping, Select, delete, func, insert, select

from ringfence.base.errors import StoreError
from ringfence.store.database import insert_new, queue, upsert
from ringfence.store.records import DraftRecord, RunFilter, RunRecord, RunUsage, StoredRun
from ringfence.store.shelf import Shelf
from ringfence.store.tables import drafts, run_symbols, runs, versions
from ringfence.trade.run import DraftRef, Json, Run

_LISTED = [column for column in runs.columns if column.name not in ("document", "execution_time")]
_MOST_CANDIDATES = 5
# A script's own statistics under the library's names, and what makes them fractions.
_CLAIMED = {
    "total_return": ("Return [%]", 100),
    "sharpe_ratio": ("Sharpe Ratio", 1),
    "max_drawdown": ("Max. Drawdown [%]", 100),
    "win_rate": ("Win Rate [%]", 100),
    "num_trades": ("# Trades", 1),
}


class RunShelf(Shelf):
    def save_draft(self, draft: DraftRef, *, text: str, now: datetime) -> DraftRecord:
        """Keep a program text. One that is known by its hash stays as it was first saved."""
        with self._database.write() as connection:
            return _save_draft(connection, draft, text, now)

    def save_run(self, run: Run, *, draft_text: str, usage: RunUsage, now: datetime) -> RunRecord:
        """Keep a Run and its Draft. A run that is known by its id is replaced, and keeps its `created_at`."""
        document = json.dumps(run.to_json(), allow_nan=False)
        with self._database.write() as connection:
            _save_draft(connection, run.draft, draft_text, now)
            version = _version(connection, run.draft, now)
            row = {
                **_row(run, usage),
                "version": version,
                "document": document,
                "created_at": now,
                "updated_at": now,
            }
            connection.execute(upsert(connection, runs, "run_id", keep=("created_at",)), row)
            connection.execute(delete(run_symbols).where(run_symbols.c.run_id == run.run_id))
            symbols = dict.fromkeys(run.bars.symbols if run.bars else ())
            if symbols:
                connection.execute(insert(run_symbols), [{"symbol": s, "run_id": run.run_id} for s in symbols])
            saved = connection.execute(select(*_LISTED).where(runs.c.run_id == run.run_id)).mappings().one()
            return _record(saved)

    def get_draft(self, sha256: str) -> DraftRecord | None:
        with self._database.read() as connection:
            row = connection.execute(select(drafts).where(drafts.c.sha256 == sha256)).mappings().first()
            return None if row is None else DraftRecord(**row)

    def get_run(self, run_id: str) -> StoredRun:
        """The run with this id, or with the only id that begins like this."""
        with self._database.read() as connection:
            found = _find(connection, run_id)
            row = connection.execute(select(*_LISTED, runs.c.document).where(runs.c.run_id == found)).mappings().one()
            draft = connection.execute(select(drafts).where(drafts.c.sha256 == row["code_hash"])).mappings().one()
            text = row["document"]
            return StoredRun(record=_record(row), text=text, json=json.loads(text), draft=DraftRecord(**draft))

    def list_runs(self, wanted: RunFilter | None = None) -> list[RunRecord]:
        with self._database.read() as connection:
            return [_record(row) for row in connection.execute(_query(wanted or RunFilter())).mappings()]

    def count_runs(self, wanted: RunFilter | None = None) -> int:
        """How many there are, whatever the limit."""
        matching = select(runs.c.run_id).where(*_conditions(wanted or RunFilter())).subquery()
        with self._database.read() as connection:
            return connection.execute(select(func.count()).select_from(matching)).scalar_one()


def _save_draft(connection: Connection, draft: DraftRef, text: str, now: datetime) -> DraftRecord:
    row = {
        "sha256": draft.sha256,
        "name": draft.name,
        "dialect": draft.dialect,
        "class_name": draft.class_name,
        "text": text,
        "created_at": now,
    }
    connection.execute(insert_new(connection, drafts), row)
    kept = connection.execute(select(drafts).where(drafts.c.sha256 == draft.sha256)).mappings().one()
    if kept["text"] != text:
        raise StoreError(f"draft {draft.sha256} is kept with another text: give the text that this hash is of")
    return DraftRecord(**kept)


def _version(connection: Connection, draft: DraftRef, now: datetime) -> int:
    """The number of this text among those of its strategy; a text that is new to it gets the next one."""
    queue(connection, f"versions of {draft.name}".encode("utf-8", "backslashreplace").decode().replace("\x00", "\\0"))
    ours = versions.c.strategy_name == draft.name
    known = connection.scalar(select(versions.c.version).where(ours, versions.c.code_hash == draft.sha256))
    if known is not None:
        return int(known)
    last = connection.scalar(select(func.max(versions.c.version)).where(ours)) or 0
    row = {"strategy_name": draft.name, "version": last + 1, "code_hash": draft.sha256, "created_at": now}
    connection.execute(insert(versions), row)
    return int(last) + 1


def _row(run: Run, usage: RunUsage) -> dict[str, object]:
    return {
        "run_id": run.run_id,
        "strategy_name": run.draft.name,
        "code_hash": run.draft.sha256,
        "dialect": run.draft.dialect,
        "execution_time": usage.wall_ms / 1000,
        **_figures(run),
        "verdict": run.verdict,
        "reason": run.reason,
        "error_message": _error_message(run),
        "provenance": run.provenance,
        "lookahead": run.lookahead.status,
        "bars_sha256": run.bars.sha256 if run.bars else None,
        "symbols": list(run.bars.symbols) if run.bars else [],
        "wall_ms": usage.wall_ms,
        "cpu_ms": usage.cpu_ms,
        "peak_memory_bytes": usage.peak_memory_bytes,
    }


def _figures(run: Run) -> dict[str, float | int | None]:
    metrics = run.metrics
    if metrics is not None:
        return {
            "total_return": _finite(metrics.total_return),
            "sharpe_ratio": _finite(metrics.sharpe),
            "max_drawdown": _finite(metrics.max_drawdown),
            "win_rate": _finite(metrics.win_rate),
            "num_trades": metrics.trades,
        }
    own: Mapping[str, Json] = run.statistics or {}
    found = {name: _finite(own.get(theirs), per) for name, (theirs, per) in _CLAIMED.items()}
    trades = found["num_trades"]
    # A script says what it likes; what is no count of trades is not kept as one.
    is_count = trades is not None and trades == int(trades) and 0 <= trades < 2**31
    return {**found, "num_trades": int(trades) if is_count and trades is not None else None}


def _finite(value: Json, per: int = 1) -> float | None:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    try:
        number = float(value) / per
    except OverflowError:  # an integer of a script's own, larger than any float
        return None
    return number if math.isfinite(number) else None


def _error_message(run: Run) -> str | None:
    failing = run.outcome.failing
    if failing is not None:
        return f"{failing.type}: {failing.message}"
    return None if run.outcome.status == "ok" else run.outcome.reason or run.outcome.status


def _record(row: RowMapping) -> RunRecord:
    values = {column.name: row[column.name] for column in _LISTED}
    return RunRecord(**{**values, "symbols": tuple(cast("list[str]", values["symbols"]))})


def _find(connection: Connection, run_id: str) -> str:
    near = runs.c.run_id.startswith(run_id, autoescape=True)
    query = select(runs.c.run_id).where(near).order_by(runs.c.run_id).limit(_MOST_CANDIDATES + 1)
    found = [str(name) for name in connection.scalars(query)] if run_id else []
    if not found:
        raise StoreError(f"no run is called {run_id!r}: `ringfence runs list` shows those there are")
    if len(found) > 1 and run_id not in found:
        names = ", ".join(found[:_MOST_CANDIDATES])
        raise StoreError(f"more than one run begins with {run_id!r}: write more of one of {names}")
    return run_id if run_id in found else found[0]


def _query(wanted: RunFilter) -> Select[tuple[object, ...]]:
    column = runs.c[wanted.order_by]
    ordered = column.desc() if wanted.descending else column.asc()
    query: Select[tuple[object, ...]] = select(*_LISTED).where(*_conditions(wanted))
    # The id decides among equals, so that pages of a listing neither repeat nor lose a run.
    query = query.order_by(ordered.nulls_last(), runs.c.created_at.desc(), runs.c.run_id)
    if wanted.limit is not None or wanted.offset:
        query = query.limit(2**31 if wanted.limit is None else wanted.limit).offset(wanted.offset)
    return query


def _conditions(wanted: RunFilter) -> list[ColumnElement[bool]]:
    found: list[ColumnElement[bool]] = []
    if wanted.strategy is not None:
        found.append(runs.c.strategy_name == wanted.strategy)
    if wanted.verdict is not None:
        found.append(runs.c.verdict == wanted.verdict)
    if wanted.symbol is not None:
        found.append(runs.c.run_id.in_(select(run_symbols.c.run_id).where(run_symbols.c.symbol == wanted.symbol)))
    if wanted.since is not None:
        found.append(runs.c.created_at >= wanted.since)
    if wanted.provenance is not None:
        found.append(runs.c.provenance == wanted.provenance)
    if wanted.min_trades is not None:
        found.append(runs.c.num_trades >= wanted.min_trades)
    return found
