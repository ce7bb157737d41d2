"""Backtest many files: each gets a verdict, whatever it holds, and what is done stays done.

A file is read, run and recorded by one thread of a pool, and its result is handed on after the store has acknowledged
it. So whoever has seen a line can rely on it: a batch that is killed and resumed tells it again and does not run the
file again. At most two files per thread are under way, so thousands cost no more memory than a few.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Generator, Iterable, Mapping
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from ringfence.base.errors import (
    DataError,
    DraftError,
    JobError,
    LimitError,
    MountError,
    RefusedError,
    SandboxError,
    SettingsError,
    StoreError,
)
from ringfence.sandbox import Sandbox
from ringfence.sandbox.job import Cancel
from ringfence.sandbox.texts import read_draft
from ringfence.store import Batch, BatchFile, RunUsage, Store
from ringfence.trade.draft import Draft
from ringfence.verbs.backtest import Finished, backtest
from ringfence.verbs.batch.conditions import Conditions
from ringfence.verbs.batch.files import Content, find_files, places, printable, read_file
from ringfence.verbs.batch.result import FileResult, recall, tell
from ringfence.verbs.batch.summary import Tally

__all__ = ["Conditions", "FileResult", "Tally", "Work", "find_files", "places", "run_batch"]

OnFault = Callable[[str, BaseException], None]

# What is wrong with all files or with none: the batch ends.
_ENDING = (StoreError, RefusedError, MountError, LimitError, SettingsError)
_AHEAD = 2  # files under way per thread, so that none of them waits for the reader of the results
_UNKNOWN = ""  # no content has this hash: a file that we failed on is run again when the batch is resumed


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """All that it takes to get one file done."""

    conditions: Conditions
    sandbox: Sandbox
    store: Store
    batch: Batch
    done: Mapping[str, BatchFile]  # by `key_of`, as the store gives it
    cancel: Cancel
    now: Callable[[], datetime]

    def do(self, path: Path) -> FileResult | None:
        """Its result, recorded; None when it was cancelled, and then there is no trace of it."""
        if self.cancel.is_set():
            return None
        name, content = printable(path), read_file(path)
        before = self.done.get(key_of(path))
        if before is not None and before.sha256 == content.sha256:
            return recall(before.line, name)
        if isinstance(content, Content):
            result = self._judge(name, path, content)
        else:
            result = FileResult(file=name, verdict=content.verdict, reason=content.reason)
        if result is not None:
            self.record(path, content.sha256, result)
        return result

    def record(self, path: Path, sha256: str, result: FileResult) -> None:
        self.store.record_file(
            self.batch, key_of(path), sha256=sha256, verdict=result.verdict, line=result.to_json(), now=self.now()
        )

    def _judge(self, name: str, path: Path, content: Content) -> FileResult | None:
        draft: Draft | None = None
        try:
            draft = self._read(content.text, printable(path.stem))
            finished = self._run(draft)
        except DraftError as e:
            return FileResult(file=name, verdict=e.verdict, reason=str(e), line=e.line)
        except DataError as e:
            return FileResult(file=name, verdict="needs_data", reason=str(e), dialect=draft.dialect if draft else None)
        except _ENDING:
            raise
        except JobError as e:  # a text that no Job may have, such as one in another encoding
            return FileResult(file=name, verdict="failed", reason=str(e), dialect=draft.dialect if draft else None)
        if self.cancel.is_set():
            return None  # it may have come between two runs of the same strategy, and the Run would blame the strategy
        used = finished.outcome.usage
        usage = RunUsage(wall_ms=used.wall_ms, cpu_ms=used.cpu_ms, peak_memory_bytes=used.peak_memory_bytes)
        self.store.save_run(finished.run, draft_text=draft.text, usage=usage, now=self.now())
        return tell(name, draft, finished)

    def _read(self, text: str, name: str) -> Draft:
        """A second time where the sandbox itself failed, as with a run."""
        limits = self.conditions.limits
        try:
            return read_draft(text, name=name, sandbox=self.sandbox, limits=limits)
        except SandboxError:
            return read_draft(text, name=name, sandbox=self.sandbox, limits=limits)

    def _run(self, draft: Draft) -> Finished:
        """A second time where the sandbox itself failed: what broke it the first time may have been a neighbour."""
        request = self.conditions.request(draft, self.cancel)
        try:
            return backtest(request, sandbox=self.sandbox)
        except SandboxError:
            return backtest(request, sandbox=self.sandbox)


def run_batch(files: Iterable[Path], work: Work, *, jobs: int, on_fault: OnFault) -> Generator[FileResult, None, None]:
    """Results as they are finished and recorded. Set `work.cancel` to stop: what is under way is given up.

    What we fail to do for one file, after a second try, is a result with `our_failure`, which `on_fault` is told
    of with its exception; the other files go on.
    """
    left = iter(files)
    under_way: dict[Future[FileResult | None], Path] = {}
    with ThreadPoolExecutor(jobs, thread_name_prefix="batch") as pool:
        try:
            while True:
                while len(under_way) < _AHEAD * jobs and not work.cancel.is_set():
                    path = next(left, None)
                    if path is None:
                        break
                    under_way[pool.submit(work.do, path)] = path
                if not under_way:
                    return
                for future in wait(under_way, return_when=FIRST_COMPLETED).done:
                    result = _settle(future, under_way.pop(future), work, on_fault)
                    if result is not None:
                        yield result
        finally:
            if under_way:  # whoever asked has gone, or the batch cannot go on
                work.cancel.set()


def _settle(future: Future[FileResult | None], path: Path, work: Work, on_fault: OnFault) -> FileResult | None:
    error = future.exception()
    if error is None:
        return future.result()
    if isinstance(error, _ENDING) or not isinstance(error, Exception):
        raise error
    name = printable(path)
    on_fault(name, error)
    reason = f"ringfence itself failed, and the strategy is not judged: {type(error).__name__}: {error}"
    result = FileResult(file=name, verdict="failed", reason=reason, our_failure=True)
    work.record(path, _UNKNOWN, result)
    return result


def key_of(path: Path) -> str:
    """What a file is called in the store, wherever the command is called from."""
    return printable(os.path.abspath(path))
