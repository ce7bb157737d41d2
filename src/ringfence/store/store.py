"""The Store: everything that can be kept, one base class per topic."""

from __future__ import annotations

from types import TracebackType

from ringfence.store.batches import BatchShelf
from ringfence.store.events import EventShelf
from ringfence.store.runs import RunShelf
from ringfence.store.studies import StudyShelf


class Store(RunShelf, StudyShelf, EventShelf, BatchShelf):
    """Use it from any thread of the process that opened it. A method that has returned has written for good."""

    def close(self) -> None:
        self._database.close()

    def __enter__(self) -> Store:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
