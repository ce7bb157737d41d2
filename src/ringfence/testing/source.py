"""SourceSuite: what every source of market data must do, as named tests that a source's test class inherits.

    class TestMine(SourceSuite):
        @pytest.fixture
        def case(self) -> SourceCase:
            return SourceCase(spec="mine:AAPL,MSFT", symbols=("AAPL", "MSFT"), unknown="NOSUCH")

A behaviour the source cannot have is declared in `known_gaps` with its reason. Its test still runs and is
reported as an expected failure; when it begins to pass, it fails, so that no gap outlives its reason.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import pytest

from ringfence.base.errors import DataError
from ringfence.markets import Request, load_bars, open_source
from ringfence.markets.calendars import check_calendar
from ringfence.markets.spec import parse_spec
from ringfence.testing.suite import Suite
from ringfence.trade.bars import COLUMNS, Bars, find_problems
from ringfence.trade.times import DAY, iso, timeframe_ns

_LEAST_ROWS = 40


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceCase:
    """A spec that loads at least 40 bars of each of `symbols`, and a symbol that the source does not have."""

    spec: str
    symbols: tuple[str, ...]
    unknown: str
    synthetic: bool = False
    environ: Mapping[str, str] = field(default_factory=dict)

    def load(self, **asked: object) -> Bars:
        spec = parse_spec(self.spec)
        values: dict[str, object] = {"symbols": self.symbols, "source": spec.source, "options": spec.options, **asked}
        make: type = Request
        return open_source(spec, self.environ).load(make(**values))


class SourceSuite(Suite):
    def test_bars_hold_the_symbols_that_were_asked_for_in_that_order(self, case: SourceCase) -> None:
        assert case.load().symbols == case.symbols
        backwards = tuple(reversed(case.symbols))
        assert case.load(symbols=backwards).symbols == backwards

    def test_rows_are_possible_and_in_order(self, case: SourceCase) -> None:
        for symbol, candles in case.load():
            assert len(candles) >= _LEAST_ROWS, f"the case of {symbol} is too short to prove anything"
            assert find_problems(candles) == []
            assert (np.diff(candles.time) > 0).all()

    def test_columns_cannot_be_written(self, case: SourceCase) -> None:
        for _, candles in case.load():
            for name in ("time", *COLUMNS):
                with pytest.raises(ValueError, match="read-only"):
                    getattr(candles, name)[0] = 1

    def test_start_and_end_are_kept_to_and_both_belong(self, case: SourceCase) -> None:
        whole = case.load().candles[case.symbols[0]]
        start, end = int(whole.time[10]), int(whole.time[30])
        part = case.load(symbols=case.symbols[:1], start=start, end=end).candles[case.symbols[0]]
        assert part.time.tolist() == whole.time[10:31].tolist()
        assert part.close.tolist() == whole.close[10:31].tolist()

    def test_dates_without_bars_are_an_error_and_not_an_empty_answer(self, case: SourceCase) -> None:
        first = case.load().start
        with pytest.raises(DataError) as caught:
            case.load(start=first - 9 * DAY, end=first - 8 * DAY)
        assert case.symbols[0] in str(caught.value)

    def test_an_unknown_symbol_is_an_error_that_names_it(self, case: SourceCase) -> None:
        with pytest.raises(DataError) as caught:
            case.load(symbols=(case.unknown,))
        assert case.unknown in str(caught.value)

    def test_an_unknown_option_is_an_error_that_names_it(self, case: SourceCase) -> None:
        mark = "&" if "?" in case.spec else "?"
        with pytest.raises(DataError, match="nonsense"):
            open_source(parse_spec(f"{case.spec}{mark}nonsense=1"), case.environ)

    def test_the_same_request_gives_the_same_hash(self, case: SourceCase) -> None:
        assert case.load().sha256 == case.load().sha256

    def test_the_timeframe_is_that_of_the_stamps(self, case: SourceCase) -> None:
        bars = case.load()
        for _, candles in bars:
            assert int(np.diff(candles.time).min()) >= timeframe_ns(bars.timeframe) * 9 // 10

    def test_what_the_prices_are_is_recorded(self, case: SourceCase) -> None:
        bars = case.load()
        assert bars.synthetic is case.synthetic
        assert bars.adjusted in ("none", "splits", "splits and dividends", "unknown")
        assert bars.source.partition(":")[0] == parse_spec(case.spec).source
        check_calendar(bars.calendar)

    def test_bars_of_a_day_or_more_are_stamped_with_their_date(self, case: SourceCase) -> None:
        bars = case.load()
        if timeframe_ns(bars.timeframe) >= DAY:
            assert all((candles.time % DAY == 0).all() for _, candles in bars)

    def test_the_symbols_it_lists_can_be_asked_for(self, case: SourceCase) -> None:
        listed = open_source(parse_spec(case.spec), case.environ).symbols()
        assert not listed or set(case.symbols) <= set(listed)

    def test_history_before_the_start_is_there_for_indicators(self, case: SourceCase) -> None:
        whole = case.load().candles[case.symbols[0]]
        start = int(whole.time[30])
        bars = load_bars([case.spec], start=iso(start), warmup_bars=12, environ=case.environ)
        assert bars.tradable_from == start
        assert bars.candles[case.symbols[0]].time.tolist() == whole.time[18:].tolist()

    def test_coarser_bars_are_made_of_finer_ones(self, case: SourceCase) -> None:
        fine = case.load()
        if fine.timeframe.endswith("mo"):
            pytest.fail("give the suite a case whose bars are shorter than a month")
        coarse = load_bars([case.spec], timeframe="1mo", environ=case.environ)
        assert coarse.timeframe == "1mo"
        symbol = case.symbols[0]
        assert coarse.candles[symbol].high.max() == pytest.approx(fine.candles[symbol].high.max())
        assert len(coarse.candles[symbol]) < len(fine.candles[symbol])
