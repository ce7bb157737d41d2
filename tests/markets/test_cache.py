"""Bars are kept by their hash, found by request, and never believed when they are damaged."""

from __future__ import annotations

import multiprocessing
from pathlib import Path

import pytest

from ringfence.base.errors import DataError
from ringfence.markets import Request, load_bars
from ringfence.markets.cache import Cache
from ringfence.trade.bars import Bars
from ringfence.trade.times import DAY, parse_moment


@pytest.fixture
def cache(tmp_path: Path) -> Cache:
    return Cache(tmp_path / "bars")


@pytest.fixture(scope="module")
def bars() -> Bars:
    return load_bars(["sample:AAPL,MSFT"])


def asked(**changed: object) -> Request:
    make: type = Request
    request: Request = make(**{"source": "venue", "symbols": ("AAPL", "MSFT"), "timeframe": "1d", **changed})
    return request


def test_what_was_put_is_found_and_nothing_else(cache: Cache, bars: Bars) -> None:
    assert cache.get(asked()) is None
    cache.put(asked(), bars)
    found = cache.get(asked())
    assert found is not None and found.sha256 == bars.sha256
    assert found.notes == bars.notes and found.adjusted == bars.adjusted
    for other in (
        asked(source="other"),
        asked(timeframe="1h"),
        asked(symbols=("IBM",)),
        asked(options={"a": "b"}),
        asked(repair=True),
    ):
        assert cache.get(other) is None


def test_a_longer_answer_serves_a_shorter_request(cache: Cache, bars: Bars) -> None:
    cache.put(asked(start=100, end=900), bars)
    assert cache.get(asked(start=200, end=800)) is not None
    fewer = cache.get(asked(start=200, end=800, symbols=("MSFT",)))
    assert fewer is not None and fewer.symbols == ("MSFT",)
    for wider in (asked(start=50, end=800), asked(start=200, end=901), asked(start=200), asked(end=800)):
        assert cache.get(wider) is None


def test_the_file_is_named_by_its_content_and_readable_by_others(cache: Cache, bars: Bars) -> None:
    path = cache.materialise(bars)
    assert path.name == f"{bars.sha256}.arrow"
    assert path.stat().st_mode & 0o777 == 0o644
    assert cache.materialise(bars) == path
    assert cache.read(bars.sha256).sha256 == bars.sha256
    assert not list(cache.root.rglob("*.part"))


@pytest.mark.parametrize("damage", ["flip", "cut", "empty", "swap"])
def test_a_damaged_file_is_refused_and_replaced(cache: Cache, bars: Bars, damage: str) -> None:
    path = cache.put(asked(), bars)
    content = bytearray(path.read_bytes())
    if damage == "flip":
        content[len(content) // 2] ^= 1
    elif damage == "swap":
        content = bytearray(cache.materialise(load_bars(["sample:IBM"])).read_bytes())
    path.write_bytes(content[: {"cut": 5000, "empty": 0}.get(damage, len(content))])
    with pytest.raises(DataError, match="damaged"):
        cache.read(bars.sha256)
    assert cache.get(asked()) is None
    cache.materialise(bars)
    assert cache.get(asked()) is not None


def test_a_damaged_record_is_as_if_it_were_not_there(cache: Cache, bars: Bars) -> None:
    cache.put(asked(), bars)
    (record,) = (cache.root / "requests").glob("*.json")
    for text in ("{", "[]", "{}", '{"source": 3}'):
        record.write_text(text)
        assert cache.get(asked()) is None


def test_what_is_kept_is_listed_and_found_by_the_beginning_of_its_hash(cache: Cache, bars: Bars) -> None:
    assert cache.list() == []
    cache.materialise(bars)
    cache.materialise(load_bars(["synthetic:gbm"]))
    first, second = cache.list()
    assert (first.sha256, first.symbols, first.rows) == (bars.sha256, ("AAPL", "MSFT"), bars.rows)
    assert second.synthetic and not first.synthetic
    assert cache.resolve(bars.sha256[:8]) == bars.sha256
    assert cache.resolve(bars.sha256[:3]) is None
    assert cache.resolve("sample:AAPL") is None
    with pytest.raises(DataError, match="data list"):
        cache.resolve("0123456789")


def test_a_place_that_cannot_be_written_is_an_error_that_says_so(tmp_path: Path, bars: Bars) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(DataError, match="RINGFENCE_HOME"):
        Cache(tmp_path / "file" / "bars").materialise(bars)


def _keep(root: str, seed: int) -> None:
    cache = Cache(Path(root))
    for _ in range(5):
        cache.put(asked(), load_bars([f"synthetic:gbm?seed={seed % 2}&symbols=AAPL,MSFT"]))
        found = cache.get(asked())
        assert found is not None and found.symbols == ("AAPL", "MSFT")


def test_many_processes_may_write_at_once(cache: Cache) -> None:
    context = multiprocessing.get_context("spawn")
    writers = [context.Process(target=_keep, args=(str(cache.root), seed)) for seed in range(3)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    assert [writer.exitcode for writer in writers] == [0, 0, 0]
    assert len(cache.list()) == 2
    assert not list(cache.root.rglob("*.part"))


def test_an_answer_is_fresh_when_its_end_was_over_or_it_is_young(cache: Cache, bars: Bars) -> None:
    day = parse_moment("2020-01-10")
    cache.put(asked(end=day - 5 * DAY), bars, fetched_at=day)
    over = cache.find(asked(end=day - 5 * DAY))
    assert over is not None and over.is_fresh(day + 900 * DAY, DAY)
    cache.put(asked(), bars, fetched_at=day)
    still_open = cache.find(asked())
    assert still_open is not None
    assert still_open.is_fresh(day + DAY // 2, DAY) and not still_open.is_fresh(day + 2 * DAY, DAY)
    assert still_open.is_fresh(None, DAY)
