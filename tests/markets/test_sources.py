"""Every source proves the same behaviours; Yahoo and Alpaca against servers on this machine."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from ringfence.markets import load_bars
from ringfence.testing.source import SourceCase, SourceSuite

from tests.conftest import require
from tests.markets.loopback import KEY, SECRET, Venue, sample, serve


@pytest.fixture(scope="module")
def venue() -> Iterator[Venue]:
    with serve(Venue(sample())) as venue:
        yield venue


@pytest.fixture(scope="module")
def table() -> list[str]:
    bars = load_bars(["synthetic:gbm?rows=120&symbols=AAA,BBB"])
    lines = ["symbol,date,open,high,low,close,volume"]
    for symbol, c in bars:
        columns = (c.time.astype("datetime64[ns]").astype("datetime64[D]"), c.open, c.high, c.low, c.close, c.volume)
        lines += [",".join([symbol, *map(str, row)]) for row in zip(*(col.tolist() for col in columns), strict=True)]
    return lines


class TestSample(SourceSuite):
    @pytest.fixture
    def case(self) -> SourceCase:
        return SourceCase(spec="sample:AAPL,GOOG", symbols=("AAPL", "GOOG"), unknown="NOSUCH")


class TestSynthetic(SourceSuite):
    @pytest.fixture
    def case(self) -> SourceCase:
        spec = "synthetic:gbm?seed=7&rows=300&symbols=ONE,TWO"
        return SourceCase(spec=spec, symbols=("ONE", "TWO"), unknown="NOSUCH", synthetic=True)


class TestCsv(SourceSuite):
    @pytest.fixture
    def case(self, table: list[str], tmp_path: Path) -> SourceCase:
        path = tmp_path / "prices.csv"
        path.write_text("\n".join(table))
        return SourceCase(spec=f"csv:{path}", symbols=("AAA", "BBB"), unknown="NOSUCH")


class TestParquet(SourceSuite):
    @pytest.fixture
    def case(self, table: list[str], tmp_path: Path) -> SourceCase:
        import pyarrow as pa
        import pyarrow.csv
        import pyarrow.parquet

        path = tmp_path / "prices.parquet"
        pa.parquet.write_table(pa.csv.read_csv(pa.py_buffer("\n".join(table).encode())), str(path))
        return SourceCase(spec=f"parquet:{path}", symbols=("AAA", "BBB"), unknown="NOSUCH")


class TestYahoo(SourceSuite):
    @pytest.fixture
    def case(self, venue: Venue, yahoo_cache: Path) -> SourceCase:
        require("yfinance")
        environ = {"YAHOO_API_URL": venue.url}
        return SourceCase(spec="yahoo:SP500,NASDAQ", symbols=("SP500", "NASDAQ"), unknown="NOSUCH", environ=environ)


class TestAlpaca(SourceSuite):
    @pytest.fixture
    def case(self, venue: Venue) -> SourceCase:
        require("alpaca")
        environ = {"APCA_API_DATA_URL": venue.url, "APCA_API_KEY_ID": KEY, "APCA_API_SECRET_KEY": SECRET}
        return SourceCase(spec="alpaca:SP500,NASDAQ", symbols=("SP500", "NASDAQ"), unknown="NOSUCH", environ=environ)


class TestAlpacaCrypto(SourceSuite):
    @pytest.fixture
    def case(self, venue: Venue) -> SourceCase:
        require("alpaca")
        environ = {"APCA_API_DATA_URL": venue.url}
        return SourceCase(spec="alpaca:BTC/USD", symbols=("BTC/USD",), unknown="NO/SUCH", environ=environ)
