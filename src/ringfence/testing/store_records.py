"""Lineage, studies, events, plans and batches."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from ringfence.base.errors import StoreError
from ringfence.store import Batch, Store, TrialResult, open_store
from ringfence.testing.store_base import LATER, NOON, StoreBehaviours, save, save_text
from ringfence.testing.store_runs import AWKWARD
from ringfence.trade.run import Json

SPEC: Mapping[str, Json] = {"data": ["sample:GOOG"], "cash": 100_000.0, "seed": None}


class RecordBehaviours(StoreBehaviours):
    def test_lineage_is_kept_in_order(self, store: Store) -> None:
        for text in ("a", "b", "c"):
            save_text(store, text)
        made = [
            store.add_lineage(
                "dip",
                parent_version=parent,
                child_version=child,
                optimization_type="exit",
                changes_made=AWKWARD,
                performance_delta={"sharpe": 0.1 + 0.2},
                now=NOON,
            )
            for parent, child in ((None, 1), (1, 3), (1, 2))
        ]
        assert store.list_lineage("dip") == made
        assert store.list_lineage("other") == []

    def test_lineage_of_a_version_that_never_ran_is_refused(self, store: Store) -> None:
        save_text(store, "a")
        with pytest.raises(StoreError, match="has no version 2"):
            store.add_lineage(
                "dip",
                parent_version=1,
                child_version=2,
                optimization_type="exit",
                changes_made="",
                performance_delta={},
                now=NOON,
            )

    def test_trials_are_numbered_within_their_study(self, store: Store) -> None:
        first = store.create_study("dip", objective="sharpe", spec={"low": [5, 50]}, now=NOON)
        second = store.create_study("dip", objective="calmar", spec=None, now=LATER)
        run = save(store)
        results = [
            TrialResult(parameters={"low": 5}, value=0.1 + 0.2, run_id=run.run_id),
            TrialResult(parameters={"low": 7}, value=None, state="failed"),
        ]
        added = store.add_trials(first.study_id, results, now=NOON)
        added += store.add_trials(first.study_id, results[1:], now=LATER)
        assert [trial.number for trial in added] == [0, 1, 2]
        assert [trial.result for trial in added] == [*results, results[1]]
        assert store.list_trials(first.study_id) == added
        assert store.list_trials(second.study_id) == store.add_trials(second.study_id, [], now=NOON) == []
        assert store.list_studies() == store.list_studies("dip") == [second, first]
        assert store.list_studies("other") == []

    def test_trials_are_added_all_or_none(self, store: Store) -> None:
        study = store.create_study("dip", objective="sharpe", spec=None, now=NOON)
        good = TrialResult(parameters={}, value=1.0)
        with pytest.raises(StoreError):
            store.add_trials(study.study_id, [good, TrialResult(parameters={}, value=2.0, run_id="none")], now=NOON)
        assert store.list_trials(study.study_id) == []
        with pytest.raises(StoreError, match="no study"):
            store.add_trials(study.study_id + 1, [good], now=NOON)

    def test_events_are_read_from_where_one_stopped(self, store: Store) -> None:
        data = {"x": [None, 1.5, "\x00"]}
        made = [store.add_event("job-1", kind="log", message=f"{n}{AWKWARD}", data=data, now=NOON) for n in range(5)]
        store.add_event("job-2", kind="log", message="", now=NOON)
        assert store.list_events("job-1") == made
        assert store.list_events("job-1", after=made[1].seq, limit=2) == made[2:4]
        assert store.list_events("job-2")[0].data is None

    def test_a_plan_has_one_state(self, store: Store) -> None:
        assert store.get_plan_state("plan.md") is None
        store.save_plan_state("plan.md", {"task": 1}, now=NOON)
        saved = store.save_plan_state("plan.md", {"task": 2}, now=LATER)
        assert store.get_plan_state("plan.md") == saved

    def test_a_batch_is_resumed_by_an_equal_spec(self, store: Store) -> None:
        first = store.begin_batch(SPEC, resume=True, now=NOON)
        assert not first.resumed
        again = store.begin_batch(dict(reversed(list(SPEC.items()))), resume=True, now=LATER)
        assert again == first and again.resumed
        other = store.begin_batch({**SPEC, "cash": 1.0}, resume=True, now=LATER)
        fresh = store.begin_batch(SPEC, resume=False, now=LATER)
        assert len({batch.batch_id for batch in (first, other, fresh)}) == 3
        assert store.begin_batch(SPEC, resume=True, now=LATER) == fresh

    def test_done_files_are_known_after_reopening(self, store: Store, store_url: str) -> None:
        batch = store.begin_batch(SPEC, resume=False, now=NOON)
        other = store.begin_batch(SPEC, resume=False, now=NOON)
        name = "dir/odd \udcff\n.py"
        first = store.record_file(
            batch, name, sha256="1" * 64, verdict="traded", line={"file": name, "metrics": None}, now=NOON
        )
        assert store.done_files(other) == {}
        with open_store(store_url) as reopened:
            assert reopened.done_files(batch) == {name: first}
            again = reopened.record_file(batch, name, sha256="2" * 64, verdict="failed", line={}, now=LATER)
        assert store.done_files(batch) == {name: again}

    def test_a_file_of_no_batch_is_refused(self, store: Store) -> None:
        nowhere = Batch(batch_id=99, spec_sha256="", created_at=NOON)
        with pytest.raises(StoreError, match="no batch 99"):
            store.record_file(nowhere, "a.py", sha256="", verdict="traded", line={}, now=NOON)
