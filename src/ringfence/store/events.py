"""What happened, in order, and where a plan stands."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import insert, select

from ringfence.store.database import queue, upsert
from ringfence.store.records import Event, PlanState
from ringfence.store.shelf import Shelf
from ringfence.store.tables import events, plan_state
from ringfence.trade.run import Json


class EventShelf(Shelf):
    def add_event(self, subject: str, *, kind: str, message: str, data: Json = None, now: datetime) -> Event:
        """Append to what happened to a job or a run."""
        row = {"subject": subject, "type": kind, "message": message, "data": data, "ts": now}
        with self._database.write() as connection:
            # A server gives numbers at once and commits in any order; in a queue the two orders are one.
            queue(connection, "events")
            seq = connection.execute(insert(events).returning(events.c.seq), row).scalar_one()
        return Event(seq=seq, subject=subject, type=kind, message=message, data=data, ts=now)

    def list_events(self, subject: str, *, after: int = 0, limit: int | None = None) -> list[Event]:
        """What happened to `subject` after the event with the number `after`, the oldest first."""
        query = select(events).where(events.c.subject == subject, events.c.seq > after).order_by(events.c.seq)
        with self._database.read() as connection:
            rows = connection.execute(query if limit is None else query.limit(limit)).mappings()
            return [Event(**row) for row in rows]

    def save_plan_state(self, plan: str, state: Json, *, now: datetime) -> PlanState:
        with self._database.write() as connection:
            row = {"plan": plan, "state": state, "updated_at": now}
            connection.execute(upsert(connection, plan_state, "plan"), row)
        return PlanState(plan=plan, state=state, updated_at=now)

    def get_plan_state(self, plan: str) -> PlanState | None:
        with self._database.read() as connection:
            row = connection.execute(select(plan_state).where(plan_state.c.plan == plan)).mappings().first()
            return None if row is None else PlanState(**row)
