"""Bars as one Arrow file: written once on the host, then mapped, not copied, by whoever reads it, inside or outside."""

from __future__ import annotations

import json
import os
import threading
from pathlib import Path

import numpy as np
import pyarrow as pa

from ringfence.base.errors import DataError
from ringfence.trade.bars import COLUMNS, Bars, Candles

_SCHEMA = pa.schema([("time", pa.int64()), *((name, pa.float64()) for name in COLUMNS)])
_KEY = b"ringfence"
_FIELDS = ("timeframe", "source", "calendar", "timezone", "adjusted", "synthetic", "tradable_from")


def write_bars(bars: Bars, path: Path) -> None:
    """Write so that a reader sees all of it or nothing, also after a crash."""
    head = {name: getattr(bars, name) for name in _FIELDS}
    head |= {"symbols": bars.symbols, "notes": bars.notes, "sha256": bars.sha256}
    schema = _SCHEMA.with_metadata({_KEY: json.dumps(head).encode()})
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f"{path.name}.{os.getpid()}-{threading.get_ident()}.part")
    try:
        with pa.OSFile(str(part), "wb") as sink, pa.ipc.new_file(sink, schema) as writer:
            for candles in bars.candles.values():
                columns = [pa.array(getattr(candles, name)) for name in ("time", *COLUMNS)]
                writer.write_batch(pa.record_batch(columns, schema=schema))
        with open(part, "rb") as f:
            os.fsync(f.fileno())
        os.replace(part, path)
    finally:
        part.unlink(missing_ok=True)


def read_bars(path: Path) -> Bars:
    """Map the file; the columns are read-only views of it."""
    try:
        reader = pa.ipc.open_file(pa.memory_map(str(path)))
        head = json.loads((reader.schema.metadata or {})[_KEY])
        batches = [reader.get_batch(i) for i in range(reader.num_record_batches)]
        columns = [[batch.column(name).to_numpy(zero_copy_only=True) for name in _SCHEMA.names] for batch in batches]
        candles = {s: Candles(*map(_frozen, parts)) for s, parts in zip(head["symbols"], columns, strict=True)}
        known = {name: head[name] for name in _FIELDS}
    except (OSError, KeyError, ValueError, pa.ArrowException) as e:
        raise DataError(f"{str(path)!r} is no file of bars ({e}): fetch the data again") from e
    return Bars(candles=candles, notes=tuple(head["notes"]), **known)


def _frozen(column: np.ndarray) -> np.ndarray:
    column.flags.writeable = False
    return column
