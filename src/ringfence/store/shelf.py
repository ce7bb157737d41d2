"""What every topic of the Store has: its database."""

from __future__ import annotations

from ringfence.store.database import Database


class Shelf:
    def __init__(self, database: Database) -> None:
        self._database = database

    @property
    def name(self) -> str:
        """Where it is, without a password."""
        return self._database.name
