"""Many threads and processes at once: nothing is lost, nobody is turned away."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

from ringfence.store import RunFilter, Store, open_store
from ringfence.testing.store_base import NOON, StoreBehaviours, save_text
from ringfence.testing.store_writer import save

THREADS, PROCESSES, EACH = 8, 4, 25
SECONDS = 240


def start_writer(url: str, name: str, count: int) -> subprocess.Popen[str]:
    words = [sys.executable, "-m", "ringfence.testing.store_writer", url, name, str(count)]
    return subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def finish(writers: Sequence[subprocess.Popen[str]]) -> list[list[str]]:
    """The ids that each has written; none may have failed."""
    acknowledged = []
    for writer in writers:
        with writer:
            out, err = writer.communicate(timeout=SECONDS)
        assert writer.returncode == 0, err
        acknowledged.append(out.split())
    return acknowledged


class WriterBehaviours(StoreBehaviours):
    def test_processes_that_open_a_new_database_at_once_all_get_it(self, store_url: str) -> None:
        done = finish([start_writer(store_url, f"p{n}", 1) for n in range(PROCESSES)])
        with open_store(store_url) as store:
            assert {record.run_id for record in store.list_runs()} == {ids[0] for ids in done}

    def test_threads_that_open_a_new_database_at_once_all_get_it(self, store_url: str) -> None:
        together = threading.Barrier(THREADS)

        def open_and_save(n: int) -> None:
            together.wait()
            with open_store(store_url) as store:
                save(store, f"t{n}", n)

        with ThreadPoolExecutor(THREADS) as pool:
            list(pool.map(open_and_save, range(THREADS)))
        with open_store(store_url) as store:
            assert store.count_runs() == THREADS

    def test_threads_and_processes_that_write_at_once_lose_nothing(self, store: Store, store_url: str) -> None:
        writers = [start_writer(store_url, f"p{n}", EACH) for n in range(PROCESSES)]
        with ThreadPoolExecutor(THREADS) as pool:
            ours = list(pool.map(lambda n: [save(store, f"t{n}", i) for i in range(EACH)], range(THREADS)))
        for name, ids in zip(
            [*(f"t{n}" for n in range(THREADS)), *(f"p{n}" for n in range(PROCESSES))], [*ours, *finish(writers)]
        ):
            assert len(ids) == EACH
            assert {record.run_id for record in store.list_runs(RunFilter(strategy=name))} == set(ids)

    def test_versions_made_at_once_are_numbered_without_gap_or_double(self, store: Store, store_url: str) -> None:
        with open_store(store_url) as second, ThreadPoolExecutor(THREADS) as pool:
            jobs = [(store if n % 2 else second, f"text {n % 20}") for n in range(60)]
            records = list(pool.map(lambda job: save_text(*job), jobs))
        versions = {record.code_hash: record.version for record in records}
        assert sorted(versions.values()) == list(range(1, 21))
        assert all(record.version == versions[record.code_hash] for record in records)

    def test_batches_resumed_at_once_are_one(self, store: Store) -> None:
        with ThreadPoolExecutor(THREADS) as pool:
            batches = list(pool.map(lambda n: store.begin_batch({"a": 1}, resume=True, now=NOON), range(THREADS)))
        assert len({batch.batch_id for batch in batches}) == 1

    def test_a_reader_of_events_misses_none_while_many_write(self, store: Store) -> None:
        over = threading.Event()
        seen: list[int] = []

        def follow() -> None:
            while True:
                last_look = over.is_set()
                seen.extend(event.seq for event in store.list_events("job", after=seen[-1] if seen else 0))
                if last_look:
                    return

        reader = threading.Thread(target=follow)
        reader.start()
        with ThreadPoolExecutor(THREADS) as pool:
            written = list(pool.map(lambda n: store.add_event("job", kind="log", message="", now=NOON).seq, range(200)))
        over.set()
        reader.join()
        assert seen == sorted(written)
