"""A process that saves runs: `python -m ringfence.testing.store_writer URL NAME COUNT`.

It writes the id of each run on standard output after the store has acknowledged it, and before it saves the next.
"""

from __future__ import annotations

import sys
from datetime import UTC, datetime

from ringfence.store import RunUsage, Store, open_store
from ringfence.testing.runs import TEXT, make_curve, make_draft, make_run

USAGE = RunUsage(wall_ms=12.5, cpu_ms=8.25, peak_memory_bytes=1 << 20)


def save(store: Store, name: str, number: int) -> str:
    """The `number`th run of a writer, with a text of its own in every tenth, so that versions are made too."""
    text = f"{TEXT}# {number // 10}\n"
    run = make_run(draft=make_draft(text, name=name), seed=number, equity=make_curve(50 + number % 200))
    return store.save_run(run, draft_text=text, usage=USAGE, now=datetime.now(UTC)).run_id


def main(url: str, name: str, count: int) -> None:
    with open_store(url) as store:
        for number in range(count):
            sys.stdout.write(save(store, name, number) + "\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
