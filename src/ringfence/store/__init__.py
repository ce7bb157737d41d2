"""Results, kept: SQLite by default, PostgreSQL by URL, one code path. docs/store.md has the tables.

with open_store("sqlite:////home/me/ringfence.db") as store:
    record = store.save_run(run, draft_text=draft.text, usage=usage, now=now)
"""

from __future__ import annotations

from ringfence.base.errors import StoreError

try:
    from ringfence.store.opening import find_store, open_store
    from ringfence.store.records import (
        Batch,
        BatchFile,
        DraftRecord,
        Event,
        Lineage,
        OrderBy,
        PlanState,
        RunFilter,
        RunRecord,
        RunUsage,
        StoredRun,
        Study,
        Trial,
        TrialResult,
    )
    from ringfence.store.store import Store
except ModuleNotFoundError as e:
    raise StoreError(f"the results database needs {e.name}: run `pip install 'ringfence[trade]'`") from e

__all__ = [
    "open_store",
    "find_store",
    "Store",
    "RunUsage",
    "RunRecord",
    "StoredRun",
    "RunFilter",
    "OrderBy",
    "DraftRecord",
    "Lineage",
    "Study",
    "Trial",
    "TrialResult",
    "Event",
    "PlanState",
    "Batch",
    "BatchFile",
]
