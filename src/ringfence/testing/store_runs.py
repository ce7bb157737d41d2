"""Runs and drafts come back as they were saved, and versions count texts."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from datetime import datetime, timedelta, timezone

import pytest

from ringfence.base.errors import StoreError
from ringfence.store import RunFilter, Store, open_store
from ringfence.testing.runs import TEXT, make_curve, make_draft, make_metrics, make_run
from ringfence.testing.store_base import LATER, NOON, USAGE, StoreBehaviours, save, save_text
from ringfence.trade.run import BarsRef, Failing, OutcomeRef

AWKWARD = "a\x00b\ud800c\x1ad\x1a0000e\U0001f600f\\x00 '%_\n"


class RunBehaviours(StoreBehaviours):
    def test_a_run_comes_back_byte_for_byte(self, store: Store) -> None:
        run = make_run(warnings=(AWKWARD,), statistics={"odd \x00": [1e-320, 0.1 + 0.2, -0.0, 2**70]})
        save(store, run)
        text = json.dumps(run.to_json(), allow_nan=False)
        stored = store.get_run(run.run_id)
        assert stored.text == text
        assert json.dumps(stored.json) == text

    def test_a_curve_of_fifty_thousand_points_comes_back(self, store: Store) -> None:
        run = make_run(equity=make_curve(50_000))
        save(store, run)
        assert store.get_run(run.run_id).text == json.dumps(run.to_json())

    def test_a_record_says_what_the_run_was(self, store: Store) -> None:
        run = make_run()
        record = save(store, run)
        assert (record.run_id, record.strategy_name, record.version) == (run.run_id, "dip", 1)
        assert (record.code_hash, record.dialect) == (run.draft.sha256, "native")
        assert (record.total_return, record.sharpe_ratio) == (0.1, 0.7000000000000001)
        assert (record.max_drawdown, record.win_rate, record.num_trades) == (-0.08, 1.0, 1)
        assert (record.verdict, record.reason, record.error_message) == ("traded", "", None)
        assert (record.provenance, record.lookahead) == ("verified", "clean")
        assert (record.bars_sha256, record.symbols) == ("b" * 64, ("GOOG",))
        assert (record.wall_ms, record.cpu_ms, record.peak_memory_bytes) == (1250.5, 800.25, 5 << 30)
        assert record.execution_time == 1.2505
        assert record.created_at == record.updated_at == NOON
        assert [record] == store.list_runs()
        assert record == store.get_run(run.run_id).record

    def test_a_record_is_plain_json(self, store: Store) -> None:
        found = json.loads(json.dumps(save(store).to_json()))
        assert found["created_at"] == "2026-01-31T12:00:00.123456Z"
        assert found["symbols"] == ["GOOG"]
        assert found["execution_time"] == 1.2505

    def test_a_repeated_run_replaces_the_first_and_keeps_its_beginning(self, store: Store) -> None:
        first = save(store, make_run(metrics=None, verdict="failed", trades=()))
        again = save(store, make_run(), now=LATER)
        assert again.run_id == first.run_id
        assert (again.created_at, again.updated_at) == (NOON, LATER)
        assert again.verdict == "traded"
        assert store.list_runs() == [again]
        assert store.get_run(again.run_id).json["verdict"] == "traded"

    def test_another_zone_is_the_same_moment(self, store: Store) -> None:
        record = save(store, now=NOON.astimezone(timezone(timedelta(hours=-5))))
        assert record.created_at == NOON
        assert record.created_at.utcoffset() == timedelta(0)

    def test_a_moment_without_a_zone_is_refused(self, store: Store) -> None:
        with pytest.raises(StoreError, match="time zone"):
            save(store, now=datetime(2026, 1, 31))  # noqa: DTZ001  # what is to be refused
        assert store.list_runs() == []

    def test_any_text_comes_back(self, store: Store) -> None:
        outcome = OutcomeRef(status="error", reason=AWKWARD, failing=None, stdout="", stderr="", backend="native")
        bars = make_run().bars
        assert bars is not None
        run = make_run(
            draft=make_draft(AWKWARD, name=AWKWARD),
            bars=replace(bars, symbols=(AWKWARD, "B")),
            reason=AWKWARD,
            outcome=outcome,
        )
        record = save(store, run, text=AWKWARD)
        assert record.strategy_name == record.reason == record.error_message == AWKWARD
        assert record.symbols == (AWKWARD, "B")
        assert store.list_runs(RunFilter(symbol=AWKWARD)) == store.list_runs(RunFilter(strategy=AWKWARD)) == [record]
        assert store.get_run(record.run_id).draft.text == AWKWARD

    def test_a_script_without_bars_shows_its_own_statistics(self, store: Store) -> None:
        own = {
            "Return [%]": 12.5,
            "Sharpe Ratio": 0.5,
            "Max. Drawdown [%]": -25.0,
            "Win Rate [%]": 50.0,
            "# Trades": 4,
        }
        record = save(store, make_run(bars=None, metrics=None, statistics=own, provenance="claimed"))
        assert (record.total_return, record.sharpe_ratio, record.max_drawdown) == (0.125, 0.5, -0.25)
        assert (record.win_rate, record.num_trades) == (0.5, 4)
        assert (record.bars_sha256, record.symbols, record.provenance) == (None, (), "claimed")

    @pytest.mark.parametrize("told", ["many", True, None, [1], 2.5, -1, 1e300, 10**400])
    def test_a_claim_that_is_no_count_of_trades_is_not_kept_as_one(self, store: Store, told: object) -> None:
        record = save(store, make_run(metrics=None, statistics={"# Trades": told, "Return [%]": "lots"}))
        assert record.num_trades is None
        assert record.total_return is None

    def test_a_number_that_is_none_is_unknown(self, store: Store) -> None:
        record = save(store, make_run(metrics=make_metrics(sharpe=math.nan, total_return=math.inf, win_rate=None)))
        assert (record.sharpe_ratio, record.total_return, record.win_rate) == (None, None, None)

    def test_a_failure_is_named(self, store: Store) -> None:
        failing = Failing(type="ZeroDivisionError", message="by zero", line=4, bar=1, time=None, traceback="")
        outcome = OutcomeRef(
            status="error", reason="it raised", failing=failing, stdout="", stderr="", backend="native"
        )
        record = save(store, make_run(verdict="failed", metrics=None, outcome=outcome))
        assert record.error_message == "ZeroDivisionError: by zero"

    def test_a_new_text_is_a_new_version_and_an_old_one_keeps_its_own(self, store: Store) -> None:
        assert [save_text(store, text).version for text in ("a", "b", "a", "c", "b")] == [1, 2, 1, 3, 2]

    def test_versions_are_counted_per_strategy(self, store: Store) -> None:
        assert [save_text(store, "a", name=name).version for name in ("x", "y")] == [1, 1]
        assert save_text(store, "b", name="y").version == 2

    def test_versions_go_on_after_reopening(self, store: Store, store_url: str) -> None:
        save_text(store, "a")
        with open_store(store_url) as other:
            assert save_text(other, "b").version == 2
        assert save_text(store, "a").version == 1

    def test_a_draft_comes_with_its_run_and_alone(self, store: Store) -> None:
        draft = make_draft("x = 1\n", name="alone")
        saved = store.save_draft(draft, text="x = 1\n", now=NOON)
        assert (saved.name, saved.class_name, saved.text, saved.created_at) == ("alone", "Dip", "x = 1\n", NOON)
        assert store.save_draft(draft, text="x = 1\n", now=LATER) == saved == store.get_draft(draft.sha256)
        assert store.get_draft("0" * 64) is None
        assert store.get_run(save(store).run_id).draft.text == TEXT

    def test_one_hash_is_not_kept_with_two_texts(self, store: Store) -> None:
        save(store)
        with pytest.raises(StoreError, match="another text"):
            save(store, make_run(seed=1), text="y = 2\n")
        assert store.count_runs() == 1

    def test_a_run_is_found_by_the_beginning_of_its_id(self, store: Store) -> None:
        ids = sorted(save(store, make_run(seed=n)).run_id for n in range(40))
        for run_id in ids:
            assert store.get_run(run_id).record.run_id == run_id
        short = next(a[:n] for a in ids for n in range(1, 20) if sum(b.startswith(a[:n]) for b in ids) == 1)
        assert store.get_run(short).record.run_id.startswith(short)

    def test_a_beginning_of_several_ids_is_refused_with_their_names(self, store: Store) -> None:
        ids = [save(store, make_run(seed=n)).run_id for n in range(17)]  # of 17 two share their first digit
        shared = next(a[0] for a in ids if sum(b[0] == a[0] for b in ids) > 1)
        with pytest.raises(StoreError, match="write more of one of") as refused:
            store.get_run(shared)
        assert sum(run_id in str(refused.value) for run_id in ids) >= 2

    @pytest.mark.parametrize("run_id", ["", "zz", "%", "_", "\x00", "\ud800"])
    def test_an_unknown_run_is_refused_with_what_to_do(self, store: Store, run_id: str) -> None:
        save(store)
        with pytest.raises(StoreError, match="runs list"):
            store.get_run(run_id)

    def test_symbols_of_a_replaced_run_are_replaced(self, store: Store) -> None:
        run = make_run()
        assert isinstance(run.bars, BarsRef)
        save(store, run)
        save(store, make_run(bars=replace(run.bars, symbols=("MSFT", "AAPL"))))
        assert [r.symbols for r in store.list_runs(RunFilter(symbol="AAPL"))] == [("MSFT", "AAPL")]
        assert [r.run_id for r in store.list_runs(RunFilter(symbol="GOOG"))] == [run.run_id]

    def test_usage_is_the_last_execution_s(self, store: Store) -> None:
        save(store)
        slower = replace(USAGE, wall_ms=9000.0)
        again = store.save_run(make_run(), draft_text=TEXT, usage=slower, now=LATER)
        assert again.execution_time == 9.0
