"""Parquet files, by the same rules as CSV."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType

import pyarrow as pa
import pyarrow.parquet

from ringfence.base.errors import DataError
from ringfence.markets import Request
from ringfence.markets.apart import read_apart
from ringfence.markets.files import ENVIRONMENT, Bounds, check_columns, check_file, check_options, symbol_of
from ringfence.markets.repair import Place
from ringfence.markets.table import OPTIONS, to_bars
from ringfence.trade.bars import Bars

_ROWS_AT_ONCE = 4096


def create(options: Mapping[str, str]) -> ParquetSource:
    check_options("parquet", options, ("path", *OPTIONS, *ENVIRONMENT))
    return ParquetSource(options)


class ParquetSource:
    def __init__(self, options: Mapping[str, str]) -> None:
        self._options = options

    def load(self, request: Request) -> Bars:
        check_file(Path(self._options["path"]))
        return read_apart("parquet", self._options, request)

    def symbols(self) -> Sequence[str]:
        return self.load(Request(repair=True, timeframe="1d")).symbols


def read(options: Mapping[str, str], request: Request) -> Bars:
    """The file's bars, read in this process."""
    path = Path(options["path"])
    try:
        table = _read_table(path, Bounds.of(options))
    except (OSError, pa.ArrowException) as e:
        if isinstance(e, MemoryError):
            raise
        raise DataError(f"{str(path)!r} cannot be read as Parquet ({e}): check what it is") from e
    frame = table.to_pandas()
    # pandas keeps a named or dated index beside the columns; in the file it is a column like the others.
    if frame.index.name is not None or not str(frame.index.dtype).startswith("int"):
        frame = frame.reset_index()
    place = Place(path.name, "row", lambda row: row + 1)
    asked = MappingProxyType({**options, **request.options})
    symbol = options.get("symbol") or symbol_of(path)
    return to_bars(frame, place, replace(request, options=asked), symbol=symbol, source=f"parquet:{path}")


def _read_table(path: Path, bounds: Bounds) -> pa.Table:
    """Piece by piece, with what has come counted: what the file says of itself is only good for a refusal."""
    with pa.parquet.ParquetFile(str(path)) as file:
        about = file.metadata
        check_columns(about.num_columns, path.name)
        bounds.check_rows(about.num_rows, path.name)
        pieces, rows, size = [], 0, 0
        for piece in file.iter_batches(batch_size=_ROWS_AT_ONCE, use_threads=False):
            rows, size = rows + piece.num_rows, size + piece.nbytes
            bounds.check_rows(rows, path.name)
            bounds.check_bytes(size, path.name)
            pieces.append(piece)
        return pa.Table.from_batches(pieces, schema=file.schema_arrow)
