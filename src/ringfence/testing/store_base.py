"""What every topic of the StoreSuite starts from."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest

from ringfence.store import RunRecord, RunUsage, Store, open_store
from ringfence.testing.runs import TEXT, make_draft, make_run
from ringfence.trade.run import Run

NOON = datetime(2026, 1, 31, 12, 0, 0, 123456, tzinfo=UTC)
LATER = NOON + timedelta(hours=1)
USAGE = RunUsage(wall_ms=1250.5, cpu_ms=800.25, peak_memory_bytes=5 << 30)


class StoreBehaviours:
    @pytest.fixture
    def store(self, store_url: str) -> Iterator[Store]:
        with open_store(store_url) as store:
            yield store


def save(store: Store, run: Run | None = None, *, text: str = TEXT, now: datetime = NOON) -> RunRecord:
    return store.save_run(run or make_run(), draft_text=text, usage=USAGE, now=now)


def save_text(store: Store, text: str, *, name: str = "dip", now: datetime = NOON) -> RunRecord:
    return save(store, make_run(draft=make_draft(text, name=name)), text=text, now=now)
