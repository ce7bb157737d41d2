"""What goes wrong between us and a venue is one sentence that names the symbol and a way out; never made-up prices."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from ringfence.base.errors import DataError
from ringfence.markets import load_bars
from ringfence.markets.cache import Cache
from ringfence.trade.times import DAY, iso, parse_moment

from tests.markets.loopback import KEY, PAGE, SECRET, Venue, sample, serve

NOWHERE = "http://127.0.0.1:9"  # the discard port: nobody listens


@pytest.fixture
def venue() -> Iterator[Venue]:
    with serve(Venue(sample())) as venue:
        yield venue


def keys(url: str) -> dict[str, str]:
    return {
        "YAHOO_API_URL": url,
        "APCA_API_DATA_URL": url,
        "APCA_API_KEY_ID": KEY,
        "APCA_API_SECRET_KEY": SECRET,
    }


def refusal(spec: str, environ: dict[str, str]) -> str:
    with pytest.raises(DataError) as caught:
        load_bars([spec], environ=environ)
    return str(caught.value)


@pytest.mark.usefixtures("yahoo_cache")
@pytest.mark.parametrize("source", ["yahoo", "alpaca"])
class TestVenues:
    def test_the_prices_are_those_of_the_venue(self, venue: Venue, source: str) -> None:
        bars = load_bars([f"{source}:SP500"], environ=keys(venue.url), start="2017-01-01", end="2017-12-29")
        theirs = venue.bars.candles["SP500"]
        kept = (theirs.time >= bars.start) & (theirs.time <= bars.end)
        assert iso(bars.end) == "2017-12-29T00:00:00Z"
        assert bars.candles["SP500"].time.tolist() == theirs.time[kept].tolist()
        scale = 0.5 if source == "yahoo" else 1.0  # the server's adjusted close is half of the close
        assert bars.candles["SP500"].open.tolist() == pytest.approx((theirs.open[kept] * scale).tolist())
        assert (bars.adjusted, bars.calendar) == ("splits and dividends", "XNYS")
        assert bars.timezone == "America/New_York"
        assert int((bars.candles["SP500"].time < (bars.tradable_from or 0)).sum()) == 250

    def test_no_network_is_said_with_the_symbol_and_a_way_out(self, source: str) -> None:
        said = refusal(f"{source}:SP500", keys(NOWHERE))
        assert source in said and "SP500" in said and "--source sample" in said

    @pytest.mark.parametrize(
        ("status", "body"),
        [(500, "oops"), (403, '{"message": "forbidden."}'), (200, "<html>"), (200, "{}"), (200, '{"bars": 3}')],
    )
    def test_a_wrong_answer_is_said_with_the_symbol_and_a_way_out(
        self, venue: Venue, source: str, status: int, body: str
    ) -> None:
        venue.failing["SP500"] = status, body
        said = refusal(f"{source}:SP500", keys(venue.url))
        assert source in said and "SP500" in said and "--source sample" in said

    def test_an_answer_is_kept_and_serves_without_the_network(self, venue: Venue, source: str, tmp_path: Path) -> None:
        cache, now = Cache(tmp_path / "bars"), parse_moment("2019-06-01")
        spec = [f"{source}:SP500,NASDAQ"]
        first = load_bars(spec, cache=cache, environ=keys(venue.url), now_ns=now, start="2017-01-01", end="2018-06-29")
        offline = load_bars(spec, cache=cache, environ=keys(NOWHERE), now_ns=now, start="2017-01-01", end="2018-06-29")
        assert offline.sha256 == first.sha256
        part = load_bars(
            [f"{source}:NASDAQ"], cache=cache, environ=keys(NOWHERE), now_ns=now, start="2017-06-01", end="2018-01-31"
        )
        assert part.symbols == ("NASDAQ",)
        with pytest.raises(DataError, match="--source sample"):
            load_bars(spec, cache=cache, environ=keys(NOWHERE), now_ns=now, start="2016-06-01", end="2018-06-29")

    def test_an_answer_up_to_today_is_asked_for_again_and_its_age_told_when_that_fails(
        self, venue: Venue, source: str, tmp_path: Path
    ) -> None:
        cache, now = Cache(tmp_path / "bars"), parse_moment("2019-01-01")
        spec = [f"{source}:SP500"]
        load_bars(spec, cache=cache, environ=keys(venue.url), now_ns=now)
        asked = len(venue.asked)
        load_bars(spec, cache=cache, environ=keys(venue.url), now_ns=now + DAY // 2)
        assert len(venue.asked) == asked
        load_bars(spec, cache=cache, environ=keys(venue.url), now_ns=now + 2 * DAY)
        assert len(venue.asked) > asked
        old = load_bars(spec, cache=cache, environ=keys(NOWHERE), now_ns=now + 9 * DAY)
        assert any("2019-01-03" in note and "not fetched again" in note for note in old.notes)


def test_alpaca_reads_all_pages(venue: Venue) -> None:
    bars = load_bars(["alpaca:SP500"], environ=keys(venue.url))
    assert bars.rows == len(venue.bars.candles["SP500"]) > 3 * PAGE
    assert len(venue.asked) == -(-bars.rows // PAGE)
    assert "adjustment=all" in venue.asked[0]


def test_alpaca_without_keys_says_which_to_set(venue: Venue) -> None:
    said = refusal("alpaca:SP500", {"APCA_API_DATA_URL": venue.url})
    assert "APCA_API_KEY_ID" in said and "SP500" in said and "--source sample" in said
    assert venue.asked == []


def test_alpaca_with_wrong_keys_says_what_it_answered(venue: Venue) -> None:
    said = refusal("alpaca:SP500", {**keys(venue.url), "APCA_API_SECRET_KEY": "wrong"})
    assert "403" in said and "SP500" in said and "wrong" not in said


def test_alpaca_refuses_what_it_does_not_have(venue: Venue) -> None:
    with pytest.raises(DataError, match="90m"):
        load_bars(["alpaca:SP500"], environ=keys(venue.url), timeframe="90m")
    assert "feed" in refusal("alpaca:SP500?feed=nonsense", keys(venue.url))


@pytest.mark.usefixtures("yahoo_cache")
def test_yahoo_makes_odd_timeframes_of_those_it_has(venue: Venue) -> None:
    weeks = load_bars(["yahoo:SP500"], environ=keys(venue.url), timeframe="2w")
    assert weeks.timeframe == "2w" and any("resampled from 1w" in note for note in weeks.notes)
    with pytest.raises(DataError, match="90s"):
        load_bars(["yahoo:SP500"], environ=keys(venue.url), timeframe="90s")


@pytest.mark.usefixtures("yahoo_cache")
def test_yahoo_asks_nobody_else_and_prints_nothing(
    venue: Venue, capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    refusal("yahoo:NOSUCH", keys(venue.url))
    assert any("/v8/finance/chart/NOSUCH" in path for path in venue.asked)
    refusal("yahoo:NOSUCH", keys(NOWHERE))
    assert capfd.readouterr() == ("", "")
    assert caplog.records == []
