"""Runs in the background, for attacks on whoever runs at the same time."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from ringfence import Job, Outcome
from ringfence.sandbox import Sandbox
from ringfence.sandbox.job import Cancel

from tests.patience import PATIENCE_SECONDS


@dataclass
class Background:
    """A run in a thread of its own; `started` once it has printed something."""

    sandbox: Sandbox
    job: Job
    started: threading.Event = field(default_factory=threading.Event)
    outcomes: list[Outcome] = field(default_factory=list)
    cancel: Cancel = field(default_factory=Cancel)

    def __post_init__(self) -> None:
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _run(self) -> None:
        self.outcomes.append(self.sandbox.run(self.job, on_output=lambda *_: self.started.set(), cancel=self.cancel))
        self.started.set()

    def join(self) -> Outcome:
        self._thread.join()
        self.cancel.close()
        assert self.outcomes, "the run raised instead of ending"
        return self.outcomes[0]


@contextmanager
def beside(sandbox: Sandbox, *jobs: Job) -> Iterator[list[Background]]:
    """Run `jobs` in the background; the block begins once each has printed something, and ends when they have."""
    runs = [Background(sandbox, job) for job in jobs]
    try:
        for run in runs:
            assert run.started.wait(PATIENCE_SECONDS), "the background run did not start"
        yield runs
    finally:
        for run in runs:
            run.join()
