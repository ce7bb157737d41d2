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
from ringfence.markets.files import MOST_BYTES, check_file, check_options, symbol_of
from ringfence.markets.repair import Place
from ringfence.markets.table import OPTIONS, to_bars
from ringfence.trade.bars import Bars


def create(options: Mapping[str, str]) -> ParquetSource:
    check_options("parquet", options, ("path", *OPTIONS))
    return ParquetSource(options)


class ParquetSource:
    def __init__(self, options: Mapping[str, str]) -> None:
        self._options = options
        self._path = Path(options["path"])

    def load(self, request: Request) -> Bars:
        check_file(self._path)
        try:
            about = pa.parquet.ParquetFile(str(self._path)).metadata
            if sum(about.row_group(i).total_byte_size for i in range(about.num_row_groups)) > MOST_BYTES:
                raise DataError(f"{str(self._path)!r} is larger than {MOST_BYTES >> 30} GB unpacked: keep fewer rows")
            table = pa.parquet.read_table(str(self._path))
        except (OSError, pa.ArrowException) as e:
            raise DataError(f"{str(self._path)!r} cannot be read as Parquet ({e}): check what it is") from e
        frame = table.to_pandas()
        # pandas keeps a named or dated index beside the columns; in the file it is a column like the others.
        if frame.index.name is not None or not str(frame.index.dtype).startswith("int"):
            frame = frame.reset_index()
        place = Place(self._path.name, "row", lambda row: row + 1)
        options = MappingProxyType({**self._options, **request.options})
        symbol = self._options.get("symbol") or symbol_of(self._path)
        bars = to_bars(frame, place, replace(request, options=options), symbol)
        return replace(bars, source=f"parquet:{self._path}")

    def symbols(self) -> Sequence[str]:
        return self.load(Request(repair=True, timeframe="1d")).symbols
