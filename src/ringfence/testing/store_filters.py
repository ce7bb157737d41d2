"""Lists of runs: what is asked for, all of it, in the order asked for."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from ringfence.store import RunFilter, RunRecord, Store
from ringfence.testing.runs import make_metrics, make_run
from ringfence.testing.store_base import NOON, StoreBehaviours, save, save_text


def ids(records: list[RunRecord]) -> list[str]:
    return [record.run_id for record in records]


class FilterBehaviours(StoreBehaviours):
    def test_an_empty_store_lists_nothing(self, store: Store) -> None:
        assert store.list_runs() == []
        assert store.count_runs() == 0

    def test_the_newest_comes_first(self, store: Store) -> None:
        saved = [save(store, make_run(seed=n), now=NOON + timedelta(minutes=n)) for n in range(3)]
        assert ids(store.list_runs()) == ids(saved[::-1])
        assert ids(store.list_runs(RunFilter(descending=False))) == ids(saved)

    def test_each_condition_leaves_out_the_others(self, store: Store) -> None:
        bars = make_run().bars
        assert bars is not None
        plain = save(store)
        named = save_text(store, "other", name="other")
        failed = save(store, make_run(seed=1, verdict="failed"))
        apple = save(store, make_run(bars=replace(bars, symbols=("AAPL", "MSFT"))))
        late = save(store, make_run(seed=2), now=NOON + timedelta(days=1))
        claimed = save(store, make_run(seed=3, provenance="claimed"))
        busy = save(store, make_run(seed=4, metrics=make_metrics(trades=500)))
        assert store.list_runs(RunFilter(strategy="other")) == [named]
        assert store.list_runs(RunFilter(verdict="failed")) == [failed]
        assert store.list_runs(RunFilter(symbol="MSFT")) == [apple]
        assert store.list_runs(RunFilter(since=NOON + timedelta(days=1))) == [late]
        assert store.list_runs(RunFilter(provenance="claimed")) == [claimed]
        assert store.list_runs(RunFilter(min_trades=500)) == [busy]
        assert store.count_runs(RunFilter(min_trades=1, limit=2)) == 7
        assert store.list_runs(RunFilter(strategy="dip", verdict="failed", symbol="AAPL")) == []
        assert plain in store.list_runs(RunFilter(strategy="dip", symbol="GOOG"))

    def test_unknown_numbers_come_last_in_both_directions(self, store: Store) -> None:
        sharpes = (0.5, None, 2.0, -1.0)
        for n, sharpe in enumerate(sharpes):
            save(store, make_run(seed=n, metrics=make_metrics(sharpe=sharpe)))
        best = [r.sharpe_ratio for r in store.list_runs(RunFilter(order_by="sharpe_ratio"))]
        worst = [r.sharpe_ratio for r in store.list_runs(RunFilter(order_by="sharpe_ratio", descending=False))]
        assert best == [2.0, 0.5, -1.0, None]
        assert worst == [-1.0, 0.5, 2.0, None]

    def test_pages_neither_repeat_nor_lose_a_run(self, store: Store) -> None:
        saved = {save(store, make_run(seed=n)).run_id for n in range(10)}  # all at the same moment, equally good
        pages = [ids(store.list_runs(RunFilter(order_by="total_return", limit=3, offset=at))) for at in range(0, 12, 3)]
        assert [len(page) for page in pages] == [3, 3, 3, 1]
        assert set().union(*pages) == saved

    def test_an_offset_needs_no_limit(self, store: Store) -> None:
        for n in range(4):
            save(store, make_run(seed=n))
        assert len(store.list_runs(RunFilter(offset=3))) == 1
