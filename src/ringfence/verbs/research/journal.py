"""What a research has done so far, in the store's events: each step is committed before the next one begins.

The loop is written as if it never stopped. A step that is on record is not done again: its recorded value is handed
back, so a loop that was killed comes to where it was, by the same way, at no cost.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import cast

from ringfence.base.errors import StoreError
from ringfence.store import Store
from ringfence.trade.run import Json

BEGAN = "research_began"
STEPS = ("reply", "trial", "evaluation", "stop", "final")


class Cancelled(Exception):
    """The one who asked does not want to know any more."""


class Journal:
    def __init__(
        self,
        store: Store,
        research_id: str,
        *,
        now: Callable[[], datetime],
        is_cancelled: Callable[[], bool] = lambda: False,
    ) -> None:
        self.research_id = research_id
        self._store, self._now, self._is_cancelled = store, now, is_cancelled
        self._recorded = [e for e in store.list_events(subject(research_id)) if e.type in STEPS]
        self._next = 0
        self.seconds = 0.0  # that all steps took, also those of a process that was killed

    @property
    def upcoming(self) -> str | None:
        """The kind of the next step, where it is on record."""
        return self._recorded[self._next].type if self._next < len(self._recorded) else None

    def step(self, kind: str, message: str, make: Callable[[], Json]) -> Json:
        """The value of this step: the recorded one, or that of `make`, recorded before it is handed on."""
        if self.upcoming is not None:
            return self._recall(kind)
        if self._is_cancelled():
            raise Cancelled
        started = self._now()
        value = make()
        if self._is_cancelled():  # what was cut short would blame the strategy
            raise Cancelled
        ended = self._now()
        seconds = max(0.0, (ended - started).total_seconds())
        data: Json = {"value": value, "seconds": seconds}
        self._store.add_event(subject(self.research_id), kind=kind, message=message, data=data, now=ended)
        self.seconds += seconds
        return value

    def _recall(self, kind: str) -> Json:
        event = self._recorded[self._next]
        if event.type != kind:
            raise StoreError(
                f"research {self.research_id} has a {event.type} on record where a {kind} comes now: the program, its "
                "model or its settings have changed since; begin it anew"
            )
        self._next += 1
        data = cast("Mapping[str, Json]", event.data)
        seconds = data["seconds"]
        self.seconds += float(seconds) if isinstance(seconds, (int, float)) else 0.0
        return data["value"]


def subject(research_id: str) -> str:
    return f"research:{research_id}"


def begin(store: Store, research_id: str, spec: Mapping[str, Json], *, now: datetime) -> None:
    """Record what was asked for, once."""
    if not store.list_events(subject(research_id), limit=1):
        store.add_event(subject(research_id), kind=BEGAN, message="", data=dict(spec), now=now)


def recall_spec(store: Store, research_id: str) -> Mapping[str, Json]:
    """What was asked for under this id."""
    events = store.list_events(subject(research_id), limit=1)
    if not events or events[0].type != BEGAN or not isinstance(events[0].data, Mapping):
        raise StoreError(f"there is no research {research_id!r} to resume: its id is printed when it begins")
    return events[0].data
