"""What was acknowledged is there after kill -9, and a store that cannot be used says so."""

from __future__ import annotations

import os
import random
import subprocess
import time

import pytest

from ringfence.base.errors import StoreError
from ringfence.store import Store, find_store, open_store
from ringfence.testing.store_base import StoreBehaviours, save
from ringfence.testing.store_writers import start_writer

ENDLESS = 1_000_000


def kill(writer: subprocess.Popen[str]) -> list[str]:
    """End it as a crash would; the ids that it had acknowledged."""
    writer.kill()
    with writer:
        out, err = writer.communicate()
    assert writer.returncode == -9, err
    return [line.strip() for line in out.splitlines(keepends=True) if line.endswith("\n")]


class SurvivalBehaviours(StoreBehaviours):
    def check_integrity(self, url: str) -> None:
        """For databases that can look at themselves."""

    def test_what_was_acknowledged_survives_kill_9(self, store_url: str) -> None:
        rng = random.Random(20260131)
        kept: set[str] = set()
        for turn in range(3):
            writers = [start_writer(store_url, f"w{turn}-{n}", ENDLESS) for n in range(3)]
            for writer in writers:
                assert writer.stdout is not None
                for _ in range(rng.randrange(1, 40)):
                    line = writer.stdout.readline()
                    assert line, "it ended by itself"
                    kept.add(line.strip())
                time.sleep(rng.uniform(0, 0.02))
                kept.update(kill(writer))
            self.check_integrity(store_url)
            with open_store(store_url) as store:
                assert kept <= {record.run_id for record in store.list_runs()}
                assert {str(store.get_run(run_id).json["run_id"]) for run_id in kept} == kept

    def test_a_kill_while_the_database_is_made_leaves_one_that_opens(self, store_url: str) -> None:
        rng = random.Random(7)
        for _ in range(4):
            writers = [start_writer(store_url, f"w{n}", ENDLESS) for n in range(2)]
            time.sleep(rng.uniform(0.2, 1.5))
            kept = {run_id for writer in writers for run_id in kill(writer)}
            with open_store(store_url) as store:
                assert kept <= {record.run_id for record in store.list_runs()}
        self.check_integrity(store_url)

    def test_nothing_is_made_by_looking(self, store_url: str) -> None:
        assert find_store(store_url) is None
        assert find_store(store_url) is None
        with open_store(store_url) as store:
            record = save(store)
        found = find_store(store_url)
        assert found is not None
        with found:
            assert found.list_runs() == [record]

    def test_an_exception_inside_a_write_leaves_no_trace(self, store: Store) -> None:
        save(store)
        with pytest.raises(StoreError):
            save(store, text="another text for the same hash")
        assert store.count_runs() == 1
        save(store)  # and the next one is not kept waiting

    def test_a_closed_store_says_so_and_may_be_closed_again(self, store: Store) -> None:
        store.close()
        store.close()
        with pytest.raises(StoreError, match="open it again"):
            store.list_runs()

    def test_a_store_is_not_carried_over_a_fork(self, store: Store) -> None:
        save(store)
        child = os.fork()
        if child == 0:
            try:
                store.list_runs()
            except StoreError as e:
                os._exit(0 if "fork" in str(e) else 2)
            finally:
                os._exit(1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        assert store.count_runs() == 1
