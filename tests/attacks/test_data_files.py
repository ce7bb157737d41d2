"""Files of prices that are small on the disk and huge in memory: each is a sentence, and costs the host little."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import zlib
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

import pyarrow as pa
import pyarrow.parquet
import pytest

HEADER = b"date,open,high,low,close,volume\n"
ROW = b"2020-01-06,10,12,9,11,100\n"
_BOUNDS = {"RINGFENCE_MAX_DATA_MB": "256", "RINGFENCE_MAX_DATA_ROWS": "100000"}
_MOST_HOST_MB = 400  # of our own process; what reads the file has its own bound
_REFUSED = 69


def _packed(*pieces: tuple[bytes, int]) -> bytes:
    """gzip of each piece repeated, made without holding it."""
    packer = zlib.compressobj(9, zlib.DEFLATED, 31)
    return b"".join([*(packer.compress(piece) for piece, times in pieces for _ in range(times)), packer.flush()])


def _parquet(path: Path, rows: int, **more: pa.Array) -> None:
    days = pa.array(range(rows), pa.int64()).cast(pa.timestamp("s"))
    price = pa.array([10.0]).take(pa.array([0] * rows))
    columns = {"date": days, **dict.fromkeys(("open", "high", "low", "close"), price), **more}
    # Without the schema a reader gets plain texts, each of them anew.
    pa.parquet.write_table(pa.table(columns), path, compression="zstd", store_schema=False)


def _long_texts(rows: int, length: int) -> pa.Array:
    return pa.DictionaryArray.from_arrays(pa.array([0] * rows, pa.int32()), pa.array(["x" * length]))


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[Path, str]]:
    """By what they do: a file, and what the refusal must name."""
    folder = tmp_path_factory.mktemp("files")
    made = {
        "unpacks.csv.gz": (_packed((HEADER, 1), (ROW * 40_000, 300)), "RINGFENCE_MAX_DATA_MB"),
        "rows.csv": (HEADER + ROW * 100_001, "RINGFENCE_MAX_DATA_ROWS"),
        "columns.csv": (HEADER[:-1] + b",a" * 500_000 + b"\n" + ROW, "columns"),
        "lines.csv.gz": (_packed((HEADER, 1), (b"\n" * 1_000_000, 30)), "RINGFENCE_MAX_DATA_ROWS"),
        "damaged.csv.gz": (_packed((HEADER, 1), (ROW, 1000))[:-9], "damaged"),
        "damaged.parquet": (b"PAR1" + b"\xff" * 300 + b"PAR1", "Parquet"),
    }
    for name, (content, _) in made.items():
        (folder / name).write_bytes(content)
    _parquet(folder / "texts.parquet", 20_000, note=_long_texts(20_000, 100_000))
    _parquet(folder / "one_text.parquet", 1_000, note=_long_texts(1_000, 2_000_000))
    _parquet(folder / "many.parquet", 200_000)
    _parquet(folder / "wide.parquet", 1, **{f"c{n}": pa.array([1.0]) for n in range(2_000)})
    also = {
        "texts.parquet": "RINGFENCE_MAX_DATA_MB",
        "one_text.parquet": "RINGFENCE_MAX_DATA_MB",
        "many.parquet": "RINGFENCE_MAX_DATA_ROWS",
        "wide.parquet": "columns",
    }
    return {name: (folder / name, word) for name, word in [*((n, w) for n, (_, w) in made.items()), *also.items()]}


def _run(
    argv: list[str], folder: Path, environ: Mapping[str, str] = MappingProxyType({}), address_space: int | None = None
) -> tuple[int, str, int]:
    """Exit code, what it said, and the most memory in MB that our process had, by the kernel's count."""

    clean = {name: value for name, value in os.environ.items() if not name.startswith("RINGFENCE_")}
    counted = subprocess.run(
        [sys.executable, "-c", _COUNTED, str(address_space or resource.RLIM_INFINITY), *argv],
        capture_output=True,
        text=True,
        env={**clean, "RINGFENCE_HOME": str(folder / "home"), **environ},
        check=True,
    )
    said, _, numbers = counted.stdout.rstrip("\n").rpartition("\n")
    code, kilobytes = map(int, numbers.split())
    return code, said, kilobytes >> 10


# In a small process between: what a process forks from counts as the memory of the program that it becomes.
_COUNTED = """
import os, resource, subprocess, sys
bound = int(sys.argv[1])
resource.setrlimit(resource.RLIMIT_AS, (bound, bound))
process = subprocess.Popen([sys.executable, *sys.argv[2:]], stderr=subprocess.STDOUT)
_, status, used = os.wait4(process.pid, 0)
process.returncode = os.waitstatus_to_exitcode(status)
print()
print(process.returncode, used.ru_maxrss, flush=True)
"""
_LOAD_EACH = """
import os, sys
from ringfence.base.errors import DataError
from ringfence.markets import load_bars
for spec in sys.argv[1:]:
    try:
        print("loaded", load_bars([spec], environ=os.environ).rows)
    except DataError as e:
        print(" ".join(str(e).splitlines()))
"""


def test_a_file_that_grows_is_refused_in_a_sentence(files: dict[str, tuple[Path, str]], tmp_path: Path) -> None:
    assert max(path.stat().st_size for path, _ in files.values()) < 4 << 20
    code, said, megabytes = _run(["-c", _LOAD_EACH, *(str(path) for path, _ in files.values())], tmp_path, _BOUNDS)
    lines = said.splitlines()
    assert (code, len(lines)) == (0, len(files)), said[-2000:]
    wrong = [f"{name}: {line}" for (name, (_, word)), line in zip(files.items(), lines) if word not in line]
    assert wrong == []
    assert megabytes < _MOST_HOST_MB


def test_the_front_door_says_the_same(files: dict[str, tuple[Path, str]], tmp_path: Path) -> None:
    path, word = files["texts.parquet"]
    code, said, megabytes = _run(["-m", "ringfence", "data", "show", str(path)], tmp_path, _BOUNDS)
    assert (code, word in said, "Traceback" in said) == (_REFUSED, True, False), said
    assert megabytes < _MOST_HOST_MB


def test_made_up_prices_are_bounded_before_they_are_made(tmp_path: Path) -> None:
    made = "synthetic:gbm?timeframe=1m"
    specs = [f"{made}&rows=9000000", f"{made}&rows=400000&symbols=A,B,C,D,E,F,G,H,I,J"]
    code, said, megabytes = _run(["-c", _LOAD_EACH, *specs], tmp_path)
    assert code == 0 and all("rows" in line for line in said.splitlines()), said
    assert megabytes < _MOST_HOST_MB


def test_a_small_packed_file_asks_for_little(tmp_path: Path) -> None:
    path = tmp_path / "small.csv.gz"
    days = b"".join(b"2020-01-%02d,10,12,9,11,100\n" % day for day in range(6, 11))
    path.write_bytes(_packed((HEADER + days, 1)))
    _, said, _ = _run(["-c", _LOAD_EACH, str(path)], tmp_path, address_space=3 << 30)
    assert said == "loaded 5\n"
