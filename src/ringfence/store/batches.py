"""Batches: which files of one are done, so that the next start goes on where the last one ended."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from datetime import datetime

from sqlalchemy import insert, select

from ringfence.base.errors import StoreError
from ringfence.store.database import queue, upsert
from ringfence.store.records import Batch, BatchFile
from ringfence.store.shelf import Shelf
from ringfence.store.tables import batch_files, batches
from ringfence.trade.run import Json


class BatchShelf(Shelf):
    def begin_batch(self, spec: Mapping[str, Json], *, resume: bool, now: datetime) -> Batch:
        """A new batch; with `resume` the last one that was begun with an equal `spec`, if there is one.

        The spec is whatever changes a file's result: data, parameters, rules, limits, version.
        """
        sha256 = hashlib.sha256(json.dumps(spec, sort_keys=True, allow_nan=False).encode()).hexdigest()
        same = select(batches.c.batch_id, batches.c.created_at).where(batches.c.spec_sha256 == sha256)
        with self._database.write() as connection:
            queue(connection, f"batch {sha256}")  # two that resume at the same time resume the same one
            if resume:
                last = connection.execute(same.order_by(batches.c.batch_id.desc()).limit(1)).mappings().first()
                if last is not None:
                    return Batch(
                        batch_id=last["batch_id"], spec_sha256=sha256, created_at=last["created_at"], resumed=True
                    )
            row = {"spec_sha256": sha256, "spec": dict(spec), "created_at": now}
            batch_id = connection.execute(insert(batches).returning(batches.c.batch_id), row).scalar_one()
        return Batch(batch_id=batch_id, spec_sha256=sha256, created_at=now)

    def done_files(self, batch: Batch) -> dict[str, BatchFile]:
        """By name. A file counts as done only while its content has the `sha256` it had then."""
        query = select(batch_files).where(batch_files.c.batch_id == batch.batch_id).order_by(batch_files.c.file)
        with self._database.read() as connection:
            return {row["file"]: BatchFile(**row) for row in connection.execute(query).mappings()}

    def record_file(
        self, batch: Batch, file: str, *, sha256: str, verdict: str, line: Mapping[str, Json], now: datetime
    ) -> BatchFile:
        """Say that a file is done; said again, the later one counts."""
        row = {
            "batch_id": batch.batch_id,
            "file": file,
            "sha256": sha256,
            "verdict": verdict,
            "line": dict(line),
            "created_at": now,
        }
        with self._database.write() as connection:
            if connection.scalar(select(batches.c.batch_id).where(batches.c.batch_id == batch.batch_id)) is None:
                raise StoreError(f"there is no batch {batch.batch_id}: make it with begin_batch first")
            connection.execute(upsert(connection, batch_files, "batch_id", "file"), row)
        return BatchFile(
            batch_id=batch.batch_id, file=file, sha256=sha256, verdict=verdict, line=dict(line), created_at=now
        )
