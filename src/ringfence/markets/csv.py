"""CSV files as people have them: any of the usual separators and encodings, padded headers, trailing commas, gzip."""

from __future__ import annotations

import codecs
import csv
import io
import re
import zlib
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.csv

from ringfence.base.errors import DataError
from ringfence.markets import Request
from ringfence.markets.apart import read_apart
from ringfence.markets.files import ENVIRONMENT, Bounds, check_columns, check_file, check_options, read_bytes, symbol_of
from ringfence.markets.repair import Place
from ringfence.markets.stamps import STRING
from ringfence.markets.table import OPTIONS, find_layout, to_bars
from ringfence.trade.bars import Bars

_BOMS = ((codecs.BOM_UTF8, "utf-8-sig"), (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"))
_CONTROL = re.compile(rb"[\x00-\x08\x0e-\x1f]")
_SEPARATORS = ",;\t|"
_CHUNK = 1 << 20
_LONGEST_HEADER = 1 << 20  # characters of its first lines
_EMPTY = ["", "NA", "N/A", "NaN", "nan", "null", "NULL", "None", "-", "--"]


def create(options: Mapping[str, str]) -> CsvSource:
    check_options("csv", options, ("path", *OPTIONS, *ENVIRONMENT))
    return CsvSource(options)


@dataclass(frozen=True, slots=True)
class Header:
    names: tuple[str, ...]
    separator: str
    skip: int  # lines up to and including the last of the header
    symbol: str | None  # that the header itself names


class CsvSource:
    def __init__(self, options: Mapping[str, str]) -> None:
        self._options = options

    def load(self, request: Request) -> Bars:
        check_file(Path(self._options["path"]))
        return read_apart("csv", self._options, request)

    def symbols(self) -> Sequence[str]:
        return self.load(Request(repair=True, timeframe="1d")).symbols


def read(options: Mapping[str, str], request: Request) -> Bars:
    """The file's bars, read in this process."""
    path, bounds = Path(options["path"]), Bounds.of(options)
    text, notes = _decode(read_bytes(path), path.name, bounds)
    header, frame = _read(text, path.name)
    place = Place(path.name, "line", lambda row: _line_of(text, header.skip, row))
    asked = MappingProxyType({**options, **request.options})
    symbol = options.get("symbol") or header.symbol or symbol_of(path)
    return to_bars(frame, place, replace(request, options=asked), symbol=symbol, source=f"csv:{path}", notes=notes)


def _decode(raw: bytes, name: str, bounds: Bounds) -> tuple[str, list[str]]:
    """Text, and a note where the encoding had to be guessed."""
    if raw[:2] == b"\x1f\x8b":
        raw = _unpack(raw, name, bounds)
    bounds.check_bytes(len(raw), name)
    bounds.check_rows(max(raw.count(b"\n"), raw.count(b"\r")) - 1, name)
    if not raw[:65536].strip() and not raw.strip():
        raise DataError(f"{name} is empty: give a file with a header and rows")
    encoding = next((encoding for bom, encoding in _BOMS if raw.startswith(bom)), "utf-8")
    if encoding != "utf-16" and _CONTROL.search(raw[:65536]):
        encoding = "utf-16-le" if raw[1:64:2].count(0) > 16 else "utf-16-be" if raw[0:64:2].count(0) > 16 else ""
        if not encoding:
            raise DataError(f"{name} is no text file: give CSV text, or name a .parquet file as parquet:PATH")
    try:
        return raw.decode(encoding), []
    except UnicodeDecodeError as e:
        if encoding != "utf-8":
            raise DataError(f"{name} is no valid {encoding} text ({e.reason}): save it as UTF-8") from e
    return raw.decode("latin-1"), [f"{name} is not UTF-8: read as latin-1"]


def _unpack(raw: bytes, name: str, bounds: Bounds) -> bytes:
    """Piece by piece: a file of kilobytes may claim to be gigabytes, and be it."""
    left, parts, size = raw, list[bytes](), 0
    try:
        while left:
            member = zlib.decompressobj(wbits=31)
            while not member.eof:
                if not left:
                    raise DataError(f"{name} is a damaged gzip file (it breaks off): get it again")
                parts.append(member.decompress(left, _CHUNK))
                left = member.unconsumed_tail or member.unused_data
                size += len(parts[-1])
                bounds.check_bytes(size, name)
            left = member.unused_data.lstrip(b"\0")  # padding
    except zlib.error as e:
        raise DataError(f"{name} is a damaged gzip file ({e}): get it again") from e
    return b"".join(parts)


def _read(text: str, name: str) -> tuple[Header, pd.DataFrame]:
    header = _read_header(text, name)
    body = _body(text, header.skip)
    first = next((line for line in _lines(body) if line.strip()), "")
    fields = _split(first, header.separator)
    names = list(header.names)
    if len(fields) == len(names) + 1 and fields[-1].strip():
        names.insert(0, "")  # an index column whose name was not written
    names += [""] * (len(fields) - len(names))
    check_columns(len(names), name)
    layout = find_layout(names, name)
    if not first:
        raise DataError(f"{name} has a header and no rows: give a file with prices")
    decimal = "," if header.separator == ";" and re.search(r";\s*\d+,\d", first) else "."
    # Numbers are left to be found out; the others must stay the text they are.
    texts = {at for at in (layout.symbol, layout.clock) if at is not None}
    if not _is_number(fields[layout.time].strip()):
        texts.add(layout.time)
    try:
        frame = _read_even(body, len(names), header.separator, decimal, texts)
    except pa.ArrowInvalid:
        frame = _read_uneven(body, len(names), header, decimal, texts, name)
    return header, frame.set_axis(names, axis=1)


def _read_even(body: str, width: int, separator: str, decimal: str, texts: Set[int]) -> pd.DataFrame:
    """Six times as fast as the other one, for a file whose every row has all its fields."""
    table = pa.csv.read_csv(
        pa.py_buffer(body.encode()),
        read_options=pa.csv.ReadOptions(column_names=[str(at) for at in range(width)]),
        parse_options=pa.csv.ParseOptions(delimiter=separator),
        convert_options=pa.csv.ConvertOptions(
            column_types={str(at): pa.string() for at in texts}, null_values=_EMPTY, decimal_point=decimal
        ),
    )
    frame: pd.DataFrame = table.to_pandas(types_mapper={pa.string(): STRING}.get)
    return frame


def _read_uneven(body: str, width: int, header: Header, decimal: str, texts: Set[int], name: str) -> pd.DataFrame:
    # The stubs know columns by name only; these are known by position.
    empty: Any = {at: _EMPTY for at in range(width) if at not in texts}
    kinds: Any = dict.fromkeys(texts, STRING)
    try:
        return pd.read_csv(
            io.StringIO(body),
            sep=header.separator,
            header=None,
            names=range(width),
            index_col=False,
            skipinitialspace=True,
            dtype=kinds,
            decimal=decimal,
            keep_default_na=False,
            na_values=empty,
            low_memory=False,
            float_precision="round_trip",
        )
    except pd.errors.ParserError as e:
        raise DataError(_ragged(str(e), body, header, name)) from e


def _ragged(message: str, body: str, header: Header, name: str) -> str:
    found = re.search(r"Expected (\d+) fields in line (\d+), saw (\d+)", message)
    if not found:
        return f"{name} cannot be read as CSV ({message.strip()}): look at its quotes and separators"
    line = header.skip + int(found[2])
    return f"{name} line {line} has {found[3]} fields where {found[1]} are named: correct that line"


def _read_header(text: str, name: str) -> Header:
    lines: list[str] = []
    skip = 0
    for number, line in enumerate(_lines(text), 1):
        if not line.strip() or (line.lstrip().startswith("#") and not lines):
            continue
        check_columns(max(line.count(separator) for separator in _SEPARATORS), name)
        lines.append(line)
        skip = skip or number
        if len(lines) == 3:
            break
    separator = max(_SEPARATORS, key=lines[0].count)
    rows = [[cell.strip().strip("'").strip() for cell in _split(line, separator)] for line in lines]
    if len(rows) == 3 and rows[0][0] == "Price" and rows[1][0] == "Ticker" and rows[2][0] in ("Date", "Datetime"):
        return _three_line_header(rows, separator, skip, name)
    if any(_is_number(cell) for cell in rows[0]):
        raise DataError(
            f"{name} begins with data and not with names: add a first line such as date,open,high,low,close"
        )
    return Header(tuple(rows[0]), separator, skip, None)


def _three_line_header(rows: list[list[str]], separator: str, skip: int, name: str) -> Header:
    """What yfinance's download writes: the kind of price, the ticker of each column, the name of the index."""
    tickers = sorted({cell for cell in rows[1][1:] if cell})
    if len(tickers) > 1:
        raise DataError(f"{name} has columns of {', '.join(tickers)} side by side: write one file for each")
    return Header((rows[2][0], *rows[0][1:]), separator, skip + 2, tickers[0] if tickers else None)


def _split(line: str, separator: str) -> list[str]:
    return next(csv.reader([line], delimiter=separator, skipinitialspace=True), [""])


def _is_number(cell: str) -> bool:
    return re.fullmatch(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", cell) is not None


def _lines(text: str) -> Iterator[str]:
    """Without copying all of it first, as every other way does."""
    at = 0
    while at < len(text):
        end = text.find("\n", at)
        end = len(text) if end < 0 else end
        yield text[at:end].rstrip("\r")
        at = end + 1


def _body(text: str, lines: int) -> str:
    at = 0
    for _ in range(lines):
        end = text.find("\n", at)
        if end < 0:
            return ""
        at = end + 1
    return text[at:]


def _line_of(text: str, skip: int, row: int) -> int:
    """The line of the file that holds row `row`; blank lines are lines, too. Only messages need it."""
    seen = -1
    for number, line in enumerate(_lines(text), 1):
        if number > skip and line.strip():
            seen += 1
            if seen == row:
                return number
    return skip + row + 1
